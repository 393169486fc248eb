"""Building a program instruction by instruction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tenferro.errors import TenferroError
from tenferro.exec_ir.instruction import ExecInstruction
from tenferro.exec_ir.numbering import renumber
from tenferro.exec_ir.op import ExecOp
from tenferro.exec_ir.program import ExecProgram, with_slots
from tenferro.shape import TensorMeta


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
        self.metas.append(with_slots(meta, slot, ()))
        return slot

    def add(
        self, op: ExecOp, input_slots: Sequence[int], site: str | None = None
    ) -> tuple[int, ...]:
        """Append an instruction and return its output slots.

        Raises:
            ShapeError, DTypeError, GraphError: the op cannot take these operands.
        """
        metas = self.metas
        inferred = op.infer_all([metas[slot] for slot in input_slots])
        return self.add_inferred(op, tuple(input_slots), inferred, site)

    def add_inferred(
        self,
        op: ExecOp,
        input_slots: tuple[int, ...],
        output_metas: tuple[TensorMeta, ...],
        site: str | None,
    ) -> tuple[int, ...]:
        """Append an instruction whose output types the caller has inferred from the op."""
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
            tuple(self.metas[slot] for slot in self._inputs),
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
