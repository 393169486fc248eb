"""Functions of log-probabilities, of all elements or of those that a mask selects."""

from __future__ import annotations

import functools
import math
from typing import Any, Literal, overload

from tenferro.ir import AnyTensor, ArrayLike, Axis, is_complex
from tenferro.ops import REAL, STOP_GRADIENT, ReduceMax
from tenferro.ops.functions import (
    activations,
    analytic,
    apply,
    elementwise,
    emit,
    logical,
    reductions,
)
from tenferro.ops.functions.promotion import reduce

__all__ = ["log_softmax", "logsumexp", "softmax"]


def softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> AnyTensor:
    """exp(x) divided by its sum over `axis`, without overflow.

    Beside an infinite element the result is 0, and that of the infinite element, 1 in the limit, is
    NaN; where all are -inf, all are NaN.

    Args:
        x: real or complex numbers.
        axis: the axes that sum to 1.
        where: the elements that take part; the others are 0 in the result.

    >>> tn.softmax([1000.0, 1000.0])
    Tensor([0.5, 0.5])
    """
    if where is None:
        return apply(activations.softmax, x, axis=axis)
    masked = elementwise.where(where, x, -math.inf)
    return elementwise.where(where, apply(activations.softmax, masked, axis=axis), 0)


def log_softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> AnyTensor:
    """The logarithm of `softmax`, accurate where `softmax` is small.

    Args:
        x: real or complex numbers.
        axis: the axes over which the exponentials sum to 1.
        where: the elements that take part; the others are -inf in the result.

    >>> tn.log_softmax([0.0, 1000.0])
    Tensor([-1000.,     0.])
    """
    if where is None:
        return apply(activations.log_softmax, x, axis=axis)
    masked = elementwise.where(where, x, -math.inf)
    return elementwise.where(where, apply(activations.log_softmax, masked, axis=axis), -math.inf)


@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: Literal[False] = False,
    where: ArrayLike | None = None,
) -> AnyTensor: ...
@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    *,
    return_sign: Literal[True],
    where: ArrayLike | None = None,
) -> tuple[AnyTensor, AnyTensor]: ...
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> AnyTensor | tuple[AnyTensor, AnyTensor]:
    """log(sum(b·exp(a))) over `axis` (None: all axes), without overflow; -inf for an empty sum.

    Args:
        a: real or complex numbers.
        axis: the axes to sum over.
        b: factors of the exponentials; 1 by default.
        keepdims: whether these axes remain, with size 1.
        return_sign: whether to return the logarithm of the sum's magnitude, and its sign.
        where: the elements that take part.

    >>> tn.logsumexp([1000.0])
    Tensor(1000.)
    """
    if b is None and not return_sign:
        masked = a if where is None else elementwise.where(where, a, -math.inf)
        return apply(activations.logsumexp, masked, axis=axis, keepdims=keepdims)
    factors = 1.0 if b is None else b
    mask = () if where is None else (where,)
    weighted: Any = _weighted  # of one result or two
    return apply(weighted, a, factors, *mask, axis=axis, keepdims=keepdims, signed=return_sign)


def _weighted(
    a: ArrayLike, b: ArrayLike, *where: ArrayLike, axis: Axis, keepdims: bool, signed: bool
) -> AnyTensor | tuple[AnyTensor, AnyTensor]:
    """The logarithm of the sum of b·exp(a); terms with b = 0 are 0 whatever a is."""
    value, factor = analytic.inexact("logsumexp", a, b)
    for mask in where:
        factor = elementwise.where(mask, factor, 0)
    used = elementwise.where(logical.not_equal(factor, 0), value, -math.inf)
    # The largest real part, where it is finite; it has no derivative.
    real = emit(REAL, used) if is_complex(used.meta.dtype) else used
    op = functools.partial(ReduceMax, empty=True, skips_nan=True)
    largest = emit(STOP_GRADIENT, reduce("logsumexp", op, real, axis, True))
    shift = elementwise.where(logical.isfinite(largest), largest, 0)
    powers = analytic.exp(elementwise.subtract(used, shift))
    products = elementwise.multiply(powers, factor)
    total = reductions.sum(products, axis=axis, keepdims=True)
    size = elementwise.abs(total) if signed else total
    results = [elementwise.add(analytic.log(size), shift)]
    if signed:
        results.append(elementwise.sign(total))
    if not keepdims:
        results = [reductions.sum(x, axis=axis) for x in results]  # axes of size 1
    return (results[0], results[1]) if signed else results[0]
