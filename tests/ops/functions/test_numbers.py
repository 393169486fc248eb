"""Integers compared exactly, numbers beyond a dtype, and options that are numbers or arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ConfigError, DTypeError, ShapeError, TenferroError, TracingError

BYTES = np.array([1, 100, 200], "uint8")
UNSIGNED = np.array([2**63 + 1, 2**53 + 1, 0, 5, 2**64 - 1], "uint64")
SIGNED = np.array([2**63 - 1, 2**53, -1, 5, -1])
COMPARISONS = [
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
]
PAIRS = [
    (UNSIGNED, SIGNED),
    (SIGNED, UNSIGNED),
    (UNSIGNED.astype("uint32"), SIGNED),
    (UNSIGNED, SIGNED.astype("int8")),
    (UNSIGNED[:, None], SIGNED[None, :]),
]


@pytest.mark.parametrize("compared", COMPARISONS)
def test_integers_of_any_two_types_are_compared_exactly(compared: Callable[..., Any]) -> None:
    for x, y in PAIRS:
        np.testing.assert_array_equal(compared(tn.asarray(x), tn.asarray(y)), compared(x, y))
    results = tn.jit(lambda pairs: [compared(x, y) for x, y in pairs])(PAIRS)
    for result, (x, y) in zip(results, PAIRS, strict=True):
        np.testing.assert_array_equal(result, compared(x, y))


@pytest.mark.parametrize("compared", COMPARISONS)
def test_numbers_that_no_element_can_be_are_compared_exactly(compared: Callable[..., Any]) -> None:
    for x in (BYTES, SIGNED, UNSIGNED, SIGNED.astype("int8")):
        for number in (-1, 5, 256, 300, 2**63, 2**70, -(2**70)):
            wanted = compared(x, number)
            np.testing.assert_array_equal(compared(tn.asarray(x), number), wanted)
            np.testing.assert_array_equal(compared(number, tn.asarray(x)), compared(number, x))
            if abs(number) < 2**63:
                traced = tn.jit(compared, executor="numpy")(x, number)
                np.testing.assert_array_equal(traced, wanted)


def test_functions_that_compare_integers_compare_exactly() -> None:
    one, other = np.array([2**53 + 1], "uint64"), np.array([2**53])
    assert not tn.isin(one, other).item()
    assert not tn.array_equal(one, other).item()
    assert tn.searchsorted(other, one).item() == 1
    assert tn.searchsorted(BYTES, -5).item() == 0
    assert not tn.isin(BYTES, 257).any().item()
    assert not tn.jit(lambda i: tn.isin(BYTES, tn.asarray([i])).any())(257).item()


def test_a_size_is_compared_with_all_its_digits() -> None:
    program = tn.make_program(
        lambda x: (x < x.shape[0], tn.maximum(x, x.shape[0]), x // x.shape[0]),
        tn.TensorSpec(("n",), "uint8"),
    )
    below, largest, quotient = program(np.full(300, 44, "uint8"))
    assert below.all().item()
    assert largest.tolist() == [255] * 300  # the number that is nearest to 300
    assert quotient.tolist() == [0] * 300


def test_a_bound_may_be_beyond_the_end_at_which_it_has_no_effect() -> None:
    def bounded(x: Any, low: Any, high: Any) -> Any:
        return tn.maximum(x, low), tn.minimum(x, high), tn.clip(x, low, high)

    x = tn.asarray(BYTES)
    for results in (bounded(x, -5, 300), tn.jit(bounded)(x, -5, 300)):
        assert [result.tolist() for result in results] == [[1, 100, 200]] * 3
        assert {str(result.dtype) for result in results} == {"uint8"}
    for wrong in (
        lambda: tn.maximum(x, 300),
        lambda: tn.minimum(x, -5),
        lambda: tn.clip(x, 300, 9),
    ):
        with pytest.raises(DTypeError, match="does not fit u8"):
            wrong()
    assert tn.jit(tn.maximum, executor="numpy")(x, 300).tolist() == [255, 255, 255]


def test_a_traced_integer_divides_with_all_its_digits() -> None:
    def results(x: Any, n: Any) -> Any:
        return x // n, x % n, tn.fmod(x, n), x**n, n // x, x >> n

    for run in ("numpy", "xla"):
        compiled = tn.jit(results, executor=run)(BYTES, 300)
        wanted = [[0] * 3, [1, 100, 200], [1, 100, 200], [1, 0, 0], [300 % 256, 3, 1], [0] * 3]
        assert [result.tolist() for result in compiled] == wanted
    assert tn.jit(tn.pow, executor="numpy")(BYTES, -3).tolist() == [1, 0, 0]


def test_what_functions_make_of_traced_numbers_is_an_array() -> None:
    x = np.ones(2, "float32")

    def dtypes(s: Any) -> Any:
        return x * s, x * (s + 1), x * -s, x * tn.sin(s), x * tn.asarray(s)

    traced = tn.jit(dtypes, executor="numpy")(2.0)
    assert [each.dtype for each in traced] == [each.dtype for each in dtypes(2.0)]
    assert [str(each.dtype) for each in traced] == ["float32"] * 3 + ["float64"] * 2


def test_a_border_has_one_number_or_one_for_each_end() -> None:
    for values in (5, (5, 7), ((5, 7),), np.array([5, 7]), ((5, 6), (7, 8)), [[1], [2]]):
        x = np.arange(4.0).reshape(2, 2)
        wanted = np.pad(x, 1, constant_values=values)  # type: ignore[arg-type]  # as NumPy takes it
        np.testing.assert_array_equal(tn.pad(x, 1, constant_values=values), wanted)

    def bordered(values: Any) -> Any:
        return tn.pad(BYTES, 1, constant_values=values)

    traced = tn.jit(lambda a, b: (bordered(a), bordered((a, b))))(3, 4)
    assert [each.tolist() for each in traced] == [[3, 1, 100, 200, 3], [3, 1, 100, 200, 4]]
    gradient = tn.grad(lambda v: tn.sum(tn.pad(np.zeros(2), 1, constant_values=(v, 2 * v))))(3.0)
    assert gradient.item() == 3.0
    assert tn.pad(np.array([True]), 1).tolist() == [False, True, False]
    assert bordered(1.5).tolist() == [1, 1, 100, 200, 1]
    for wrong, error in ((300, DTypeError), ((1, 2, 3), ShapeError)):
        with pytest.raises(error):
            tn.pad(np.zeros(1, "int8"), 1, constant_values=wrong)


def test_tolerances_may_be_arrays_or_traced() -> None:
    x, y = np.array([1.0, 2.0]), np.array([1.1, 2.1])
    tolerance = np.array([1.0, 0.0])
    assert tn.isclose(x, y, rtol=0, atol=tolerance).tolist() == [True, False]
    assert tn.isclose(x, y, rtol=tolerance, atol=0).tolist() == [True, False]
    assert not tn.allclose(x, y, rtol=0, atol=tolerance).item()
    assert tn.jit(lambda t: tn.allclose(x, y, rtol=0, atol=t))(1).item()
    assert tn.isclose(x.astype("float32"), y.astype("float32"), 0.2).tolist() == [True, True]


def test_replacements_of_nan_may_be_traced() -> None:
    x = np.array([np.nan, np.inf, 1, -np.inf], "float32")
    result = tn.jit(lambda v: tn.nan_to_num(x, nan=v, neginf=v))(3)
    assert result.tolist() == [3, np.finfo("float32").max.item(), 1, 3]
    assert result.dtype == "float32"
    with pytest.raises(DTypeError, match="nan_to_num: values of c128 do not fit"):
        tn.nan_to_num(x, nan=1j)


def test_rounding_to_more_decimals_than_there_are_changes_nothing() -> None:
    assert tn.round(np.array([1.5, np.inf]), 1000).tolist() == [1.5, np.inf]
    assert tn.round(np.array([1.5], "float32"), 40).tolist() == [1.5]
    assert tn.round(np.array([1e300, 0.126]), 2).tolist() == [1e300, 0.13]
    assert tn.round(np.array([1e300, -np.inf]), -400).tolist() == [0.0, -np.inf]
    assert tn.round(np.array([155, 15]), -1).tolist() == [160, 20]


def test_indices_of_uint64_are_indices() -> None:
    x, places = np.arange(5.0), np.array([0, 9, 2**64 - 1], "uint64")

    def read(x: Any, i: Any) -> Any:
        at = tn.asarray(x).at[i]
        return at.get(mode="fill"), at.get(mode="clip"), at.get(mode="wrap"), tn.roll(x, i[1])

    wanted = [[0, np.nan, np.nan], [0, 4, 4], [0, 4, 0], [1, 2, 3, 4, 0]]
    for results in (read(x, tn.asarray(places)), tn.jit(read)(x, places)):
        for result, right in zip(results, wanted, strict=True):
            np.testing.assert_array_equal(result, right)


def test_what_is_read_out_of_bounds_may_be_a_traced_number() -> None:
    def read(x: Any, v: Any) -> Any:
        return tn.asarray(x).at[np.array([0, 9])].get(mode="fill", fill_value=v)

    for x in (BYTES, BYTES.astype("float32")):
        known, traced = read(x, 7), tn.jit(read, executor="numpy")(x, 7)
        assert known.tolist() == traced.tolist() == [1, 7]
        assert known.dtype == traced.dtype == x.dtype
    with pytest.raises(DTypeError, match="get: fill_value must be one number that is known, got"):
        read(BYTES, (7.0, 8.0))


def test_ranges_that_end_before_they_start_are_empty() -> None:
    assert [tn.arange(-1).tolist(), tn.arange(0, -1).tolist()] == [[], []]
    program = tn.make_program(lambda x: tn.arange(x.shape[0] - 1), tn.TensorSpec(("n",)))
    assert [program(np.zeros(n)).tolist() for n in (0, 1, 3)] == [[], [], [0, 1]]


REFUSALS: list[tuple[Callable[..., Any], type[TenferroError], str]] = [
    (tn.zeros, ShapeError, "is a value of a trace, not a size; make the argument that it is"),
    (tn.eye, ShapeError, "is a value of a trace, not a size"),
    (lambda n: tn.linspace(0, 1, n), ShapeError, "is a value of a trace, not a size"),
    (tn.arange, DTypeError, "make the argument that it is static"),
    (lambda n: tn.tril(np.eye(3), n), TracingError, "tril: k must be known while tracing"),
    (lambda n: tn.round(1.5, n), TracingError, "round: decimals must be known while tracing"),
    (lambda n: tn.sum(BYTES, axis=n), TracingError, "sum: axis must be known while tracing"),
    (lambda n: tn.var(BYTES, correction=n), TracingError, "var: correction must be known"),
    (lambda n: tn.round(n, (1, 0)), DTypeError, "round: decimals must be one integer"),
    (lambda n: tn.full_like(n, np.nan, dtype="int8"), DTypeError, "nan does not fit i8"),
    (lambda n: tn.var(n, correction=np.ones(2)), DTypeError, "correction must be a number"),
    (lambda n: tn.linalg.norm(BYTES / 2, ord=(1, 2)), ConfigError, "ord must be one real number"),
]


@pytest.mark.parametrize(("call", "error", "text"), REFUSALS)
def test_a_number_that_is_not_known_or_not_one_is_refused(
    call: Callable[..., Any], error: type[TenferroError], text: str
) -> None:
    with pytest.raises(error, match=text):
        tn.jit(call, executor="numpy")(2)


@pytest.mark.parametrize("use", [int, float, range, lambda n: [0, 1][n]])
def test_a_size_without_a_number_is_no_integer(use: Callable[..., Any]) -> None:
    with pytest.raises(TracingError, match="of the size n: it has no value"):
        tn.make_program(lambda x: x * use(x.shape[0]), tn.TensorSpec(("n",)))


def test_a_predicate_may_be_a_number() -> None:
    def chosen(pred: Any) -> Any:
        return tn.cond(pred, lambda: 1, lambda: 2)

    preds = [0, 3, 0.0, -0.5, np.uint8(2), True]
    assert [chosen(pred).item() for pred in preds] == [2, 1, 2, 1, 1, 1]
    assert tn.jit(lambda p: [chosen(each) for each in p])(preds) == [2, 1, 2, 1, 1, 1]
