"""Slots in one canonical numbering, and the marks of last uses."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.compiler.passing import Pass
from tenferro.exec_ir import ExecProgram, renumber


@dataclass(frozen=True)
class Numbering(Pass):
    """Numbers slots in the order in which they are written, without gaps, and marks last uses.

    Passes keep the numbers of values that they do not rewrite; this pass runs after them.
    """

    name = "numbering"

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program, numbered and marked; itself if it already is."""
        return renumber(program, marked=True)
