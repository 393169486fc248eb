"""The IR's ops one to one: no promotion, no broadcasting. Operands first, then the payload.

>>> from tenferro.namespace import lax
>>> import tenferro as tn
>>> x = tn.Tensor([[1.0, 2.0], [3.0, 4.0]])
>>> lax.dot_general(x, x, lhs_contract=(1,), rhs_contract=(0,))
Tensor([[ 7., 10.],
        [15., 22.]])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenferro import ops
from tenferro.arrays import is_number
from tenferro.chainrules import Emitter, V
from tenferro.dispatch import apply, create
from tenferro.errors import GraphError
from tenferro.namespace.indexing import argsort, take_along_axis
from tenferro.namespace.indexing import top_k as top_k
from tenferro.namespace.layout import asarray
from tenferro.ops import StdTensorOp
from tenferro.runtime import Tensor
from tenferro.shape import as_dtype, dim


def _one_to_one(kind: type[StdTensorOp]) -> Callable[..., Any]:
    def function(*operands: Any, **payload: Any) -> Any:
        operands, given = _split(kind, operands)
        try:
            op = kind(*given, **payload)
        except TypeError as error:
            raise GraphError(f"{kind.name}: {error}") from None

        def emit(at: Emitter[V], *values: V) -> V:
            return at.emit(op, *values)

        emit.__name__ = kind.name
        return apply(emit, *[Tensor(x) if is_number(x) else x for x in operands])

    function.__name__ = function.__qualname__ = kind.name
    function.__doc__ = kind.__doc__
    return function


def _split(
    kind: type[StdTensorOp], arguments: tuple[Any, ...]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Operands and payload, of arguments by position; operands in any number come as one list."""
    if kind.n_inputs is not None:
        return arguments[: kind.n_inputs], arguments[kind.n_inputs :]
    if arguments and isinstance(arguments[0], list | tuple):
        return tuple(arguments[0]), arguments[1:]
    return arguments, ()


add = _one_to_one(ops.Add)
sub = _one_to_one(ops.Sub)
mul = _one_to_one(ops.Mul)
neg = _one_to_one(ops.Neg)
conj = _one_to_one(ops.Conj)
div = _one_to_one(ops.Div)
rem = _one_to_one(ops.Rem)
abs = _one_to_one(ops.Abs)
sign = _one_to_one(ops.Sign)
maximum = _one_to_one(ops.Maximum)
minimum = _one_to_one(ops.Minimum)
compare = _one_to_one(ops.Compare)
select = _one_to_one(ops.Select)
clamp = _one_to_one(ops.Clamp)
exp = _one_to_one(ops.Exp)
log = _one_to_one(ops.Log)
sin = _one_to_one(ops.Sin)
cos = _one_to_one(ops.Cos)
tanh = _one_to_one(ops.Tanh)
sqrt = _one_to_one(ops.Sqrt)
rsqrt = _one_to_one(ops.Rsqrt)
pow = _one_to_one(ops.Pow)
expm1 = _one_to_one(ops.Expm1)
log1p = _one_to_one(ops.Log1p)
real = _one_to_one(ops.Real)
imag = _one_to_one(ops.Imag)
complex = _one_to_one(ops.Complex)
transpose = _one_to_one(ops.Transpose)
reshape = _one_to_one(ops.Reshape)
reverse = _one_to_one(ops.Reverse)
broadcast_in_dim = _one_to_one(ops.BroadcastInDim)
dynamic_broadcast_in_dim = _one_to_one(ops.DynamicBroadcastInDim)
reduce_sum = _one_to_one(ops.ReduceSum)
reduce_prod = _one_to_one(ops.ReduceProd)
reduce_max = _one_to_one(ops.ReduceMax)
reduce_min = _one_to_one(ops.ReduceMin)
slice = _one_to_one(ops.Slice)
pad = _one_to_one(ops.Pad)
concatenate = _one_to_one(ops.Concatenate)
extract_diag = _one_to_one(ops.ExtractDiag)
embed_diag = _one_to_one(ops.EmbedDiag)
tril = _one_to_one(ops.Tril)
triu = _one_to_one(ops.Triu)
assume_size = _one_to_one(ops.AssumeSize)
shape_of = _one_to_one(ops.ShapeOf)
dynamic_truncate = _one_to_one(ops.DynamicTruncate)
pad_to_match = _one_to_one(ops.PadToMatch)
tan = _one_to_one(ops.Tan)
sinh = _one_to_one(ops.Sinh)
cosh = _one_to_one(ops.Cosh)
asin = _one_to_one(ops.Asin)
acos = _one_to_one(ops.Acos)
atan = _one_to_one(ops.Atan)
asinh = _one_to_one(ops.Asinh)
acosh = _one_to_one(ops.Acosh)
atanh = _one_to_one(ops.Atanh)
atan2 = _one_to_one(ops.Atan2)
cbrt = _one_to_one(ops.Cbrt)
erf = _one_to_one(ops.Erf)
erfc = _one_to_one(ops.Erfc)
erf_inv = _one_to_one(ops.ErfInv)
logistic = _one_to_one(ops.Logistic)
log_add_exp = _one_to_one(ops.LogAddExp)
floor = _one_to_one(ops.Floor)
ceil = _one_to_one(ops.Ceil)
round_nearest_even = _one_to_one(ops.RoundNearestEven)
sign_bit = _one_to_one(ops.SignBit)
bitwise_and = _one_to_one(ops.And)
bitwise_or = _one_to_one(ops.Or)
bitwise_xor = _one_to_one(ops.Xor)
bitwise_not = _one_to_one(ops.Not)
shift_left = _one_to_one(ops.ShiftLeft)
shift_right = _one_to_one(ops.ShiftRight)
stop_gradient = _one_to_one(ops.StopGradient)
reduce_and = _one_to_one(ops.ReduceAnd)
reduce_or = _one_to_one(ops.ReduceOr)
cumulative_sum = _one_to_one(ops.CumulativeSum)
cumulative_prod = _one_to_one(ops.CumulativeProd)
linear_recurrence = _one_to_one(ops.LinearRecurrence)
dot_general = _one_to_one(ops.DotGeneral)
gather = _one_to_one(ops.Gather)
scatter = _one_to_one(ops.Scatter)
scatter_reduce = _one_to_one(ops.ScatterReduce)
gather_dynamic_slice_sizes = _one_to_one(ops.GatherDynamicSliceSizes)
argmax = _one_to_one(ops.ArgMax)
argmin = _one_to_one(ops.ArgMin)


def convert(x: Any, *, dtype: object) -> Any:
    """The same numbers in another dtype; where they do not fit, what fits.

    >>> convert([1.5], dtype="int64")
    Tensor([1])
    """
    return _one_to_one(ops.Convert)(x, dtype=as_dtype(dtype))


def iota(dtype: object, size: Any) -> Any:
    """0, 1, 2, … along one axis of the given size, which may be a name in a traced program.

    >>> iota("int32", 3)
    Tensor([0, 1, 2], dtype=int32)
    """
    op = ops.Iota(as_dtype(dtype), dim(size))

    def counted(at: Emitter[V], start: V, shape: Any) -> V:
        return at.emit(op)

    return create(counted, 0, shape=size)


def dynamic_slice(x: Any, starts: Any, slice_sizes: Any) -> Any:
    """The window of x of those sizes that starts at `starts`, one scalar for each axis.

    A window that would reach over an end is moved back into x.

    >>> dynamic_slice([1.0, 2.0, 3.0], (2,), (2,))
    Tensor([2., 3.])
    """
    return _one_to_one(ops.DynamicSlice)([x, *_scalars(starts)], tuple(slice_sizes))


def dynamic_update_slice(x: Any, window: Any, starts: Any) -> Any:
    """x with `window` put in at `starts`, one scalar for each axis.

    A window that would reach over an end is moved back into x.

    >>> dynamic_update_slice([1.0, 2.0, 3.0], [0.0], (1,))
    Tensor([1., 0., 3.])
    """
    return _one_to_one(ops.DynamicUpdateSlice)([x, window, *_scalars(starts)])


def sort(x: Any, axis: int = -1) -> tuple[Any, Any]:
    """The elements of x in ascending order along `axis`, and the place that each had before.

    >>> sort([3.0, 1.0, 2.0])
    (Tensor([1., 2., 3.]), Tensor([1, 2, 0]))
    """
    places = argsort(x, axis)
    return take_along_axis(x, places, axis), places


def _scalars(starts: Any) -> list[Any]:
    """Starts of one dtype: those of the operands, or int64 where they differ."""
    scalars = [asarray(start) for start in starts]
    same = len({scalar.dtype for scalar in scalars}) == 1
    return [scalar.astype(scalar.dtype if same else "int64") for scalar in scalars]
