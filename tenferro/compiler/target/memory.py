"""A prediction of the memory that a program needs, made before it is compiled.

XLA on the CPU runs an instruction as soon as its operands are computed, in the order in which they
become ready. So values of independent parts of a program are alive at the same time. It also makes
a copy for each transposition that no product absorbs. The prediction schedules the program in that
order and adds up the values that are alive. The ops state whether a compiler computes them where
they are read (`ExecOp.inlined`, `ExecOp.streams`) and whether their result shares the memory of
their operand (`ExecOp.view`).
"""

from __future__ import annotations

from dataclasses import dataclass

from tenferro.compiler.target.pinned import Pinned
from tenferro.compiler.target.schedule import COMPILED, Runs, Schedule
from tenferro.exec_ir import ExecProgram


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Bytes that one run needs.

    Attributes:
        arguments: of the operands, which belong to the caller.
        outputs: of the results.
        temporaries: of all other values, at the time when most bytes are alive.
    """

    arguments: int
    outputs: int
    temporaries: int

    @property
    def peak(self) -> int:
        """Outputs and temporaries: the bytes needed in addition to the operands."""
        return self.outputs + self.temporaries


def predict_memory(program: ExecProgram, runs: Runs = COMPILED) -> MemoryNeed:
    """The bytes that one run of a program of known sizes needs, by an executor that `runs` so.

    >>> from tenferro.compiler import parse
    >>> text = "exec_program(%0: f64[2,3]) { \\n %1: f64[3,2] = transpose[perm=(1, 0)] %0 \\n"
    >>> text += "%2: f64[3,3] = dot_general[lhs_contract=(1,), rhs_contract=(0,)] %1, %0! \\n"
    >>> predict_memory(parse(text + "return %2 \\n }"))
    MemoryNeed(arguments=48, outputs=72, temporaries=48)
    """
    schedule = schedule_of(program, runs)
    outputs = schedule.output_bytes
    temporaries = max(schedule.highest - outputs, 0)
    return MemoryNeed(schedule.argument_bytes, outputs, temporaries)


Known = dict[int, tuple[ExecProgram, int]]
"""The peaks of programs, by their ids. It holds the programs, so that the ids stay theirs."""


def schedule_of(
    program: ExecProgram,
    runs: Runs = COMPILED,
    known: Known | None = None,
    pinned: Pinned | None = None,
) -> Schedule:
    """The schedule of a program, which knows the peaks of the programs inside its ops.

    Those that are `known` are not predicted again, and the others are added to them. Of axes that
    are `pinned`, one device has a part; values inside of ops count as whole.
    """
    known = {} if known is None else known
    for part in reversed(list(program.walk())):
        if part is not program and id(part) not in known:
            known[id(part)] = part, Schedule(part, known, runs).need
    return Schedule(program, known, runs, pinned)
