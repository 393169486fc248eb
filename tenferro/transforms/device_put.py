"""Where arrays are: on which device, or how divided among those of a mesh."""

from __future__ import annotations

from typing import Any, overload

from tenferro.config import config
from tenferro.errors import DeviceError
from tenferro.ir import AnyTensor, PyTree
from tenferro.runtime import Device, Executor, Tensor, device_names, executor_module, is_array
from tenferro.transforms.shardings import constrained
from tenferro.transforms.signatures import Single, Tree
from tenferro.transforms.traced_tensor import TracedTensor
from tenferro.transforms.trees import flatten, prefix_leaves, unflatten

__all__ = [
    "block_until_ready",
    "default_backend",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "local_device_count",
    "local_devices",
    "put_divided",
    "with_sharding_constraint",
]


# Arrays that are divided among the devices of a mesh.


def with_sharding_constraint(x: PyTree, shardings: PyTree) -> PyTree:
    """The arrays of a tree, divided as is said where a compiled function computes them.

    It is an identity: its derivative is divided in the same way. On one device, on NumPy, and on
    arrays that are not traced and not on a mesh, it has no effect.

    Args:
        x: a tree of arrays.
        shardings: a `tn.sharding.NamedSharding`, a `PartitionSpec` of the mesh that the function
            runs on, or a tree of these that is a prefix of `x`. Only the names of axes count.

    Raises:
        ShardingError: an array has fewer axes than the spec; or, when the function is compiled, the
            mesh has no such axis, or it does not divide the array.

    >>> import tenferro as tn
    >>> P = tn.sharding.PartitionSpec
    >>> mesh = tn.sharding.make_mesh((1,), ("data",))
    >>> f = tn.jit(lambda x: with_sharding_constraint(x * 2, P("data")), mesh=mesh)
    >>> f(tn.ones(2))
    Tensor([2., 2.])
    """
    return _each("with_sharding_constraint", x, shardings, _constrained)


def put_divided(x: PyTree, shardings: Any) -> PyTree:
    """The arrays of a tree, divided as is said; what is there already is not copied.

    A traced one gets a sharding constraint; None, and one device, leave it as it is.
    """
    return _each("device_put", x, shardings, _put)


def _each(name: str, x: PyTree, shardings: Any, function: Any) -> Any:
    """The tree with `function` applied to each leaf and its sharding; None leaves it as it is."""
    leaves, treedef = flatten(x)
    entries = prefix_leaves(shardings, x, f"{name}: the shardings do not fit the tree")
    return unflatten(
        treedef,
        [
            leaf if sharding is None else function(leaf, sharding)
            for leaf, sharding in zip(leaves, entries, strict=True)
        ],
    )


def _put(leaf: Any, sharding: Any) -> Any:
    module = executor_module("xla").sharding
    if isinstance(leaf, TracedTensor):
        return _constrained(leaf, sharding)
    tensor = _tensor(leaf)
    tensor.refuse_if_tracked("device_put")
    return Tensor(module.placed(tensor.data, sharding))


def _constrained(leaf: Any, sharding: Any) -> Any:
    return constrained("with_sharding_constraint", leaf, sharding)


def _tensor(leaf: Any) -> Tensor:
    return leaf if isinstance(leaf, Tensor) else Tensor(leaf)


# Where arrays are: devices by name, and trees of arrays that are moved or waited for.


def devices(backend: str | None = None) -> list[Device]:
    """The names of the devices of a backend; by default, of that which `tn.jit` runs on.

    They are strings, and have the attributes `platform` and `id` of JAX's.

    Args:
        backend: the first word of their names, such as `"cpu"`, or `"host"`.

    Raises:
        DeviceError: there is no such device.

    >>> import tenferro as tn
    >>> tn.devices("host")
    ['host']
    """
    known = device_names()
    kind = default_backend() if backend is None else backend
    found = [*map(Device, device_names(kind))]
    if not found:
        raise DeviceError(
            f"devices: there is no device {kind!r}; there are {', '.join(map(repr, known))}"
        )
    return found


def device_count(backend: str | None = None) -> int:
    """The number of `tn.devices(backend)`.

    >>> import tenferro as tn
    >>> tn.device_count("host")
    1
    """
    return len(devices(backend))


def default_backend() -> str:
    """The first word of the names of the devices that `tn.jit` runs on by default.

    >>> import tenferro as tn
    >>> tn.default_backend() in ("cpu", "gpu", "cuda", "host")
    True
    """
    host, *others = device_names()
    on_host = config.executor == "numpy" or not others
    return (host if on_host else others[0]).partition(":")[0]


@overload
def device_put(
    x: AnyTensor | Single,
    device: str | Executor | PyTree = None,
    *,
    src: object = None,
    donate: bool = False,
    may_alias: bool | None = None,
) -> AnyTensor: ...


@overload
def device_put(
    x: PyTree,
    device: str | Executor | PyTree = None,
    *,
    src: object = None,
    donate: bool = False,
    may_alias: bool | None = None,
) -> PyTree: ...


def device_put(
    x: PyTree,
    device: str | Executor | PyTree = None,
    *,
    src: object = None,
    donate: bool = False,
    may_alias: bool | None = None,
) -> PyTree:
    """A tree of arrays on a device or a mesh; each of them is a tensor there.

    In a function that is traced, `with_sharding_constraint` says how an array is divided.

    Args:
        x: a tree of arrays and numbers.
        device: what `tn.devices()` and `x.device` say, or an executor; by default the first device.
            Or a `tn.sharding.NamedSharding` or `SingleDeviceSharding`, a `PartitionSpec` of the
            mesh that `tn.set_mesh` sets, or a tree of these that is a prefix of `x`.
        src: has no effect: arrays know where they are.
        donate: has no effect: what is there already is not copied.
        may_alias: as `donate`.

    Raises:
        DeviceError: there is no such device.
        ShardingError: an axis is not divided evenly, or a PartitionSpec has no mesh.
        PytreeError: the tree of shardings does not fit `x`.

    >>> import tenferro as tn
    >>> tn.device_put({"w": [1.0]}, "host")["w"][0].device
    'host'
    >>> mesh = tn.sharding.make_mesh((1,), ("data",))
    >>> rows = tn.sharding.NamedSharding(mesh, tn.sharding.PartitionSpec("data"))
    >>> tn.device_put({"w": tn.ones(2)}, rows)["w"].device
    'mesh(data=1)'
    """
    target = devices()[0] if device is None else device
    if not isinstance(target, str | Executor):
        return put_divided(x, target)
    leaves, treedef = flatten(x)
    moved = [
        leaf if isinstance(leaf, TracedTensor) else Tensor(leaf).to_device(target)
        for leaf in leaves
    ]
    return unflatten(treedef, moved)


def device_get(x: PyTree) -> PyTree:
    """A tree with NumPy arrays in place of tensors. Numbers remain as they are.

    >>> import tenferro as tn
    >>> tn.device_get({"w": tn.ones(2), "n": 3})
    {'n': 3, 'w': array([1., 1.])}
    """
    leaves, treedef = flatten(x)
    return unflatten(treedef, [_host(leaf) for leaf in leaves])


def _host(leaf: Any) -> Any:
    return leaf.__array__() if is_array(leaf) and hasattr(leaf, "__array__") else leaf


def block_until_ready(x: Tree) -> Tree:
    """The tree itself, when all of its arrays have been computed.

    >>> import tenferro as tn
    >>> tn.block_until_ready([tn.ones(2), 3])
    [Tensor([1., 1.]), 3]
    """
    for leaf in flatten(x, in_any_order=True)[0]:
        if hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    return x


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """`tn.devices(backend)`: all devices are those of this process, which is number 0.

    >>> import tenferro as tn
    >>> tn.local_devices(backend="host")
    ['host']
    """
    if process_index or host_id:
        raise DeviceError(f"local_devices: there is no process {process_index or host_id}, only 0")
    return devices(backend)


local_device_count = device_count
