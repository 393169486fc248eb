"""Activation functions; those that `tn` has too are the same."""

from __future__ import annotations

import math

from tenferro import numpy as tn
from tenferro.config import flag
from tenferro.errors import DTypeError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, Axis, DTypeLike, as_dtype
from tenferro.numpy import (
    log_sigmoid,
    log_softmax,
    logsumexp,
    relu,
    sigmoid,
    silu,
    softmax,
    softplus,
    tanh,
)
from tenferro.ops.functions import normal_axis

__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "log_softmax",
    "logmeanexp",
    "logsumexp",
    "mish",
    "one_hot",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softmax",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "standardize",
    "swish",
    "tanh",
]

_SELU = (1.0507009873554804934193349852946, 1.6732632423543772848170429916717)


def identity(x: ArrayLike) -> AnyTensor:
    """x itself.

    >>> tn.nn.identity([1.0])
    Tensor([1.])
    """
    return tn.asarray(x)


def relu6(x: ArrayLike) -> AnyTensor:
    """x clamped between 0 and 6; the derivative at both is 0.

    >>> tn.nn.relu6([-1.0, 3.0, 9.0])
    Tensor([0., 3., 6.])
    """
    value = tn.asarray(x)
    return tn.where((value > 0) & (value < 6), value, tn.clip(value, 0, 6))


def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 0.01) -> AnyTensor:
    """x where it is not negative, else negative_slope·x.

    >>> tn.nn.leaky_relu([-1.0, 2.0])
    Tensor([-0.01,  2.  ])
    """
    value = tn.asarray(x)
    return tn.where(value >= 0, value, negative_slope * value)


def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> AnyTensor:
    """x where it is positive, else alpha·(exp(x) - 1).

    >>> tn.nn.elu([0.0, 2.0])
    Tensor([0., 2.])
    """
    value = tn.asarray(x)
    return tn.where(value > 0, value, alpha * tn.expm1(tn.where(value > 0, 0, value)))


def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> AnyTensor:
    """max(x, 0) + min(0, alpha·(exp(x/alpha) - 1)).

    >>> tn.nn.celu([0.0, 2.0])
    Tensor([0., 2.])
    """
    return tn.maximum(x, 0.0) + alpha * tn.expm1(tn.minimum(x, 0.0) / alpha)


def selu(x: ArrayLike) -> AnyTensor:
    """`elu` with the factors that keep mean 0 and variance 1 through layers.

    >>> tn.nn.selu([0.0, 1.0])
    Tensor([0.        , 1.05070099])
    """
    scale, alpha = _SELU
    return scale * elu(x, alpha)


def gelu(x: ArrayLike, approximate: bool = True) -> AnyTensor:
    """x times the normal distribution function of x; by default its approximation with tanh.

    >>> tn.nn.gelu([0.0, 1.0])
    Tensor([0.        , 0.84119199])
    """
    value = tn.asarray(x)
    if flag("gelu: approximate", approximate):
        inner = math.sqrt(2 / math.pi) * (value + 0.044715 * (value * value * value))
        return value * (0.5 * (1.0 + tanh(inner)))
    return 0.5 * value * tn.erfc(value * -math.sqrt(0.5))


def glu(x: ArrayLike, axis: int = -1) -> AnyTensor:
    """The first half along `axis` times the sigmoid of the second.

    Raises:
        ShapeError: the size of the axis is odd.

    >>> tn.nn.glu([2.0, 0.0])
    Tensor([1.])
    """
    value = tn.asarray(x)
    size = value.shape[normal_axis("glu", axis, value.ndim)]
    if isinstance(size, int) and size % 2:
        raise ShapeError(f"glu: axis {axis} of {value.meta} has an odd size; it must be even")
    first, second = tn.split(value, 2, axis)
    return first * sigmoid(second)


def mish(x: ArrayLike) -> AnyTensor:
    """x·tanh(softplus(x)).

    >>> tn.nn.mish([0.0])
    Tensor([0.])
    """
    return tanh(softplus(x)) * x


def squareplus(x: ArrayLike, b: ArrayLike = 4) -> AnyTensor:
    """(x + sqrt(x² + b))/2.

    >>> tn.nn.squareplus([0.0])
    Tensor([1.])
    """
    value = tn.asarray(x)
    return (value + tn.sqrt(tn.square(value) + b)) / 2


def sparse_plus(x: ArrayLike) -> AnyTensor:
    """0 up to -1, x from 1 on, and (x + 1)²/4 between.

    >>> tn.nn.sparse_plus([-2.0, 0.0, 2.0])
    Tensor([0.  , 0.25, 2.  ])
    """
    value = tn.asarray(x)
    return tn.where(value <= -1.0, 0.0, tn.where(value >= 1.0, value, tn.square(value + 1.0) / 4))


def sparse_sigmoid(x: ArrayLike) -> AnyTensor:
    """0 up to -1, 1 from 1 on, and (x + 1)/2 between.

    >>> tn.nn.sparse_sigmoid([-2.0, 0.0, 2.0])
    Tensor([0. , 0.5, 1. ])
    """
    return 0.5 * tn.minimum(tn.maximum(tn.asarray(x) + 1.0, 0.0), 2.0)


def soft_sign(x: ArrayLike) -> AnyTensor:
    """x/(|x| + 1).

    >>> tn.nn.soft_sign([1.0])
    Tensor([0.5])
    """
    return x / (tn.abs(x) + 1)


def hard_tanh(x: ArrayLike) -> AnyTensor:
    """x clamped between -1 and 1.

    >>> tn.nn.hard_tanh([-2.0, 0.5])
    Tensor([-1. ,  0.5])
    """
    value = tn.asarray(x)
    return tn.where(value > 1, 1, tn.where(value < -1, -1, value))


def hard_sigmoid(x: ArrayLike) -> AnyTensor:
    """relu6(x + 3)/6.

    >>> tn.nn.hard_sigmoid([0.0])
    Tensor([0.5])
    """
    return relu6(tn.asarray(x) + 3.0) / 6.0


def hard_silu(x: ArrayLike) -> AnyTensor:
    """x·hard_sigmoid(x).

    >>> tn.nn.hard_silu([6.0])
    Tensor([6.])
    """
    return hard_sigmoid(x) * x


hard_swish = hard_silu
swish = silu


def log1mexp(x: ArrayLike) -> AnyTensor:
    """log(1 - exp(-x)), accurate for small and for large x.

    >>> tn.nn.log1mexp([800.0]) + 0.0
    Tensor([0.])
    """
    value = tn.asarray(x)
    small = value < math.log(2.0)
    near, far = tn.where(small, value, 1.0), tn.where(small, 1.0, value)
    return tn.where(small, tn.log(-tn.expm1(-near)), tn.log1p(-tn.exp(-far)))


def logmeanexp(
    x: ArrayLike, axis: Axis = None, where: ArrayLike | None = None, keepdims: bool = False
) -> AnyTensor:
    """log(mean(exp(x))) over `axis` (None: all axes), without overflow.

    >>> tn.nn.logmeanexp([1000.0, 1000.0])
    Tensor(1000.)
    """
    total = logsumexp(x, axis, keepdims=keepdims, where=where)
    return total - tn.log(_count(x, where, axis, keepdims).astype(total.dtype))


def _count(x: ArrayLike, mask: ArrayLike | None, axis: Axis, keepdims: bool) -> AnyTensor:
    ones = tn.ones_like(x).astype("float64")
    used = ones if mask is None else tn.where(mask, ones, 0.0)
    return tn.count_nonzero(used, axis=axis, keepdims=keepdims)


def standardize(
    x: ArrayLike,
    axis: Axis = -1,
    mean: ArrayLike | None = None,
    variance: ArrayLike | None = None,
    epsilon: ArrayLike = 1e-5,
    where: ArrayLike | None = None,
    *,
    algorithm: str = "fast",
) -> AnyTensor:
    """(x - mean)/sqrt(variance + epsilon) over `axis`.

    Args:
        x: real numbers.
        axis: the axes over which mean and variance are taken.
        mean: the mean, if it is known.
        variance: the variance, if it is known.
        epsilon: what keeps the root from 0.
        where: the elements that take part in mean and variance.
        algorithm: "fast", the mean square minus the squared mean; or "stable".

    Raises:
        DTypeError: the algorithm is not one of these.

    >>> tn.nn.standardize([1.0, 3.0], epsilon=0.0)
    Tensor([-1.,  1.])
    """
    if algorithm not in ("fast", "stable"):
        raise DTypeError(f"standardize: algorithm {algorithm!r} is not one of 'fast', 'stable'")
    value = tn.asarray(x)
    center = _mean(value, axis, where) if mean is None else tn.asarray(mean)
    if variance is not None:
        spread = tn.asarray(variance)
    elif algorithm == "stable":
        spread = _mean(tn.square(value - center), axis, where)
    else:
        spread = tn.maximum(_mean(tn.square(value), axis, where) - tn.square(center), 0)
    return (value - center) * tn.rsqrt(spread + epsilon)


def _mean(x: AnyTensor, axis: Axis, mask: ArrayLike | None) -> AnyTensor:
    """The mean over `axis` of the elements that take part; the axes remain."""
    if mask is None:
        return tn.mean(x, axis=axis, keepdims=True)
    total = tn.sum(tn.where(mask, x, 0), axis=axis, keepdims=True)
    return total / _count(x, mask, axis, keepdims=True).astype(total.dtype)


def one_hot(
    x: ArrayLike, num_classes: int, *, dtype: DTypeLike | None = None, axis: int = -1
) -> AnyTensor:
    """1 at the places that x names along a new axis of size num_classes, and 0 elsewhere.

    Args:
        x: whole numbers; rows of those out of range are all 0.
        num_classes: the size of the new axis.
        dtype: of the result; by default float64.
        axis: where the new axis lies.

    >>> tn.nn.one_hot([0, 2], 3)
    Tensor([[1., 0., 0.],
            [0., 0., 1.]])
    """
    value = tn.asarray(x)
    place = normal_axis("one_hot", axis, value.ndim + 1)
    shape = tuple(num_classes if i == place else 1 for i in range(value.ndim + 1))
    classes = tn.arange(num_classes).reshape(shape)  # not of x's dtype, which may be too narrow
    return tn.equal(tn.expand_dims(value, axis=place), classes).astype(as_dtype(dtype))
