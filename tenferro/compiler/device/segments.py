"""Programs with data-dependent sizes, cut into static segments.

A compiler for known shapes, such as XLA, takes a segment once the scalars are known that its
dynamic ops take sizes from. Each instruction is in the earliest segment that it can be in, so that
instructions that do not depend on such scalars are compiled once. Before a segment starts, its
scalars are copied to the host; everything else stays on the device.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tenferro.errors import ExecutorError
from tenferro.ir import (
    Category,
    ExecInstruction,
    ExecProgram,
    NumpyArray,
    Rewriter,
    TensorMeta,
    renumber,
    with_last_use,
)
from tenferro.ops import Constant

__all__ = [
    "SegmentPlan",
    "Specialised",
    "XlaSegment",
    "is_dynamic",
    "plan_segments",
    "refuse_dynamic",
    "specialise_segment",
]


@dataclass(frozen=True, slots=True)
class XlaSegment:
    """Instructions that are compiled together, for the shapes and sizes that they meet.

    Attributes:
        number: its place in the plan.
        instructions: the instructions, in order.
        scalars: values that must be on the host before it starts, since sizes depend on them.
        inputs: values of earlier segments or of the caller, which stay on the device.
        metas: the types of the inputs.
        outputs: values that later segments or the caller read.
        hosted: its scalars that follow from shapes and constants, and are computed on the host.
    """

    number: int
    instructions: tuple[ExecInstruction, ...]
    scalars: tuple[int, ...]
    inputs: tuple[int, ...]
    metas: tuple[TensorMeta, ...]
    outputs: tuple[int, ...]
    hosted: frozenset[int]

    @property
    def program(self) -> ExecProgram:
        """The segment as a program from its inputs to its outputs."""
        slots = [slot for step in self.instructions for slot in step.output_slots]
        count = max([*self.inputs, *self.outputs, *self.scalars, *slots], default=-1) + 1
        return ExecProgram(self.instructions, self.inputs, self.metas, self.outputs, count)

    def __str__(self) -> str:
        head = f"segment {self.number}: {_slots(self.inputs)} -> {_slots(self.outputs)}"
        if self.scalars:
            head += f"; to the host first: {_slots(self.scalars)}"
        return "\n".join([head, *(f"  {step}" for step in self.instructions)])


@dataclass(frozen=True, slots=True)
class SegmentPlan:
    """A program as segments that run one after the other; its text lists them.

    Attributes:
        program: the whole program.
        segments: its segments, in order.
    """

    program: ExecProgram
    segments: tuple[XlaSegment, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.segments))


def is_dynamic(program: ExecProgram) -> bool:
    """Whether the program, its symbols bound, holds a value whose shape is not yet known."""
    return program.holds_unknown_shapes


def refuse_dynamic(program: ExecProgram, name: str) -> None:
    """Raise ExecutorError if data decide a size in the program; names the first such instruction.

    `name` is the operation that is refused, for the error.
    """
    for meta in program.input_metas:
        if meta.dims is None:
            raise ExecutorError(f"{name}: an input is {meta}, whose size is known when it runs")
    for step, meta in program.results():
        if meta.dims is None:
            raise ExecutorError(
                f"{name}: {step.op.name} makes {meta}, whose size data decide; XLA "
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
        segment = _segment(number, pieces[number], needed, hosted, program.slot_metas())
        needed |= {*segment.inputs, *(slot for slot in segment.scalars if slot not in hosted)}
        segments.append(segment)
    return SegmentPlan(program, tuple(reversed(segments)))


def _hosted(program: ExecProgram) -> frozenset[int]:
    """The scalars that sizes depend on and that follow from shapes and constants alone."""
    makers = program.makers()
    known: set[int] = set()
    from_shapes: set[int] = set()
    pending: list[int] = []
    for step in program.instructions:
        size = _size_slot(step)
        if size is not None:
            pending.append(size)
        if len(step.output_metas) != 1 or step.output_metas[0].rank:
            continue
        runs_on_host = step.op.category is not Category.BOUNDARY and step.op.size_operand is None
        if _reads_shapes(step):
            from_shapes.update(step.output_slots)
            known.update(step.output_slots)
        elif runs_on_host and known.issuperset(step.input_slots):
            known.update(step.output_slots)
    hosted = set(from_shapes)
    while pending:
        slot = pending.pop()
        if slot in known and slot not in hosted:
            pending += makers[slot].input_slots
            hosted.add(slot)
    return frozenset(hosted)


def _reads_shapes(step: ExecInstruction) -> bool:
    count = len(step.input_slots)
    return bool(count) and all(step.op.reads_shape_only(i) for i in range(count))


def _size_slot(step: ExecInstruction) -> int | None:
    operand = step.op.size_operand
    return None if operand is None else step.input_slots[operand]


def _free(program: ExecProgram) -> dict[int, ExecInstruction]:
    """Instructions that need no input of the program, by slot; each segment repeats them."""
    free: dict[int, ExecInstruction] = {}
    for step in program.instructions:
        cheap = step.op.source or (step.op.moves and step.op.size_operand is None)
        if cheap and free.keys() >= set(step.input_slots):
            free[step.output_slots[0]] = step
    return free


def _levels(
    program: ExecProgram, hosted: frozenset[int], free: Mapping[int, ExecInstruction]
) -> Iterator[tuple[ExecInstruction, int]]:
    """Each instruction, and the number of times that sizes must be read from data before it.

    Instructions in `free` are left out.
    """
    levels: dict[int, int] = dict.fromkeys((*program.input_slots, *free), -1)
    for step in program.instructions:
        if step.output_slots[0] in free:
            continue
        level = max([0, *(levels[slot] for slot in step.input_slots)])
        size = _size_slot(step)
        if size is not None:
            level = max(level, levels[size] if size in hosted else levels[size] + 1)
        levels.update(dict.fromkeys(step.output_slots, level))
        yield step, level


def _with_free(
    free: Mapping[int, ExecInstruction], steps: list[ExecInstruction], outputs: Sequence[int]
) -> list[ExecInstruction]:
    """The free instructions that the others or `outputs` read, then the others."""
    pending = [*outputs, *(slot for step in steps for slot in step.input_slots)]
    read: set[int] = set()
    while pending:
        slot = pending.pop()
        if slot in free and slot not in read:
            read.add(slot)
            pending += free[slot].input_slots
    return [*(step for slot, step in free.items() if slot in read), *steps]


def _segment(
    number: int,
    steps: list[ExecInstruction],
    needed: set[int],
    hosted: frozenset[int],
    metas: Sequence[TensorMeta | None],
) -> XlaSegment:
    written = {slot for step in steps for slot in step.output_slots}
    sizes: dict[int, None] = {}
    others: dict[int, None] = {}
    for step in steps:
        on_host = step.output_slots[0] in hosted and not _reads_shapes(step)
        for position, slot in enumerate(step.input_slots):
            is_size = on_host or position == step.op.size_operand
            if slot not in written:
                (sizes if is_size else others)[slot] = None
    return XlaSegment(
        number,
        tuple(steps),
        tuple(sizes),
        tuple(others),
        tuple(meta for slot in others if (meta := metas[slot]) is not None),
        tuple(sorted(written & needed)),
        hosted & written,
    )


def _slots(slots: Sequence[int]) -> str:
    return ", ".join(f"%{slot}" for slot in slots) or "nothing"


@dataclass(frozen=True, slots=True)
class Specialised:
    """A segment for the shapes of its inputs and the numbers of its scalars.

    Attributes:
        program: of constant extents, from the inputs of the segment to its outputs.
        known: the scalars that were computed on the host, by slot.
    """

    program: ExecProgram
    known: Mapping[int, NumpyArray]


def specialise_segment(
    segment: XlaSegment, metas: Sequence[TensorMeta], scalars: Mapping[int, NumpyArray]
) -> Specialised:
    """The segment for inputs of these types, its sizes resolved."""
    writing = _Specialising(segment, metas, scalars)
    program = renumber(writing.rewriter.run(writing.rule, writing.outputs))
    hosted = {slot: writing.known[slot] for slot in segment.hosted}
    return Specialised(with_last_use(program), hosted)


class _Specialising:
    """Writes a segment with constant extents."""

    def __init__(
        self, segment: XlaSegment, metas: Sequence[TensorMeta], scalars: Mapping[int, NumpyArray]
    ) -> None:
        self._segment = segment
        self.rewriter = Rewriter(segment.program, metas)
        self._is_constant: dict[int, int] = {}
        self.known: dict[int, NumpyArray] = dict(scalars)

    def rule(self, step: ExecInstruction, operands: tuple[int, ...]) -> tuple[int, ...]:
        """The instruction with its sizes resolved; `()` if the host computes it."""
        slots = step.input_slots
        if step.output_slots[0] in self._segment.hosted:
            self.known[step.output_slots[0]] = self._computed(step, operands)
            return ()
        size = step.op.size_operand
        scalars = None if size is None else {size: self.known[slots[size]]}
        metas = [self._meta(slot, now) for slot, now in zip(slots, operands, strict=True)]
        op, sources = step.op.resolved(metas, scalars)
        values = [
            self._value(slots[source], operands[source])
            if isinstance(source, int)
            else self.rewriter.emit_all(source)[0]
            for source in sources
        ]
        return self.rewriter.emit_all(op, *values)

    def outputs(self) -> list[int]:
        slots = self._segment.outputs
        return [
            self._value(slot, now)
            for slot, now in zip(slots, self.rewriter.now(slots), strict=True)
        ]

    def _computed(self, step: ExecInstruction, operands: tuple[int, ...]) -> NumpyArray:
        """The scalar, computed on the host; only the shape is known of some operands."""
        slots = step.input_slots
        arrays = [
            np.broadcast_to(np.False_, self._meta(slot, now).static_shape or ())
            if step.op.reads_shape_only(position)
            else self.known[slot]
            for position, (slot, now) in enumerate(zip(slots, operands, strict=True))
        ]
        with np.errstate(all="ignore"):
            return step.op.evaluate(arrays)[0]

    def _meta(self, slot: int, now: int) -> TensorMeta:
        """The type of an operand, on the device or on the host."""
        if slot in self.known:
            array = self.known[slot]
            return TensorMeta.of(array.dtype, array.shape)
        return self.rewriter.ctx.meta(now)

    def _value(self, slot: int, now: int) -> int:
        """The slot of a value; a value that only the host has becomes a constant."""
        if slot not in self.known or slot in self._segment.inputs:
            return now
        if slot not in self._is_constant:
            (self._is_constant[slot],) = self.rewriter.emit_all(Constant(self.known[slot]))
        return self._is_constant[slot]
