"""Ops of the IR that `jax.lax` does not have, one to one: operands first, then the payload.

They neither promote nor broadcast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec

from tenferro import ops
from tenferro.arrays import is_number
from tenferro.dispatch import OpFunction, apply
from tenferro.errors import GraphError
from tenferro.ops import StdTensorOp
from tenferro.runtime import Tensor
from tenferro.shape import as_dtype, integer_of, refuse_traced
from tenferro.typing import AnyTensor, ArrayLike, DTypeLike

P = ParamSpec("P")


def _unary(kind: Callable[P, StdTensorOp]) -> Callable[Concatenate[ArrayLike, P], AnyTensor]:
    """The function of an op of one operand."""
    return _one_to_one(kind)


def _binary(
    kind: Callable[P, StdTensorOp],
) -> Callable[Concatenate[ArrayLike, ArrayLike, P], AnyTensor]:
    """The function of an op of two operands."""
    return _one_to_one(kind)


def _variadic(
    kind: Callable[P, StdTensorOp],
) -> Callable[Concatenate[Sequence[ArrayLike], P], AnyTensor]:
    """The function of an op of any number of operands, which are passed as one list."""
    return _one_to_one(kind)


def _one_to_one(op_class: Callable[P, StdTensorOp]) -> Callable[..., AnyTensor]:
    kind: Any = op_class  # a class, with more attributes than the callable type declares

    def function(*operands: ArrayLike, **payload: object) -> AnyTensor:
        operands, positional = _split(kind, operands)
        fields = [_field(kind.name, each) for each in positional]
        try:
            op = kind(*fields, **{key: _field(kind.name, each) for key, each in payload.items()})
        except TypeError as error:
            raise GraphError(f"{kind.name}: {error}") from None

        return apply(OpFunction(op), *[Tensor(x) if is_number(x) else x for x in operands])

    function.__name__ = function.__qualname__ = kind.name
    function.__doc__ = kind.__doc__
    return function


def _field(name: str, value: Any) -> Any:
    """A field of an op, in which integers of any kind are Python integers.

    Raises:
        TracingError: it is traced.
    """
    refuse_traced(name, "a field", value)
    if isinstance(value, tuple | list):
        return type(value)([_field(name, each) for each in value])
    number = integer_of(value)
    return value if number is None else number


def _split(
    kind: type[StdTensorOp], arguments: tuple[Any, ...]
) -> tuple[tuple[ArrayLike, ...], tuple[Any, ...]]:
    """Positional arguments as operands and payload; variadic operands are passed as one list."""
    if kind.n_inputs is not None:
        return arguments[: kind.n_inputs], arguments[kind.n_inputs :]
    if arguments and isinstance(arguments[0], list | tuple):
        return tuple(arguments[0]), arguments[1:]
    return arguments, ()


maximum = _binary(ops.Maximum)
minimum = _binary(ops.Minimum)
compare = _binary(ops.Compare)
reverse = _unary(ops.Reverse)
dynamic_broadcast_in_dim = _variadic(ops.DynamicBroadcastInDim)
extract_diag = _unary(ops.ExtractDiag)
embed_diag = _unary(ops.EmbedDiag)
tril = _unary(ops.Tril)
triu = _unary(ops.Triu)
assume_size = _unary(ops.AssumeSize)
shape_of = _unary(ops.ShapeOf)
dynamic_truncate = _binary(ops.DynamicTruncate)
pad_to_match = _binary(ops.PadToMatch)
log_add_exp = _binary(ops.LogAddExp)
round_nearest_even = _unary(ops.RoundNearestEven)
sign_bit = _unary(ops.SignBit)
shift_right = _binary(ops.ShiftRight)
cumulative_sum = _unary(ops.CumulativeSum)
cumulative_prod = _unary(ops.CumulativeProd)
linear_recurrence = _binary(ops.LinearRecurrence)
scatter_reduce = _variadic(ops.ScatterReduce)
gather_dynamic_slice_sizes = _variadic(ops.GatherDynamicSliceSizes)
special = _variadic(ops.Special)
threefry2x32 = _variadic(ops.Threefry2x32)
gamma_sample = _binary(ops.GammaSample)
gamma_grad = _binary(ops.GammaGrad)
_convert = _unary(ops.Convert)


def convert(x: ArrayLike, *, dtype: DTypeLike) -> AnyTensor:
    """The numbers in another dtype; numbers that do not fit are truncated or saturated.

    >>> tn.lax.convert([1.5], dtype="int64")
    Tensor([1])
    """
    return _convert(x, dtype=as_dtype(dtype))
