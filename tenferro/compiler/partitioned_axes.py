"""Axes divided among devices, which contractions must not merge."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tenferro.ir import ExecInstruction, ExecProgram, TensorMeta, make_meta
from tenferro.ops import DotGeneral, Reshape

__all__ = ["PartitionedAxes"]

Counts = tuple[int, ...]
"""For each axis the number of parts; 1 if it is whole."""

UNKNOWN = 0
"""The number of parts of an axis that may be divided, as far as is known."""


@dataclass(frozen=True, slots=True)
class PartitionedAxes:
    """Which axes of a program's inputs and outputs are divided, and into how many parts.

    Attributes:
        sizes: of the axes of the mesh, by which the program's own constraints divide.
        everywhere: whether any axis may be divided, as in a loop whose operands are.
    """

    inputs: tuple[Counts, ...] = ()
    outputs: tuple[Counts, ...] = ()
    sizes: tuple[tuple[str, int], ...] = ()
    everywhere: bool = False

    def parts(self, program: ExecProgram) -> AxisParts:
        """The numbers of parts of all axes of a program."""
        return AxisParts(program, self)

    def inside(self, program: ExecProgram) -> PartitionedAxes | None:
        """What holds in the programs inside the ops of a program; None if they are all whole."""
        with_bodies = [
            step for step in program.instructions if step.op.body_fields and not step.op.takes_whole
        ]
        if not with_bodies:
            return None
        parts = self.parts(program)
        read = {slot for step in with_bodies for slot in step.input_slots}
        return ANYWHERE if any(map(parts.is_divided, read)) else None


ANYWHERE = PartitionedAxes(everywhere=True)


class AxisParts:
    """Into how many parts the axes of a program's values are divided.

    Axes that an op maps onto each other are divided alike, as XLA's propagation does it, forward
    and backward. Of an op that is not known to keep axes apart, every axis of the results may be
    divided if one of its operands is.
    """

    def __init__(self, program: ExecProgram, pinned: PartitionedAxes) -> None:
        self._everywhere = pinned.everywhere
        self._metas = program.slot_metas()
        self._shapes = [() if meta is None else meta.dims or () for meta in self._metas]
        self._start = [0]
        for shape in self._shapes:
            self._start.append(self._start[-1] + len(shape))
        self._parent = list(range(self._start[-1]))
        self._counts: dict[int, int] = {}
        if pinned.everywhere:
            return
        unknown = [step for step in program.instructions if not self._tie(step)]
        for slots, parts in (
            (program.input_slots, pinned.inputs),
            (program.output_slots, pinned.outputs),
        ):
            for slot, counts in zip(slots, parts, strict=False):
                self._pin(slot, counts)
        sizes = dict(pinned.sizes)
        for step in program.instructions:
            if step.op.divides is not None:
                divided = [
                    math.prod(sizes.get(name, 1) for name in names) for names in step.op.divides
                ]
                self._pin(step.output_slots[0], divided)
        for step in unknown:
            if not step.op.takes_whole and any(self.is_divided(slot) for slot in step.input_slots):
                for slot in step.output_slots:
                    self._pin(slot, [UNKNOWN] * len(self._shapes[slot]))

    def of(self, slot: int) -> Counts:
        """The numbers of parts of the axes of a value; `UNKNOWN` where it may be divided."""
        if self._everywhere:
            return (UNKNOWN,) * len(self._shapes[slot])
        return tuple([self._counts.get(self._root(each), 1) for each in range(*self._range(slot))])

    def local(self, slot: int, shape: Sequence[int]) -> tuple[int, ...]:
        parts = zip(shape, self.of(slot), strict=True)
        return tuple([size // max(1, count) for size, count in parts])

    def metas(self) -> list[TensorMeta | None]:
        """The types of the parts of all values that one device holds; None if a slot has none."""
        return [
            meta
            if meta is None or meta.static_shape is None
            else make_meta(meta.dtype, self.local(slot, meta.static_shape))
            for slot, meta in enumerate(self._metas)
        ]

    def rank(self, slot: int) -> int:
        return len(self._shapes[slot])

    def is_divided(self, slot: int) -> bool:
        """Whether an axis of a value is or may be divided."""
        return any(count != 1 for count in self.of(slot))

    def can_merge(self, slot: int, axes: Sequence[int]) -> bool:
        """Whether the axes of a value become one whose parts are those of the first of them."""
        counts, shape = self.of(slot), self._shapes[slot]
        merged = [axis for axis in axes if shape[axis] != 1]
        return all(counts[axis] == 1 for axis in merged[1:])

    def _range(self, slot: int) -> tuple[int, int]:
        return self._start[slot], self._start[slot + 1]

    def _root(self, axis: int) -> int:
        parent = self._parent
        while parent[axis] != axis:
            parent[axis] = parent[parent[axis]]
            axis = parent[axis]
        return axis

    def _pin(self, slot: int, counts: Sequence[int]) -> None:
        for axis, count in zip(range(*self._range(slot)), counts, strict=True):
            if count != 1:
                root = self._root(axis)
                self._counts[root] = max(count, self._counts.get(root, UNKNOWN))

    def _tie(self, step: ExecInstruction) -> bool:
        """Note which axes the step divides alike; False if that is not known."""
        out = step.output_slots[0] if len(step.output_slots) == 1 else None
        if out is None:
            return False
        if isinstance(step.op, DotGeneral):
            pairs = _of_contraction(step.op, step, [len(shape) for shape in self._shapes])
        elif isinstance(step.op, Reshape):
            (operand,) = step.input_slots
            shapes = self._shapes[operand], self._shapes[out]
            pairs = (((operand, i), (out, j)) for i, j in _unmerged(*shapes))
        else:
            axis_map = step.op.axis_map([len(self._shapes[slot]) for slot in step.input_slots])
            if axis_map is None:
                return False
            pairs = (
                ((slot, axis), (out, target))
                for slot, targets in zip(step.input_slots, axis_map, strict=True)
                for axis, target in enumerate(targets)
                if target is not None
            )
        for (slot, axis), (other, target) in pairs:
            if self._shapes[slot][axis] == self._shapes[other][target] or (
                isinstance(step.op, Reshape)
            ):
                first, second = self._start[slot] + axis, self._start[other] + target
                self._parent[self._root(first)] = self._root(second)
        return True


Axis = tuple[int, int]
"""A slot, and an axis of its value."""


def _of_contraction(
    dot: DotGeneral, step: ExecInstruction, ranks: Sequence[int]
) -> Iterator[tuple[Axis, Axis]]:
    """The pairs of axes that a contraction matches or keeps."""
    (lhs, rhs), (out,) = step.input_slots, step.output_slots
    for one, other in zip(dot.lhs_contract, dot.rhs_contract, strict=True):
        yield (lhs, one), (rhs, other)
    for target, (one, other) in enumerate(zip(dot.lhs_batch, dot.rhs_batch, strict=True)):
        yield (lhs, one), (out, target)
        yield (rhs, other), (out, target)
    free = [(lhs, axis) for axis in dot.lhs_free(ranks[lhs])]
    free += [(rhs, axis) for axis in dot.rhs_free(ranks[rhs])]
    for target, axis in enumerate(free, len(dot.lhs_batch)):
        yield axis, (out, target)


def _unmerged(before: Sequence[object], after: Sequence[object]) -> Iterator[tuple[int, int]]:
    """The pairs of axes of a reshape before which lie as many elements, so that parts stay."""
    if not all(isinstance(size, int) and size for size in (*before, *after)):
        return
    starts: dict[int, int] = {}
    total = 1
    for axis, size in enumerate(before):
        if size != 1:
            starts[total] = axis
        total *= size  # type: ignore[operator]  # an integer
    total = 1
    for axis, size in enumerate(after):
        if size != 1 and total in starts:
            yield starts[total], axis
        total *= size  # type: ignore[operator]
