"""Gather and scatter, with the dimension numbers and the modes of `jax.lax`."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from tenferro.arrays import Operand, called, elementwise
from tenferro.chainrules import Emitter, V
from tenferro.errors import AxisError
from tenferro.namespace.lax.operands import lax_function, matched, same_dtype, tuple_of
from tenferro.ops import (
    AND,
    NEG,
    SELECT,
    BroadcastInDim,
    Compare,
    Constant,
    Gather,
    ReduceAnd,
    Scatter,
    ScatterReduce,
    StdTensorOp,
    full_like,
)
from tenferro.shape import INT64, DType, TensorMeta
from tenferro.typing import AnyTensor, ArrayLike, Number


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


@lax_function
def gather(
    at: Emitter[V],
    operand: Operand[V],
    start_indices: Operand[V],
    dimension_numbers: GatherNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Mode = None,
    fill_value: Number | None = None,
) -> V:
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
    (x,), (indices,) = matched(at, "gather", [operand]), matched(at, "gather", [start_indices])
    known, meta = _mode("gather", "clip" if mode is None else mode), at.ctx.meta(x)
    axes = _axes("gather", dimension_numbers, GatherDimensionNumbers)
    sizes = tuple_of("gather", "slice_sizes", slice_sizes, meta.rank, 0)
    offset, collapsed, index_map, batching, of_indices = axes
    fills = known is GatherScatterMode.FILL_OR_DROP and bool(index_map)
    fill = _fill(fill_value, meta.dtype) if fills else 0
    promised = unique_indices and known is GatherScatterMode.PROMISE_IN_BOUNDS
    vector = at.ctx.meta(indices).rank - 1
    op = Gather(
        offset, collapsed, index_map, vector, sizes, batching, of_indices, promised,
        "drop" if fills and fill == 0 else "clip",
    )  # fmt: skip
    windows = called(at, "gather", op, x, indices)
    if not fills or fill == 0:
        return windows
    shape = at.ctx.meta(windows).exact_shape("gather", "result")
    inside = _inside(at, x, indices, index_map, sizes)
    batch = tuple(axis for axis in range(len(shape)) if axis not in offset)
    mask = at.emit(BroadcastInDim(shape, batch), inside)
    return at.emit(SELECT, mask, windows, full_like(at, fill, windows))


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
        given = getattr(numbers, field, kind._field_defaults.get(field))
        if given is None or isinstance(numbers, str):
            raise AxisError(
                f"{name}: dimension_numbers must be a tn.lax.{kind.__name__}, got {numbers!r}"
            )
        axes.append(tuple_of(name, field, given, len(given), 0))
    return tuple(axes)


def _inside(at: Emitter[V], x: V, indices: V, index_map: Sequence[int], sizes: Sequence[int]) -> V:
    """Whether the window at each index is within the operand."""
    shape = at.ctx.meta(x).exact_shape("gather", "operand")
    wide = elementwise.astype(at, indices, INT64)
    meta: TensorMeta = at.ctx.meta(wide)
    limits = np.asarray([shape[axis] - sizes[axis] for axis in index_map], np.int64)
    widened = BroadcastInDim(meta.exact_shape("gather", "indices"), (meta.rank - 1,))
    limit = at.emit(widened, at.emit(Constant(limits)))
    low = at.emit(Compare("GE"), wide, full_like(at, 0, wide))
    high = at.emit(Compare("LE"), wide, limit)
    return at.emit(ReduceAnd((meta.rank - 1,)), at.emit(AND, low, high))


def _fill(value: Number | None, dtype: DType) -> Any:
    if value is not None:
        return value
    match dtype.kind:
        case "f" | "c":
            return np.nan
        case "i":
            return np.iinfo(dtype).min
        case "u":
            return np.iinfo(dtype).max
        case _:
            return True


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
    name: str, op: Callable[..., StdTensorOp], combiner: str, sign: int = 1
) -> ScatterFunction:
    """Updates combined into an operand; `sign` is -1 if they are subtracted."""

    def function(
        at: Emitter[V],
        operand: Operand[V],
        scatter_indices: Operand[V],
        updates: Operand[V],
        dimension_numbers: ScatterNumbers,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
    ) -> V:
        x, added = same_dtype(at, name, [operand, updates])
        (indices,), known = matched(at, name, [scatter_indices]), _mode(name, mode)
        windows, inserted, index_map, batching, of_indices = _axes(
            name, dimension_numbers, ScatterDimensionNumbers
        )
        made = op(
            windows, inserted, index_map, at.ctx.meta(indices).rank - 1, batching, of_indices,
            combiner,
            unique_indices and known is not GatherScatterMode.CLIP,
            "drop" if known is GatherScatterMode.FILL_OR_DROP else "clip",
        )  # fmt: skip
        return called(at, name, made, x, indices, at.emit(NEG, added) if sign < 0 else added)

    function.__name__ = name
    function.__doc__ = f"""The operand with windows of updates {_WORDS[name]} at indices.

    The last axis of the indices runs over the components of an index. Windows out of bounds are
    dropped, or moved back if `mode` is "clip". `unique_indices` promises that windows do not
    overlap. `dimension_numbers` are `tn.lax.ScatterDimensionNumbers`, or JAX's.

    >>> numbers = tn.lax.ScatterDimensionNumbers((), (0,), (0,))
    >>> tn.lax.scatter_add(np.zeros(3), np.array([[2], [0]]), np.array([1.0, 2.0]), numbers)
    Tensor([2., 0., 1.])
    """
    return lax_function(function)


_WORDS = {
    "scatter": "written",
    "scatter_add": "added",
    "scatter_sub": "subtracted",
    "scatter_mul": "multiplied",
    "scatter_min": "taken in where smaller",
    "scatter_max": "taken in where larger",
}

scatter = _scatter("scatter", Scatter, "set")
scatter_add = _scatter("scatter_add", Scatter, "add")
scatter_sub = _scatter("scatter_sub", Scatter, "add", -1)
scatter_mul = _scatter("scatter_mul", ScatterReduce, "mul")
scatter_min = _scatter("scatter_min", ScatterReduce, "min")
scatter_max = _scatter("scatter_max", ScatterReduce, "max")
