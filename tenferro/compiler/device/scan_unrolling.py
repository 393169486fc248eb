"""Several small steps of a loop, compiled as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tenferro.compiler.cost_model import DeviceCosts
from tenferro.compiler.passes import Pass
from tenferro.ir import ExecInstruction, ExecProgram, Rewriter
from tenferro.ops import GammaGrad, Special, Threefry2x32
from tenferro.ops.control_flow import Scan

__all__ = ["ScanUnrolling"]

LONG = (GammaGrad, Special, Threefry2x32)
"""Elementwise ops of which XLA gets hundreds of instructions each."""


@dataclass(frozen=True)
class ScanUnrolling(Pass):
    """Has several small steps of a `Scan` compiled as one, for a device where each takes time.

    Steps with a `Special`, `GammaGrad` or `Threefry2x32` stay one by one: XLA gets hundreds of
    instructions for each of them, and would compile several steps for minutes.

    A GPU launches the kernels of every iteration. Steps that compute element by element fuse, so
    that several of them are one kernel. Others, such as those with a product or a loop, launch
    their kernels anyway. A step is small if it computes for less time than it takes to start one.

    Attributes:
        costs: what it takes to start a step, and to write a number.
        most: how many instructions the steps compiled as one may have.
    """

    costs: DeviceCosts
    most: int = 64

    looks_for = (Scan,)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with loops of which an executor compiles several steps as one."""
        rewriter = Rewriter(program)

        def rule(step: ExecInstruction, operands: Sequence[int]) -> Sequence[int] | None:
            if not isinstance(step.op, Scan):
                return None
            steps = self.steps(step.op)
            if steps == step.op.unroll:
                return None
            return rewriter.emit_all(replace(step.op, unroll=steps), *operands)

        return rewriter.run(rule)

    def steps(self, loop: Scan) -> int:
        """How many steps of a loop are compiled as one; more than one that users ask for stay."""
        length, body = loop.length, loop.body
        if loop.unroll > 1 or not isinstance(length, int):
            return loop.unroll
        inside = list(body.ops())
        if not all(op.pointwise or op.source or op.moves or op.repeats for op in inside):
            return 1
        if any(isinstance(op, LONG) for op in inside):
            return 1
        if sum(body.work_of()) * self.costs.write >= (self.costs.step or 0.0):
            return 1
        most = min(length, self.most // max(1, len(inside)))
        whole = max((count for count in range(1, most + 1) if length % count == 0), default=1)
        return whole if 2 * whole > most else most  # with more, further steps are written out
