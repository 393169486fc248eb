"""Primitives that move, repeat and join elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from jax import lax
from jax.extend import core

from tenferro import ops
from tenferro.core import GlobalValKey
from tenferro.ir import INT64, DType, TensorMeta, as_dtype, dtype_kind
from tenferro.ops.functions import elementwise, emit_function, manipulation
from tenferro.transforms import vmap
from tenferro_xla.interop.jaxprs.reader import (
    Keys,
    Reader,
    Translation,
    integers,
    of_parameters,
    shape_of,
)
from tenferro_xla.sharding import spec_entries


def _reshape(at: Reader, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    return at.emit(ops.Reshape(shape_of(equation)), *x)


def _sharding_constraint(at: Reader, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    """The names of axes remain; a sharding on one device says nothing."""
    sharding = equation.params["sharding"]
    spec = spec_entries("from_jax", sharding, len(shape_of(equation)))
    return x[0] if spec is None else at.emit(ops.ShardingConstraint(spec), *x)


def _stack(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    axis = int(equation.params["axis"])
    shape = list(shape_of(equation))
    shape[axis] = 1
    return at.emit(
        ops.Concatenate(axis), *(at.emit(ops.Reshape(tuple(shape)), x) for x in operands)
    )


def _split(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    """The pieces of some sizes along an axis."""
    params = equation.params
    return _pieces(at, operands[0], int(params["axis"]), integers(params["sizes"]))


def _pieces(at: Reader, x: GlobalValKey, axis: int, sizes: Sequence[int]) -> Keys:
    shape = at.ctx.meta(x).static_shape
    assert shape is not None, "JAX traces constant shapes"

    def piece(start: int, stop: int) -> GlobalValKey:
        starts, stops = [0] * len(shape), list(shape)
        starts[axis], stops[axis] = start, stop
        return at.emit(ops.Slice(tuple(starts), tuple(stops), (1,) * len(shape)), x)

    ends = accumulate(sizes, initial=0)
    return [piece(start, stop) for start, stop in pairwise(ends)]


def _iota(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    params = equation.params
    shape, axis = integers(params["shape"]), int(params["dimension"])
    counted = at.emit(ops.Iota(as_dtype(params["dtype"]), shape[axis]))
    return at.emit(ops.BroadcastInDim(shape, (axis,)), counted)


def _unstack(at: Reader, equation: Any, x: list[GlobalValKey]) -> Keys:
    """The entries along an axis."""
    pieces = _pieces(at, x[0], int(equation.params["axis"]), [1] * len(equation.outvars))
    return [at.emit(ops.Reshape(shape_of(equation)), piece) for piece in pieces]


def _empty(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    """Zeros, for an array of any elements."""
    aval = equation.outvars[0].aval
    number = at.constant(np.zeros((), as_dtype(aval.dtype)))
    return at.spread(number, shape_of(equation))


TABLE: dict[str, Translation] = {
    "broadcast_in_dim": of_parameters(
        lambda p: ops.BroadcastInDim(integers(p["shape"]), integers(p["broadcast_dimensions"]))
    ),
    "concatenate": of_parameters(lambda p: ops.Concatenate(int(p["dimension"]))),
    "empty": _empty,
    "empty2": _empty,
    "dynamic_slice": of_parameters(lambda p: ops.DynamicSlice(integers(p["slice_sizes"]))),
    "dynamic_update_slice": of_parameters(lambda p: ops.DynamicUpdateSlice()),
    "expand_dims": _reshape,
    "iota": _iota,
    "pad": of_parameters(
        lambda p: ops.Pad(*[integers(part[i] for part in p["padding_config"]) for i in range(3)])
    ),
    "reshape": _reshape,
    "rev": of_parameters(lambda p: ops.Reverse(integers(p["dimensions"]))),
    "slice": of_parameters(
        lambda p: ops.Slice(
            integers(p["start_indices"]),
            integers(p["limit_indices"]),
            integers(p["strides"] or (1 for _ in p["start_indices"])),
        )
    ),
    "split": _split,
    "sharding_constraint": _sharding_constraint,
    "squeeze": _reshape,
    "stack": _stack,
    "tile": lambda at, equation, x: emit_function(
        at, manipulation.tile, x[0], reps=integers(equation.params["reps"])
    ),
    "transpose": of_parameters(lambda p: ops.Transpose(integers(p["permutation"]))),
    "unstack": _unstack,
}


# Gather and scatter, with JAX's modes for indices out of bounds, and dynamic slices.

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
    op = ops.Gather(
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
    mask = at.emit(ops.BroadcastInDim(shape, batch), inside)
    return at.emit(ops.SELECT, mask, windows, ops.full_like(at, fill, windows))


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
    wide = emit_function(at, elementwise.astype, indices, dtype=INT64)
    meta: TensorMeta = at.ctx.meta(wide)
    assert shape is not None, "JAX traces constant shapes"
    assert meta.static_shape is not None, "JAX traces constant shapes"
    limits = np.asarray([shape[axis] - sizes[axis] for axis in index_map], np.int64)
    limit = at.emit(ops.BroadcastInDim(meta.static_shape, (meta.rank - 1,)), at.constant(limits))
    low = at.emit(ops.Compare("GE"), wide, ops.full_like(at, 0, wide))
    high = at.emit(ops.Compare("LE"), wide, limit)
    return at.emit(ops.ReduceAnd((meta.rank - 1,)), at.emit(ops.AND, low, high))


def _fill(value: Any, dtype: DType) -> Any:
    """What a gather reads out of bounds: JAX's default is NaN, or the extreme of an integer."""
    if value is not None:
        return value
    match dtype_kind(dtype):
        case "f" | "c":
            return np.nan
        case "i":
            return np.iinfo(dtype).min
        case "u":
            return np.iinfo(dtype).max
        case _:
            return True


def _scatter(op: Callable[..., ops.StdTensorOp], combiner: str, sign: int = 1) -> Translation:
    """Updates combined into an operand; `sign` is -1 if they are subtracted."""

    def translation(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
        params, (x, indices, updates) = equation.params, operands
        numbers, mode = params["dimension_numbers"], params["mode"]
        _require_mode(at, equation)
        if combiner == "set" and params["update_jaxpr"] is not None:
            updates = _applied(at, equation, operands)
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
            updates = at.emit(ops.NEG, updates)
        return at.emit(made, x, indices, updates)

    return translation


def _applied(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    """The updates of `x.at[i].apply(f)`: the function of the elements at the indices."""
    params, (x, indices, updates) = equation.params, operands
    numbers = params["dimension_numbers"]
    windows = integers(numbers.update_window_dims)
    gone = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    shape = at.ctx.meta(updates).static_shape
    assert shape is not None, "JAX traces constant shapes"
    wide = iter([shape[axis] for axis in windows])
    rank = at.ctx.meta(x).rank
    sizes = tuple([1 if axis in gone else next(wide) for axis in range(rank)])
    op = ops.Gather(
        windows,
        integers(numbers.inserted_window_dims),
        integers(numbers.scatter_dims_to_operand_dims),
        at.ctx.meta(indices).rank - 1,
        sizes,
        integers(numbers.operand_batching_dims),
        integers(numbers.scatter_indices_batching_dims),
        False,
        "clip",
    )
    jaxpr = params["update_jaxpr"]
    function = at.function(core.ClosedJaxpr(jaxpr, params["update_consts"]))
    count = len(jaxpr.invars)  # the element, and what it is updated with, which is not read

    def of_all(elements: Any) -> Any:
        flat = elements.reshape(-1)
        return vmap(lambda element: function(*[element] * count)[0])(flat).reshape(shape)

    return at.apply(of_all, at.emit(op, x, indices))[0]


_SCATTERS: dict[str, Translation] = {
    "scatter": _scatter(ops.Scatter, "set"),
    "scatter-add": _scatter(ops.Scatter, "add"),
    "scatter-sub": _scatter(ops.Scatter, "add", -1),
    "scatter-mul": _scatter(ops.ScatterReduce, "mul"),
    "scatter-min": _scatter(ops.ScatterReduce, "min"),
    "scatter-max": _scatter(ops.ScatterReduce, "max"),
}

INDEXING: dict[str, Translation] = {
    "gather": _gather,
    **_SCATTERS,
    **{name.replace("-", "_"): translation for name, translation in _SCATTERS.items()},
}
