"""Primitives that move, repeat and join elements."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

from tenferro.arrays import joining
from tenferro.computegraph import GlobalValKey
from tenferro.ops import (
    BroadcastInDim,
    Concatenate,
    DynamicSlice,
    DynamicUpdateSlice,
    Iota,
    Pad,
    Reshape,
    Reverse,
    ShardingConstraint,
    Slice,
    Transpose,
)
from tenferro.shape import as_dtype
from tenferro_xla.interop.jaxprs.reader import Keys, Reader, Translation, integers, shape_of
from tenferro_xla.sharding import spec_entries


def _broadcast_in_dim(at: Reader, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    params = equation.params
    op = BroadcastInDim(integers(params["shape"]), integers(params["broadcast_dimensions"]))
    return at.emit(op, *x)


def _reshape(at: Reader, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    """Any primitive that keeps the order of elements is a reshape."""
    return at.emit(Reshape(shape_of(equation)), *x)


def _transpose(at: Reader, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    return at.emit(Transpose(integers(equation.params["permutation"])), *x)


def _sharding_constraint(at: Reader, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    """The names of axes remain; a sharding on one device says nothing."""
    sharding = equation.params["sharding"]
    spec = spec_entries("from_jax", sharding, len(shape_of(equation)))
    return x[0] if spec is None else at.emit(ShardingConstraint(spec), *x)


def _slice(at: Reader, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    params = equation.params
    starts = integers(params["start_indices"])
    strides = integers(params["strides"] or (1,) * len(starts))
    return at.emit(Slice(starts, integers(params["limit_indices"]), strides), *x)


def _pad(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    low, high, interior = (
        integers(config[part] for config in equation.params["padding_config"]) for part in range(3)
    )
    return at.emit(Pad(low, high, interior), *operands)


def _concatenate(at: Reader, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    return at.emit(Concatenate(int(equation.params["dimension"])), *x)


def _stack(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    axis = int(equation.params["axis"])
    shape = list(shape_of(equation))
    shape[axis] = 1
    return at.emit(Concatenate(axis), *(at.emit(Reshape(tuple(shape)), x) for x in operands))


def _split(at: Reader, equation: Any, operands: list[GlobalValKey]) -> Keys:
    """The pieces of some sizes along an axis."""
    (x,) = operands
    axis = int(equation.params["axis"])
    shape = at.ctx.meta(x).static_shape
    assert shape is not None, "JAX traces constant shapes"

    def piece(start: int, stop: int) -> GlobalValKey:
        starts, stops = [0] * len(shape), list(shape)
        starts[axis], stops[axis] = start, stop
        return at.emit(Slice(tuple(starts), tuple(stops), (1,) * len(shape)), x)

    ends = accumulate(integers(equation.params["sizes"]), initial=0)
    return [piece(start, stop) for start, stop in pairwise(ends)]


def _rev(at: Reader, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    return at.emit(Reverse(integers(equation.params["dimensions"])), *x)


def _iota(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    params = equation.params
    shape, axis = integers(params["shape"]), int(params["dimension"])
    counted = at.emit(Iota(as_dtype(params["dtype"]), shape[axis]))
    return at.emit(BroadcastInDim(shape, (axis,)), counted)


def _dynamic_slice(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    return at.emit(DynamicSlice(integers(equation.params["slice_sizes"])), *operands)


def _dynamic_update_slice(at: Reader, equation: Any, operands: list[GlobalValKey]) -> GlobalValKey:
    return at.emit(DynamicUpdateSlice(), *operands)


def _tile(at: Reader, equation: Any, x: list[GlobalValKey]) -> GlobalValKey:
    return joining.tile(at, x[0], integers(equation.params["reps"]))


TABLE: dict[str, Translation] = {
    "broadcast_in_dim": _broadcast_in_dim,
    "concatenate": _concatenate,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "expand_dims": _reshape,
    "iota": _iota,
    "pad": _pad,
    "reshape": _reshape,
    "rev": _rev,
    "slice": _slice,
    "split": _split,
    "sharding_constraint": _sharding_constraint,
    "squeeze": _reshape,
    "stack": _stack,
    "tile": _tile,
    "transpose": _transpose,
}
