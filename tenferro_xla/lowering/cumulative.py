"""Running sums and products, and linear recurrences."""

from __future__ import annotations

from jax import Array, lax

from tenferro.errors import ExecutorError
from tenferro.ops import CumulativeProd, CumulativeSum, LinearRecurrence
from tenferro_xla.lowering.extents import known
from tenferro_xla.lowering.registry import lower


@lower.register
def _(op: CumulativeSum, x: Array) -> Array:
    return lax.cumsum(x, axis=op.axis, reverse=op.reverse)


@lower.register
def _(op: CumulativeProd, x: Array) -> Array:
    return lax.cumprod(x, axis=op.axis, reverse=op.reverse)


@lower.register
def _(op: LinearRecurrence, a: Array, b: Array) -> Array:
    if not known([a.shape[op.axis]]):
        raise ExecutorError(
            f"export: {op.name} along an axis of named size {a.shape[op.axis]}: the number of its "
            "steps must be known; export the program with this size as a number"
        )
    result: Array = lax.associative_scan(_then, (a, b), reverse=op.reverse, axis=op.axis)[1]
    return result


def _then(first: tuple[Array, Array], second: tuple[Array, Array]) -> tuple[Array, Array]:
    """The step h ↦ a₂·(a₁·h + b₁) + b₂."""
    (a1, b1), (a2, b2) = first, second
    return lax.mul(a1, a2), lax.add(lax.mul(a2, b1), b2)
