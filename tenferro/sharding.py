"""Values and programs over several devices: meshes, shardings, and processes.

The classes are those of JAX, which is imported when one of them is first asked for:

* `Mesh`, `make_mesh`: devices in rows and columns, whose axes have names.
* `PartitionSpec`, `NamedSharding`, `SingleDeviceSharding`, all of them `Sharding`s: how an array is
  divided among them.
* `from_local`, `gather`: arrays of which each process has a part.
* `initialize`, `shutdown`: computing with several processes.

`tn.device_put` and `tn.with_sharding_constraint` use them.
"""

from __future__ import annotations

from typing import Any

from tenferro.missing_names import missing
from tenferro.runtime import executor_module

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
    "shutdown",
]

AxisType: Any
Mesh: Any
NamedSharding: Any
PartitionSpec: Any
Sharding: Any
SingleDeviceSharding: Any
from_local: Any
gather: Any
initialize: Any
make_mesh: Any
shutdown: Any


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise missing("tenferro.sharding", name, __dir__, {})
    value = globals()[name] = getattr(executor_module("xla").sharding, name)
    return value
