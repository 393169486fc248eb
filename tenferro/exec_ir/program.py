"""The execution program: what every executor runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tenferro.errors import TenferroError
from tenferro.exec_ir.op import ExecOp
from tenferro.shape import Dim, DType, Leaf, ShapeExtent, TensorMeta, name_sizes


@dataclass(frozen=True, slots=True)
class ExecInstruction:
    """One op on slots.

    Attributes:
        op: what to do.
        input_slots: the operands.
        output_slots: where the results go; each slot of a program is written once.
        output_metas: dtype and extents of each output.
        last_use: for each operand, whether no later instruction and no output reads it.
        site: where the op was first recorded, `user.py:12`.
    """

    op: ExecOp
    input_slots: tuple[int, ...]
    output_slots: tuple[int, ...]
    output_metas: tuple[TensorMeta, ...]
    last_use: tuple[bool, ...] = ()
    site: str | None = None

    @property
    def dtype(self) -> DType:
        """Dtype of the first output, representative for single-output ops."""
        return self.output_metas[0].dtype

    @property
    def output_dtypes(self) -> tuple[DType, ...]:
        """Dtype of each output."""
        return tuple(meta.dtype for meta in self.output_metas)

    @property
    def output_shapes(self) -> tuple[tuple[Dim, ...], ...]:
        """For each output the sizes of its axes, or their upper bounds where not exact."""
        return tuple(meta.bound_shape(self.op.name, "output") for meta in self.output_metas)

    @property
    def output_extents(self) -> tuple[tuple[ShapeExtent, ...], ...]:
        """For each output the extent of each axis, with its guarantee."""
        return tuple(meta.extents for meta in self.output_metas)

    def __str__(self) -> str:
        left = ", ".join(
            f"%{slot}: {meta}"
            for slot, meta in zip(self.output_slots, self.output_metas, strict=True)
        )
        uses = self.last_use or (False,) * len(self.input_slots)
        operands = ", ".join(
            f"%{slot}{'!' * last}" for slot, last in zip(self.input_slots, uses, strict=True)
        )
        comment = "" if self.site is None else f"  # {self.site}"
        return f"{left} = {self.op}{' ' * bool(operands)}{operands}{comment}"


@dataclass(frozen=True, slots=True, eq=False)
class ExecProgram:
    """Instructions over SSA slots; `input_metas` are the types of `input_slots`."""

    instructions: tuple[ExecInstruction, ...]
    input_slots: tuple[int, ...]
    input_metas: tuple[TensorMeta, ...]
    output_slots: tuple[int, ...]
    n_slots: int

    def slot_metas(self) -> list[TensorMeta | None]:
        """Type of each slot, by number; None for a slot that nothing writes."""
        metas: list[TensorMeta | None] = [None] * self.n_slots
        for slot, meta in zip(self.input_slots, self.input_metas, strict=True):
            metas[slot] = meta
        for instruction in self.instructions:
            for slot, meta in zip(instruction.output_slots, instruction.output_metas, strict=True):
                metas[slot] = meta
        return metas

    @property
    def output_metas(self) -> tuple[TensorMeta, ...]:
        """Types of the outputs."""
        metas = self.slot_metas()
        found = [metas[slot] for slot in self.output_slots]
        return tuple(meta for meta in found if meta is not None)

    def symbols(self) -> set[Leaf]:
        """The symbols that the inputs' extents mention."""
        return {leaf for meta in self.input_metas for leaf in meta.symbols()}

    def bind(self, sizes: dict[Leaf, int]) -> ExecProgram:
        """The program for given sizes of its symbols, every type inferred anew."""
        if not sizes:
            return self
        builder = ExecBuilder()
        slots = {
            slot: builder.input(meta.bind(sizes))
            for slot, meta in zip(self.input_slots, self.input_metas, strict=True)
        }
        for step in self.instructions:
            results = builder.add(
                step.op.bind(sizes), [slots[slot] for slot in step.input_slots], step.site
            )
            slots.update(zip(step.output_slots, results, strict=True))
        return with_last_use(builder.build([slots[slot] for slot in self.output_slots]))

    @property
    def digest(self) -> str:
        """SHA-256 of the program's structure, in hex; the same in every process and version."""
        sha = hashlib.sha256()
        for slot, meta in zip(self.input_slots, self.input_metas, strict=True):
            sha.update(f"%{slot}:{meta};".encode())
        for step in self.instructions:
            identity = step.op.identity
            sha.update(
                b"%d:%s%r%r;" % (len(identity), identity, step.input_slots, step.output_slots)
            )
        sha.update(b"%r" % (self.output_slots,))
        return sha.hexdigest()

    def __str__(self) -> str:
        header = ", ".join(
            f"%{slot}: {meta}"
            for slot, meta in zip(self.input_slots, self.input_metas, strict=True)
        )
        lines = [f"  {instruction}" for instruction in self.instructions]
        returned = ", ".join(f"%{slot}" for slot in self.output_slots)
        end = f"  return {returned}".rstrip()
        return "\n".join([f"exec_program({header}) {{", *lines, end, "}"])


class ExecBuilder:
    """Builds an `ExecProgram`, inferring the type of each slot as it goes."""

    def __init__(self) -> None:
        self.metas: list[TensorMeta] = []
        self._inputs: list[int] = []
        self._instructions: list[ExecInstruction] = []

    def input(self, meta: TensorMeta) -> int:
        """Declare an input and return its slot."""
        self._inputs.append(len(self.metas))
        return self._new(meta)

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
        """Append an instruction whose output types are known to be what the op infers."""
        outputs = tuple([self._new(meta, input_slots) for meta in output_metas])
        metas = tuple([self.metas[slot] for slot in outputs])
        self._instructions.append(ExecInstruction(op, input_slots, outputs, metas, (), site))
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

    def _new(self, meta: TensorMeta, operands: tuple[int, ...] = ()) -> int:
        slot = len(self.metas)
        self.metas.append(with_slots(meta, slot, operands))
        return slot


def with_slots(meta: TensorMeta, slot: int, operands: Sequence[int]) -> TensorMeta:
    """What an op inferred, with sizes that data decide named by the slots of a program."""
    return name_sizes(meta, slot, operands, lambda axis: None)


def with_named_sizes(program: ExecProgram) -> ExecProgram:
    """The program with what its text does not tell: which sizes that data decide are one size.

    Types stay as they are, also where an op infers others; that is for `verify` to find.
    """
    if all(meta is None or meta.dims is not None for meta in program.slot_metas()):
        return program
    metas = {
        slot: with_slots(meta, slot, ())
        for slot, meta in zip(program.input_slots, program.input_metas, strict=True)
    }
    steps: list[ExecInstruction] = []
    for step in program.instructions:
        found = _inferred(step, metas)
        named = tuple(
            with_slots(meta, slot, step.input_slots)
            for slot, meta in zip(step.output_slots, found, strict=True)
        )
        metas.update(zip(step.output_slots, named, strict=True))
        steps.append(replace(step, output_metas=named))
    inputs = tuple(metas[slot] for slot in program.input_slots)
    return replace(program, instructions=tuple(steps), input_metas=inputs)


def _inferred(step: ExecInstruction, metas: dict[int, TensorMeta]) -> tuple[TensorMeta, ...]:
    """What the op infers, if it agrees with what is recorded; else that."""
    if any(slot not in metas for slot in step.input_slots):
        return step.output_metas
    try:
        found = step.op.infer_all([metas[slot] for slot in step.input_slots])
    except TenferroError:
        return step.output_metas
    return found if found == step.output_metas else step.output_metas


def with_last_use(program: ExecProgram) -> ExecProgram:
    """The program with `last_use` filled in.

    An operand read twice by one instruction is marked at its last place.
    """
    alive = set(program.output_slots)
    marked: list[ExecInstruction] = []
    for step in reversed(program.instructions):
        uses: list[bool] = []
        for slot in reversed(step.input_slots):
            uses.append(slot not in alive)
            alive.add(slot)
        marked.append(
            ExecInstruction(
                step.op,
                step.input_slots,
                step.output_slots,
                step.output_metas,
                tuple(reversed(uses)),
                step.site,
            )
        )
    return replace(program, instructions=tuple(reversed(marked)))
