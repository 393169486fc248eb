"""Lowering of `shard_map` and of the ops on its named axes, by `jax.shard_map` and `jax.lax`."""

from __future__ import annotations

from typing import Any

import jax
from jax import Array, lax
from jax import numpy as jnp

from tenferro import ops
from tenferro.errors import UnboundAxisError
from tenferro.ops.control_flow import ShardMap
from tenferro_xla.lowering.registry import LoweringOptions, body_function, lower


def _bound(op: ops.Collective) -> Any:
    """The names of the axes, which must be bound around the op."""
    try:
        lax.axis_size(op.names)
    except NameError:
        raise UnboundAxisError.of(op.name, op.names) from None
    return op.names


@lower.register
def _(op: ops.PSum, x: Array, *_: Array) -> Array:
    total: Array = lax.psum(x, _bound(op))  # type: ignore[no-untyped-call]  # JAX has no types there
    return total


@lower.register
def _(op: ops.PMax, x: Array, *_: Array) -> Array:
    largest: Array = lax.pmax(x, _bound(op))  # type: ignore[no-untyped-call]  # as above
    return largest


@lower.register
def _(op: ops.PMin, x: Array, *_: Array) -> Array:
    smallest: Array = lax.pmin(x, _bound(op))  # type: ignore[no-untyped-call]  # as above
    return smallest


@lower.register
def _(op: ops.PVary | ops.PSame, x: Array, *_: Array) -> Array:
    return x


@lower.register
def _(op: ops.AllGather, x: Array, _: Array) -> Array:
    stack: Array = lax.all_gather(x, _bound(op))
    return stack


@lower.register
def _(op: ops.ReduceScatter, x: Array, _: Array) -> Array:
    part: Array = lax.psum_scatter(x, _bound(op))  # type: ignore[no-untyped-call]  # as above
    return part


@lower.register
def _(op: ops.AllToAll, x: Array, _: Array) -> Array:
    parts: Array = lax.all_to_all(x, _bound(op), 0, 0, tiled=True)  # type: ignore[no-untyped-call]  # as above
    return parts


@lower.register
def _(op: ops.PPermute, x: Array, _: Array) -> Array:
    received: Array = lax.ppermute(x, _bound(op)[0], op.perm)  # type: ignore[no-untyped-call]  # as above
    return received


@lower.register
def _(op: ShardMap, *operands: Array, options: LoweringOptions) -> tuple[Array, ...]:
    around: Any = jax.sharding.get_abstract_mesh()  # within another one, where JAX asks for it
    mesh: Any = options.mesh if around.empty else around
    if mesh is None or any(mesh.shape.get(name) != size for name, size in op.axes):
        return tuple(body_function(op.by_blocks, options)(operands))
    names = tuple(op.sizes)
    body = body_function(op.body, options)

    def on_device(*blocks: Array) -> tuple[Array, ...]:
        places = [lax.axis_index(name) for name in names]
        return tuple(map(jnp.asarray, body([*blocks, *places])))

    spec: Any = jax.sharding.PartitionSpec
    function: Any = jax.shard_map(
        on_device,
        mesh=mesh,
        in_specs=tuple([spec(*each) for each in op.in_specs]),
        out_specs=tuple([spec(*each) for each in op.out_specs]),
        axis_names=frozenset(names),
        check_vma=False,
    )
    results: tuple[Array, ...] = function(*operands)
    return results
