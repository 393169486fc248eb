"""Functions of neural networks, under the names of `jax.nn`."""

from __future__ import annotations

from typing import Any

from tenferro.arrays import activations
from tenferro.dispatch import apply


def sigmoid(x: Any) -> Any:
    """1/(1 + exp(-x)), without overflow.

    >>> sigmoid([0.0, -1000.0])
    Tensor([0.5, 0. ])
    """
    return apply(activations.sigmoid, x)


def log_sigmoid(x: Any) -> Any:
    """log(sigmoid(x)), without overflow.

    >>> log_sigmoid([-1000.0])
    Tensor([-1000.])
    """
    return apply(activations.log_sigmoid, x)


def softplus(x: Any) -> Any:
    """log(1 + exp(x)), without overflow.

    >>> softplus([-1000.0, 1000.0])
    Tensor([   0., 1000.])
    """
    return apply(activations.softplus, x)


def relu(x: Any) -> Any:
    """x where it is positive, else 0; the derivative at 0 is 0.

    >>> relu([-1.0, 2.0])
    Tensor([0., 2.])
    """
    return apply(activations.relu, x)


def silu(x: Any) -> Any:
    """x·sigmoid(x).

    >>> silu([0.0])
    Tensor([0.])
    """
    return apply(activations.silu, x)


def softmax(x: Any, axis: Any = -1) -> Any:
    """exp(x) divided by its sum over `axis`, without overflow.

    >>> softmax([1000.0, 1000.0])
    Tensor([0.5, 0.5])
    """
    return apply(activations.softmax, x, axis=axis)


def log_softmax(x: Any, axis: Any = -1) -> Any:
    """The logarithm of `softmax`, exact where that is small.

    >>> log_softmax([0.0, 1000.0])
    Tensor([-1000.,     0.])
    """
    return apply(activations.log_softmax, x, axis=axis)


def logsumexp(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """log(sum(exp(x))) over `axis` (None: all axes), without overflow.

    >>> logsumexp([1000.0])
    Tensor(1000.)
    """
    return apply(activations.logsumexp, x, axis=axis, keepdims=keepdims)
