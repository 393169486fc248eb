"""Programs compiled by XLA: lowering, executables, their cache, running, and reports.

Read in this order: `stablehlo`, `kept` (results whose memory is used again), `executable`,
`segmented` and `bucketed` (sizes that data decide or that are rounded up), `sharing` (which sizes
are), `pins` and `on_mesh`, `report`, `slow`, `disk_cache` (executables kept in a folder), `cache`,
`stages`.
"""

from tenferro_xla.compiled.bucketed import BucketedExecutable
from tenferro_xla.compiled.cache import Executables, Loaded
from tenferro_xla.compiled.executable import LoadedExecutable, check_placed, private, upload
from tenferro_xla.compiled.pins import pinned_by
from tenferro_xla.compiled.report import Change, CompileEvent, CompileReport, Subject
from tenferro_xla.compiled.segmented import SegmentedExecutable
from tenferro_xla.compiled.sharing import buckets_of
from tenferro_xla.compiled.stablehlo import Cost, Memory, prepare, require_static
from tenferro_xla.compiled.stages import Compiled, Lowered

__all__ = [
    "BucketedExecutable",
    "Change",
    "CompileEvent",
    "CompileReport",
    "Compiled",
    "Cost",
    "Executables",
    "Loaded",
    "LoadedExecutable",
    "Lowered",
    "Memory",
    "SegmentedExecutable",
    "Subject",
    "buckets_of",
    "check_placed",
    "pinned_by",
    "prepare",
    "private",
    "require_static",
    "upload",
]
