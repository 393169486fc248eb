"""Medians and quantiles."""

from __future__ import annotations

from typing import Any

from tenferro import namespace as tn
from tenferro.arrays import normal_axis
from tenferro.composed.operands import option, promoted, real
from tenferro.errors import DTypeError, ShapeError
from tenferro.shape import product
from tenferro.typing import AnyTensor, ArrayLike, Axis

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
    real(name, x)
    axes = _axes(name, axis, a.ndim)
    kept = [i for i in range(a.ndim) if i not in axes]
    sizes = a.shape
    if any(sizes[i] == 0 for i in axes):
        raise ShapeError(f"{name}: {a.meta} has no elements along the axes {tuple(axes)}")
    length = product(sizes[i] for i in axes)
    rows = tn.permute_dims(a, (*kept, *axes)).reshape((*(sizes[i] for i in kept), length))
    flat = _between(rows, fractions.ravel() / whole, method, skip)
    result: Any = tn.moveaxis(flat, -1, 0)
    rest = (
        [1 if i in axes else size for i, size in enumerate(sizes)]
        if keepdims
        else [sizes[i] for i in kept]
    )
    return result.reshape((*fractions.shape, *rest))  # type: ignore[no-any-return]


def _between(rows: Any, fractions: Any, method: str, skip: bool) -> Any:
    """The quantiles of each row, along the last axis."""
    missing = tn.isnan(rows)
    ordered: Any = tn.sort(rows)
    place: Any = fractions.reshape((*(1,) * (rows.ndim - 1), -1))
    length = rows.shape[-1]
    if isinstance(length, int) and length > 2 / tn.finfo(place.dtype).eps:
        place = place.astype("float64")  # that has all indices
    if skip:
        present: Any = tn.sum(~missing, axis=-1, keepdims=True)
        place = place * tn.maximum(present - 1, 0).astype(place.dtype)
    else:
        place = place * (length - 1)
    place = tn.maximum(place, 0)
    if method == "nearest":
        place = tn.round(place)
    low, high = tn.floor(place), tn.ceil(place)
    below, above = (
        tn.take_along_axis(ordered, at.astype("int64"), axis=-1, mode="clip") for at in (low, high)
    )
    if method in ("lower", "nearest"):
        result = below
    elif method == "higher":
        result = above
    else:
        scale, first, last = _scaled_down(below, above)
        if method == "midpoint":
            result = tn.where(low == high, below, 0.5 * (first + last) / scale)
        else:
            share: Any = (place - low).astype(rows.dtype, copy=False)
            result = (first + share * (last - first)) / scale
            # Between an infinity and a number is the infinity; one element is not beside itself.
            result = tn.where(tn.isnan(result), below + above, result)
    return result if skip else tn.where(tn.any(missing, axis=-1, keepdims=True), tn.nan, result)


def _scaled_down(x: Any, y: Any) -> tuple[Any, Any, Any]:
    """0.5 where x or y is so large that their sum may overflow, elsewhere 1; and that times x, y.

    XLA computes `0.5 * x + 0.5 * y` as `0.5 * (x + y)`. It does not move a factor that is chosen.
    """
    is_large = tn.maximum(tn.abs(x), tn.abs(y)) > tn.finfo(x.dtype).max / 2
    scale: Any = tn.where(is_large, 0.5, 1.0).astype(x.dtype)
    return scale, scale * x, scale * y


def _axes(name: str, axis: Axis, rank: int) -> list[int]:
    """Axes counted from the front, in ascending order."""
    if axis is None:
        return list(range(rank))
    several = axis if isinstance(axis, tuple | list) else (axis,)
    return sorted({normal_axis(name, each, rank) for each in several})
