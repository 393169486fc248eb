"""Averages, differences, medians and quantiles, and reductions of the elements that are not NaN.

`sum`, `mean`, `cumsum`, `sort` and the like: `tenferro.ops.functions.reductions`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, overload

import numpy as np

from tenferro.errors import ConfigError, DTypeError, ShapeError
from tenferro.ir import (
    AnyTensor,
    ArrayLike,
    Axis,
    DType,
    DTypeLike,
    as_dtype,
    dtype_kind,
    in_single,
    inexact_of,
    is_inexact,
    product,
    real_dtype,
)
from tenferro.numpy.arguments import array, number, option, promoted, reals
from tenferro.numpy.creation import full, full_like
from tenferro.numpy.dtypes import finfo, inf, nan
from tenferro.numpy.indexing import take_along_axis
from tenferro.numpy.manipulation import broadcast_arrays, concat
from tenferro.ops import ReduceMax, ReduceMin
from tenferro.ops.functions import (
    apply,
    creation,
    elementwise,
    normal_axis,
    promotion,
    reductions,
    refuse_out,
)
from tenferro.ops.functions.analytic import sqrt
from tenferro.ops.functions.elementwise import (
    add,
    ceil,
    floor,
    imag,
    maximum,
    minimum,
    multiply,
    real,
    square,
    where,
)
from tenferro.ops.functions.logical import isnan
from tenferro.ops.functions.manipulation import moveaxis, permute_dims, ravel
from tenferro.ops.functions.reductions import (
    argmax,
    argmin,
    argsort,
    cumprod,
    cumsum,
    max,
    min,
    prod,
    sort,
)

__all__ = [
    "average",
    "diff",
    "ediff1d",
    "median",
    "minmax",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "percentile",
    "quantile",
]


@overload
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: Literal[False] = False,
    keepdims: bool = False,
) -> AnyTensor: ...
@overload
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    *,
    returned: Literal[True],
    keepdims: bool = False,
) -> tuple[AnyTensor, AnyTensor]: ...
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> AnyTensor | tuple[AnyTensor, AnyTensor]:
    """Mean over `axis`, weighted by `weights`; with `returned`, also the sum of the weights.

    >>> tn.average([1.0, 2.0], weights=[3.0, 1.0])
    Tensor(1.25)
    >>> tn.average([1.0, 2.0], weights=[3.0, 1.0], returned=True)
    (Tensor(1.25), Tensor(4.))
    """
    if weights is None:
        mean: AnyTensor = apply(reductions.average, a, axis=axis, keepdims=keepdims)
    else:
        mean = apply(reductions.average, a, weights, axis=axis, keepdims=keepdims)
    if not returned:
        return mean
    if weights is None:
        each: AnyTensor = apply(creation.ones_like, a, dtype=mean.dtype)
    else:
        each = apply(reductions.weights_of, a, weights, axis=axis)
    return mean, each.sum(axis=axis, keepdims=keepdims)


def diff(
    a: ArrayLike,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> AnyTensor:
    """Each element minus the one before it, `n` times; for bools, whether the two differ.

    >>> tn.diff([1, 4, 9])
    Tensor([3, 5])
    """
    before = () if prepend is None else (prepend,)
    after = () if append is None else (append,)
    return apply(reductions.diff, a, *before, *after, before=len(before), n=n, axis=axis)


def ediff1d(
    ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> AnyTensor:
    """Each element of the flattened array minus the one before it, between two other arrays.

    >>> tn.ediff1d([1, 4, 9], to_begin=0)
    Tensor([0, 3, 5])
    """
    flat = array("ediff1d", ary).ravel()
    parts: list[Any] = [diff(flat)]
    if to_begin is not None:
        parts.insert(0, ravel(to_begin).astype(flat.dtype))
    if to_end is not None:
        parts.append(ravel(to_end).astype(flat.dtype))
    return concat(parts)


# Reductions and scans of the elements that are not NaN.


def nansum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> AnyTensor:
    """Sum of the elements that are not NaN, over `axis`.

    Args:
        a: an array.
        axis: one axis or several; all if None.
        dtype: of the sum; by default as in `tn.sum`.
        keepdims: keep these axes with size 1.
        initial: a number that is added.
        where: a mask of the elements that count; all if None.

    >>> tn.nansum([1.0, tn.nan, 3.0])
    Tensor(4.)
    """
    refuse_out("nansum", out)
    values = _replaced("nansum", a, 0, where)
    result = reductions.sum(values, axis=axis, dtype=dtype, keepdims=keepdims)
    return result if initial is None else add(result, initial)


def nanprod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> AnyTensor:
    """Product of the elements that are not NaN, over `axis`; options as of `nansum`.

    >>> tn.nanprod([2.0, tn.nan, 3.0])
    Tensor(6.)
    """
    refuse_out("nanprod", out)
    values = _replaced("nanprod", a, 1, where)
    result = prod(values, axis=axis, dtype=dtype, keepdims=keepdims)
    return result if initial is None else multiply(result, initial)


def nanmax(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> AnyTensor:
    """Largest of the elements that are not NaN, over `axis`; NaN if there are none.

    >>> tn.nanmax([1.0, tn.nan, 3.0])
    Tensor(3.)
    """
    refuse_out("nanmax", out)
    return _extreme("nanmax", _largest, -1, a, axis, keepdims, initial, where)  # type: ignore[no-any-return]


def nanmin(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> AnyTensor:
    """Smallest of the elements that are not NaN, over `axis`; NaN if there are none.

    >>> tn.nanmin([1.0, tn.nan, 3.0])
    Tensor(1.)
    """
    refuse_out("nanmin", out)
    return _extreme("nanmin", _smallest, 1, a, axis, keepdims, initial, where)  # type: ignore[no-any-return]


def minmax(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    where: ArrayLike | None = None,
) -> tuple[AnyTensor, AnyTensor]:
    """The smallest and the largest element over `axis`; parameters as of `max`.

    `initial` may be a pair, for each of them one.

    >>> tn.minmax([[1, 5], [7, 3]], axis=1)
    (Tensor([1, 3]), Tensor([5, 7]))
    """
    refuse_out("minmax", out)
    if isinstance(initial, tuple) and len(initial) != 2:
        raise ShapeError(
            f"minmax: initial must be a value or a pair, got a tuple of {len(initial)}"
        )
    least, most = initial if isinstance(initial, tuple) else (initial, initial)
    return min(a, axis, None, keepdims, least, where), max(a, axis, None, keepdims, most, where)


def nanmean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    where: ArrayLike | None = None,
) -> AnyTensor:
    """Mean of the elements that are not NaN, over `axis`.

    >>> tn.nanmean([1.0, tn.nan, 3.0])
    Tensor(2.)
    """
    refuse_out("nanmean", out)
    x, result = _working("nanmean", a, dtype)
    total = reductions.sum(_replaced("nanmean", x, 0, where), axis=axis, keepdims=keepdims)
    mean = total / _counted(x, where, axis, keepdims).astype(total.dtype)
    return mean.astype(result, copy=False)  # type: ignore[no-any-return]


def nanvar(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    *,
    correction: float | None = None,
) -> AnyTensor:
    """Variance of the elements that are not NaN, over `axis`; `ddof` lowers the divisor.

    >>> tn.nanvar([1.0, tn.nan, 3.0])
    Tensor(1.)
    """
    refuse_out("nanvar", out)
    lowered = ddof if correction is None else correction
    return _variance("nanvar", a, axis, dtype, lowered, keepdims, where, mean)  # type: ignore[no-any-return]


def nanstd(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    *,
    correction: float | None = None,
) -> AnyTensor:
    """Root of `nanvar`.

    >>> tn.nanstd([1.0, tn.nan, 3.0])
    Tensor(1.)
    """
    refuse_out("nanstd", out)
    lowered = ddof if correction is None else correction
    return _variance("nanstd", a, axis, dtype, lowered, keepdims, where, mean)  # type: ignore[no-any-return]


def _working(name: str, x: Any, dtype: DTypeLike | None) -> tuple[Any, DType]:
    """The operand in the dtype of the computation, and the dtype of the result."""
    a = array(name, x)
    natural = inexact_of(a.dtype)
    result = natural if dtype is None else as_dtype(dtype)
    if not is_inexact(result):
        raise DTypeError(f"{name}: dtype must be floating-point or complex, got {dtype}")
    return a.astype(in_single(result), copy=False), result


def _variance(
    name: str,
    x: Any,
    axis: Axis,
    dtype: DTypeLike | None,
    ddof: float,
    keepdims: bool,
    where: Any,
    mean: Any,
) -> Any:
    """The variance, or its root, of the elements that count."""
    a, result = _working(name, x, dtype)
    middle = nanmean(a, axis, keepdims=True, where=where) if mean is None else mean
    apart = elementwise.where(_counts(a, where), a - middle, 0)
    squares = (
        square(real(apart)) + square(imag(apart)) if dtype_kind(a.dtype) == "c" else square(apart)
    )
    total = reductions.sum(squares, axis=axis, keepdims=keepdims)
    counted = _counted(a, where, axis, keepdims).astype(total.dtype)
    divisor = counted - number(name, "ddof", ddof)
    variance = total / elementwise.where(divisor > 0, divisor, nan)
    value = sqrt(variance) if name == "nanstd" else variance
    return value.astype(real_dtype(result) if dtype is None else result, copy=False)


def nanargmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool = False
) -> AnyTensor:
    """The index of the largest element that is not NaN; -1 if there are none.

    >>> tn.nanargmax([1.0, tn.nan, 3.0])
    Tensor(2)
    """
    refuse_out("nanargmax", out)
    return _place("nanargmax", argmax, -inf, a, axis, keepdims)  # type: ignore[no-any-return]


def nanargmin(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool = False
) -> AnyTensor:
    """The index of the smallest element that is not NaN; -1 if there are none.

    >>> tn.nanargmin([1.0, tn.nan, 3.0])
    Tensor(0)
    """
    refuse_out("nanargmin", out)
    return _place("nanargmin", argmin, inf, a, axis, keepdims)  # type: ignore[no-any-return]


def nancumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> AnyTensor:
    """Cumulative sums along `axis`, with 0 for NaN; of the flattened array if None.

    >>> tn.nancumsum([1.0, tn.nan, 3.0])
    Tensor([1., 1., 4.])
    """
    refuse_out("nancumsum", out)
    values = _replaced("nancumsum", a, 0, None)
    return cumsum(values, axis=axis, dtype=dtype)


def nancumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> AnyTensor:
    """Cumulative products along `axis`, with 1 for NaN; of the flattened array if None.

    >>> tn.nancumprod([2.0, tn.nan, 3.0])
    Tensor([2., 2., 6.])
    """
    refuse_out("nancumprod", out)
    values = _replaced("nancumprod", a, 1, None)
    return cumprod(values, axis=axis, dtype=dtype)


def _counts(x: Any, where: Any) -> Any:
    present = ~isnan(x)
    return present if where is None else present & (array("where", where) != 0)


def _counted(x: Any, where: Any, axis: Axis, keepdims: bool) -> Any:
    return reductions.sum(broadcast_arrays(_counts(x, where), x)[0], axis=axis, keepdims=keepdims)


def _some(x: Any, where: Any, axis: Axis, keepdims: bool) -> Any:
    """Whether any element over the axes counts."""
    return reductions.any(broadcast_arrays(_counts(x, where), x)[0], axis=axis, keepdims=keepdims)


def _replaced(name: str, x: Any, number: Any, where: Any) -> Any:
    """The array with a number for each element that does not count."""
    a = array(name, x)
    if where is None and not is_inexact(a.dtype):
        return a
    return elementwise.where(_counts(a, where), a, full_like(a, number))


def _largest(x: Any, axis: Axis, keepdims: bool) -> Any:
    """The largest element, where numbers stand in the places of NaN."""
    return promotion.reduce("nanmax", partial(ReduceMax, skips_nan=True), x, axis, keepdims)


def _smallest(x: Any, axis: Axis, keepdims: bool) -> Any:
    return promotion.reduce("nanmin", partial(ReduceMin, skips_nan=True), x, axis, keepdims)


_largest.__name__, _smallest.__name__ = "nanmax", "nanmin"  # errors name them


def _extreme(
    name: str, reduce: Any, sign: int, x: Any, axis: Axis, keepdims: bool,
    initial: Any, where: Any,
) -> Any:  # fmt: skip
    a = array(name, x)
    whole = reductions.max if sign < 0 else reductions.min
    if not is_inexact(a.dtype):
        return whole(a, axis, None, keepdims, initial, where)
    values = _replaced(name, a, sign * inf, where)
    if initial is not None:
        return whole(values, axis, None, keepdims, initial)
    result: Any = apply(reduce, values, axis=axis, keepdims=keepdims)
    return elementwise.where(_some(a, where, axis, keepdims), result, nan)


def _place(name: str, find: Any, worst: float, x: Any, axis: int | None, keepdims: bool) -> Any:
    a = array(name, x)
    if not is_inexact(a.dtype):
        return find(a, axis=axis, keepdims=keepdims)
    place = find(_replaced(name, a, worst, None), axis=axis, keepdims=keepdims)
    return where(_some(a, None, axis, keepdims), place, -1)


# Medians and quantiles.

_PLOTTING_POSITIONS = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
"""Alpha and beta of the methods after Hyndman and Fan (1996) that interpolate."""

_METHODS = (
    *("linear", "lower", "higher", "nearest", "midpoint", "inverted_cdf"),
    *_PLOTTING_POSITIONS,
)


def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> AnyTensor:
    """The elements below which the fractions `q` of the elements along `axis` lie. NaN wins.

    Args:
        a: real numbers.
        q: fractions between 0 and 1: a number, or an array, whose axes come first in the result.
            Tensors are not checked: NaN gives NaN, what is out of range the nearest end.
        axis: one axis or several; all if None.
        out: None, as arrays are not written to.
        overwrite_input: has no effect: arrays are not changed.
        method: what is between two elements: "linear", "lower", "higher", "nearest", "midpoint";
            "inverted_cdf", the first element at which the cumulative distribution is `q`; or
            "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased",
            as in NumPy.
        keepdims: keep these axes with size 1.
        weights: of the elements, of the shape of `a` or a vector along `axis`; with the method
            "inverted_cdf" only.

    >>> tn.quantile([1.0, 2.0, 4.0], [0.5, 0.75])
    Tensor([2., 3.])
    """
    refuse_out("quantile", out)
    return _quantile("quantile", a, q, axis, method, keepdims, 1.0, skip=False, weights=weights)


def nanquantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> AnyTensor:
    """As `quantile`, of the elements that are not NaN.

    >>> tn.nanquantile([1.0, tn.nan, 3.0], 0.5)
    Tensor(2.)
    """
    refuse_out("nanquantile", out)
    return _quantile("nanquantile", a, q, axis, method, keepdims, 1.0, skip=True, weights=weights)


def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> AnyTensor:
    """As `quantile`, with `q` in percent.

    >>> tn.percentile([1.0, 2.0, 4.0], 75)
    Tensor(3.)
    """
    refuse_out("percentile", out)
    return _quantile("percentile", a, q, axis, method, keepdims, 100.0, skip=False, weights=weights)


def nanpercentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> AnyTensor:
    """As `percentile`, of the elements that are not NaN.

    >>> tn.nanpercentile([1.0, tn.nan, 3.0], 50)
    Tensor(2.)
    """
    refuse_out("nanpercentile", out)
    return _quantile(
        "nanpercentile", a, q, axis, method, keepdims, 100.0, skip=True, weights=weights
    )


def median(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> AnyTensor:
    """The middle element along `axis`, or the mean of the two in the middle. NaN wins.

    >>> tn.median([1.0, 7.0, 2.0])
    Tensor(2.)
    """
    refuse_out("median", out)
    return _quantile("median", a, 0.5, axis, "midpoint", keepdims, 1.0, skip=False)


def nanmedian(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> AnyTensor:
    """As `median`, of the elements that are not NaN.

    >>> tn.nanmedian([1.0, tn.nan, 7.0, 2.0])
    Tensor(2.)
    """
    refuse_out("nanmedian", out)
    return _quantile("nanmedian", a, 0.5, axis, "midpoint", keepdims, 1.0, skip=True)


def _quantile(
    name: str,
    x: Any,
    q: Any,
    axis: Axis,
    method: str,
    keepdims: bool,
    whole: float,
    skip: bool,
    weights: Any = None,
) -> AnyTensor:
    option(name, "method", method, _METHODS)
    known = _check_fractions(name, q, whole)
    if weights is not None and method != "inverted_cdf":
        raise ConfigError(f"{name}: weights take the method 'inverted_cdf', got {method!r}")
    a, fractions = promoted(name, x, q, inexact=True)
    if dtype_kind(a.dtype) == "c":
        raise DTypeError(f"{name}: takes real numbers, got {a.meta}")
    reals(name, x)
    several = range(a.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    axes = sorted({normal_axis(name, each, a.ndim) for each in several})
    remaining = [i for i in range(a.ndim) if i not in axes]
    sizes = a.shape
    if any(sizes[i] == 0 for i in axes) and not (skip or name == "median"):
        raise ShapeError(f"{name}: {a.meta} has no elements along the axes {tuple(axes)}")
    length = product(sizes[i] for i in axes)
    order, lengths = (*remaining, *axes), (*(sizes[i] for i in remaining), length)
    rows = permute_dims(a, order).reshape(lengths)
    fractions = fractions / whole
    if any(sizes[i] == 0 for i in axes):
        flat = full((*lengths[:-1], fractions.size), nan, a.dtype)
    elif weights is None:
        flat = _between(rows, fractions.ravel(), method, skip)
    else:
        shared: Any = apply(reductions.weights_of, a, weights, axis=tuple(several))
        weight = permute_dims(shared, order).reshape(lengths)
        flat = _of_weighted(rows, weight, fractions.ravel(), skip)
    if not known:
        flat = where(isnan(fractions.ravel()), nan, flat)
    result: Any = moveaxis(flat, -1, 0)
    wide = [1 if i in axes else size for i, size in enumerate(sizes)]
    rest = wide if keepdims else [sizes[i] for i in remaining]
    return result.reshape((*fractions.shape, *rest))  # type: ignore[no-any-return]


def _check_fractions(name: str, q: Any, whole: float) -> bool:
    """Whether the fractions are numbers or an array of NumPy, all between 0 and `whole`.

    Fractions of other arrays are read where they are computed: NaN gives NaN, and those that are
    out of range are the nearest end.

    Raises:
        ConfigError: a fraction is out of range, or is NaN.
    """
    several = isinstance(q, list | tuple) and all(isinstance(each, int | float) for each in q)
    if not several and not isinstance(q, int | float | np.ndarray | np.generic):
        return False
    values = np.asarray(q)
    if dtype_kind(values.dtype) not in "biuf":
        return False
    wrong = values[~((values >= 0) & (values <= whole))]
    if wrong.size:
        raise ConfigError(f"{name}: q must be between 0 and {whole:g}, got {wrong.flat[0]}")
    return True


def _between(rows: Any, fractions: Any, method: str, skip: bool) -> Any:
    """The quantiles of each row, along the last axis."""
    missing = isnan(rows)
    ordered: Any = sort(rows)
    place: Any = fractions.reshape((*(1,) * (rows.ndim - 1), -1))
    length = rows.shape[-1]
    if isinstance(length, int) and length > 2 / finfo(place.dtype).eps:
        place = place.astype("float64")  # that has all indices
    last: Any = length - 1
    if skip:
        present: Any = reductions.sum(~missing, axis=-1, keepdims=True)
        last = maximum(present - 1, 0).astype(place.dtype)
    if method == "inverted_cdf":
        place = ceil(place * (last + 1) - 1)
    elif method in _PLOTTING_POSITIONS:
        alpha, beta = _PLOTTING_POSITIONS[method]
        place = place * (last + 1) + (alpha + place * (1 - alpha - beta)) - 1
        place = minimum(place, last)
    else:
        place = place * last
    place = maximum(place, 0)
    if method == "nearest":
        place = elementwise.round(place)
    low, high = floor(place), ceil(place)
    below, above = (
        take_along_axis(ordered, at.astype("int64"), axis=-1, mode="clip") for at in (low, high)
    )
    if method in ("lower", "nearest", "inverted_cdf"):
        result = below
    elif method == "higher":
        result = above
    else:
        scale, first, last = _scaled_down(below, above)
        if method == "midpoint":
            result = where(low == high, below, 0.5 * (first + last) / scale)
        else:
            share: Any = (place - low).astype(rows.dtype, copy=False)
            result = (first + share * (last - first)) / scale
            # Between an infinity and a number is the infinity; one element is not beside itself.
            result = where(isnan(result), below + above, result)
    return result if skip else where(reductions.any(missing, axis=-1, keepdims=True), nan, result)


def _of_weighted(rows: Any, weights: Any, fractions: Any, skip: bool) -> Any:
    """The first elements of each row at which their cumulative weights reach the fractions."""
    missing = isnan(rows)
    if skip:
        weights = where(missing, 0, weights)
    order = argsort(rows)
    ordered, heavy = (take_along_axis(x, order, mode="clip") for x in (rows, weights))
    total: Any = cumsum(heavy, axis=-1)
    share = total / reductions.sum(heavy, axis=-1, keepdims=True)
    share = where(share == 0, -1, share)  # an element of weight 0 is none
    before: Any = share[..., None, :] < fractions.reshape((*(1,) * (rows.ndim - 1), -1, 1))
    place = minimum(reductions.sum(before, axis=-1), rows.shape[-1] - 1)
    result = take_along_axis(ordered, place, mode="clip")
    if skip:
        return result
    return where(reductions.any(missing, axis=-1, keepdims=True), nan, result)


def _scaled_down(x: Any, y: Any) -> tuple[Any, Any, Any]:
    """0.5 where x or y is so large that their sum may overflow, elsewhere 1; and that times x, y.

    XLA computes `0.5 * x + 0.5 * y` as `0.5 * (x + y)`. It does not move a factor that is chosen.
    """
    is_large = maximum(elementwise.abs(x), elementwise.abs(y)) > finfo(x.dtype).max / 2
    scale: Any = where(is_large, 0.5, 1.0).astype(x.dtype)
    return scale, scale * x, scale * y
