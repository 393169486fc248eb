"""Dead code: instructions that no output needs, and outputs of extension ops that nothing reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tenferro.compiler.passes.protocol import Needs
from tenferro.contract import Extension
from tenferro.errors import InvalidConfigError
from tenferro.exec_ir import ExecInstruction, ExecProgram
from tenferro.shape import TensorMeta


class DeadCode:
    """Drops instructions none of whose outputs is read. Needs nothing of extents.

    An extension op some of whose outputs are dead is asked for one that makes only the others.
    """

    name = "dead_code"
    needs = Needs.RANKS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with only what its outputs need."""
        alive = set(program.output_slots)
        kept: list[ExecInstruction] = []
        changed = False
        types = program.slot_metas()
        for step in reversed(program.instructions):
            if alive.isdisjoint(step.output_slots):
                changed = True
                continue
            pruned = _pruned(step, alive, types)
            changed = changed or pruned is not step
            alive.update(pruned.input_slots)
            kept.append(pruned)
        if not changed:
            return program
        kept = [replace(step, last_use=()) if step.last_use else step for step in reversed(kept)]
        return replace(program, instructions=tuple(kept))


def _pruned(
    step: ExecInstruction, alive: set[int], types: Sequence[TensorMeta | None]
) -> ExecInstruction:
    """The instruction without its dead outputs, if it is an extension op that can leave them out.

    Raises:
        InvalidConfigError: the op that the extension offers has other outputs than were asked for.
    """
    live = tuple([slot in alive for slot in step.output_slots])
    if all(live) or not isinstance(step.op, Extension):
        return step
    smaller = step.op.op.prune_outputs(live)
    if smaller is None:
        return step
    slots = tuple([slot for slot, kept in zip(step.output_slots, live, strict=True) if kept])
    metas = tuple([meta for meta, kept in zip(step.output_metas, live, strict=True) if kept])
    op = Extension(smaller)
    family = step.op.family_id
    if op.n_inputs != step.op.n_inputs or op.n_outputs != len(slots):
        raise InvalidConfigError(
            family,
            f"family_id={family}: prune_outputs gave {op.n_inputs} inputs and {op.n_outputs} "
            f"outputs, asked for {step.op.n_inputs} and {len(slots)}",
        )
    operands = [meta for slot in step.input_slots if (meta := types[slot]) is not None]
    inferred = op.infer_all(operands)
    if inferred != metas:
        found, wanted = (", ".join(map(str, each)) for each in (inferred, metas))
        raise InvalidConfigError(
            family,
            f"family_id={family}: prune_outputs gave an op that makes {found}, asked for {wanted}",
        )
    return replace(step, op=op, output_slots=slots, output_metas=metas)
