"""Passes on contractions: fold transposes into them, sort their axes, sum products over a batch."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from tenferro import ops
from tenferro.compiler.passes import Needs, Pass
from tenferro.ir import ExecInstruction, ExecProgram, Rewriter, dtype_kind

__all__ = ["DotDimensionSorter", "SummedProducts", "TransposeFolding"]


# Transposes around a contraction, folded into its dimension numbers.


@dataclass(frozen=True)
class TransposeFolding(Pass):
    """Lets a `DotGeneral` read the source of a `Transpose` instead of its result.

    Matched axes may lie anywhere. Free axes appear in the result in the order in which they lie in
    the operand. So a transpose that reorders free axes is folded only where every reader of the
    result is a transpose, into which the reordering is merged. A transpose of a contraction that
    has no other reader, and that only exchanges the operands' axes or reorders batch axes, becomes
    a contraction. Extents keep their guarantees.
    """

    looks_for = (ops.Transpose,)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with fewer transposes; those that became useless are left to `DeadCode`."""
        rewriter = Rewriter(program)
        reads = program.read_counts()
        by_transposes = Counter(step.input_slots[0] for step in program.steps_of(ops.Transpose))
        transposed = {slot for slot, count in by_transposes.items() if count == reads[slot]}

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> int | None:
            value = None
            if isinstance(step.op, ops.DotGeneral):
                (slot,) = step.output_slots
                value = _fold_operands(rewriter, step.op, operands, slot in transposed)
                maker = None if value is None else rewriter.producer(value)
                if maker is not None and isinstance(maker[0], ops.Transpose):
                    reads[maker[1][0]] = reads.get(slot, 0)
            elif isinstance(step.op, ops.Transpose):
                value = _fold_result(rewriter, step.op, operands[0], reads)
            return value

        return rewriter.run(rule)


def _fold_operands(
    at: Rewriter, dot: ops.DotGeneral, operands: tuple[int, ...], any_order: bool
) -> int | None:
    """The same value from operands that are not transposed, or None.

    With `any_order` it may be a transpose of the contraction.
    """
    lhs, rhs = operands
    lhs_rank, rhs_rank = at.ctx.meta(lhs).rank, at.ctx.meta(rhs).rank
    left = _untransposed(at, lhs, dot.lhs_free(lhs_rank), any_order)
    right = _untransposed(at, rhs, dot.rhs_free(rhs_rank), any_order)
    if left is None and right is None:
        return None
    lhs, lhs_axes = left or (lhs, tuple(range(lhs_rank)))
    rhs, rhs_axes = right or (rhs, tuple(range(rhs_rank)))
    folded = ops.DotGeneral(
        tuple(lhs_axes[axis] for axis in dot.lhs_contract),
        tuple(rhs_axes[axis] for axis in dot.rhs_contract),
        tuple(lhs_axes[axis] for axis in dot.lhs_batch),
        tuple(rhs_axes[axis] for axis in dot.rhs_batch),
    )
    n_batch = len(dot.lhs_batch)
    from_lhs = _ranks([lhs_axes[axis] for axis in dot.lhs_free(lhs_rank)])
    from_rhs = _ranks([rhs_axes[axis] for axis in dot.rhs_free(rhs_rank)])
    order = (
        *range(n_batch),
        *(n_batch + axis for axis in from_lhs),
        *(n_batch + len(from_lhs) + axis for axis in from_rhs),
    )
    (value,) = at.emit_all(folded, lhs, rhs)
    if order == tuple(range(len(order))):
        return value
    return at.emit_all(ops.Transpose(order), value)[0]


def _untransposed(
    at: Rewriter, operand: int, free: Sequence[int], any_order: bool
) -> tuple[int, tuple[int, ...]] | None:
    """The value that `operand` is a transpose of, and the permutation; None if it is not folded."""
    producer = at.producer(operand)
    if producer is None or not isinstance(producer[0], ops.Transpose):
        return None
    perm = producer[0].perm
    lie = [perm[axis] for axis in free]
    return (producer[1][0], perm) if any_order or lie == sorted(lie) else None


def _ranks(axes: Sequence[int]) -> list[int]:
    place = {axis: position for position, axis in enumerate(sorted(axes))}
    return [place[axis] for axis in axes]


def _fold_result(
    at: Rewriter, op: ops.Transpose, operand: int, reads: dict[int, int]
) -> int | None:
    """A transposed contraction as a contraction, or with fewer transposes; None if neither."""
    perm, source = op.perm, operand
    read_once = reads.get(operand) == 1
    producer = at.producer(source)
    if producer is not None and isinstance(producer[0], ops.Transpose):
        perm, source = tuple(producer[0].perm[axis] for axis in perm), producer[1][0]
        producer = at.producer(source)
    if perm == tuple(range(len(perm))):
        return source
    read_once = read_once and reads.get(source) == 1
    if producer is not None and isinstance(producer[0], ops.DotGeneral) and read_once:
        value = _absorbed(at, producer[0], producer[1], perm)
        if value is not None:
            return value
    return None if source == operand else at.emit_all(ops.Transpose(perm), source)[0]


def _absorbed(
    at: Rewriter, dot: ops.DotGeneral, operands: tuple[int, ...], perm: tuple[int, ...]
) -> int | None:
    """The contraction whose result is that of `dot` transposed by `perm`, or None."""
    lhs, rhs = operands
    n_batch = len(dot.lhs_batch)
    middle = n_batch + len(dot.lhs_free(at.ctx.meta(lhs).rank))
    batch, free = perm[:n_batch], perm[n_batch:]
    from_lhs, from_rhs = tuple(range(n_batch, middle)), tuple(range(middle, len(perm)))
    if sorted(batch) != list(range(n_batch)):
        return None
    lhs_batch = tuple(dot.lhs_batch[axis] for axis in batch)
    rhs_batch = tuple(dot.rhs_batch[axis] for axis in batch)
    if free == from_lhs + from_rhs:
        same = ops.DotGeneral(dot.lhs_contract, dot.rhs_contract, lhs_batch, rhs_batch)
        return at.emit_all(same, lhs, rhs)[0]
    if free == from_rhs + from_lhs:
        exchanged = ops.DotGeneral(dot.rhs_contract, dot.lhs_contract, rhs_batch, lhs_batch)
        return at.emit_all(exchanged, rhs, lhs)[0]
    return None


# Contracted axes in the order that needs the fewest transposes.


@dataclass(frozen=True)
class DotDimensionSorter(Pass):
    """Sorts the contracted pairs of each `DotGeneral` by the axis of lhs, or by that of rhs.

    The sum does not depend on the order in which the pairs are listed, but the decomposer can merge
    contracted axes without a transpose only where they are listed as they lie. lhs decides, unless
    only the order of rhs makes a run. Works for any extents.
    """

    looks_for = (ops.DotGeneral,)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with the pairs sorted."""
        dots = set(program.ops_of(ops.DotGeneral))
        in_order = {dot: better for dot in dots if (better := _sorted(dot)) is not None}
        if not in_order:
            return program
        rewriter = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> tuple[int, ...] | None:
            dot = in_order.get(step.op) if isinstance(step.op, ops.DotGeneral) else None
            return None if dot is None else rewriter.emit_all(dot, *operands)

        return rewriter.run(rule)


def _sorted(dot: ops.DotGeneral) -> ops.DotGeneral | None:
    """The contraction with its pairs in order; None if they are."""
    if len(dot.lhs_contract) < 2:
        return None
    pairs = list(zip(dot.lhs_contract, dot.rhs_contract, strict=True))
    by_lhs = sorted(pairs)
    by_rhs = sorted(pairs, key=lambda pair: pair[1])
    chosen = by_rhs if _runs(by_rhs) > _runs(by_lhs) else by_lhs
    if chosen == pairs:
        return None
    return ops.DotGeneral(
        tuple(left for left, _ in chosen),
        tuple(right for _, right in chosen),
        dot.lhs_batch,
        dot.rhs_batch,
    )


def _runs(pairs: Sequence[tuple[int, int]]) -> int:
    """The number of operands whose listed axes follow one another."""
    return sum(
        all(b == a + 1 for a, b in itertools.pairwise(axes))
        for axes in ([left for left, _ in pairs], [right for _, right in pairs])
    )


# The sum of products over a batch is a product, and so is that of products of elements.


@dataclass(frozen=True)
class SummedProducts(Pass):
    """Contracts where products are summed: over batch axes of a `DotGeneral`, or of elements.

    It does so for a sum of several such products, and for products that are zero in entries of the
    batch that do not count. Then both operands are zero there. This arises from the gradient of
    branches in a batch: the cotangent of a weight is a product for each entry that takes the
    branch. A selection is moved to the operands only if these together are not larger than the
    products.

    A product of elements becomes a contraction if one factor is repeated along axes that remain,
    as in the gradient of an outer product: the repeated numbers are then read once. The other
    factor must be a matrix as it lies, or one for each entry of a batch, and must be stored in any
    case, since a sum can compute elements while it adds them. Complex products are left alone.
    """

    looks_for = (ops.ReduceSum,)
    keeps_more = True
    needs = Needs.EXACT_EXTENTS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with such contractions; what they no longer read is left to `DeadCode`."""
        if not program.has_op((ops.DotGeneral, ops.Mul)):
            return program
        at, reads = Rewriter(program), program.read_counts()

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> int | None:
            if not isinstance(step.op, ops.ReduceSum):
                return None
            axes = step.op.axes
            total: int | None = None
            for product in _summed(at, reads, operands[0], axes):
                match product:
                    case _Product():
                        value = _contracted(at, product, axes)
                    case _Elements():
                        value = product.emit(at)
                total = value if total is None else at.emit(ops.ADD, total, value)
            return total

        return at.run(rule)


class _Product(NamedTuple):
    """A contraction whose result is summed.

    Attributes:
        dot: the contraction.
        operands: its operands.
        masks: bools for the elements of the result, of which it is zero where one is not as it is
            written here.
    """

    dot: ops.DotGeneral
    operands: tuple[int, ...]
    masks: tuple[tuple[int, bool], ...]


class _Factor(NamedTuple):
    """A factor of a product of elements.

    Attributes:
        slot: the value, or what it is a transpose of.
        repeated: axes of the product along which it is repeated, and that are left out.
        axes: the axes of the product that are those of the value, in its order.
        free: those of `axes` along which the other factor is repeated.
        is_stored: whether it is stored, and not computed where it is read.
    """

    slot: int
    repeated: frozenset[int]
    axes: tuple[int, ...]
    free: tuple[int, ...]
    is_stored: bool

    def is_matrix(self, summed: Sequence[int]) -> bool:
        """Whether, as it lies, the entries of a batch lead, and summed axes lie together after."""
        kinds = [0 if axis in self.free else 1 if axis in summed else -1 for axis in self.axes]
        batch = kinds.count(-1)
        rest = kinds[batch:]
        return -1 not in rest and rest in (sorted(rest), sorted(rest, reverse=True))

    def emit(self, at: Rewriter) -> int:
        """The value without the axes along which it is repeated."""
        return ops.without_axes(at, self.slot, self.repeated)


class _Elements(NamedTuple):
    """A product of elements that is summed.

    Attributes:
        first, second: its factors; the first one has free axes.
        summed: the axes over which it is summed.
    """

    first: _Factor
    second: _Factor
    summed: tuple[int, ...]

    def emit(self, at: Rewriter) -> int:
        """The contraction, its axes in the order of those of the product."""
        left, right = self.first.axes, self.second.axes
        terms = [axis for axis in left if axis in self.summed]
        batch = [axis for axis in left if axis in right and axis not in terms]
        dot = ops.DotGeneral(
            *(tuple(map(of.index, group)) for group in (terms, batch) for of in (left, right))
        )
        value = at.emit(dot, self.first.emit(at), self.second.emit(at))
        made = (*batch, *self.first.free, *self.second.free)
        return at.emit(ops.Transpose(tuple(map(made.index, sorted(made)))), value)


ODD_COLUMNS = range(3, 8)
"""Columns of a matrix of 32-bit numbers for which a sum over its rows takes 0.7 to 1 of a product;
for 2 and for 8 the product takes 0.5 and 0.65 of the sum."""


def _of_elements(
    at: Rewriter, reads: Mapping[int, int], operands: Sequence[int], summed: Sequence[int]
) -> _Elements | None:
    """A product of elements as one that is contracted; None if it is to be summed as it is."""
    meta = at.ctx.meta(operands[0])
    if dtype_kind(meta.dtype) != "f" or meta.dtype.itemsize < 4 or meta.dims is None:
        return None
    gone = [frozenset(ops.repeated_axes(at, slot)) for slot in operands]
    if not any(gone) or gone[0] & gone[1] or (gone[0] | gone[1]) & set(summed):
        return None
    lhs, rhs = (
        _factor(at, reads, slot, own, other)
        for slot, own, other in zip(operands, gone, reversed(gone), strict=True)
    )
    if lhs.free and rhs.free:
        return _Elements(lhs, rhs, tuple(summed))
    large, small = (lhs, rhs) if lhs.free else (rhs, lhs)
    fits = large.is_stored and large.is_matrix(summed)
    if meta.dtype.itemsize < 8 and large.axes[-1:] == large.free[-1:]:
        columns = [meta.dims[axis] for axis in large.free]
        known = [size for size in columns if isinstance(size, int)]
        fits = fits and (len(known) < len(columns) or prod(known) not in ODD_COLUMNS)
    return _Elements(large, small, tuple(summed)) if fits else None


def _factor(
    at: Rewriter,
    reads: Mapping[int, int],
    slot: int,
    repeated: frozenset[int],
    free: frozenset[int],
) -> _Factor:
    axes = [axis for axis in range(at.ctx.meta(slot).rank) if axis not in repeated]
    maker, is_stored = at.producer(slot), reads.get(slot, 2) > 1
    while maker is not None and isinstance(maker[0], ops.Transpose):
        perm, (slot,) = maker[0].perm, maker[1]
        axes = [axes[perm.index(axis)] for axis in range(len(perm))]
        maker, is_stored = at.producer(slot), is_stored or reads.get(slot, 2) > 1
    is_stored = is_stored or maker is None or not maker[0].inlined
    own_free = tuple([axis for axis in axes if axis in free])
    return _Factor(slot, repeated, tuple(axes), own_free, is_stored)


def _summed(
    at: Rewriter, reads: Mapping[int, int], slot: int, axes: Sequence[int]
) -> list[_Product | _Elements]:
    """The products whose sum a value is, if all can be contracted over the axes; else none."""
    products: list[_Product | _Elements] = []
    stack: list[tuple[int, tuple[tuple[int, bool], ...]]] = [(slot, ())]
    while stack:
        slot, masks = stack.pop()
        producer = at.producer(slot)
        if producer is None or reads.get(slot) != 1:
            return []
        op, operands = producer
        if isinstance(op, ops.Add):
            stack += [(operand, masks) for operand in reversed(operands)]
        elif isinstance(op, ops.Select):
            mask, *choices = operands
            zero = [_is_zero(at, choice) for choice in choices]
            if True not in zero:
                return []
            stack.append((choices[zero[0]], (*masks, (mask, not zero[0]))))
        elif isinstance(op, ops.DotGeneral) and max(axes, default=0) < len(op.lhs_batch):
            product = _Product(op, operands, masks)
            if masks and not _may_be_masked(at, product, slot):
                return []
            products.append(product)
        elif isinstance(op, ops.Mul) and not masks:
            elements = _of_elements(at, reads, operands, axes)
            if elements is None:
                return []
            products.append(elements)
        else:
            return []
    return products


def _is_zero(at: Rewriter, slot: int) -> bool:
    number = ops.uniform(at, slot)
    return number is not None and bool(number == 0)


def _may_be_masked(at: Rewriter, product: _Product, slot: int) -> bool:
    """Whether each mask is one bool for each entry of the batch, and the operands are small."""
    sizes = [at.ctx.meta(each).static_shape for each in (*product.operands, slot)]
    if None in sizes:
        return False
    lhs, rhs, result = [prod(shape or ()) for shape in sizes]
    free = range(len(product.dot.lhs_batch), at.ctx.meta(slot).rank)
    return lhs + rhs <= result and all(
        ops.repeated_axes(at, mask).issuperset(free) for mask, _ in product.masks
    )


def _contracted(at: Rewriter, product: _Product, axes: Sequence[int]) -> int:
    """The product that is contracted over the axes too; both operands are zero where it is."""
    dot, operands = product.dot, list(product.operands)
    for mask, expected in product.masks:
        entries = ops.without_axes(at, mask, range(len(dot.lhs_batch), at.ctx.meta(mask).rank))
        for side, batch in enumerate((dot.lhs_batch, dot.rhs_batch)):
            value, order = operands[side], sorted(range(len(batch)), key=batch.__getitem__)
            bools = at.emit(ops.Transpose(tuple(order)), entries)
            shape = at.ctx.meta(value).exact_shape("select")
            bools = at.emit(ops.BroadcastInDim(shape, tuple(sorted(batch))), bools)
            zero = ops.full_like(at, 0, value)
            choices = (value, zero) if expected else (zero, value)
            operands[side] = at.emit(ops.SELECT, bools, *choices)
    rest = [place for place in range(len(dot.lhs_batch)) if place not in axes]
    over_batch = ops.DotGeneral(
        (*(dot.lhs_batch[place] for place in axes), *dot.lhs_contract),
        (*(dot.rhs_batch[place] for place in axes), *dot.rhs_contract),
        tuple([dot.lhs_batch[place] for place in rest]),
        tuple([dot.rhs_batch[place] for place in rest]),
    )
    return at.emit(over_batch, *operands)
