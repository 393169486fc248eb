"""The ops of the IR as functions of operands and payload, without promotion and broadcasting.

>>> x = tn.array([[1.0, 2.0], [3.0, 4.0]])
>>> tn.lax.dot_general(x, x, lhs_contract=(1,), rhs_contract=(0,))
Tensor([[ 7., 10.],
        [15., 22.]])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec

from tenferro import ops
from tenferro.arrays import is_number, sorting
from tenferro.chainrules import Emitter, V
from tenferro.dispatch import OpFunction, apply, create
from tenferro.errors import GraphError
from tenferro.loops import associative_scan as associative_scan
from tenferro.loops import cond as cond
from tenferro.loops import fori_loop as fori_loop
from tenferro.loops import map as map
from tenferro.loops import scan as scan
from tenferro.loops import switch as switch
from tenferro.loops import while_loop as while_loop
from tenferro.namespace.creation import asarray
from tenferro.namespace.indexing import top_k as top_k
from tenferro.ops import StdTensorOp
from tenferro.runtime import Tensor
from tenferro.shape import as_dtype, dim
from tenferro.typing import AnyTensor, ArrayLike, DTypeLike, Size

P = ParamSpec("P")


def _unary(kind: Callable[P, StdTensorOp]) -> Callable[Concatenate[ArrayLike, P], AnyTensor]:
    """The function of an op of one operand."""
    return _one_to_one(kind)


def _binary(
    kind: Callable[P, StdTensorOp],
) -> Callable[Concatenate[ArrayLike, ArrayLike, P], AnyTensor]:
    """The function of an op of two operands."""
    return _one_to_one(kind)


def _ternary(
    kind: Callable[P, StdTensorOp],
) -> Callable[Concatenate[ArrayLike, ArrayLike, ArrayLike, P], AnyTensor]:
    """The function of an op of three operands."""
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
        try:
            op = kind(*positional, **payload)
        except TypeError as error:
            raise GraphError(f"{kind.name}: {error}") from None

        return apply(OpFunction(op), *[Tensor(x) if is_number(x) else x for x in operands])

    function.__name__ = function.__qualname__ = kind.name
    function.__doc__ = kind.__doc__
    return function


def _split(
    kind: type[StdTensorOp], arguments: tuple[Any, ...]
) -> tuple[tuple[ArrayLike, ...], tuple[Any, ...]]:
    """Positional arguments as operands and payload; variadic operands are passed as one list."""
    if kind.n_inputs is not None:
        return arguments[: kind.n_inputs], arguments[kind.n_inputs :]
    if arguments and isinstance(arguments[0], list | tuple):
        return tuple(arguments[0]), arguments[1:]
    return arguments, ()


add = _binary(ops.Add)
sub = _binary(ops.Sub)
mul = _binary(ops.Mul)
neg = _unary(ops.Neg)
conj = _unary(ops.Conj)
div = _binary(ops.Div)
rem = _binary(ops.Rem)
abs = _unary(ops.Abs)
sign = _unary(ops.Sign)
maximum = _binary(ops.Maximum)
minimum = _binary(ops.Minimum)
compare = _binary(ops.Compare)
select = _ternary(ops.Select)
clamp = _ternary(ops.Clamp)
exp = _unary(ops.Exp)
log = _unary(ops.Log)
sin = _unary(ops.Sin)
cos = _unary(ops.Cos)
tanh = _unary(ops.Tanh)
sqrt = _unary(ops.Sqrt)
rsqrt = _unary(ops.Rsqrt)
pow = _binary(ops.Pow)
expm1 = _unary(ops.Expm1)
log1p = _unary(ops.Log1p)
real = _unary(ops.Real)
imag = _unary(ops.Imag)
complex = _binary(ops.Complex)
transpose = _unary(ops.Transpose)
reshape = _unary(ops.Reshape)
reverse = _unary(ops.Reverse)
broadcast_in_dim = _unary(ops.BroadcastInDim)
dynamic_broadcast_in_dim = _variadic(ops.DynamicBroadcastInDim)
reduce_sum = _unary(ops.ReduceSum)
reduce_prod = _unary(ops.ReduceProd)
reduce_max = _unary(ops.ReduceMax)
reduce_min = _unary(ops.ReduceMin)
slice = _unary(ops.Slice)
pad = _binary(ops.Pad)
concatenate = _variadic(ops.Concatenate)
extract_diag = _unary(ops.ExtractDiag)
embed_diag = _unary(ops.EmbedDiag)
tril = _unary(ops.Tril)
triu = _unary(ops.Triu)
assume_size = _unary(ops.AssumeSize)
shape_of = _unary(ops.ShapeOf)
dynamic_truncate = _binary(ops.DynamicTruncate)
pad_to_match = _binary(ops.PadToMatch)
tan = _unary(ops.Tan)
sinh = _unary(ops.Sinh)
cosh = _unary(ops.Cosh)
asin = _unary(ops.Asin)
acos = _unary(ops.Acos)
atan = _unary(ops.Atan)
asinh = _unary(ops.Asinh)
acosh = _unary(ops.Acosh)
atanh = _unary(ops.Atanh)
atan2 = _binary(ops.Atan2)
cbrt = _unary(ops.Cbrt)
erf = _unary(ops.Erf)
erfc = _unary(ops.Erfc)
special = _unary(ops.Special)
erf_inv = _unary(ops.ErfInv)
logistic = _unary(ops.Logistic)
log_add_exp = _binary(ops.LogAddExp)
floor = _unary(ops.Floor)
ceil = _unary(ops.Ceil)
round_nearest_even = _unary(ops.RoundNearestEven)
sign_bit = _unary(ops.SignBit)
bitwise_and = _binary(ops.And)
bitwise_or = _binary(ops.Or)
bitwise_xor = _binary(ops.Xor)
bitwise_not = _unary(ops.Not)
shift_left = _binary(ops.ShiftLeft)
shift_right = _binary(ops.ShiftRight)
stop_gradient = _unary(ops.StopGradient)
reduce_and = _unary(ops.ReduceAnd)
reduce_or = _unary(ops.ReduceOr)
cumulative_sum = _unary(ops.CumulativeSum)
cumulative_prod = _unary(ops.CumulativeProd)
linear_recurrence = _binary(ops.LinearRecurrence)
dot_general = _binary(ops.DotGeneral)
gather = _binary(ops.Gather)
scatter = _variadic(ops.Scatter)
scatter_reduce = _variadic(ops.ScatterReduce)
gather_dynamic_slice_sizes = _variadic(ops.GatherDynamicSliceSizes)
argmax = _unary(ops.ArgMax)
argmin = _unary(ops.ArgMin)
threefry2x32 = _one_to_one(ops.Threefry2x32)
gamma_sample = _binary(ops.GammaSample)
gamma_grad = _binary(ops.GammaGrad)
_convert = _unary(ops.Convert)
_dynamic_slice = _variadic(ops.DynamicSlice)
_dynamic_update_slice = _variadic(ops.DynamicUpdateSlice)


def convert(x: ArrayLike, *, dtype: DTypeLike) -> AnyTensor:
    """The numbers in another dtype; numbers that do not fit are truncated or saturated.

    >>> tn.lax.convert([1.5], dtype="int64")
    Tensor([1])
    """
    return _convert(x, dtype=as_dtype(dtype))


def iota(dtype: DTypeLike, size: Size) -> AnyTensor:
    """0, 1, 2, … along one axis of `size`, which may be a name in a traced program.

    >>> tn.lax.iota("int32", 3)
    Tensor([0, 1, 2], dtype=int32)
    """
    op = ops.Iota(as_dtype(dtype), dim(size))

    def counted(at: Emitter[V], start: V, shape: Size) -> V:
        return at.emit(op)

    return create(counted, 0, shape=size)


def dynamic_slice(
    x: ArrayLike, starts: Sequence[ArrayLike], slice_sizes: Sequence[int]
) -> AnyTensor:
    """The window of x of sizes `slice_sizes` that starts at `starts`, one scalar for each axis.

    A window that would exceed x is moved back into it.

    >>> tn.lax.dynamic_slice([1.0, 2.0, 3.0], (2,), (2,))
    Tensor([2., 3.])
    """
    return _dynamic_slice([x, *_scalars(starts)], tuple(slice_sizes))


def dynamic_update_slice(x: ArrayLike, window: ArrayLike, starts: Sequence[ArrayLike]) -> AnyTensor:
    """x with `window` written at `starts`, one scalar for each axis.

    A window that would exceed x is moved back into it.

    >>> tn.lax.dynamic_update_slice([1.0, 2.0, 3.0], [0.0], (1,))
    Tensor([1., 0., 3.])
    """
    return _dynamic_update_slice([x, window, *_scalars(starts)])


def sort(x: ArrayLike, axis: int = -1) -> tuple[AnyTensor, AnyTensor]:
    """The elements of x in ascending order along `axis`, and the index that each had in x.

    >>> tn.lax.sort([3.0, 1.0, 2.0])
    (Tensor([1., 2., 3.]), Tensor([1, 2, 0]))
    """
    elements, places = apply(sorting.sort_with_places, x, axis=axis)
    return elements, places


def _scalars(starts: Sequence[ArrayLike]) -> list[AnyTensor]:
    """The starts in their common dtype, or in int64 if their dtypes differ."""
    scalars = [asarray(start) for start in starts]
    same = len({scalar.dtype for scalar in scalars}) == 1
    return [scalar.astype(scalar.dtype if same else "int64") for scalar in scalars]
