"""Derivatives of traced and eager values, and transforms of functions.

Read in this order: `front` (derivatives of values), `context` (of traced tensors), `basis` (unit
vectors), `linear_part` (a derivative as a graph), `linear_map` (as a function), `gradients`,
`tangents`, `jets`, `transposes` (of functions, over pytrees). Jacobians are in
`tenferro.jacobians`.
"""

from tenferro.derivatives.basis import Basis, one_hot
from tenferro.derivatives.context import (
    AD,
    AdContext,
    AdContextBuilder,
    context_of,
    results_of,
    traced_with,
)
from tenferro.derivatives.front import Derivatives, check_active, check_scalar, listed
from tenferro.derivatives.gradients import (
    Argnums,
    Bytes,
    Gradients,
    grad,
    grad_optional,
    normal_argnums,
    require_active,
    value_and_grad,
    vjp,
)
from tenferro.derivatives.jets import jet
from tenferro.derivatives.linear_part import Images, Linear, LinearPart
from tenferro.derivatives.tangents import derivative, hvp, jvp, linearize
from tenferro.derivatives.transposes import linear_transpose

__all__ = [
    "AD",
    "AdContext",
    "AdContextBuilder",
    "Argnums",
    "Basis",
    "Bytes",
    "Derivatives",
    "Gradients",
    "Images",
    "Linear",
    "LinearPart",
    "check_active",
    "check_scalar",
    "context_of",
    "derivative",
    "grad",
    "grad_optional",
    "hvp",
    "jet",
    "jvp",
    "linear_transpose",
    "linearize",
    "listed",
    "normal_argnums",
    "one_hot",
    "require_active",
    "results_of",
    "traced_with",
    "value_and_grad",
    "vjp",
]
