"""Summed products: the sum of products over a batch is a product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from tenferro.compiler.canonical.repetitions import Repetitions
from tenferro.compiler.passing import Needs, Pass
from tenferro.exec_ir import ExecInstruction, ExecProgram, Rewriter
from tenferro.ops import (
    ADD,
    SELECT,
    Add,
    BroadcastInDim,
    DotGeneral,
    ReduceSum,
    Select,
    Transpose,
    full_like,
    uniform,
)


@dataclass(frozen=True)
class SummedProducts(Pass):
    """Contracts over the batch axes of a `DotGeneral` where its result is summed over them.

    It does so for a sum of several such products, and for products that are zero in entries of the
    batch that do not count. Then both operands are zero there. This arises from the gradient of
    branches in a batch: the cotangent of a weight is a product for each entry that takes the
    branch. A selection is moved to the operands only if these together are not larger than the
    products.
    """

    name = "summed_products"
    keeps_more = True
    needs = Needs.EXACT_EXTENTS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with such contractions; what they no longer read is left to `DeadCode`."""
        if not (program.has_op(ReduceSum) and program.has_op(DotGeneral)):
            return program
        at = Rewriter(program)
        products = _Products(at, program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> int | None:
            if not isinstance(step.op, ReduceSum):
                return None
            found = products.summed(operands[0], step.op.axes)
            if not found:
                return None
            total = products.contracted(found[0], step.op.axes)
            for each in found[1:]:
                total = at.emit(ADD, total, products.contracted(each, step.op.axes))
            return total

        return at.run(rule)


class _Product(NamedTuple):
    """A contraction whose result is summed.

    Attributes:
        dot: the contraction.
        operands: its operands.
        mask: a bool for each element of the result, by which it is selected; None if all are.
        taken: whether the elements are selected where the mask is true.
    """

    dot: DotGeneral
    operands: tuple[int, ...]
    mask: int | None = None
    taken: bool = True


class _Products:
    """The sums of products in a program that is rewritten."""

    def __init__(self, at: Rewriter, program: ExecProgram) -> None:
        self._at = at
        self._reads = program.read_counts()
        self._repetitions = Repetitions(at)

    def summed(self, slot: int, axes: Sequence[int]) -> list[_Product]:
        """The products whose sum a value is, if all can be contracted over the axes; else none."""
        found: list[_Product] = []
        stack = [slot]
        while stack:
            slot = stack.pop()
            producer = self._at.producer(slot)
            if producer is None or self._reads.get(slot) != 1:
                return []
            if isinstance(producer[0], Add):
                stack += reversed(producer[1])
                continue
            product = self._product(*producer)
            if product is None or max(axes, default=0) >= len(product.dot.lhs_batch):
                return []
            found.append(product)
        return found

    def _product(self, op: object, operands: tuple[int, ...]) -> _Product | None:
        """The product that an op gives, of which some entries may be zero; None if it is none."""
        if isinstance(op, DotGeneral):
            return _Product(op, operands)
        if not isinstance(op, Select):
            return None
        mask, *choices = operands
        for taken, (slot, other) in ((True, choices), (False, choices[::-1])):
            maker = self._at.producer(slot)
            if maker is None or not isinstance(maker[0], DotGeneral) or self._reads.get(slot) != 1:
                continue
            product = _Product(*maker, mask, taken)
            zero = uniform(self._at, other)
            if zero is not None and zero == 0 and self._is_masked_by_entry(product, slot):
                return product
        return None

    def _is_masked_by_entry(self, product: _Product, slot: int) -> bool:
        """Whether the mask is one bool for each entry of the batch, and the operands are small."""
        mask = product.mask
        shapes = [self._at.ctx.meta(each).static_shape for each in (slot, *product.operands)]
        result, *operands = [None if shape is None else prod(shape) for shape in shapes]
        if mask is None or result is None or None in operands:
            return False
        if sum(filter(None, operands)) > result:
            return False
        free = range(len(product.dot.lhs_batch), self._at.ctx.meta(mask).rank)
        return all(self._repetitions.along(mask, axis) for axis in free)

    def contracted(self, product: _Product, axes: Sequence[int]) -> int:
        """The product that is contracted over the axes too."""
        dot, (lhs, rhs) = product.dot, product.operands
        if product.mask is not None:
            free = range(len(dot.lhs_batch), self._at.ctx.meta(product.mask).rank)
            mask = self._repetitions.narrowed(product.mask, free)
            lhs = self._masked(mask, lhs, dot.lhs_batch, product.taken)
            rhs = self._masked(mask, rhs, dot.rhs_batch, product.taken)
        kept = [place for place in range(len(dot.lhs_batch)) if place not in axes]
        over_batch = DotGeneral(
            (*(dot.lhs_batch[place] for place in axes), *dot.lhs_contract),
            (*(dot.rhs_batch[place] for place in axes), *dot.rhs_contract),
            tuple([dot.lhs_batch[place] for place in kept]),
            tuple([dot.rhs_batch[place] for place in kept]),
        )
        return self._at.emit(over_batch, lhs, rhs)

    def _masked(self, mask: int, value: int, batch: Sequence[int], taken: bool) -> int:
        """An operand, zero in the entries that do not count."""
        at = self._at
        order = sorted(range(len(batch)), key=batch.__getitem__)
        mask = at.emit(Transpose(tuple(order)), mask)
        shape = at.ctx.meta(value).exact_shape("select")
        bools = at.emit(BroadcastInDim(shape, tuple(sorted(batch))), mask)
        zero = full_like(at, 0, value)
        return at.emit(SELECT, bools, *((value, zero) if taken else (zero, value)))
