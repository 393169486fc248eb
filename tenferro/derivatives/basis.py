"""The unit vectors of a space of arrays, computed as entries of batches."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod

from tenferro.chainrules import Emitter, V
from tenferro.ops import (
    ADD,
    BroadcastInDim,
    Compare,
    Convert,
    Iota,
    Reshape,
    Slice,
    Transpose,
    full,
    full_like,
)
from tenferro.shape import INT64, TensorMeta


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
        self._counts = [prod(_shape(meta)) * on for meta, on in zip(metas, read, strict=True)]
        *self._starts, self.size = accumulate(self._counts, initial=0)

    def rows(self, at: Emitter[V], first: V | int, count: int) -> list[V | None]:
        """For each leaf `count` unit vectors from number `first` on, `[count, *shape]`; or None.

        They are computed from counters, so that no matrix is stored in the program.
        """
        number = at.emit(Iota(INT64, count))
        skipped = first if isinstance(first, int) else 0
        if not isinstance(first, int):
            number = at.emit(ADD, number, at.emit(BroadcastInDim((count,), ()), first))
        return [
            _one_hot(at, number, start - skipped, meta) if on else None
            for meta, start, on in zip(self._metas, self._starts, self._read, strict=True)
        ]

    def block(self, at: Emitter[V], images: V | None, leaf: int, of: TensorMeta, last: bool) -> V:
        """Of the images of all unit vectors those of a leaf, with its axes last or first.

        `of` is the type of one image. None are zeros.
        """
        shape, own, count = _shape(of), _shape(self._metas[leaf]), self._counts[leaf]
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


def _one_hot(at: Emitter[V], number: V, start: int, meta: TensorMeta) -> V:
    """The unit vectors of these numbers, where those of a leaf begin with number `start`."""
    (count,), shape = _shape(at.ctx.meta(number)), _shape(meta)
    place = at.emit(Iota(INT64, prod(shape)))
    if start:
        place = at.emit(ADD, place, full_like(at, start, place))
    wide = (count, prod(shape))
    row, column = (
        at.emit(BroadcastInDim(wide, (axis,)), each) for axis, each in enumerate((number, place))
    )
    ones = at.emit(Convert(meta.dtype), at.emit(Compare("EQ"), row, column))
    return at.emit(Reshape((count, *shape)), ones)


def _shape(meta: TensorMeta) -> tuple[int, ...]:
    """The sizes, which are constants."""
    assert meta.static_shape is not None, "checked by the caller"
    return meta.static_shape
