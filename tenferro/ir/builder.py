"""Build a program by instruction, or by rewriting another one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

from tenferro.core import Adder, PrimitiveOp, only_output
from tenferro.errors import TenferroError
from tenferro.ir.interpreter import run
from tenferro.ir.op import ExecOp
from tenferro.ir.program import ExecInstruction, ExecProgram, renumber, with_slots
from tenferro.ir.types import TensorMeta

__all__ = ["ExecBuilder", "Rewriter", "program_of_op", "restricted"]


# Building a program instruction by instruction.


class ExecBuilder:
    """Builds an `ExecProgram`, inferring the type of each slot as it goes."""

    def __init__(self) -> None:
        self.metas: list[TensorMeta] = []
        self._inputs: list[int] = []
        self._instructions: list[ExecInstruction] = []
        self._types_alone: dict[int, tuple[TensorMeta, ...]] = {}

    def input(self, meta: TensorMeta) -> int:
        """Declare an input and return its slot."""
        slot = len(self.metas)
        self._inputs.append(slot)
        self.metas.append(meta if meta.dims is not None else with_slots(meta, slot, ()))
        return slot

    def add(
        self,
        op: ExecOp,
        operands: Sequence[int],
        site: str | None = None,
        output_metas: tuple[TensorMeta, ...] | None = None,
    ) -> tuple[int, ...]:
        """Append an instruction and return its output slots.

        `output_metas` are the types of the outputs if the op cannot infer them.

        Raises:
            ShapeError, DTypeError, GraphError: the op cannot take these operands.
        """
        input_slots = tuple(operands)
        if output_metas is None:
            output_metas = op.infer_all(list(map(self.metas.__getitem__, input_slots)))
        first = len(self.metas)
        if len(output_metas) == 1 and output_metas[0].dims is not None:
            outputs: tuple[int, ...] = (first,)
            # One tuple for all results of a type, to save memory.
            output_metas = self._types_alone.setdefault(id(output_metas[0]), output_metas)
        else:
            outputs = tuple(range(first, first + len(output_metas)))
            output_metas = tuple(
                [with_slots(meta, first + i, input_slots) for i, meta in enumerate(output_metas)]
            )
        self.metas.extend(output_metas)
        self._instructions.append(ExecInstruction(op, input_slots, outputs, output_metas, (), site))
        return outputs

    def build(self, outputs: Iterable[int]) -> ExecProgram:
        """The finished program. `last_use` is not filled in; see `with_last_use`."""
        return ExecProgram(
            tuple(self._instructions),
            tuple(self._inputs),
            tuple(map(self.metas.__getitem__, self._inputs)),
            tuple(outputs),
            len(self.metas),
        )


def program_of_op(op: ExecOp, metas: Sequence[TensorMeta]) -> ExecProgram:
    """One op on inputs of these types, all of whose outputs are returned.

    Raises:
        ShapeError, DTypeError, GraphError: the op cannot take them.
    """
    builder = ExecBuilder()
    slots = [builder.input(meta) for meta in metas]
    return builder.build(builder.add(op, slots))


def restricted(program: ExecProgram, inputs: Sequence[int], outputs: Sequence[int]) -> ExecProgram:
    """The program with the inputs and outputs at some positions only, and what these need.

    Its slots are numbered anew. The outputs do not depend on the inputs that are left out.
    """
    returned = tuple([program.output_slots[position] for position in outputs])
    alive, steps = set(returned), []
    for step in reversed(program.instructions):
        if not alive.isdisjoint(step.output_slots):
            steps.append(step.computing(alive))
            alive.update(steps[-1].input_slots)
    part = replace(
        program,
        instructions=tuple(reversed(steps)),
        input_slots=tuple([program.input_slots[position] for position in inputs]),
        input_metas=tuple([program.input_metas[position] for position in inputs]),
        output_slots=returned,
    )
    return renumber(part)


def with_named_sizes(program: ExecProgram) -> ExecProgram:
    """The program with names for the sizes that data decide, which its text does not show.

    The names tell which of these sizes are equal. Types stay as they are, even where an op infers
    others; `verify` reports those.
    """
    if not program.holds_unknown_shapes:
        return program
    metas = {
        slot: with_slots(meta, slot, ())
        for slot, meta in zip(program.input_slots, program.input_metas, strict=True)
    }
    steps: list[ExecInstruction] = []
    for step in program.instructions:
        agreed = _inferred(step, metas)
        named = tuple(
            with_slots(meta, slot, step.input_slots)
            for slot, meta in zip(step.output_slots, agreed, strict=True)
        )
        metas.update(zip(step.output_slots, named, strict=True))
        steps.append(replace(step, output_metas=named))
    inputs = tuple(metas[slot] for slot in program.input_slots)
    return replace(program, instructions=tuple(steps), input_metas=inputs)


def _inferred(step: ExecInstruction, metas: dict[int, TensorMeta]) -> tuple[TensorMeta, ...]:
    """The inferred types if they equal the recorded ones; otherwise the recorded types."""
    if any(slot not in metas for slot in step.input_slots):
        return step.output_metas
    try:
        inferred = step.op.infer_all([metas[slot] for slot in step.input_slots])
    except TenferroError:
        return step.output_metas
    return inferred if inferred == step.output_metas else step.output_metas


# Rewriting a program: one walk over its instructions, and an emitter of what replaces them.

Operands = tuple[int, ...]
RewriteRule = Callable[[ExecInstruction, Operands], int | Sequence[int] | None]
"""What replaces an instruction, given the slots where its operands are now: the slots of its
results; None to leave the instruction as it is; `()` to leave it out, if nothing reads it."""


class SlotContext:
    """The types of slots, as folds ask for them."""

    def __init__(self, metas: list[TensorMeta | None]) -> None:
        self._metas = metas

    @property
    def adder(self) -> Adder:
        """Not available: a rewriting does not sum cotangents."""
        raise AssertionError("a rewriting does not sum cotangents")

    def meta(self, value: int) -> TensorMeta:
        """Type of a slot that has been written."""
        meta = self._metas[value]
        assert meta is not None, f"%{value} is not written"
        return meta

    def declare_like(self, value: int, like: int) -> None:
        """Not available: a rewriting declares its inputs with their types."""
        raise AssertionError("a rewriting declares its inputs with `Rewriter.input`")

    def registered_rule(self, name: str) -> None:
        """None: a rewriting does not take derivatives."""


class Rewriter(ExecBuilder):
    """Builds a rewritten program, in the order of the old one.

    `run` asks a rule about each instruction. A rule emits what it needs with `emit` and `emit_all`
    and returns the slots that replace the results. A value keeps its slot number as long as an
    instruction computes it, so that a diff of the two texts shows only what was rewritten; new
    values get new numbers.

    It is an `Emitter`, so that an op's `fold` says once what simplifies it, for derivative rules
    and for passes.

    >>> from tenferro.compiler import parse
    >>> from tenferro.ops import EXP, Neg
    >>> program = parse("exec_program(%0: f64[n]) { \\n %1: f64[n] = negate %0 \\n return %1 \\n }")
    >>> rewriter = Rewriter(program)
    >>> def rule(step, operands):
    ...     return rewriter.emit(EXP, *operands) if isinstance(step.op, Neg) else None
    >>> print(rewriter.run(rule))
    exec_program(%0: f64[n]) {
      %1: f64[n] = exponential %0
      return %1
    }
    """

    ctx: SlotContext

    def __init__(
        self, program: ExecProgram, input_metas: Sequence[TensorMeta] | None = None
    ) -> None:
        """`input_metas` are other types of the inputs; the rule then writes every instruction."""
        super().__init__()
        metas = program.slot_metas()
        if input_metas is not None:
            for slot, meta in zip(program.input_slots, input_metas, strict=True):
                metas[slot] = with_slots(meta, slot, ())
        self.ctx = SlotContext(metas)
        self.metas = cast(list[TensorMeta], metas)  # operands have been written
        self._program = program
        self._inputs += program.input_slots
        # For each slot the single-output instruction that writes it.
        self._makers: list[ExecInstruction | None] = [None] * len(metas)
        self._now = list(range(program.n_slots))  # where each value of the old program is
        self._moved = False  # whether any of them is elsewhere
        self._site: str | None = None
        self._mark = 0
        self._changed = input_metas is not None

    def run(
        self, rule: RewriteRule, outputs: Callable[[], Sequence[int]] | None = None
    ) -> ExecProgram:
        """The program with each instruction replaced by what `rule` returns.

        It is the old program itself where nothing was rewritten. `outputs` is called at the end and
        returns the slots of the outputs; by default these are the outputs of the old program.
        """
        instructions, makers = self._instructions, self._makers
        for step in self._program.instructions:
            self._site = step.site
            self._mark = len(instructions)
            operands = self.now(step.input_slots) if self._moved else step.input_slots
            results = rule(step, operands)
            if results is None:
                if operands != step.input_slots or step.last_use:
                    outputs_of, metas, site = step.output_slots, step.output_metas, step.site
                    step = ExecInstruction(step.op, operands, outputs_of, metas, (), site)
                instructions.append(step)
                if len(step.output_slots) == 1:
                    makers[step.output_slots[0]] = step
            else:
                self._define(step, (results,) if isinstance(results, int) else tuple(results))
        program = self._program
        if outputs is None:
            returned = self.now(program.output_slots) if self._moved else program.output_slots
        else:
            returned = tuple(outputs())
            if len(instructions) > len(program.instructions) or returned != program.output_slots:
                self._changed = True
        return self.build(returned) if self._changed else program

    def input(self, meta: TensorMeta) -> int:
        """A further input of the program, after those that it has."""
        self._makers.append(None)
        self._changed = True
        return super().input(meta)

    def now(self, slots: Iterable[int]) -> Operands:
        """Where values of the old program are now."""
        return tuple([self._now[slot] for slot in slots])

    def emit(self, op: PrimitiveOp, *operands: int) -> int:
        """The output of a single-output op, after the op's own local simplification."""
        folded = op.fold(self, operands)
        return folded if folded is not None else only_output(op, self.emit_all(op, *operands))

    def inline(self, program: ExecProgram, operands: Sequence[int]) -> list[int]:
        """The outputs of another program on these operands; its ops are not simplified."""
        return run(
            program, operands, lambda step, values: self.emit_all(step.op, *values, site=step.site)
        )

    def emit_all(
        self, op: PrimitiveOp | ExecOp, *operands: int, site: str | None = None
    ) -> Operands:
        """All outputs of `op`, which is not simplified.

        `site` is where it was recorded; by default where the instruction that it replaces was.
        """
        for slot in operands:
            assert cast(object, self.metas[slot]) is not None, f"%{slot} is not written"
        outputs = self.add(cast(ExecOp, op), operands, site or self._site)
        single = self._instructions[-1] if len(outputs) == 1 else None
        self._makers += (single,) * len(outputs)
        return outputs

    def producer(self, value: int) -> tuple[Any, Operands] | None:
        """The op and operands of a single-output op."""
        step = self._makers[value]
        return None if step is None else (step.op, step.input_slots)

    def order(self, value: int) -> int:
        """The number of the slot."""
        return value

    def _define(self, step: ExecInstruction, values: Operands) -> None:
        """Replace the outputs of `step` by `values`, which have the same types.

        The value that was emitted last takes the number of the one that it replaces.
        """
        emitted = self._instructions[self._mark :]
        last = emitted[-1] if emitted else step
        if emitted and (last.output_slots == values == (len(self.metas) - 1,)):
            (slot,) = step.output_slots
            renamed = ExecInstruction(
                last.op, last.input_slots, (slot,), last.output_metas, (), last.site
            )
            self._instructions[-1] = self._makers[slot] = renamed
            self._makers.pop()
            self.metas[slot] = self.metas.pop()
            is_again = (
                len(emitted) == 1
                and last.input_slots == step.input_slots
                and last.op == step.op
                and last.output_metas == step.output_metas
            )
            self._changed = self._changed or not is_again
            return
        self._changed = True
        if values:
            self._moved = True
            for slot, value in zip(step.output_slots, values, strict=True):
                self._now[slot] = value
