"""What `tn.sharding` is made of: JAX's classes of meshes and shardings, and moving arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
)
from jax.sharding import PartitionSpec as P

from tenferro.errors import ShardingError, class_of, counted
from tenferro.ir import ArrayLike, NumpyArray, PyTree, make_meta
from tenferro.ops import ShardingConstraint
from tenferro.runtime import MESH_OF_THREAD, Tensor, is_tracing
from tenferro.transforms import flatten, unflatten
from tenferro_xla.compiled import private, upload
from tenferro_xla.devices import find_device, named_device, own_settings
from tenferro_xla.distributed import initialize, shutdown
from tenferro_xla.executor import XlaExecutor
from tenferro_xla.in_flight import refuse_forked
from tenferro_xla.placement import (
    OnMesh,
    automatic,
    check_divides,
    check_reduced,
    entry_names,
    from_block,
    read,
)
from tenferro_xla.target import platform_of

__all__ = [
    "AxisType",
    "Mesh",
    "NamedSharding",
    "P",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "draw",
    "from_local",
    "gather",
    "get_abstract_mesh",
    "get_mesh",
    "initialize",
    "make_mesh",
    "mesh_of",
    "placed",
    "set_mesh",
    "shutdown",
    "spec_entries",
]


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[str],
    axis_types: Sequence[AxisType] | None = None,
    *,
    devices: Sequence[jax.Device | str] | None = None,
) -> Mesh:
    """A mesh of devices whose axes have these sizes and names.

    It is `jax.make_mesh` with axes for which XLA chooses shardings: of kind `AxisType.Auto`.

    Raises:
        ShardingError: there are too few devices, the arguments do not fit each other, or an axis
            is of another kind.

    >>> make_mesh((1,), ("data",)).axis_names
    ('data',)
    """
    kinds = (AxisType.Auto,) * len(tuple(axis_names))
    for kind in () if axis_types is None else axis_types:
        if kind != AxisType.Auto:
            name = getattr(kind, "name", repr(kind))
            raise ShardingError(
                f"make_mesh: axis_types: {name}: XLA chooses shardings; types do not have them; "
                "pass AxisType.Auto, or nothing, and write tn.with_sharding_constraint where a "
                "value must be divided in one way, or tn.shard_map"
            )
    if axis_types is not None and len(axis_types) != len(kinds):
        raise ShardingError(
            f"make_mesh: {counted(len(kinds), 'name')}, but {counted(len(axis_types), 'axis type')}"
        )
    try:
        found = None if devices is None else [_device(each) for each in devices]
        return jax.make_mesh(axis_shapes, axis_names, kinds, devices=found)
    except (ValueError, TypeError) as error:
        raise ShardingError(f"make_mesh: {error}") from None


def _device(value: Any) -> Any:
    """A device of JAX, also by its name."""
    return find_device(str(value)) if isinstance(value, str) else value


class set_mesh:  # noqa: N801  # it is called like a function, as in JAX
    """Sets the mesh that is used where none is passed, in this thread.

    In a `with` statement it is set within the block; otherwise, from then on. `tn.jit`, and
    `tn.shard_map` without `mesh=`, run on it, and a `PartitionSpec` in `tn.device_put` and
    `in_shardings=` is one of its axes. A mesh that is passed, or that an executor has, counts more;
    executors that do not run on a mesh, such as NumPy, compute without it. None sets no mesh.

    Raises:
        ShardingError: it is not a mesh, or a function is being traced.

    >>> import tenferro as tn
    >>> with tn.set_mesh(tn.make_mesh((1,), ("data",))):
    ...     x = tn.device_put(tn.ones(2), tn.P("data"))
    ...     tn.jit(tn.exp)(x).placement
    'mesh(data=1)'
    """

    def __init__(self, mesh: Mesh | None) -> None:
        if mesh is not None and not isinstance(mesh, Mesh):
            raise ShardingError(
                f"set_mesh: takes a mesh of devices, got {class_of(mesh)}; make one with "
                'tn.make_mesh((4,), ("data",))'
            )
        _refuse_tracing("set_mesh")
        self._before = MESH_OF_THREAD.mesh
        self._mesh = mesh
        MESH_OF_THREAD.mesh = None if mesh is None or mesh.empty else automatic(mesh)

    def __enter__(self) -> Mesh | None:
        return self._mesh

    def __exit__(self, *error: object) -> None:
        MESH_OF_THREAD.mesh = self._before


def get_mesh() -> Mesh:
    """The mesh that `tn.set_mesh` has set; one without axes if there is none.

    Raises:
        ShardingError: a function is being traced.

    >>> get_mesh().axis_names
    ()
    """
    _refuse_tracing("get_mesh")
    mesh = MESH_OF_THREAD.mesh
    return Mesh(np.empty((), object), ()) if mesh is None else mesh


def get_abstract_mesh() -> AbstractMesh:
    """The names and sizes of the axes of the mesh that is set, or that a traced function runs on.

    >>> get_abstract_mesh().shape
    OrderedDict()
    """
    mesh = MESH_OF_THREAD.mesh
    return AbstractMesh((), ()) if mesh is None else mesh.abstract_mesh


def _refuse_tracing(name: str) -> None:
    if is_tracing():
        raise ShardingError(
            f"{name}: a function is being traced; call it outside, or pass mesh= to tn.jit"
        )


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
    if isinstance(sharding, PartitionSpec):
        if (mesh := MESH_OF_THREAD.mesh) is None:
            raise ShardingError(
                f"device_put: {sharding} needs a mesh; set one with tn.set_mesh(mesh), or pass "
                "tn.NamedSharding(mesh, spec)"
            )
        sharding = OnMesh.of(mesh).sharding(sharding, "device_put")
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


def draw(data: jax.Array, options: dict[str, Any]) -> None:
    """Print which device has which part of an array of JAX.

    Raises:
        ShardingError: JAX cannot draw it.
    """
    try:
        visualize: Any = jax.debug.visualize_array_sharding
        visualize(data, **options)
    except (ImportError, TypeError, ValueError, AssertionError, NotImplementedError) as error:
        raise ShardingError(f"visualize_array_sharding: {error}") from None


def mesh_of(value: object) -> Mesh | None:
    """A mesh of devices, with XLA to choose shardings; None for what has no devices."""
    return automatic(value) if isinstance(value, Mesh) else None


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
    check_reduced(spec, name)
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
