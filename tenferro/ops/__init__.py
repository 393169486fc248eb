"""The primitives: one family per file, one class per op.

`ALL_OPS` is the vocabulary. Read `broadcast_reduce` first: it shows a complete pair of ops, each
the other's transpose.
"""

from collections.abc import Callable

from tenferro.ops.analytic import (
    COS,
    EXP,
    EXPM1,
    LOG,
    LOG1P,
    POW,
    RSQRT,
    SIN,
    SQRT,
    TANH,
    Cos,
    Exp,
    Expm1,
    Log,
    Log1p,
    Pow,
    Rsqrt,
    Sin,
    Sqrt,
    Tanh,
)
from tenferro.ops.arithmetic import ADD, CONJ, DIV, MUL, NEG, SUB, Add, Conj, Div, Mul, Neg, Sub
from tenferro.ops.base import StdTensorOp
from tenferro.ops.broadcast_reduce import (
    BroadcastInDim,
    ReduceSum,
    full,
    full_like,
    uniform,
    zeros_like,
)
from tenferro.ops.compare import (
    ABS,
    CLAMP,
    MAXIMUM,
    MINIMUM,
    REM,
    SELECT,
    SIGN,
    Abs,
    Clamp,
    Compare,
    Maximum,
    Minimum,
    Rem,
    Select,
    Sign,
)
from tenferro.ops.constant import Constant, scalar
from tenferro.ops.contraction import DotGeneral
from tenferro.ops.convert import COMPLEX, IMAG, REAL, Complex, Convert, Imag, Real
from tenferro.ops.diagonal import EmbedDiag, ExtractDiag, Tril, Triu
from tenferro.ops.elementwise import Elementwise
from tenferro.ops.layout import Reshape, Reverse, Transpose, inverse
from tenferro.ops.reduce import ReduceMax, ReduceMin, ReduceProd
from tenferro.ops.window import Concatenate, Pad, Slice, meta_of
from tenferro.shape import ShapeGuardContext

ALL_OPS: tuple[type[StdTensorOp], ...] = (
    *(Add, Sub, Mul, Neg, Conj, Div, Rem, Abs, Sign, Maximum, Minimum, Compare, Select, Clamp),
    *(Exp, Log, Sin, Cos, Tanh, Sqrt, Rsqrt, Pow, Expm1, Log1p),
    *(Convert, Constant, Real, Imag, Complex),
    *(Transpose, Reshape, Reverse, BroadcastInDim),
    *(ReduceSum, ReduceProd, ReduceMax, ReduceMin),
    *(Slice, Pad, Concatenate),
    *(ExtractDiag, EmbedDiag, Tril, Triu),
    DotGeneral,
)
VOCABULARY: dict[str, type[StdTensorOp]] = {op.name: op for op in ALL_OPS}


def shape_context(rules: Callable[[str], object | None] | None = None) -> ShapeGuardContext:
    """A metadata context for graphs of these ops."""
    return ShapeGuardContext(ADD, rules)


__all__ = [
    "ABS",
    "ADD",
    "ALL_OPS",
    "CLAMP",
    "COMPLEX",
    "CONJ",
    "COS",
    "DIV",
    "EXP",
    "EXPM1",
    "IMAG",
    "LOG",
    "LOG1P",
    "MAXIMUM",
    "MINIMUM",
    "MUL",
    "NEG",
    "POW",
    "REAL",
    "REM",
    "RSQRT",
    "SELECT",
    "SIGN",
    "SIN",
    "SQRT",
    "SUB",
    "TANH",
    "VOCABULARY",
    "Abs",
    "Add",
    "BroadcastInDim",
    "Clamp",
    "Compare",
    "Complex",
    "Concatenate",
    "Conj",
    "Constant",
    "Convert",
    "Cos",
    "Div",
    "DotGeneral",
    "Elementwise",
    "EmbedDiag",
    "Exp",
    "Expm1",
    "ExtractDiag",
    "Imag",
    "Log",
    "Log1p",
    "Maximum",
    "Minimum",
    "Mul",
    "Neg",
    "Pad",
    "Pow",
    "Real",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "Rem",
    "Reshape",
    "Reverse",
    "Rsqrt",
    "Select",
    "ShapeGuardContext",
    "Sign",
    "Sin",
    "Slice",
    "Sqrt",
    "StdTensorOp",
    "Sub",
    "Tanh",
    "Transpose",
    "Tril",
    "Triu",
    "full",
    "full_like",
    "inverse",
    "meta_of",
    "scalar",
    "shape_context",
    "uniform",
    "zeros_like",
]
