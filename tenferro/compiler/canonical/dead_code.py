"""Dead code: instructions that no output needs, outputs that nothing reads, unread operands."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tenferro.compiler.passing import Pass
from tenferro.errors import InvalidConfigError, VerifyError
from tenferro.exec_ir import ExecInstruction, ExecProgram


@dataclass(frozen=True)
class DeadCode(Pass):
    """Drops instructions none of whose outputs is read. Works for any extents.

    An op some of whose outputs are dead is replaced by one that computes only the others, if its
    `pruned` returns one. An op that holds programs is also asked where no output is dead, since the
    programs may not read all operands.
    """

    name = "dead_code"

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with only what its outputs need."""
        alive = set(program.output_slots)
        live_steps: list[ExecInstruction] = []
        changed = False
        for step in reversed(program.instructions):
            if alive.isdisjoint(step.output_slots):
                changed = True
                continue
            may_shrink = len(step.output_slots) > 1 or step.op.body_fields
            pruned = _pruned(step, alive, program) if may_shrink else step
            changed = changed or pruned is not step
            alive.update(pruned.input_slots)
            live_steps.append(pruned)
        if not changed:
            return program
        steps = [
            replace(step, last_use=()) if step.last_use else step for step in reversed(live_steps)
        ]
        return replace(program, instructions=tuple(steps))


def _pruned(step: ExecInstruction, alive: set[int], program: ExecProgram) -> ExecInstruction:
    """The instruction without its dead outputs and unread operands, if its op can leave them out.

    Raises:
        InvalidConfigError, VerifyError: the op that its `pruned` returns has other outputs than
            the live ones.
    """
    pruned = step.computing(alive, operands=bool(step.op.body_fields))
    if pruned is step:
        return step
    types = program.slot_metas()
    operands = [meta for slot in pruned.input_slots if (meta := types[slot]) is not None]
    inferred = pruned.op.infer_all(operands)
    if inferred != pruned.output_metas:
        actual, expected = (
            ", ".join(map(str, metas)) or "nothing" for metas in (inferred, pruned.output_metas)
        )
        problem = f"gave an op that makes {actual}, asked for {expected}"
        family = step.op.family
        if family is None:
            raise VerifyError(f"{step.op.name}: pruned {problem}")
        raise InvalidConfigError(family, f"family_id={family}: prune_outputs {problem}")
    return pruned
