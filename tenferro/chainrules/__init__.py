"""What an op set must know of itself to be differentiated: rules, the sites they see, and where they emit."""

from tenferro.chainrules.combinators import (
    add_terms,
    chain,
    each_active,
    jointly_linear,
    multilinear,
)
from tenferro.chainrules.emitter import Emitter, FragmentEmitter, KeyEmitter, RuleContext, V
from tenferro.chainrules.input_keys import Cotangent, Tangent, fresh_pass_id
from tenferro.chainrules.primitive import JvpSite, PrimitiveOp, Slots, TransposeSite

__all__ = [
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
    "chain",
    "each_active",
    "fresh_pass_id",
    "jointly_linear",
    "multilinear",
]
