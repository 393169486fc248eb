"""The interface that an op set must have to be differentiated and batched.

Read in this order: `primitive` (rules, and the sites they see), `linearity`, `emitter`,
`combinators`, `input_keys`.
"""

from tenferro.chainrules.combinators import (
    add_terms,
    chain,
    each_active,
    jointly_linear,
    multilinear,
)
from tenferro.chainrules.emitter import FragmentEmitter, KeyEmitter, nonlinear
from tenferro.chainrules.input_keys import Cotangent, Tangent, fresh_pass_id
from tenferro.chainrules.linearity import affine_in, is_zero, own_derivative
from tenferro.chainrules.primitive import (
    Batched,
    BatchSite,
    Emitter,
    JvpSite,
    PrimitiveOp,
    RuleContext,
    Slots,
    TransposeSite,
    V,
    only_output,
)

__all__ = [
    "BatchSite",
    "Batched",
    "Cotangent",
    "Emitter",
    "FragmentEmitter",
    "JvpSite",
    "KeyEmitter",
    "PrimitiveOp",
    "RuleContext",
    "Slots",
    "Tangent",
    "TransposeSite",
    "V",
    "add_terms",
    "affine_in",
    "chain",
    "each_active",
    "fresh_pass_id",
    "is_zero",
    "jointly_linear",
    "multilinear",
    "nonlinear",
    "only_output",
    "own_derivative",
]
