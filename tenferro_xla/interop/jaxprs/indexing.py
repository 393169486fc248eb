"""Gather and scatter, with JAX's modes for indices out of bounds, and dynamic slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax import lax

from tenferro.arrays import elementwise
from tenferro.computegraph import GlobalValKey
from tenferro.ops import (
    AND,
    CLAMP,
    NEG,
    SELECT,
    BroadcastInDim,
    Compare,
    Gather,
    ReduceAnd,
    Scatter,
    ScatterReduce,
    StdTensorOp,
    full_like,
)
from tenferro.shape import INT64, DType, TensorMeta
from tenferro_xla.interop.jaxprs.reader import Reader, Translation, integers

_MODE = lax.GatherScatterMode


def _gather(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    """Windows of an operand; where they are out of bounds, the nearest ones or a number."""
    params, (x, indices) = equation.params, operands
    numbers, mode = params["dimension_numbers"], params["mode"]
    _require_mode(at, equation)
    sizes, index_map = integers(params["slice_sizes"]), integers(numbers.start_index_map)
    offset = integers(numbers.offset_dims)
    op = Gather(
        offset,
        integers(numbers.collapsed_slice_dims),
        index_map,
        at.ctx.meta(indices).rank - 1,
        sizes,
        integers(numbers.operand_batching_dims),
        integers(numbers.start_indices_batching_dims),
        bool(params["unique_indices"]) and mode == _MODE.PROMISE_IN_BOUNDS,
    )
    if mode == _MODE.PROMISE_IN_BOUNDS or not index_map:
        return at.emit(op, x, indices)
    limits = _limits(at, x, index_map, sizes)
    if mode == _MODE.CLIP:
        return at.emit(op, x, _moved_inside(at, indices, limits))
    windows = at.emit(op, x, indices)
    fill = full_like(at, _fill(params["fill_value"], at.ctx.meta(windows).dtype), windows)
    return _where_inside(at, _inside(at, indices, limits), offset, windows, fill)


def _require_mode(at: Reader, equation: Any) -> None:
    """Raise ExecutorError for a mode other than the three that say what is out of bounds."""
    mode = equation.params["mode"]
    if mode not in (_MODE.CLIP, _MODE.FILL_OR_DROP, _MODE.PROMISE_IN_BOUNDS):
        raise at.refuse(equation, f"with the mode {mode} has no counterpart")


def _limits(
    at: Reader, x: GlobalValKey, index_map: Sequence[int], sizes: Sequence[int]
) -> list[int]:
    """For each component of an index the largest start of a window within x."""
    shape = at.ctx.meta(x).static_shape
    assert shape is not None, "JAX traces constant shapes"
    return [shape[axis] - sizes[axis] for axis in index_map]


def _bounds(
    at: Reader, indices: GlobalValKey, limits: Sequence[int]
) -> tuple[GlobalValKey, GlobalValKey, GlobalValKey]:
    """Indices in int64, zeros like them, and the limit of each component."""
    wide = elementwise.astype(at, indices, INT64)
    meta: TensorMeta = at.ctx.meta(wide)
    row = at.constant(np.asarray(limits, np.int64))
    assert meta.static_shape is not None, "JAX traces constant shapes"
    limit = at.emit(BroadcastInDim(meta.static_shape, (meta.rank - 1,)), row)
    return wide, full_like(at, 0, wide), limit


def _moved_inside(at: Reader, indices: GlobalValKey, limits: Sequence[int]) -> GlobalValKey:
    """The indices of the nearest windows that are within the operand."""
    wide, zero, limit = _bounds(at, indices, limits)
    return at.emit(CLAMP, zero, wide, limit)


def _inside(at: Reader, indices: GlobalValKey, limits: Sequence[int]) -> GlobalValKey:
    """Whether the window at each index is within the operand."""
    wide, zero, limit = _bounds(at, indices, limits)
    low = at.emit(Compare("GE"), wide, zero)
    high = at.emit(Compare("LE"), wide, limit)
    return at.emit(ReduceAnd((at.ctx.meta(wide).rank - 1,)), at.emit(AND, low, high))


def _where_inside(
    at: Reader,
    inside: GlobalValKey,
    window_dims: Sequence[int],
    windows: GlobalValKey,
    other: GlobalValKey,
) -> GlobalValKey:
    """The windows that are inside, and `other` in place of those that are not."""
    shape = at.ctx.meta(windows).static_shape
    assert shape is not None, "JAX traces constant shapes"
    batch = tuple(axis for axis in range(len(shape)) if axis not in window_dims)
    return at.emit(SELECT, at.emit(BroadcastInDim(shape, batch), inside), windows, other)


def _fill(value: Any, dtype: DType) -> Any:
    """What a gather reads out of bounds: JAX's default is NaN, or the extreme of an integer."""
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


def _scatter(op: Callable[..., StdTensorOp], combiner: str, sign: int = 1) -> Translation:
    """Updates combined into an operand; `sign` is -1 if they are subtracted."""

    def translation(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
        params, (x, indices, updates) = equation.params, operands
        numbers, mode = params["dimension_numbers"], params["mode"]
        _require_mode(at, equation)
        windows, inserted, index_map, batching, of_indices = (
            integers(getattr(numbers, name))
            for name in (
                "update_window_dims",
                "inserted_window_dims",
                "scatter_dims_to_operand_dims",
                "operand_batching_dims",
                "scatter_indices_batching_dims",
            )
        )
        made = op(
            windows,
            inserted,
            index_map,
            at.ctx.meta(indices).rank - 1,
            batching,
            of_indices,
            combiner,
            bool(params["unique_indices"]) and mode != _MODE.CLIP,
        )
        if sign < 0:
            updates = at.emit(NEG, updates)
        if index_map:
            sizes = _window(at, x, updates, windows, {*inserted, *batching})
            limits = _limits(at, x, index_map, sizes)
            if mode == _MODE.CLIP:
                indices = _moved_inside(at, indices, limits)
            elif mode == _MODE.FILL_OR_DROP and at.ctx.meta(updates).dtype.kind in "fc":
                inside, zero = _inside(at, indices, limits), full_like(at, 0, updates)
                updates = _where_inside(at, inside, windows, updates, zero)  # for derivatives
        return at.emit(made, x, indices, updates)

    return translation


def _window(
    at: Reader, x: GlobalValKey, updates: GlobalValKey, windows: Sequence[int], dropped: set[int]
) -> list[int]:
    """The size of a window along each axis of the operand."""
    shape = at.ctx.meta(updates).static_shape
    assert shape is not None, "JAX traces constant shapes"
    sizes = iter([shape[axis] for axis in windows])
    return [1 if axis in dropped else next(sizes) for axis in range(at.ctx.meta(x).rank)]


_SCATTERS: dict[str, Translation] = {
    "scatter": _scatter(Scatter, "set"),
    "scatter-add": _scatter(Scatter, "add"),
    "scatter-sub": _scatter(Scatter, "add", -1),
    "scatter-mul": _scatter(ScatterReduce, "mul"),
    "scatter-min": _scatter(ScatterReduce, "min"),
    "scatter-max": _scatter(ScatterReduce, "max"),
}

TABLE: dict[str, Translation] = {
    "gather": _gather,
    **_SCATTERS,
    **{name.replace("-", "_"): translation for name, translation in _SCATTERS.items()},
}
