"""The order of axes of every value, chosen for the contractions that read it."""

from __future__ import annotations

from tenferro.compiler.layout import CPU, LayoutCosts, Problem, ProgramWriter, Rewrite, choose
from tenferro.compiler.passes.protocol import Needs
from tenferro.exec_ir import ExecProgram
from tenferro.ops import DotGeneral
from tenferro.shape import MAX_EXTENT


class ContractionLayout:
    """Chooses in which order the axes of computed values lie.

    A contraction is fast where batch axes lead, the contracted axes lie together, last on the
    left, and the longer side is the left one. From the outputs down each contraction asks that of
    its operands; of several readers the most expensive one is heard. What is elementwise passes the
    wish on, a transpose is a change of names, and axes are moved only where wishes conflict. Works
    on programs of constant extents.
    """

    name = "contraction_layout"
    needs = Needs.EXACT_EXTENTS

    def __init__(self, costs: LayoutCosts = CPU) -> None:
        self.costs = costs

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with other orders of axes inside; inputs and outputs are as they were."""
        if sum(isinstance(step.op, DotGeneral) for step in program.instructions) < 2:
            return program
        if any(meta is not None and meta.static_shape is None for meta in program.slot_metas()):
            return program
        problem, writer = Problem(program), ProgramWriter()
        if min(problem.sizes) == 0 or max(problem.sizes) > MAX_EXTENT:
            return program  # takes no time, or will be refused
        outputs = Rewrite(choose(problem, self.costs), writer).run()
        return writer.build(outputs)
