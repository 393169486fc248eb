"""Where arrays are: devices by name, and trees of arrays that are moved or waited for."""

from __future__ import annotations

from typing import Any

from tenferro.config import config
from tenferro.errors import DeviceError
from tenferro.namespace.sharded import put_divided
from tenferro.runtime import Tensor, device_names
from tenferro.traced import TracedTensor, flatten, unflatten
from tenferro.typing import PyTree
from tenferro.values import Executor, is_array


def devices(backend: str | None = None) -> list[str]:
    """The names of the devices of a backend; by default, of that which `tn.jit` runs on.

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
    found = [*device_names(kind)]
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


def device_put(x: PyTree, device: str | Executor | PyTree = None) -> PyTree:
    """A tree of arrays on a device or a mesh; each of them is a tensor there.

    In a function that is traced, `with_sharding_constraint` says how an array is divided.

    Args:
        x: a tree of arrays and numbers.
        device: what `tn.devices()` and `x.device` say, or an executor; by default the first device.
            Or a `tn.sharding.NamedSharding` or `SingleDeviceSharding`, or a tree of these that is a
            prefix of `x`.

    Raises:
        DeviceError: there is no such device.
        ShardingError: an axis is not divided evenly.
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


def block_until_ready(x: PyTree) -> PyTree:
    """The tree itself, when all of its arrays have been computed.

    >>> import tenferro as tn
    >>> tn.block_until_ready([tn.ones(2), 3])
    [Tensor([1., 1.]), 3]
    """
    for leaf in flatten(x)[0]:
        if hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()
    return x


local_devices = devices
local_device_count = device_count
