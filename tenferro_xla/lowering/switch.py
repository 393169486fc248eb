"""Switch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jax import Array, lax
from jax import numpy as jnp

from tenferro.control import Switch
from tenferro_xla.lowering.program import JaxFunction, jax_function
from tenferro_xla.lowering.registry import LoweringOptions, lower


@lower.register
def _(op: Switch, index: Array, *operands: Array, options: LoweringOptions) -> tuple[Array, ...]:
    branches = [_with_arrays(jax_function(branch, options)) for branch in op.branches]
    last = min(len(branches) - 1, np.iinfo(index.dtype).max)
    held = lax.clamp(np.zeros((), index.dtype), index, np.asarray(last, index.dtype))
    return tuple(lax.switch(held, branches, *operands))  # it would wrap an index of 64 bits


def _with_arrays(function: JaxFunction) -> Callable[..., tuple[Array, ...]]:
    """The function, whose constant results are arrays of JAX."""
    return lambda *operands: tuple([jnp.asarray(value) for value in function(*operands)])
