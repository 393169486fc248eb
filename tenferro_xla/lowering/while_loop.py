"""While."""

from __future__ import annotations

from typing import Any

import numpy as np
from jax import Array, lax
from jax import numpy as jnp

from tenferro.control import While
from tenferro_xla.lowering.program import jax_function
from tenferro_xla.lowering.registry import LoweringOptions, lower


@lower.register
def _(op: While, *operands: Array, options: LoweringOptions) -> tuple[Array, ...]:
    start = op.cond_consts + op.body_consts
    cond_consts, body_consts = operands[: op.cond_consts], operands[op.cond_consts : start]
    cond, body = jax_function(op.cond, options), jax_function(op.body, options)

    def goes_on(state: tuple[Any, ...]) -> Any:
        steps, *carry = state
        (wanted,) = cond(*cond_consts, *carry)
        if op.max_steps is None:
            return jnp.asarray(wanted)
        return lax.bitwise_and(wanted, lax.lt(steps, np.int64(op.max_steps)))

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        steps, *carry = state
        after = [jnp.asarray(value) for value in body(*body_consts, *carry)]
        return (steps if op.max_steps is None else lax.add(steps, np.int64(1)), *after)

    carry = [jnp.asarray(value) for value in operands[start:]]
    _, *result = lax.while_loop(goes_on, step, (jnp.asarray(np.int64(0)), *carry))
    return tuple(result)
