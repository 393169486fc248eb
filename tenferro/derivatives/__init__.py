"""Derivatives of traced and eager values, and transforms of functions.

Read in this order: `front` (derivatives of values), `context` (of traced tensors), `basis` (unit
vectors), `linear_part` (a derivative as a graph), `linear_map` (as a function), `gradients`,
`tangents`, `jets`, `transposes`, `jacobians` (of functions, over pytrees).
"""

from tenferro.derivatives.context import AD, AdContext, AdContextBuilder
from tenferro.derivatives.front import Derivatives, check_active, check_scalar, listed
from tenferro.derivatives.gradients import grad, grad_optional, value_and_grad, vjp
from tenferro.derivatives.jacobians import hessian, jacfwd, jacrev
from tenferro.derivatives.jets import jet
from tenferro.derivatives.tangents import derivative, hvp, jvp, linearize
from tenferro.derivatives.transposes import linear_transpose

__all__ = [
    "AD",
    "AdContext",
    "AdContextBuilder",
    "Derivatives",
    "check_active",
    "check_scalar",
    "derivative",
    "grad",
    "grad_optional",
    "hessian",
    "hvp",
    "jacfwd",
    "jacrev",
    "jet",
    "jvp",
    "linear_transpose",
    "linearize",
    "listed",
    "value_and_grad",
    "vjp",
]
