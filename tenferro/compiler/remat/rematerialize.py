"""Rematerialize: a program that keeps a memory limit."""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.compiler.memory_limit import MemoryLimit, in_words
from tenferro.compiler.passing import Needs, Pass
from tenferro.compiler.remat.peak import peak_in_words
from tenferro.compiler.remat.search import Search
from tenferro.compiler.target.memory import schedule_of
from tenferro.compiler.target.schedule import COMPILED, Runs
from tenferro.errors import MemoryLimitError
from tenferro.exec_ir import ExecProgram


@dataclass(frozen=True)
class Rematerialize(Pass):
    """Computes values again in place of keeping them, until the program fits into a limit.

    While the predicted peak is above the limit, values that are alive there and are not read there
    are dropped, and computed again before they are read next. There is no clock and no chance in
    it: equal programs give equal programs.

    Attributes:
        limit: the most bytes that results and intermediate values may take at once.
        runs: how the executor runs programs.

    Raises:
        MemoryLimitError: no such program was found.
    """

    limit: MemoryLimit
    runs: Runs = COMPILED

    name = "rematerialize"
    needs = Needs.CONSTANT_EXTENTS
    enters_bodies = False
    refuses = True

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program within the limit."""
        self._require_sizes(program)
        found = Search(self.runs).lowest(program, self.limit.bytes)
        if found.need > self.limit.bytes:
            raise self._refusal(program, found.need)
        return found.program

    def _require_sizes(self, program: ExecProgram) -> None:
        """Raise MemoryLimitError if a size is not known."""
        for step, meta in program.results():
            if meta.static_shape is None:
                raise MemoryLimitError(
                    f"{self.limit.caller}: memory_limit= needs known sizes, but {step.op.name} "
                    f"gives {meta}; bind the sizes, or leave the limit out",
                    0,
                    self.limit.bytes,
                )

    def _refusal(self, program: ExecProgram, least: int) -> MemoryLimitError:
        """The error for a program that does not fit."""
        schedule = schedule_of(program, self.runs)
        limit = self.limit
        return MemoryLimitError(
            f"{limit.caller}: needs {in_words(schedule.need)}{peak_in_words(schedule, self.runs)}, "
            f"the limit is {in_words(limit.bytes)}; the least found is {in_words(least)}",
            schedule.need,
            limit.bytes,
            least,
        )
