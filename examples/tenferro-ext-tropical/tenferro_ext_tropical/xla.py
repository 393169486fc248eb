"""Contractions as functions of JAX values: loops over the contracted index, for XLA.

Importing this module imports JAX; nothing else in the package does. `PACKAGE` names the lowerings,
so that XLA imports them when it first meets the families.

Each step of the loop processes a few contracted indices at once, in one elementwise kernel over the
result. The memory is that of the result, whatever the contracted size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jax import lax

from tenferro_ext_tropical import forms
from tenferro_ext_tropical.ops import (
    TropicalEinsum,
    TropicalEinsumJvp,
    TropicalEinsumVjp,
)
from tenferro_ext_tropical.semiring import Semiring

UNROLL = 16
"""Contracted indices that one step of a loop processes."""
SMALL = 64
"""Largest number of elements of the result for which all products are computed at once."""

State = tuple[jax.Array, ...]


class Lowerings(Protocol):
    """The registry of lowerings of an `XlaExecutor`."""

    def register(self, family_id: str, lowering: Callable[..., Any]) -> None:
        """Make a lowering known."""


def register_lowerings(lowerings: Lowerings) -> None:
    """Register the lowerings of all families with an executor; `PACKAGE` has them too.

    >>> import numpy as np, tenferro_xla, tenferro_ext_tropical as tropical
    >>> import tenferro as tn
    >>> executor = tenferro_xla.XlaExecutor("cpu")
    >>> executor.register_extension(register_lowerings)
    >>> program = tn.make_program(lambda a: tropical.einsum("ij,j", a, a[0]), tn.TensorSpec((2, 2)))
    >>> executor.run(program, {"a": np.array([[1.0, 5.0], [0.0, 2.0]])})
    [Tensor([10.,  7.])]
    """
    lowerings.register(TropicalEinsum.FAMILY_ID, lower_einsum)
    lowerings.register(TropicalEinsumJvp.FAMILY_ID, lower_einsum_jvp)
    lowerings.register(TropicalEinsumVjp.FAMILY_ID, lower_einsum_vjp)


def values(ring: Semiring, a: jax.Array, b: jax.Array) -> jax.Array:
    """The product of `[batch, left, contracted]` and `[batch, contracted, right]`."""
    if _is_small(a, b):
        return _best(ring, _all_products(ring, a, b))

    def step(product: jax.Array, k: Any, state: State) -> State:
        (best,) = state
        return (jnp.where(ring.better(product, best), product, best),)

    (best,) = _over_contracted(a, b, (_full(a, b, ring.zero, a.dtype),), step)
    return best


def winners(ring: Semiring, a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The first contracted index of the best product, and whether there is a product."""
    # indices as wide as elements, so that one vector instruction takes as many of either
    index_dtype = jnp.int32 if a.dtype == jnp.float32 else jnp.int64
    if _is_small(a, b):
        products = _all_products(ring, a, b)
        first = getattr(jnp, f"arg{ring.extremum}")(products, axis=2)
        return first.astype(index_dtype), _best(ring, products) != ring.zero

    def step(product: jax.Array, k: Any, state: State) -> State:
        best, index = state
        wins = ring.better(product, best)
        return jnp.where(wins, product, best), jnp.where(wins, k.astype(index_dtype), index)

    start = (_full(a, b, ring.zero, a.dtype), _full(a, b, -1, index_dtype))
    _, index = _over_contracted(a, b, start, step)
    return index, index >= 0


def _over_contracted(
    a: jax.Array, b: jax.Array, state: State, step: Callable[[jax.Array, Any, State], State]
) -> State:
    """Apply `step` to the products of each contracted index in turn, several at a time."""
    size = a.shape[2]

    def take_in(start: Any, count: int, state: State) -> State:
        some_a = lax.dynamic_slice_in_dim(a, start, count, axis=2)
        some_b = lax.dynamic_slice_in_dim(b, start, count, axis=1)
        for i in range(count):
            state = step(some_a[:, :, i, None] + some_b[:, None, i, :], start + i, state)
        return state

    def body(chunk: jax.Array, state: State) -> State:
        return take_in(chunk * UNROLL, UNROLL, state)

    whole, rest = divmod(size, UNROLL)
    if whole:
        state = lax.fori_loop(0, whole, body, state)
    return take_in(jnp.asarray(whole * UNROLL), rest, state) if rest else state


def _full(a: jax.Array, b: jax.Array, value: float, dtype: Any) -> jax.Array:
    return jnp.full((a.shape[0], a.shape[1], b.shape[2]), value, dtype)


def _is_small(a: jax.Array, b: jax.Array) -> bool:
    """Whether the result is so small that a loop over contracted indices is mostly overhead."""
    return a.shape[0] * a.shape[1] * b.shape[2] <= SMALL and a.shape[2] > UNROLL


def _all_products(ring: Semiring, a: jax.Array, b: jax.Array) -> jax.Array:
    """`[batch, left, contracted, right]`, zero where NaN."""
    products = a[:, :, :, None] + b[:, None, :, :]
    skipped: jax.Array = jnp.where(jnp.isnan(products), jnp.asarray(ring.zero, a.dtype), products)
    return skipped


def _best(ring: Semiring, products: jax.Array) -> jax.Array:
    return jnp.max(products, axis=2) if ring.extremum == "max" else jnp.min(products, axis=2)


def _add_at(size: int, places: jax.Array, updates: jax.Array) -> jax.Array:
    added: jax.Array = jnp.zeros((size,), updates.dtype).at[places].add(updates)
    return added


XLA = forms.Form(jnp, values, winners, _add_at)


def lower_einsum(op: TropicalEinsum, lhs: jax.Array, rhs: jax.Array) -> Any:
    return forms.value(XLA, op.semiring, op.plan([lhs.shape, rhs.shape]), lhs, rhs)


def lower_einsum_jvp(
    op: TropicalEinsumJvp, lhs: jax.Array, rhs: jax.Array, *tangents: jax.Array
) -> Any:
    plan = op.plan([lhs.shape, rhs.shape])
    return forms.tangent(XLA, op.semiring, plan, lhs, rhs, op.spread(tangents))


def lower_einsum_vjp(
    op: TropicalEinsumVjp, lhs: jax.Array, rhs: jax.Array, ct: jax.Array
) -> tuple[jax.Array, ...]:
    plan = op.plan([lhs.shape, rhs.shape])
    return forms.cotangents(XLA, op.semiring, plan, lhs, rhs, ct, op.operands)
