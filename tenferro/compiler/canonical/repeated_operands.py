"""Operands and constants that repeat one entry: computed once, broadcast late."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple, cast

from tenferro.compiler.passes import Needs, Pass
from tenferro.ir import ExecInstruction, ExecProgram, Rewriter, TensorMeta
from tenferro.ops import (
    ADD,
    SELECT,
    Add,
    BroadcastInDim,
    DotGeneral,
    ReduceSum,
    Reshape,
    Select,
    StdTensorOp,
    Transpose,
    full_like,
    uniform,
)
from tenferro.ops.control_flow import ControlOp

__all__ = ["RepeatedOperands", "SummedProducts"]


# Along which axes the values of a program are only repeated.

DEEPEST = 64
"""Through how many ops one after another a value is followed to where it is repeated."""

Place = tuple[int, int]
"""A slot and an axis."""


class Repetitions:
    """Along which axes values are repeated, and the values without these axes.

    Attributes:
        rewriter: the program that is rewritten.
    """

    def __init__(self, rewriter: Rewriter) -> None:
        self.rewriter = rewriter
        self._depths: dict[Place, int | None] = {}
        self._narrowed: dict[Place, int] = {}

    def along(self, slot: int, axis: int) -> bool:
        """Whether a value is repeated along an axis."""
        return self._depth((slot, axis)) is not None

    def narrowed(self, slot: int, axes: Iterable[int]) -> int:
        """The value without axes along which it is repeated."""
        for axis in sorted(axes, reverse=True):
            slot = self._without(slot, axis)
        return slot

    def _depth(self, place: Place, limit: int = DEEPEST) -> int | None:
        """Through how many ops an axis is followed to where the value is repeated along it.

        None if it is not repeated, or that lies deeper than `limit`.
        """
        if limit < 0:
            return None
        if place not in self._depths:
            sources = self._sources(*place)
            depths = [self._depth(source, limit - 1) for source in sources or ()]
            known = [depth for depth in depths if depth is not None]
            found = sources is not None and len(known) == len(depths)
            depth = 1 + max(known, default=-1)
            self._depths[place] = depth if found and depth <= DEEPEST else None
        return self._depths[place]

    def _without(self, slot: int, axis: int) -> int:
        """A value that is repeated along an axis, without the axis."""
        place = slot, axis
        if place not in self._narrowed:
            producer = self.rewriter.producer(slot)
            assert producer is not None, "a value that is repeated has a producer"
            op, operands = producer
            sources = [self._without(*each) for each in self._sources(slot, axis) or ()]
            self._narrowed[place] = self._emitted(op, axis, sources or operands)
        return self._narrowed[place]

    def _emitted(self, op: StdTensorOp, axis: int, sources: Sequence[int]) -> int:
        """The op on operands without an axis."""
        if isinstance(op, BroadcastInDim):
            return self._broadcast(op, axis, sources[0])
        if isinstance(op, Transpose):
            gone = op.perm[axis]
            rest = [source - (source > gone) for source in op.perm if source != gone]
            return self.rewriter.emit(Transpose(tuple(rest)), *sources)
        return self.rewriter.emit(op, *sources)

    def _broadcast(self, op: BroadcastInDim, axis: int, source: int) -> int:
        """The value that is repeated, along all axes but one."""
        sizes = self.rewriter.ctx.meta(source).exact_shape(op.name)
        if len(sizes) == len(op.dims) and axis in op.dims:  # it has size 1 along the axis
            rest = [size for size, target in zip(sizes, op.dims, strict=True) if target != axis]
            source = self.rewriter.emit(Reshape(tuple(rest)), source)
        dims = [target - (target > axis) for target in op.dims if target != axis]
        shape = (*op.shape[:axis], *op.shape[axis + 1 :])
        return self.rewriter.emit(BroadcastInDim(shape, tuple(dims)), source)

    def _sources(self, slot: int, axis: int) -> list[Place] | None:
        """The values and axes that must be repeated for this one to be; None if it is not.

        An empty list says that it is repeated here.
        """
        producer = self.rewriter.producer(slot)
        if producer is None:
            return None
        op, operands = producer
        if isinstance(op, BroadcastInDim):
            if axis not in op.dims:
                return []
            inner = op.dims.index(axis)
            size = self.rewriter.ctx.meta(operands[0]).exact_shape(op.name)[inner]
            return [] if size != op.shape[axis] else [(operands[0], inner)]
        if isinstance(op, Transpose):
            return [(operands[0], op.perm[axis])]
        if op.pointwise and operands and isinstance(op, StdTensorOp):
            return [(operand, axis) for operand in operands]
        return None


# Repeated operands: a contraction reads one copy of an operand that is the same for a batch.

_Label = tuple[str, int]  # `batch` or `contracted` and a number, or `lhs` or `rhs` and an axis


@dataclass(frozen=True)
class RepeatedOperands(Pass):
    """Makes a batch axis of a `DotGeneral` a free one if an operand is only repeated along it.

    The operand then is contracted without that axis. If both are repeated, the result is. An
    operand is followed through transposes and pointwise ops to a `BroadcastInDim`. This arises from
    branches and loops in a batch, each of whose entries has its own operands: a weight that they
    read would be copied for each entry.

    Where the axes of the result must be put in order, the pass rewrites only if the result is not
    larger than the copies, so that the transpose moves no more than they did.
    """

    name = "repeated_operands"
    looks_for = (DotGeneral,)
    needs = Needs.EXACT_EXTENTS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with such contractions; what they no longer read is left to `DeadCode`."""
        if not program.has_op(BroadcastInDim):
            return program
        at = Rewriter(program)
        repetitions = Repetitions(at)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> int | None:
            if not isinstance(step.op, DotGeneral) or not step.op.lhs_batch:
                return None
            return _unbatched(repetitions, step.op, operands)

        return at.run(rule)


class _Operand(NamedTuple):
    """An operand of a contraction, with a label for each axis: what it is matched with, or its own.

    Attributes:
        slot: where it is.
        labels: by axis.
        repeated: the labels of batch axes along which it is repeated.
    """

    slot: int
    labels: Sequence[_Label]
    repeated: frozenset[_Label]

    @property
    def axes(self) -> list[int]:
        """The axes along which it is repeated."""
        return [axis for axis, label in enumerate(self.labels) if label in self.repeated]


def _unbatched(at: Repetitions, dot: DotGeneral, slots: Sequence[int]) -> int | None:
    """The contraction of operands that are not repeated; None if it stays as it is."""
    metas = [at.rewriter.ctx.meta(slot) for slot in slots]
    if any(meta.dims is None for meta in metas):
        return None
    sides = (
        ("lhs", slots[0], dot.lhs_batch, dot.lhs_contract, metas[0]),
        ("rhs", slots[1], dot.rhs_batch, dot.rhs_contract, metas[1]),
    )
    operands: list[_Operand] = []
    for side, slot, batched, contracted, meta in sides:
        of_axis = {axis: ("batch", place) for place, axis in enumerate(batched)}
        of_axis |= {axis: ("contracted", place) for place, axis in enumerate(contracted)}
        labels = [of_axis.get(axis, (side, axis)) for axis in range(meta.rank)]
        repeated = [labels[axis] for axis in batched if at.along(slot, axis)]
        operands.append(_Operand(slot, labels, frozenset(repeated)))
    lhs, rhs = operands
    if not lhs.repeated | rhs.repeated:
        return None
    batch = [("batch", place) for place in range(len(dot.lhs_batch))]
    free = [label for x in operands for label in x.labels if label[0] in ("lhs", "rhs")]
    return _contracted(at, lhs, rhs, [*batch, *free])


def _contracted(
    at: Repetitions, lhs: _Operand, rhs: _Operand, wanted: Sequence[_Label]
) -> int | None:
    """The contraction with its axes in the wanted order; None if the transpose would not pay."""
    emitter = at.rewriter
    both = lhs.repeated & rhs.repeated
    made = [label for label in wanted if label not in both]
    orders = [_product(first, second) for first, second in ((lhs, rhs), (rhs, lhs))]
    swapped = orders[0][1] != made and orders[1][1] == made
    dot, order = orders[swapped]
    if order != made and not _transpose_pays(at, lhs, rhs, wanted):
        return None
    shapes = {
        label: size
        for x in (lhs, rhs)
        for label, size in zip(x.labels, emitter.ctx.meta(x.slot).dims or (), strict=True)
    }
    narrow = [at.narrowed(x.slot, x.axes) for x in ((rhs, lhs) if swapped else (lhs, rhs))]
    value = emitter.emit(dot, *narrow)
    value = emitter.emit(Transpose(tuple([order.index(label) for label in made])), value)
    places = tuple([wanted.index(label) for label in made])
    return emitter.emit(BroadcastInDim(tuple([shapes[each] for each in wanted]), places), value)


def _product(lhs: _Operand, rhs: _Operand) -> tuple[DotGeneral, list[_Label]]:
    """The contraction of what is left of two operands, and the labels of its axes."""
    left = [label for label in lhs.labels if label not in lhs.repeated]
    right = [label for label in rhs.labels if label not in rhs.repeated]
    shared = sorted(set(left).intersection(right))
    batch = [label for label in shared if label[0] == "batch"]
    contracted = [label for label in shared if label[0] == "contracted"]
    dot = DotGeneral(
        *(
            tuple([labels.index(label) for label in chosen])
            for chosen in (contracted, batch)
            for labels in (left, right)
        )
    )
    free = [label for label in (*left, *right) if label not in shared]
    return dot, [*batch, *free]


def _transpose_pays(
    at: Repetitions, lhs: _Operand, rhs: _Operand, wanted: Sequence[_Label]
) -> bool:
    """Whether the result is known to be not larger than the repeated operands."""
    sizes: dict[_Label, int] = {}
    copies = 0
    for x in (lhs, rhs):
        shape = at.rewriter.ctx.meta(x.slot).static_shape
        if shape is None:
            return False
        sizes.update(zip(x.labels, shape, strict=True))
        copies += prod(shape) if x.repeated else 0
    return prod(sizes[label] for label in wanted) <= copies


# Summed products: the sum of products over a batch is a product.


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
    looks_for = (DotGeneral,)
    keeps_more = True
    needs = Needs.EXACT_EXTENTS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with such contractions; what they no longer read is left to `DeadCode`."""
        if not program.has_op(ReduceSum):
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


# Repetitions that go into programs inside ops, which then read one copy.


class Repetition(NamedTuple):
    """An instruction that repeats a value, and the type of that value."""

    step: ExecInstruction
    source: TensorMeta


def repetitions(
    step: ExecInstruction,
    makers: Mapping[int, ExecInstruction],
    metas: Sequence[TensorMeta | None],
) -> dict[int, Repetition]:
    """The operands of an op with programs, by place, that these can repeat where they read them.

    Contractions over a batch, pointwise ops and programs need no copies; other ops would copy the
    operand in each round of a loop.
    """
    op = cast(ControlOp, step.op)
    found: dict[int, Repetition] = {}
    for place in sorted({place for places in op.const_places.values() for place in places}):
        maker = makers.get(step.input_slots[place])
        if maker is not None and maker.op.repeats and len(maker.input_slots) == 1:
            source = metas[maker.input_slots[0]]
            if source is not None and source.dims is not None and source.rank:
                found[place] = Repetition(maker, source)
    if not found:
        return found
    for label, places in op.const_places.items():
        body = cast(ExecProgram, op.bodies[label])
        copied = {
            slot
            for inner in body.instructions
            if not _needs_no_copies(inner)
            for slot in inner.input_slots
        }.union(body.output_slots)
        for place in places:
            if body.input_slots[place - places.start] in copied:
                found.pop(place, None)
    return found


def with_repetitions(
    body: ExecProgram, places: range, found: Mapping[int, Repetition]
) -> ExecProgram:
    """The program that itself repeats the operands at some places."""
    chosen = [place for place in places if place in found]
    if not chosen:
        return body
    input_slots, metas = list(body.input_slots), list(body.input_metas)
    steps: list[ExecInstruction] = []
    for slot, place in enumerate(chosen, body.n_slots):
        position, (maker, source) = place - places.start, found[place]
        outputs = (input_slots[position],)
        steps.append(replace(maker, input_slots=(slot,), output_slots=outputs, last_use=()))
        input_slots[position] = slot
        metas[position] = source
    return replace(
        body,
        instructions=(*steps, *body.instructions),
        input_slots=tuple(input_slots),
        input_metas=tuple(metas),
        n_slots=body.n_slots + len(chosen),
    )


def _needs_no_copies(step: ExecInstruction) -> bool:
    """Whether an instruction can read a value that is repeated as it was before."""
    if isinstance(step.op, DotGeneral):
        return bool(step.op.lhs_batch)
    return step.op.pointwise or isinstance(step.op, ControlOp | Transpose)
