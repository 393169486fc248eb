"""CheckpointName."""

from __future__ import annotations

from jax import Array
from jax.ad_checkpoint import checkpoint_name

from tenferro.ops import CheckpointName
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: CheckpointName, x: Array) -> Array:
    return checkpoint_name(x, op.tag)  # type: ignore[no-untyped-call,no-any-return]  # JAX has no types
