"""Functions with optional operands."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from tenferro.errors import ShapeError
from tenferro.ir import AnyTensor, ArrayLike, Axis
from tenferro.namespace.creation import asarray
from tenferro.ops.functions import apply, creation, elementwise, manipulation, reductions

__all__ = ["average", "clip", "diff", "nan_to_num", "pad"]


def clip(x: ArrayLike, min: ArrayLike | None = None, max: ArrayLike | None = None) -> AnyTensor:
    """x clamped between `min` and `max`, either of which may be absent.

    The derivative is 1 strictly between the bounds.

    >>> tn.clip([1, 5, 9], 2, 8)
    Tensor([2, 5, 8])
    """
    if min is None:
        return apply(elementwise.positive, x) if max is None else apply(elementwise.minimum, x, max)
    if max is None:
        return apply(elementwise.maximum, x, min)
    return apply(elementwise.clamp, x, min, max)


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
    return mean, apply(manipulation.broadcast_to, total, shape=mean.shape)


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


def nan_to_num(
    x: ArrayLike,
    *,
    nan: ArrayLike = 0.0,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> AnyTensor:
    """x with NaN and infinities replaced; None means the dtype's largest or smallest number.

    >>> tn.nan_to_num([1.0, float('nan')])
    Tensor([1., 0.])
    """
    given = {sign: number for sign, number in (("+", posinf), ("-", neginf)) if number is not None}
    return apply(elementwise.nan_to_num, x, nan, *given.values(), signs="".join(given))


def pad(
    x: ArrayLike, pad_width: manipulation.PadWidth, constant_values: ArrayLike = 0
) -> AnyTensor:
    """x with a border of constants; `pad_width` is n, (before, after), or one pair for each axis.

    `constant_values` is one number, or like `pad_width` a pair of them, or one pair for each axis.

    Raises:
        DTypeError: a number does not fit the dtype of x.
        ShapeError: there is not one pair for each axis.

    >>> tn.pad([1, 2], (1, 2))
    Tensor([0, 1, 2, 0, 0])
    >>> tn.pad([1, 2], 1, (5, 7))
    Tensor([5, 1, 2, 7])
    """
    numbers = [] if type(constant_values) is int and not constant_values else [constant_values]
    if isinstance(constant_values, list | tuple) or getattr(constant_values, "ndim", False):
        numbers = _numbers_at_ends(x, constant_values)
    return apply(manipulation.pad, x, *numbers, pad_width=pad_width)


def _numbers_at_ends(x: Any, values: Any) -> list[Any]:
    """The number before and the one behind each axis of x, in one list."""
    rank = np.ndim(x) if isinstance(x, list | tuple) else getattr(x, "ndim", 0)
    try:
        return list(np.broadcast_to(_table(values), (rank, 2)).ravel())
    except ValueError:
        raise ShapeError(
            f"pad: constant_values do not give a pair of numbers for each of {rank} axes"
        ) from None


def _table(values: Any) -> np.ndarray[Any, Any]:
    """Numbers in nested lists, or the elements of an array, some of which may be traced."""
    if isinstance(values, np.ndarray):
        return np.array(values.tolist(), object)
    if not isinstance(values, list | tuple) and not getattr(values, "ndim", 0):
        single = np.empty((), object)
        single[()] = values
        return single
    rows = [_table(each) for each in values]
    return np.stack(rows) if rows else np.empty(0, object)
