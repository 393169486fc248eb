"""Functions of neural networks and of log-probabilities; none of them overflows."""

from __future__ import annotations

from tenferro.core import Emitter, V
from tenferro.ir import Axis, Exact, TensorMeta, is_complex
from tenferro.ops import (
    ADD,
    DIV,
    EXP,
    LOG,
    LOG_ADD_EXP,
    LOGISTIC,
    MUL,
    NEG,
    REAL,
    SELECT,
    STOP_GRADIENT,
    SUB,
    Compare,
    Convert,
    ReduceMax,
    ReduceSum,
    broadcast_like,
    zeros_like,
)
from tenferro.ops.functions.analytic import analytic, inexact
from tenferro.ops.functions.logical import isfinite
from tenferro.ops.functions.promotion import Operand, called, normal_axes
from tenferro.ops.functions.reductions import restored


def sigmoid(at: Emitter[V], x: Operand[V]) -> V:
    """1/(1 + exp(-x)), without overflow.

    >>> tn.sigmoid([0.0, -1000.0])
    Tensor([0.5, 0. ])
    """
    return analytic(at, "sigmoid", LOGISTIC, x)


def log_sigmoid(at: Emitter[V], x: Operand[V]) -> V:
    """log(sigmoid(x)), without overflow.

    >>> tn.log_sigmoid([-1000.0])
    Tensor([-1000.])
    """
    (value,) = inexact(at, "log_sigmoid", x)
    return at.emit(NEG, _softplus(at, "log_sigmoid", at.emit(NEG, value)))


def softplus(at: Emitter[V], x: Operand[V]) -> V:
    """log(1 + exp(x)), without overflow.

    >>> tn.softplus([-1000.0, 1000.0])
    Tensor([   0., 1000.])
    """
    (value,) = inexact(at, "softplus", x)
    return _softplus(at, "softplus", value)


def _softplus(at: Emitter[V], name: str, value: V) -> V:
    return called(at, name, LOG_ADD_EXP, value, zeros_like(at, value))


def relu(at: Emitter[V], x: Operand[V]) -> V:
    """x where it is positive, else 0; the derivative at 0 is 0.

    >>> tn.relu([-1.0, 2.0])
    Tensor([0., 2.])
    """
    (value,) = inexact(at, "relu", x)
    zero = zeros_like(at, value)
    return at.emit(SELECT, called(at, "relu", Compare("LE"), value, zero), zero, value)


def silu(at: Emitter[V], x: Operand[V]) -> V:
    """x·sigmoid(x).

    >>> tn.silu([0.0])
    Tensor([0.])
    """
    (value,) = inexact(at, "silu", x)
    return at.emit(MUL, value, at.emit(LOGISTIC, value))


def softmax(at: Emitter[V], x: Operand[V], axis: Axis = -1) -> V:
    """exp(x) divided by its sum over `axis`, without overflow.

    >>> tn.softmax([1000.0, 1000.0])
    Tensor([0.5, 0.5])
    """
    (value,) = inexact(at, "softmax", x)
    axes = normal_axes("softmax", axis, at.ctx.meta(value).rank)
    shifted, _ = _shifted(at, value, axes)
    powers = at.emit(EXP, shifted)
    total = at.emit(ReduceSum(axes), powers)
    return at.emit(DIV, powers, _spread(at, total, value, axes))


def log_softmax(at: Emitter[V], x: Operand[V], axis: Axis = -1) -> V:
    """The logarithm of `softmax`, accurate where `softmax` is small.

    >>> tn.log_softmax([0.0, 1000.0])
    Tensor([-1000.,     0.])
    """
    (value,) = inexact(at, "log_softmax", x)
    axes = normal_axes("log_softmax", axis, at.ctx.meta(value).rank)
    shifted, _ = _shifted(at, value, axes)
    total = at.emit(LOG, at.emit(ReduceSum(axes), at.emit(EXP, shifted)))
    return at.emit(SUB, shifted, _spread(at, total, value, axes))


def logsumexp(at: Emitter[V], x: Operand[V], axis: Axis = None, *, keepdims: bool = False) -> V:
    """log(sum(exp(x))) over `axis` (None: all axes), without overflow; -inf for an empty sum.

    >>> tn.logsumexp([1000.0])
    Tensor(1000.)
    """
    (value,) = inexact(at, "logsumexp", x)
    meta: TensorMeta = at.ctx.meta(value)
    axes = normal_axes("logsumexp", axis, meta.rank)
    shifted, largest = _shifted(at, value, axes)
    result = at.emit(LOG, at.emit(ReduceSum(axes), at.emit(EXP, shifted)))
    if largest is not None:
        result = at.emit(ADD, result, largest)
    return restored(at, result, meta, axes) if keepdims else result


def _shifted(at: Emitter[V], value: V, axes: tuple[int, ...]) -> tuple[V, V | None]:
    """The value minus its largest real part over `axes`, if finite; and what was subtracted."""
    meta: TensorMeta = at.ctx.meta(value)
    sizes = [getattr(meta.extents[axis], "dim", None) for axis in axes]
    if any(meta.extents[axis] == Exact(0) for axis in axes):
        return value, None
    named = meta.dims is None or not all(isinstance(size, int) for size in sizes)
    real = at.emit(REAL, value) if is_complex(meta.dtype) else value
    largest = at.emit(ReduceMax(axes, empty=named), at.emit(STOP_GRADIENT, real))
    shift = at.emit(SELECT, isfinite(at, largest), largest, zeros_like(at, largest))
    if is_complex(meta.dtype):
        shift = at.emit(Convert(meta.dtype), shift)
    return at.emit(SUB, value, _spread(at, shift, value, axes)), shift


def _spread(at: Emitter[V], reduced: V, like: V, axes: tuple[int, ...]) -> V:
    """A reduction over `axes`, repeated to the shape of the operand `like`."""
    meta: TensorMeta = at.ctx.meta(like)
    remaining = tuple(axis for axis in range(meta.rank) if axis not in axes)
    wide = meta.with_dtype(at.ctx.meta(reduced).dtype)
    return broadcast_like(at, reduced, wide, remaining, "broadcast_to")
