"""Gather and Scatter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax import Array, lax

from tenferro.ir import TensorMeta, dtype_kind, make_meta
from tenferro.ops import Gather, GatherDynamicSliceSizes, Scatter, Scattering, ScatterReduce
from tenferro_xla.lowering.extents import known, of_operands
from tenferro_xla.lowering.registry import LoweringOptions, lower


@lower.register
def _(op: Gather, x: Array, indices: Array) -> Array:
    if known((*x.shape, *indices.shape, *op.slice_sizes)):
        (meta,) = op.infer_all([_meta(x), _meta(indices)])
        assert meta.static_shape is not None
        if 0 in meta.static_shape:  # a window may not fit then
            return lax.full(meta.static_shape, 0, x.dtype)
    return _gathered(op, x, indices, op.slice_sizes)


@lower.register
def _(
    op: GatherDynamicSliceSizes,
    x: Array,
    indices: Array,
    *sources: Array,
) -> Array:
    # In an artifact, whose sizes have names. Elsewhere they are known, and the op is a Gather.
    shapes = [array.shape for array in (x, indices, *sources)]
    return _gathered(op, x, indices, [of_operands(s, shapes) for s in op.slice_sizes])


def _gathered(
    op: Gather | GatherDynamicSliceSizes,
    x: Array,
    indices: Array,
    sizes: Sequence[Any],
) -> Array:
    vectors, batching = _vectors_last(
        indices, x, op.index_vector_dim, op.start_indices_batching_dims
    )
    numbers = lax.GatherDimensionNumbers(
        op.offset_dims,
        op.collapsed_slice_dims,
        op.start_index_map,
        op.operand_batching_dims,
        batching,
    )
    if op.mode == "clip":
        return lax.gather(x, vectors, numbers, sizes, mode="clip")
    return lax.gather(x, vectors, numbers, sizes, mode="fill", fill_value=0)


@lower.register
def _(
    op: Scatter, x: Array, indices: Array, updates: Array, *source: Array, options: LoweringOptions
) -> Array:
    if op.combiner == "add":
        return scattered(lax.scatter_add, op, x, indices, updates)
    if options.ordered_scatters or op.is_unique(_meta(updates)):
        return scattered(lax.scatter, op, x, indices, updates)
    return _last_wins(op, x, indices, updates)


def scattered(
    function: Callable[..., Array],
    op: Scattering,
    x: Array,
    indices: Array,
    updates: Array,
) -> Array:
    """A scatter of `jax.lax` with the dimension numbers of the op."""
    if known(updates.shape) and not updates.size:
        return x
    vectors, batching = _vectors_last(
        indices, x, op.index_vector_dim, op.scatter_indices_batching_dims
    )
    numbers = lax.ScatterDimensionNumbers(
        op.update_window_dims,
        op.inserted_window_dims,
        op.scatter_dims_to_operand_dims,
        op.operand_batching_dims,
        batching,
    )
    return function(x, vectors, updates, numbers, unique_indices=op.unique, mode=op.mode)


def _last_wins(op: Scatter, x: Array, indices: Array, updates: Array) -> Array:
    """Assignment with the same result on every device: the last update of an element wins.

    First finds the largest number of an update for each element, then gathers these updates. They
    are numbered window after window, whatever the order of their axes.
    """
    if known(updates.shape) and not updates.size:
        return x
    axes = [*op.numbers.batch_dims(updates.ndim), *op.update_window_dims]
    updates_in_order = lax.transpose(updates, axes)
    order = lax.reshape(lax.iota(np.int64, updates.size), updates_in_order.shape)
    order = lax.transpose(order, [int(axis) for axis in np.argsort(axes)])
    no_update = lax.full(x.shape, -1, np.dtype(np.int64))
    winner = scattered(lax.scatter_max, op, no_update, indices, order)
    numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    row = lax.reshape(updates_in_order, (updates.size,))
    won = lax.gather(row, lax.expand_dims(winner, [x.ndim]), numbers, (1,), mode="clip")
    return lax.select(lax.ge(winner, lax.full_like(winner, 0)), won, x)


def _meta(array: Array) -> TensorMeta:
    return make_meta(array.dtype, array.shape)


def _vectors_last(
    indices: Array, x: Array, vector_dim: int, batching: Sequence[int]
) -> tuple[Array, tuple[int, ...]]:
    """The indices with components along the last axis, as JAX takes them; and the batching axes.

    They become int32 where that counts all places: they take half of the memory, and with 64 bits
    XLA ends the process at some of the scatters that it divides among devices. What is too large
    for the new dtype is clamped, and stays out of bounds.
    """
    sizes = [0, *x.shape]
    narrow = known(sizes) and max(sizes) < np.iinfo(np.int32).max
    bounds = np.iinfo(np.int32) if narrow else np.iinfo(np.int64)
    if not np.can_cast(indices.dtype, bounds.dtype):
        indices = lax.min(indices, lax.full_like(indices, bounds.max))
        if dtype_kind(indices.dtype) == "i":
            indices = lax.max(indices, lax.full_like(indices, bounds.min))
    indices = lax.convert_element_type(indices, bounds.dtype)
    if vector_dim == indices.ndim:
        return lax.expand_dims(indices, [vector_dim]), tuple(batching)
    order = [axis for axis in range(indices.ndim) if axis != vector_dim]
    return lax.transpose(indices, [*order, vector_dim]), tuple(order.index(a) for a in batching)


# ScatterReduce.

_FUNCTIONS: dict[str, Callable[..., Array]] = {
    "mul": lax.scatter_mul,
    "min": lax.scatter_min,
    "max": lax.scatter_max,
}


@lower.register
def _(
    op: ScatterReduce,
    x: Array,
    indices: Array,
    updates: Array,
    *source: Array,
) -> Array:
    return scattered(_FUNCTIONS[op.combiner], op, x, indices, updates)
