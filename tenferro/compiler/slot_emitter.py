"""Rewriting a program: an emitter over its slots."""

from __future__ import annotations

from typing import Any, cast

from tenferro.chainrules import PrimitiveOp
from tenferro.exec_ir import ExecInstruction, ExecOp, ExecProgram, with_slots
from tenferro.ops import ADD
from tenferro.shape import TensorMeta


class SlotContext:
    """The types of slots, as rules and folds ask for them."""

    adder: PrimitiveOp = ADD

    def __init__(self, metas: list[TensorMeta | None]) -> None:
        self._metas = metas

    def meta(self, value: int) -> TensorMeta:
        """Type of a slot that has been written."""
        found = self._metas[value]
        assert found is not None, f"%{value} is not written"
        return found

    def declare_like(self, value: int, like: int) -> None:
        """Refused: a pass declares no inputs."""
        raise AssertionError("a pass declares no inputs")

    def registered_rule(self, name: str) -> None:
        """None: a pass takes no derivatives."""


class SlotEmitter:
    """Builds a rewritten program, instruction by instruction in the order of the old one.

    For each instruction of the old program a pass calls `begin` and then `keep`, or `exchange`, or
    `omit`, or `emit` for what stands in its place and `define`. A value keeps its slot number as
    long as anything computes it, so that a diff of the two texts shows what the pass did and
    nothing else; new values get new numbers.

    It is an `Emitter`, so that an op's `fold` says once what simplifies it, for derivative rules
    and for passes.
    """

    ctx: SlotContext

    def __init__(self, program: ExecProgram) -> None:
        self._program = program
        self._metas = program.slot_metas()
        self.ctx = SlotContext(self._metas)
        self._instructions: list[ExecInstruction] = []
        self._made: dict[int, tuple[ExecOp, tuple[int, ...]]] = {}
        self._now = list(range(program.n_slots))  # where each value of the old program is
        self._moved = False  # whether any of them is elsewhere
        self._site: str | None = None
        self._mark = 0
        self._changed = False

    def begin(self, step: ExecInstruction) -> tuple[int, ...]:
        """Turn to `step`; returns the slots where its operands are now."""
        self._site = step.site
        self._mark = len(self._instructions)
        if not self._moved:
            return step.input_slots
        now = self._now
        return tuple([now[slot] for slot in step.input_slots])

    def exchange(self, step: ExecInstruction, op: ExecOp, operands: tuple[int, ...]) -> None:
        """Put `op`, which gives the same types, in the place of the op of `step`."""
        self._changed = True
        self.keep(
            ExecInstruction(op, operands, step.output_slots, step.output_metas, (), step.site),
            operands,
        )

    def keep(self, step: ExecInstruction, operands: tuple[int, ...]) -> None:
        """Leave `step` as it is, on what its operands are now."""
        if operands != step.input_slots or step.last_use:
            step = ExecInstruction(
                step.op, operands, step.output_slots, step.output_metas, (), step.site
            )
        self._instructions.append(step)
        if len(step.output_slots) == 1:
            self._made[step.output_slots[0]] = (step.op, operands)

    def define(self, step: ExecInstruction, *values: int) -> None:
        """Let `values` stand for the outputs of `step`; they must have the same types."""
        self._changed = True
        if len(values) == 1 and self._is_last_emitted(values[0]):
            self._rename_last(step.output_slots[0])
            return
        self._moved = True
        for slot, value in zip(step.output_slots, values, strict=True):
            self._now[slot] = value

    def emit(self, op: PrimitiveOp, *operands: int) -> int:
        """Output 0 of `op`, after the op's own local simplification."""
        folded = op.fold(self, operands)
        return folded if folded is not None else self.emit_all(op, *operands)[0]

    def emit_all(self, op: PrimitiveOp, *operands: int) -> tuple[int, ...]:
        """All outputs of `op`, which is not simplified."""
        metas = self._metas
        exec_op = cast(ExecOp, op)
        found = exec_op.infer_all([self.ctx.meta(slot) for slot in operands])
        first = len(metas)
        inferred = tuple([with_slots(meta, first + i, operands) for i, meta in enumerate(found)])
        metas.extend(inferred)
        outputs = tuple(range(first, len(metas)))
        self._instructions.append(
            ExecInstruction(exec_op, operands, outputs, inferred, (), self._site)
        )
        if len(outputs) == 1:
            self._made[first] = (exec_op, operands)
        return outputs

    def producer(self, value: int) -> tuple[Any, tuple[int, ...]] | None:
        """The op and operands of a single-output op."""
        return self._made.get(value)

    def order(self, value: int) -> int:
        """The number of the slot."""
        return value

    def omit(self) -> None:
        """Leave the step out; nobody reads its outputs any more."""
        self._changed = True

    def build(self) -> ExecProgram:
        """The rewritten program; the old one itself where nothing was rewritten."""
        program = self._program
        if not self._changed:
            return program
        return ExecProgram(
            tuple(self._instructions),
            program.input_slots,
            program.input_metas,
            tuple([self._now[slot] for slot in program.output_slots]),
            len(self._metas),
        )

    def _is_last_emitted(self, value: int) -> bool:
        return (
            len(self._instructions) > self._mark
            and self._instructions[-1].output_slots == (value,)
            and value == len(self._metas) - 1
        )

    def _rename_last(self, slot: int) -> None:
        """Give the value that was emitted last the number of the one that it stands for."""
        last = self._instructions[-1]
        self._instructions[-1] = ExecInstruction(
            last.op, last.input_slots, (slot,), last.output_metas, (), last.site
        )
        self._made[slot] = self._made.pop(len(self._metas) - 1)
        self._metas.pop()
