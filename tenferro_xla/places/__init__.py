"""Where arrays and programs are: devices, meshes of devices, and processes.

Read in this order: `settings` (those of JAX), `forks` (processes without the threads of XLA),
`devices` (what there is), `flight` (calls that are outstanding), `views` (results that NumPy
reads), `placement` (one device, or a mesh), `blocks` (what one process has of an array),
`distributed` (several processes).
"""

from tenferro_xla.places.blocks import from_block
from tenferro_xla.places.devices import (
    device_name,
    devices,
    find_device,
    import_dlpack,
    named_device,
    platforms,
)
from tenferro_xla.places.distributed import agree, initialize, shutdown
from tenferro_xla.places.flight import FLIGHT, Flight, await_parts, refuse_lost
from tenferro_xla.places.forks import at_fork, refuse_forked, refuse_unreadable
from tenferro_xla.places.placement import (
    OneDevice,
    OnMesh,
    Placement,
    Sharding,
    absent,
    automatic,
    canonical,
    check_divides,
    entry_names,
    mesh_name,
    placement_of,
    put,
    read,
    spec_of,
    where,
)
from tenferro_xla.places.settings import is_stopped, own_settings, refuse_not_finite
from tenferro_xla.places.views import LARGE, VIEWS

__all__ = [
    "FLIGHT",
    "LARGE",
    "VIEWS",
    "Flight",
    "OnMesh",
    "OneDevice",
    "Placement",
    "Sharding",
    "absent",
    "agree",
    "at_fork",
    "automatic",
    "await_parts",
    "canonical",
    "check_divides",
    "device_name",
    "devices",
    "entry_names",
    "find_device",
    "from_block",
    "import_dlpack",
    "initialize",
    "is_stopped",
    "mesh_name",
    "named_device",
    "own_settings",
    "placement_of",
    "platforms",
    "put",
    "read",
    "refuse_forked",
    "refuse_lost",
    "refuse_not_finite",
    "refuse_unreadable",
    "shutdown",
    "spec_of",
    "where",
]
