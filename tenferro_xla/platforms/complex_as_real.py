"""Complex contractions as real ones, and quotients by real numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tenferro import ops
from tenferro.compiler import CPU, DeviceCosts, Needs, Pass
from tenferro.ir import ExecInstruction, ExecOp, ExecProgram, Rewriter, TensorMeta, dtype_kind
from tenferro_xla.platforms.barriers import (
    DivideByReal,
    Factor,
    Fuse,
    Join,
    Split,
    known_shape,
    part_dtype,
)

__all__ = ["RealContractions", "RealDivisors"]

CACHED = 1 << 14
"""Number of elements of an input of the program that is likely to be in a cache when it is read."""

SCATTERED = 1 << 22
"""Number of elements of a value that is too large for any cache."""

RUNS = (32, 128, 512, 2048)
"""Numbers of runs in which a real form has to gain what compiling its kernels takes.

The first is taken at which a program loses little, and none if it loses more at each.
"""

LOSS = 0.03
"""The part of the time of all contractions that may be lost for fewer kernels."""

FEW = 4
"""Terms up to which sums of products of elements are written out."""

GROWTH = 3
"""How many times larger than the operands a result is whose sums are written out: the operands are
read again for each of its elements, and so is what XLA fuses with them."""

WRITTEN_OUT = 1 << 12
"""Elements from which sums are written out; XLA computes smaller products in next to no time."""


@dataclass(frozen=True, slots=True)
class FormCost:
    """What one form of a contraction takes: seconds a run, and kernels that XLA compiles."""

    seconds: float
    kernels: int = 0

    def __add__(self, other: FormCost) -> FormCost:
        return FormCost(self.seconds + other.seconds, self.kernels + other.kernels)

    def worth(self, kernel: float) -> float:
        """The seconds, each kernel counted as so many."""
        return self.seconds + self.kernels * kernel


@dataclass(frozen=True, slots=True)
class MatrixAxes:
    """An operand of a batched matrix product; an axis that it lacks is -1."""

    slot: int
    contract: int
    free: int
    meta: TensorMeta

    @property
    def contracted_first(self) -> bool:
        return self.contract < self.free

    @property
    def size(self) -> int:
        return math.prod(known_shape(self.meta))

    @property
    def inner(self) -> int:
        return known_shape(self.meta)[self.contract]

    @property
    def extent(self) -> int:
        return known_shape(self.meta)[self.free] if self.free >= 0 else 1


FormWriter = Callable[[ExecInstruction, ops.DotGeneral, MatrixAxes, MatrixAxes], tuple[int, ...]]
"""Writes a contraction in one of the real forms; returns the slots of the result."""


@dataclass(frozen=True)
class RealContractions(Pass):
    """Computes each complex `DotGeneral` as real ones where that is faster.

    XLA's complex product on the CPU takes two to four times as long as a real one of the same
    arithmetic. The left operand is stored as parts, `[m,k]` as `[m,2k]`; each number of the right
    one becomes a block of four, `[k,n]` as `[2k,2n]`; the result is stored as parts, `[m,2n]`, also
    for the next contraction. The operands are exchanged if that is cheaper. Large products become
    three real ones of the size of the complex one, and a product of a matrix and a vector becomes a
    sum over products of elements. So does a large product of few terms, whose sums are written out:
    one kernel computes it without an array on its way. A contraction stays as it is if that costs
    least, if it is not a batched matrix product as `DotDecomposer` writes them, or if it contracts
    an axis of one number, of which XLA makes an elementwise product.

    XLA calls a library for a complex product, but compiles the kernels of a real form. So a form
    has to gain that time in the first number of `RUNS` at which the program loses little.
    """

    costs: DeviceCosts = CPU

    looks_for = (ops.DotGeneral,)
    needs = Needs.CONSTANT_EXTENTS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with real contractions; its inputs and outputs do not change."""
        if not any(dtype_kind(step.dtype) == "c" for step in program.steps_of(ops.DotGeneral)):
            return program
        kernel = self.costs.kernel
        fastest = _RealForms(program, self.costs, kernel)
        result = fastest.run()
        for runs in RUNS:
            frugal = _RealForms(program, self.costs, kernel + self.costs.compiling / runs)
            smaller = frugal.run()
            if frugal.spent.worth(kernel) <= (1 + LOSS) * fastest.spent.worth(kernel):
                return smaller
        return result


class _RealForms:
    """The rule of one run.

    Attributes:
        inputs: inputs of the program, and values that only move their elements.
        parts: the slot of the parts of a value of the old program.
        joined: the slot of a value that was stored as parts and has been joined.
        apart: values that are stored as parts only.
        kernel: seconds that each kernel of a form counts as.
        spent: what all contractions take.
        types: the type of each value of the old program.
    """

    def __init__(self, program: ExecProgram, costs: DeviceCosts, kernel: float) -> None:
        self.costs = costs
        self.inputs = set(program.input_slots)
        self.outputs = program.output_slots
        self.rewriter = Rewriter(program)
        self.parts: dict[int, int] = {}
        self.joined: dict[int, int] = {}
        self.apart: set[int] = set()
        self.types = program.slot_metas()
        self.kernel = kernel
        self.spent = FormCost(0.0)

    def run(self) -> ExecProgram:
        return self.rewriter.run(self.rule, self.results)

    def results(self) -> list[int]:
        return [self._whole(slot) for slot in self.outputs]

    def rule(self, step: ExecInstruction, now: tuple[int, ...]) -> tuple[int, ...] | None:
        """The instruction, on complex values or on their parts."""
        op = step.op
        if isinstance(op, ops.DotGeneral):
            written = self._contracted(step, op)
            if written is not None:
                return written
        if op.componentwise and not self.apart.isdisjoint(step.input_slots):
            of_parts = op.trailing(2)
            if of_parts is not None and all(self._is_complex(slot) for slot in step.input_slots):
                operands = [self._parts(slot) for slot in step.input_slots]
                return self._stored_as_parts(step, self._add(of_parts, *operands))
        if op.moves and not op.repeats and self.inputs.issuperset(step.input_slots):
            self.inputs.update(step.output_slots)  # XLA reads the input itself
        whole = tuple([self._whole(slot) for slot in step.input_slots])
        return None if whole == now else self.rewriter.emit_all(op, *whole)

    def _stored_as_parts(self, step: ExecInstruction, parts: int) -> tuple[int, ...]:
        """Record that the result of `step` is stored as `parts` only."""
        (slot,) = step.output_slots
        self.parts[slot] = parts
        self.apart.add(slot)
        return ()

    def _contracted(self, step: ExecInstruction, dot: ops.DotGeneral) -> tuple[int, ...] | None:
        """The result as a real contraction; None if the complex one is faster."""
        sides = _sides(step, self.types)
        if sides is None:
            return None
        left, right = sides
        forms = self._forms(step, left, right)
        choice = min(forms, key=lambda form: forms[form].worth(self.kernel))
        as_it_is = forms[None].worth(self.kernel)
        if forms[choice].worth(self.kernel) > self.costs.worthwhile * as_it_is:
            choice = None
        self.spent += forms[choice]
        return None if choice is None else choice(step, dot, left, right)

    def _forms(
        self, step: ExecInstruction, left: MatrixAxes, right: MatrixAxes
    ) -> dict[FormWriter | None, FormCost]:
        """What each form takes; None is the contraction as it is."""
        costs = self.costs
        numbers = math.prod(known_shape(step.output_metas[0]))
        both = left.free >= 0 and right.free >= 0
        parts = 2 * numbers * costs.scale(step.dtype)
        moved = FormCost(parts * costs.move, 1) if both else FormCost(0.0)
        is_output = step.output_slots[0] in self.outputs
        joined = FormCost(parts * costs.write, 1) if is_output else FormCost(0.0)
        forms: dict[FormWriter | None, FormCost] = {
            None: self._native(left, right),
            self._straight: self._real(numbers, left, right) + joined,
            self._exchanged: self._real(numbers, right, left) + moved + joined,
            self._in_three: self._three(numbers, left, right),
        }
        if not both:
            forms[self._reduced] = self._summed(left, right)
        elif (
            left.inner <= FEW
            and numbers >= WRITTEN_OUT
            and numbers >= GROWTH * (left.size + right.size)
        ):
            forms[self._written_out] = FormCost(parts * costs.write + costs.kernel)
        return forms

    def _native(self, left: MatrixAxes, right: MatrixAxes) -> FormCost:
        costs, inner = self.costs, left.inner
        if left.free < 0 or right.free < 0:  # one pass over the matrix
            batch = left.size // (left.extent * inner)
            seconds = max(left.size, right.size) * costs.reduce + (batch - 1) * costs.matrix
            seconds += costs.kernel
        else:
            seconds = left.size * right.extent * costs.complex_multiply
            seconds *= costs.edges(left.extent, right.extent, inner)
        joined = [side for side in (left, right) if side.slot in self.apart]
        seconds += sum(2 * side.size for side in joined) * costs.write
        return FormCost(seconds * costs.scale(left.meta.dtype), len(joined))

    def _three(self, numbers: int, left: MatrixAxes, right: MatrixAxes) -> FormCost:
        """Three products of the size of the complex one."""
        costs, inner = self.costs, left.inner
        seconds = 3 * numbers * inner * costs.multiply
        seconds *= costs.edges(left.extent, right.extent, inner)
        seconds += 5 * numbers * self._written(numbers)
        seconds += 3 * (left.size * self._part(left) + right.size * self._part(right))
        return FormCost(seconds * costs.scale(left.meta.dtype), 8)

    def _real(self, numbers: int, lead: MatrixAxes, trail: MatrixAxes) -> FormCost:
        """A real product of twice the size, with `lead` on the left."""
        costs, inner = self.costs, lead.inner
        seconds = 4 * numbers * inner * costs.multiply
        seconds *= costs.edges(lead.extent, 2 * trail.extent, 2 * inner)
        seconds += costs.matrix * (numbers // (lead.extent * trail.extent) - 1)
        seconds += 4 * trail.size * self._part(trail)
        if lead.contracted_first:
            seconds += 2 * lead.size * costs.move
        elif lead.slot not in self.parts:
            seconds += 2 * lead.size * self._part(lead)
        moved = lead.contracted_first or lead.slot not in self.parts
        return FormCost(seconds * costs.scale(lead.meta.dtype), 2 if moved else 1)

    def _summed(self, left: MatrixAxes, right: MatrixAxes) -> FormCost:
        """A sum over products of elements; XLA makes one kernel of it and of what is next to it."""
        costs = self.costs
        seconds = max(left.size, right.size) * costs.reduce * costs.scale(left.meta.dtype)
        return FormCost(seconds + costs.kernel)

    def _part(self, side: MatrixAxes) -> float:
        loaded = side.slot in self.inputs and side.size > CACHED
        return self.costs.load if loaded else self._written(4 * side.size)

    def _written(self, numbers: int) -> float:
        return self.costs.write if numbers < SCATTERED else self.costs.load

    def _straight(
        self, step: ExecInstruction, dot: ops.DotGeneral, left: MatrixAxes, right: MatrixAxes
    ) -> tuple[int, ...]:
        shape = known_shape(step.output_metas[0])
        return self._stored_as_parts(step, self._product(left, right, len(dot.lhs_batch), shape))

    def _exchanged(
        self, step: ExecInstruction, dot: ops.DotGeneral, left: MatrixAxes, right: MatrixAxes
    ) -> tuple[int, ...]:
        shape, batch = known_shape(step.output_metas[0]), len(dot.lhs_batch)
        product = self._product(right, left, batch, (*shape[:batch], *shape[batch:][::-1]))
        if len(shape) == batch + 2:
            product = self._add(
                ops.Transpose((*range(batch), batch + 1, batch, batch + 2)), product
            )
        return self._stored_as_parts(step, product)

    def _in_three(
        self, step: ExecInstruction, dot: ops.DotGeneral, left: MatrixAxes, right: MatrixAxes
    ) -> tuple[int, ...]:
        """(a + bi)(c + di) from ac, bd and (a + b)(c + d)."""
        a, b = self._pair(left.slot)
        c, d = self._pair(right.slot)
        ac, bd = self._add(dot, a, c), self._add(dot, b, d)
        all_four = self._add(dot, self._add(ops.Add(), a, b), self._add(ops.Add(), c, d))
        im = self._add(ops.Sub(), self._add(ops.Sub(), all_four, ac), bd)
        return (self._add(ops.Complex(), self._add(ops.Sub(), ac, bd), im),)

    def _reduced(
        self, step: ExecInstruction, dot: ops.DotGeneral, left: MatrixAxes, right: MatrixAxes
    ) -> tuple[int, ...]:
        """The sum over products of elements; one of the sides has no free axis."""
        matrix, vector = (right, left) if left.free < 0 else (left, right)
        batch = tuple(range(len(dot.lhs_batch)))
        along = ops.BroadcastInDim(known_shape(matrix.meta), (*batch, matrix.contract))
        spread = self._add(along, self._whole(vector.slot))
        products = self._add(ops.Mul(), self._whole(matrix.slot), spread)
        return (self._add(ops.ReduceSum((matrix.contract,)), products),)

    def _written_out(
        self, step: ExecInstruction, dot: ops.DotGeneral, left: MatrixAxes, right: MatrixAxes
    ) -> tuple[int, ...]:
        """The sum of one product of elements for each term."""
        shape, batch = known_shape(step.output_metas[0]), len(dot.lhs_batch)
        along = tuple(range(batch))
        total: int | None = None
        for term in range(left.inner):
            spread = [
                self._add(ops.BroadcastInDim(shape, (*along, axis)), self._term(side, term))
                for side, axis in ((left, batch), (right, batch + 1))
            ]
            product = self._add(ops.Mul(), *spread)
            total = product if total is None else self._add(ops.Add(), total, product)
        assert total is not None
        return (total,)

    def _term(self, side: MatrixAxes, term: int) -> int:
        """The part of an operand that one term of all sums reads."""
        shape = list(known_shape(side.meta))
        start, limit = [0] * len(shape), list(shape)
        start[side.contract], limit[side.contract] = term, term + 1
        cut = ops.Slice(tuple(start), tuple(limit), (1,) * len(start))
        part = self._add(cut, self._whole(side.slot))
        del shape[side.contract]
        return self._add(ops.Reshape(tuple(shape)), part)

    def _pair(self, slot: int) -> tuple[int, int]:
        whole = self._whole(slot)
        return self._add(ops.Real(), whole), self._add(ops.Imag(), whole)

    def _product(
        self, lead: MatrixAxes, trail: MatrixAxes, batch: int, shape: Sequence[int]
    ) -> int:
        """The result, stored as parts, of shape `[*shape, 2]`, the free axis of `lead` first."""
        rows = self._parts(lead.slot)
        if lead.contracted_first:
            rows = self._add(ops.Transpose((*range(batch), batch + 1, batch, batch + 2)), rows)
        sizes = known_shape(self.rewriter.ctx.meta(rows))
        rows = self._add(ops.Reshape((*sizes[:-2], 2 * sizes[-2])), rows)
        factor = Factor(trail.contract, trail.free)
        parts = self.parts.get(trail.slot)
        block = self._add(factor, self._whole(trail.slot) if parts is None else parts)
        along = tuple(range(batch))
        dot = ops.DotGeneral((len(sizes) - 2,), (trail.contract,), along, along)
        return self._add(ops.Reshape((*shape, 2)), self._add(dot, rows, block))

    def _parts(self, slot: int) -> int:
        if slot not in self.parts:
            self.parts[slot] = self._add(Split(), self._whole(slot))
        return self.parts[slot]

    def _whole(self, slot: int) -> int:
        if slot in self.apart:
            self.joined[slot] = self._add(Join(), self.parts[slot])
            self.apart.remove(slot)
        return self.joined[slot] if slot in self.joined else self.rewriter.now((slot,))[0]

    def _is_complex(self, slot: int) -> bool:
        meta = self.types[slot]
        return meta is not None and dtype_kind(meta.dtype) == "c"

    def _add(self, op: ExecOp, *operands: int) -> int:
        return self.rewriter.emit_all(op, *operands)[0]


def _sides(
    step: ExecInstruction, types: Sequence[TensorMeta | None]
) -> tuple[MatrixAxes, MatrixAxes] | None:
    """The operands of a complex product that adds up numbers; None for other contractions."""
    dot = step.op
    assert isinstance(dot, ops.DotGeneral)
    lhs, rhs = step.input_slots
    left = _side(lhs, types[lhs], dot.lhs_batch, dot.lhs_contract)
    right = _side(rhs, types[rhs], dot.rhs_batch, dot.rhs_contract)
    if (
        dtype_kind(step.dtype) != "c"
        or left is None
        or right is None
        or not left.size * right.extent
    ):
        return None
    return (left, right) if left.inner > 1 else None


def _side(
    slot: int, meta: TensorMeta | None, batch: tuple[int, ...], contract: tuple[int, ...]
) -> MatrixAxes | None:
    """The operand as a matrix; None unless batch axes lead and one axis is contracted."""
    assert meta is not None
    free = [axis for axis in range(meta.rank) if axis not in batch and axis not in contract]
    if batch != tuple(range(len(batch))) or len(contract) != 1 or len(free) > 1:
        return None
    return MatrixAxes(slot, contract[0], free[0] if free else -1, meta)


# Quotients by real numbers.

FEWEST_QUOTIENTS = 1 << 8
"""Quotients below which they take next to no time."""
STEPS = 8
"""Ops that only move a divisor, or conjugate it, behind which it is looked for."""


@dataclass(frozen=True)
class RealDivisors(Pass):
    """Divides complex numbers by real ones part by part, where those were made complex for it.

    A norm is such a divisor. XLA divides by any complex number in twice the time.
    """

    looks_for = (ops.Div,)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with `DivideByReal` in place of such quotients."""
        rewriter = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> tuple[int, ...] | None:
            if not isinstance(step.op, ops.Div) or dtype_kind(step.dtype) != "c":
                return None
            if step.output_metas[0].known_size < FEWEST_QUOTIENTS:
                return None
            divisor = _scaled_inverse(rewriter, operands[1])
            if divisor is None:
                return None
            scale, inverse, conjugated = divisor
            return rewriter.emit_all(DivideByReal(conjugated), operands[0], scale, inverse)

        return rewriter.run(rule)


def _scaled_inverse(at: Rewriter, slot: int) -> tuple[int, int, bool] | None:
    """A scale, and the inverse of the real number that a complex one is made of, times the scale.

    Both are moved as that is; the last result says whether it is conjugated. None if it is made of
    something else. The scale is 1 but where the inverse would not be a normal number.
    """
    moves: list[ExecOp] = []
    conjugated = False
    for _ in range(STEPS):
        producer = at.producer(slot)
        if producer is None or len(producer[1]) != 1:
            return None
        op, (source,) = producer
        if isinstance(op, ops.Convert):
            meta = at.ctx.meta(source)
            if meta.dtype != part_dtype(at.ctx.meta(slot).dtype):
                return None
            one, limit = ops.full(at, 1, meta), float(np.finfo(meta.dtype).max) / 16
            large = at.emit(ops.Compare("GT"), at.emit(ops.ABS, source), ops.full(at, limit, meta))
            scale = at.emit(ops.SELECT, large, ops.full(at, 1 / 16, meta), one)
            inverse = at.emit(ops.DIV, one, at.emit(ops.MUL, source, scale))
            (inverse,) = at.emit_all(Fuse(), inverse)
            for move in reversed(moves):
                (scale,), (inverse,) = at.emit_all(move, scale), at.emit_all(move, inverse)
            return scale, inverse, conjugated
        if isinstance(op, ops.Conj):
            conjugated = not conjugated
        elif op.moves or isinstance(op, ops.BroadcastInDim):
            moves.append(op)
        else:
            return None
        slot = source
    return None
