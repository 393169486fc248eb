"""A prediction of the memory that a program needs, made before it is compiled.

XLA on the CPU runs an instruction as soon as its operands are computed, in the order in which they
become ready. So values of independent parts of a program are alive at the same time. It also makes
a copy for each transposition that no product absorbs. The prediction schedules the program in that
order and adds up the values that are alive. The ops state whether a compiler computes them where
they are read (`ExecOp.inlined`, `ExecOp.streams`) and whether their result shares the memory of
their operand (`ExecOp.view`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from tenferro.exec_ir import ExecInstruction, ExecProgram
from tenferro.shape import TensorMeta


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Bytes that one run needs.

    Attributes:
        arguments: of the operands, which belong to the caller.
        outputs: of the results.
        temporaries: of all other values, at the time when most bytes are alive.
    """

    arguments: int
    outputs: int
    temporaries: int

    @property
    def peak(self) -> int:
        """Outputs and temporaries: the bytes needed in addition to the operands."""
        return self.outputs + self.temporaries


def predict_memory(program: ExecProgram) -> MemoryNeed:
    """The bytes that one run of a program of known sizes needs.

    >>> from tenferro.compiler import parse
    >>> text = "exec_program(%0: f64[2,3]) { \\n %1: f64[3,2] = transpose[perm=(1, 0)] %0 \\n"
    >>> text += "%2: f64[3,3] = dot_general[lhs_contract=(1,), rhs_contract=(0,)] %1, %0! \\n"
    >>> predict_memory(parse(text + "return %2 \\n }"))
    MemoryNeed(arguments=48, outputs=72, temporaries=48)
    """
    needs: dict[int, MemoryNeed] = {}
    peaks: dict[int, int] = {}
    for part in reversed(list(program.walk())):
        needs[id(part)] = _Schedule(part, peaks).need()
        peaks[id(part)] = needs[id(part)].peak
    return needs[id(program)]


class _Schedule:
    """The buffers of a program; a view shares the buffer of its operand.

    Attributes:
        peaks: the predicted peaks of the programs inside its ops, by their ids.
    """

    def __init__(self, program: ExecProgram, peaks: Mapping[int, int]) -> None:
        self.program = program
        self.peaks = peaks
        self.metas = program.slot_metas()
        self.readers: dict[int, list[int]] = {}
        for number, step in enumerate(program.instructions):
            for slot in dict.fromkeys(step.input_slots):
                self.readers.setdefault(slot, []).append(number)
        self.bytes = [0 if meta is None else _bytes(meta) for meta in self.metas]
        self.buffer = list(range(program.n_slots))
        self.fused: dict[int, tuple[int, ...]] = {}
        self.streamed = self._streamed()

    def need(self) -> MemoryNeed:
        """The bytes alive at the peak. The buffer of an output is used for temporaries before."""
        steps = self.program.instructions
        arguments = set(self.program.input_slots)
        for step in steps:
            self._place(step)
        order = self._order()
        uses: dict[int, int] = {}
        for number in order:
            for buffer in self._read(steps[number]):
                uses[buffer] = uses.get(buffer, 0) + 1
        results = {self.buffer[slot] for slot in self.program.output_slots}
        live = highest = 0
        for number in order:
            step = steps[number]
            allocated = [slot for slot in step.output_slots if self._own(slot)]
            live += sum(self.bytes[slot] for slot in allocated)
            last = [buffer for buffer in self._read(step) if uses[buffer] == 1]
            gone = [buffer for buffer in last if buffer not in results and buffer not in arguments]
            spared = max(
                (self.bytes[buffer] for buffer in gone if self._in_place(step, buffer)), default=0
            )
            spared += self._overwritten(step, gone)
            highest = max(highest, live - spared + self._inside(step))
            live -= sum(self.bytes[buffer] for buffer in gone)
            for buffer in self._read(step):
                uses[buffer] -= 1
        outputs = sum(self.bytes[slot] for slot in dict.fromkeys(self.program.output_slots))
        argument_bytes = sum(self.bytes[slot] for slot in arguments)
        return MemoryNeed(argument_bytes, outputs, max(highest - outputs, 0))

    def _own(self, slot: int) -> bool:
        """Whether a value has a buffer of its own."""
        return self.buffer[slot] == slot and slot not in self.fused

    def _in_place(self, step: ExecInstruction, buffer: int) -> bool:
        """Whether a pointwise result may be written over an operand that nothing reads again."""
        (slot, *_) = step.output_slots
        return (
            step.op.pointwise
            and self.bytes[slot] == self.bytes[buffer]
            and any(self.buffer[operand] == buffer for operand in step.input_slots)
        )

    def _overwritten(self, step: ExecInstruction, gone: list[int]) -> int:
        """Bytes of the operands, not read again, that results of the op are written over."""
        places = set(step.op.overwrites.values())
        operands = {self.buffer[step.input_slots[place]] for place in places}
        return sum(self.bytes[buffer] for buffer in operands if buffer in gone)

    def _inside(self, step: ExecInstruction) -> int:
        """The bytes that the programs inside an op need beside its operands and results.

        What they write where results lie is counted as these results.
        """
        if not step.op.body_fields:
            return 0
        counted = sum(self.bytes[step.output_slots[place]] for place in step.op.written_inside)
        peaks = [self.peaks[id(body)] for body in step.op.bodies.values()]
        return max(0, max(peaks) - counted)

    def _place(self, step: ExecInstruction) -> None:
        """Decide whether a result has a buffer of its own."""
        if len(step.output_slots) != 1:
            return
        (slot,) = step.output_slots
        if step.op.view:
            self.buffer[slot] = self.buffer[step.input_slots[0]]
            if self.buffer[slot] in self.fused:
                self.fused[slot] = self.fused[self.buffer[slot]]
        elif step.op.inlined and not step.op.source and slot in self.streamed:
            self.fused[slot] = tuple(self._read(step))

    def _streamed(self) -> set[int]:
        """The values whose elements every reader can compute where it reads them."""
        streamed: set[int] = set()
        outputs = set(self.program.output_slots)
        for step in reversed(self.program.instructions):
            for slot in step.output_slots:
                numbers = self.readers.get(slot, ())
                readers = [self.program.instructions[number] for number in numbers]
                if (
                    readers
                    and slot not in outputs
                    and all(
                        reader.output_slots[0] in streamed if reader.op.view else reader.op.streams
                        for reader in readers
                    )
                ):
                    streamed.add(slot)
        return streamed

    def _read(self, step: ExecInstruction) -> list[int]:
        """The buffers that an instruction reads, those of fused operands in their place."""
        buffers: dict[int, None] = {}
        for slot in step.input_slots:
            buffer = self.buffer[slot]
            buffers.update(dict.fromkeys(self.fused.get(slot, self.fused.get(buffer, (buffer,)))))
        return list(buffers)

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


def _bytes(meta: TensorMeta) -> int:
    shape = meta.static_shape
    if shape is None:
        return 0
    count = 1
    for size in shape:
        count *= size
    return count * meta.dtype.itemsize
