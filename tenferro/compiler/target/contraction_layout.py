"""The order of axes of every value, chosen for the contractions that read it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tenferro.compiler.passing import Needs, Pass
from tenferro.compiler.target.costs import CPU, DeviceCosts
from tenferro.compiler.target.layout import (
    TRIALS,
    LayoutRewrite,
    Problem,
    ProgramWriter,
    choose,
)
from tenferro.compiler.target.pinned import Pinned
from tenferro.exec_ir import ExecProgram
from tenferro.ops import DotGeneral
from tenferro.shape import MAX_EXTENT


@dataclass(frozen=True)
class ContractionLayout(Pass):
    """Chooses in which order the axes of computed values lie, for the `DotGeneral`s that read them.

    A contraction is fast where batch axes lead, the contracted axes lie together, last on the
    left, and the longer side is the left one. Working from outputs to inputs, each contraction
    requests an order of axes for its operands; where readers disagree, the most expensive one wins.
    An op that does not mix its axes passes the request on to its operands, a transpose renames
    axes, and axes are moved only where requests conflict.

    Attributes:
        costs: by which orders are compared.
        trials: the largest number of changes to the rules' choices to try; 0 uses the rules alone.
        pinned: the axes that are divided among devices, along which nothing is repeated, and of
            which one part counts; None if there are none.
    """

    costs: DeviceCosts = CPU
    trials: int = TRIALS
    pinned: Pinned | None = None

    name = "contraction_layout"
    needs = Needs.CONSTANT_EXTENTS

    def inside(self, program: ExecProgram) -> ContractionLayout:
        """The pass for loops, in which any axis may be divided if one of their operands is."""
        return self if self.pinned is None else replace(self, pinned=self.pinned.inside(program))

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with other orders of axes inside; inputs and outputs are as they were."""
        if not program.has_op(DotGeneral) or len(program.ops_of(DotGeneral)) < 2:
            return program
        if any(meta is not None and meta.static_shape is None for meta in program.slot_metas()):
            return program
        problem, writer = Problem(program, self.pinned), ProgramWriter()
        if min(problem.sizes) == 0 or max(problem.sizes) > MAX_EXTENT:
            return program  # empty, or too large and refused later
        outputs = LayoutRewrite(choose(problem, self.costs, self.trials), writer).run()
        return writer.build(outputs)
