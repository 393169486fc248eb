"""Averages, differences, medians and quantiles, and reductions of the elements that are not NaN.

`sum`, `mean`, `cumsum`, `sort` and the like: `tenferro.ops.functions.reductions`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, overload

from tenferro.errors import DTypeError, ShapeError
from tenferro.ir import (
    FLOAT16,
    FLOAT32,
    AnyTensor,
    ArrayLike,
    Axis,
    DType,
    DTypeLike,
    as_dtype,
    inexact_of,
    is_inexact,
    product,
    real_dtype,
)
from tenferro.numpy.arguments import array, number, option, promoted, reals
from tenferro.numpy.creation import asarray, full_like
from tenferro.numpy.dtypes import finfo, iinfo, inf, nan
from tenferro.numpy.indexing import take_along_axis
from tenferro.numpy.manipulation import broadcast_arrays, concat
from tenferro.ops import ReduceMax, ReduceMin
from tenferro.ops.functions import (
    apply,
    creation,
    elementwise,
    manipulation,
    normal_axis,
    reductions,
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
from tenferro.ops.functions.reductions import argmax, argmin, cumprod, cumsum, prod, sort

__all__ = [
    "average",
    "diff",
    "ediff1d",
    "median",
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
    x: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: Literal[False] = False,
    *,
    keepdims: bool = False,
) -> AnyTensor: ...
@overload
def average(
    x: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    *,
    returned: Literal[True],
    keepdims: bool = False,
) -> tuple[AnyTensor, AnyTensor]: ...
def average(
    x: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> AnyTensor | tuple[AnyTensor, AnyTensor]:
    """Mean over `axis`, weighted by `weights`; with `returned`, also the sum of the weights.

    >>> tn.average([1.0, 2.0], weights=[3.0, 1.0])
    Tensor(1.25)
    >>> tn.average([1.0, 2.0], weights=[3.0, 1.0], returned=True)
    (Tensor(1.25), Tensor(4.))
    """
    if weights is None:
        mean: AnyTensor = apply(reductions.average, x, axis=axis, keepdims=keepdims)
    else:
        mean = apply(reductions.average, x, weights, axis=axis, keepdims=keepdims)
    if not returned:
        return mean
    each = apply(creation.ones_like, x) if weights is None else asarray(weights)
    over = axis if each.ndim == asarray(x).ndim else None
    total = each.sum(axis=over, keepdims=keepdims and over == axis).astype(mean.dtype)
    return mean, manipulation.broadcast_to(total, mean.shape)


def diff(
    x: ArrayLike,
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
    return apply(reductions.diff, x, *before, *after, before=len(before), n=n, axis=axis)


def ediff1d(
    x: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> AnyTensor:
    """Each element of the flattened array minus the one before it, between two other arrays.

    >>> tn.ediff1d([1, 4, 9], to_begin=0)
    Tensor([0, 3, 5])
    """
    flat = array("ediff1d", x).ravel()
    parts: list[Any] = [diff(flat)]
    if to_begin is not None:
        parts.insert(0, ravel(to_begin).astype(flat.dtype))
    if to_end is not None:
        parts.append(ravel(to_end).astype(flat.dtype))
    return concat(parts)


# Reductions and scans of the elements that are not NaN.


def nansum(
    x: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    *,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> AnyTensor:
    """Sum of the elements that are not NaN, over `axis`.

    Args:
        x: an array.
        axis: one axis or several; all if None.
        dtype: of the sum; by default as in `tn.sum`.
        keepdims: keep these axes with size 1.
        initial: a number that is added.
        where: a mask of the elements that count; all if None.

    >>> tn.nansum([1.0, tn.nan, 3.0])
    Tensor(4.)
    """
    values = _replaced("nansum", x, 0, where)
    result = reductions.sum(values, axis=axis, dtype=dtype, keepdims=keepdims)
    return result if initial is None else add(result, initial)


def nanprod(
    x: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    *,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> AnyTensor:
    """Product of the elements that are not NaN, over `axis`; options as of `nansum`.

    >>> tn.nanprod([2.0, tn.nan, 3.0])
    Tensor(6.)
    """
    values = _replaced("nanprod", x, 1, where)
    result = prod(values, axis=axis, dtype=dtype, keepdims=keepdims)
    return result if initial is None else multiply(result, initial)


def nanmax(
    x: ArrayLike,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> AnyTensor:
    """Largest of the elements that are not NaN, over `axis`; NaN if there are none.

    >>> tn.nanmax([1.0, tn.nan, 3.0])
    Tensor(3.)
    """
    return _extreme("nanmax", _largest, maximum, -1, x, axis, keepdims, initial, where)  # type: ignore[no-any-return]


def nanmin(
    x: ArrayLike,
    axis: Axis = None,
    *,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> AnyTensor:
    """Smallest of the elements that are not NaN, over `axis`; NaN if there are none.

    >>> tn.nanmin([1.0, tn.nan, 3.0])
    Tensor(1.)
    """
    return _extreme("nanmin", _smallest, minimum, 1, x, axis, keepdims, initial, where)  # type: ignore[no-any-return]


def nanmean(
    x: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    *,
    keepdims: bool = False,
    where: ArrayLike | None = None,
) -> AnyTensor:
    """Mean of the elements that are not NaN, over `axis`.

    >>> tn.nanmean([1.0, tn.nan, 3.0])
    Tensor(2.)
    """
    a, result = _working("nanmean", x, dtype)
    total = reductions.sum(_replaced("nanmean", a, 0, where), axis=axis, keepdims=keepdims)
    mean = total / _counted(a, where, axis, keepdims).astype(total.dtype)
    return mean.astype(result, copy=False)  # type: ignore[no-any-return]


def nanvar(
    x: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
) -> AnyTensor:
    """Variance of the elements that are not NaN, over `axis`; `ddof` lowers the divisor.

    >>> tn.nanvar([1.0, tn.nan, 3.0])
    Tensor(1.)
    """
    return _variance("nanvar", x, axis, dtype, ddof, keepdims, where)  # type: ignore[no-any-return]


def nanstd(
    x: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
) -> AnyTensor:
    """Root of `nanvar`.

    >>> tn.nanstd([1.0, tn.nan, 3.0])
    Tensor(1.)
    """
    return _variance("nanstd", x, axis, dtype, ddof, keepdims, where)  # type: ignore[no-any-return]


def _working(name: str, x: Any, dtype: DTypeLike | None) -> tuple[Any, DType]:
    """The operand in the dtype of the computation, and the dtype of the result."""
    a = array(name, x)
    natural = inexact_of(a.dtype)
    result = natural if dtype is None else as_dtype(dtype)
    if not is_inexact(result):
        raise DTypeError(f"{name}: dtype must be floating-point or complex, got {dtype}")
    return a.astype(FLOAT32 if result == FLOAT16 else result, copy=False), result


def _variance(
    name: str, x: Any, axis: Axis, dtype: DTypeLike | None, ddof: float, keepdims: bool, where: Any
) -> Any:
    """The variance, or its root, of the elements that count."""
    a, result = _working(name, x, dtype)
    middle = nanmean(a, axis, keepdims=True, where=where)
    apart = elementwise.where(_counts(a, where), a - middle, 0)
    squares = square(real(apart)) + square(imag(apart)) if a.dtype.kind == "c" else square(apart)
    total = reductions.sum(squares, axis=axis, keepdims=keepdims)
    counted = _counted(a, where, axis, keepdims).astype(total.dtype)
    divisor = counted - number(name, "ddof", ddof)
    variance = total / elementwise.where(divisor > 0, divisor, nan)
    value = sqrt(variance) if name == "nanstd" else variance
    return value.astype(real_dtype(result) if dtype is None else result, copy=False)


def nanargmax(x: ArrayLike, axis: int | None = None, *, keepdims: bool = False) -> AnyTensor:
    """The index of the largest element that is not NaN; -1 if there are none.

    >>> tn.nanargmax([1.0, tn.nan, 3.0])
    Tensor(2)
    """
    return _place("nanargmax", argmax, -inf, x, axis, keepdims)  # type: ignore[no-any-return]


def nanargmin(x: ArrayLike, axis: int | None = None, *, keepdims: bool = False) -> AnyTensor:
    """The index of the smallest element that is not NaN; -1 if there are none.

    >>> tn.nanargmin([1.0, tn.nan, 3.0])
    Tensor(0)
    """
    return _place("nanargmin", argmin, inf, x, axis, keepdims)  # type: ignore[no-any-return]


def nancumsum(x: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None) -> AnyTensor:
    """Cumulative sums along `axis`, with 0 for NaN; of the flattened array if None.

    >>> tn.nancumsum([1.0, tn.nan, 3.0])
    Tensor([1., 1., 4.])
    """
    values = _replaced("nancumsum", x, 0, None)
    return cumsum(values, axis=axis, dtype=dtype)


def nancumprod(x: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None) -> AnyTensor:
    """Cumulative products along `axis`, with 1 for NaN; of the flattened array if None.

    >>> tn.nancumprod([2.0, tn.nan, 3.0])
    Tensor([2., 2., 6.])
    """
    values = _replaced("nancumprod", x, 1, None)
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
    return reductions.reduce("nanmax", partial(ReduceMax, skips_nan=True), x, axis, keepdims)


def _smallest(x: Any, axis: Axis, keepdims: bool) -> Any:
    return reductions.reduce("nanmin", partial(ReduceMin, skips_nan=True), x, axis, keepdims)


_largest.__name__, _smallest.__name__ = "nanmax", "nanmin"  # errors name them


def _extreme(
    name: str, reduce: Any, of_two: Any, sign: int, x: Any, axis: Axis, keepdims: bool,
    initial: Any, where: Any,
) -> Any:  # fmt: skip
    a = array(name, x)
    if where is not None and initial is None and not is_inexact(a.dtype):
        initial = iinfo(a.dtype).max if sign > 0 else iinfo(a.dtype).min
    worst = sign * inf if is_inexact(a.dtype) else initial
    values = a if worst is None else _replaced(name, a, worst, where)
    result: Any = apply(reduce, values, axis=axis, keepdims=keepdims)
    if is_inexact(a.dtype):
        some = _some(a, where, axis, keepdims)
        result = elementwise.where(some, result, nan if initial is None else initial)
    return result if initial is None else of_two(result, initial)


def _place(name: str, find: Any, worst: float, x: Any, axis: int | None, keepdims: bool) -> Any:
    a = array(name, x)
    if not is_inexact(a.dtype):
        return find(a, axis=axis, keepdims=keepdims)
    place = find(_replaced(name, a, worst, None), axis=axis, keepdims=keepdims)
    return where(_some(a, None, axis, keepdims), place, -1)


# Medians and quantiles.

_METHODS = ("linear", "lower", "higher", "nearest", "midpoint")


def quantile(
    x: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    *,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> AnyTensor:
    """The elements below which the fractions `q` of the elements along `axis` lie. NaN wins.

    Args:
        x: real numbers.
        q: fractions between 0 and 1: a number, or an array, whose axes come first in the result.
        axis: one axis or several; all if None.
        overwrite_input: has no effect: arrays are not changed.
        method: what is between two elements: "linear", "lower", "higher", "nearest", "midpoint".
        keepdims: keep these axes with size 1.

    >>> tn.quantile([1.0, 2.0, 4.0], [0.5, 0.75])
    Tensor([2., 3.])
    """
    return _quantile("quantile", x, q, axis, method, keepdims, 1.0, skip=False)


def nanquantile(
    x: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    *,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> AnyTensor:
    """As `quantile`, of the elements that are not NaN.

    >>> tn.nanquantile([1.0, tn.nan, 3.0], 0.5)
    Tensor(2.)
    """
    return _quantile("nanquantile", x, q, axis, method, keepdims, 1.0, skip=True)


def percentile(
    x: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    *,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> AnyTensor:
    """As `quantile`, with `q` in percent.

    >>> tn.percentile([1.0, 2.0, 4.0], 75)
    Tensor(3.)
    """
    return _quantile("percentile", x, q, axis, method, keepdims, 100.0, skip=False)


def nanpercentile(
    x: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    *,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> AnyTensor:
    """As `percentile`, of the elements that are not NaN.

    >>> tn.nanpercentile([1.0, tn.nan, 3.0], 50)
    Tensor(2.)
    """
    return _quantile("nanpercentile", x, q, axis, method, keepdims, 100.0, skip=True)


def median(
    x: ArrayLike, axis: Axis = None, *, overwrite_input: bool = False, keepdims: bool = False
) -> AnyTensor:
    """The middle element along `axis`, or the mean of the two in the middle. NaN wins.

    >>> tn.median([1.0, 7.0, 2.0])
    Tensor(2.)
    """
    return _quantile("median", x, 0.5, axis, "midpoint", keepdims, 1.0, skip=False)


def nanmedian(
    x: ArrayLike, axis: Axis = None, *, overwrite_input: bool = False, keepdims: bool = False
) -> AnyTensor:
    """As `median`, of the elements that are not NaN.

    >>> tn.nanmedian([1.0, tn.nan, 7.0, 2.0])
    Tensor(2.)
    """
    return _quantile("nanmedian", x, 0.5, axis, "midpoint", keepdims, 1.0, skip=True)


def _quantile(
    name: str, x: Any, q: Any, axis: Axis, method: str, keepdims: bool, whole: float, skip: bool
) -> AnyTensor:
    option(name, "method", method, _METHODS)
    a, fractions = promoted(name, x, q, inexact=True)
    if a.dtype.kind == "c":
        raise DTypeError(f"{name}: takes real numbers, got {a.meta}")
    reals(name, x)
    several = range(a.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    axes = sorted({normal_axis(name, each, a.ndim) for each in several})
    remaining = [i for i in range(a.ndim) if i not in axes]
    sizes = a.shape
    if any(sizes[i] == 0 for i in axes):
        raise ShapeError(f"{name}: {a.meta} has no elements along the axes {tuple(axes)}")
    length = product(sizes[i] for i in axes)
    rows = permute_dims(a, (*remaining, *axes)).reshape((*(sizes[i] for i in remaining), length))
    flat = _between(rows, fractions.ravel() / whole, method, skip)
    result: Any = moveaxis(flat, -1, 0)
    wide = [1 if i in axes else size for i, size in enumerate(sizes)]
    rest = wide if keepdims else [sizes[i] for i in remaining]
    return result.reshape((*fractions.shape, *rest))  # type: ignore[no-any-return]


def _between(rows: Any, fractions: Any, method: str, skip: bool) -> Any:
    """The quantiles of each row, along the last axis."""
    missing = isnan(rows)
    ordered: Any = sort(rows)
    place: Any = fractions.reshape((*(1,) * (rows.ndim - 1), -1))
    length = rows.shape[-1]
    if isinstance(length, int) and length > 2 / finfo(place.dtype).eps:
        place = place.astype("float64")  # that has all indices
    if skip:
        present: Any = reductions.sum(~missing, axis=-1, keepdims=True)
        place = place * maximum(present - 1, 0).astype(place.dtype)
    else:
        place = place * (length - 1)
    place = maximum(place, 0)
    if method == "nearest":
        place = elementwise.round(place)
    low, high = floor(place), ceil(place)
    below, above = (
        take_along_axis(ordered, at.astype("int64"), axis=-1, mode="clip") for at in (low, high)
    )
    if method in ("lower", "nearest"):
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


def _scaled_down(x: Any, y: Any) -> tuple[Any, Any, Any]:
    """0.5 where x or y is so large that their sum may overflow, elsewhere 1; and that times x, y.

    XLA computes `0.5 * x + 0.5 * y` as `0.5 * (x + y)`. It does not move a factor that is chosen.
    """
    is_large = maximum(elementwise.abs(x), elementwise.abs(y)) > finfo(x.dtype).max / 2
    scale: Any = where(is_large, 0.5, 1.0).astype(x.dtype)
    return scale, scale * x, scale * y
