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
    fills = mode == _MODE.FILL_OR_DROP and bool(index_map)
    fill = _fill(params["fill_value"], at.ctx.meta(x).dtype) if fills else 0
    op = Gather(
        offset,
        integers(numbers.collapsed_slice_dims),
        index_map,
        at.ctx.meta(indices).rank - 1,
        sizes,
        integers(numbers.operand_batching_dims),
        integers(numbers.start_indices_batching_dims),
        bool(params["unique_indices"]) and mode == _MODE.PROMISE_IN_BOUNDS,
        "drop" if fills and fill == 0 else "clip",
    )
    windows = at.emit(op, x, indices)
    if not fills or fill == 0:
        return windows
    inside = _inside(at, x, indices, index_map, sizes)
    shape = at.ctx.meta(windows).static_shape
    assert shape is not None, "JAX traces constant shapes"
    batch = tuple(axis for axis in range(len(shape)) if axis not in offset)
    mask = at.emit(BroadcastInDim(shape, batch), inside)
    return at.emit(SELECT, mask, windows, full_like(at, fill, windows))


def _require_mode(at: Reader, equation: Any) -> None:
    """Raise ExecutorError for a mode other than the three that say what is out of bounds."""
    mode = equation.params["mode"]
    if mode not in (_MODE.CLIP, _MODE.FILL_OR_DROP, _MODE.PROMISE_IN_BOUNDS):
        raise at.refuse(equation, f"with the mode {mode} has no counterpart")


def _inside(
    at: Reader,
    x: GlobalValKey,
    indices: GlobalValKey,
    index_map: Sequence[int],
    sizes: Sequence[int],
) -> GlobalValKey:
    """Whether the window at each index is within the operand."""
    shape = at.ctx.meta(x).static_shape
    wide = elementwise.astype(at, indices, INT64)
    meta: TensorMeta = at.ctx.meta(wide)
    assert shape is not None, "JAX traces constant shapes"
    assert meta.static_shape is not None, "JAX traces constant shapes"
    limits = np.asarray([shape[axis] - sizes[axis] for axis in index_map], np.int64)
    limit = at.emit(BroadcastInDim(meta.static_shape, (meta.rank - 1,)), at.constant(limits))
    low = at.emit(Compare("GE"), wide, full_like(at, 0, wide))
    high = at.emit(Compare("LE"), wide, limit)
    return at.emit(ReduceAnd((meta.rank - 1,)), at.emit(AND, low, high))


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
        if combiner == "set" and params["update_jaxpr"] is not None:
            raise at.refuse(
                equation,
                "applies a function to elements, as x.at[i].apply(f); write x.at[i].set(f(x[i]))",
            )
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
            "drop" if mode == _MODE.FILL_OR_DROP else "clip",
        )
        if sign < 0:
            updates = at.emit(NEG, updates)
        return at.emit(made, x, indices, updates)

    return translation


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
