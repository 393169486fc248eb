"""Rows of the ops of which data decide sizes, and of those that read sizes."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tenferro import ops
from tenferro.shape import dim
from tests.ops.rows import FIELDS, Case, Draw, Operand, anything, single

_MOVED = (*FIELDS, "i32", "bool")


def number(value: float) -> Draw:
    """That number."""
    return lambda rng, shape: np.full(shape, value)


def size(value: float, dtype: str = "i64") -> Operand:
    """A scalar that is to be a size."""
    return Operand((), number(value), dtype, differentiable=False)


def shape_source(*shape: int) -> Operand:
    """An operand that is read for its shape alone."""
    return Operand(shape, anything, "f32", differentiable=False)


def truncated(x: Any, count: int, axis: int) -> Any:
    return lax.slice_in_dim(x, 0, count, axis=axis)


def padded(x: Any, extent: int, axis: int) -> Any:
    width = max(extent - x.shape[axis], 0)
    return jnp.pad(x, [(0, width if i == axis else 0) for i in range(x.ndim)])


def truncation(
    name: str, scalar: Operand, count: int, axis: int = 0, dtypes: tuple[str, ...] = ("f64",)
) -> Case:
    """A truncation of a 4×3 matrix that leaves `count` along `axis`."""
    return Case(
        f"dynamic_truncate {name}",
        ops.DynamicTruncate(axis),
        (Operand((4, 3)), scalar),
        dtypes,
        lambda x, k: truncated(x, count, axis),
    )


TRUNCATIONS: list[Case] = [
    truncation("to some", size(2), 2, dtypes=_MOVED),
    truncation("along the last axis", size(2, "i32"), 2, axis=1),
    truncation("to all", size(7), 4),
    truncation("to nothing", size(-1), 0),
    truncation("to a half, away from zero", size(2.5, "f64"), 3),
    truncation("to less than a half", size(2.49, "f32"), 2, dtypes=("f64", "c128")),
    Case(
        "dynamic_truncate of nothing",
        ops.DynamicTruncate(0),
        (Operand((0, 2)), size(1)),
        ("f64",),
        lambda x, k: x,
    ),
]

PADDINGS: list[Case] = [
    Case(
        f"pad_to_match {name}",
        ops.PadToMatch(1),
        (Operand((2, 3)), shape_source(7, extent)),
        dtypes,
        lambda x, reference, extent=extent: padded(x, extent, 1),
    )
    for name, extent, dtypes in (
        ("a larger one", 5, _MOVED),
        ("a smaller one", 2, ("f64",)),
        ("one as large", 3, ("f64",)),
        ("nothing", 0, ("f64",)),
    )
] + [
    Case(
        "pad_to_match of nothing",
        ops.PadToMatch(0),
        (Operand((0, 2)), shape_source(3, 1)),
        ("f64",),
        lambda x, reference: padded(x, 3, 0),
    )
]

SOURCES: list[Case] = [
    Case(
        "shape_of",
        ops.ShapeOf(1),
        (Operand((2, 3)),),
        _MOVED,
        lambda x: np.asarray(x.shape[1], np.int64),
    ),
    Case(
        "dynamic_broadcast_in_dim of a vector",
        ops.DynamicBroadcastInDim((dim("dim(1, 1)"), dim("dim(0, 0)"), 4), (1,)),
        (Operand((3,)), shape_source(5, 2)),
        _MOVED,
        lambda x, source: lax.broadcast_in_dim(x, (2, 3, 4), (1,)),
    ),
    Case(
        "dynamic_broadcast_in_dim of an axis of size 1",
        ops.DynamicBroadcastInDim((dim("dim(0, 0)"), dim("dim(1, 0) + 2*dim(2, 0)")), (0, 1)),
        (Operand((3, 1)), shape_source(2), shape_source(0)),
        ("f64", "c128"),
        lambda x, *sources: lax.broadcast_in_dim(x, (3, 2), (0, 1)),
    ),
    Case(
        "dynamic_broadcast_in_dim of a scalar",
        ops.DynamicBroadcastInDim((dim("dim(1, 0)"),), ()),
        (Operand(()), shape_source(0)),
        ("f64",),
        lambda x, source: lax.broadcast_in_dim(x, (0,), ()),
    ),
    single(
        "of a known size",
        ops.AssumeSize(0, 2),
        (2, 3),
        lambda x: x,
        dtypes=_MOVED,
        symbolic=ops.AssumeSize(0, dim("n2")),
    ),
]

DYNAMIC: list[Case] = [*TRUNCATIONS, *PADDINGS, *SOURCES]
