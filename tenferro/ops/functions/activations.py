"""Functions of neural networks and of log-probabilities; none of them overflows."""

from __future__ import annotations

from tenferro.ir import AnyTensor, ArrayLike, Axis, Exact, TensorMeta, float_limits, is_complex
from tenferro.ops import (
    ADD,
    DIV,
    EXP,
    LOG,
    LOG_ADD_EXP,
    LOGISTIC,
    MINIMUM,
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
)
from tenferro.ops.functions.analytic import analytic, inexact
from tenferro.ops.functions.dispatch import (
    array_function,
    broadcast_like,
    emit,
    full_like,
    zeros_like,
)
from tenferro.ops.functions.logical import isfinite
from tenferro.ops.functions.promotion import called, normal_axes, restored

__all__ = ["log_sigmoid", "relu", "sigmoid", "silu", "softplus"]


@array_function
def sigmoid(x: ArrayLike) -> AnyTensor:
    """1/(1 + exp(-x)), without overflow.

    >>> tn.sigmoid([0.0, -1000.0])
    Tensor([0.5, 0. ])
    """
    return analytic("sigmoid", LOGISTIC, x)


@array_function
def log_sigmoid(x: ArrayLike) -> AnyTensor:
    """log(sigmoid(x)), without overflow.

    >>> tn.log_sigmoid([-1000.0])
    Tensor([-1000.])
    """
    (value,) = inexact("log_sigmoid", x)
    return emit(NEG, _softplus("log_sigmoid", emit(NEG, value)))


@array_function
def softplus(x: ArrayLike) -> AnyTensor:
    """log(1 + exp(x)), without overflow.

    >>> tn.softplus([-1000.0, 1000.0])
    Tensor([   0., 1000.])
    """
    (value,) = inexact("softplus", x)
    return _softplus("softplus", value)


def _softplus(name: str, value: AnyTensor) -> AnyTensor:
    return called(name, LOG_ADD_EXP, value, zeros_like(value))


@array_function
def relu(x: ArrayLike) -> AnyTensor:
    """x where it is positive, else 0; the derivative at 0 is 0.

    >>> tn.relu([-1.0, 2.0])
    Tensor([0., 2.])
    """
    (value,) = inexact("relu", x)
    zero = zeros_like(value)
    return emit(SELECT, called("relu", Compare("LE"), value, zero), zero, value)


@array_function
def silu(x: ArrayLike) -> AnyTensor:
    """x·sigmoid(x).

    >>> tn.silu([0.0])
    Tensor([0.])
    """
    (value,) = inexact("silu", x)
    return emit(MUL, value, emit(LOGISTIC, value))


def softmax(x: ArrayLike, axis: Axis = -1) -> AnyTensor:
    """exp(x) divided by its sum over `axis`, without overflow.

    >>> tn.softmax([1000.0, 1000.0])
    Tensor([0.5, 0.5])
    """
    (value,) = inexact("softmax", x)
    axes = normal_axes("softmax", axis, value.meta.rank)
    shifted, _ = _shifted(value, axes)
    powers = emit(EXP, shifted)
    total = emit(ReduceSum(axes), powers)
    share = emit(DIV, full_like(1, total), total)  # one quotient for all elements of a sum
    return emit(MUL, powers, _spread(share, value, axes))


def log_softmax(x: ArrayLike, axis: Axis = -1) -> AnyTensor:
    """The logarithm of `softmax`, accurate where `softmax` is small.

    >>> tn.log_softmax([0.0, 1000.0])
    Tensor([-1000.,     0.])
    """
    (value,) = inexact("log_softmax", x)
    axes = normal_axes("log_softmax", axis, value.meta.rank)
    shifted, _ = _shifted(value, axes)
    total = emit(LOG, emit(ReduceSum(axes), emit(EXP, shifted)))
    return emit(SUB, shifted, _spread(total, value, axes))


def logsumexp(x: ArrayLike, axis: Axis = None, *, keepdims: bool = False) -> AnyTensor:
    """log(sum(exp(x))) over `axis` (None: all axes), without overflow; -inf for an empty sum.

    >>> tn.logsumexp([1000.0])
    Tensor(1000.)
    """
    (value,) = inexact("logsumexp", x)
    meta: TensorMeta = value.meta
    axes = normal_axes("logsumexp", axis, meta.rank)
    shifted, largest = _shifted(value, axes, finite=True)
    result = emit(LOG, emit(ReduceSum(axes), emit(EXP, shifted)))
    if largest is not None:
        result = emit(ADD, result, largest)
    return restored(result, meta, axes) if keepdims else result


def _shifted(
    value: AnyTensor, axes: tuple[int, ...], *, finite: bool = False
) -> tuple[AnyTensor, AnyTensor | None]:
    """The value minus its largest real part over `axes`; and what was subtracted.

    That is the largest number in place of +inf, and if `finite`, 0 in place of infinities. The
    former is computed from element to element, so that compilers make it one kernel with the
    exponential. Where an element is NaN, so is its difference, whatever is subtracted.
    """
    meta: TensorMeta = value.meta
    sizes = [getattr(meta.extents[axis], "dim", None) for axis in axes]
    if any(meta.extents[axis] == Exact(0) for axis in axes):
        return value, None
    named = meta.dims is None or not all(isinstance(size, int) for size in sizes)
    real = emit(STOP_GRADIENT, emit(REAL, value) if is_complex(meta.dtype) else value)
    if not finite:
        real = emit(MINIMUM, real, full_like(float(float_limits(real.meta.dtype).max), real))
    shift = emit(ReduceMax(axes, named, skips_nan=True), real)
    if finite:
        shift = emit(SELECT, isfinite(shift), shift, zeros_like(shift))
    if is_complex(meta.dtype):
        shift = emit(Convert(meta.dtype), shift)
    return emit(SUB, value, _spread(shift, value, axes)), shift


def _spread(reduced: AnyTensor, like: AnyTensor, axes: tuple[int, ...]) -> AnyTensor:
    """A reduction over `axes`, repeated to the shape of the operand `like`."""
    meta: TensorMeta = like.meta
    remaining = tuple(axis for axis in range(meta.rank) if axis not in axes)
    wide = meta.with_dtype(reduced.meta.dtype)
    return broadcast_like(reduced, wide, remaining, "broadcast_to")
