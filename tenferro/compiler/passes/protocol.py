"""What a pass is."""

from __future__ import annotations

from typing import Protocol

from tenferro.exec_ir import ExecProgram


class Pass(Protocol):
    """A rewriting of programs that keeps their meaning, up to rounding.

    `name` is that of its switch in `OptimizerOptions`. A pass takes linear time, and returns the
    program itself where it has nothing to do. It may not claim more of an extent than was known.
    """

    @property
    def name(self) -> str:
        """The name of the pass, and of its option."""

    def run(self, program: ExecProgram) -> ExecProgram:
        """The rewritten program; its `last_use` marks are not filled in."""
