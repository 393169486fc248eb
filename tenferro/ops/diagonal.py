"""Diagonals and triangles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tenferro.chainrules import JvpSite, Slots, TransposeSite, V, each_active, multilinear
from tenferro.errors import AxisError, ShapeError
from tenferro.exec_ir import Array, Known, MaskSite, Reach, payload
from tenferro.ops.base import StdTensorOp, check_axes, keep_axes
from tenferro.shape import Dim, TensorMeta


class Diagonal(StdTensorOp):
    """An op that relates two axes of equal size; padding of the operand stays padding."""

    def reach(self, operand: int, metas: Sequence[TensorMeta], known: Known) -> Reach | None:
        """The element that comes to the place; none where a zero is."""
        return self.placed(operand, metas, known)

    def masked(self, at: MaskSite) -> None:
        """The op on the padded operand."""
        at.keep(at.operand(0), zeros=at.has_zeros(0))


@payload
class ExtractDiag(Diagonal, name="extract_diag"):
    """The elements with equal indices along `axis_a` and `axis_b`; the result has no `axis_b`."""

    axis_a: int
    axis_b: int

    moves = True
    derivative_needs_sizes = True

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The operand's type without `axis_b`."""
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

    def leading(self, size: Dim) -> ExtractDiag:
        """The axes are counted one further."""
        return ExtractDiag(self.axis_a + 1, self.axis_b + 1)

    def numpy(self, x: Array) -> Array:
        """`numpy.diagonal`, moved to `axis_a`."""
        return np.moveaxis(np.diagonal(x, axis1=self.axis_a, axis2=self.axis_b), -1, self.axis_a)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear."""
        return multilinear(at, self)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """Zeros with the cotangent on the diagonal."""
        return each_active(at, lambda ct: at.emit(EmbedDiag(self.axis_a, self.axis_b), ct))


@payload
class EmbedDiag(Diagonal, name="embed_diag"):
    """A new axis `axis_b`: the operand where the indices of the two axes are equal, else 0."""

    axis_a: int
    axis_b: int

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The operand's type with a new axis `axis_b` of the size of `axis_a`."""
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

    def leading(self, size: Dim) -> EmbedDiag:
        """The axes are counted one further."""
        return EmbedDiag(self.axis_a + 1, self.axis_b + 1)

    def numpy(self, x: Array) -> Array:
        """Zeros, with the operand written on the diagonal."""
        size = x.shape[self.axis_a]
        sizes = (*x.shape[: self.axis_b], size, *x.shape[self.axis_b :])
        result = np.zeros(sizes, x.dtype)
        places = np.arange(size)
        square = np.moveaxis(result, (self.axis_a, self.axis_b), (0, 1))
        square[places, places] = np.moveaxis(x, self.axis_a, 0)
        return result

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear."""
        return multilinear(at, self)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The diagonal of the cotangent."""
        return each_active(at, lambda ct: at.emit(ExtractDiag(self.axis_a, self.axis_b), ct))


class Triangle(Diagonal):
    """The elements on one side of diagonal `k` of the last two axes, zeros on the other side."""

    k: int

    def leading(self, size: Dim) -> Triangle:
        """The op itself: it acts on the last two axes."""
        return self

    def infer(self, x: TensorMeta) -> TensorMeta:
        """The operand's type."""
        if x.rank < 2:
            raise ShapeError(f"{self.name}: needs at least two axes, got {x}")
        return x

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """Linear."""
        return multilinear(at, self)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The same triangle of the cotangent."""
        return each_active(at, lambda ct: at.emit(self, ct))


@payload
class Tril(Triangle, name="tril"):
    """The elements on and below diagonal `k` of the last two axes."""

    k: int = 0

    def numpy(self, x: Array) -> Array:
        """`numpy.tril`."""
        return np.tril(x, self.k)


@payload
class Triu(Triangle, name="triu"):
    """The elements on and above diagonal `k` of the last two axes."""

    k: int = 0

    def numpy(self, x: Array) -> Array:
        """`numpy.triu`."""
        return np.triu(x, self.k)
