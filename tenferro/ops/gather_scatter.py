"""Gather and scatter, with their derivative, batch and padding rules."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from tenferro.core import (
    Batched,
    BatchSite,
    Emitter,
    JvpSite,
    Slots,
    TransposeSite,
    V,
    add_terms,
    each_active,
)
from tenferro.errors import ADRuleError, AxisError, GraphError, ShapeError
from tenferro.ir import (
    INT32,
    INT64,
    Dim,
    Exact,
    InputDim,
    Known,
    MaskSite,
    NumpyArray,
    Reach,
    Resolution,
    ShapeExtent,
    TensorMeta,
    payload,
    product,
    symbol,
)
from tenferro.ops.base import LinearInFirst, StdTensorOp, entry_meta, extent_of, shifted, size_at
from tenferro.ops.broadcast import (
    BroadcastInDim,
    Iota,
    full,
    full_like,
    scalar_source,
    uniform,
    zeros_like,
)
from tenferro.ops.dimension_numbers import (
    DimensionNumbers,
    check_combined,
    check_mode,
    gathered,
    is_number,
    landing,
    refuse_padded_places,
    rows_of,
    scattered,
    window_of_updates,
)
from tenferro.ops.elementwise import CONJ, DIV, MUL, SELECT, Compare
from tenferro.ops.rearrange import Reshape

__all__ = ["Gather", "GatherDynamicSliceSizes", "Scatter", "ScatterReduce", "Scattering"]


# Gather and Scatter, which are transposes of each other; Gather with sizes from operands.


@payload
class Gathering(LinearInFirst):
    """Windows of an operand whose starts are values."""

    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    index_vector_dim: int
    slice_sizes: tuple[Dim, ...]
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()
    unique: bool = False
    mode: str = "clip"

    added_fields = ("mode",)

    moves = True

    @property
    def numbers(self) -> DimensionNumbers:
        """The dimension numbers."""
        axes = (self.offset_dims, self.collapsed_slice_dims, self.start_index_map)
        batching = (self.operand_batching_dims, self.start_indices_batching_dims)
        return DimensionNumbers(*axes, self.index_vector_dim, *batching)

    def fixed(self, sizes: Sequence[Dim]) -> Gather:
        """The `Gather` with these slice sizes, which must be numbers."""
        numbers = self.numbers
        return Gather(*numbers.axes, tuple(sizes), *numbers.batching, self.unique, self.mode)

    @abstractmethod
    def window(self, metas: Sequence[TensorMeta]) -> list[ShapeExtent]:
        """The extents of a window along each axis of the operand."""

    def infer_all(self, metas: Sequence[TensorMeta]) -> tuple[TensorMeta, ...]:
        """The extents of the batch and of a window, in the axis order of the result."""
        self.check_arity(len(metas))
        x, indices = metas[:2]
        if len(self.slice_sizes) != x.rank:
            raise AxisError(f"{self.name}: slice_sizes must have one entry for each axis of {x}")
        check_mode(self.name, self.mode)
        numbers = self.numbers
        numbers.check(self.name, x, indices)
        window = self.window(metas)
        numbers.check_window(self.name, x, indices, window)
        window_extents = [window[axis] for axis in numbers.window_axes(x.rank)]
        return (TensorMeta(x.dtype, numbers.result(indices, window_extents)),)

    def masked(self, at: MaskSite) -> None:
        """Allowed where windows are whole: padded indices give padded windows."""
        refuse_padded_places(at, self.numbers, self.window(at.operand_metas))
        at.keep(*map(at.operand, range(len(at.operand_metas))))

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """Zeros with the windows of the cotangent added; None for indices and shape sources."""
        numbers = self.numbers
        scatter = Scatter(*numbers.axes, *numbers.batching, unique=self.unique, mode=self.mode)
        x, indices, *_ = at.inputs
        return each_active(at, lambda ct: at.emit(scatter, zeros_like(at.emitter, x), indices, ct))

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        """A further batch axis; of the operand alone, a further axis of the windows."""
        of_x, of_indices, *_ = at.batched
        sizes = [shifted(size, at.batched) for size in self.slice_sizes]
        if of_x:
            sizes.insert(0, 1 if of_indices else at.size)
        unique = self.unique and of_x  # entries share an operand that is not batched
        gather = gathering(self.numbers.leading(of_x, of_indices), sizes, unique, self.mode)
        sources = at.inputs if isinstance(gather, GatherDynamicSliceSizes) else at.inputs[:2]
        return ((at.emit(gather, *sources), of_x or of_indices),)


@payload
class Gather(Gathering, name="gather"):
    """Windows of the first operand; the second operand holds the indices of their starts.

    The dimension numbers are those of StableHLO. A window that would exceed the operand is moved
    back into it, or is zero if `mode` is "drop". `unique` promises that windows do not overlap.
    """

    n_inputs = 2

    def window(self, metas: Sequence[TensorMeta]) -> list[ShapeExtent]:
        for size in self.slice_sizes:
            if not isinstance(size, int) or size < 0:
                raise ShapeError(
                    f"gather: slice size {size} is not a number of elements; "
                    "use gather_dynamic_slice_sizes for symbolic sizes"
                )
        return [Exact(size) for size in self.slice_sizes]

    def numpy(self, x: NumpyArray, indices: NumpyArray) -> NumpyArray:
        return gathered(x, self.numbers, indices, self.slice_sizes, self.mode)  # type: ignore[arg-type]  # numbers

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        return _windows_of_repeated(self, at, operands)


@payload
class GatherDynamicSliceSizes(Gathering, name="gather_dynamic_slice_sizes"):
    """Gather with slice sizes that follow the sizes of its operands.

    `dim(i, axis)` in `slice_sizes` is the size of an axis of operand i. Only the shapes of the
    operands after the indices are read. Before dispatch it is resolved to a `Gather` for the shapes
    of the run.
    """

    n_inputs = None
    follows_shapes = True

    def reads_shape_only(self, operand: int) -> bool:
        return operand > 1

    def check_arity(self, count: int) -> None:
        if count < 2:
            raise GraphError(f"{self.name}: takes an operand, indices and shape sources")

    def window(self, metas: Sequence[TensorMeta]) -> list[ShapeExtent]:
        """The slice sizes, with the guarantees of the operands' extents."""
        return [extent_of(self.name, size, metas) for size in self.slice_sizes]

    def resolved(
        self, metas: Sequence[TensorMeta], scalars: Mapping[int, NumpyArray] | None = None
    ) -> Resolution:
        """The `Gather` for operands of these shapes; the op itself while a slice size is named."""
        gather = self._at([meta.exact_shape(self.name) for meta in metas])
        if not all(isinstance(size, int) for size in gather.slice_sizes):
            return super().resolved(metas, scalars)
        return Resolution(gather, (0, 1))

    def _at(self, shapes: Sequence[tuple[Dim, ...]]) -> Gather:
        return self.fixed([size_at(size, shapes) for size in self.slice_sizes])

    def numpy(self, x: NumpyArray, indices: NumpyArray, *sources: NumpyArray) -> NumpyArray:
        gather = self._at([array.shape for array in (x, indices, *sources)])
        gather.window(())
        return gather.numpy(x, indices)

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """A `Gather`, if all sizes are known numbers."""
        metas = [at.ctx.meta(operand) for operand in operands]
        window = self.window(metas)
        if all(isinstance(extent, Exact) and isinstance(extent.dim, int) for extent in window):
            sizes = [extent.dim for extent in window if isinstance(extent, Exact)]
            return at.emit(self.fixed(sizes), *operands[:2])
        return _windows_of_repeated(self, at, operands)


@payload
class Scattering(StdTensorOp):
    """The first operand with windows of updates, the third operand, combined into it.

    The second operand holds the indices of the starts of the windows. Windows that are not wholly
    within the operand are dropped, or moved back into it if `mode` is "clip". `unique` promises
    that windows do not overlap. An optional fourth operand is read for its shape only, which is
    the shape of the updates.
    """

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    index_vector_dim: int
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()
    combiner: str = "add"
    unique: bool = False
    mode: str = "drop"

    added_fields = ("mode",)

    n_inputs = None
    combiners: ClassVar[dict[str, str]]
    """The kinds of dtype that each combiner takes."""

    @property
    def numbers(self) -> DimensionNumbers:
        """The dimension numbers."""
        windows = (self.update_window_dims, self.inserted_window_dims)
        batching = (self.operand_batching_dims, self.scatter_indices_batching_dims)
        to_operand = self.scatter_dims_to_operand_dims
        return DimensionNumbers(*windows, to_operand, self.index_vector_dim, *batching)

    def reads_shape_only(self, operand: int) -> bool:
        return operand == 3

    def check_arity(self, count: int) -> None:
        if count not in (3, 4):
            raise GraphError(f"{self.name}: takes operand, indices and updates, got {count}")

    def infer(self, x: TensorMeta, indices: TensorMeta, *updates: TensorMeta) -> TensorMeta:
        """The operand's type, if the updates fit the indices and the operand."""
        check_mode(self.name, self.mode)
        check_combined(self.name, self.combiner, self.combiners, x, updates[0])
        self.numbers.check(self.name, x, indices)
        for meta in updates:
            self.numbers.check_updates(self.name, x, indices, meta)
        return x

    def again(self, at: JvpSite[V], x: V, updates: V) -> V:
        """The same scatter of tangents; primal updates are the shape source if one is needed."""
        meta = at.ctx.meta(at.primal[2])
        known = all(is_number(meta.extents[axis]) for axis in self.update_window_dims)
        source = at.primal[3:] or (() if known else at.primal[2:3])
        return at.emit(self, x, at.primal[1], updates, *source)

    def gather_back(
        self, at: Emitter[V], x: V, indices: V, updates: TensorMeta, source: Sequence[V]
    ) -> V:
        """The windows of `x` that updates of type `updates` go to; zero for dropped updates.

        A window size that is not a number is read off the shape source; without a source it must
        be exact.
        """
        axes = self.numbers.window_axes(at.ctx.meta(x).rank)
        sizes: list[Dim] = [1] * at.ctx.meta(x).rank
        for axis, of_updates in zip(axes, self.update_window_dims, strict=True):
            if source and not is_number(updates.extents[of_updates]):
                sizes[axis] = symbol(InputDim(2, of_updates))
            else:
                sizes[axis] = updates.exact_shape(self.name, "updates")[of_updates]
        fixed = all(isinstance(size, int) for size in sizes)
        gather = gathering(self.numbers, sizes, self.unique, self.mode)
        return at.emit(gather, x, indices, *(() if fixed else source))

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        """A further batch axis; if the indices are not batched, a further axis of the windows."""
        numbers = self.numbers.leading(True, at.batched[1])
        unique = self.is_unique(entry_meta(at, 2))
        scatter = type(self)(*numbers.axes, *numbers.batching, self.combiner, unique, self.mode)
        x, updates, *source = [at.repeated(i) for i in range(len(at.inputs)) if i != 1]
        return ((at.emit(scatter, x, at.inputs[1], updates, *source), True),)

    def is_unique(self, updates: TensorMeta) -> bool:
        """Whether no element is in two windows: it is promised, or there is only one window."""
        batch = self.numbers.batch_dims(updates.rank)
        return self.unique or all(updates.extents[axis] == Exact(1) for axis in batch)


@payload
class Scatter(Scattering, name="scatter"):
    """The first operand with windows of the third added at the indices, the second operand.

    Windows that would exceed the operand are dropped, or moved back into it if `mode` is "clip".
    With `combiner="set"` the updates replace the elements; if several windows hit one element, the
    last one stays.
    """

    combiners: ClassVar[dict[str, str]] = {"add": "iufc", "set": "biufc"}

    def masked(self, at: MaskSite) -> None:
        """Padding of the updates becomes zeros, which change nothing when added."""
        x, _, updates, *source = at.operand_metas
        refuse_padded_places(at, self.numbers, window_of_updates(self.numbers, x.rank, updates))
        if at.padded(1) and (self.combiner != "add" or self.unique):
            raise at.refuse(f"padded indices would decide where {updates} is written")
        sources = [at.operand(3 + i) for i in range(len(source))]
        at.keep(at.operand(0), at.operand(1), at.zeroed(2), *sources, zeros=at.has_zeros(0))

    def reach(self, operand: int, metas: Sequence[TensorMeta], known: Known) -> Reach | None:
        """Those of the operand at the same place; of the updates, all that go there."""
        return Reach() if operand == 0 else landing(self.numbers, known(1), metas, self.mode)

    def numpy(
        self, x: NumpyArray, indices: NumpyArray, updates: NumpyArray, *source: NumpyArray
    ) -> NumpyArray:
        places, values = scattered(x.shape, self.numbers, indices, updates, self.mode)
        result = np.array(x, order="C")
        rows = rows_of(result, values)
        if self.combiner == "set":
            rows[places] = values  # if a place occurs several times, the last value stays
        elif self.unique:
            rows[places] += values
        else:
            np.add.at(rows, places, values)
        return result

    def linear(self, at: JvpSite[V]) -> bool:
        """In operand and updates together; its derivative may have one more shape source."""
        return None not in at.tangent[:3:2]

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        x, _, updates, *_ = at.primal
        dx, _, du, *_ = at.tangent
        if du is None and self.combiner == "add":
            return (dx,)
        dx = zeros_like(at.emitter, x) if dx is None else dx
        du = zeros_like(at.emitter, updates) if du is None else du
        return (self.again(at, dx, du),)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """For the operand, the cotangent where nothing was set; for the updates, its windows."""
        _, indices, updates, *source = at.inputs
        meta = at.ctx.meta(updates)

        def to_operand(ct: V) -> V:
            if self.combiner == "add":
                return ct
            return at.emit(self, ct, indices, zeros_like(at.emitter, updates), *source)

        def to_updates(ct: V) -> V:
            windows = self.gather_back(at.emitter, ct, indices, meta, source)
            if self.combiner == "add" or self.is_unique(meta):
                return windows
            return at.emit(SELECT, self._stayed(at), windows, zeros_like(at.emitter, windows))

        return each_active(at, to_operand, None, to_updates)

    def _stayed(self, at: TransposeSite[V]) -> V:
        """Whether each element of the updates stayed: whether its place holds its number."""
        x, indices, updates, *source = at.inputs
        meta = at.ctx.meta(updates)
        shape = meta.exact_shape(self.name, "updates")
        count = product(shape)
        dtype = INT32 if isinstance(count, int) and count <= np.iinfo(INT32).max else INT64
        order = at.emit(Reshape(shape), at.emit(Iota(dtype, count)))
        space = full(at.emitter, 0, at.ctx.meta(x).with_dtype(dtype))
        written = at.emit(self, space, indices, order)
        read_back = self.gather_back(at.emitter, written, indices, meta, source)
        return at.emit(Compare("EQ"), read_back, order)

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """The operand, if the updates are empty, or zeros that are added."""
        x, _, updates, *_ = operands
        if any(extent == Exact(0) for extent in at.ctx.meta(updates).extents):
            return x
        value = uniform(at, updates) if self.combiner == "add" else None
        return x if value is not None and bool(value == 0) else None


def gathering(
    numbers: DimensionNumbers, sizes: Sequence[Dim], unique: bool, mode: str = "clip"
) -> Gather | GatherDynamicSliceSizes:
    """The gather with these dimension numbers and slice sizes, which may be symbolic."""
    fixed = all(isinstance(size, int) for size in sizes)
    op = Gather if fixed else GatherDynamicSliceSizes
    return op(*numbers.axes, tuple(sizes), *numbers.batching, unique, mode)


def _windows_of_repeated(op: Gathering, at: Emitter[V], operands: Sequence[V]) -> V | None:
    """The windows of a repeated scalar: the scalar, repeated; None for other operands."""
    source = scalar_source(at, operands[0]) if op.mode == "clip" else None
    if source is None:
        return None
    (meta,) = op.infer_all([at.ctx.meta(operand) for operand in operands])
    return None if meta.dims is None else at.emit(BroadcastInDim(meta.dims, ()), source)


# ScatterReduce: scatter with a combiner that is not linear.

_UFUNCS: dict[str, np.ufunc] = {"mul": np.multiply, "min": np.minimum, "max": np.maximum}


@payload
class ScatterReduce(Scattering, name="scatter_reduce"):
    """The first operand with windows of the third combined into it at the indices, the second.

    `combiner` is "mul", "min" or "max"; in "min" and "max", NaN wins. Windows that would exceed the
    operand are dropped, or moved back into it if `mode` is "clip".
    """

    combiners: ClassVar[dict[str, str]] = {"mul": "iufc", "min": "iuf", "max": "iuf"}

    def numpy(
        self, x: NumpyArray, indices: NumpyArray, updates: NumpyArray, *source: NumpyArray
    ) -> NumpyArray:
        places, values = scattered(x.shape, self.numbers, indices, updates, self.mode)
        result = np.array(x, order="C")
        _UFUNCS[self.combiner].at(rows_of(result, values), places, values)
        return result

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """For an extremum, the mean over ties; for a product, the product rule."""
        return (self._of_product(at) if self.combiner == "mul" else self._of_extremum(at),)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """For a product, which is linear in the operand, the product with the cotangent."""
        _, indices, updates, *source = at.inputs
        assert self.combiner == "mul", "the tangent of an extremum is a sum"
        assert not at.active[2], "the tangent by a factor is a sum"
        return each_active(
            at, lambda ct: at.emit(self, ct, indices, at.emit(CONJ, updates), *source)
        )

    def _of_extremum(self, at: JvpSite[V]) -> V | None:
        """The mean of the tangents of the candidates for an element that equal the result."""
        x, indices, updates, *source = at.primal
        meta = at.ctx.meta(updates)
        back = self.gather_back(at.emitter, at.out[0], indices, meta, source or [updates])
        shares: list[V] = []
        parts: list[V] = []
        for candidate, result, tangent in (
            (x, at.out[0], at.tangent[0]),
            (updates, back, at.tangent[2]),
        ):
            wins = at.emit(Compare("EQ"), candidate, result)
            zero = zeros_like(at.emitter, candidate)
            share = at.emit(SELECT, wins, full_like(at.emitter, 1, candidate), zero)
            shares.append(share)
            parts.append(zero if tangent is None else at.emit(MUL, share, tangent))
        plain = self._sum(self.unique)
        return at.emit(DIV, plain.again(at, *parts), plain.again(at, *shares))

    def _of_product(self, at: JvpSite[V]) -> V | None:
        """The product rule; updates have a derivative only if their windows do not overlap."""
        x, indices, updates, *source = at.primal
        dx, _, du, *_ = at.tangent
        terms = [None if dx is None else self.again(at, dx, updates)]
        if du is not None:
            meta = at.ctx.meta(updates)
            if not (self.is_unique(meta) or self._known_to_differ(at.emitter, indices)):
                raise ADRuleError(
                    "scatter_reduce: mul has no derivative by updates whose windows may overlap; "
                    "if they do not overlap, pass unique=True"
                )
            factor = self.gather_back(at.emitter, x, indices, meta, source or [updates])
            space = zeros_like(at.emitter, x)
            terms.append(self._sum(True).again(at, space, at.emit(MUL, factor, du)))
        return add_terms(at.emitter, terms)

    def _known_to_differ(self, at: Emitter[V], indices: V) -> bool:
        """Whether the indices are constants, and no two windows start alike and are longer than 1.

        Indices out of bounds may start alike when they are clipped, so these are not asked.
        """
        numbers = self.numbers
        if set(numbers.index_map) != set(numbers.dropped) or numbers.operand_batching:
            return False
        known = None if self.mode == "clip" else _constant(at, indices)
        if known is None:
            return False
        last = numbers.index_vector_dim < known.ndim
        vectors = np.moveaxis(known, numbers.index_vector_dim, -1) if last else known[..., None]
        vectors = vectors.reshape(-1, vectors.shape[-1])
        return len(np.unique(vectors, axis=0)) == len(vectors)

    def _sum(self, unique: bool) -> Scatter:
        """The `Scatter` that adds at the same indices."""
        numbers = self.numbers
        return Scatter(*numbers.axes, *numbers.batching, unique=unique, mode=self.mode)


def _constant(at: Emitter[V], value: V, near: int = 12) -> NumpyArray | None:
    """A value that constants alone decide, by at most `near` ops in a row; None for others."""
    producer = at.producer(value) if near else None
    if producer is None:
        return None
    op, operands = producer
    known = [_constant(at, operand, near - 1) for operand in operands]
    if any(each is None for each in known) or not (
        op.source or op.pointwise or op.moves or op.repeats
    ):
        return None
    return np.asarray(op.evaluate(known)[0])
