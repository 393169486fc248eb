"""A derivative as a linear graph, for one tangent or a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import Self, cast

from tenferro.core import (
    Cotangent,
    Emitter,
    GlobalValKey,
    KeyEmitter,
    LinearFragment,
    PrimitiveOp,
    ResolvedView,
    RuleContext,
    V,
    batch,
    residuals,
    resolve_keys,
    transpose,
)
from tenferro.ir import INT64, ExecOp, TensorMeta, fresh_input, type_of
from tenferro.ops import (
    ADD,
    MUL,
    BroadcastInDim,
    Compare,
    Concatenate,
    Convert,
    DotGeneral,
    EmbedDiag,
    Iota,
    Reshape,
    Slice,
    StdTensorOp,
    Transpose,
    broadcast_like,
    full,
    full_like,
    repeated,
    shape_of,
)
from tenferro.ops.control_flow import Scan, program_of

__all__ = ["Basis", "Images", "LinearGraph", "LinearPart", "one_hot"]


# The unit vectors of a space of arrays, computed as entries of batches.


class Basis:
    """The unit vectors of the space of some leaves, in the order of the leaves and their elements.

    Args:
        metas: the types of the leaves, with constant sizes.
        read: which of the leaves have unit vectors; the others are zeros in all of them.

    Attributes:
        size: the number of unit vectors.
    """

    def __init__(self, metas: Sequence[TensorMeta], read: Sequence[bool]) -> None:
        self._metas, self._read = metas, read
        self._counts = [prod(shape_of(meta)) * on for meta, on in zip(metas, read, strict=True)]
        *self._starts, self.size = accumulate(self._counts, initial=0)

    def rows(self, at: Emitter[V], first: V | int, count: int) -> list[V | None]:
        """For each leaf `count` unit vectors from number `first` on, `[count, *shape]`; or None.

        They are computed from counters, so that no matrix is stored in the program.
        """
        skipped = first if isinstance(first, int) else 0
        number = self.numbers(at, 0 if isinstance(first, int) else first, count)
        return [
            one_hot(at, number, _counted(at, start - skipped, meta), meta) if on else None
            for meta, start, on in zip(self._metas, self._starts, self._read, strict=True)
        ]

    def numbers(self, at: Emitter[V], first: V | int, count: int) -> V:
        """The `count` numbers from `first` on."""
        number = at.emit(Iota(INT64, count))
        if not isinstance(first, int):
            return at.emit(ADD, number, at.emit(BroadcastInDim((count,), ()), first))
        return at.emit(ADD, number, full_like(at, first, number)) if first else number

    def identity(self, rows: Sequence[V | None]) -> V | None:
        """Of all `rows` those of a leaf, if they are the identity matrix."""
        if len(rows) == 1 and len(shape_of(self._metas[0])) == 1:
            return rows[0]
        return None

    def block(self, at: Emitter[V], images: V | None, leaf: int, of: TensorMeta, last: bool) -> V:
        """Of the images of all unit vectors those of a leaf, with its axes last or first.

        `of` is the type of one image. None are zeros.
        """
        shape, own = of.exact_shape("jacobian"), shape_of(self._metas[leaf])
        count = self._counts[leaf]
        target = (*shape, *own) if last else (*own, *shape)
        if images is None or not count:
            return full(at, 0, TensorMeta.of(of.dtype, target))
        if count < self.size:
            start, rest = self._starts[leaf], (0,) * len(shape)
            window = Slice((start, *rest), (start + count, *shape), (1,) * (1 + len(shape)))
            images = at.emit(window, images)
        if last:
            images = at.emit(Transpose((*range(1, 1 + len(shape)), 0)), images)
        return at.emit(Reshape(target), images)


class DiagonalEmitter(KeyEmitter):
    """Emits what the unit vectors of one vector become, and knows which values are diagonal.

    A linear pointwise op takes a diagonal matrix to a diagonal one, of which only the diagonal is
    computed. The product of a diagonal matrix and another one scales its rows; no contraction is
    emitted. So an infinite coefficient makes only those entries of a Jacobian infinite or NaN that
    it is in.
    """

    def __init__(self, ctx: RuleContext, identity: GlobalValKey) -> None:
        super().__init__(ctx)
        self._diagonals: dict[GlobalValKey, GlobalValKey | None] = {identity: None}

    def emit(self, op: PrimitiveOp, *operands: GlobalValKey) -> GlobalValKey:
        """The output of a single-output op."""
        if self._diagonals.keys().isdisjoint(operands):
            return super().emit(op, *operands)
        if type(op) is DotGeneral and op.lhs_contract == (1,) and operands[0] in self._diagonals:
            return self._scaled(self._diagonals[operands[0]], operands[1], op.rhs_contract[0])
        if isinstance(op, ExecOp) and op.pointwise:
            diagonals = [self._diagonal(operand) for operand in operands]
            present = [diagonal for diagonal in diagonals if diagonal is not None]
            if len(present) == len(operands):
                return self._matrix(super().emit(op, *present))
        return super().emit(op, *operands)

    def _matrix(self, diagonal: GlobalValKey) -> GlobalValKey:
        result = super().emit(EmbedDiag(0, 1), diagonal)
        self._diagonals[result] = diagonal
        return result

    def _diagonal(self, operand: GlobalValKey) -> GlobalValKey | None:
        """The diagonal of a diagonal matrix, or a coefficient as such a vector; None if neither.

        A coefficient is the same for all unit vectors, so it is repeated along axis 0.
        """
        if operand in self._diagonals:
            diagonal = self._diagonals[operand]
            meta: TensorMeta = self.ctx.meta(operand)
            ones = TensorMeta.of(meta.dtype, shape_of(meta)[:1])
            return full(self, 1, ones) if diagonal is None else diagonal
        producer = self.producer(operand)
        if producer is None or type(producer[0]) is not BroadcastInDim:
            return None
        op, (source,) = producer
        if op.dims == ():
            return super().emit(BroadcastInDim(op.shape[:1], ()), source)
        return source if op.dims == (1,) else None

    def _scaled(
        self, diagonal: GlobalValKey | None, other: GlobalValKey, axis: int
    ) -> GlobalValKey:
        """The other operand with its contracted axis in front, its entries times the diagonal."""
        meta: TensorMeta = self.ctx.meta(other)
        rest = [place for place in range(meta.rank) if place != axis]
        rows = super().emit(Transpose((axis, *rest)), other)
        if diagonal is None:
            return rows
        wide = broadcast_like(self, diagonal, self.ctx.meta(rows), (0,), "jacobian")
        return super().emit(MUL, rows, wide)


def _counted(at: Emitter[V], start: int, meta: TensorMeta) -> V:
    """The numbers of the elements of a leaf, the first of which is `start`."""
    place = at.emit(Iota(INT64, prod(shape_of(meta))))
    return at.emit(ADD, place, full_like(at, start, place)) if start else place


def one_hot(at: Emitter[V], number: V, place: V, meta: TensorMeta) -> V:
    """For each number an array of type `meta`: 1 where `place` has the number, else 0.

    `place` has an entry for each element.
    """
    (count,), shape = shape_of(at.ctx.meta(number)), shape_of(meta)
    wide = (count, prod(shape))
    row, column = (
        at.emit(BroadcastInDim(wide, (axis,)), each) for axis, each in enumerate((number, place))
    )
    ones = at.emit(Convert(meta.dtype), at.emit(Compare("EQ"), row, column))
    return at.emit(Reshape((count, *shape)), ones)


# A derivative as a graph, for one direction or for many at once.

Key = GlobalValKey
Images = list[Key | None]
LinearGraph = LinearFragment[StdTensorOp]


@dataclass(frozen=True, slots=True)
class LinearPart:
    """A graph that is linear in some inputs.

    Attributes:
        seeds: these inputs; None if nothing depends on one.
        outputs: None is a zero.
    """

    seeds: Sequence[Key | None]
    outputs: Sequence[Key | None]

    @classmethod
    def pushforward(cls, linear: LinearGraph) -> Self:
        """From tangents of the inputs to tangents of the outputs."""
        return cls(linear.input_keys, linear.output_keys)

    @classmethod
    def pullback(cls, linear: LinearGraph, count: int, ctx: RuleContext) -> Self:
        """From cotangents of the `count` outputs to cotangents of the inputs."""
        reverse = transpose(linear, ctx=ctx)
        by_slot: dict[int, Key] = {
            key.slot: seed
            for (key, _), seed in zip(reverse.tangent_inputs, reverse.input_keys, strict=True)
            if isinstance(key, Cotangent)
        }
        return cls([by_slot.get(slot) for slot in range(count)], reverse.output_keys)

    def batched(self, directions: Sequence[Key | None], size: int, at: KeyEmitter) -> Images:
        """The images of `size` directions, which are entries along axis 0. None is a zero.

        Raises:
            BatchRuleError: an op on the way has no batch rule.
        """
        view: ResolvedView[StdTensorOp] = resolve_keys()
        whole = {
            seed: direction
            for seed, direction in zip(self.seeds, directions, strict=True)
            if seed is not None and direction is not None
        }
        present = [key for key in self.outputs if key is not None]
        images = iter(batch(view, present, whole, size, ctx=at.ctx, emitter=at))
        at.site = None
        return [None if key is None else _whole(at, next(images), size) for key in self.outputs]

    def of_basis(self, basis: Basis, chunk: int | None, at: KeyEmitter) -> Images:
        """The images of all unit vectors along axis 0; by a loop over chunks of so many."""
        if not basis.size:
            return [None] * len(self.outputs)
        if chunk is None or chunk >= basis.size:
            rows = basis.rows(at, 0, basis.size)
            identity = basis.identity(rows)
            if identity is not None:
                at = DiagonalEmitter(at.ctx, identity)
            return self.batched(rows, basis.size, at)
        iterations, rest = divmod(basis.size, chunk)
        images = self._in_iterations(basis, chunk, iterations, at)
        if not rest:
            return images
        rows = basis.rows(at, iterations * chunk, rest)
        last = self.batched(rows, rest, at)
        return [
            None if a is None or b is None else at.emit(Concatenate(0), a, b)
            for a, b in zip(images, last, strict=True)
        ]

    def _in_iterations(self, basis: Basis, chunk: int, iterations: int, at: KeyEmitter) -> Images:
        """The images of the first unit vectors, `chunk` of them in each iteration of a loop."""
        first = fresh_input(TensorMeta.of(INT64, ()), "first")
        rows = basis.rows(at, first, chunk)
        images = self.batched(rows, chunk, at)
        outputs = [key for key in images if key is not None]
        read = residuals(outputs, [first])
        body = program_of([*read, first], outputs)
        loop = Scan(body, consts=len(read), carry=0, length=iterations)
        number = at.emit(Iota(INT64, iterations))
        starts = at.emit(MUL, number, full_like(at, chunk, number))
        stacks = iter(at.emit_all(loop, *read, starts))
        return [None if key is None else _joined(at, next(stacks)) for key in images]


def _whole(at: KeyEmitter, image: tuple[Key, bool], size: int) -> Key:
    key, is_batched = image
    return key if is_batched else repeated(at, key, size)


def _joined(at: KeyEmitter, stack: Key) -> Key:
    iterations, chunk, *shape = cast("tuple[int, ...]", type_of(stack).static_shape)
    return at.emit(Reshape((iterations * chunk, *shape)), stack)
