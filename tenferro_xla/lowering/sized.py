"""Sized: its body, once the sizes are known."""

from __future__ import annotations

from collections.abc import Sequence

from jax import Array

from tenferro.control import Sized
from tenferro_xla.lowering.program import jax_function
from tenferro_xla.lowering.registry import LoweringOptions, lower


@lower.register
def _(op: Sized, *operands: Array, options: LoweringOptions) -> Sequence[Array]:
    assert not op.names, "resolved before lowering"
    return jax_function(op.body, options)(*operands)
