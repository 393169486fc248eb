"""Where arrays are: one device or a mesh; putting and reading them, and who shares their memory."""

from __future__ import annotations

import contextlib
import math
import operator
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, cast

import jax
import numpy as np
from jax.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    SingleDeviceSharding,
)

from tenferro.errors import DeviceError, ShardingError, class_of
from tenferro.ir import NumpyArray, TensorMeta, make_meta
from tenferro_xla.devices import device_name, find_device, is_stopped, own_settings
from tenferro_xla.in_flight import await_parts, refuse_forked, refuse_lost, refuse_unreadable

__all__ = [
    "LARGE",
    "VIEWS",
    "OnMesh",
    "OneDevice",
    "Placement",
    "Sharding",
    "absent",
    "automatic",
    "canonical_sharding",
    "check_divides",
    "check_reduced",
    "entry_names",
    "from_block",
    "mesh_name",
    "placement_of",
    "put",
    "read",
    "spec_of",
    "where",
]


# Who may reach the memory of a large array without having the array.

LARGE = 1 << 24
"""Bytes from which it pays to use the memory of a result again; see `compiled.buffer_pool`.

The C library takes blocks from 32 MiB on from the system each time, and smaller ones often.
"""


class Views:
    """What shares the memory of large arrays of JAX on the CPU.

    JAX keeps the NumPy array that it has made of an array, so that neither goes before the other.
    Those of large arrays are made here, anew when nobody has one, so that it is known whether
    somebody has. An array that users have may share its memory with others of JAX; that is noted.

    Nothing here waits for a computation, except for the elements.
    """

    def __init__(self) -> None:
        self._views: dict[int, tuple[weakref.ref[jax.Array], weakref.ref[NumpyArray]]] = {}
        self._handed_out: dict[int, weakref.ref[jax.Array]] = {}

    def of(self, array: jax.Array) -> NumpyArray | None:
        """A read-only NumPy array on the memory of a large array; None if there cannot be one."""
        view = self._open(array)
        if view is not None or not _is_large(array):
            return view
        array.block_until_ready()  # what is computed may need the lock that DLPack would hold
        try:
            view = np.from_dlpack(array)  # type: ignore[arg-type]  # JAX has fewer types there
        except (BufferError, RuntimeError, TypeError, ValueError):  # not a dtype of DLPack
            return None
        self._views[id(array)] = weakref.ref(array, _removal(self._views, array)), weakref.ref(view)
        return view

    def hand_out(self, array: jax.Array) -> None:
        if _is_large(array):
            removal = _removal(self._handed_out, array)
            self._handed_out[id(array)] = weakref.ref(array, removal)

    def is_handed_out(self, array: jax.Array) -> bool:
        return id(array) in self._handed_out

    def are_open(self, array: jax.Array) -> bool:
        return self.is_handed_out(array) or self._open(array) is not None

    def _open(self, array: jax.Array) -> NumpyArray | None:
        owner, view = self._views.get(id(array), _NOTHING)
        return view() if owner() is array else None


def _removal(entries: dict[int, Any], array: jax.Array) -> Callable[[object], None]:
    """Removes the entry of an array that is gone."""
    key = id(array)

    def remove(_: object) -> None:
        entries.pop(key, None)

    return remove


def _is_large(array: jax.Array) -> bool:
    if array.nbytes < LARGE or not array.is_fully_addressable:
        return False
    return len(array.sharding.device_set) == 1 and array.platform() == "cpu"


_NOTHING: Any = (lambda: None, lambda: None)
VIEWS = Views()


# Where the arrays of an executor are: on one device, or on a mesh of devices.

Sharding = SingleDeviceSharding | NamedSharding


@dataclass(frozen=True, slots=True)
class OneDevice:
    """One device, which holds whole arrays."""

    device: jax.Device

    @property
    def first(self) -> jax.Device:
        """The device."""
        return self.device

    @property
    def whole(self) -> Sharding:
        """The sharding of arrays that nothing is said of."""
        return SingleDeviceSharding(self.device)

    @property
    def spans_devices(self) -> bool:
        """Whether a program runs on several devices."""
        return False

    def lowering(self) -> AbstractContextManager[Any]:
        """The context in which programs are lowered."""
        context: AbstractContextManager[Any] = jax.default_device(self.device)
        return context

    def sharding(self, given: object, where: str) -> NamedSharding | None:
        """None; raises ShardingError if a user writes a sharding. `where` names it in errors."""
        if given is not None:
            raise ShardingError(f"{where}: the program runs on {self}; pass mesh=")
        return None

    def __str__(self) -> str:
        return device_name(self.device)


@dataclass(frozen=True, slots=True)
class OnMesh:
    """The devices of a mesh, which hold arrays in parts."""

    mesh: Mesh

    @classmethod
    def of(cls, mesh: object) -> OnMesh:
        """The placement on a mesh, for whose arrays XLA chooses shardings.

        Raises:
            ShardingError: it is not a mesh.
        """
        if not isinstance(mesh, Mesh):
            raise ShardingError(
                f"mesh: takes a mesh of devices, got {class_of(mesh)}; make one with "
                'tn.sharding.make_mesh((4,), ("data",))'
            )
        return cls(automatic(mesh))

    @property
    def first(self) -> jax.Device:
        """One of the devices; all are of one kind."""
        device: jax.Device = self.mesh.devices.flat[0]
        return device

    @property
    def whole(self) -> Sharding:
        """The sharding of arrays that nothing is said of: each device holds all of them."""
        return NamedSharding(self.mesh, spec_of(()))

    @property
    def spans_devices(self) -> bool:
        """Whether a program runs on several devices."""
        return self.mesh.devices.size > 1

    @property
    def processes(self) -> tuple[int, ...]:
        """The numbers of the processes that the devices belong to."""
        return tuple(sorted({device.process_index for device in self.mesh.devices.flat}))

    def lowering(self) -> AbstractContextManager[Any]:
        """The context in which programs are lowered."""
        return contextlib.nullcontext()

    def sharding(self, given: object, where: str) -> NamedSharding | None:
        """The sharding on this mesh that a user writes; None stands for itself.

        `where` names it in errors.

        Raises:
            ShardingError: it is not a sharding, is on another mesh, or names an axis that the mesh
                does not have.
        """
        match given:
            case None:
                return None
            case NamedSharding():
                if automatic(given.mesh) != self.mesh:
                    raise ShardingError(
                        f"{where}: a sharding on {mesh_name(given.mesh)}, but the program runs on "
                        f"{self}; write a PartitionSpec, or shardings of one mesh"
                    )
                return NamedSharding(self.mesh, given.spec)
            case PartitionSpec():
                self.check_names(given, where)
                return NamedSharding(self.mesh, given)
            case _:
                raise ShardingError(
                    f"{where}: must be a PartitionSpec, a NamedSharding, None, or a tree of these, "
                    f"got {given!r}"
                )

    def check_names(self, spec: PartitionSpec, where: str) -> None:
        """Raise ShardingError if the spec names an axis twice, or one that the mesh lacks."""
        check_reduced(spec, where)
        names = names_of(spec)
        for name in names:
            if names.count(name) > 1:
                raise ShardingError(
                    f"{where}: {spec} names {name!r} twice; a mesh axis divides one axis of an "
                    "array"
                )
            if name not in self.mesh.axis_names:
                raise ShardingError(
                    f"{where}: the mesh has axes {self.mesh.axis_names}, not {name!r}"
                )

    def __str__(self) -> str:
        return mesh_name(self.mesh)


Placement = OneDevice | OnMesh


def automatic(mesh: Mesh | AbstractMesh) -> Mesh:
    """The mesh, with XLA to choose the shardings of what a program computes.

    Its devices may be the names that `tn.devices()` gives.

    Raises:
        DeviceError: there is no device of such a name.
    """
    assert isinstance(mesh, Mesh), "the mesh of an array has devices"
    if isinstance(mesh.devices.flat[0], str):
        devices = np.array([find_device(str(name)) for name in mesh.devices.flat])
        return Mesh(devices.reshape(mesh.devices.shape), mesh.axis_names)
    if all(kind == AxisType.Auto for kind in mesh.axis_types):
        return mesh
    return Mesh(mesh.devices, mesh.axis_names)


def mesh_name(mesh: Mesh | AbstractMesh) -> str:
    """The mesh as errors and tensors name it.

    >>> import jax, numpy as np
    >>> from jax.sharding import Mesh
    >>> mesh_name(Mesh(np.array(jax.devices()[:1]), ("data",)))
    'mesh(data=1)'
    """
    return f"mesh({', '.join(f'{name}={size}' for name, size in mesh.shape.items())})"


def placement_of(
    device: int | str | jax.Device | None, mesh: Mesh | None, bucketing: object
) -> Placement:
    """Where an executor with these arguments runs.

    Raises:
        ShardingError: there is a mesh, and another argument that it excludes.
    """
    if mesh is None:
        return OneDevice(find_device(device))
    if device is not None or bucketing not in (None, "auto"):
        other = "device" if device is not None else "bucketing"
        raise ShardingError(f"XlaExecutor: takes mesh or {other}, not both")
    return OnMesh.of(mesh)


def read(array: jax.Array) -> NumpyArray:
    """The elements of an array as a read-only NumPy array.

    Raises:
        DeviceError: it was donated to a call, or other processes hold parts of it.
        DistributedError: the computation of it lost another process.
        ForkedError: the process was forked before it was computed.
    """
    refuse_unreadable("get", array)
    if array.is_deleted():
        meta = make_meta(array.dtype, array.shape)
        raise DeviceError(f"get: {meta} was donated to an earlier call; keep a copy of it")
    if _is_elsewhere(array):
        raise DeviceError(
            f"numpy: {make_meta(array.dtype, array.shape)} lies on {_processes(array)}; "
            "tn.sharding.gather(x) brings it here, in all processes at once"
        )
    try:
        if not array.is_fully_addressable:
            await_parts(array)
        view = VIEWS.of(array)
        return np.asarray(array) if view is None else view
    except (RuntimeError, ValueError) as error:
        refuse_lost(error)
        if not is_stopped(error):
            raise
    with own_settings():
        return np.asarray(array)


def absent(array: jax.Array) -> str | None:
    """Why the elements of an array cannot be read in this process; None if they can."""
    if array.is_deleted():
        return f"on {where(array)}, donated to an earlier call"
    if not _is_elsewhere(array):
        return None
    sharding = array.sharding
    divided = sharding.spec if isinstance(sharding, NamedSharding) else sharding
    return f"sharding={divided}, on {where(array)} of {_processes(array)}"


def _is_elsewhere(array: jax.Array) -> bool:
    whole = array.is_fully_replicated and array.sharding.addressable_devices
    return not (array.is_fully_addressable or whole)


def _processes(array: jax.Array) -> str:
    devices: Any = array.sharding.device_set
    count = len({device.process_index for device in devices})
    return "another process" if count == 1 else f"{count} processes"


def where(array: jax.Array) -> str:
    """Where an array is, as errors and tensors say it: a device, or a mesh."""
    sharding = array.sharding
    if isinstance(sharding, NamedSharding):
        return mesh_name(sharding.mesh)
    return ", ".join(sorted(map(device_name, sharding.device_set)))


def spec_of(entries: Sequence[Any]) -> PartitionSpec:
    """The spec with these entries, one for each axis of an array."""
    return PartitionSpec(*entries)  # type: ignore[no-untyped-call]  # JAX has no types there


def names_of(spec: PartitionSpec) -> list[str]:
    return [name for entry in spec for name in entry_names(entry)]


def entry_names(entry: Any) -> tuple[str, ...]:
    """The axes of a mesh that one axis of an array is divided by."""
    if entry is None or entry is PartitionSpec.UNCONSTRAINED:
        return ()
    return (entry,) if isinstance(entry, str) else tuple(entry)


def check_reduced(spec: PartitionSpec, what: str) -> None:
    """Raise ShardingError if a spec says that values are still to be summed over an axis."""
    if getattr(spec, "unreduced", None) or getattr(spec, "reduced", None):
        raise ShardingError(
            f"{what}: {spec}: arrays are whole sums, and specs say only how axes are divided; sum "
            "with tn.lax.psum in a function of tn.shard_map"
        )


def check_rank(sharding: NamedSharding, shape: Sequence[int], what: str, value: object) -> None:
    """Raise ShardingError if a sharding divides more axes than there are; see `check_divides`."""
    spec = sharding.spec
    check_reduced(spec, what)
    if len(spec) > len(shape):
        raise ShardingError(
            f"{what}: {value} has {len(shape)} axes, but {spec} has {len(spec)}; write at most one "
            "entry for each axis"
        )


def check_divides(sharding: NamedSharding, shape: Sequence[int], what: str, value: object) -> None:
    """Raise ShardingError unless the parts of an array of this shape have one size.

    `what` is the op and the name of the array; `value` is its type.
    """
    check_rank(sharding, shape, what, value)
    spec, mesh = sharding.spec, sharding.mesh
    for axis, (entry, size) in enumerate(zip(spec, shape, strict=False)):
        names = entry_names(entry)
        count = math.prod(mesh.shape[name] for name in names)
        if size % count:
            listed = " and ".join(map(repr, names))
            raise ShardingError(
                f"{what}: axis {axis} of {value} is divided by {listed}, which "
                f"{'has' if len(names) == 1 else 'have'} {count} devices; pad it to "
                f"{-(-size // count) * count} or leave the axis whole"
            )


def put(array: NumpyArray, sharding: Sharding) -> jax.Array:
    """A NumPy array that nobody changes, as an array of that sharding.

    Raises:
        ForkedError: the process was forked from one where XLA ran.
    """
    refuse_forked("upload")
    try:
        with jax.enable_x64(True):
            return _made(array, sharding)
    except jax.errors.JaxRuntimeError as error:
        if not is_stopped(error):
            raise
    with own_settings():
        return _made(array, sharding)


def _made(array: NumpyArray, sharding: Sharding) -> jax.Array:
    if isinstance(sharding, SingleDeviceSharding):
        return jax.make_array_from_callback(array.shape, sharding, lambda index: array)
    return jax.make_array_from_callback(array.shape, sharding, array.__getitem__)


def canonical_sharding(sharding: NamedSharding) -> NamedSharding:
    """The sharding as it is written shortest, so that equal ones are one key; see `automatic`.

    >>> import jax, numpy as np
    >>> from jax.sharding import Mesh, NamedSharding, PartitionSpec
    >>> mesh = Mesh(np.array(jax.devices()[:1]), ("data",))
    >>> canonical_sharding(NamedSharding(mesh, PartitionSpec(("data",), None))).spec
    P('data',)
    """
    entries = [_shortest(entry) for entry in sharding.spec]
    while entries and entries[-1] is None:
        entries.pop()
    return NamedSharding(automatic(sharding.mesh), spec_of(entries))


def _shortest(entry: Any) -> Any:
    if not isinstance(entry, tuple):
        return entry
    return (entry[0] if len(entry) == 1 else entry) if entry else None


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
