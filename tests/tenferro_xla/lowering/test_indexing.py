"""Gather, scatter, dynamic slices and sorting mean on XLA what they mean on NumPy."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tenferro as tn
from tenferro import ops
from tenferro.ir import ExecBuilder
from tenferro.ops import StdTensorOp, meta_of
from tenferro_xla import LoweringOptions, jax_function
from tests.graphs import metas_of
from tests.ops.functions.strategies import filled
from tests.ops.functions.test_indexing import allowed, expressions, lifted, shapes
from tests.ops.test_sort import both
from tests.tenferro_xla.lowering.test_program import (
    DTYPES,
    EXECUTOR,
    Array,
    assert_parity,
    interesting,
    takes,
)

SOME = ("bool", "int64", "float32", "complex128")
ROWS = ((1,), (0,), (0,), 1)
BLOCKS = ((0, 2), (), (1, 0), 1)
ALONG = ((), (1,), (1,), 2, (0,), (0,))
OUTSIDE = np.array([3, 0, -1, 9, 2, 0, -5])
PAIRS = np.array([[0, 1], [2, 2], [-1, 0], [3, 3], [9, -9], [1, 1]])
TWO_ROWS = np.array([[2, 0, 2, 5], [1, -1, 1, 0]])

GATHERS: list[tuple[StdTensorOp, Array]] = [
    (ops.Gather(*ROWS, (1, 4)), OUTSIDE),
    (ops.Gather((0, 1), (), (0,), 0, (2, 3)), np.array([3])),
    (ops.Gather(*BLOCKS, (2, 3)), PAIRS),
    (ops.Gather((), (0, 1), (0, 1), 0, (1, 1)), PAIRS.T.copy()),
    (ops.Gather((), (1,), (1,), 2, (1, 1), (0,), (0,)), np.resize(TWO_ROWS, (3, 4))),
    (ops.Gather((1,), (), (1,), 1, (1, 2), (0,), (0,)), np.array([0, 3, -2])),
    (ops.Gather(*ROWS, (1, 4)), np.zeros(0, int)),
    (ops.GatherDynamicSliceSizes(*ROWS, (1, 4)), OUTSIDE),
    (ops.Gather(*ROWS, (1, 4), mode="drop"), OUTSIDE),
    (ops.Gather(*BLOCKS, (2, 3), mode="drop"), PAIRS),
]


@pytest.mark.parametrize("dtype", SOME)
def test_gathers_are_numpys(dtype: str) -> None:
    assert_parity(*[(op, [filled((3, 4), dtype, 0), indices]) for op, indices in GATHERS])


def test_indices_of_every_integer_dtype_are_numpys() -> None:
    op, indices = GATHERS[0]  # negative ones are large where there is no sign
    x, updates = filled((3, 4), "float64", 0), np.ones((7, 4))
    for_dtypes = [indices.astype(dtype) for dtype in ("i4", "i1", "u1", "u8")]
    assert_parity(
        *[(op, [x, indices]) for indices in for_dtypes],
        *[(ops.Scatter(*ROWS), [np.zeros((3, 4)), indices, updates]) for indices in for_dtypes],
    )


SCATTERS: list[tuple[tuple[Any, ...], Array, tuple[int, ...]]] = [
    (ROWS, OUTSIDE, (7, 4)),
    (ROWS, np.zeros(0, int), (0, 4)),
    (BLOCKS, PAIRS, (2, 6, 3)),
    (((), (0, 1), (0, 1), 0), PAIRS.T.copy(), (6,)),
    (ALONG, np.resize(TWO_ROWS, (3, 4)), (3, 4)),
    (((0, 1), (), (1,), 0), np.array([1]), (2, 3)),
]


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("combiner", ["add", "set", "mul", "min", "max"])
def test_scatters_are_numpys(combiner: str) -> None:
    kind = ops.Scatter if combiner in ("add", "set") else ops.ScatterReduce
    applications = [
        (
            kind(*numbers, combiner=combiner, mode=mode),
            [filled((3, 4), dtype, 0), indices, filled(shape, dtype, 1)],
        )
        for numbers, indices, shape in SCATTERS
        for dtype, mode in zip(SOME, ("drop", "clip", "drop", "clip"), strict=True)
    ]
    assert_parity(*[(op, operands) for op, operands in applications if takes(op, *operands)])


def test_many_updates_of_one_element_leave_the_last() -> None:
    op = ops.Scatter((), (0,), (0,), 1, combiner="set")
    rng = np.random.default_rng(0)
    assert_parity((op, [np.zeros(7), rng.integers(-1, 9, 5000), rng.normal(size=5000)]))
    extremes = np.array([np.nan, -0.0, np.inf, -np.inf, 0.0])
    assert_parity((op, [np.zeros(2), np.array([0, 0, 1, 0, 1]), extremes]))


@pytest.mark.parametrize("in_order", [True, False])
def test_windows_that_overlap_leave_the_last_where_updates_are_in_order_or_not(
    in_order: bool,
) -> None:
    op = ops.Scatter((0, 2), (), (1, 0), 1, combiner="set")
    rng = np.random.default_rng(0)
    x, places = rng.normal(size=(9, 8)), rng.integers(-2, 9, size=(400, 2))
    updates = rng.normal(size=(2, 400, 3))
    builder = ExecBuilder()
    slots = [builder.input(meta) for meta in metas_of([x, places, updates])]
    program = builder.build(builder.add(op, slots))
    options = LoweringOptions(ordered_scatters=in_order)
    with jax.enable_x64(True):
        (found,) = jax.jit(jax_function(program, options))(x, places, updates)
    np.testing.assert_array_equal(found, op.numpy(x, places, updates))


def test_indices_beyond_32_bits_stay_out_of_bounds() -> None:
    far = np.array([2**32, 1, -(2**32), 2**31, -(2**31) - 1, 2**63 - 1])
    for mode in ("drop", "clip"):
        assert_parity(
            (ops.Gather(*ROWS, (1, 4), mode=mode), [filled((3, 4), "float64", 0), far]),
            (ops.Scatter(*ROWS, mode=mode), [np.zeros((3, 4)), far, np.ones((6, 4))]),
        )


def test_dynamic_slices_are_numpys() -> None:
    x, window = filled((5, 4), "float64", 0), filled((2, 3), "float64", 1)
    applications: list[tuple[StdTensorOp, list[Array]]] = []
    starts = [(0, "i8"), (1, "i4"), (-100, "i1"), (-1, "u1"), (-1, "u8"), (3, "i8")]
    for start, dtype in starts:
        places = [np.array(start).astype(dtype), np.array(1).astype(dtype)]
        applications += [
            (ops.DynamicSlice((2, 3)), [x, *places]),
            (ops.DynamicUpdateSlice(), [x, window, *places]),
            (ops.DynamicSlice((0, 4)), [x, *places]),
        ]
    assert_parity(*applications)


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sorting_is_numpys_at_edges_and_specials(dtype: np.dtype[Any]) -> None:
    values = np.tile(interesting(dtype), 3)
    column = np.random.default_rng(0).permutation(values)
    columns = np.stack([column, column[::-1]], axis=1)
    applications: list[tuple[StdTensorOp, Array]] = [
        *((op, x) for op in (ops.Sort(0), ops.ArgMax(0), ops.ArgMin(0)) for x in (column, columns)),
        *((ops.TopPlaces(0, k), x) for k in (0, 3, len(column)) for x in (column, columns)),
        *((ops.TopPlaces(1, 1), x) for x in (columns, columns[:, :1])),
        *((ops.Sort(1), column[:0].reshape(shape)) for shape in ((3, 0), (0, 3))),
    ]
    assert_all_outputs([(op, x) for op, x in applications if takes(op, x)])


def assert_all_outputs(applications: list[tuple[StdTensorOp, Array]]) -> None:
    """Every output of ops, each on an array of its own, is NumPy's, to the bit."""
    all_ops = [op for op, _ in applications]
    from_xla = tn.jit(lambda *xs: [outputs(op, x) for op, x in zip(all_ops, xs, strict=True)])(
        *[x for _, x in applications]
    )
    for (op, x), found in zip(applications, from_xla, strict=True):
        for ours, expected in zip(found, op.evaluate([x]), strict=True):
            np.testing.assert_array_equal(np.asarray(ours), expected, f"{op} of {meta_of(x)}")
            assert ours.dtype == expected.dtype


def outputs(op: StdTensorOp, x: Any) -> Any:
    if isinstance(op, ops.TopPlaces):
        return (tn.lax.top_k(x, op.count, axis=op.axis)[1],)
    if not isinstance(op, ops.Sort):
        return (getattr(tn, op.name)(x, axis=op.axis),)
    return both(x, op.axis)


@given(st.data())
@settings(max_examples=15)
def test_indexing_and_its_gradient_are_numpys(data: st.DataObject) -> None:
    x = filled(data.draw(shapes), "float64", 0)
    indices = data.draw(expressions(x.shape))
    if not allowed(x, indices):
        return
    arrays, again = lifted(indices)
    v = filled(x[indices].shape, "float64", 1)

    def f(x: Any, v: Any, *arrays: Any) -> Any:
        i = again(arrays)
        return tn.sum(x[i] ** 2 * v) + tn.sum(tn.sin(x.at[i].set(v)) + x.at[i].add(v) ** 2)

    both = [
        tn.jit(tn.value_and_grad(f, (0, 1)), executor=executor)(x, v, *arrays)
        for executor in ("numpy", "xla")
    ]
    for ours, theirs in zip(leaves(both[0]), leaves(both[1]), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def leaves(tree: Any) -> list[Array]:
    value, gradients = tree
    return [np.asarray(leaf) for leaf in (value, *gradients)]


def test_symbolic_windows_are_specialised() -> None:
    def f(x: Any, i: Any) -> Any:
        return tn.sum(x[i] ** 3) + tn.sum(x[:, i[0]])

    program = tn.make_program(tn.grad(f), tn.TensorSpec(("n", "m")), tn.TensorSpec(("k",), "int64"))
    text = str(program)
    assert "gather_dynamic_slice_sizes" in text
    for n, m, k in ((3, 2, 4), (2, 5, 1)):
        given_ = {"x": filled((n, m), "float64", 0), "i": np.arange(k) % min(n, m)}
        (expected,) = tn.GraphExecutor(tn.NumpyBackend()).run(program, given_)
        (found,) = EXECUTOR.run(program, given_)
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-12)
