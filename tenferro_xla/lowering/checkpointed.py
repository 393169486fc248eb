"""Checkpointed: what is computed again, and when.

XLA on the CPU removes optimization barriers before it looks for equal values, and so makes one
value of what is computed again and what was computed before. It does not look into branches. There
a late op is a branch that is always taken, by a predicate that XLA does not see through.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np
from jax import Array, lax
from jax import numpy as jnp
from jax.ad_checkpoint import checkpoint_name

from tenferro.control import Checkpointed
from tenferro.exec_ir import ExecProgram
from tenferro_xla.lowering.program import JaxFunction, jax_function
from tenferro_xla.lowering.registry import LoweringOptions, lower

_SAVED = "tenferro_saved"


@lower.register
def _(op: Checkpointed, *operands: Array, options: LoweringOptions) -> tuple[Array, ...]:
    body = jax_function(op.body, options)
    if not op.late:
        return _differentiable(op, body)(*operands)
    if not options.waits_in_branch:
        return body(*lax.optimization_barrier(operands))  # type: ignore[no-untyped-call]
    tie = next((x for x in reversed(operands) if x.size), None)
    if tie is None:
        return body(*operands)

    def taken(*values: Array) -> tuple[Array, ...]:
        return tuple([jnp.asarray(value) for value in body(*values)])

    def zeros(*values: Array) -> tuple[Array, ...]:
        return tuple([jnp.zeros(each.shape, each.dtype) for each in _types(op.body, body, values)])

    return tuple(lax.cond(_always(tie), taken, zeros, *operands))


def _differentiable(op: Checkpointed, body: JaxFunction) -> JaxFunction:
    """The body, of which derivatives by JAX keep the same values."""
    first = len(op.body.output_slots) - op.saved

    def named(*values: Array) -> tuple[Array, ...]:
        results = [jnp.asarray(value) for value in body(*values)]
        saved = [checkpoint_name(value, _SAVED) for value in results[first:]]  # type: ignore[no-untyped-call]
        return (*results[:first], *saved)

    policy = jax.checkpoint_policies.save_only_these_names(_SAVED)
    function: JaxFunction = jax.checkpoint(named, policy=policy, prevent_cse=op.prevent_cse)
    return function


def _always(x: Array) -> Array:
    """True, for each number; it is not known before the number is."""
    first = lax.reshape(lax.slice(x, (0,) * x.ndim, (1,) * x.ndim), ())
    if first.dtype == np.bool_:
        first = lax.convert_element_type(first, np.int32)
    if jnp.issubdtype(first.dtype, np.complexfloating):
        first = lax.real(first)
    if jnp.issubdtype(first.dtype, np.floating):
        bits = {2: np.int16, 4: np.int32, 8: np.int64}[first.dtype.itemsize]
        first = lax.bitcast_convert_type(first, bits)
    one, two = np.ones((), first.dtype), np.full((), 2, first.dtype)
    return lax.lt(lax.bitwise_and(first, one), two)


def _types(
    program: ExecProgram, body: JaxFunction, values: Sequence[Array]
) -> Sequence[jax.ShapeDtypeStruct]:
    """The types of the results; those of a program of symbolic sizes are JAX's."""
    metas = program.output_metas
    if any(meta.static_shape is None for meta in metas):
        return jax.eval_shape(body, *values)  # type: ignore[no-any-return]
    return [jax.ShapeDtypeStruct(meta.static_shape, meta.dtype) for meta in metas]  # type: ignore[no-untyped-call]
