"""What a pass is."""

from __future__ import annotations

import enum
from typing import Protocol

from tenferro.exec_ir import ExecProgram


class Needs(enum.Enum):
    """What a pass must know of extents to rewrite an instruction; it leaves others alone."""

    RANKS = "ranks, which are always exact"
    EXACT_EXTENTS = "exact extents, of what it writes target sizes for"


class Pass(Protocol):
    """A rewriting of programs that keeps their meaning, up to rounding.

    `name` is that of its switch in `OptimizerOptions`. A pass takes linear time, and returns the
    program itself where it has nothing to do. It may not claim more of an extent than was known,
    nor take a bound of a size for the size.
    """

    @property
    def name(self) -> str:
        """The name of the pass, and of its option."""

    @property
    def needs(self) -> Needs:
        """What the pass must know of extents."""

    def run(self, program: ExecProgram) -> ExecProgram:
        """The rewritten program; its `last_use` marks are not filled in."""
