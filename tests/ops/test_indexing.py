"""Gather, scatter, dynamic slices and sorting: where rows of the table do not look."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro import ops
from tenferro.errors import (
    ADRuleError,
    AxisError,
    DTypeError,
    GraphError,
    ShapeError,
    TenferroError,
    UnsupportedDynamicShapeError,
)
from tenferro.ops import StdTensorOp, meta_of
from tenferro.shape import Exact, TensorMeta, Unknown, UpperBound, dim
from tests.graphs import CTX, evaluated, function, gradients
from tests.ops.test_errors import meta

ROWS = ((1,), (0,), (0,), 1)

REFUSALS: list[tuple[StdTensorOp, str, type[TenferroError], str]] = [
    (ops.Gather(*ROWS, (1,)), "f64[4,3] i64[2]", AxisError,
     "gather: slice_sizes must have one entry for each axis of f64[4,3]"),
    (ops.Gather(*ROWS, (1, 3)), "f64[4,3] f64[2]", DTypeError,
     "gather: takes integer, unsigned operands, got f64[2]"),
    (ops.Gather(*ROWS, (1, 3)), "f64[4,3]", GraphError, "gather: takes 2 operands, got 1"),
    (ops.Gather((1,), (2,), (0,), 1, (1, 3)), "f64[4,3] i64[2]", AxisError,
     "gather: axis 2 is out of range for f64[4,3] of rank 2"),
    (ops.Gather((0, 1), (0,), (0,), 1, (1, 3)), "f64[4,3] i64[2]", AxisError,
     "gather: the window axes (0, 1) must increase, one for each axis of f64[4,3] but (0,)"),
    (ops.Gather((5,), (0,), (0,), 1, (1, 3)), "f64[4,3] i64[2]", AxisError,
     "gather: window axis 5 is out of range for a result of rank 2"),
    (ops.Gather((1,), (0,), (0,), 3, (1, 3)), "f64[4,3] i64[2]", AxisError,
     "gather: index_vector_dim 3 is out of range for i64[2]"),
    (ops.Gather((0,), (0,), (0,), 0, (1, 3)), "f64[4,3] i64[2]", ShapeError,
     "gather: an index of i64[2] has 2 components along axis 0, but the index map (0,) names 1"),
    (ops.Gather((0,), (0,), (0,), 0, (1, 3)), "f64[4,3] i64[n]", ShapeError,
     "gather: an index of i64[n] has n components along axis 0, but the index map (0,) names 1"),
    (ops.Gather(*ROWS, (2, 3)), "f64[4,3] i64[2]", ShapeError,
     "gather: windows do not have axis 0 of f64[4,3]; its slice size must be 1, not 2"),
    (ops.Gather(*ROWS, (1, 4)), "f64[4,3] i64[2]", ShapeError,
     "gather: a slice of size 4 does not fit axis 1 of f64[4,3]"),
    (ops.Gather(*ROWS, (1, dim("n"))), "f64[4,n] i64[2]", ShapeError,  # type: ignore[arg-type]
     "gather: slice size n is not a number of elements; use gather_dynamic_slice_sizes"),
    (ops.Gather((), (1,), (1,), 2, (1, 1), (0,), (0,)), "f64[2,3] i64[4,5]", ShapeError,
     "gather: axis 0 of f64[2,3] and axis 0 of i64[4,5] have sizes 2 and 4, which differ"),
    (ops.Gather((), (1,), (1,), 2, (1, 1), (0,), (0,)), "f64[<=9,3] i64[<=9,5]",
     UnsupportedDynamicShapeError, "the size of axis 0 of f64[<=9,3] and axis 0 of i64[<=9,5] "
     "must be exact, but is at most 9 (upper bound)"),
    (ops.Gather((), (1,), (1,), 2, (1, 1), (0,), ()), "f64[2,3] i64[4,5]", AxisError,
     "gather: batching axes (0,) of f64[2,3] and () of i64[4,5] must come in pairs"),
    (ops.Gather((), (1,), (0, 1), 2, (1, 1), (0,), (0,)), "f64[2,3] i64[2,5,2]", AxisError,
     "gather: axes (0,) of f64[2,3] are batching axes; the index map (0, 1) must not name them"),
    (ops.Gather((), (1,), (1,), 0, (1, 1), (0,), (0,)), "f64[2,3] i64[2,5]", AxisError,
     "gather: axis 0 of i64[2,5] holds the components of an index; it cannot be a batching axis"),
    (ops.GatherDynamicSliceSizes(*ROWS, (1, dim("dim(2, 1)"))), "f64[4,3] i64[2]", AxisError,
     "gather_dynamic_slice_sizes: dim(2, 1) does not name an axis of one of the 2 operands"),
    (ops.GatherDynamicSliceSizes(*ROWS, (1, 3)), "f64[4,3]", GraphError,
     "gather_dynamic_slice_sizes: takes an operand, indices and shape sources"),
    (ops.Scatter(*ROWS), "f64[4,3] i64[2]", GraphError,
     "scatter: takes operand, indices and updates, got 2"),
    (ops.Scatter(*ROWS), "f64[4,3] i64[2] f32[2,3]", DTypeError,
     "scatter: operand and updates have types f64[4,3] and f32[2,3]; convert them to one dtype"),
    (ops.Scatter(*ROWS), "bool[4,3] i64[2] bool[2,3]", DTypeError,
     "scatter: takes integer, unsigned, floating-point, complex operands, got bool[4,3]"),
    (ops.Scatter(*ROWS, combiner="max"), "f64[4,3] i64[2] f64[2,3]", DTypeError,
     "scatter: combiner 'max' is not one of add, set"),
    (ops.ScatterReduce(*ROWS, combiner="add"), "f64[4,3] i64[2] f64[2,3]", DTypeError,
     "scatter_reduce: combiner 'add' is not one of mul, min, max"),
    (ops.ScatterReduce(*ROWS, combiner="max"), "c64[4,3] i64[2] c64[2,3]", DTypeError,
     "scatter_reduce: takes integer, unsigned, floating-point operands, got c64[4,3]"),
    (ops.Scatter(*ROWS), "f64[4,3] i64[2] f64[2,3,1]", ShapeError,
     "scatter: updates f64[2,3,1] must have 2 axes, of which (1,) run over windows and the others "
     "over indices i64[2]"),
    (ops.Scatter(*ROWS), "f64[4,3] i64[2] f64[5,3]", ShapeError,
     "scatter: axis 0 of updates f64[5,3] and axis 0 of indices i64[2] have sizes 5 and 2"),
    (ops.Scatter(*ROWS), "f64[4,3] i64[2] f64[2,4]", ShapeError,
     "scatter: windows of updates f64[2,4] do not fit axis 1 of f64[4,3]"),
    (ops.DynamicSlice((2,)), "f64[4,3] i64[]", AxisError,
     "dynamic_slice: got 1 starts for f64[4,3]; pass one for each axis"),
    (ops.DynamicSlice((2, 2)), "f64[4,3] i64[]", GraphError,
     "dynamic_slice: takes an operand and 2 starts, one for each slice size, got 2 operands"),
    (ops.DynamicSlice((2, 2)), "f64[4,3] i64[] i32[]", ShapeError,
     "dynamic_slice: starts must be scalars of one dtype, got i64[] and i32[]"),
    (ops.DynamicSlice((2, 2)), "f64[4,3] f64[] f64[]", DTypeError,
     "dynamic_slice: takes integer, unsigned operands, got f64[]"),
    (ops.DynamicSlice((2, 4)), "f64[4,3] i64[] i64[]", ShapeError,
     "dynamic_slice: a window f64[2,4] does not fit axis 1 of f64[4,3]"),
    (ops.DynamicUpdateSlice(), "f64[4,3]", GraphError,
     "dynamic_update_slice: takes an operand, a window and its starts"),
    (ops.DynamicUpdateSlice(), "f64[4,3] f64[4] i64[] i64[]", AxisError,
     "dynamic_update_slice: a window f64[4] must have as many axes as f64[4,3]"),
    (ops.DynamicUpdateSlice(), "f64[4,3] f32[4,3] i64[] i64[]", DTypeError,
     "dynamic_update_slice: operand and window have types f64[4,3] and f32[4,3]; convert"),
    (ops.Sort(2), "f64[4,3]", AxisError, "sort: axis 2 is out of range for f64[4,3] of rank 2"),
    (ops.Sort(0), "c64[4,3]", DTypeError,
     "sort: takes bool, integer, unsigned, floating-point operands, got c64[4,3]"),
    (ops.ArgMax(0), "c64[4]", DTypeError,
     "argmax: takes bool, integer, unsigned, floating-point operands, got c64[4]"),
    (ops.TopPlaces(1, 3), "f64[4,2]", ShapeError,
     "top_places: axis 1 of f64[4,2] does not have 3 elements"),
    (ops.TopPlaces(0, 1), "c64[4]", DTypeError,
     "top_places: takes bool, integer, unsigned, floating-point operands, got c64[4]"),
    (ops.ArgMin(1), "f64[2,0]", ShapeError,
     "argmin: axis 1 of f64[2,0] has no elements to choose from"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "operands", "error", "text"), REFUSALS)
def test_wrong_operands_are_refused(
    op: StdTensorOp, operands: str, error: type[TenferroError], text: str
) -> None:
    with pytest.raises(error, match=re.escape(text)):
        op.infer_all([meta(operand) for operand in operands.split()])


@pytest.mark.parametrize(
    "extent", [Exact(dim("n")), UpperBound(3), UpperBound(dim("n")), Unknown()]
)
def test_a_dynamic_gather_has_the_guarantees_of_its_shape_source(extent: Any) -> None:
    x, i = TensorMeta.of("f64", (4, "m")), TensorMeta.of("i64", (2,))
    source = TensorMeta(x.dtype, [Exact(2), extent])
    op = ops.GatherDynamicSliceSizes(*ROWS, (1, dim("dim(2, 1)")))
    assert op.infer_all([x, i, source])[0].extents == (Exact(2), extent)


def test_a_dynamic_gather_of_known_sizes_is_a_gather() -> None:
    f = tn.make_program(lambda x, i: x[i], tn.TensorSpec(("n", 3)), tn.TensorSpec((2,), "int64"))
    assert "gather[" in str(f)
    assert "gather_dynamic_slice_sizes" not in str(f)


def test_a_dynamic_gather_reaches_the_backend_as_a_gather() -> None:
    seen: list[StdTensorOp] = []

    class Watching(tn.NumpyBackend):
        def execute(self, op: Any, inputs: Any) -> Any:
            seen.append(op)
            return super().execute(op, inputs)

    spec = tn.TensorSpec(("n", "m")), tn.TensorSpec((2,), "int64")
    program = tn.make_program(lambda x, i: x[i] * 2.0, *spec)
    x = np.arange(6.0).reshape(2, 3)
    (result,) = tn.GraphExecutor(Watching()).run(program, {"x": x, "i": np.array([1, 0])})
    np.testing.assert_array_equal(np.asarray(result), x[::-1] * 2)
    assert ops.Gather(*ROWS, (1, 3)) in seen
    assert not [op for op in seen if isinstance(op, ops.GatherDynamicSliceSizes)]


# --------------------------------------------------- dynamic shapes, "Scatter Transpose Policy"


def transposed_scatter(*types: TensorMeta) -> list[StdTensorOp]:
    """The gathers in the cotangent of the updates of a scatter on operands of those types."""
    gradient = function(ops.Scatter(*ROWS), types).vjp([2])
    found = [
        op for op in gradient.ops() if isinstance(op, ops.Gather | ops.GatherDynamicSliceSizes)
    ]
    assert CTX.meta(gradient.outputs[0]).extents == types[2].extents  # type: ignore[arg-type]
    return found  # type: ignore[return-value]  # both are primitives


def test_the_transpose_of_a_scatter_with_concrete_windows_is_the_concrete_gather() -> None:
    types = (meta("f64[n,3]"), meta("i64[m]"), meta("f64[m,3]"))
    assert transposed_scatter(*types) == [ops.Gather(*ROWS, (1, 3), mode="drop")]


@pytest.mark.parametrize("size", ["k", "<=k", "?"])
def test_the_transpose_of_a_scatter_with_symbolic_windows_is_a_dynamic_gather(size: str) -> None:
    types = (meta("f64[n,k]"), meta("i64[m]"), meta(f"f64[m,{size}]"))
    gather = ops.GatherDynamicSliceSizes(*ROWS, (1, dim("dim(2, 1)")), mode="drop")
    assert transposed_scatter(*types) == [gather]
    # Differentiated, transposed and differentiated again: the dynamic gather is closed.
    again = function(ops.Scatter(*ROWS), types).vjp([2]).vjp([3])
    assert [op.name for op in again.ops() if "gather" in op.name or "scatter" in op.name]


def test_the_dynamic_gather_of_a_transpose_follows_the_updates_at_run_time() -> None:
    gradient = function(
        ops.Scatter(*ROWS), (meta("f64[n,k]"), meta("i64[m]"), meta("f64[m,<=k]"))
    ).vjp([0, 2])
    x, i, updates = np.zeros((4, 3)), np.array([2, 0]), np.ones((2, 2))
    ct = np.arange(12.0).reshape(4, 3)
    to_x, to_updates = gradient(x, i, updates, ct)
    np.testing.assert_array_equal(to_x, ct)
    np.testing.assert_array_equal(to_updates, ct[i, :2])


# ------------------------------------------------------------------------------------- meanings


def test_windows_over_an_end_are_held_by_gather_and_dropped_by_scatter() -> None:
    x, i = np.arange(5.0), np.array([-3, 4, 9, 1])
    assert evaluated(ops.Gather((1,), (), (0,), 1, (2,)), x, i).tolist() == [
        [0, 1], [3, 4], [3, 4], [1, 2]
    ]  # fmt: skip
    ones = np.ones((4, 2))
    assert evaluated(ops.Scatter((1,), (), (0,), 1), x, i, ones).tolist() == [0, 2, 3, 3, 4]


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u4", "i4", "i8", "u8"])
def test_indices_of_every_integer_dtype(dtype: str) -> None:
    x = np.arange(300.0)
    top = np.iinfo(dtype).max
    i = np.array([0, 7, min(top, 299), top], dtype)
    op = ops.Gather((), (0,), (0,), 1, (1,))
    assert evaluated(op, x, i).tolist() == [0, 7, min(top, 299), min(top, 299)]
    assert evaluated(ops.DynamicSlice((1,)), x, i[2]).tolist() == [min(top, 299)]
    hit = evaluated(ops.Scatter((), (0,), (0,), 1), x, i[1:2], np.ones(1))
    assert np.flatnonzero(hit != x).tolist() == [7]


def test_derivatives_out_of_bounds_are_those_of_what_is_computed() -> None:
    x, i = np.array([1.0, 2.0, 3.0]), np.array([5, 0, -9, 2])

    def read(x: Any, i: Any) -> Any:
        return tn.sum(tn.take(x, i, mode="clip") ** 3)

    def written(u: Any, i: Any) -> Any:
        return tn.sum(tn.zeros(3).at[i].add(u) ** 3)

    gradient, hessian = (tn.jit(tn.grad(read)), tn.jit(tn.hessian(read)))
    places = np.array([2, 0, 0, 2])
    expected = np.bincount(places, weights=3 * x[places] ** 2)
    np.testing.assert_allclose(gradient(x, i), expected)
    np.testing.assert_allclose(hessian(x, i), np.diag(6 * x * [2, 0, 2]))
    entries = tn.jit(tn.vmap(tn.grad(read), (None, 0)))(x, i[:, None])
    np.testing.assert_allclose(entries, np.eye(3)[places] * 3 * x**2)
    u = np.array([4.0, 5.0, 6.0, 7.0])
    np.testing.assert_allclose(tn.jit(tn.grad(written))(u, i), [0, 75, 0, 147])
    np.testing.assert_allclose(tn.jit(tn.hessian(written))(u, i), np.diag([0, 30, 0, 42]))


def test_of_several_updates_the_last_is_set_and_has_the_derivative() -> None:
    op = ops.Scatter((1,), (), (0,), 1, combiner="set")  # windows of two that overlap
    x, i = np.zeros(4), np.array([1, 0, 2])
    updates = np.arange(1.0, 7).reshape(3, 2)
    assert evaluated(op, x, i, updates).tolist() == [3, 4, 5, 6]
    to_x, to_updates = gradients(op, x, i, updates, wrt=(0, 2))
    assert to_x.tolist() == [0, 0, 0, 0]
    assert to_updates.tolist() == [[0, 0], [1, 1], [1, 1]]


def test_a_promise_of_uniqueness_saves_finding_the_last() -> None:
    types = (meta("f64[4,3]"), meta("i64[2]"), meta("f64[2,3]"))
    counts = [
        len(function(ops.Scatter(*ROWS, combiner="set", unique=unique), types).vjp([2]).ops())
        for unique in (True, False)
    ]
    assert counts[0] < counts[1]


def test_ties_of_an_extremum_share_the_derivative() -> None:
    op = ops.ScatterReduce((), (0,), (0,), 1, combiner="max")
    x, i, updates = np.array([3.0, 1.0]), np.array([0, 0, 1]), np.array([3.0, 2.0, 5.0])
    to_x, to_updates = gradients(op, x, i, updates, wrt=(0, 2))
    assert to_x.tolist() == [0.5, 0]
    assert to_updates.tolist() == [0.5, 0, 1]


def test_a_product_of_several_has_no_derivative_by_them() -> None:
    op = ops.ScatterReduce((), (0,), (0,), 1, combiner="mul")
    with pytest.raises(ADRuleError, match="scatter_reduce: mul has no derivative by updates whose"):
        gradients(op, np.ones(2), np.array([0, 0]), np.ones(2), wrt=(2,))


def test_adding_zeros_or_nothing_is_simplified_away() -> None:
    def names(f: Any, *specs: tn.TensorSpec) -> list[str]:
        program = tn.make_program(f, *specs).exec_program
        return [step.op.name for step in program.instructions]

    x, i = tn.TensorSpec((4,)), tn.TensorSpec((2,), "int64")
    assert names(lambda x, i: x.at[i].add(0.0), x, i) == []
    assert "scatter" not in names(lambda x: x.at[np.zeros(0, int)].add(1.0), x)
    assert "gather" not in names(lambda x, i: tn.full((4,), x)[i], tn.TensorSpec(()), i)


def test_a_gather_of_a_million_is_vectorised() -> None:
    x = np.arange(1e6)
    i = np.arange(10**6)[::-1].copy()
    assert meta_of(evaluated(ops.Gather((), (0,), (0,), 1, (1,)), x, i)) == meta_of(x)
    assert evaluated(ops.Scatter((), (0,), (0,), 1), x, i, x).max() == 10**6 - 1


def test_products_at_known_places_that_differ_have_a_derivative_by_the_factors() -> None:
    weights = np.array([1.0, 10.0, 100.0])

    def f(u: Any, places: Any = (1, 0)) -> Any:
        x = tn.asarray([1.0, 2.0, 3.0])
        return tn.sum(x.at[np.array(places)].multiply(u) * weights)

    u = np.array([5.0, 7.0])
    assert tn.grad(f)(u).tolist() == [20.0, 1.0]
    assert tn.jacfwd(f)(u).tolist() == [20.0, 1.0]
    assert tn.grad(lambda u: tn.sum(tn.vmap(f)(u)))(np.stack([u, u])).tolist() == [[20.0, 1.0]] * 2
    for places in ((1, 1), (1, -2)):
        with pytest.raises(ADRuleError, match="mul has no derivative by updates whose windows may"):
            tn.grad(lambda u, places=places: f(u, places))(u)
