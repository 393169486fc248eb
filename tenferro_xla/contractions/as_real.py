"""Complex contractions as real ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tenferro.exec_ir import ExecBuilder, ExecInstruction, ExecOp, ExecProgram
from tenferro.ops import (
    Add,
    BroadcastInDim,
    Complex,
    DotGeneral,
    Imag,
    Mul,
    Neg,
    Real,
    ReduceSum,
    Reshape,
    Sub,
    Transpose,
)
from tenferro.shape import TensorMeta
from tenferro_xla.contractions.cost import CACHED, CPU, Costs
from tenferro_xla.contractions.parts import Factor, Join, Split, known_shape

HELD = (Add, BroadcastInDim, Neg, ReduceSum, Reshape, Sub, Transpose)
"""What means the same of parts as of numbers."""


@dataclass(frozen=True, slots=True)
class Side:
    """An operand of a batched matrix product; an axis that it lacks is -1."""

    slot: int
    contract: int
    free: int
    meta: TensorMeta

    @property
    def turned(self) -> bool:
        """Whether the contracted axis comes before the free one."""
        return self.contract < self.free

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(known_shape(self.meta))

    @property
    def inner(self) -> int:
        """The size of the contracted axis."""
        return known_shape(self.meta)[self.contract]

    @property
    def extent(self) -> int:
        """The size of the free axis."""
        return known_shape(self.meta)[self.free] if self.free >= 0 else 1


Writer = Callable[[ExecInstruction, DotGeneral, Side, Side], None]
"""Writes a contraction in one of the real forms."""


class RealContractions:
    """Computes complex contractions as real ones where that is faster.

    XLA's complex product on the CPU takes two to four times what a real one of the same arithmetic
    takes. The left operand is held as parts, `[m,k]` as `[m,2k]`; each number of the other becomes
    a block of four, `[k,n]` as `[2k,2n]`; the result is held as parts, `[m,2n]`, and is left so for
    the next contraction. What is made of four is the operand that is cheaper to treat so. Large
    products are three real ones of the size of the complex one, and a product of a matrix and a
    vector is a sum over products of elements. A contraction is left alone where its cost says so,
    or where it is not a batched matrix product as `DotDecomposer` leaves them.
    """

    def __init__(self, costs: Costs = CPU) -> None:
        self.costs = costs

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program; its inputs and outputs are as they were."""
        if not any(
            isinstance(step.op, DotGeneral) and step.dtype.kind == "c"
            for step in program.instructions
        ):
            return program
        return _Rewrite(program, self.costs).run()


class _Rewrite:
    def __init__(self, program: ExecProgram, costs: Costs) -> None:
        self.program = program
        self.costs = costs
        self.inputs = set(program.input_slots)
        self.outputs = set(program.output_slots)
        self.builder = ExecBuilder()
        self.whole: dict[int, int] = {}  # where each value of the old program is as it was
        self.parts: dict[int, int] = {}  # and where it is held as parts
        self.site: str | None = None

    def run(self) -> ExecProgram:
        for slot, meta in zip(self.program.input_slots, self.program.input_metas, strict=True):
            self.whole[slot] = self.builder.input(meta)
        for step in self.program.instructions:
            self.site = step.site
            self._visit(step)
        return self.builder.build([self._whole(slot) for slot in self.program.output_slots])

    def _visit(self, step: ExecInstruction) -> None:
        op = step.op
        if isinstance(op, DotGeneral) and step.dtype.kind == "c" and self._contracts(step, op):
            return
        if isinstance(op, HELD) and any(slot not in self.whole for slot in step.input_slots):
            operands = [self._parts(slot) for slot in step.input_slots]
            held = _of_parts(op, self.builder.metas[operands[0]].rank - 1)
            self.parts[step.output_slots[0]] = self._add(held, *operands)
            return
        if isinstance(op, (Transpose, Reshape)) and self.inputs.issuperset(step.input_slots):
            self.inputs.update(step.output_slots)  # XLA reads the input itself
        operands = [self._whole(slot) for slot in step.input_slots]
        results = self.builder.add(op, operands, self.site)
        self.whole.update(zip(step.output_slots, results, strict=True))

    def _contracts(self, step: ExecInstruction, dot: DotGeneral) -> bool:
        """Write the contraction as a real one, unless it is better left alone."""
        lhs, rhs = step.input_slots
        left = _side(lhs, self._meta(lhs), dot.lhs_batch, dot.lhs_contract)
        right = _side(rhs, self._meta(rhs), dot.rhs_batch, dot.rhs_contract)
        if left is None or right is None:
            return False
        numbers = math.prod(known_shape(step.output_metas[0]))
        if not numbers or not left.size:
            return False
        both = left.free >= 0 and right.free >= 0
        scale = self.costs.scale(step.dtype)
        moved = 2 * numbers * self.costs.moved * scale * both
        joined = 2 * numbers * self.costs.part * scale * (step.output_slots[0] in self.outputs)
        seconds: dict[Writer | None, float] = {
            None: self._native(numbers, left, right),
            self._straight: self._real(numbers, left, right) + joined,
            self._exchanged: self._real(numbers, right, left) + moved + joined,
            self._in_three: self._three(numbers, left, right),
        }
        if not both:
            seconds[self._reduced] = self._summed(left, right)
        choice = min(seconds, key=seconds.__getitem__)
        if choice is None or seconds[choice] > self.costs.bound * seconds[None]:
            return False
        choice(step, dot, left, right)
        return True

    def _native(self, numbers: int, left: Side, right: Side) -> float:
        """Seconds for the contraction as it is."""
        costs, inner = self.costs, left.inner
        joined = sum(2 * side.size for side in (left, right) if side.slot not in self.whole)
        seconds = numbers * inner * costs.native * costs.edges(left.extent, right.extent, inner)
        return (seconds + joined * costs.part) * costs.scale(left.meta.dtype)

    def _three(self, numbers: int, left: Side, right: Side) -> float:
        """Seconds for three products of the size of the complex one."""
        costs, inner = self.costs, left.inner
        seconds = 0.75 * numbers * inner * costs.real
        seconds *= costs.edges(left.extent, right.extent, inner)
        seconds += 5 * numbers * costs.written(numbers)
        seconds += 3 * (left.size * self._part(left) + right.size * self._part(right))
        return seconds * costs.scale(left.meta.dtype) + 8 * costs.kernel

    def _real(self, numbers: int, lead: Side, other: Side) -> float:
        """Seconds for a real product of twice the size, with `lead` on the left."""
        costs, inner = self.costs, lead.inner
        seconds = numbers * inner * costs.real
        seconds *= costs.edges(lead.extent, 2 * other.extent, 2 * inner)
        seconds += costs.matrix * (numbers // (lead.extent * other.extent) - 1)
        seconds += 4 * other.size * self._part(other)
        kernels = 1
        if lead.turned:
            seconds += 2 * lead.size * costs.moved
        elif lead.slot not in self.parts:
            seconds += 2 * lead.size * self._part(lead)
        if lead.turned or lead.slot not in self.parts:
            kernels += 1
        return seconds * costs.scale(lead.meta.dtype) + kernels * costs.kernel

    def _summed(self, left: Side, right: Side) -> float:
        """Seconds for a sum over products of elements."""
        costs = self.costs
        seconds = max(left.size, right.size) * costs.reduced * costs.scale(left.meta.dtype)
        return seconds + costs.kernel

    def _part(self, side: Side) -> float:
        """Seconds for each real number that is made of an operand."""
        loaded = side.slot in self.inputs and side.size > CACHED
        return self.costs.loaded if loaded else self.costs.written(4 * side.size)

    def _straight(self, step: ExecInstruction, dot: DotGeneral, left: Side, right: Side) -> None:
        shape = known_shape(step.output_metas[0])
        self.parts[step.output_slots[0]] = self._product(left, right, len(dot.lhs_batch), shape)

    def _exchanged(self, step: ExecInstruction, dot: DotGeneral, left: Side, right: Side) -> None:
        shape, batch = known_shape(step.output_metas[0]), len(dot.lhs_batch)
        made = self._product(right, left, batch, (*shape[:batch], *shape[batch:][::-1]))
        if len(shape) == batch + 2:
            made = self._add(Transpose((*range(batch), batch + 1, batch, batch + 2)), made)
        self.parts[step.output_slots[0]] = made

    def _in_three(self, step: ExecInstruction, dot: DotGeneral, left: Side, right: Side) -> None:
        """(a + bi)(c + di) from ac, bd and (a + b)(c + d)."""
        a, b = self._pair(left.slot)
        c, d = self._pair(right.slot)
        ac, bd = self._add(dot, a, c), self._add(dot, b, d)
        all_four = self._add(dot, self._add(Add(), a, b), self._add(Add(), c, d))
        im = self._add(Sub(), self._add(Sub(), all_four, ac), bd)
        self.whole[step.output_slots[0]] = self._add(Complex(), self._add(Sub(), ac, bd), im)

    def _reduced(self, step: ExecInstruction, dot: DotGeneral, left: Side, right: Side) -> None:
        """The sum over products of elements; one of the sides has no free axis."""
        matrix, vector = (right, left) if left.free < 0 else (left, right)
        batch = tuple(range(len(dot.lhs_batch)))
        along = BroadcastInDim(known_shape(matrix.meta), (*batch, matrix.contract))
        spread = self._add(along, self._whole(vector.slot))
        products = self._add(Mul(), self._whole(matrix.slot), spread)
        self.whole[step.output_slots[0]] = self._add(ReduceSum((matrix.contract,)), products)

    def _pair(self, slot: int) -> tuple[int, int]:
        whole = self._whole(slot)
        return self._add(Real(), whole), self._add(Imag(), whole)

    def _product(self, lead: Side, other: Side, batch: int, shape: Sequence[int]) -> int:
        """The result, held as parts, of shape `[*shape, 2]`, the free axis of `lead` first."""
        rows = self._parts(lead.slot)
        if lead.turned:
            rows = self._add(Transpose((*range(batch), batch + 1, batch, batch + 2)), rows)
        sizes = known_shape(self.builder.metas[rows])
        rows = self._add(Reshape((*sizes[:-2], 2 * sizes[-2])), rows)
        factor = Factor(other.contract, other.free)
        held = self.parts.get(other.slot)
        block = self._add(factor, self._whole(other.slot) if held is None else held)
        along = tuple(range(batch))
        dot = DotGeneral((len(sizes) - 2,), (other.contract,), along, along)
        return self._add(Reshape((*shape, 2)), self._add(dot, rows, block))

    def _parts(self, slot: int) -> int:
        if slot not in self.parts:
            self.parts[slot] = self._add(Split(), self.whole[slot])
        return self.parts[slot]

    def _whole(self, slot: int) -> int:
        if slot not in self.whole:
            self.whole[slot] = self._add(Join(), self.parts[slot])
        return self.whole[slot]

    def _meta(self, slot: int) -> TensorMeta:
        """The type of a value of the old program."""
        whole = self.whole.get(slot)
        if whole is not None:
            return self.builder.metas[whole]
        return Join().infer(self.builder.metas[self.parts[slot]])

    def _add(self, op: ExecOp, *operands: int) -> int:
        return self.builder.add(op, operands, self.site)[0]


def _side(
    slot: int, meta: TensorMeta, batch: tuple[int, ...], contract: tuple[int, ...]
) -> Side | None:
    """The operand as a matrix; None unless batch axes lead and one axis is contracted."""
    free = [axis for axis in range(meta.rank) if axis not in batch and axis not in contract]
    if batch != tuple(range(len(batch))) or len(contract) != 1 or len(free) > 1:
        return None
    return Side(slot, contract[0], free[0] if free else -1, meta)


def _of_parts(op: ExecOp, rank: int) -> ExecOp:
    """The op on operands with the axis of parts, whose number without it is `rank`."""
    match op:
        case Transpose(perm=perm):
            return Transpose((*perm, rank))
        case Reshape(shape=shape):
            return Reshape((*shape, 2))
        case BroadcastInDim(shape=shape, dims=dims):
            return BroadcastInDim((*shape, 2), (*dims, len(shape)))
        case _:
            return op
