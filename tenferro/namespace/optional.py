"""Functions with optional operands."""

from __future__ import annotations

from typing import Literal, overload

from tenferro.arrays import elementwise, filling, rearrange, reductions, scans
from tenferro.dispatch import apply
from tenferro.namespace.creation import asarray
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
        mean = apply(reductions.average, x, axis=axis, keepdims=keepdims)
    else:
        mean = apply(reductions.average, x, weights, axis=axis, keepdims=keepdims)
    if not returned:
        return mean
    each = apply(filling.ones_like, x) if weights is None else asarray(weights)
    over = axis if each.ndim == asarray(x).ndim else None
    total = each.sum(axis=over, keepdims=keepdims and over == axis).astype(mean.dtype)
    return mean, apply(rearrange.broadcast_to, total, shape=mean.shape)


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
