"""Shared lanes: sums over rounds that several devices compute together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tenferro.compiler.passing import Pass
from tenferro.control import LaneSum, lane_count
from tenferro.exec_ir import ExecInstruction, ExecProgram, Rewriter


@dataclass(frozen=True)
class SharedLanes(Pass):
    """Shares the lanes of every `LaneSum` among several devices.

    A sum gets more lanes only where there are more devices than it has lanes; otherwise its bits
    stay the same.

    Attributes:
        workers: the number of devices.
        ordered: whether the devices' sums are added in the order of the lanes.
    """

    workers: int
    ordered: bool = True

    name = "shared_lanes"

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program whose sums say by how many devices they are computed."""
        if not program.has_op(LaneSum):
            return program
        at = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> Sequence[int] | None:
            op = step.op
            if not isinstance(op, LaneSum):
                return None
            lanes = max(op.lanes, lane_count(op.total, self.workers))
            shared = replace(op, lanes=lanes, workers=self.workers, ordered=self.ordered)
            return at.emit_all(shared, *operands)

        return at.run(rule)
