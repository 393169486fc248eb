"""Functional transforms: jit, grad and its relatives, over pytrees, nesting in any order."""

from tenferro.transforms.gradients import grad, grad_optional, value_and_grad, vjp
from tenferro.transforms.jacobians import hessian, jacfwd, jacrev
from tenferro.transforms.jit import Jitted, jit
from tenferro.transforms.programs import make_program
from tenferro.transforms.tangents import derivative, hvp, jvp, linearize
from tenferro.transforms.trace import AD, COMPILER
from tenferro.transforms.trees import flatten, leaf_names, unflatten

__all__ = [
    "AD",
    "COMPILER",
    "Jitted",
    "derivative",
    "flatten",
    "grad",
    "grad_optional",
    "hessian",
    "hvp",
    "jacfwd",
    "jacrev",
    "jit",
    "jvp",
    "leaf_names",
    "linearize",
    "make_program",
    "unflatten",
    "value_and_grad",
    "vjp",
]
