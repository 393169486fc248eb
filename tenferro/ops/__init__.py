"""The primitives: a topic per file, one class per op.

`ALL_OPS` is the vocabulary. Read `broadcast` first: it shows a complete pair of ops, each
the other's transpose.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tenferro.ir import ShapeGuardContext as ShapeGuardContext
from tenferro.missing_names import names_of, refusal
from tenferro.ops.analytic import *
from tenferro.ops.annotations import *
from tenferro.ops.base import *
from tenferro.ops.broadcast import *
from tenferro.ops.comparison import *
from tenferro.ops.dot_general import *
from tenferro.ops.dynamic_shapes import *
from tenferro.ops.elementwise import *
from tenferro.ops.error_function import *
from tenferro.ops.gamma_integrals import *
from tenferro.ops.gather_scatter import *
from tenferro.ops.random import *
from tenferro.ops.rearrange import *
from tenferro.ops.reductions import *
from tenferro.ops.replay import *
from tenferro.ops.slicing import *
from tenferro.ops.special import *

ALL_OPS: tuple[type[StdTensorOp], ...] = (
    *(Add, Sub, Mul, Neg, Conj, Div, Rem, Abs, Sign, Maximum, Minimum, Compare, Select, Clamp),
    *(Exp, Log, Sin, Cos, Tanh, SechSquared, Sqrt, Rsqrt, Pow, InversePower, Expm1, Log1p),
    *(Convert, Constant, Real, Imag, Complex),
    *(Transpose, Reshape, Reverse, BroadcastInDim, DynamicBroadcastInDim),
    *(Tan, Sinh, Cosh, Asin, Acos, Atan, Asinh, Acosh, Atanh, Atan2),
    *(Cbrt, Erf, Erfc, ErfInv, Logistic, LogAddExp, Special),
    *(Floor, Ceil, RoundNearestEven, SignBit),
    *(And, Or, Xor, Not, ShiftLeft, ShiftRight),
    *(Iota, StopGradient, CotangentWhere, CheckpointName, ShardingConstraint),
    *(ReduceSum, ReduceProd, ReduceMax, ReduceMin, ReduceNorm, ReduceAnd, ReduceOr),
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


MISSING: dict[str, str] = {
    "segment_max": "use x.at[segment_ids].max(data)",
    "segment_min": "use x.at[segment_ids].min(data)",
    "segment_prod": "use tn.ones(...).at[segment_ids].multiply(data)",
    "segment_sum": "use tn.zeros(...).at[segment_ids].add(data)",
}
"""Names of `jax.ops`, and what to do instead."""


if not TYPE_CHECKING:  # type checkers read the imports, and refuse other names
    __all__ = names_of(__name__)
    __getattr__ = refusal("tenferro.ops", __all__, MISSING)
