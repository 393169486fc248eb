"""Along which axes the values of a program are only repeated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tenferro.exec_ir import Rewriter
from tenferro.ops import BroadcastInDim, Reshape, StdTensorOp, Transpose

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
