"""Reductions and scans of the elements that are not NaN."""

from __future__ import annotations

from typing import Any

from tenferro import namespace as tn
from tenferro.composed.operands import array, number
from tenferro.errors import DTypeError
from tenferro.shape import FLOAT16, FLOAT32, FLOAT64, DType, as_dtype, is_inexact, real_dtype
from tenferro.typing import AnyTensor, ArrayLike, Axis, DTypeLike


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
    kept = _replaced("nansum", x, 0, where)
    result = tn.sum(kept, axis=axis, dtype=dtype, keepdims=keepdims)
    return result if initial is None else tn.add(result, initial)


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
    kept = _replaced("nanprod", x, 1, where)
    result = tn.prod(kept, axis=axis, dtype=dtype, keepdims=keepdims)
    return result if initial is None else tn.multiply(result, initial)


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
    return _extreme("nanmax", tn.max, tn.maximum, -1, x, axis, keepdims, initial, where)  # type: ignore[no-any-return]


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
    return _extreme("nanmin", tn.min, tn.minimum, 1, x, axis, keepdims, initial, where)  # type: ignore[no-any-return]


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
    total = tn.sum(_replaced("nanmean", a, 0, where), axis=axis, keepdims=keepdims)
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
    natural = a.dtype if is_inexact(a.dtype) else FLOAT64
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
    apart = tn.where(_counts(a, where), a - middle, 0)
    squares = (
        tn.square(tn.real(apart)) + tn.square(tn.imag(apart))
        if a.dtype.kind == "c"
        else tn.square(apart)
    )
    total = tn.sum(squares, axis=axis, keepdims=keepdims)
    counted = _counted(a, where, axis, keepdims).astype(total.dtype)
    divisor = counted - number(name, "ddof", ddof)
    variance = total / tn.where(divisor > 0, divisor, tn.nan)
    value = tn.sqrt(variance) if name == "nanstd" else variance
    return value.astype(real_dtype(result) if dtype is None else result, copy=False)


def nanargmax(x: ArrayLike, axis: int | None = None, *, keepdims: bool = False) -> AnyTensor:
    """The index of the largest element that is not NaN; -1 if there are none.

    >>> tn.nanargmax([1.0, tn.nan, 3.0])
    Tensor(2)
    """
    return _place("nanargmax", tn.argmax, -tn.inf, x, axis, keepdims)  # type: ignore[no-any-return]


def nanargmin(x: ArrayLike, axis: int | None = None, *, keepdims: bool = False) -> AnyTensor:
    """The index of the smallest element that is not NaN; -1 if there are none.

    >>> tn.nanargmin([1.0, tn.nan, 3.0])
    Tensor(0)
    """
    return _place("nanargmin", tn.argmin, tn.inf, x, axis, keepdims)  # type: ignore[no-any-return]


def nancumsum(x: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None) -> AnyTensor:
    """Cumulative sums along `axis`, with 0 for NaN; of the flattened array if None.

    >>> tn.nancumsum([1.0, tn.nan, 3.0])
    Tensor([1., 1., 4.])
    """
    kept = _replaced("nancumsum", x, 0, None)
    return tn.cumsum(kept, axis=axis, dtype=dtype)


def nancumprod(x: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None) -> AnyTensor:
    """Cumulative products along `axis`, with 1 for NaN; of the flattened array if None.

    >>> tn.nancumprod([2.0, tn.nan, 3.0])
    Tensor([2., 2., 6.])
    """
    kept = _replaced("nancumprod", x, 1, None)
    return tn.cumprod(kept, axis=axis, dtype=dtype)


def _counts(x: Any, where: Any) -> Any:
    """Which elements count."""
    present = ~tn.isnan(x)
    return present if where is None else present & (array("where", where) != 0)


def _counted(x: Any, where: Any, axis: Axis, keepdims: bool) -> Any:
    return tn.sum(tn.broadcast_arrays(_counts(x, where), x)[0], axis=axis, keepdims=keepdims)


def _replaced(name: str, x: Any, number: Any, where: Any) -> Any:
    """The array with a number for each element that does not count."""
    a = array(name, x)
    if where is None and not is_inexact(a.dtype):
        return a
    return tn.where(_counts(a, where), a, tn.full_like(a, number))


def _extreme(
    name: str, reduce: Any, of_two: Any, sign: int, x: Any, axis: Axis, keepdims: bool,
    initial: Any, where: Any,
) -> Any:  # fmt: skip
    a = array(name, x)
    if where is not None and initial is None and not is_inexact(a.dtype):
        initial = tn.iinfo(a.dtype).max if sign > 0 else tn.iinfo(a.dtype).min
    worst = sign * tn.inf if is_inexact(a.dtype) else initial
    kept = a if worst is None else _replaced(name, a, worst, where)
    result = reduce(kept, axis=axis, keepdims=keepdims)
    if is_inexact(a.dtype):
        some = _counted(a, where, axis, keepdims) > 0
        result = tn.where(some, result, tn.nan if initial is None else initial)
    return result if initial is None else of_two(result, initial)


def _place(name: str, find: Any, worst: float, x: Any, axis: int | None, keepdims: bool) -> Any:
    a = array(name, x)
    if not is_inexact(a.dtype):
        return find(a, axis=axis, keepdims=keepdims)
    place = find(_replaced(name, a, worst, None), axis=axis, keepdims=keepdims)
    return tn.where(_counted(a, None, axis, keepdims) > 0, place, -1)
