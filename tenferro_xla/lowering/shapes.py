"""Lowering of constants, broadcasts, slices, moves of axes, diagonals and annotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax import Array, lax
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import NamedSharding, PartitionSpec

from tenferro import ops
from tenferro.ir import is_complex, make_meta
from tenferro_xla.lowering.extents import known, number
from tenferro_xla.lowering.registry import LoweringOptions, lower
from tenferro_xla.placement import OnMesh, check_divides, spec_of

# Ops that one expression lowers. Dynamic ops other than AssumeSize and ShapeOf are replaced before,
# by `ResolveDynamicOps`. Sizes are integers, since the program is bound, or JAX's in an export.

lower.register_all(
    {
        ops.Constant: lambda op: np.asarray(op.value),  # JAX makes it a literal of StableHLO
        ops.Iota: lambda op: lax.broadcasted_iota(op.dtype, (op.size,), 0),
        ops.StopGradient: lambda op, x: lax.stop_gradient(x),
        ops.After: lambda op, x, *tokens: _after(x, tokens),
        ops.CotangentWhere: lambda op, x, mask: x,
        ops.CheckpointName: lambda op, x: checkpoint_name(x, op.tag),  # type: ignore[no-untyped-call]
        ops.AssumeSize: lambda op, x: x,
        ops.ShapeOf: lambda op, x: number(x.shape[op.axis]),
        ops.BroadcastInDim: lambda op, x: lax.broadcast_in_dim(x, op.shape, op.dims),
        ops.ReduceSum: lambda op, x: lax.reduce_sum(x, op.axes),
        ops.Transpose: lambda op, x: lax.transpose(x, op.perm),
        ops.Reshape: lambda op, x: lax.reshape(x, op.shape),
        ops.Reverse: lambda op, x: lax.rev(x, op.axes),
        ops.Slice: lambda op, x: lax.slice(x, list(op.starts), list(op.limits), op.strides),
        ops.Pad: lambda op, x, value: lax.pad(
            x, value, list(zip(op.low, op.high, op.interior, strict=True))
        ),
        ops.Concatenate: lambda op, *operands: lax.concatenate(operands, op.axis),
        ops.Tril: lambda op, x: lax.select(_on_or_below(x, op.k), x, lax.full_like(x, 0)),
        ops.Triu: lambda op, x: lax.select(_on_or_below(x, op.k - 1), lax.full_like(x, 0), x),
        ops.DynamicSlice: lambda op, x, *starts: lax.dynamic_slice(
            x, _clamped(x, op.slice_sizes, starts), op.slice_sizes
        ),
        ops.DynamicUpdateSlice: lambda op, x, window, *starts: lax.dynamic_update_slice(
            x, window, _clamped(x, window.shape, starts)
        ),
    }
)


# Diagonals and triangles.


@lower.register
def _(op: ops.ExtractDiag, x: Array) -> Array:
    """Every (n+1)-th of the n·n elements of the two axes, laid out side by side."""
    n = x.shape[op.axis_a]
    others = [axis for axis in range(x.ndim) if axis not in (op.axis_a, op.axis_b)]
    sizes = [x.shape[axis] for axis in others]
    flat = lax.reshape(lax.transpose(x, [*others, op.axis_a, op.axis_b]), [*sizes, n * n])
    picked = lax.slice(flat, [0] * flat.ndim, flat.shape, [*(1 for _ in sizes), n + 1])
    return lax.transpose(picked, _moved(picked.ndim, picked.ndim - 1, op.axis_a))


@lower.register
def _(op: ops.EmbedDiag, x: Array) -> Array:
    """The diagonal where row and column are the same, and zeros; a choice, which XLA fuses."""
    last = lax.transpose(x, _moved(x.ndim, op.axis_a, x.ndim - 1))
    shape = (*last.shape, last.shape[-1])
    kind = _counting(sum(shape[-2:]))
    row, column = (lax.broadcasted_iota(kind, shape, len(shape) - side) for side in (2, 1))
    along = lax.broadcast_in_dim(last, shape, [*range(last.ndim)])
    square = lax.select(lax.eq(row, column), along, lax.full_like(along, 0))
    others = [axis for axis in range(x.ndim + 1) if axis not in (op.axis_a, op.axis_b)]
    return lax.transpose(square, ops.inverse([*others, op.axis_a, op.axis_b]))


def _after(x: Array, tokens: Sequence[Array]) -> Array:
    """An array that is computed from tokens, so that calls that read it are after theirs.

    XLA drops its barriers before it decides what runs first, so the array is a choice that depends
    on the tokens; XLA does not know that a number is equal to itself or not.
    """
    for token in tokens:
        if not known(token.shape) or 0 in token.shape:
            x = lax.optimization_barrier((x, token))[0]  # type: ignore[no-untyped-call]
            continue
        entry = lax.reshape(lax.slice(token, [0] * token.ndim, [1] * token.ndim), ())
        entry = lax.real(entry) if is_complex(token.dtype) else entry
        value = lax.convert_element_type(entry, np.float32)
        x = lax.select(
            lax.bitwise_or(lax.eq(value, value), lax.ne(value, value)), x, lax.full_like(x, 0)
        )
    return x


def _on_or_below(x: Array, k: int) -> Array:
    """Whether an element is on or below diagonal `k` of the last two axes."""
    rows, columns = x.shape[-2:]
    kind = _counting(rows + columns)
    if known([rows + columns]):
        k = min(max(k, -rows), columns)
    row = lax.broadcasted_iota(kind, (rows, columns), 0)
    column = lax.broadcasted_iota(kind, (rows, columns), 1)
    mask = lax.ge(lax.add(row, lax.full_like(row, k)), column)
    return lax.broadcast(mask, x.shape[:-2])


def _counting(places: Any) -> np.dtype[Any]:
    """The integers that count so many places; in an export their number may not be known."""
    return np.dtype(np.int32 if known([places]) and places < 2**31 else np.int64)


def _moved(rank: int, source: int, target: int) -> list[int]:
    """The permutation that takes one axis to another place."""
    axes = [axis for axis in range(rank) if axis != source]
    axes.insert(target, source)
    return axes


def _clamped(x: Array, sizes: Sequence[int], starts: Sequence[Array]) -> list[Array]:
    """The starts within bounds, in int64: JAX would count negative ones from the end."""
    clamped = []
    for start, size, limit in zip(starts, sizes, x.shape, strict=True):
        if start.dtype == np.uint64:
            start = lax.min(start, lax.full_like(start, np.iinfo(np.int64).max))
        wide = lax.convert_element_type(start, np.dtype(np.int64))
        clamped.append(lax.clamp(np.int64(0), wide, number(limit - size)))
    return clamped


# ShardingConstraint.


@lower.register
def _(op: ops.ShardingConstraint, x: Array, *, options: LoweringOptions) -> Array:
    mesh = options.mesh
    if mesh is None:
        return x
    entries = [PartitionSpec.UNCONSTRAINED if names is None else names for names in op.spec]
    spec = spec_of(entries)
    OnMesh(mesh).check_names(spec, "with_sharding_constraint")
    sharding = NamedSharding(mesh, spec)
    check_divides(sharding, x.shape, "with_sharding_constraint", make_meta(x.dtype, x.shape))
    divided: Array = jax.lax.with_sharding_constraint(x, sharding)  # type: ignore[no-untyped-call]
    return divided
