"""The block of an array that one process holds: the parts of its own devices, put together."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, cast

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding

from tenferro.errors import ShardingError
from tenferro.ir import NumpyArray, TensorMeta, make_meta
from tenferro_xla.in_flight import refuse_forked
from tenferro_xla.placement import check_divides, check_rank, entry_names, mesh_name
from tenferro_xla.settings import own_settings

__all__ = ["from_block"]


def from_block(
    sharding: NamedSharding, block: NumpyArray, shape: Sequence[int] | None
) -> jax.Array:
    """The array of which this process has a block.

    Args:
        sharding: how the array is divided.
        block: what the devices of this process hold of it.
        shape: of the array. None: all processes have as many elements for each part.

    Raises:
        ShardingError: the block does not have the shape of what the devices hold.
    """
    refuse_forked("from_local")
    given = make_meta(block.dtype, block.shape)
    if shape is None:
        whole = _whole(sharding, given)
    else:
        whole = _sizes(shape)
        _check(sharding, given, make_meta(block.dtype, whole))
    try:
        with own_settings():
            array: jax.Array = jax.make_array_from_process_local_data(  # type: ignore[no-untyped-call]
                sharding, block, whole
            )
    except ValueError as error:  # the devices of this process do not hold one block
        raise ShardingError(
            f"from_local: {given} does not fit {sharding.spec} on {mesh_name(sharding.mesh)}: "
            f"{error}"
        ) from None
    return array


def _sizes(shape: object) -> tuple[int, ...]:
    try:
        sizes = tuple([operator.index(size) for size in cast(Sequence[int], shape)])
    except TypeError:
        sizes = (-1,)
    if min(sizes, default=0) < 0:
        raise ShardingError(f"from_local: shape must be a sequence of sizes, got {shape!r}")
    return sizes


def _whole(sharding: NamedSharding, block: TensorMeta) -> tuple[int, ...]:
    """The shape of the array, if all parts are as large as those of the block."""
    sizes = block.static_shape
    assert sizes is not None, "it is an array"
    check_rank(sharding, sizes, "from_local", block)
    parts = _parts(sharding, len(sizes))
    for axis, (size, (here, every)) in enumerate(zip(sizes, parts, strict=True)):
        if size % here:
            wanted = [*sizes]
            wanted[axis] = -(-size // here) * here
            raise ShardingError(
                f"from_local: {sharding.spec} divides axis {axis} into {every} parts, of which "
                f"this process holds {here}; its block must have a multiple of {here} elements "
                f"there, such as {make_meta(block.dtype, tuple(wanted))}, but {block} was given"
            )
    return tuple([size // here * every for size, (here, every) in zip(sizes, parts, strict=True)])


def _check(sharding: NamedSharding, block: TensorMeta, whole: TensorMeta) -> None:
    """Raise ShardingError unless the block is what this process holds of such an array."""
    sizes = whole.static_shape
    assert sizes is not None, "its shape is given"
    check_divides(sharding, sizes, "from_local", whole)
    parts = _parts(sharding, len(sizes))
    wanted = [size // every * here for size, (here, every) in zip(sizes, parts, strict=True)]
    if block.static_shape != tuple(wanted):
        raise ShardingError(
            f"from_local: of {whole}, divided by {sharding.spec} on {mesh_name(sharding.mesh)}, "
            f"this process holds {make_meta(block.dtype, tuple(wanted))}, but {block} was given"
        )


def _parts(sharding: NamedSharding, rank: int) -> list[tuple[int, int]]:
    """For each axis, how many parts this process holds, and how many there are."""
    mesh: Any = sharding.mesh
    assert isinstance(mesh, Mesh), "a sharding of arrays has devices"
    me = jax.process_index()
    here = np.argwhere(np.vectorize(lambda device: device.process_index == me)(mesh.devices))
    if not len(here):
        raise ShardingError(f"from_local: this process has no device of {mesh_name(mesh)}")
    entries = [entry_names(entry) for entry in sharding.spec]
    parts = []
    for names in (*entries, *((),) * (rank - len(entries))):
        columns = [mesh.axis_names.index(name) for name in names]
        places = {tuple(row) for row in here[:, columns].tolist()}
        parts.append((len(places), math.prod(mesh.shape[name] for name in names)))
    return parts
