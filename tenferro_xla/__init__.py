"""The XLA executor: execution programs through `jax.lax` and StableHLO to PJRT.

Read in this order: `jax_there`, `devices`, `placement`, `distributed` (devices, meshes, processes),
`lowering` (each op in `jax.lax`), `platforms` (what is known of CPUs and GPUs), `target`,
`compiled` (StableHLO, executables, their cache and reports), `executor`; then `sharding`
and `interop` (JAX functions, artifacts). Importing it does not change any setting of JAX.
"""

import typing as _typing

from tenferro_xla import jax_there as jax_there

jax_there.check()  # before all that imports JAX

# isort: split

from tenferro.compiler import DeviceCosts as DeviceCosts
from tenferro.compiler.device import SegmentPlan as SegmentPlan
from tenferro.compiler.device import XlaSegment as XlaSegment
from tenferro.missing_names import public as _public
from tenferro.ops import load_named as _load_named
from tenferro_xla import sharding as sharding
from tenferro_xla.compiled import BucketedExecutable as BucketedExecutable
from tenferro_xla.compiled import Change as Change
from tenferro_xla.compiled import Compiled as Compiled
from tenferro_xla.compiled import CompileEvent as CompileEvent
from tenferro_xla.compiled import CompileReport as CompileReport
from tenferro_xla.compiled import Cost as Cost
from tenferro_xla.compiled import LoadedExecutable as LoadedExecutable
from tenferro_xla.compiled import Lowered as Lowered
from tenferro_xla.compiled import Memory as Memory
from tenferro_xla.compiled import SegmentedExecutable as SegmentedExecutable
from tenferro_xla.compiled import Subject as Subject
from tenferro_xla.devices import *
from tenferro_xla.distributed import *
from tenferro_xla.executor import *
from tenferro_xla.in_flight import *
from tenferro_xla.lowering import LoweringOptions as LoweringOptions
from tenferro_xla.lowering import Precision as Precision
from tenferro_xla.lowering import jax_function as jax_function
from tenferro_xla.lowering import lower as lower
from tenferro_xla.placement import *
from tenferro_xla.platforms import keep_host_memory as keep_host_memory
from tenferro_xla.target import *

Costs = DeviceCosts
"""The former name of `DeviceCosts`."""

_INTEROP = ("Exported", "export", "from_jax", "jax_gradient", "load_exported", "to_jax")
"""Names of `interop`, which few programs need; it is loaded when one of them is first used."""

if _typing.TYPE_CHECKING:
    from tenferro_xla import interop as interop
    from tenferro_xla.interop import Exported as Exported
    from tenferro_xla.interop import export as export
    from tenferro_xla.interop import from_jax as from_jax
    from tenferro_xla.interop import jax_gradient as jax_gradient
    from tenferro_xla.interop import load_exported as load_exported
    from tenferro_xla.interop import to_jax as to_jax
else:  # type checkers read the imports
    __all__ = sorted([*_public(vars(), "sharding", home="tenferro_xla"), *_INTEROP])


def __dir__() -> list[str]:
    return sorted({*globals(), *_INTEROP, "interop"})


def __getattr__(name: str) -> _typing.Any:
    if name not in _INTEROP and name != "interop":
        raise AttributeError(f"module 'tenferro_xla' has no attribute {name!r}")
    home = _load_named("tenferro_xla.interop")
    functions = {each: getattr(home, each) for each in _INTEROP}
    _public(functions, home="tenferro_xla")
    globals().update(functions, interop=home)
    return globals()[name]
