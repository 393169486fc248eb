"""The order of execution and the live range of every buffer.

A compiler such as XLA on the CPU runs an instruction as soon as its operands are computed, and
computes elementwise results where they are read. An interpreter runs instructions as they are
written, and stores every result. See `memory`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tenferro.compiler.cost_model import CPU, DeviceCosts
from tenferro.compiler.partitioned_axes import PartitionedAxes
from tenferro.ir import ExecInstruction, ExecProgram, TensorMeta
from tenferro.ops import DotGeneral, Transpose

__all__ = ["COMPILED", "COMPILED_AS_WRITTEN", "DeviceModel", "Runs"]


@dataclass(frozen=True, slots=True)
class Runs:
    """How an executor runs programs.

    Attributes:
        as_written: whether it runs instructions in their order, not as soon as they can run.
        fuses: whether it computes elementwise results where they are read, or over an operand.
        reads_transposed: whether a contraction reads matrices either way, without a copy of them.
        block: the number of bytes of which each buffer takes a multiple.
        workspace: the bytes that contractions need in addition to their operands and results.
    """

    as_written: bool
    fuses: bool
    reads_transposed: bool = False
    block: int = 1
    workspace: int = 0

    def size(self, meta: TensorMeta) -> int:
        """The bytes of the buffer of a value; 0 if its size is not known."""
        return -(-size_of(meta) // self.block) * self.block


COMPILED = Runs(as_written=False, fuses=True)
"""By a compiler such as XLA on the CPU."""
COMPILED_AS_WRITTEN = Runs(as_written=True, fuses=True)
"""By a compiler that keeps the order."""
INTERPRETED = Runs(as_written=True, fuses=False)
"""One op after another."""


class Schedule:
    """The buffers of a program; a view shares the buffer of its operand.

    A *moment* is a position in the order in which the instructions run.

    Attributes:
        peaks: the programs inside its ops, and their predicted peaks, by their ids.
        order: the numbers of the instructions, in the order in which they run.
        made: by buffer, the moment when it is allocated.
        reads: by buffer, the moments when it is read.
        metas: by slot, its type; on several devices, that of the part that one holds.
        bytes: by slot, its size.
        profile: for each moment the bytes alive, without the arguments.
    """

    def __init__(
        self,
        program: ExecProgram,
        peaks: Mapping[int, tuple[ExecProgram, int]],
        runs: Runs = COMPILED,
        pinned: PartitionedAxes | None = None,
    ) -> None:
        self.program = program
        self.peaks = peaks
        self.runs = runs
        self.fuses = runs.fuses
        self.readers: dict[int, list[int]] = {}
        for number, step in enumerate(program.instructions):
            for slot in dict.fromkeys(step.input_slots):
                self.readers.setdefault(slot, []).append(number)
        self.metas = program.slot_metas() if pinned is None else pinned.parts(program).metas()
        self.bytes = [0 if meta is None else runs.size(meta) for meta in self.metas]
        self.buffer = list(range(program.n_slots))
        self.fused: dict[int, tuple[int, ...]] = {}
        self.streamed = self._streamed() if runs.fuses else set()
        for step in program.instructions:
            self._place(step)
        count = len(program.instructions)
        self.order = list(range(count)) if runs.as_written else self._order()
        self.arguments = set(program.input_slots)
        self.results = {self.buffer[slot] for slot in program.output_slots}
        self.made: dict[int, int] = {}
        self.reads: dict[int, list[int]] = {}
        self._find_lifetimes()
        self.profile = self._profile()

    @property
    def highest(self) -> int:
        """The most bytes alive at one moment."""
        return max(self.profile, default=0)

    @property
    def need(self) -> int:
        """The bytes of the results and of intermediate values at the peak."""
        return max(self.highest, self.output_bytes)

    @property
    def peak(self) -> int:
        """The first moment when most bytes are alive."""
        return self.profile.index(self.highest) if self.profile else 0

    @cached_property
    def output_bytes(self) -> int:
        """The bytes of the outputs. The buffer of an output is used for temporaries before."""
        return sum(self.bytes[slot] for slot in dict.fromkeys(self.program.output_slots))

    @cached_property
    def argument_bytes(self) -> int:
        """The bytes of the operands."""
        return sum(self.bytes[slot] for slot in self.arguments)

    def alive(self, moment: int) -> list[int]:
        """The buffers that are alive while the instruction of a moment runs, arguments excepted."""
        return [
            slot
            for slot, made in self.made.items()
            if made <= moment and (slot in self.results or self.last_read(slot) >= moment)
        ]

    def last_read(self, buffer: int) -> int:
        """The last moment when a buffer is read; when it is allocated, if it is never read."""
        reads = self.reads.get(buffer)
        return reads[-1] if reads else self.made[buffer]

    def buffers(self, slot: int) -> tuple[int, ...]:
        """The buffers that are read where a slot is: those of its operands if it is fused."""
        buffer = self.buffer[slot]
        return self.fused.get(slot, self.fused.get(buffer, (buffer,)))

    def _find_lifetimes(self) -> None:
        steps = self.program.instructions
        for moment, number in enumerate(self.order):
            step = steps[number]
            for slot in step.output_slots:
                if self.buffer[slot] == slot and slot not in self.fused:
                    self.made[slot] = moment
            for buffer in self._read(step):
                self.reads.setdefault(buffer, []).append(moment)

    def _profile(self) -> list[int]:
        """The bytes alive at each moment."""
        steps, live, profile = self.program.instructions, 0, []
        for moment, number in enumerate(self.order):
            step = steps[number]
            live += sum(self.bytes[slot] for slot in step.output_slots if slot in self.made)
            gone = [
                buffer
                for buffer in self._read(step)
                if self.reads[buffer][-1] == moment
                and buffer not in self.results
                and buffer not in self.arguments
            ]
            spared = self._spared(step, gone) if gone else 0
            profile.append(live - spared + self.inside(step))
            if self.runs.workspace and isinstance(step.op, DotGeneral):
                profile[-1] += self.runs.workspace
            live -= sum(self.bytes[buffer] for buffer in gone)
        return profile

    def _spared(self, step: ExecInstruction, gone: list[int]) -> int:
        """Bytes of operands that are not read again, and that results are written over."""
        places = set(step.op.overwrites.values())
        over = {self.buffer[step.input_slots[place]] for place in places}
        spared = sum(self.bytes[buffer] for buffer in over if buffer in gone)
        if not self.fuses or not step.op.pointwise:
            return spared
        size = self.bytes[step.output_slots[0]]
        operands = {self.buffer[operand] for operand in step.input_slots}
        fits = any(each in operands and self.bytes[each] == size for each in gone)
        return spared + (size if fits else 0)

    def inside(self, step: ExecInstruction) -> int:
        """The bytes that an op with programs needs in addition to its operands and results.

        What the programs write where results lie is counted as these results.
        """
        if not step.op.body_fields:
            return 0
        results = [self.bytes[slot] for slot in step.output_slots]
        counted = sum(results[place] for place in step.op.written_inside)
        peaks = [self.peaks[id(body)][1] for body in step.op.bodies.values()]
        return max(0, max(peaks) - counted) + step.op.scratch(results)

    def _place(self, step: ExecInstruction) -> None:
        """Decide whether a result has a buffer of its own."""
        if len(step.output_slots) != 1:
            return
        (slot,) = step.output_slots
        if step.op.view or self._is_read_transposed(step):
            self.buffer[slot] = self.buffer[step.input_slots[0]]
            if self.buffer[slot] in self.fused:
                self.fused[slot] = self.fused[self.buffer[slot]]
        elif step.op.inlined and not step.op.source and slot in self.streamed:
            self.fused[slot] = tuple(self._read(step))

    def _is_read_transposed(self, step: ExecInstruction) -> bool:
        """Whether it only exchanges the axes of matrices that contractions read, without a copy."""
        if not (self.runs.reads_transposed and isinstance(step.op, Transpose)):
            return False
        batch = step.op.perm[:-2]
        if batch != tuple(range(len(batch))):
            return False
        (slot,) = step.output_slots
        readers = [self.program.instructions[number] for number in self.readers.get(slot, ())]
        return (
            bool(readers)
            and slot not in self.program.output_slots
            and all(isinstance(reader.op, DotGeneral) for reader in readers)
        )

    def _streamed(self) -> set[int]:
        """The values whose elements every reader can compute where it reads them.

        A compiler does not do so several times if that takes long.
        """
        streamed: set[int] = set()
        outputs = set(self.program.output_slots)
        for step in reversed(self.program.instructions):
            for slot, meta in zip(step.output_slots, step.output_metas, strict=True):
                numbers = self.readers.get(slot, ())
                readers = [self.program.instructions[number] for number in numbers]
                if (
                    readers
                    and slot not in outputs
                    and (len(readers) == 1 or step.op.cheap)
                    and all(
                        reader.output_slots[0] in streamed
                        if reader.op.view
                        else reader.op.streams_from(meta)
                        for reader in readers
                    )
                ):
                    streamed.add(slot)
        return streamed

    def _read(self, step: ExecInstruction) -> list[int]:
        """The buffers that an instruction reads, those of fused operands in their place."""
        read: dict[int, None] = {}
        for slot in step.input_slots:
            read.update(dict.fromkeys(self.buffers(slot)))
        return list(read)

    def _order(self) -> list[int]:
        """Instructions in the order in which their operands become ready."""
        steps = self.program.instructions
        missing = [len(set(step.input_slots)) for step in steps]
        ready = deque(number for number, count in enumerate(missing) if not count)
        order: list[int] = []
        started = deque(self.program.input_slots)
        while started or ready:
            if started:
                self._arrive(started.popleft(), missing, ready)
                continue
            number = ready.popleft()
            order.append(number)
            for slot in steps[number].output_slots:
                self._arrive(slot, missing, ready)
        return order

    def _arrive(self, slot: int, missing: list[int], ready: deque[int]) -> None:
        for number in self.readers.get(slot, ()):
            missing[number] -= 1
            if not missing[number]:
                step = self.program.instructions[number]
                if step.op.view or step.op.repeats:
                    ready.appendleft(number)  # takes no time, so that its readers are ready at once
                else:
                    ready.append(number)


def size_of(meta: TensorMeta) -> int:
    """The bytes of a value; 0 if its size is not known."""
    shape = meta.static_shape
    if shape is None:
        return 0
    count = 1
    for size in shape:
        count *= size
    return count * meta.dtype.itemsize


@dataclass(frozen=True, slots=True)
class DeviceModel:
    """What plans of programs are made by before anything is compiled for a device.

    Attributes:
        costs: the seconds that programs take.
        runs: how programs run, by which their memory is predicted.
    """

    costs: DeviceCosts = CPU
    runs: Runs = COMPILED
