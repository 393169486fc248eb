"""slice, dynamic_slice, gather, scatter."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from tenferro import ops
from tenferro.errors import AxisError, GraphError, counted
from tenferro.ir import INT64, AnyTensor, ArrayLike, Dim, Number, Shape, TensorMeta, dim, dtype_kind
from tenferro.lax.arguments import LAX, along, axes_of, matched, same_dtype, tuple_of
from tenferro.numpy import asarray, moveaxis
from tenferro.ops.functions import (
    apply,
    array_function,
    called,
    elementwise,
    emit,
    full_like,
    indexing,
    logical,
    manipulation,
)

__all__ = [
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "ScatterDimensionNumbers",
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "gather",
    "index_take",
    "scatter",
    "scatter_add",
    "scatter_apply",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_sub",
]


# Windows whose place is a value.

Negative = bool | Sequence[bool]


def dynamic_slice(
    operand: ArrayLike,
    start_indices: ArrayLike | Sequence[ArrayLike],
    slice_sizes: Shape,
    *,
    allow_negative_indices: Negative = True,
) -> AnyTensor:
    """The window of the operand of sizes `slice_sizes` that starts at `start_indices`.

    A window that would exceed the operand is moved back into it.

    Args:
        operand: the array.
        start_indices: one integer for each axis, in a list or a vector. Negative ones count from
            the end.
        slice_sizes: the shape of the window.
        allow_negative_indices: whether starts may be negative, for all axes or for each.

    Raises:
        GraphError: there are not as many starts as axes.

    >>> tn.lax.dynamic_slice(np.array([1.0, 2.0, 3.0]), (-2,), (2,))
    Tensor([2., 3.])
    """
    sizes = tuple(dim(size) for size in manipulation.sizes_of(slice_sizes))
    starts, negative = _starts("dynamic_slice", operand, start_indices, allow_negative_indices)
    return apply(_sliced, operand, *starts, sizes=sizes, negative=negative)


def dynamic_update_slice(
    operand: ArrayLike,
    update: ArrayLike,
    start_indices: ArrayLike | Sequence[ArrayLike],
    *,
    allow_negative_indices: Negative = True,
) -> AnyTensor:
    """The operand with `update` written at `start_indices`, which are as for `dynamic_slice`.

    >>> tn.lax.dynamic_update_slice(np.array([1.0, 2.0, 3.0]), np.array([0.0]), (1,))
    Tensor([1., 0., 3.])
    """
    starts, negative = _starts(
        "dynamic_update_slice", operand, start_indices, allow_negative_indices
    )
    return apply(_updated, operand, update, *starts, negative=negative)


def dynamic_slice_in_dim(
    operand: ArrayLike,
    start_index: ArrayLike,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> AnyTensor:
    """`slice_size` elements from a start along one axis.

    >>> tn.lax.dynamic_slice_in_dim(np.arange(5), 2, 2)
    Tensor([2, 3])
    """
    array = asarray(operand)
    place = along("dynamic_slice_in_dim", axis, array.ndim)
    sizes = [slice_size if i == place else size for i, size in enumerate(array.shape)]
    starts = [start_index if i == place else 0 for i in range(array.ndim)]
    return dynamic_slice(array, starts, sizes, allow_negative_indices=allow_negative_indices)


def dynamic_index_in_dim(
    operand: ArrayLike,
    index: ArrayLike,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> AnyTensor:
    """The part of the operand at one index along an axis, of size 1 there if `keepdims`.

    >>> tn.lax.dynamic_index_in_dim(np.arange(5), 2)
    Tensor([2])
    """
    part = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    place = along("dynamic_index_in_dim", axis, part.ndim)
    return part if keepdims else manipulation.squeeze(part, axis=place)


def dynamic_update_slice_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    start_index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> AnyTensor:
    """The operand with `update` written from a start along one axis.

    >>> tn.lax.dynamic_update_slice_in_dim(np.arange(4), np.array([9, 9]), 1, 0)
    Tensor([0, 9, 9, 3])
    """
    array = asarray(operand)
    place = along("dynamic_update_slice_in_dim", axis, array.ndim)
    starts = [start_index if i == place else 0 for i in range(array.ndim)]
    return dynamic_update_slice(
        array, update, starts, allow_negative_indices=allow_negative_indices
    )


def dynamic_update_index_in_dim(
    operand: ArrayLike,
    update: ArrayLike,
    index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> AnyTensor:
    """The operand with `update` written at one index along an axis, which `update` may lack.

    >>> tn.lax.dynamic_update_index_in_dim(np.arange(3), 9, 1, 0)
    Tensor([0, 9, 2])
    """
    array, part = asarray(operand), update
    place = along("dynamic_update_index_in_dim", axis, array.ndim)
    value = asarray(update)
    if value.ndim != array.ndim:
        part = manipulation.expand_dims(value, axis=place)
    return dynamic_update_slice_in_dim(
        array, part, index, place, allow_negative_indices=allow_negative_indices
    )


def _starts(
    name: str, operand: ArrayLike, starts: ArrayLike | Sequence[ArrayLike], negative: Negative
) -> tuple[list[ArrayLike], tuple[bool, ...]]:
    """One start for each axis, and whether it may be negative."""
    rank = asarray(operand).ndim
    if not isinstance(starts, list | tuple):
        vector = asarray(starts)
        if vector.ndim != 1:
            raise GraphError(f"{name}: the starts must be a list or a vector, got {vector.meta}")
        starts = [vector[i] for i in range(vector.shape[0])]  # or refused
    if len(starts) != rank:
        meta = asarray(operand).meta
        raise GraphError(
            f"{name}: got {counted(len(starts), 'start')} for the {counted(rank, 'axis', 'axes')} "
            f"of {meta}"
        )
    starts = [  # the dtype of the operand says nothing about them
        start.astype(start.dtype) if getattr(start, "weak", None) is not None else start  # type: ignore[union-attr]
        for start in starts
    ]
    flags = (negative,) * rank if isinstance(negative, bool) else tuple(negative)
    return list(starts), flags


def _sliced(
    operand: ArrayLike, *starts: ArrayLike, sizes: tuple[Dim, ...], negative: tuple[bool, ...]
) -> AnyTensor:
    (value,) = same_dtype("dynamic_slice", [operand])
    op = ops.DynamicSlice(sizes)
    return called("dynamic_slice", op, value, *_from_front(value, starts, negative))


def _updated(
    operand: ArrayLike, update: ArrayLike, *starts: ArrayLike, negative: tuple[bool, ...]
) -> AnyTensor:
    name = "dynamic_update_slice"
    value, window = same_dtype(name, [operand, update])
    places = _from_front(value, starts, negative)
    return called(name, ops.DynamicUpdateSlice(), value, window, *places)


_sliced.__name__, _updated.__name__ = "dynamic_slice", "dynamic_update_slice"


def _from_front(
    value: AnyTensor, starts: Sequence[ArrayLike], negative: Sequence[bool]
) -> list[AnyTensor]:
    """The starts as scalars of one dtype, counted from the front."""
    meta: TensorMeta = value.meta
    places: list[AnyTensor] = []
    for axis, (start, counts_back) in enumerate(zip(starts, negative, strict=True)):
        size = meta.static_shape[axis] if meta.static_shape is not None else None
        if isinstance(start, int) and not isinstance(start, bool):
            if start < 0 and counts_back and size is None:
                length = indexing.size_value(value, axis)
                places.append(elementwise.add(length, start))
                continue
            back = start < 0 and counts_back and size is not None
            places += same_dtype("start", [start + size if back and size else start])
            continue
        (place,) = same_dtype("start", [start])
        if counts_back and dtype_kind(place.meta.dtype) == "i":
            length = indexing.size_value(value, axis)
            below = elementwise.add(place, length)
            place = elementwise.where(logical.less(place, 0), below, place)
        places.append(place)
    dtypes = {place.meta.dtype for place in places}
    kinds = {dtype_kind(dtype) for dtype in dtypes}
    if len(dtypes) > 1 and kinds <= {"i", "u"}:
        return [elementwise.astype(place, INT64) for place in places]
    return places


# Gather and scatter, with the dimension numbers and the modes of `jax.lax`.


class GatherScatterMode(enum.Enum):
    """What becomes of windows out of bounds."""

    CLIP = "clip"
    FILL_OR_DROP = "fill"
    PROMISE_IN_BOUNDS = "promise_in_bounds"


Mode = str | GatherScatterMode | None


class GatherDimensionNumbers(NamedTuple):
    """Which axes of operand, indices and result of a `gather` belong together, as in StableHLO."""

    offset_dims: Sequence[int]
    collapsed_slice_dims: Sequence[int]
    start_index_map: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    start_indices_batching_dims: Sequence[int] = ()


class ScatterDimensionNumbers(NamedTuple):
    """Which axes of operand, indices and updates of a `scatter` belong together."""

    update_window_dims: Sequence[int]
    inserted_window_dims: Sequence[int]
    scatter_dims_to_operand_dims: Sequence[int]
    operand_batching_dims: Sequence[int] = ()
    scatter_indices_batching_dims: Sequence[int] = ()


class GatherNumbers(Protocol):
    """`GatherDimensionNumbers`, tenferro's or JAX's."""

    @property
    def offset_dims(self) -> Sequence[int]:
        """Axes of the result that run over a window."""

    @property
    def collapsed_slice_dims(self) -> Sequence[int]:
        """Axes of the operand that the window does not have."""

    @property
    def start_index_map(self) -> Sequence[int]:
        """The axis of the operand of each component of an index."""


class ScatterNumbers(Protocol):
    """`ScatterDimensionNumbers`, tenferro's or JAX's."""

    @property
    def update_window_dims(self) -> Sequence[int]:
        """Axes of the updates that run over a window."""

    @property
    def inserted_window_dims(self) -> Sequence[int]:
        """Axes of the operand that the window does not have."""

    @property
    def scatter_dims_to_operand_dims(self) -> Sequence[int]:
        """The axis of the operand of each component of an index."""


@array_function(operands=2, module=LAX)
def gather(
    operand: ArrayLike,
    start_indices: ArrayLike,
    dimension_numbers: GatherNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Mode = None,
    fill_value: Number | None = None,
) -> AnyTensor:
    """Windows of the operand; the last axis of the indices holds their starts.

    Args:
        operand: the array.
        start_indices: integers; the last axis runs over the components of an index.
        dimension_numbers: `tn.lax.GatherDimensionNumbers`, or JAX's.
        slice_sizes: the size of a window along each axis of the operand.
        unique_indices: promises that windows do not overlap.
        indices_are_sorted: promises that indices are sorted, which changes nothing here.
        mode: "clip", which is the default, moves windows out of bounds back; "fill" fills them;
            "promise_in_bounds" promises that there are none.
        fill_value: what windows out of bounds are filled with: by default NaN, the smallest signed
            or largest unsigned integer, or True.

    Raises:
        AxisError: the dimension numbers or the mode are not ones.

    >>> numbers = tn.lax.GatherDimensionNumbers((), (0,), (0,))
    >>> tn.lax.gather(np.array([1.0, 2.0, 3.0]), np.array([[2], [0]]), numbers, (1,))
    Tensor([3., 1.])
    """
    (x,), (indices,) = matched("gather", [operand]), matched("gather", [start_indices])
    known, meta = _mode("gather", "clip" if mode is None else mode), x.meta
    axes = _axes("gather", dimension_numbers, GatherDimensionNumbers)
    sizes = tuple_of("gather", "slice_sizes", slice_sizes, meta.rank, 0)
    offset, collapsed, index_map, batching, of_indices = axes
    fills = known is GatherScatterMode.FILL_OR_DROP and bool(index_map)
    fill_value = indexing.fill_of(meta.dtype) if fill_value is None else fill_value
    fill = fill_value if fills else 0
    promised = unique_indices and known is GatherScatterMode.PROMISE_IN_BOUNDS
    vector = indices.meta.rank - 1
    op = ops.Gather(
        offset, collapsed, index_map, vector, sizes, batching, of_indices, promised,
        "drop" if fills and fill == 0 else "clip",
    )  # fmt: skip
    windows = called("gather", op, x, indices)
    if not fills or fill == 0:
        return windows
    shape = windows.meta.exact_shape("gather", "result")
    inside = _inside(x, indices, index_map, sizes)
    batch = tuple(axis for axis in range(len(shape)) if axis not in offset)
    mask = emit(ops.BroadcastInDim(shape, batch), inside)
    return emit(ops.SELECT, mask, windows, full_like(fill, windows))


def _mode(name: str, mode: Mode) -> GatherScatterMode:
    if isinstance(mode, GatherScatterMode):
        return mode
    word = getattr(mode, "name", mode)  # JAX's own modes have the names of these
    if word is None or word in ("fill", "drop"):
        return GatherScatterMode.FILL_OR_DROP
    for known in GatherScatterMode:
        if word in (known.value, known.name):
            return known
    raise AxisError(
        f"{name}: mode {mode!r} is not one of 'clip', 'fill', 'drop', 'promise_in_bounds'"
    )


def _axes(name: str, numbers: object, kind: Any) -> tuple[tuple[int, ...], ...]:
    """The axes that dimension numbers name, in the order in which ops have them."""
    axes: list[tuple[int, ...]] = []
    for field in kind._fields:
        values = getattr(numbers, field, kind._field_defaults.get(field))
        if values is None or isinstance(numbers, str):
            raise AxisError(
                f"{name}: dimension_numbers must be a tn.lax.{kind.__name__}, got {numbers!r}"
            )
        axes.append(tuple_of(name, field, values, len(values), 0))
    return tuple(axes)


def _inside(
    x: AnyTensor, indices: AnyTensor, index_map: Sequence[int], sizes: Sequence[int]
) -> AnyTensor:
    """Whether the window at each index is within the operand."""
    shape = x.meta.exact_shape("gather", "operand")
    wide = elementwise.astype(indices, INT64)
    meta: TensorMeta = wide.meta
    limits = np.asarray([shape[axis] - sizes[axis] for axis in index_map], np.int64)
    widened = ops.BroadcastInDim(meta.exact_shape("gather", "indices"), (meta.rank - 1,))
    limit = emit(widened, emit(ops.Constant(limits)))
    low = emit(ops.Compare("GE"), wide, full_like(0, wide))
    high = emit(ops.Compare("LE"), wide, limit)
    return emit(ops.ReduceAnd((meta.rank - 1,)), emit(ops.AND, low, high))


class ScatterFunction(Protocol):
    """A scatter: windows of updates combined into an operand at indices."""

    def __call__(
        self,
        operand: ArrayLike,
        scatter_indices: ArrayLike,
        updates: ArrayLike,
        dimension_numbers: ScatterNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
    ) -> AnyTensor:
        """The operand with the updates."""


def _scatter(
    name: str, op: Callable[..., ops.StdTensorOp], combiner: str, sign: int = 1
) -> ScatterFunction:
    """Updates combined into an operand; `sign` is -1 if they are subtracted."""

    def function(
        operand: ArrayLike,
        scatter_indices: ArrayLike,
        updates: ArrayLike,
        dimension_numbers: ScatterNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
    ) -> AnyTensor:
        x, added = same_dtype(name, [operand, updates])
        (indices,), known = matched(name, [scatter_indices]), _mode(name, mode)
        windows, inserted, index_map, batching, of_indices = _axes(
            name, dimension_numbers, ScatterDimensionNumbers
        )
        made = op(
            windows, inserted, index_map, indices.meta.rank - 1, batching, of_indices,
            combiner,
            unique_indices and known is not GatherScatterMode.CLIP,
            "drop" if known is GatherScatterMode.FILL_OR_DROP else "clip",
        )  # fmt: skip
        return called(name, made, x, indices, emit(ops.NEG, added) if sign < 0 else added)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The operand with windows of updates {_WORDS[name]} at indices.

    The last axis of the indices runs over the components of an index. Windows out of bounds are
    dropped, or moved back if `mode` is "clip". `unique_indices` promises that windows do not
    overlap. `dimension_numbers` are `tn.lax.ScatterDimensionNumbers`, or JAX's.

    >>> numbers = tn.lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> tn.lax.scatter_add(np.zeros(3), np.array([[2], [0]]), np.array([1.0, 2.0]), numbers)
    Tensor([2., 0., 1.])
    """
    return array_function(operands=3, module=LAX)(function)


_WORDS = {
    "scatter": "written",
    "scatter_add": "added",
    "scatter_sub": "subtracted",
    "scatter_mul": "multiplied",
    "scatter_min": "taken in where smaller",
    "scatter_max": "taken in where larger",
}

scatter = _scatter("scatter", ops.Scatter, "set")
scatter_add = _scatter("scatter_add", ops.Scatter, "add")
scatter_sub = _scatter("scatter_sub", ops.Scatter, "add", -1)
scatter_mul = _scatter("scatter_mul", ops.ScatterReduce, "mul")
scatter_min = _scatter("scatter_min", ops.ScatterReduce, "min")
scatter_max = _scatter("scatter_max", ops.ScatterReduce, "max")


def index_take(src: ArrayLike, idxs: Sequence[ArrayLike], axes: Sequence[int]) -> AnyTensor:
    """The parts of an array at indices along some axes; the others come after.

    Args:
        src: the array.
        idxs: for each of `axes` a vector of indices, all of one size; negative ones count from the
            end, and those out of bounds go round.
        axes: the axes.

    >>> tn.lax.index_take(np.array([[1, 2], [3, 4]]), [np.array([0, -1])], (1,))
    Tensor([[1, 3],
            [2, 4]])
    """
    array = asarray(src)
    places = axes_of("index_take", axes, array.ndim)
    if len(idxs) != len(places):
        raise AxisError(f"index_take: got {len(idxs)} vectors of indices for {len(places)} axes")
    moved = moveaxis(array, places, tuple(range(len(places))))
    indices = [asarray(index) % size for index, size in zip(idxs, moved.shape, strict=False)]
    return moved[tuple(indices)]


def scatter_apply(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    func: Callable[[AnyTensor], AnyTensor],
    dimension_numbers: ScatterNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> AnyTensor:
    """The operand with a function applied to its windows at indices: once, where they overlap.

    Args:
        operand: the array.
        scatter_indices: as in `scatter`, like the other arguments.
        func: maps the elements of an array.
        dimension_numbers: the axes.
        update_shape: that of the updates of `scatter`; by default windows of one element.

    >>> numbers = tn.lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> tn.lax.scatter_apply(np.array([1.0, 2.0]), np.array([[1]]), tn.square, numbers)
    Tensor([1., 4.])
    """
    name = "scatter_apply"
    x, indices = asarray(operand), asarray(scatter_indices)
    windows, inserted, index_map, batching, of_indices = _axes(
        name, dimension_numbers, ScatterDimensionNumbers
    )
    sizes = iter([update_shape[axis] for axis in windows])
    gone = {*inserted, *batching}
    window = tuple(1 if axis in gone else next(sizes, 1) for axis in range(x.ndim))
    numbers = GatherDimensionNumbers(windows, inserted, index_map, batching, of_indices)
    old = gather(x, indices, numbers, window, mode="clip")
    return scatter(
        x, indices, func(old).astype(x.dtype), dimension_numbers,
        indices_are_sorted=indices_are_sorted, unique_indices=unique_indices, mode=mode,
    )  # fmt: skip
