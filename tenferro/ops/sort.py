"""Sort, and the place of an extremum."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import numpy as np

from tenferro.chainrules import Emitter, JvpSite, Slots, V
from tenferro.errors import ShapeError
from tenferro.exec_ir import Array, Pruned, payload
from tenferro.ops.base import Inactive, StdTensorOp, check_axes, check_kind, reduced
from tenferro.ops.indexing import Gather
from tenferro.shape import INT64, Dim, TensorMeta


@payload
class Sort(StdTensorOp, name="sort"):
    """The elements along `axis` in ascending order, and the place that each had before, in int64.

    NaN comes last. Elements that are equal keep their order, so that the places are well defined.
    `outputs` says which of the two there are. A graph has both; passes drop what nothing reads.
    """

    axis: int
    outputs: tuple[bool, bool] = (True, True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n_outputs", sum(self.outputs))

    def infer_all(self, metas: Sequence[TensorMeta]) -> tuple[TensorMeta, ...]:
        """The operand's type, and int64 in its shape."""
        self.check_arity(len(metas))
        (x,) = metas
        check_kind(self.name, x, "biuf")
        check_axes(self.name, (self.axis,), x.rank, x)
        return tuple(compress((x, x.with_dtype(INT64)), self.outputs))

    def evaluate(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """`numpy.sort` and `numpy.argsort`, stable."""
        (x,) = inputs
        if self.outputs == (True, False):
            return (np.sort(x, axis=self.axis, kind="stable"),)
        places = np.argsort(x, axis=self.axis, kind="stable").astype(np.int64, copy=False)
        if self.outputs == (False, True):
            return (places,)
        return np.take_along_axis(x, places, self.axis), places

    def leading(self, size: Dim) -> Sort:
        """The axis is counted one further."""
        return Sort(self.axis + 1, self.outputs)

    def pruned(self, live: Sequence[bool]) -> Pruned | None:
        """The elements alone, or the places alone."""
        if self.outputs != (True, True):
            return None
        elements, places = live
        return Pruned.keeping_operands(Sort(self.axis, (elements, places)), 1, live)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The tangent in the same order; places have none."""
        (tangent,) = at.tangent
        if tangent is None or self.outputs == (False, True):
            return (None,) * self.n_outputs
        if self.outputs == (True, False):
            places = at.emit(Sort(self.axis, (False, True)), at.primal[0])
            return (gather_along(at.emitter, tangent, places, self.axis),)
        return gather_along(at.emitter, tangent, at.out[1], self.axis), None


class Extreme(Inactive):
    """Where along `axis`, which leaves the shape, an extremum is; the first of several."""

    axis: int

    def infer(self, x: TensorMeta) -> TensorMeta:
        """int64, in the operand's shape without `axis`."""
        check_kind(self.name, x, "biuf")
        result = reduced(self.name, x, (self.axis,)).with_dtype(INT64)
        if x.dims is not None and x.dims[self.axis] == 0:
            raise ShapeError(f"{self.name}: axis {self.axis} of {x} has no elements to choose from")
        return result


@payload
class ArgMax(Extreme, name="argmax"):
    """The place of the largest element along `axis`: the first of several; NaN wins."""

    axis: int

    def leading(self, size: Dim) -> ArgMax:
        """The axis is counted one further."""
        return ArgMax(self.axis + 1)

    def numpy(self, x: Array) -> Array:
        """`numpy.argmax`."""
        return np.asarray(np.argmax(x, axis=self.axis), np.int64)


@payload
class ArgMin(Extreme, name="argmin"):
    """The place of the smallest element along `axis`: the first of several; NaN wins."""

    axis: int

    def leading(self, size: Dim) -> ArgMin:
        """The axis is counted one further."""
        return ArgMin(self.axis + 1)

    def numpy(self, x: Array) -> Array:
        """`numpy.argmin`."""
        return np.asarray(np.argmin(x, axis=self.axis), np.int64)


def gather_along(at: Emitter[V], x: V, places: V, axis: int, *, unique: bool = True) -> V:
    """The elements of `x` at `places` along `axis`; other axes are common to both.

    `unique` promises that no element is named twice.
    """
    meta = at.ctx.meta(x)
    others = tuple(other for other in range(meta.rank) if other != axis)
    gather = Gather(
        (), (axis,), (axis,), meta.rank, (1,) * meta.rank, others, others, unique=unique
    )
    return at.emit(gather, x, places)
