"""DotGeneral: the contraction of two operands."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Sequence

import numpy as np

from tenferro.core import (
    Batched,
    BatchSite,
    Emitter,
    JvpSite,
    Slots,
    TransposeSite,
    V,
    each_active,
    multilinear,
)
from tenferro.errors import AxisError, DTypeError, ShapeError, UnsupportedDynamicShapeError
from tenferro.ir import (
    Category,
    Conjugation,
    Exact,
    Known,
    MaskSite,
    NumpyArray,
    Reach,
    TensorMeta,
    describe,
    make_meta,
    numbered,
    payload,
    same_size,
)
from tenferro.ops.base import (
    StdTensorOp,
    check_axes,
    check_kind,
    inferred_once,
    keep_axes,
    shape_of,
    types,
)
from tenferro.ops.broadcast import BroadcastInDim, uniform
from tenferro.ops.elementwise import conj, is_value
from tenferro.ops.rearrange import Reshape, Transpose, inverse

__all__ = ["DotGeneral", "repeated_axes", "without_axes"]


@payload
class DotGeneral(StdTensorOp, name="dot_general"):
    """Sum of products over matched axes.

    `lhs_contract[i]` is summed with `rhs_contract[i]`; `lhs_batch[i]` runs along with
    `rhs_batch[i]`. The result's axes are the batch axes, then the free ones of lhs, then those of
    rhs.
    """

    lhs_contract: tuple[int, ...]
    rhs_contract: tuple[int, ...]
    lhs_batch: tuple[int, ...] = ()
    rhs_batch: tuple[int, ...] = ()
    contracts = True

    category = Category.BOUNDARY
    n_inputs = 2
    conjugation = Conjugation.ZERO_SIGNS

    def masked(self, at: MaskSite) -> None:
        """Zeros on both sides where padding is summed over: zero times NaN is NaN."""
        contracted = (self.lhs_contract, self.rhs_contract)
        whole = [at.padded(i).keys().isdisjoint(axes) for i, axes in enumerate(contracted)]
        at.keep(*[at.operand(i) if is_whole else at.zeroed(i) for i, is_whole in enumerate(whole)])

    @inferred_once
    def infer(self, lhs: TensorMeta, rhs: TensorMeta) -> TensorMeta:
        if lhs.dtype != rhs.dtype:
            raise DTypeError(
                f"dot_general: operands have types {types([lhs, rhs])}; convert them to one dtype"
            )
        check_kind(self.name, lhs, "iufc")
        check_axes(self.name, (*self.lhs_batch, *self.lhs_contract), lhs.rank, lhs)
        check_axes(self.name, (*self.rhs_batch, *self.rhs_contract), rhs.rank, rhs)
        contracted, batch = len(self.lhs_contract), len(self.lhs_batch)
        if contracted != len(self.rhs_contract) or batch != len(self.rhs_batch):
            raise AxisError(f"dot_general: {self} must name as many axes of {lhs} as of {rhs}")
        left, right = (*self.lhs_contract, *self.lhs_batch), (*self.rhs_contract, *self.rhs_batch)
        for i, j in zip(left, right, strict=True):
            a, b = lhs.extents[i], rhs.extents[j]
            if same_size(a, b):
                continue
            for extent, place in ((a, f"lhs[{i}]"), (b, f"rhs[{j}]")):
                if not isinstance(extent, Exact):
                    raise UnsupportedDynamicShapeError(self.name, place, describe(extent))
            raise ShapeError(
                f"dot_general: lhs axis {i} of {lhs} and rhs axis {j} of {rhs} are matched "
                f"but have sizes {a} and {b}"
            )
        extents = [lhs.extents[axis] for axis in (*self.lhs_batch, *self.lhs_free(lhs.rank))]
        extents += [rhs.extents[axis] for axis in self.rhs_free(rhs.rank)]
        meta = TensorMeta(lhs.dtype, extents)
        return meta if meta.static_shape is None else make_meta(lhs.dtype, meta.static_shape)

    def work(self, operands: Sequence[TensorMeta], results: Sequence[TensorMeta]) -> int:
        """A multiplication and an addition for each term."""
        return 2 * results[0].known_size * keep_axes(operands[0], self.lhs_contract).known_size

    def reach(self, operand: int, metas: Sequence[TensorMeta], known: Known) -> Reach:
        """Those with the same coordinates along the axes that are not contracted."""
        lhs, rhs = metas
        batch = range(len(self.lhs_batch))
        free = len(batch) + len(self.lhs_free(lhs.rank))
        own = (*self.lhs_batch, *self.lhs_free(lhs.rank))
        result = shape_of(self.infer(lhs, rhs))
        into: tuple[int, ...] = (*range(free),)
        if operand == 1:
            own = (*self.rhs_batch, *self.rhs_free(rhs.rank))
            into = (*batch, *range(free, len(result)))
        return Reach(numbered(shape_of(metas[operand]), own), numbered(result, into))

    def lhs_free(self, rank: int) -> tuple[int, ...]:
        """The axes of an lhs of that rank that are neither batch nor contracted."""
        matched = (*self.lhs_contract, *self.lhs_batch)
        return tuple([axis for axis in range(rank) if axis not in matched])

    def rhs_free(self, rank: int) -> tuple[int, ...]:
        """The axes of an rhs of that rank that are neither batch nor contracted."""
        matched = (*self.rhs_contract, *self.rhs_batch)
        return tuple([axis for axis in range(rank) if axis not in matched])

    def numpy(self, lhs: NumpyArray, rhs: NumpyArray) -> NumpyArray:
        """Transpose and reshape to one batched matrix product."""
        if max(lhs.ndim, rhs.ndim) <= 2 and len(self.lhs_contract) == 1 and not self.lhs_batch:
            left = lhs if self.lhs_contract == (1,) else lhs.T
            return np.matmul(left, rhs if self.rhs_contract == (0,) else rhs.T)  # type: ignore[no-any-return]
        lhs_free, rhs_free = self.lhs_free(lhs.ndim), self.rhs_free(rhs.ndim)
        batch = [lhs.shape[axis] for axis in self.lhs_batch]
        free = [lhs.shape[axis] for axis in lhs_free] + [rhs.shape[axis] for axis in rhs_free]
        b, m = _size(lhs, self.lhs_batch), _size(lhs, lhs_free)
        n, k = _size(rhs, rhs_free), _size(lhs, self.lhs_contract)
        one = np.transpose(lhs, (*self.lhs_batch, *lhs_free, *self.lhs_contract)).reshape(b, m, k)
        other = np.transpose(rhs, (*self.rhs_batch, *self.rhs_contract, *rhs_free)).reshape(b, k, n)
        return np.matmul(one, other).reshape((*batch, *free))  # type: ignore[no-any-return]

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        """A further batch axis; if only one operand is batched, a free axis, moved to the front.

        So a product with an operand that is the same for all entries stays one product. A batched
        rhs becomes the lhs of it, so that the batch is in front at once.
        """
        lhs, rhs = at.inputs
        dot, order, swapped = _batched(
            self, at.batched, at.ctx.meta(lhs).rank, at.ctx.meta(rhs).rank
        )
        product = at.emit(dot, rhs, lhs) if swapped else at.emit(dot, lhs, rhs)
        return ((product if order is None else at.emit(order, product), True),)

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """The product with a rank-0 one is the other operand; of copies only one is read."""
        lhs, rhs = operands
        if self.lhs_batch:
            return _of_one_copy(self, at, lhs, rhs)
        for scalar, other in ((lhs, rhs), (rhs, lhs)):
            if not at.ctx.meta(scalar).rank and is_value(uniform(at, scalar), 1):
                return other
        return None

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        return multilinear(at, self)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent contracted with the conjugate of the other operand, over its free axes."""
        lhs, rhs = at.inputs
        to_lhs, to_rhs = _pullbacks(self, at.ctx.meta(lhs).rank, at.ctx.meta(rhs).rank)

        def pulled(ops: _Pullback, ct: V, other: V) -> V:
            dot, transpose = ops
            return at.emit(transpose, at.emit(dot, ct, conj(at.emitter, other)))

        return each_active(
            at, lambda ct: pulled(to_lhs, ct, rhs), lambda ct: pulled(to_rhs, ct, lhs)
        )


@functools.lru_cache(maxsize=1024)
def _batched(
    op: DotGeneral, which: tuple[bool, ...], lhs_rank: int, rhs_rank: int
) -> tuple[DotGeneral, Transpose | None, bool]:
    """The contraction for all entries, the order that moves the batch to the front, if there is
    one, and whether the operands change places.

    The ranks are those of the operands with the batch.
    """
    left, right = which
    both = left and right
    dot = DotGeneral(
        tuple([axis + left for axis in op.lhs_contract]),
        tuple([axis + right for axis in op.rhs_contract]),
        (*(0,) * both, *[axis + left for axis in op.lhs_batch]),
        (*(0,) * both, *[axis + right for axis in op.rhs_batch]),
    )
    swapped = not left
    if swapped:
        dot = DotGeneral(dot.rhs_contract, dot.lhs_contract, dot.rhs_batch, dot.lhs_batch)
        lhs_rank, rhs_rank = rhs_rank, lhs_rank
    batch, first = len(dot.lhs_batch), len(dot.lhs_free(lhs_rank))
    rank = batch + first + len(dot.rhs_free(rhs_rank))
    if both:
        return dot, None, False
    own = (*range(batch + 1, batch + first),)
    others = (*range(batch + first, rank),)
    order = (batch, *range(batch), *((*others, *own) if swapped else (*own, *others)))
    return dot, None if order == (*range(rank),) else Transpose(order), swapped


# Operands that are the same for all entries of a batch: a batch axis becomes a free one.


_DEEPEST = 8  # how many pointwise ops a repetition is looked for behind


def repeated_axes(at: Emitter[V], value: V) -> set[int]:
    """The axes along which a value is only repeated, behind pointwise ops of one operand."""
    for _ in range(_DEEPEST):
        producer = at.producer(value)
        if producer is None:
            return set()
        op, operands = producer
        if isinstance(op, BroadcastInDim):
            sizes = at.ctx.meta(operands[0]).dims
            own = dict(zip(op.dims, sizes or (), strict=False))
            repeated = {axis for axis, size in enumerate(op.shape) if own.get(axis) != size}
            return set() if sizes is None else repeated
        if not op.pointwise or len(operands) != 1:
            return set()
        (value,) = operands
    return set()


def without_axes(at: Emitter[V], value: V, axes: Collection[int]) -> V:
    """A value without axes along which it is repeated."""
    if not axes:
        return value
    producer = at.producer(value)
    assert producer is not None, "a value that is repeated has a producer"
    op, (source,) = producer
    if not isinstance(op, BroadcastInDim):
        return at.emit(op, without_axes(at, source, axes))
    left = [axis for axis in range(len(op.shape)) if axis not in axes]
    own = [place for place, axis in enumerate(op.dims) if axis not in axes]
    if len(own) < len(op.dims):  # it has size 1 along the others
        sizes = at.ctx.meta(source).exact_shape(op.name)
        source = at.emit(Reshape(tuple([sizes[place] for place in own])), source)
    shape = tuple([op.shape[axis] for axis in left])
    return at.emit(BroadcastInDim(shape, tuple([left.index(op.dims[i]) for i in own])), source)


_Label = tuple[str, int]  # `batch` or `contracted` and a number, or `lhs` or `rhs` and an axis


def _of_one_copy(op: DotGeneral, at: Emitter[V], lhs: V, rhs: V) -> V | None:
    """The contraction of operands that are not repeated along batch axes; None if none is.

    If the axes of the result must be put in order, it must be known to be not larger than the
    copies, so that the transpose moves no more than they did.
    """
    batch = range(len(op.lhs_batch))
    gone = [
        {("batch", i) for i in batch if axes[i] in repeated_axes(at, value)}
        for value, axes in ((lhs, op.lhs_batch), (rhs, op.rhs_batch))
    ]
    metas = [at.ctx.meta(lhs), at.ctx.meta(rhs)]
    if not any(gone) or any(meta.dims is None for meta in metas):
        return None
    labels: list[list[_Label]] = []
    for side, meta, batched, contracted in (
        ("lhs", metas[0], op.lhs_batch, op.lhs_contract),
        ("rhs", metas[1], op.rhs_batch, op.rhs_contract),
    ):
        named = {axis: ("batch", place) for place, axis in enumerate(batched)}
        named |= {axis: ("contracted", place) for place, axis in enumerate(contracted)}
        labels.append([named.get(axis, (side, axis)) for axis in range(meta.rank)])
    free = [label for side in labels for label in side if label[0] in ("lhs", "rhs")]
    wanted = [*(("batch", i) for i in batch), *free]
    made = [label for label in wanted if label not in gone[0] & gone[1]]
    left, right = ([x for x in of if x not in out] for of, out in zip(labels, gone, strict=True))
    dot, order = _contraction(left, right)
    swapped = order != made and _contraction(right, left)[1] == made
    if swapped:
        dot, order = _contraction(right, left)
    sizes = {
        label: size
        for side, meta in zip(labels, metas, strict=True)
        for label, size in zip(side, meta.dims, strict=True)
    }
    if order != made:
        shapes = [meta.static_shape for meta in metas]
        if None in shapes:
            return None
        copies = sum(math.prod(shape) for shape, out in zip(shapes, gone, strict=True) if out)
        if math.prod(sizes[label] for label in wanted) > copies:
            return None
    once = [
        without_axes(at, value, {side.index(label) for label in out})
        for value, side, out in zip((lhs, rhs), labels, gone, strict=True)
    ]
    value = at.emit(dot, *(reversed(once) if swapped else once))
    value = at.emit(Transpose(tuple([order.index(label) for label in made])), value)
    shape = tuple([sizes[label] for label in wanted])
    return at.emit(BroadcastInDim(shape, tuple([wanted.index(label) for label in made])), value)


def _contraction(
    left: Sequence[_Label], right: Sequence[_Label]
) -> tuple[DotGeneral, list[_Label]]:
    """The contraction of operands with labels for their axes, and the labels of its axes."""
    shared = sorted(set(left).intersection(right))
    groups = [[x for x in shared if x[0] == kind] for kind in ("contracted", "batch")]
    places = [tuple(map(of.index, group)) for group in groups for of in (left, right)]
    return DotGeneral(*places), [*groups[1], *(x for x in (*left, *right) if x not in shared)]


_Pullback = tuple[DotGeneral, Transpose]


@functools.lru_cache(maxsize=1024)
def _pullbacks(op: DotGeneral, lhs_rank: int, rhs_rank: int) -> tuple[_Pullback, _Pullback]:
    """For each operand the contraction of cotangent and other operand, and the order of its axes.

    They are made once: a program has many contractions of few kinds.
    """
    lhs_free, rhs_free = op.lhs_free(lhs_rank), op.rhs_free(rhs_rank)
    batch = tuple(range(len(op.lhs_batch)))
    first, second = len(batch), len(batch) + len(lhs_free)
    from_lhs = tuple(range(first, second))
    from_rhs = tuple(range(second, second + len(rhs_free)))
    lhs_order = (*op.lhs_batch, *lhs_free, *_matched(op.rhs_contract, op.lhs_contract))
    rhs_order = (*op.rhs_batch, *rhs_free, *_matched(op.lhs_contract, op.rhs_contract))
    return (
        (DotGeneral(from_rhs, rhs_free, batch, op.rhs_batch), Transpose(inverse(lhs_order))),
        (DotGeneral(from_lhs, lhs_free, batch, op.lhs_batch), Transpose(inverse(rhs_order))),
    )


def _matched(of: Sequence[int], partner: Sequence[int]) -> tuple[int, ...]:
    """The partners of contracted axes, in the order of those axes in the operand they are `of`."""
    return tuple(partner[position] for position in sorted(range(len(of)), key=of.__getitem__))


def _size(x: NumpyArray, axes: Sequence[int]) -> int:
    return math.prod(x.shape[axis] for axis in axes)
