"""What the batch rules that ops write themselves emit: an op in, the graph for all entries out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tenferro import ops
from tenferro.core import GlobalValKey, batch, input_key, op_key, resolve_keys
from tenferro.shape import Dim, TensorInput, TensorMeta, dim
from tests.graphs import CTX, run

VIEW: Any = resolve_keys()
F = "f64"
INT = "i64"

MATMUL = ops.DotGeneral((1,), (0,))
MATRICES = ((F, (2, 3)), (F, (3, 5)))
ROWS = ops.Gather((1,), (0,), (0,), 1, (1, 3), unique=True)
PICKED = ((F, (5, 3)), (INT, (2, 1)))
LATE = ops.GatherDynamicSliceSizes((1,), (0,), (0,), 1, (1, dim("dim(2, 0)")))
LATE_OPERANDS = ((F, (5, dim("k"))), (INT, (2, 1)), (F, (dim("k"),)))
ADD_ROWS = ops.Scatter((1,), (0,), (0,), 1, unique=True)
WRITTEN = (*PICKED, (F, (2, 3)))
WINDOW = ((F, (5, 3)), (INT, ()), (INT, ()))
UPDATE = ((F, (5,)), (F, (2,)), ("i32", ()))
PAD = ops.Pad((1,), (2,), (1,))
PADDED = ((F, (3,)), (F, ()))

RULES: dict[str, tuple[Any, tuple[Any, ...], set[int], list[str]]] = {
    "both of a product": (
        MATMUL,
        MATRICES,
        {0, 1},
        [
            "dot_general[lhs_contract=(2,), rhs_contract=(1,), lhs_batch=(0,), "
            "rhs_batch=(0,)] x0, x1"
        ],
    ),
    "lhs of a product": (
        MATMUL,
        MATRICES,
        {0},
        ["dot_general[lhs_contract=(2,), rhs_contract=(0,)] x0, x1"],
    ),
    "rhs of a product": (
        MATMUL,
        MATRICES,
        {1},
        [
            "dot_general[lhs_contract=(1,), rhs_contract=(1,)] x1, x0",
            "transpose[perm=(0, 2, 1)] %0",
        ],
    ),
    "gather of both": (
        ROWS,
        PICKED,
        {0, 1},
        [
            "gather[offset_dims=(2,), collapsed_slice_dims=(1,), start_index_map=(1,), "
            "index_vector_dim=2, slice_sizes=(1, 1, 3), operand_batching_dims=(0,), "
            "start_indices_batching_dims=(0,), unique=True] x0, x1"
        ],
    ),
    "gather of an operand": (
        ROWS,
        PICKED,
        {0},
        [
            "gather[offset_dims=(0, 2), collapsed_slice_dims=(1,), start_index_map=(1,), "
            "index_vector_dim=1, slice_sizes=(4, 1, 3), unique=True] x0, x1"
        ],
    ),
    "gather at indices, which are no longer unique": (
        ROWS,
        PICKED,
        {1},
        [
            "gather[offset_dims=(2,), collapsed_slice_dims=(0,), start_index_map=(0,), "
            "index_vector_dim=2, slice_sizes=(1, 3)] x0, x1"
        ],
    ),
    "gather with late sizes": (
        LATE,
        LATE_OPERANDS,
        {0, 2},
        [
            "gather_dynamic_slice_sizes[offset_dims=(0, 2), collapsed_slice_dims=(1,), "
            "start_index_map=(1,), index_vector_dim=1, slice_sizes=(4, 1, dim(2, 1))] x0, x1, x2"
        ],
    ),
    "gather with a batched source of sizes": (
        LATE,
        LATE_OPERANDS,
        {2},
        [
            "gather_dynamic_slice_sizes[offset_dims=(1,), collapsed_slice_dims=(0,), "
            "start_index_map=(0,), index_vector_dim=1, slice_sizes=(1, dim(2, 1))] x0, x1, x2",
            "for all",
        ],
    ),
    "scatter of all": (
        ADD_ROWS,
        WRITTEN,
        {0, 1, 2},
        [
            "scatter[update_window_dims=(2,), inserted_window_dims=(1,), "
            "scatter_dims_to_operand_dims=(1,), index_vector_dim=2, operand_batching_dims=(0,), "
            "scatter_indices_batching_dims=(0,), unique=True] x0, x1, x2"
        ],
    ),
    "scatter of updates": (
        ADD_ROWS,
        WRITTEN,
        {2},
        [
            "broadcast_in_dim[shape=(4, 5, 3), dims=(1, 2)] x0",
            "scatter[update_window_dims=(0, 2), inserted_window_dims=(1,), "
            "scatter_dims_to_operand_dims=(1,), index_vector_dim=1, unique=True] %0, x1, x2",
        ],
    ),
    "reducing scatter of all": (
        ops.ScatterReduce((1,), (0,), (0,), 1, combiner="max"),
        WRITTEN,
        {0, 1, 2},
        [
            "scatter_reduce[update_window_dims=(2,), inserted_window_dims=(1,), "
            "scatter_dims_to_operand_dims=(1,), index_vector_dim=2, operand_batching_dims=(0,), "
            "scatter_indices_batching_dims=(0,), combiner='max'] x0, x1, x2"
        ],
    ),
    "window of an operand": (
        ops.DynamicSlice((2, 3)),
        WINDOW,
        {0},
        [
            "constant[value=0, dtype=i64]",
            "dynamic_slice[slice_sizes=(4, 2, 3)] x0, %0, x1, %0",
        ],
    ),
    "window at starts of which one matters": (
        ops.DynamicSlice((2, 3)),
        WINDOW,
        {0, 1, 2},
        [
            "broadcast_in_dim[shape=(4, 1), dims=(0,)] x1",
            "gather[offset_dims=(1, 2), collapsed_slice_dims=(), start_index_map=(1,), "
            "index_vector_dim=1, slice_sizes=(1, 2, 3), operand_batching_dims=(0,), "
            "start_indices_batching_dims=(0,), unique=True] x0, %0",
        ],
    ),
    "window at starts that do not matter": (
        ops.DynamicSlice((2, 3)),
        WINDOW,
        {2},
        [
            "constant[value=0, dtype=i64]",
            "dynamic_slice[slice_sizes=(2, 3)] x0, x1, %0",
            "for all",
        ],
    ),
    "update by windows": (
        ops.DynamicUpdateSlice(),
        UPDATE,
        {1},
        [
            "broadcast_in_dim[shape=(4, 5), dims=(1,)] x0",
            "constant[value=0, dtype=i32]",
            "dynamic_update_slice %0, x1, %1, x2",
        ],
    ),
    "update at starts": (
        ops.DynamicUpdateSlice(),
        UPDATE,
        {0, 1, 2},
        [
            "broadcast_in_dim[shape=(4, 1), dims=(0,)] x2",
            "scatter[update_window_dims=(1,), inserted_window_dims=(), "
            "scatter_dims_to_operand_dims=(1,), index_vector_dim=1, operand_batching_dims=(0,), "
            "scatter_indices_batching_dims=(0,), combiner='set', unique=True, mode='clip'] x0, %0, "
            "x1",
        ],
    ),
    "padding of an operand": (
        PAD,
        PADDED,
        {0},
        ["pad[low=(0, 1), high=(0, 2), interior=(0, 1)] x0, x1"],
    ),
    "padding with values": (
        PAD,
        PADDED,
        {0, 1},
        [
            "constant[value=True, dtype=bool]",
            "broadcast_in_dim[shape=(3,), dims=()] %0",
            "constant[value=False, dtype=bool]",
            "pad[low=(1,), high=(2,), interior=(1,)] %1, %2",
            "broadcast_in_dim[shape=(4, 8), dims=(1,)] %3",
            "constant[value=0.0, dtype=f64]",
            "pad[low=(0, 1), high=(0, 2), interior=(0, 1)] x0, %5",
            "broadcast_in_dim[shape=(4, 8), dims=(0,)] x1",
            "select %4, %6, %7",
        ],
    ),
    "size of an axis": (
        ops.ShapeOf(0),
        ((F, (dim("k"), 3)),),
        {0},
        ["shape_of[axis=1] x0", "for all"],
    ),
    "truncation": (
        ops.DynamicTruncate(0),
        ((F, (5,)), (INT, ())),
        {0},
        ["dynamic_truncate[axis=1] x0, x1"],
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_the_graph_for_all_entries(name: str) -> None:
    op, operands, batched, expected = RULES[name]
    assert graph_for_all(op, operands, batched, 4) == expected


def test_a_gather_along_a_batch_of_symbolic_size_has_a_late_slice_size() -> None:
    (line,) = graph_for_all(ROWS, PICKED, {0}, dim("n"))
    assert line.startswith("gather_dynamic_slice_sizes[")
    assert "slice_sizes=(n, 1, 3)" in line


def test_one_window_of_updates_is_unique() -> None:
    one = ((F, (5, 3)), (INT, (1, 1)), (F, (1, 3)))
    (*_, line) = graph_for_all(ops.Scatter((1,), (0,), (0,), 1), one, {0, 1, 2}, 4)
    assert "unique=True" in line


@pytest.mark.parametrize("dtype", ["int8", "uint64"])
def test_starts_of_any_dtype_are_moved_inside(dtype: str) -> None:
    largest = np.iinfo(np.dtype(dtype)).max
    starts = np.array([0, 1, largest], dtype)
    x = np.arange(300.0)
    for op, arrays in (
        (ops.DynamicSlice((2,)), (x, starts)),
        (ops.DynamicUpdateSlice(), (x, np.zeros(2), starts)),
    ):
        operands = [(a.dtype, a.shape) for a in arrays[:-1]]
        key, whole, _ = emitted(op, [*operands, (starts.dtype, ())], {len(operands)}, 3)
        (value,) = run(VIEW, [key], dict(zip(whole, arrays, strict=True)))
        alone = [op.evaluate([*arrays[:-1], start])[0] for start in starts]
        assert value.tolist() == np.stack(alone).tolist()


def emitted(
    op: Any, operands: Any, batched: set[int], size: Dim
) -> tuple[GlobalValKey, list[GlobalValKey], bool]:
    """The op for all entries, its operands, and whether it is batched."""
    metas = [TensorMeta.of(dtype, shape) for dtype, shape in operands]
    keys = [input_key(TensorInput(f"x{i}", meta)) for i, meta in enumerate(metas)]
    whole = [
        input_key(TensorInput(f"x{i}", TensorMeta.of(meta.dtype, (size, *(meta.dims or ())))))
        if i in batched
        else keys[i]
        for i, meta in enumerate(metas)
    ]
    mapping = {keys[i]: whole[i] for i in batched}
    outputs = op_key(op, tuple(keys)).outputs
    ((key, is_batched),) = batch(VIEW, outputs, mapping, size, ctx=CTX)
    return key, whole, is_batched


def graph_for_all(op: Any, operands: Any, batched: set[int], size: Dim) -> list[str]:
    """One line for each op; the last line is `for all` if the result is not batched."""
    key, whole, is_batched = emitted(op, operands, batched, size)
    names: dict[GlobalValKey, str] = {value: f"x{i}" for i, value in enumerate(whole)}
    lines: list[str] = []
    for number, node in enumerate(VIEW.topo_order([key])[0]):
        operands_text = ", ".join(names[value] for value in node.inputs)
        lines.append(f"{node.primitive} {operands_text}".strip())
        names[node.output(0)] = f"%{number}"
    return lines if is_batched else [*lines, "for all"]
