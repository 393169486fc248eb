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
from tenferro.dispatch import apply
from tenferro.errors import GraphError
from tenferro.ops import StdTensorOp
from tenferro.runtime import Tensor
from tenferro.shape import as_dtype


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
dot_general = _one_to_one(ops.DotGeneral)


def convert(x: Any, *, dtype: object) -> Any:
    """The same numbers in another dtype; where they do not fit, what fits.

    >>> convert([1.5], dtype="int64")
    Tensor([1])
    """
    return _one_to_one(ops.Convert)(x, dtype=as_dtype(dtype))
