"""What is computed at once has the derivatives that graphs have: for every op of the table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import tenferro as tn
from tenferro.transforms import EagerTensor
from tests.graphs import Array, function, metas_of
from tests.ops.cases import CASES
from tests.ops.rows import Case, for_each, row_id
from tests.sampling import some
from tests.tolerances import assert_close, rounding

RT = tn.EagerRuntime()
DOUBLE = ("f64", "c128")


@pytest.fixture(scope="module")
def on_xla() -> tn.EagerRuntime:
    return tn.EagerRuntime("xla")


IN_F64 = [case for case in CASES if "f64" in case.smooth_dtypes()]


@pytest.mark.exhaustive(but=7)
@pytest.mark.parametrize(
    "case",
    some(IN_F64, 10, row_id),  # each op is compiled by itself
)
def test_xla_gives_what_numpy_gives(on_xla: tn.EagerRuntime, case: Case) -> None:
    arrays, wrt = case.arrays("f64"), case.differentiable("f64")
    results = []
    for runtime in (RT, on_xla):
        xs = operands(runtime, arrays, wrt)
        y = runtime.invoke(case.op_for("f64"), *xs)[case.output]
        seed = like([y.numpy()], 5)
        pulled = runtime.vjp_optional([y], [xs[place] for place in wrt], seed)
        results.append([y, *pulled])
    for ours, theirs in zip(*results, strict=True):
        assert_equal(ours, None if theirs is None else theirs.numpy())


def operands(rt: tn.EagerRuntime, arrays: list[Array], wrt: list[int]) -> list[EagerTensor]:
    return [
        rt.variable(array) if place in wrt else rt.constant(array)
        for place, array in enumerate(arrays)
    ]


def like(arrays: list[Array], seed: int) -> list[Array]:
    """Arrays of the same types, with entries that are not simple numbers."""
    rng = np.random.default_rng(seed)
    made = []
    for array in arrays:
        values = rng.uniform(-1, 1, array.shape)
        if array.dtype.kind == "c":
            values = values + 1j * rng.uniform(-1, 1, array.shape)
        made.append(np.asarray(values).astype(array.dtype))
    return made


def assert_all_equal(
    ours: Sequence[EagerTensor | None], theirs: Sequence[Array | None], symbolic: bool = True
) -> None:
    """Values that are equal; zeros are None for both, or, unless `symbolic`, for one of them."""
    for own, other in zip(ours, theirs, strict=True):
        assert not symbolic or (own is None) == (other is None)
        if own is not None and other is None:
            assert not own.numpy().any()
        elif own is None and other is not None:
            assert not other.any()
        else:
            assert_equal(own, other)


def assert_equal(ours: EagerTensor | None, theirs: Array | None) -> None:
    if ours is not None and theirs is not None:
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert_close(ours.numpy(), theirs, rounding(theirs.dtype))


@for_each(CASES, lambda case: case.smooth_dtypes())
def test_first_derivatives_are_those_of_the_graph(case: Case, dtype: str) -> None:
    arrays, wrt = case.arrays(dtype), case.differentiable(dtype)
    f = function(case.op_for(dtype), metas_of(arrays), case.output)
    xs = operands(RT, arrays, wrt)
    y = RT.invoke(case.op_for(dtype), *xs)[case.output]
    assert_equal(y, f(*arrays)[0])
    moving = [xs[place] for place in wrt]
    tangents = like([arrays[place] for place in wrt], 1)
    df = f.jvp(wrt)
    assert_all_equal(RT.jvp_optional([y], moving, tangents), df(*arrays, *tangents))
    assert y.tracked == (df.outputs != (None,))
    if y.tracked:
        seeds = like([y.numpy()], 2)
        assert_all_equal(RT.vjp_optional([y], moving, seeds), f.vjp(wrt)(*arrays, *seeds))


@for_each(
    CASES, lambda case: [d for d in case.dtypes if d in DOUBLE and len(case.differentiable(d)) > 1]
)
def test_of_several_tracked_operands_one_can_be_differentiated_by(case: Case, dtype: str) -> None:
    arrays, wrt = case.arrays(dtype), case.differentiable(dtype)
    f = function(case.op_for(dtype), metas_of(arrays), case.output)
    xs = operands(RT, arrays, wrt)
    y = RT.invoke(case.op_for(dtype), *xs)[case.output]
    seeds = like([y.numpy()], 2)
    for place in wrt:
        tangents = like([arrays[place]], 1)
        df = f.jvp([place])
        assert_all_equal(RT.jvp_optional([y], [xs[place]], tangents), df(*arrays, *tangents))
        expected = [None] if df.outputs == (None,) else f.vjp([place])(*arrays, *seeds)
        assert_all_equal(RT.vjp_optional([y], [xs[place]], seeds), expected)


@for_each(CASES, lambda case: [d for d in DOUBLE if d in case.smooth_dtypes()])
def test_second_derivatives_are_those_of_the_graph(case: Case, dtype: str) -> None:
    arrays, wrt = case.arrays(dtype), case.differentiable(dtype)
    f = function(case.op_for(dtype), metas_of(arrays), case.output)
    if f.jvp(wrt).outputs == (None,) or None in f.vjp(wrt).outputs:
        return
    xs = operands(RT, arrays, wrt)
    y = RT.invoke(case.op_for(dtype), *xs)[case.output]
    moving = [xs[place] for place in wrt]
    seeds = like([y.numpy()], 3)
    first = RT.vjp([y], moving, seeds)
    again = like([arrays[place] for place in wrt], 4)
    ddf = f.vjp(wrt).jvp(wrt)
    assert_all_equal(
        RT.jvp_optional(first, moving, again), ddf(*arrays, *seeds, *again), symbolic=False
    )
    reached = [ct for ct, key in zip(again, ddf.outputs, strict=True) if key is not None]
    if reached:
        assert_all_equal(
            RT.vjp_optional(first, moving, again),
            f.vjp(wrt).vjp(wrt)(*arrays, *seeds, *reached),
            symbolic=False,
        )
