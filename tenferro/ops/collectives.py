"""Ops on a named axis: what one entry of a batch, or one device of a mesh, computes with others.

`vmap` and `shard_map` bind names. Each gives the function a value that is the place of its entry
along the axis, and the ops on the axis have that value as their last operand. So a batch rule knows
its axis: it is the one along which that operand is batched. The rule replaces the op by one on all
entries. In `shard_map` the ops stay, and the executor exchanges what they need between devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tenferro.core import (
    Batched,
    BatchSite,
    JvpSite,
    Slots,
    TransposeSite,
    V,
    each_active,
)
from tenferro.errors import DTypeError, GraphError, ShapeError, UnboundAxisError
from tenferro.ir import INT32, Dim, Exact, NumpyArray, TensorMeta, make_meta, payload
from tenferro.ops.base import StdTensorOp, check_kind
from tenferro.ops.broadcast import ReduceSum, full_like, zeros_like
from tenferro.ops.elementwise import DIV, MUL, SELECT, Compare
from tenferro.ops.rearrange import Reshape, Transpose
from tenferro.ops.reductions import ReduceMax, ReduceMin
from tenferro.ops.slicing import Concatenate, Slice

__all__ = [
    "INDEX",
    "AllGather",
    "AllToAll",
    "Collective",
    "Exchange",
    "PExtremum",
    "PMax",
    "PMin",
    "PPermute",
    "PSame",
    "PSum",
    "PVary",
    "ReduceScatter",
]

INDEX = make_meta(INT32, ())
"""The type of the place of an entry along a named axis."""


@payload
class Collective(StdTensorOp):
    """An op on the axes `names`, which other entries take part in.

    Its first operand is the value of this entry; then comes the place of the entry along each axis.
    It has a meaning only where the names are bound.
    """

    names: tuple[str, ...]

    kinds: ClassVar[str] = "biufc"
    """The NumPy dtype kinds that it takes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n_inputs", 1 + len(self.names))

    def infer(self, x: TensorMeta, *indices: TensorMeta) -> TensorMeta:
        check_kind(self.name, x, self.kinds)
        for index in indices:
            if index.rank or index.dtype != INT32:
                raise DTypeError(
                    f"{self.name}: the place along an axis must be {INDEX}, got {index}"
                )
        return self.of_entry(x)

    def of_entry(self, x: TensorMeta) -> TensorMeta:
        """The type of the result."""
        return x

    def evaluate(self, inputs: Sequence[NumpyArray]) -> tuple[NumpyArray, ...]:
        raise UnboundAxisError.of(self.name, self.names)

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        """On all entries, if the batch is one of the axes; else the op for each entry."""
        x, *indices = at.inputs
        bound = at.batched[1:]
        if True not in bound:
            return ((self.for_each(at, x, indices), True),)
        rest = [place for place, on in enumerate(bound) if not on]
        value, is_batched = self.over_entries(at)
        if rest:
            op = type(self)(**self._fields_for(tuple([self.names[place] for place in rest])))
            others = [indices[place] for place in rest]
            value = op.for_each(at, value, others) if is_batched else at.emit(op, value, *others)
        return ((value, is_batched),)

    def _fields_for(self, names: tuple[str, ...]) -> dict[str, Any]:
        """The fields of the op on fewer axes."""
        return {name: getattr(self, name) for name in self.payload_fields()} | {"names": names}

    def for_each(self, at: BatchSite[V], x: V, indices: Sequence[V]) -> V:
        """The op for each entry along axis 0 of the operand, which is another axis."""
        return at.emit(self, x, *indices)

    def over_entries(self, at: BatchSite[V]) -> tuple[V, bool]:
        """The result where the batch is the axis, and whether it is batched."""
        raise AssertionError(f"{self.name}: has no rule for a bound axis")


@payload
class LinearCollective(Collective):
    """A collective that is linear in the values of the entries."""

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        return (at.emit(self, at.tangent[0], *at.primal[1:]),)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        return each_active(at, lambda ct: self.transposed(at, ct))

    def transposed(self, at: TransposeSite[V], ct: V) -> V:
        """The cotangent of the value of this entry."""
        raise AssertionError(f"{self.name}: has no transpose")


# Sums: what the entries compute is added.


@payload
class PSum(LinearCollective, name="psum"):
    """The sum over the axes.

    In `vmap` each entry has a sum of its own, and the cotangents of all of them are added. If it is
    `invariant`, there is one sum for all entries: its cotangent is the same for all of them, and
    that of each term.
    """

    invariant: bool = False

    kinds = "iufc"

    def transposed(self, at: TransposeSite[V], ct: V) -> V:
        op = PVary(self.names) if self.invariant else self
        return at.emit(op, ct, *at.inputs[1:])

    def over_entries(self, at: BatchSite[V]) -> tuple[V, bool]:
        x = at.inputs[0]
        if at.batched[0]:
            return at.emit(ReduceSum((0,)), x), False
        if isinstance(at.size, int):
            return at.emit(MUL, x, full_like(at.emitter, at.size, x)), False
        return at.emit(ReduceSum((0,)), at.repeated(0)), False


@payload
class PVary(LinearCollective, name="pvary"):
    """The operand, of which each entry along the axes has a copy: their cotangents are added."""

    for_derivatives = True

    def transposed(self, at: TransposeSite[V], ct: V) -> V:
        return at.emit(PSum(self.names, invariant=True), ct, *at.inputs[1:])

    def over_entries(self, at: BatchSite[V]) -> tuple[V, bool]:
        return at.repeated(0), True


@payload
class PSame(LinearCollective, name="psame"):
    """The operand, which is the same for all `count` entries along the axes.

    The cotangent of each of these copies is its share in that of the result.
    """

    count: int

    for_derivatives = True

    def transposed(self, at: TransposeSite[V], ct: V) -> V:
        share = at.emit(MUL, ct, full_like(at.emitter, 1 / self.count, ct))
        return at.emit(PVary(self.names), share, *at.inputs[1:])

    def over_entries(self, at: BatchSite[V]) -> tuple[V, bool]:
        x = at.inputs[0]
        if not at.batched[0]:
            return x, False
        sizes = at.ctx.meta(x).exact_shape(self.name)[1:]
        return at.emit(Reshape(sizes), _window(at, x, 0, 1)), False


# Extrema.


@payload
class PExtremum(Collective):
    """The largest or smallest value along the axes, elementwise; NaN wins.

    It may be `invariant`, as a sum.
    """

    invariant: bool = False

    kinds = "iuf"
    reduction: ClassVar[type[ReduceMax | ReduceMin]]
    """The same over an axis."""

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The mean of the tangents of the entries that have the result."""
        (tangent, *_), (x, *indices), (out,) = at.tangent, at.primal, at.out
        assert tangent is not None, "the others are integers"
        one, zero = full_like(at.emitter, 1, x), zeros_like(at.emitter, x)
        mask = at.emit(SELECT, at.emit(Compare("EQ"), x, out), one, zero)
        total = PSum(self.names, self.invariant)
        count = at.emit(total, mask, *indices)
        return (at.emit(DIV, at.emit(total, at.emit(MUL, mask, tangent), *indices), count),)

    def over_entries(self, at: BatchSite[V]) -> tuple[V, bool]:
        x = at.inputs[0]
        return at.emit(self.reduction((0,)), x) if at.batched[0] else x, False


@payload
class PMax(PExtremum, name="pmax"):
    """The largest value along the axes, elementwise; NaN wins."""

    reduction = ReduceMax


@payload
class PMin(PExtremum, name="pmin"):
    """The smallest value along the axes, elementwise; NaN wins."""

    reduction = ReduceMin


# Along one axis, of a known size: what entries send to each other.


@payload
class Exchange(LinearCollective):
    """A collective along one axis, which has `size` entries."""

    size: Dim

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.names) != 1:
            raise GraphError(f"{self.name}: goes along one axis, got {self.names}")


@payload
class AllGather(Exchange, name="all_gather"):
    """The values of all entries, stacked along a new axis 0."""

    def of_entry(self, x: TensorMeta) -> TensorMeta:
        return x.with_extents([Exact(self.size), *x.extents])

    def transposed(self, at: TransposeSite[V], ct: V) -> V:
        return at.emit(ReduceScatter(self.names, self.size), ct, *at.inputs[1:])

    def for_each(self, at: BatchSite[V], x: V, indices: Sequence[V]) -> V:
        return _swapped(at, at.emit(self, x, *indices))

    def over_entries(self, at: BatchSite[V]) -> tuple[V, bool]:
        return at.repeated(0), False


@payload
class ReduceScatter(Exchange, name="psum_scatter"):
    """The sum over the axis, of which each entry has the part at its place along axis 0."""

    kinds = "iufc"

    def of_entry(self, x: TensorMeta) -> TensorMeta:
        _check_parts(self, x)
        return x.with_extents(x.extents[1:])

    def transposed(self, at: TransposeSite[V], ct: V) -> V:
        return at.emit(AllGather(self.names, self.size), ct, *at.inputs[1:])

    def for_each(self, at: BatchSite[V], x: V, indices: Sequence[V]) -> V:
        return at.emit(self, _swapped(at, x), *indices)

    def over_entries(self, at: BatchSite[V]) -> tuple[V, bool]:
        return PSum.over_entries(PSum(self.names), at)[0], True


@payload
class AllToAll(Exchange, name="all_to_all"):
    """The parts along axis 0: part j goes to entry j, and part i of the result comes from it."""

    def of_entry(self, x: TensorMeta) -> TensorMeta:
        _check_parts(self, x)
        return x

    def transposed(self, at: TransposeSite[V], ct: V) -> V:
        return at.emit(self, ct, *at.inputs[1:])

    def for_each(self, at: BatchSite[V], x: V, indices: Sequence[V]) -> V:
        return _swapped(at, at.emit(self, _swapped(at, x), *indices))

    def over_entries(self, at: BatchSite[V]) -> tuple[V, bool]:
        return _swapped(at, at.repeated(0)), True


@payload
class PPermute(Exchange, name="ppermute"):
    """The value of another entry: `perm` has pairs of a source and its target.

    Entries that are no target have zeros.
    """

    perm: tuple[tuple[int, int], ...]

    def transposed(self, at: TransposeSite[V], ct: V) -> V:
        back = tuple([(target, source) for source, target in self.perm])
        return at.emit(PPermute(self.names, self.size, back), ct, *at.inputs[1:])

    def over_entries(self, at: BatchSite[V]) -> tuple[V, bool]:
        """Windows of consecutive sources, and zeros, one after another."""
        assert isinstance(self.size, int), "checked where it is made"
        x = at.repeated(0)
        source = dict.fromkeys(range(self.size))
        source.update({target: place for place, target in self.perm})
        parts: list[V] = []
        target = 0
        while target < self.size:
            first, count = source[target], 1
            while target + count < self.size and source[target + count] == (
                None if first is None else first + count
            ):
                count += 1
            part = _window(at, x, first or 0, count)
            parts.append(zeros_like(at.emitter, part) if first is None else part)
            target += count
        return at.emit(Concatenate(0), *parts) if len(parts) > 1 else parts[0], True


def _check_parts(op: Exchange, x: TensorMeta) -> None:
    """Raise ShapeError unless axis 0 has a part for each entry."""
    if not x.rank or x.extents[0] != Exact(op.size):
        raise ShapeError(
            f"{op.name}: axis 0 of {x} must have a part for each of the {op.size} entries along "
            f"{op.names[0]!r}"
        )


def _swapped(at: BatchSite[V], x: V) -> V:
    """The value with its first two axes exchanged."""
    return at.emit(Transpose((1, 0, *range(2, at.ctx.meta(x).rank))), x)


def _window(at: BatchSite[V], x: V, start: int, count: int) -> V:
    """`count` entries along axis 0, from `start` on."""
    meta: TensorMeta = at.ctx.meta(x)
    sizes = meta.exact_shape("collective")[1:]
    zeros, ones = (0,) * len(sizes), (1,) * len(sizes)
    return at.emit(Slice((start, *zeros), (start + count, *sizes), (1, *ones)), x)
