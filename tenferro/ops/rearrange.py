"""Transpose, reshape, reverse; diagonals and triangles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from tenferro.core import Emitter, Slots, TransposeSite, V, each_active
from tenferro.errors import AxisError, ShapeError, counted
from tenferro.ir import (
    AxisMap,
    Dim,
    Known,
    MaskSite,
    NumpyArray,
    Reach,
    TensorMeta,
    payload,
    product,
)
from tenferro.ops.base import Multilinear, check_axes, inferred_once, keep_axes
from tenferro.ops.broadcast import BroadcastInDim, full, scalar_source, uniform

__all__ = ["EmbedDiag", "ExtractDiag", "Reshape", "Reverse", "Transpose", "Tril", "Triu", "inverse"]


# Diagonals and triangles.


class Diagonal(Multilinear):
    """An op that relates two axes of equal size; padding of the operand stays padding."""

    axis_fields = ("axis_a", "axis_b")

    def reach(self, operand: int, metas: Sequence[TensorMeta], known: Known) -> Reach | None:
        """The element that comes to the place; none where a zero is."""
        return self.placed(operand, metas, known)

    def masked(self, at: MaskSite) -> None:
        at.keep(at.operand(0), zeros=at.has_zeros(0))


@payload
class ExtractDiag(Diagonal, name="extract_diag"):
    """The elements with equal indices along `axis_a` and `axis_b`; the result has no `axis_b`."""

    axis_a: int
    axis_b: int

    moves = True
    derivative_needs_sizes = True

    def infer(self, x: TensorMeta) -> TensorMeta:
        check_axes(self.name, (self.axis_a, self.axis_b), x.rank, x)
        if self.axis_a > self.axis_b:
            raise AxisError(
                f"extract_diag: axis_a {self.axis_a} must come before axis_b {self.axis_b}"
            )
        sizes = x.exact_shape(self.name, "operand")
        if sizes[self.axis_a] != sizes[self.axis_b]:
            raise ShapeError(
                f"extract_diag: axes {self.axis_a} and {self.axis_b} of {x} have sizes "
                f"{sizes[self.axis_a]} and {sizes[self.axis_b]}, which differ"
            )
        return keep_axes(x, [axis for axis in range(x.rank) if axis != self.axis_b])

    def numpy(self, x: NumpyArray) -> NumpyArray:
        return np.moveaxis(np.diagonal(x, axis1=self.axis_a, axis2=self.axis_b), -1, self.axis_a)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        return each_active(at, lambda ct: at.emit(EmbedDiag(self.axis_a, self.axis_b), ct))


@payload
class EmbedDiag(Diagonal, name="embed_diag"):
    """A new axis `axis_b`: the operand where the indices of the two axes are equal, else 0."""

    axis_a: int
    axis_b: int

    def infer(self, x: TensorMeta) -> TensorMeta:
        check_axes(self.name, (self.axis_a,), x.rank, x)
        if not self.axis_a < self.axis_b <= x.rank:
            raise AxisError(
                f"embed_diag: axis_b {self.axis_b} must come after axis_a {self.axis_a} "
                f"and be at most the rank of {x}"
            )
        sources = [*range(self.axis_b), self.axis_a, *range(self.axis_b, x.rank)]
        return keep_axes(x, sources)

    def exchange(self, rank: int) -> tuple[int, ...]:
        """The permutation of the result's axes that exchanges the two."""
        places = {self.axis_a: self.axis_b, self.axis_b: self.axis_a}
        return tuple(places.get(axis, axis) for axis in range(rank))

    def numpy(self, x: NumpyArray) -> NumpyArray:
        size = x.shape[self.axis_a]
        sizes = (*x.shape[: self.axis_b], size, *x.shape[self.axis_b :])
        result = np.zeros(sizes, x.dtype)
        places = np.arange(size)
        square = np.moveaxis(result, (self.axis_a, self.axis_b), (0, 1))
        square[places, places] = np.moveaxis(x, self.axis_a, 0)
        return result

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        return each_active(at, lambda ct: at.emit(ExtractDiag(self.axis_a, self.axis_b), ct))


@payload
class Triangle(Diagonal):
    """The elements on one side of diagonal `k` of the last two axes, zeros on the other side."""

    k: int = 0

    part: ClassVar[Callable[..., NumpyArray]]
    """NumPy's function."""

    def leading(self, size: Dim) -> Triangle:
        """The op itself: it acts on the last two axes."""
        return self

    def infer(self, x: TensorMeta) -> TensorMeta:
        if x.rank < 2:
            raise ShapeError(f"{self.name}: needs at least two axes, got {x}")
        return x

    def numpy(self, x: NumpyArray) -> NumpyArray:
        return self.part(x, self.k)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        return each_active(at, lambda ct: at.emit(self, ct))


@payload
class Tril(Triangle, name="tril"):
    """The elements on and below diagonal `k` of the last two axes."""

    part = staticmethod(np.tril)


@payload
class Triu(Triangle, name="triu"):
    """The elements on and above diagonal `k` of the last two axes."""

    part = staticmethod(np.triu)


# Transpose, Reshape, Reverse: the same elements in another order or shape.


class Rearrangement(Multilinear):
    """An op that only moves elements; it is linear."""

    moves = True

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """Repeat the scalar of a uniform operand in the new shape; else `simplify`."""
        (x,) = operands
        value = uniform(at, x)
        if value is not None:
            (meta,) = self.infer_all([at.ctx.meta(x)])
            return full(at, value, meta) if meta.dims is not None else None
        source = scalar_source(at, x)
        if source is not None:
            (meta,) = self.infer_all([at.ctx.meta(x)])
            return at.emit(BroadcastInDim(meta.exact_shape(self.name), ()), source)
        return self.simplify(at, x)

    def simplify(self, at: Emitter[V], x: V) -> V | None:
        """A simpler value, or None."""
        return None


@payload
class Transpose(Rearrangement, name="transpose"):
    """Axis i of the result is axis `perm[i]` of the operand."""

    perm: tuple[int, ...]

    def axis_map(self, ranks: Sequence[int]) -> AxisMap:
        return (inverse(self.perm),)

    def leading(self, size: Dim) -> Transpose:
        return Transpose((0, *(axis + 1 for axis in self.perm)))

    def trailing(self, size: int) -> Transpose:
        return Transpose((*self.perm, len(self.perm)))

    def masked(self, at: MaskSite) -> None:
        at.keep(at.operand(0), zeros=at.has_zeros(0))

    @inferred_once
    def infer(self, x: TensorMeta) -> TensorMeta:
        if len(self.perm) != x.rank:
            raise AxisError(f"transpose: perm {self.perm} must name each axis of {x} once")
        check_axes(self.name, self.perm, x.rank, x)
        return keep_axes(x, self.perm)

    def numpy(self, x: NumpyArray) -> NumpyArray:
        return np.transpose(x, self.perm)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        return each_active(at, lambda ct: at.emit(Transpose(inverse(self.perm)), ct))

    def simplify(self, at: Emitter[V], x: V) -> V | None:
        """Drop the identity and what exchanges the axes of a diagonal; combine two transposes."""
        if self.perm == tuple(range(len(self.perm))):
            return x
        producer = at.producer(x)
        if producer is None:
            return None
        if type(producer[0]) is EmbedDiag and self.perm == producer[0].exchange(len(self.perm)):
            return x
        if type(producer[0]) is not Transpose:
            return None
        inner, (source,) = producer
        return at.emit(Transpose(tuple(inner.perm[axis] for axis in self.perm)), source)


@payload
class Reshape(Rearrangement, name="reshape"):
    """The same elements in C order, with another shape of the same size."""

    shape: tuple[Dim, ...]

    view = True

    def leading(self, size: Dim) -> Reshape:
        return Reshape((size, *self.shape))

    def trailing(self, size: int) -> Reshape:
        return Reshape((*self.shape, size))

    def masked(self, at: MaskSite) -> None:
        """Allowed if padded axes stay: the axes before and after have equal numbers of elements."""
        before, after = at.operand_metas[0], at.result_metas[0]
        from_axes, to_axes = (
            [
                (leaf, product(sizes[:axis]), product(sizes[axis + 1 :]))
                for sizes in (meta.exact_shape(self.name),)
                for axis, leaf in at.padded_axes(meta).items()
            ]
            for meta in (before, after)
        )
        if from_axes != to_axes:
            raise at.refuse(f"it mixes axes of {before} and {after}")
        at.keep(at.operand(0), zeros=at.has_zeros(0))

    @inferred_once
    def infer(self, x: TensorMeta) -> TensorMeta:
        result = TensorMeta.of(x.dtype, self.shape)
        count, result_count = product(x.exact_shape(self.name, "operand")), product(self.shape)
        if count != result_count:
            raise ShapeError(
                f"reshape: {x} has {counted(count, 'element')}, but {result} has {result_count}"
            )
        return result

    def numpy(self, x: NumpyArray) -> NumpyArray:
        return np.reshape(x, self.shape)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        shape = at.ctx.meta(at.inputs[0]).exact_shape(self.name, "operand")
        return each_active(at, lambda ct: at.emit(Reshape(shape), ct))

    def simplify(self, at: Emitter[V], x: V) -> V | None:
        """Drop a reshape to the same shape; combine two consecutive reshapes."""
        if at.ctx.meta(x).dims == self.shape:
            return x
        producer = at.producer(x)
        if producer is None or type(producer[0]) is not Reshape:
            return None
        return at.emit(self, producer[1][0])


@payload
class Reverse(Rearrangement, name="reverse"):
    """The elements along `axes` in reverse order."""

    axes: tuple[int, ...]

    axis_fields = ("axes",)
    keeps_axes = True

    def trailing(self, size: int) -> Reverse:
        return self

    def masked(self, at: MaskSite) -> None:
        """Refused along a padded axis: its padding would come first."""
        for axis in self.axes:
            if axis in at.padded(0):
                reason = f"it reverses axis {axis} of {at.operand_metas[0]}, and padding would come"
                raise at.refuse(f"{reason} first", at.padded(0)[axis])
        at.keep(at.operand(0), zeros=at.has_zeros(0))

    def infer(self, x: TensorMeta) -> TensorMeta:
        check_axes(self.name, self.axes, x.rank, x)
        return x

    def numpy(self, x: NumpyArray) -> NumpyArray:
        return np.flip(x, self.axes)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        return each_active(at, lambda ct: at.emit(self, ct))

    def simplify(self, at: Emitter[V], x: V) -> V | None:
        if not self.axes:
            return x
        producer = at.producer(x)
        return producer[1][0] if producer is not None and producer[0] == self else None


def inverse(perm: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes `perm`.

    >>> inverse((2, 0, 1))
    (1, 2, 0)
    """
    return tuple(sorted(range(len(perm)), key=perm.__getitem__))
