"""AssumeSize; and ShapeOf, DynamicTruncate and PadToMatch where shapes are known."""

from __future__ import annotations

import numpy as np
from jax import Array, lax
from jax import numpy as jnp
from jax.export import is_symbolic_dim

from tenferro.errors import ExecutorError
from tenferro.ops import AssumeSize, DynamicTruncate, PadToMatch, ShapeOf
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: AssumeSize, x: Array) -> Array:
    return x


@lower.register
def _(op: ShapeOf, x: Array) -> Array | np.ndarray:
    size = x.shape[op.axis]
    if is_symbolic_dim(size):  # in an export
        return jnp.asarray(size, np.int64)
    return np.asarray(size, np.int64)


@lower.register
def _(op: DynamicTruncate, x: Array, size: object) -> Array:
    if not isinstance(size, np.ndarray):
        raise ExecutorError(
            f"{op.name}: the size is computed by the program, which must be cut here: "
            "XLA compiles for known shapes"
        )
    count = op.numpy(np.empty(x.shape, bool), size).shape[op.axis]
    return lax.slice_in_dim(x, 0, count, axis=op.axis)


@lower.register
def _(op: PadToMatch, x: Array, reference: Array) -> Array:
    missing = max(reference.shape[op.axis] - x.shape[op.axis], 0)
    config = [(0, missing if axis == op.axis else 0, 0) for axis in range(x.ndim)]
    return lax.pad(x, np.zeros((), x.dtype), config)
