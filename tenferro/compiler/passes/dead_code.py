"""Dead code: instructions that no output needs."""

from __future__ import annotations

from dataclasses import replace

from tenferro.exec_ir import ExecProgram


class DeadCode:
    """Drops instructions none of whose outputs is read. Needs nothing of extents."""

    name = "dead_code"

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with only what its outputs need."""
        alive = set(program.output_slots)
        kept = []
        for step in reversed(program.instructions):
            if not alive.isdisjoint(step.output_slots):
                alive.update(step.input_slots)
                kept.append(step)
        if len(kept) == len(program.instructions):
            return program
        kept = [replace(step, last_use=()) if step.last_use else step for step in reversed(kept)]
        return replace(program, instructions=tuple(kept))
