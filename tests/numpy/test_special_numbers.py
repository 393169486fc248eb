"""Composed functions at infinities, NaN, and the ends of the integers."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ShapeError
from tests.tolerances import assert_close, rounding

inf, nan = np.inf, np.nan
Array = np.ndarray[Any, Any]


def check(function: Callable[[Any], Any], what: str) -> None:
    """A function of a namespace gives with `tn` what it gives with NumPy."""
    with warnings.catch_warnings(action="ignore"):
        expected = function(np)
        found = function(tn)
    several = isinstance(expected, tuple)
    for ours, theirs in zip(
        found if several else [found], expected if several else [expected], strict=True
    ):
        theirs = np.asarray(theirs)
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), what
        assert_close(ours, theirs, 4 * rounding(theirs.dtype), what)


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_quantiles_between_the_largest_numbers_do_not_overflow(dtype: str, executor: Any) -> None:
    top = np.finfo(dtype).max
    # The numbers in units of the largest one, the median, and the linear quantile at 0.25.
    for units, median, quarter in (
        ([1.0, 1.0], 1.0, 1.0), ([-0.5, -0.5], -0.5, -0.5), ([0.5, 1.0], 0.75, 0.625),
        ([-1.0, 1.0], 0.0, -0.5), ([-1.0, -1.0, 1.0, 1.0], 0.0, -1.0),
    ):  # fmt: skip
        x = np.array(units, dtype) * top
        for function, expected in (
            (tn.median, median), (tn.nanmedian, median),
            (lambda x: tn.quantile(x, 0.5), median),
            (lambda x: tn.quantile(x, 0.5, method="midpoint"), median),
            (lambda x: tn.nanpercentile(x, 25), quarter),
        ):  # fmt: skip
            found = tn.jit(function, executor=executor)(x)
            assert_close(found, np.array(expected, dtype) * top, 2 * rounding(dtype), str(units))


@pytest.mark.parametrize("missing", [False, True])
def test_quantiles_beside_infinities_are_those_in_the_limit(missing: bool) -> None:
    prefix, hole = ("nan", [nan]) if missing else ("", [])
    quantile, median = (getattr(tn, prefix + name) for name in ("quantile", "median"))
    for x, q, linear, midpoint in (
        ([1.0, -inf], 0.25, -inf, -inf), ([1.0, inf], 0.5, inf, inf), ([-inf, inf], 0.5, nan, nan),
        ([inf, inf], 0.3, inf, inf), ([-inf, -inf, 1.0, inf], 0.5, -inf, -inf),
        ([1.0, 2.0, inf], 0.5, 2.0, 2.0), ([-inf, 1.0, 2.0], 0.0, -inf, -inf),
        ([1e308, 1.6e308], 0.5, 1.3e308, 1.3e308), ([5e-324], 0.5, 5e-324, 5e-324),
    ):  # fmt: skip
        data = np.array(x + hole)
        assert_close(quantile(data, q), linear, rounding("f8"), f"{x} {q}")
        assert_close(quantile(data, q, method="midpoint"), midpoint, rounding("f8"), f"{x} {q}")
        for method in ("lower", "higher", "nearest"):
            expected = getattr(np, prefix + "quantile")(data, q, method=method)
            assert_close(quantile(data, q, method=method), expected, 0, f"{x} {q} {method}")
        if np.isinf(x).any():
            with np.errstate(invalid="ignore"):
                assert_close(median(data), getattr(np, prefix + "median")(data), 0, f"{x}")
    many = np.tile(np.arange(64, dtype="f2"), 1100)  # more than float16 can count
    assert_close(quantile(many, 0.1), np.quantile(many, 0.1), rounding("f2"))


def _finite_or_not(rng: np.random.Generator, size: int, dtype: str) -> Array:
    x = rng.integers(0, 4, size).astype(dtype)
    if dtype in ("f8", "f4"):
        for special in (inf, -inf, nan):
            x[rng.integers(size)] = special if rng.random() < 0.3 else 1
    return x


def _check_convolutions(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        dtype = rng.choice(["f8", "f4", "i8", "u1", "?"])
        a, b = (_finite_or_not(rng, int(size), dtype) for size in rng.integers(1, 25, 2))
        name, mode = ("convolve", "correlate")[rng.integers(2)], ("full", "same", "valid")
        for each in mode:
            check(lambda m, a=a, b=b, n=name, e=each: getattr(m, n)(a, b, e), f"{name} {a} {b}")


def test_nothing_is_multiplied_where_vectors_do_not_overlap() -> None:
    _check_convolutions(0, 60)
    check(lambda m: m.polymul(np.array([1.0, 2.0, 3.0]), np.array([1.0, inf])), "polymul")


@pytest.mark.parametrize(
    "count",
    [pytest.param(500, marks=pytest.mark.exhaustive), pytest.param(3000, marks=pytest.mark.large)],
)
def test_nothing_is_multiplied_where_vectors_do_not_overlap_in_many_cases(count: int) -> None:
    _check_convolutions(1, count)


SETS = [[], [1, 2, 1], [nan, 1, nan], [nan], [nan, nan, 3, 1], [-0.0, 0.0, 1], [inf, -inf, nan]]


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_sets_with_nan_are_numpys(dtype: str) -> None:
    names = ("union1d", "intersect1d", "setdiff1d", "setxor1d", "isin")
    for one, other in itertools.product(SETS, SETS[:4]):
        a, b = np.array(one, dtype), np.array(other, dtype)
        for name in names:
            check(lambda m, n=name, a=a, b=b: getattr(m, n)(a, b), f"{name} {one} {other}")
        check(lambda m, a=a, b=b: m.intersect1d(a, b, return_indices=True), f"{one} {other}")


def test_a_difference_of_sets_has_the_dtype_of_the_first() -> None:
    big = np.array([2**53 + 1, 5])
    for other in (np.array([5.0]), np.array([5], "u8"), np.array([True])):
        check(lambda m, o=other: m.setdiff1d(big, o), str(other))
        check(lambda m, o=other: m.setdiff1d(o, np.array([7, 8])), str(other))
    check(lambda m: m.setdiff1d(np.array([3, 1, 2]), np.array([1.0]), assume_unique=True), "3 1 2")


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_bits_and_divisors_at_the_ends_of_the_integers(dtype: str) -> None:
    limits = np.iinfo(dtype)
    x = np.array(
        [limits.min, limits.max, 0, 1, 2, 5, 26, 100, limits.min + 1, limits.max // 2], dtype
    )
    with np.errstate(over="ignore"):
        x = np.concatenate([x, -x])
    for name in ("gcd", "lcm"):
        check(lambda m, n=name: getattr(m, n)(x[:, None], x), name)
    check(lambda m: m.bitwise_count(x), "bitwise_count")


def test_counts_and_sums_in_bins() -> None:
    for dtype in ("u1", "u2", "u4", "i1", "?"):
        for x in ([1, 0, 1], []):
            check(lambda m, x=x, d=dtype: m.bincount(np.array(x, d), minlength=2), dtype)
    for dtype in ("f2", "f4", "f8", "i4", "?"):
        check(lambda m, d=dtype: m.bincount([1, 0, 1], np.array([1, 2, 1]).astype(d)), dtype)
        if dtype != "?":
            check(lambda m, d=dtype: m.histogram([1, 0, 1], 2, weights=np.ones(3, d)), dtype)
    weights = np.array([2.0**24, 1.0, 1.0], "f4")  # float32 loses them one by one
    assert tn.histogram(np.zeros(3), 1, weights=weights)[0].tolist() == [2.0**24 + 2]
    check(lambda m: m.digitize(np.array([nan, 0.5, 2.0]), np.array([0.0, 1.0, nan])), "digitize")
    for range_ in ((1, -1), (nan, 1), (0, inf)):
        with pytest.raises(ShapeError, match="histogram: range must be two finite numbers in ord"):
            tn.histogram(np.ones(2), 3, range=range_)


def test_interpolation_beside_infinities_is_numpys() -> None:
    x = np.array([nan, -inf, -1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, inf])
    for nodes, values in (
        ([0.0, 1, 2], [0.0, 10, 20]), ([0.0, 1, 2], [0, inf, 20]), ([0.0, 1, 2], [nan, 1, 2]),
        ([0.0, 1, inf], [0.0, 1, 2]), ([-inf, 0, inf], [0.0, 1, 2]), ([1.0], [5.0]),
        ([0.0, 1, 1, 2], [0.0, 1, 2, 3]), ([0.0, 1], [inf, inf]), ([0.0, 1], [-inf, inf]),
    ):  # fmt: skip
        xp, fp = np.array(nodes, float), np.array(values, float)
        check(lambda m, xp=xp, fp=fp: m.interp(x, xp, fp), f"{nodes} {values}")
        check(lambda m, xp=xp, fp=fp: m.interp(x, xp, fp, -5.0, inf), f"{nodes} {values}")
    slopes = tn.grad(lambda x: tn.sum(tn.interp(x, [0.0, 1.0, 2.0], [0.0, 1.0, 5.0])))
    assert slopes(np.array([0.0, 1.0, 1.5])).tolist() == [1.0, 4.0, 4.0]


@pytest.mark.parametrize("name", ["cov", "corrcoef"])
def test_covariances_of_few_observations(name: str) -> None:
    rng = np.random.default_rng(0)
    for shape, by_row in itertools.product(
        [(1, 3), (3, 1), (1, 1), (3,), (1,), (2, 3), (), (0,), (0, 3), (3, 0)], [True, False]
    ):
        x = rng.normal(size=shape)
        check(lambda m, x=x, r=by_row: getattr(m, name)(x, rowvar=r), f"{shape} {by_row}")


def test_variances_and_sums_have_the_dtype_that_is_asked_for() -> None:
    for name in ("nancumsum", "nancumprod", "nansum", "cumsum"):
        check(lambda m, n=name: getattr(m, n)(np.array([True, False]), dtype="int16"), name)
    for name in ("nanvar", "nanstd", "var", "std", "nanmean", "mean"):
        for dtype in ("f4", "c8", None):
            check(lambda m, n=name, d=dtype: getattr(m, n)(np.array([True, False]), dtype=d), name)


def test_fractions_that_are_computed_are_not_checked_but_nan_gives_nan() -> None:
    fractions = np.array([np.nan, 0.5, 2.0, -1.0])
    for quantile in (tn.quantile, tn.nanquantile):
        expected = [np.nan, 1.0, 2.0, 0.0]
        np.testing.assert_array_equal(tn.jit(quantile)(np.arange(3.0), fractions), expected)
        np.testing.assert_array_equal(quantile(np.arange(3.0), tn.asarray(fractions)), expected)
