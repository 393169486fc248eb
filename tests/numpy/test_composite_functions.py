"""Every function that is made of others against NumPy and JAX: values, types, derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tests.numpy.calls import Call
from tests.numpy.composite_calls import CALLS, GROUPS, X
from tests.numpy.test_functions import (
    assert_gradients_are_jaxs,
    assert_results,
    call_id,
    listed,
    numpys,
)

NEEDS_NUMBERS = {"bincount", "choose", "ravel_multi_index", "roots", "trim_zeros"}
"""Functions that refuse traced values, because these decide the size of the result."""
OF_ANY_SIZE = {
    *("argwhere", "extract", "flatnonzero", "intersect1d", "ix_", "nonzero", "setdiff1d"),
    *("setxor1d", "union1d", "unique", "unique_all", "unique_counts", "unique_inverse"),
    "unique_values",
}
"""Functions whose results have a size that data decide, so that it differs within a batch."""


@pytest.mark.parametrize("call", CALLS, ids=call_id)
def test_values_and_types_are_numpys(call: Call) -> None:
    assert_results(listed(call.on(getattr(tn, call.name), call.operands)), numpys(call))


def once(calls: list[Call]) -> list[Call]:
    """The first call of each function."""
    return list({call.name: call for call in reversed(calls)}.values())


def test_gradients_are_those_of_jax() -> None:
    assert_gradients_are_jaxs(once([call for call in CALLS if call.smooth and call.operands]))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", GROUPS)
def test_gradients_of_all_calls_are_those_of_jax(name: str) -> None:
    assert_gradients_are_jaxs(GROUPS[name])


def traceable(refusing: set[str]) -> list[Call]:
    return [call for call in CALLS if call.operands and call.name not in refusing]


@pytest.mark.parametrize(
    "calls",
    [
        once(traceable(NEEDS_NUMBERS)),
        pytest.param(traceable(NEEDS_NUMBERS), marks=pytest.mark.exhaustive),
    ],
    ids=["once", "all"],
)
def test_traced_functions_give_the_same(calls: list[Call]) -> None:
    results = every(calls, lambda f: f)
    for call, found in zip(calls, results, strict=True):
        assert_results(found, numpys(call), call_id(call))


def test_batched_functions_give_the_same() -> None:
    batched = once(traceable(NEEDS_NUMBERS | OF_ANY_SIZE))
    results = every(batched, lambda f: lambda *xs: tn.vmap(f)(*[tn.stack([x, x]) for x in xs]))
    for call, found in zip(batched, results, strict=True):
        assert_results([np.asarray(each)[1] for each in found], numpys(call), call_id(call))


def every(calls: list[Call], transform: Any) -> Any:
    """The results of calls, all in one compiled function."""

    def together(operands: list[Any]) -> list[Any]:
        return [
            transform(lambda *xs, call=call: listed(call.on(getattr(tn, call.name), list(xs))))(*xs)
            for call, xs in zip(calls, operands, strict=True)
        ]

    return tn.jit(together, executor="numpy")([call.operands for call in calls])


@pytest.mark.exhaustive
def test_functions_take_values_of_a_device() -> None:
    on_device = tn.jit(lambda *xs: [tn.where(True, x, x) for x in xs])
    for call in once([call for call in CALLS if call.operands]):
        if not any((abs(x) == 1e-310).any() for x in call.operands):  # XLA takes these for 0
            found = listed(call.on(getattr(tn, call.name), on_device(*call.operands)))
            assert_results([np.asarray(each) for each in found], numpys(call), call_id(call))
    assert tn.frexp(on_device(X)[0])[1].tolist() == np.frexp(X)[1].tolist()


def test_histogramdd_counts_points_in_cells() -> None:
    points = np.random.default_rng(0).normal(size=(20, 2))
    for options in ({"bins": 3}, {"bins": [2, 4], "density": True}, {"range": ((-1, 1), None)}):
        found, edges = tn.histogramdd(points, **options)
        expected, others = np.histogramdd(points, **options)  # type: ignore[arg-type]
        assert_results([found, *edges], [expected, *others])


def test_a_size_that_data_decide_is_known_where_nothing_is_traced() -> None:
    x = np.array([2.0, 0.0, 3.0, 2.0])

    def distinct(x: Any) -> Any:
        return tn.sum(tn.unique(x) ** 2), tn.unique(x, size=6, fill_value=-1.0)

    for f in (distinct, tn.jit(distinct, executor="numpy")):
        total, padded = f(x)
        assert float(total) == 13.0
        assert padded.tolist() == [0.0, 2.0, 3.0, -1.0, -1.0, -1.0]
    batched = tn.vmap(lambda x: tn.nonzero(x, size=3)[0])(np.stack([x, x[::-1]]))
    assert batched.tolist() == [[0, 2, 3], [0, 1, 3]]
    slope = tn.jit(tn.grad(lambda x: tn.sum(x[tn.nonzero(x)] ** 2)), executor="numpy")(x)
    assert slope.tolist() == [4.0, 0.0, 6.0, 4.0]


def test_sinc_has_the_right_derivatives_at_0() -> None:
    second = tn.derivative(tn.sinc, order=2)
    assert float(second(0.0)) == pytest.approx(-(np.pi**2) / 3)
    assert float(tn.derivative(second, order=2)(0.0)) == pytest.approx(np.pi**4 / 5)


def test_functions_of_entries() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    for axis in (0, 1, -1):
        expected = np.apply_along_axis(np.cumsum, axis, x)
        np.testing.assert_array_equal(tn.apply_along_axis(tn.cumsum, axis, x), expected)
    product = tn.vectorize(tn.matmul, signature="(m,n),(n)->(m)")
    np.testing.assert_array_equal(product(x, x[:, :1]), np.matvec(x, x[:, :1]))
    shifted = tn.vectorize(lambda x, by: x + by[0], excluded={1})(x[0], [5.0])
    np.testing.assert_array_equal(shifted, x[0] + 5.0)
    halves = tn.piecewise(x[0], [x[0] < 3, x[0] > 9], [lambda x: -x, 7.0, lambda x: 2 * x])
    expected = np.piecewise(x[0], [x[0] < 3, x[0] > 9], [lambda x: -x, 7.0, lambda x: 2 * x])
    np.testing.assert_array_equal(halves, expected)


def test_the_notation_of_indices_is_numpys() -> None:
    row = [1.0, 2.0]
    np.testing.assert_array_equal(tn.r_[1:4, 0, row], np.r_[1:4, 0, row])
    np.testing.assert_array_equal(tn.r_["0,2", row, row], np.r_["0,2", row, row])
    np.testing.assert_array_equal(tn.r_["1,2,0", row, row], np.r_["1,2,0", row, row])
    np.testing.assert_array_equal(tn.c_[row, row], np.c_[row, row])
    np.testing.assert_array_equal(tn.r_[0:1:5j], np.r_[0:1:5j])
    np.testing.assert_array_equal(tn.mgrid[0:2, 1:3], np.mgrid[0:2, 1:3])
    for ours, theirs in zip(tn.ogrid[0:2, 0:1:3j], np.ogrid[0:2, 0:1:3j], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert tn.s_[1:, ..., None] == np.s_[1:, ..., None]
    assert tn.index_exp[2] == (2,)


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_numbers_are_scaled_by_powers_of_2_that_overflow(executor: str) -> None:
    x = np.array([0.0, -0.0, 1e-300, 1e300, 1.0, np.inf])
    run = tn.jit(lambda x: [tn.ldexp(x, n) for n in (2000, 1500, -1400)], executor=executor)
    for found, n in zip(run(x), (2000, 1500, -1400), strict=True):
        with np.errstate(all="ignore"):
            expected = np.ldexp(x, n)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_subnormal_numbers_are_split_or_are_zeros() -> None:
    x = np.array([1e-310, -5e-324, 0.0, 3e-308])
    mantissas, exponents = tn.frexp(x)
    np.testing.assert_array_equal(np.ldexp(mantissas, exponents), x)
    mantissas, exponents = tn.jit(tn.frexp, executor="xla")(x)
    assert np.asarray(mantissas).tolist() == [0, 0, 0, np.frexp(3e-308)[0]]
    assert np.asarray(exponents).tolist() == [0, 0, 0, -1021]


def test_grids_and_rows_are_those_of_numpy() -> None:
    for key in (np.s_[:], np.s_[1::2], np.s_[:3]):
        np.testing.assert_array_equal(tn.mgrid[key], np.mgrid[key])
        np.testing.assert_array_equal(tn.ogrid[key], np.ogrid[key])
    assert tn.r_["r", [1, 2], [3]].tolist() == [[1, 2, 3]]
    assert tn.r_["c", [1, 2], [3]].tolist() == [[1], [2], [3]]
    assert tn.c_["r", [1, 2], [3, 4]].tolist() == [[1, 3], [2, 4]]


def test_polynomials_keep_digits_and_axes() -> None:
    small = np.array([120, 120, 1], "int8")
    assert tn.polyder(small).dtype == np.polyder(small).dtype
    np.testing.assert_array_equal(tn.polyder(small), np.polyder(small))
    x, y = np.arange(6.0), np.random.default_rng(0).normal(size=(6, 2))
    for cov in (True, "unscaled"):
        expected = np.polyfit(x, y, 1, cov=cov)[1]
        np.testing.assert_allclose(tn.polyfit(x, y, 1, cov=cov)[1], expected, atol=1e-13)


def test_coordinates_in_a_traced_shape() -> None:
    places = np.array([-1, 3, 5, 9], "int32")
    expected = tn.unravel_index(places, (2, 3))
    for actual, reference in zip(tn.jit(tn.unravel_index)(places, (2, 3)), expected, strict=True):
        assert actual.dtype == reference.dtype == np.int32
        np.testing.assert_array_equal(actual, reference)
    assert tn.take_along_axis([3, 1], [1, -1, 7], mode="one_hot").tolist() == [1, 1, 0]


def test_vectorized_functions_return_arrays_and_pass_none_on() -> None:
    def shifted(x: Any, y: Any = None, name: str = "") -> Any:
        return x + np.arange(3.0) if y is None else x + y

    entries = tn.vectorize(shifted, excluded={2, "name"})
    np.testing.assert_array_equal(entries([1.0, 2.0], None), [[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]])
    np.testing.assert_array_equal(entries([1.0, 2.0], 1.0, name="a"), [2.0, 3.0])


def test_no_values_are_put() -> None:
    assert tn.put([1, 2, 3], 1, np.zeros((0, 2), int), inplace=False).tolist() == [1, 2, 3]
