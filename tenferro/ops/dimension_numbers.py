"""Dimension numbers of gather and scatter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tenferro.errors import AxisError, DTypeError, ShapeError, UnsupportedDynamicShapeError, counted
from tenferro.ir import (
    Exact,
    MaskSite,
    NumpyArray,
    Reach,
    ShapeExtent,
    TensorMeta,
    describe,
    same_size,
)
from tenferro.ops.base import check_axes, check_kind, shape_of, types

# The dimension numbers of gather and scatter, as in StableHLO, in one form for both.


@dataclass(frozen=True, slots=True)
class DimensionNumbers:
    """The relation between the axes of an operand, an array of indices and an array of windows.

    The axes of the indices other than `index_vector_dim` are the *batch axes*; there is one window
    for each element of the batch.

    Attributes:
        window_dims: axes of the array of windows that run over a window; the others are batch axes.
        dropped: axes of the operand along which a window has size 1; the window has no such axis.
        index_map: for each component of an index, the axis of the operand that it refers to.
        index_vector_dim: axis of the indices along which the components lie; the rank of the
            indices if an index is one number.
        operand_batching: axes of the operand that are matched with batch axes.
        indices_batching: for each of these, the axis of the indices that it is matched with.
    """

    window_dims: tuple[int, ...]
    dropped: tuple[int, ...]
    index_map: tuple[int, ...]
    index_vector_dim: int
    operand_batching: tuple[int, ...] = ()
    indices_batching: tuple[int, ...] = ()

    @property
    def axes(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int]:
        """The first four attributes, in the order in which ops have them."""
        return self.window_dims, self.dropped, self.index_map, self.index_vector_dim

    @property
    def batching(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The last two attributes."""
        return self.operand_batching, self.indices_batching

    def leading(self, operand: bool, indices: bool) -> DimensionNumbers:
        """The relation where operand or indices have one more leading axis, and so the windows.

        The axis of the operand alone is one of the windows.
        """
        both, windows = operand and indices, operand or indices
        return DimensionNumbers(
            (*(0,) * (windows and not indices), *_moved(self.window_dims, windows)),
            _moved(self.dropped, operand),
            _moved(self.index_map, operand),
            self.index_vector_dim + indices,
            (*(0,) * both, *_moved(self.operand_batching, operand)),
            (*(0,) * both, *_moved(self.indices_batching, indices)),
        )

    def check(self, name: str, x: TensorMeta, indices: TensorMeta) -> None:
        """Raise a typed error if operand and indices do not fit these dimension numbers."""
        check_kind(name, indices, "iu")
        dropped = (*self.dropped, *self.operand_batching)
        check_axes(name, dropped, x.rank, x)
        check_axes(name, self.index_map, x.rank, x)
        check_axes(name, self.indices_batching, indices.rank, indices)
        if set(self.index_map) & set(self.operand_batching):
            raise AxisError(
                f"{name}: axes {self.operand_batching} of {x} are batching axes; "
                f"the index map {self.index_map} must not name them"
            )
        if len(self.window_dims) != x.rank - len(dropped) or self.window_dims != tuple(
            sorted(set(self.window_dims))
        ):
            raise AxisError(
                f"{name}: the window axes {self.window_dims} must increase, one for each axis of "
                f"{x} but {dropped}"
            )
        vector_dim = self.index_vector_dim
        if not 0 <= vector_dim <= indices.rank:
            raise AxisError(f"{name}: index_vector_dim {vector_dim} is out of range for {indices}")
        if vector_dim in self.indices_batching:
            raise AxisError(
                f"{name}: axis {vector_dim} of {indices} holds the components of an "
                "index; it cannot be a batching axis"
            )
        count = Exact(1) if vector_dim == indices.rank else indices.extents[vector_dim]
        if count != Exact(len(self.index_map)):
            raise ShapeError(
                f"{name}: an index of {indices} has {counted(count, 'component')} along axis "
                f"{vector_dim}, but the index map {self.index_map} names "
                f"{counted(len(self.index_map), 'axis', 'axes')}"
            )
        if len(self.operand_batching) != len(self.indices_batching):
            raise AxisError(
                f"{name}: batching axes {self.operand_batching} of {x} and "
                f"{self.indices_batching} of {indices} must come in pairs"
            )
        for axis, indices_axis in zip(self.operand_batching, self.indices_batching, strict=True):
            axes_text = f"axis {axis} of {x} and axis {indices_axis} of {indices}"
            require_same(name, x.extents[axis], indices.extents[indices_axis], axes_text)

    def check_window(
        self, name: str, x: TensorMeta, indices: TensorMeta, window: Sequence[ShapeExtent]
    ) -> None:
        """Raise ShapeError if there are windows and one of these extents does not fit."""
        none = any(indices.extents[axis] == Exact(0) for axis in self.batch(indices.rank))
        for axis, size in enumerate(window):
            if axis in (*self.dropped, *self.operand_batching) and size != Exact(1):
                raise ShapeError(
                    f"{name}: windows do not have axis {axis} of {x}; "
                    f"its slice size must be 1, not {size}"
                )
            if exceeds(size, x.extents[axis]) and not none:
                raise ShapeError(f"{name}: a slice of size {size} does not fit axis {axis} of {x}")

    def check_updates(
        self, name: str, x: TensorMeta, indices: TensorMeta, updates: TensorMeta
    ) -> None:
        """Raise a typed error if the updates do not fit the operand and the indices."""
        batch = self.batch(indices.rank)
        rank = len(batch) + len(self.window_dims)
        if updates.rank != rank or any(axis >= rank for axis in self.window_dims):
            raise ShapeError(
                f"{name}: updates {updates} must have {counted(rank, 'axis', 'axes')}, of which "
                f"{self.window_dims} run over windows and the others over indices {indices}"
            )
        for axis, of_indices in zip(self.batch_dims(rank), batch, strict=True):
            axes_text = (
                f"axis {axis} of updates {updates} and axis {of_indices} of indices {indices}"
            )
            require_same(name, updates.extents[axis], indices.extents[of_indices], axes_text)
        for axis, of_x in zip(self.window_dims, self.window_axes(x.rank), strict=True):
            if exceeds(updates.extents[axis], x.extents[of_x]):
                raise ShapeError(
                    f"{name}: windows of updates {updates} do not fit axis {of_x} of {x}"
                )

    def batch(self, indices_rank: int) -> list[int]:
        """The batch axes of the indices."""
        return [axis for axis in range(indices_rank) if axis != self.index_vector_dim]

    def window_axes(self, rank: int) -> list[int]:
        """The axes of the operand that a window has."""
        dropped = {*self.dropped, *self.operand_batching}
        return [axis for axis in range(rank) if axis not in dropped]

    def batch_dims(self, rank: int) -> list[int]:
        """The batch axes of an array of windows of rank `rank`."""
        return [axis for axis in range(rank) if axis not in self.window_dims]

    def result(self, indices: TensorMeta, window: Sequence[ShapeExtent]) -> list[ShapeExtent]:
        """The extents of the array of windows; `window` are the extents of one window."""
        batch_extents = [indices.extents[axis] for axis in self.batch(indices.rank)]
        count = len(batch_extents) + len(window)
        batch, windows = iter(batch_extents), iter(window)
        for axis in self.window_dims:
            if axis >= count:
                raise AxisError(
                    f"gather: window axis {axis} is out of range for a result of rank {count}"
                )
        return [next(windows if axis in self.window_dims else batch) for axis in range(count)]

    # ------------------------------------------------------------------------------ NumPy arrays

    def starts(self, indices: NumpyArray, shape: Sequence[int]) -> dict[int, NumpyArray]:
        """For each axis of the operand with an index, the starts of the windows over the batch."""
        last = self.index_vector_dim < indices.ndim
        vectors = np.moveaxis(indices, self.index_vector_dim, -1) if last else indices[..., None]
        if vectors.dtype == np.uint64:  # larger ones are out of bounds anyway
            vectors = np.minimum(vectors, np.uint64(2**63 - 1))
        vectors = vectors.astype(np.int64, copy=False)
        starts = {axis: vectors[..., i] for i, axis in enumerate(self.index_map)}
        rank = vectors.ndim - 1
        for axis, of_indices in zip(self.operand_batching, self.indices_batching, strict=True):
            place = of_indices if of_indices < self.index_vector_dim else of_indices - 1
            starts[axis] = along(np.arange(shape[axis]), place, rank)
        return starts

    def to_result(self, windows: NumpyArray, batch_rank: int) -> NumpyArray:
        """An array with batch axes first, transposed to the axis order of the result."""
        windows_at = dict(zip(self.window_dims, range(batch_rank, windows.ndim), strict=True))
        batch = iter(range(batch_rank))
        order = [windows_at[a] if a in windows_at else next(batch) for a in range(windows.ndim)]
        return windows.transpose(order)

    def from_result(self, windows: NumpyArray) -> NumpyArray:
        """An array of windows, transposed so that the batch axes come first."""
        return windows.transpose([*self.batch_dims(windows.ndim), *self.window_dims])


def _moved(axes: Sequence[int], by: int) -> tuple[int, ...]:
    return tuple([axis + by for axis in axes])


def require_same(name: str, a: ShapeExtent, b: ShapeExtent, axes_text: str) -> None:
    """Raise a typed error if two extents are not certainly equal; `axes_text` names both axes."""
    if same_size(a, b):
        return
    for extent in (a, b):
        if not isinstance(extent, Exact):
            raise UnsupportedDynamicShapeError(name, f"the size of {axes_text}", describe(extent))
    raise ShapeError(f"{name}: {axes_text} have sizes {a} and {b}, which differ")


def is_number(extent: ShapeExtent) -> bool:
    """Whether an extent is a known number."""
    return isinstance(extent, Exact) and isinstance(extent.dim, int)


def exceeds(size: ShapeExtent, limit: ShapeExtent) -> bool:
    """Whether a window size certainly exceeds the size of its axis."""
    if not (isinstance(size, Exact) and isinstance(limit, Exact)):
        return False
    excess = size.dim - limit.dim
    return isinstance(excess, int) and excess > 0


def check_mode(name: str, mode: str) -> None:
    """Raise DTypeError unless `mode` says what becomes of windows that would exceed the operand."""
    if mode not in ("clip", "drop"):
        raise DTypeError(f"{name}: mode {mode!r} is not one of clip, drop")


def check_combined(
    name: str, combiner: str, kinds: Mapping[str, str], x: TensorMeta, updates: TensorMeta
) -> None:
    """Raise DTypeError if the combiner is unknown, or does not take the operand or the updates."""
    if combiner not in kinds:
        raise DTypeError(f"{name}: combiner {combiner!r} is not one of {', '.join(kinds)}")
    if updates.dtype != x.dtype:
        raise DTypeError(
            f"{name}: operand and updates have types {types([x, updates])}; "
            "convert them to one dtype"
        )
    check_kind(name, x, kinds[combiner])


def gathered(
    x: NumpyArray,
    numbers: DimensionNumbers,
    indices: NumpyArray,
    sizes: Sequence[int],
    mode: str = "clip",
) -> NumpyArray:
    """The windows of `x`, moved so that they lie within it, or zero if `mode` is "drop"."""
    starts = numbers.starts(indices, x.shape)
    batch = np.broadcast_shapes(*[start.shape for start in starts.values()])
    if not starts:
        batch = tuple(indices.shape[axis] for axis in numbers.batch(indices.ndim))
    # Whole axes are sliced; the other axes come first and are indexed element by element.
    picked = [axis for axis in starts if sizes[axis] != x.shape[axis] or sizes[axis] == 1]
    sliced = [axis for axis in range(x.ndim) if axis not in picked]
    grids: list[NumpyArray] = []
    for place, axis in enumerate(picked):
        start = np.clip(starts[axis], 0, max(x.shape[axis] - sizes[axis], 0))
        start = start.reshape(start.shape + (1,) * len(picked))
        if sizes[axis] != 1:
            start = start + along(np.arange(sizes[axis]), place, len(picked))
        grids.append(start)
    rest = tuple(slice(0, sizes[axis]) for axis in sliced)
    at: tuple[Any, ...] = (*grids, *rest)
    windows = x.transpose([*picked, *sliced])[at]
    if not picked:
        windows = np.broadcast_to(windows, (*batch, *windows.shape))
    full = (*batch, *[sizes[axis] for axis in (*picked, *sliced)])
    windows = np.broadcast_to(windows, full) if windows.shape != full else windows
    order = np.argsort([*picked, *sliced], kind="stable")
    windows = windows.transpose([*range(len(batch)), *(len(batch) + order)])
    window_sizes = [sizes[axis] for axis in numbers.window_axes(x.ndim)]
    windows = windows.reshape((*batch, *window_sizes))
    if mode == "drop":
        inside = _fits(starts, x.shape, sizes, batch)
        if not inside.all():
            column = inside.reshape(batch + (1,) * len(window_sizes))
            windows = np.where(column, windows, np.zeros((), x.dtype))
    return numbers.to_result(windows, len(batch))


def _fits(
    starts: Mapping[int, NumpyArray],
    shape: Sequence[int],
    sizes: Sequence[int],
    batch: tuple[int, ...],
) -> NumpyArray:
    """For each element of the batch, whether its window is wholly within the operand."""
    inside = np.ones(batch, bool)
    for axis, start in starts.items():
        inside &= (start >= 0) & (start <= shape[axis] - sizes[axis])
    return inside


def scattered(
    shape: Sequence[int],
    numbers: DimensionNumbers,
    indices: NumpyArray,
    updates: NumpyArray,
    mode: str,
) -> tuple[NumpyArray, NumpyArray]:
    """The numbers of the rows of the operand that updates go to, and the updates as rows.

    The updates have shape `[rows, length]`, or `[elements]` if a row is one element. Windows that
    are not wholly within the operand are dropped, or moved into it if `mode` is "clip".
    """
    starts = numbers.starts(indices, shape)
    windows = numbers.from_result(updates)
    axes = numbers.window_axes(len(shape))
    count = windows.ndim - len(axes)
    batch = windows.shape[:count]
    sizes = [1] * len(shape)
    for axis, size in zip(axes, windows.shape[count:], strict=True):
        sizes[axis] = size
    keep: slice | NumpyArray = slice(None)
    if mode == "clip":
        starts = {axis: np.clip(i, 0, shape[axis] - sizes[axis]) for axis, i in starts.items()}
    elif not (inside := _fits(starts, shape, sizes, batch)).all():
        keep = np.flatnonzero(inside)
    rank = len(shape)
    while rank and sizes[rank - 1] == shape[rank - 1] > 0:
        rank -= 1  # the whole axes at the end form a row
    row = math.prod(shape[rank:])
    stride = [math.prod(shape[axis + 1 : rank]) for axis in range(rank)]
    offsets = np.zeros(batch, np.int64)
    for axis, start in starts.items():
        if axis < rank:
            offsets += start * stride[axis]
    places = np.zeros((), np.int64)
    for axis in range(rank):
        places = places[..., None] + np.arange(sizes[axis]) * stride[axis]
    lines = math.prod(sizes[:rank])
    values = windows.reshape(math.prod(batch), lines, row)[keep]
    return (offsets.ravel()[keep, None] + places.ravel()).ravel(), (
        values.ravel() if row == 1 else values.reshape(-1, row)
    )


def landing(
    numbers: DimensionNumbers, indices: NumpyArray | None, metas: Sequence[TensorMeta], mode: str
) -> Reach | None:
    """Of the updates of a scatter, those that go to each element; None if that is not known."""
    if indices is None:
        return None
    shape = shape_of(metas[0])
    own = np.arange(metas[2].known_size)
    places, values = scattered(shape, numbers, indices, own.reshape(shape_of(metas[2])), mode)
    groups = np.full(own.shape, -1)
    targets = rows_of(np.arange(math.prod(shape)), values)[places]
    groups[values.reshape(-1)] = targets.reshape(-1)
    return Reach(groups)


def rows_of(array: NumpyArray, values: NumpyArray) -> NumpyArray:
    """A view of an array as rows of the length of the rows of `values`, or as elements."""
    if values.ndim == 1:
        return array.reshape(-1)
    return array.reshape(-1, values.shape[1])


def along(values: NumpyArray, axis: int, rank: int) -> NumpyArray:
    """A vector along `axis` of an array of rank `rank`; the other axes have size 1."""
    return values.reshape([values.size if i == axis else 1 for i in range(rank)])


# Where gather and scatter read and write, if sizes are rounded up.


def refuse_padded_places(
    at: MaskSite, numbers: DimensionNumbers, window: Sequence[ShapeExtent]
) -> None:
    """Refuse ops that index into padding, or whose index vectors contain padding.

    `window` are the extents of a window along the axes of the operand. A window as large as its
    axis starts at the front, and batching axes are matched with axes that have the same padding.

    Raises:
        PadSafetyError: the op does so.
    """
    x, indices = at.operand_metas[:2]
    padded = {**at.padded_axes(TensorMeta(x.dtype, window)), **at.padded(0)}
    for axis, leaf in padded.items():
        whole = same_size(window[axis], x.extents[axis])
        if not whole and axis not in numbers.operand_batching:
            raise at.refuse(f"it indexes into {x}", leaf)
    if numbers.index_vector_dim in at.padded(1):
        raise at.refuse(f"it is the length of the indices in {indices}")


def window_of_updates(
    numbers: DimensionNumbers, rank: int, updates: TensorMeta
) -> list[ShapeExtent]:
    """The extents of a window of a scatter along each of the `rank` axes of its operand."""
    window: list[ShapeExtent] = [Exact(1)] * rank
    for axis, of_updates in zip(numbers.window_axes(rank), numbers.window_dims, strict=True):
        window[axis] = updates.extents[of_updates]
    return window
