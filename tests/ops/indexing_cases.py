"""Rows for gather, scatter, dynamic slices and sorting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tenferro import ops
from tenferro.shape import dim
from tests.ops.rows import (
    FIELDS,
    INTS,
    NUMBERS,
    ORDERED,
    Case,
    Draw,
    Operand,
    anything,
    distinct,
    nonzero,
)

_MOVED = (*NUMBERS, "bool")


def below(*sizes: int) -> Draw:
    """Positions 0 ≤ i < size, with a size for each component along the last axis, or one for all.

    The first and the last position are among them wherever there is room.
    """

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        return rng.integers(0, np.broadcast_to(sizes if shape else sizes[0], shape), shape)

    return draw


def permuted(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Each position along the last axis once."""
    return rng.permuted(np.broadcast_to(np.arange(shape[-1]), shape), axis=-1)


def outside(size: int) -> Draw:
    """Positions before, in and behind `size` elements."""
    return lambda rng, shape: np.resize([size, 0, -1, size - 1, 1 - size], shape)


def indices(shape: tuple[int, ...], draw: Draw, *counted: int, dtype: str = "i64") -> Operand:
    """Indices, of which no derivative is taken."""
    return Operand(shape, draw, dtype, differentiable=False, counted=counted)


def gather(*fields: Any, **more: Any) -> Callable[..., Any]:
    """The gather of JAX with the same dimension numbers; components along the last axis."""
    op = ops.Gather(*fields, **more)
    numbers = lax.GatherDimensionNumbers(
        op.offset_dims,
        op.collapsed_slice_dims,
        op.start_index_map,
        op.operand_batching_dims,
        op.start_indices_batching_dims,
    )
    mode = {"mode": "clip"} if op.mode == "clip" else {"mode": "fill", "fill_value": 0}
    return lambda x, i: lax.gather(x, vectors(i, op), numbers, op.slice_sizes, **mode)


def vectors(i: Any, op: Any) -> Any:
    """Indices with their components along the last axis."""
    if op.index_vector_dim == jnp.ndim(i):
        return jnp.asarray(i)[..., None]
    return jnp.moveaxis(jnp.asarray(i), op.index_vector_dim, -1)


_ROWS = ((1,), (0,), (0,), 1)
_BLOCKS = ((0, 2), (), (1, 0), 1)

GATHERS: list[Case] = [
    Case(
        "gather rows",
        ops.Gather(*_ROWS, (1, 3)),
        (Operand((4, 3)), indices((5,), below(4))),
        _MOVED,
        lambda x, i: x[i],
        symbolic=ops.GatherDynamicSliceSizes(*_ROWS, (1, dim("dim(0, 1)"))),
    ),
    Case(
        "gather one row",
        ops.Gather((0,), (0,), (0,), 0, (1, 3)),
        (Operand((4, 3)), indices((), below(4), dtype="i32")),
        FIELDS,
        lambda x, i: x[i],
        symbolic=ops.GatherDynamicSliceSizes((0,), (0,), (0,), 0, (1, dim("n3"))),
    ),
    Case(
        "gather blocks",
        ops.Gather(*_BLOCKS, (2, 3)),
        (Operand((4, 5)), indices((3, 2), below(3, 3), 1)),
        FIELDS,
        gather(*_BLOCKS, (2, 3)),
    ),
    Case(
        "gather elements",
        ops.Gather((), (0, 1), (0, 1), 0, (1, 1), unique=False),
        (Operand((4, 5)), indices((2, 3), below(4), 0, dtype="i32")),
        FIELDS,
        lambda x, i: x[i[0], i[1]],
    ),
    Case(
        "gather along an axis",
        ops.Gather((), (1,), (1,), 2, (1, 1), (0,), (0,)),
        (Operand((2, 3)), indices((2, 4), below(3))),
        FIELDS,
        lambda x, i: jnp.take_along_axis(x, i, 1),
    ),
    Case(
        "gather in batches on the other side",
        ops.Gather((1,), (), (0,), 2, (2, 1), (1,), (1,)),
        (Operand((4, 3)), indices((2, 3), below(3))),
        FIELDS,
        gather((1,), (), (0,), 2, (2, 1), (1,), (1,)),
    ),
    Case(
        "gather in another order",
        ops.Gather((), (1,), (1,), 2, (1, 1), (0,), (0,), unique=True),
        (Operand((2, 4)), indices((2, 4), permuted)),
        FIELDS,
        lambda x, i: jnp.take_along_axis(x, i, 1),
    ),
    *(
        Case(
            f"gather {name}",
            ops.Gather(*_BLOCKS, (2, 3), mode=mode),
            (Operand((4, 5)), indices((6, 2), outside(3), 1)),
            FIELDS,
            gather(*_BLOCKS, (2, 3), mode=mode),
        )
        for name, mode in (("over the ends", "clip"), ("or zero", "drop"))
    ),
    Case(
        "gather nowhere",
        ops.Gather((1,), (0,), (0,), 1, (1, 3)),
        (Operand((4, 3)), indices((0,), below(4))),
        ("f64",),
        lambda x, i: x[i],
    ),
    Case(
        "gather nothing",
        ops.Gather((0,), (1,), (1,), 1, (0, 1)),
        (Operand((0, 3)), indices((2,), below(3))),
        ("f64",),
        lambda x, i: x[:, i],
    ),
    Case(
        "gather windows as large as a third operand",
        ops.GatherDynamicSliceSizes((0,), (), (0,), 0, (dim("dim(2, 1) - 1"),)),
        (Operand((5,)), indices((), below(2)), indices((2, 4), anything, dtype="f64")),
        FIELDS,
        lambda x, i, like: lax.dynamic_slice(x, (i,), (3,)),
    ),
    Case(
        "gather whole axes of any size",
        ops.GatherDynamicSliceSizes((0, 2), (1,), (1,), 1, (dim("dim(0, 0)"), 1, dim("dim(0, 2)"))),
        (Operand((2, 3, 2)), indices((4,), below(3))),
        FIELDS,
        lambda x, i: x[:, i],
    ),
]


def scatter(op: Any) -> Callable[..., Any]:
    """The scatter of JAX with the same dimension numbers."""
    numbers = lax.ScatterDimensionNumbers(
        op.update_window_dims,
        op.inserted_window_dims,
        op.scatter_dims_to_operand_dims,
        op.operand_batching_dims,
        op.scatter_indices_batching_dims,
    )
    functions = {
        "add": lax.scatter_add,
        "set": lax.scatter,
        "mul": lax.scatter_mul,
        "min": lax.scatter_min,
        "max": lax.scatter_max,
    }
    return lambda x, i, u: functions[op.combiner](
        x, vectors(i, op), u, numbers, unique_indices=op.unique, mode=op.mode
    )


def scattering(
    name: str,
    op: Any,
    x: Operand,
    i: Operand,
    updates: Operand,
    dtypes: tuple[str, ...] = FIELDS,
    unlike_jax: str = "",
) -> Case:
    """A scatter, compared to that of JAX."""
    return Case(
        f"{op.name} {name}",
        op,
        (x, i, updates),
        dtypes,
        None if unlike_jax else scatter(op),
        unlike_jax,
    )


_BATCHED = ((), (1,), (1,), 2, (0,), (0,))
_TO_ROWS = (Operand((4, 3)), indices((5,), below(4)), Operand((5, 3)))
_TO_BLOCKS = (Operand((4, 5)), indices((3, 2), below(3, 3), 1), Operand((2, 3, 3)))
_ALONG = (Operand((2, 3)), indices((2, 4), below(3)), Operand((2, 4)))
_ORDERS = (Operand((2, 4)), indices((2, 4), permuted), Operand((2, 4)))

SCATTERS: list[Case] = [
    scattering("rows", ops.Scatter(*_ROWS), *_TO_ROWS, (*INTS, *FIELDS)),
    scattering("rows that replace", ops.Scatter(*_ROWS, combiner="set"), *_TO_ROWS, _MOVED),
    scattering("blocks", ops.Scatter(*_BLOCKS), *_TO_BLOCKS),
    scattering("blocks that replace", ops.Scatter(*_BLOCKS, combiner="set"), *_TO_BLOCKS),
    scattering("along an axis", ops.Scatter(*_BATCHED), *_ALONG),
    scattering("along an axis to replace", ops.Scatter(*_BATCHED, combiner="set"), *_ALONG),
    scattering("to each once", ops.Scatter(*_BATCHED, unique=True), *_ORDERS),
    scattering(
        "to each once to replace", ops.Scatter(*_BATCHED, combiner="set", unique=True), *_ORDERS
    ),
    scattering(
        "one element",
        ops.Scatter((), (0,), (0,), 0, combiner="set"),
        Operand((3,)),
        indices((), below(3), dtype="i32"),
        Operand(()),
        _MOVED,
    ),
    *(
        scattering(
            f"{combiner} to blocks {name}",
            ops.Scatter(*_BLOCKS, combiner=combiner, mode=mode),
            Operand((4, 5)), indices((6, 2), outside(3), 1), Operand((2, 6, 3)),
        )
        for name, mode in (("moved inside", "clip"), ("or nowhere", "drop"))
        for combiner in ("add", "set")
    ),
    scattering(
        "product or nowhere",
        ops.ScatterReduce((), (0,), (0,), 1, combiner="mul", unique=True),
        Operand((4,)), indices((3,), lambda rng, shape: np.array([5, 1, -1])), Operand((3,)),
    ),
    scattering(
        "nowhere", ops.Scatter(*_ROWS), Operand((4, 3)), indices((0,), below(4)), Operand((0, 3)),
        ("f64",),
    ),
    scattering(
        "nothing",
        ops.Scatter((1,), (0,), (0,), 1, combiner="set"),
        Operand((4, 0)), indices((2,), below(4)), Operand((2, 0)),
        ("f64",),
    ),
    Case(
        "scatter with a shape source",
        ops.Scatter(*_ROWS),
        (*_TO_ROWS, indices((5, 3), anything, dtype="f64")),
        FIELDS,
        lambda x, i, u, like: x.at[i].add(u),
    ),
    scattering(
        "products", ops.ScatterReduce(*_BATCHED, combiner="mul", unique=True), *_ORDERS,
        (*INTS, *FIELDS),
    ),
    Case(
        "scatter_reduce products of several",
        ops.ScatterReduce(*_BATCHED, combiner="mul"),
        (Operand((2, 3)), indices((2, 4), below(3)), indices((2, 4), nonzero, dtype="f64")),
        ("f64",),
        lambda x, i, u: scatter(ops.ScatterReduce(*_BATCHED, combiner="mul"))(x, i, u),
    ),
    *(
        scattering(
            f"{combiner} of several",
            ops.ScatterReduce(*_BATCHED, combiner=combiner),
            Operand((2, 3), distinct), indices((2, 4), below(3)), Operand((2, 4), distinct),
            ORDERED,
            "JAX has no derivative of it",
        )
        for combiner in ("min", "max")
    ),
]  # fmt: skip

_STARTS = (indices((), below(3)), indices((), below(2)))

DYNAMIC_SLICES: list[Case] = [
    Case(
        "dynamic_slice",
        ops.DynamicSlice((2, 3)),
        (Operand((4, 4)), *_STARTS),
        _MOVED,
        lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)),
        symbolic=ops.DynamicSlice((2, dim("n4 - 1"))),
    ),
    Case(
        "dynamic_slice of scalars",
        ops.DynamicSlice(()),
        (Operand(()),),
        ("f64",),
        lambda x: x,
    ),
    Case(
        "dynamic_slice over the end",
        ops.DynamicSlice((2, 3)),
        (Operand((3, 4)), indices((), below(9)), indices((), lambda rng, shape: np.array(-7))),
        FIELDS,
        lambda x, i, j: lax.dynamic_slice(x, (i, 0), (2, 3)),
    ),
    Case(
        "dynamic_slice of nothing",
        ops.DynamicSlice((0, 3)),
        (Operand((0, 4)), *_STARTS),
        ("f64",),
        lambda x, i, j: lax.dynamic_slice(x, (i, j), (0, 3)),
    ),
    Case(
        "dynamic_update_slice",
        ops.DynamicUpdateSlice(),
        (Operand((4, 4)), Operand((2, 3)), *_STARTS),
        _MOVED,
        lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)),
    ),
    Case(
        "dynamic_update_slice over the end",
        ops.DynamicUpdateSlice(),
        (Operand((3, 4)), Operand((2, 3)), indices((), below(9)), indices((), below(9))),
        FIELDS,
        lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)),
    ),
    Case(
        "dynamic_update_slice of nothing",
        ops.DynamicUpdateSlice(),
        (Operand((3, 4)), Operand((0, 4)), *_STARTS),
        ("f64",),
        lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)),
    ),
]


def sorting(*shape: int) -> list[Case]:
    """The two results of sorting along the axis in the middle."""
    op = ops.Sort(len(shape) // 2)
    dtypes = (*ORDERED, "bool") if min(shape) > 1 else ("f64",)
    x = (Operand(shape, distinct),)
    return [
        Case(f"sort {shape} values", op, x, dtypes, lambda x: jnp.sort(x, op.axis)),
        Case(f"sort {shape} places", op, x, dtypes, lambda x: jnp.argsort(x, op.axis), output=1),
        Case(
            f"sort {shape} to values alone",
            ops.Sort(op.axis, (True, False)),
            x,
            dtypes,
            lambda x: jnp.sort(x, op.axis),
        ),
        Case(
            f"sort {shape} to places alone",
            ops.Sort(op.axis, (False, True)),
            x,
            dtypes,
            lambda x: jnp.argsort(x, op.axis),
        ),
    ]


SORTS: list[Case] = [
    *sorting(3, 4),
    *sorting(3),
    *sorting(1, 2),
    *sorting(0, 2),
    *sorting(2, 0),
    *(
        Case(
            f"{op.name} along {op.axis} of {shape}",
            op,
            (Operand(shape, distinct),),
            (*ORDERED, "bool") if min(shape) > 1 else ("f64",),
            lambda x, op=op, jax=jax: jax(x, op.axis),
        )
        for op, jax in (
            (ops.ArgMax(1), jnp.argmax),
            (ops.ArgMin(1), jnp.argmin),
            (ops.ArgMax(0), jnp.argmax),
        )
        for shape in ((3, 4), (2, 1))
    ),
    *(
        Case(
            f"the {op.count} largest along {op.axis} of {shape}",
            op,
            (Operand(shape, distinct),),
            (*ORDERED, "bool") if min(shape) > 1 else ("f64",),
            lambda x, op=op: jnp.argsort(x, op.axis, descending=True).take(
                jnp.arange(op.count), op.axis
            ),
        )
        for op in (ops.TopPlaces(1, 1), ops.TopPlaces(0, 2), ops.TopPlaces(1, 0))
        for shape in ((3, 4), (2, 1))
    ),
]
INDEXING: list[Case] = [*GATHERS, *SCATTERS, *DYNAMIC_SLICES, *SORTS]
