"""Compiling functions of arrays, and batching them; exports all functional transforms.

Read in this order: `call`, `symbolic` (the arguments of a call), `shardings`, `disabling`,
`leaves`, `versions`, `seen` (the short way of a call), `worker`, `tiers`, `jitted`,
`jit`, `programs`, `types`, `mapped_axes`, `vmap`.
Derivatives are in `tenferro.derivatives` and `tenferro.jacobians`.
"""

from tenferro.derivatives import (
    derivative,
    grad,
    grad_optional,
    hvp,
    jet,
    jvp,
    linear_transpose,
    linearize,
    value_and_grad,
    vjp,
)
from tenferro.jacobians import hessian, jacfwd, jacobian, jacrev
from tenferro.traced import flatten, leaf_names, unflatten
from tenferro.transforms.disabling import disable_jit
from tenferro.transforms.jit import jit
from tenferro.transforms.jitted import Jitted
from tenferro.transforms.programs import make_program
from tenferro.transforms.types import eval_shape
from tenferro.transforms.vmap import vmap

__all__ = [
    "Jitted",
    "derivative",
    "disable_jit",
    "eval_shape",
    "flatten",
    "grad",
    "grad_optional",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jet",
    "jit",
    "jvp",
    "leaf_names",
    "linear_transpose",
    "linearize",
    "make_program",
    "unflatten",
    "value_and_grad",
    "vjp",
    "vmap",
]
