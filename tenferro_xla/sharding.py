"""What `tn.sharding` is made of: JAX's classes of meshes and shardings, and moving arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import (
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
)

from tenferro.errors import ShardingError, counted
from tenferro.ir import ArrayLike, NumpyArray, PyTree, make_meta
from tenferro.ops import ShardingConstraint
from tenferro.runtime import Tensor
from tenferro.transforms import flatten, unflatten
from tenferro_xla.compiled import private, upload
from tenferro_xla.devices import find_device, named_device, own_settings
from tenferro_xla.distributed import initialize, shutdown
from tenferro_xla.executor import XlaExecutor
from tenferro_xla.in_flight import refuse_forked
from tenferro_xla.placement import automatic, check_divides, entry_names, from_block, read
from tenferro_xla.target import platform_of

__all__ = [
    "AxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "from_local",
    "gather",
    "initialize",
    "make_mesh",
    "placed",
    "shutdown",
    "spec_entries",
]


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[str],
    *,
    devices: Sequence[jax.Device | str] | None = None,
) -> Mesh:
    """A mesh of devices whose axes have these sizes and names.

    It is `jax.make_mesh` with axes for which XLA chooses shardings.

    Raises:
        ShardingError: there are too few devices, or the arguments do not fit each other.

    >>> make_mesh((1,), ("data",)).axis_names
    ('data',)
    """
    kinds = (AxisType.Auto,) * len(tuple(axis_names))
    try:
        found = None if devices is None else [_device(each) for each in devices]
        return jax.make_mesh(axis_shapes, axis_names, kinds, devices=found)
    except (ValueError, TypeError) as error:
        raise ShardingError(f"make_mesh: {error}") from None


def _device(value: Any) -> Any:
    """A device of JAX, also by its name."""
    return find_device(str(value)) if isinstance(value, str) else value


def from_local(
    sharding: NamedSharding, block: ArrayLike, shape: Sequence[int] | None = None
) -> Tensor:
    """The tensor of which each process has a block: the parts of its own devices, put together.

    All processes call it, each with its own block. Where there is one process, the block is all.

    Args:
        sharding: how the tensor is divided.
        block: the parts of this process.
        shape: of the tensor. None takes it from the block: all processes have as many elements for
            each part.

    Raises:
        ShardingError: it is not a sharding, or the block does not have the shape of the parts.

    >>> mesh = make_mesh((1,), ("data",))
    >>> from_local(NamedSharding(mesh, PartitionSpec("data")), [1.0, 2.0])
    Tensor([1., 2.])
    """
    if not isinstance(sharding, NamedSharding):
        raise ShardingError(f"from_local: takes a NamedSharding, got {sharding!r}")
    divided = NamedSharding(automatic(sharding.mesh), sharding.spec)
    return Tensor(from_block(divided, private(Tensor(block).numpy()), shape))


def gather(tree: PyTree) -> Any:
    """The tensors of a tree, whole and on the host, in every process; all of them call it.

    Raises:
        PytreeError: a leaf is not an array or number.

    >>> mesh = make_mesh((1,), ("data",))
    >>> gather({"x": from_local(NamedSharding(mesh, PartitionSpec("data")), [1.0, 2.0])})
    {'x': Tensor([1., 2.])}
    """
    leaves, treedef = flatten(tree)
    return unflatten(treedef, [_gathered(Tensor(leaf)) for leaf in leaves])


def _gathered(tensor: Tensor) -> Tensor:
    data = tensor.data
    if isinstance(data, np.ndarray):
        return tensor
    if not (data.is_fully_addressable or data.is_fully_replicated):
        executor = tensor.executor
        assert isinstance(executor, XlaExecutor), "it holds parts"
        (data,) = executor.run_op(ShardingConstraint(((),) * tensor.ndim), data)
    return Tensor(read(data))


def placed(data: jax.Array | NumpyArray, sharding: object) -> jax.Array:
    """An array of NumPy or JAX with this sharding; itself if it has it.

    Raises:
        ShardingError: it is not a sharding, or an axis is not divided evenly.
    """
    name = named_device(sharding)
    if name is not None:
        sharding = SingleDeviceSharding(find_device(name))
    if not isinstance(sharding, NamedSharding | SingleDeviceSharding):
        raise ShardingError(
            "device_put: takes a NamedSharding, a SingleDeviceSharding or the name of a device, "
            f"got {sharding!r}"
        )
    if isinstance(sharding, NamedSharding):
        sharding = NamedSharding(automatic(sharding.mesh), sharding.spec)
        check_divides(sharding, data.shape, "device_put", make_meta(data.dtype, data.shape))
    if isinstance(data, np.ndarray):
        return upload(data, sharding, platform_of(next(iter(sharding.device_set))))
    refuse_forked("device_put")
    with own_settings():
        moved: jax.Array = jax.device_put(data, sharding)
    return moved


def spec_entries(
    name: str, sharding: object, rank: int
) -> tuple[tuple[str, ...] | None, ...] | None:
    """For each axis the names that a sharding divides it by; None where XLA may choose.

    None for a sharding on one device. `name` is the function that is called.

    Raises:
        ShardingError: it is not a sharding, or has more axes.
    """
    if isinstance(sharding, SingleDeviceSharding):
        return None
    spec: Any = sharding.spec if isinstance(sharding, NamedSharding) else sharding
    if not isinstance(spec, PartitionSpec):
        raise ShardingError(f"{name}: takes a NamedSharding or a PartitionSpec, got {sharding!r}")
    if len(spec) > rank:
        raise ShardingError(
            f"{name}: the array has {counted(rank, 'axis', 'axes')}, but {spec} has {len(spec)}"
        )
    rest = (None,) * (rank - len(spec))
    return tuple(
        [
            None if entry is PartitionSpec.UNCONSTRAINED else entry_names(entry)
            for entry in (*spec, *rest)
        ]
    )
