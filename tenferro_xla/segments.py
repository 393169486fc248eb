"""Programs in which data decide sizes: cut into segments that XLA can compile as they run.

XLA compiles for known shapes. A segment is what can be compiled once some scalars are known: the
sizes of the truncations in it. It is as early as it can be, so that what depends on no such scalar
is compiled once. Where a segment starts, those scalars come to the host; all else stays on the
device.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tenferro.errors import ExecutorError
from tenferro.exec_ir import (
    Array,
    Category,
    ExecBuilder,
    ExecInstruction,
    ExecOp,
    ExecProgram,
    with_last_use,
)
from tenferro.ops import (
    BroadcastInDim,
    Constant,
    DynamicBroadcastInDim,
    DynamicTruncate,
    GatherDynamicSliceSizes,
    Iota,
    Pad,
    PadToMatch,
    ShapeOf,
    Slice,
    scalar,
)
from tenferro.shape import TensorMeta

SIZE_OPERAND = 1
"""Which operand of a truncation is the size."""


@dataclass(frozen=True, slots=True)
class XlaSegment:
    """Instructions that XLA compiles together, for the shapes and sizes that they meet.

    Attributes:
        number: its place in the plan.
        instructions: what it does, in order.
        scalars: values that must be on the host before it starts, since sizes depend on them.
        inputs: values from before, which stay on the device.
        outputs: values that later segments or the caller read.
        hosted: scalars of it that follow from shapes and constants, and are computed on the host.
    """

    number: int
    instructions: tuple[ExecInstruction, ...]
    scalars: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    hosted: frozenset[int]

    def __str__(self) -> str:
        head = f"segment {self.number}: {_slots(self.inputs)} -> {_slots(self.outputs)}"
        if self.scalars:
            head += f"; to the host first: {_slots(self.scalars)}"
        return "\n".join([head, *(f"  {step}" for step in self.instructions)])


@dataclass(frozen=True, slots=True)
class SegmentPlan:
    """A program as segments that run one after the other; its text lists them.

    Attributes:
        program: what is cut.
        segments: the pieces, in order.
    """

    program: ExecProgram
    segments: tuple[XlaSegment, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.segments))


def is_dynamic(program: ExecProgram) -> bool:
    """Whether the program, its symbols bound, holds a value whose shape is not yet known."""
    return any(meta.dims is None for meta in program.input_metas) or any(
        meta.dims is None for step in program.instructions for meta in step.output_metas
    )


def settled(program: ExecProgram) -> ExecProgram:
    """The program with slices for those truncations of which the result has an exact size.

    What computes the size has nothing left to say there.
    """
    if not any(_is_settled(step) for step in program.instructions):
        return program
    steps: list[ExecInstruction] = []
    for step in program.instructions:
        if _is_settled(step):
            limits = step.output_metas[0].exact_shape(step.op.name)
            cut = Slice((0,) * len(limits), limits, (1,) * len(limits))
            step = replace(step, op=cut, input_slots=step.input_slots[:1], last_use=())
        steps.append(step)
    return with_last_use(replace(program, instructions=tuple(steps)))


def _is_settled(step: ExecInstruction) -> bool:
    return isinstance(step.op, DynamicTruncate) and step.output_metas[0].dims is not None


def refuse_dynamic(program: ExecProgram, name: str) -> None:
    """Raise ExecutorError if data decide a size in the program; names the first such instruction.

    `name` is what cannot be done then.
    """
    for meta in program.input_metas:
        if meta.dims is None:
            raise ExecutorError(f"{name}: an input is {meta}, whose size is known when it runs")
    for step in program.instructions:
        if any(meta.dims is None for meta in step.output_metas):
            raise ExecutorError(
                f"{name}: {step.op.name} makes {step.output_metas[0]}, whose size data decide; XLA "
                "takes such a program in segments: run it with XlaExecutor, print "
                "XlaExecutor.segments(program)"
            )


def plan_segments(program: ExecProgram) -> SegmentPlan:
    """The segments of a program.

    >>> from tenferro.compiler import parse
    >>> print(plan_segments(parse('''exec_program(%0: f64[4], %1: f64[]) {
    ...   %2: f64[] = add %1, %1
    ...   %3: f64[<=4] = dynamic_truncate[axis=0] %0, %2
    ...   return %3
    ... }''')))
    segment 0: %1 -> %2
      %2: f64[] = add %1, %1
    segment 1: %0 -> %3; to the host first: %2
      %3: f64[<=4] = dynamic_truncate[axis=0] %0, %2
    """
    hosted = _hosted(program)
    free = _free(program)
    groups: dict[int, list[ExecInstruction]] = {}
    for step, level in _levels(program, hosted, free):
        groups.setdefault(level, []).append(step)
    if free.keys() & set(program.output_slots):
        groups.setdefault(0, [])
    pieces = [
        _with_free(free, groups[level], program.output_slots if level == 0 else ())
        for level in sorted(groups)
    ]
    needed: set[int] = set(program.output_slots)
    segments: list[XlaSegment] = []
    for number in reversed(range(len(pieces))):
        segment = _segment(number, pieces[number], needed, hosted)
        needed |= {*segment.inputs, *(slot for slot in segment.scalars if slot not in hosted)}
        segments.append(segment)
    return SegmentPlan(program, tuple(reversed(segments)))


def _hosted(program: ExecProgram) -> frozenset[int]:
    """Scalars that follow from shapes and constants, as far as sizes depend on them."""
    made = {step.output_slots[0]: step for step in program.instructions}
    known: set[int] = set()
    for step in program.instructions:
        scalars = len(step.output_metas) == 1 and step.output_metas[0].rank == 0
        computed = step.op.category is Category.SESSION and bool(step.input_slots)
        if isinstance(step.op, ShapeOf | Constant) or computed:
            from_known = isinstance(step.op, ShapeOf) or known.issuperset(step.input_slots)
            known.update(step.output_slots if scalars and from_known else ())
    wanted = [s.input_slots[SIZE_OPERAND] for s in program.instructions if _truncates(s)]
    found = {s.output_slots[0] for s in program.instructions if isinstance(s.op, ShapeOf)}
    while wanted:
        slot = wanted.pop()
        if slot in known and slot not in found:
            wanted += made[slot].input_slots
        found |= {slot} & known
    return frozenset(found)


def _free(program: ExecProgram) -> dict[int, ExecInstruction]:
    """What makes values out of nothing, by slot: each segment makes those that it reads itself."""
    free: dict[int, ExecInstruction] = {}
    for step in program.instructions:
        made = isinstance(step.op, Constant | Iota | BroadcastInDim)
        if made and free.keys() >= set(step.input_slots):
            free[step.output_slots[0]] = step
    return free


def _levels(
    program: ExecProgram, hosted: frozenset[int], free: Mapping[int, ExecInstruction]
) -> Iterator[tuple[ExecInstruction, int]]:
    """Each instruction, and how many times data must have decided sizes before it.

    Instructions that are free to be made anywhere are left out.
    """
    levels: dict[int, int] = dict.fromkeys((*program.input_slots, *free), -1)
    for step in program.instructions:
        if step.output_slots[0] in free:
            continue
        level = max([0, *(levels[slot] for slot in step.input_slots)])
        if _truncates(step):
            size = step.input_slots[SIZE_OPERAND]
            level = max(level, levels[size] + (size not in hosted))
        levels.update(dict.fromkeys(step.output_slots, level))
        yield step, level


def _with_free(
    free: Mapping[int, ExecInstruction], steps: list[ExecInstruction], outputs: Sequence[int]
) -> list[ExecInstruction]:
    """The instructions, after those free ones that they or `outputs` read."""
    wanted = [*outputs, *(slot for step in steps for slot in step.input_slots)]
    read: set[int] = set()
    while wanted:
        slot = wanted.pop()
        if slot in free and slot not in read:
            read.add(slot)
            wanted += free[slot].input_slots
    return [*(step for slot, step in free.items() if slot in read), *steps]


def _segment(
    number: int, steps: list[ExecInstruction], needed: set[int], hosted: frozenset[int]
) -> XlaSegment:
    made = {slot for step in steps for slot in step.output_slots}
    sizes: dict[int, None] = {}
    others: dict[int, None] = {}
    for step in steps:
        on_host = step.output_slots[0] in hosted and not isinstance(step.op, ShapeOf)
        for position, slot in enumerate(step.input_slots):
            is_size = on_host or (_truncates(step) and position == SIZE_OPERAND)
            if slot not in made:
                (sizes if is_size else others)[slot] = None
    return XlaSegment(
        number,
        tuple(steps),
        tuple(sizes),
        tuple(others),
        tuple(sorted(made & needed)),
        hosted & made,
    )


def _truncates(step: ExecInstruction) -> bool:
    return isinstance(step.op, DynamicTruncate)


def _slots(slots: Sequence[int]) -> str:
    return ", ".join(f"%{slot}" for slot in slots) or "nothing"


class Specialised:
    """A segment for the shapes of its inputs and the numbers of its scalars.

    Attributes:
        program: of constant extents, from the inputs of the segment to its outputs.
        known: the scalars that were computed on the host, by slot.
    """

    __slots__ = ("known", "program")

    def __init__(
        self, segment: XlaSegment, metas: Sequence[TensorMeta], scalars: Mapping[int, Array]
    ) -> None:
        writer = _Writer(segment, metas, scalars)
        for step in segment.instructions:
            writer.add(step)
        self.program = writer.build(segment.outputs)
        self.known = {slot: writer.known[slot] for slot in segment.hosted}


class _Writer:
    """Writes a segment with constant extents."""

    def __init__(
        self, segment: XlaSegment, metas: Sequence[TensorMeta], scalars: Mapping[int, Array]
    ) -> None:
        self._builder = ExecBuilder()
        self._hosted = segment.hosted
        self._slots = {
            slot: self._builder.input(meta)
            for slot, meta in zip(segment.inputs, metas, strict=True)
        }
        self.known: dict[int, Array] = dict(scalars)

    def add(self, step: ExecInstruction) -> None:
        """Append an instruction, its sizes resolved; or compute it, if it is for the host."""
        if step.output_slots[0] in self._hosted:
            self.known[step.output_slots[0]] = self._computed(step)
            return
        op, operands = self._resolved(step)
        results = self._builder.add(op, operands, step.site)
        self._slots.update(zip(step.output_slots, results, strict=True))

    def build(self, outputs: Sequence[int]) -> ExecProgram:
        """The program."""
        return with_last_use(self._builder.build([self._slot(slot) for slot in outputs]))

    def _computed(self, step: ExecInstruction) -> Array:
        if isinstance(step.op, ShapeOf):
            shape = self._shape(step.input_slots[0])
            return np.asarray(shape[step.op.axis], np.int64)
        with np.errstate(all="ignore"):
            return step.op.evaluate([self.known[slot] for slot in step.input_slots])[0]

    def _resolved(self, step: ExecInstruction) -> tuple[ExecOp, list[int]]:
        """The op with constant sizes, and its operands."""
        slots = step.input_slots
        match step.op:
            case DynamicTruncate(axis=axis):
                shape = self._shape(slots[0])
                size = self.known[slots[SIZE_OPERAND]]
                left = step.op.numpy(np.broadcast_to(np.False_, shape), size).shape
                starts, strides = (0,) * len(shape), (1,) * len(shape)
                return Slice(starts, left, strides), [self._slot(slots[0])]
            case PadToMatch(axis=axis):
                shape, wanted = self._shape(slots[0]), self._shape(slots[1])
                none = (0,) * len(shape)
                missing = max(wanted[axis] - shape[axis], 0)
                high = (*none[:axis], missing, *none[axis + 1 :])
                zero = scalar(0, step.output_metas[0].dtype)
                return Pad(none, high, none), [self._slot(slots[0]), *self._builder.add(zero, ())]
            case DynamicBroadcastInDim() | GatherDynamicSliceSizes() | Slice():
                fixed = step.op.resolved([self._shape(slot) for slot in slots])
                return fixed, [self._slot(slot) for slot in slots[: fixed.n_inputs]]
            case _:
                return step.op, [self._slot(slot) for slot in slots]

    def _slot(self, slot: int) -> int:
        """The slot of a value, which is a constant if the host has computed it."""
        if slot not in self._slots:
            (self._slots[slot],) = self._builder.add(Constant(self.known[slot]), ())
        return self._slots[slot]

    def _shape(self, slot: int) -> tuple[int, ...]:
        if slot not in self._slots:
            return ()
        shape = self._builder.metas[self._slots[slot]].static_shape
        assert shape is not None, "a segment is written once the shapes of its inputs are known"
        return shape
