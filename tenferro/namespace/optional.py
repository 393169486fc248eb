"""Functions with optional operands."""

from __future__ import annotations

from tenferro.arrays import elementwise, reductions, scans
from tenferro.dispatch import apply
from tenferro.typing import AnyTensor, ArrayLike, Axis


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


def average(
    x: ArrayLike, axis: Axis = None, weights: ArrayLike | None = None, *, keepdims: bool = False
) -> AnyTensor:
    """Mean over `axis`, weighted by `weights`.

    >>> tn.average([1.0, 2.0], weights=[3.0, 1.0])
    Tensor(1.25)
    """
    if weights is None:
        return apply(reductions.average, x, axis=axis, keepdims=keepdims)
    return apply(reductions.average, x, weights, axis=axis, keepdims=keepdims)


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
    return apply(scans.diff, x, *before, *after, before=len(before), n=n, axis=axis)
