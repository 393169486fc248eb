"""Programs that need less memory, because they compute values again.

Read in this order: `unrolling` and `order`, which may be enough; `choice` (which values are dropped
at the peak), `again` (the program that computes them again where they are read), `late` (what is
computed again as ops that wait), `search` (all of that, until a program fits), and `rematerialize`,
the pass; `peak` and `report` say what a program needs.
"""

from tenferro.compiler.remat.rematerialize import Rematerialize
from tenferro.compiler.remat.report import MemoryReport, memory_report
from tenferro.compiler.remat.unrolling import LoopUnrolling

__all__ = ["LoopUnrolling", "MemoryReport", "Rematerialize", "memory_report"]
