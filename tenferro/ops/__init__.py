"""The primitives: one family per file, one class per op.

`ALL_OPS` is the vocabulary. Read `broadcast_reduce` first: it shows a complete pair of ops, each
the other's transpose.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tenferro.naming import missing
from tenferro.ops.analytic import (
    COS,
    EXP,
    EXPM1,
    LOG,
    LOG1P,
    POW,
    RSQRT,
    SECH_SQUARED,
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
    SechSquared,
    Sin,
    Sqrt,
    Tanh,
)
from tenferro.ops.argument import Argument
from tenferro.ops.arithmetic import ADD, CONJ, DIV, MUL, NEG, SUB, Add, Conj, Div, Mul, Neg, Sub
from tenferro.ops.assume import AssumeSize
from tenferro.ops.base import StdTensorOp, entry_meta, meta_of, shape_of
from tenferro.ops.bitwise import (
    AND,
    NOT,
    OR,
    SHIFT_LEFT,
    SHIFT_RIGHT,
    XOR,
    And,
    Not,
    Or,
    ShiftLeft,
    ShiftRight,
    Xor,
)
from tenferro.ops.broadcast_reduce import (
    BroadcastInDim,
    DynamicBroadcastInDim,
    ReduceSum,
    broadcast_like,
    full,
    full_like,
    repeated,
    uniform,
    zeros_like,
)
from tenferro.ops.checkpoint_name import CheckpointName
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
from tenferro.ops.cotangent_where import CotangentWhere
from tenferro.ops.cumulative import (
    CumulativeProd,
    CumulativeSum,
    LinearRecurrence,
)
from tenferro.ops.diagonal import EmbedDiag, ExtractDiag, Tril, Triu
from tenferro.ops.dynamic import DynamicTruncate, PadToMatch, ShapeOf, size_of_scalar
from tenferro.ops.dynamic_slice import DynamicSlice, DynamicUpdateSlice
from tenferro.ops.elementwise import Elementwise
from tenferro.ops.gamma import (
    GAMMA_GRAD,
    LARGE_SHAPE,
    GammaGrad,
    GammaSample,
    gamma_grad_of_large,
)
from tenferro.ops.inactive import (
    STOP_GRADIENT,
    Iota,
    StopGradient,
)
from tenferro.ops.indexing import (
    Gather,
    GatherDynamicSliceSizes,
    Scatter,
    Scattering,
)
from tenferro.ops.joining import Concatenate
from tenferro.ops.rearrange import Reshape, Reverse, Transpose, inverse
from tenferro.ops.reduce import ReduceAnd, ReduceMax, ReduceMin, ReduceOr, ReduceProd
from tenferro.ops.replay import emit_graph, replay
from tenferro.ops.rounding import (
    CEIL,
    FLOOR,
    ROUND,
    SIGN_BIT,
    Ceil,
    Floor,
    RoundNearestEven,
    SignBit,
)
from tenferro.ops.scatter_reduce import ScatterReduce
from tenferro.ops.sharding_constraint import ShardingConstraint
from tenferro.ops.slopes import SLOPES
from tenferro.ops.sort import ArgMax, ArgMin, Sort, gather_along
from tenferro.ops.special import (
    CBRT,
    ERF,
    ERF_INV,
    ERFC,
    LOG_ADD_EXP,
    LOGISTIC,
    Cbrt,
    Erf,
    Erfc,
    ErfInv,
    LogAddExp,
    Logistic,
)
from tenferro.ops.special_functions import SPECIAL_FUNCTIONS, Special
from tenferro.ops.threefry import PARITY, ROTATIONS, Threefry2x32
from tenferro.ops.trigonometric import (
    ACOS,
    ACOSH,
    ASIN,
    ASINH,
    ATAN,
    ATAN2,
    ATANH,
    COSH,
    SINH,
    TAN,
    Acos,
    Acosh,
    Asin,
    Asinh,
    Atan,
    Atan2,
    Atanh,
    Cosh,
    Sinh,
    Tan,
)
from tenferro.ops.window import Pad, Slice
from tenferro.shape import ShapeGuardContext

ALL_OPS: tuple[type[StdTensorOp], ...] = (
    *(Add, Sub, Mul, Neg, Conj, Div, Rem, Abs, Sign, Maximum, Minimum, Compare, Select, Clamp),
    *(Exp, Log, Sin, Cos, Tanh, SechSquared, Sqrt, Rsqrt, Pow, Expm1, Log1p),
    *(Convert, Constant, Real, Imag, Complex),
    *(Transpose, Reshape, Reverse, BroadcastInDim, DynamicBroadcastInDim),
    *(Tan, Sinh, Cosh, Asin, Acos, Atan, Asinh, Acosh, Atanh, Atan2),
    *(Cbrt, Erf, Erfc, ErfInv, Logistic, LogAddExp, Special),
    *(Floor, Ceil, RoundNearestEven, SignBit),
    *(And, Or, Xor, Not, ShiftLeft, ShiftRight),
    *(Iota, StopGradient, CotangentWhere, CheckpointName, ShardingConstraint),
    *(ReduceSum, ReduceProd, ReduceMax, ReduceMin, ReduceAnd, ReduceOr),
    *(CumulativeSum, CumulativeProd, LinearRecurrence),
    *(Slice, Pad, Concatenate),
    *(Gather, GatherDynamicSliceSizes, Scatter, ScatterReduce),
    *(DynamicSlice, DynamicUpdateSlice, Sort, ArgMax, ArgMin),
    *(ShapeOf, DynamicTruncate, PadToMatch, AssumeSize),
    *(ExtractDiag, EmbedDiag, Tril, Triu),
    DotGeneral,
    *(Threefry2x32, GammaSample, GammaGrad),
)


def shape_context(rules: Callable[[str], object | None] | None = None) -> ShapeGuardContext:
    """A metadata context for graphs of these ops."""
    return ShapeGuardContext(ADD, rules)


__all__ = [
    "ABS",
    "ACOS",
    "ACOSH",
    "ADD",
    "ALL_OPS",
    "AND",
    "ASIN",
    "ASINH",
    "ATAN",
    "ATAN2",
    "ATANH",
    "CBRT",
    "CEIL",
    "CLAMP",
    "COMPLEX",
    "CONJ",
    "COS",
    "COSH",
    "DIV",
    "ERF",
    "ERFC",
    "ERF_INV",
    "EXP",
    "EXPM1",
    "FLOOR",
    "GAMMA_GRAD",
    "IMAG",
    "LARGE_SHAPE",
    "LOG",
    "LOG1P",
    "LOGISTIC",
    "LOG_ADD_EXP",
    "MAXIMUM",
    "MINIMUM",
    "MUL",
    "NEG",
    "NOT",
    "OR",
    "PARITY",
    "POW",
    "REAL",
    "REM",
    "ROTATIONS",
    "ROUND",
    "RSQRT",
    "SECH_SQUARED",
    "SELECT",
    "SHIFT_LEFT",
    "SHIFT_RIGHT",
    "SIGN",
    "SIGN_BIT",
    "SIN",
    "SINH",
    "SLOPES",
    "SPECIAL_FUNCTIONS",
    "SQRT",
    "STOP_GRADIENT",
    "SUB",
    "TAN",
    "TANH",
    "XOR",
    "Abs",
    "Acos",
    "Acosh",
    "Add",
    "And",
    "ArgMax",
    "ArgMin",
    "Argument",
    "Asin",
    "Asinh",
    "AssumeSize",
    "Atan",
    "Atan2",
    "Atanh",
    "BroadcastInDim",
    "Cbrt",
    "Ceil",
    "CheckpointName",
    "Clamp",
    "Compare",
    "Complex",
    "Concatenate",
    "Conj",
    "Constant",
    "Convert",
    "Cos",
    "Cosh",
    "CotangentWhere",
    "CumulativeProd",
    "CumulativeSum",
    "Div",
    "DotGeneral",
    "DynamicBroadcastInDim",
    "DynamicSlice",
    "DynamicTruncate",
    "DynamicUpdateSlice",
    "Elementwise",
    "EmbedDiag",
    "Erf",
    "ErfInv",
    "Erfc",
    "Exp",
    "Expm1",
    "ExtractDiag",
    "Floor",
    "GammaGrad",
    "GammaSample",
    "Gather",
    "GatherDynamicSliceSizes",
    "Imag",
    "Iota",
    "LinearRecurrence",
    "Log",
    "Log1p",
    "LogAddExp",
    "Logistic",
    "Maximum",
    "Minimum",
    "Mul",
    "Neg",
    "Not",
    "Or",
    "Pad",
    "PadToMatch",
    "Pow",
    "Real",
    "ReduceAnd",
    "ReduceMax",
    "ReduceMin",
    "ReduceOr",
    "ReduceProd",
    "ReduceSum",
    "Rem",
    "Reshape",
    "Reverse",
    "RoundNearestEven",
    "Rsqrt",
    "Scatter",
    "ScatterReduce",
    "Scattering",
    "SechSquared",
    "Select",
    "ShapeGuardContext",
    "ShapeOf",
    "ShardingConstraint",
    "ShiftLeft",
    "ShiftRight",
    "Sign",
    "SignBit",
    "Sin",
    "Sinh",
    "Slice",
    "Sort",
    "Special",
    "Sqrt",
    "StdTensorOp",
    "StopGradient",
    "Sub",
    "Tan",
    "Tanh",
    "Threefry2x32",
    "Transpose",
    "Tril",
    "Triu",
    "Xor",
    "broadcast_like",
    "emit_graph",
    "entry_meta",
    "full",
    "full_like",
    "gamma_grad_of_large",
    "gather_along",
    "inverse",
    "meta_of",
    "repeated",
    "replay",
    "scalar",
    "shape_context",
    "shape_of",
    "size_of_scalar",
    "uniform",
    "zeros_like",
]

MISSING: dict[str, str] = {
    "segment_max": "use x.at[segment_ids].max(data)",
    "segment_min": "use x.at[segment_ids].min(data)",
    "segment_prod": "use tn.ones(...).at[segment_ids].multiply(data)",
    "segment_sum": "use tn.zeros(...).at[segment_ids].add(data)",
}
"""Names of `jax.ops`, and what to do instead."""


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names

    def __getattr__(name: str) -> Any:
        raise missing("tenferro.ops", name, lambda: __all__, MISSING)
