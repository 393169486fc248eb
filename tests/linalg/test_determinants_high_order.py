"""Derivatives of det of third and higher order, at regular and at singular matrices of any rank."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.runtime import NUMPY_EXECUTOR
from tests.linalg.derivative_checks import gaussian, unitary
from tests.tolerances import assert_close, rounding

Array = np.ndarray[Any, Any]
EXECUTORS = (NUMPY_EXECUTOR, "xla")
TRIDIAGONAL = np.array([[2.0, 1, 0], [1, 3, 1], [0, 1, 1]])


def exact_determinant(rows: list[list[Fraction]]) -> Fraction:
    """By expansion along the first row."""
    if not rows:
        return Fraction(1)
    return sum(
        (
            (-1) ** j * x * exact_determinant([row[:j] + row[j + 1 :] for row in rows[1:]])
            for j, x in enumerate(rows[0])
            if x
        ),
        Fraction(0),
    )


def coefficients(a: Array, b: Array) -> list[float]:
    """Those of det(a + s b) in s, for matrices of integers, by differences."""
    n = len(a)
    values = [
        exact_determinant([[Fraction(int(x)) for x in row] for row in a + s * b])
        for s in range(n + 1)
    ]
    powers = [[Fraction(s) ** k for k in range(n + 1)] for s in range(n + 1)]
    whole = exact_determinant(powers)
    return [
        float(
            exact_determinant(
                [
                    [*row[:k], value, *row[k + 1 :]]
                    for row, value in zip(powers, values, strict=True)
                ]
            )
            / whole
        )
        for k in range(n + 1)
    ]


def with_diagonal(*diagonal: float) -> tuple[Array, Array]:
    """A diagonal matrix, and a direction."""
    n = len(diagonal)
    direction = TRIDIAGONAL if n == 3 else np.round(gaussian((n, n), "f", 3) * 4)
    return np.diag(np.array(diagonal)), direction


@pytest.mark.exhaustive(but=3)
@pytest.mark.parametrize(
    "case",
    [
        with_diagonal(1, 2, 3),
        with_diagonal(1, 2, 0),
        with_diagonal(1, 0, 0),
        with_diagonal(0, 0, 0),
        with_diagonal(0, 0),
        (np.array([[0.0, 0], [1, 1]]), TRIDIAGONAL[:2, :2]),
        (np.array([[1.0, 1], [1, 1]]), TRIDIAGONAL[:2, :2]),
        with_diagonal(0),
        with_diagonal(3, 1, 0, 0, 0),
        with_diagonal(0, 0, 0, 0, 0),
        with_diagonal(0, 0, 0, 0, 0, 0),
    ],
    ids=lambda case: str(case[0].tolist()),
)
def test_derivatives_along_a_line_are_those_of_the_polynomial(case: tuple[Array, Array]) -> None:
    a, b = case
    wanted = [c * math.factorial(k) for k, c in enumerate(coefficients(a, b))] + [0.0]
    for order, value in enumerate(wanted):
        found = tn.derivative(lambda s: tn.linalg.det(a + s * b), order)(0.0)
        assert_close(np.asarray(found), value, 100 * rounding("f8"), f"order {order}")


@pytest.mark.parametrize("executor", EXECUTORS)
def test_reverse_mode_agrees(executor: Any) -> None:
    a, b = with_diagonal(1, 2, 0)

    def line(s: Any) -> Any:
        return tn.linalg.det(a + s * b)

    third = tn.grad(tn.grad(tn.grad(line)))
    assert_close(np.asarray(tn.jit(third, executor=executor)(0.0)), 18.0, 1e-12)
    assert_close(np.asarray(tn.jit(tn.grad(third), executor=executor)(0.0)), 0.0, 1e-12)


def elementary(n: int, corank: int, kind: str, seed: int) -> tuple[Array, Array, Array]:
    """U S Vᴴ without so many ranks, U and Vᴴ."""
    u, vh = unitary(n, kind, seed), unitary(n, kind, seed + 1)
    s = np.linspace(1, 2, n)
    s[n - corank :] = 0
    return (u * s) @ vh, u, vh


@pytest.mark.exhaustive(but=4)
@pytest.mark.parametrize("kind", ["f", "c"])
@pytest.mark.parametrize(("n", "corank"), [(4, 1), (4, 3), (8, 0), (8, 1), (9, 4), (6, 5), (12, 4)])
def test_the_lowest_order_that_does_not_vanish_is_a_determinant_of_the_kernel(
    n: int, corank: int, kind: str
) -> None:
    a, u, vh = elementary(n, corank, kind, 7)
    e = gaussian((n, n), kind, 2)
    kernel = (u.conj().T @ e @ vh.conj().T)[n - corank :, n - corank :]
    others = np.prod(np.linspace(1, 2, n)[: n - corank])
    phase = np.linalg.det(u) * np.linalg.det(vh)
    leading = phase * others * np.linalg.det(kernel)
    order = max(corank, 3)

    def line(s: Any) -> Any:
        return tn.linalg.det(a + s * e)

    found = np.asarray(tn.jet(line, (0.0,), ((1.0, *[0.0] * (order - 1)),))[1][order - 1])
    if corank >= 3:
        wanted = leading * math.factorial(order)
    else:  # a circle around 0 gives the coefficients of the polynomial
        turns = np.exp(2j * np.pi * np.arange(4 * n) / (4 * n))
        values = np.array([np.linalg.det(a + 0.5 * turn * e) for turn in turns])
        wanted = (values * turns**-3).mean() / 0.5**3 * 6
    assert_close(found, wanted if kind == "c" else wanted.real, 1e-9)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_each_matrix_of_a_batch_has_its_own_rank(executor: Any) -> None:
    a = np.stack([np.diag([1.0, 2, 3]), np.diag([1.0, 2, 0]), np.zeros((3, 3))])
    a[0, 0, 1] = np.nan
    b = TRIDIAGONAL

    def third(a: Any) -> Any:
        return tn.derivative(lambda s: tn.linalg.det(a + s * b), 3)(0.0)

    for function in (tn.vmap(third), third):
        found = np.asarray(tn.jit(function, executor=executor)(a))
        assert np.isnan(found[0])
        assert_close(found[1:], np.array([18.0, 18.0]), 1e-12)


def test_sizes_may_be_named() -> None:
    def third(a: Any, b: Any) -> Any:
        return tn.derivative(lambda s: tn.linalg.det(a + s * b), 3)(0.0)

    f = tn.jit(third, symbolic={"a": ("n", "n"), "b": ("n", "n")}, executor=NUMPY_EXECUTOR)
    for case in (with_diagonal(1, 2, 0), with_diagonal(3, 1, 0, 0, 0), with_diagonal(0)):
        wanted = [*coefficients(*case), 0.0, 0.0, 0.0][3] * 6
        assert_close(np.asarray(f(*case)), wanted, 1e-12)
    assert np.asarray(f(np.zeros((0, 0)), np.zeros((0, 0)))).item() == 0.0


def test_large_matrices_that_lack_more_than_four_ranks_have_nan_from_the_third_order_on() -> None:
    a, b = with_diagonal(1, 2, *[0] * 5)
    for order in range(5):
        found = np.asarray(tn.derivative(lambda s: tn.linalg.det(a + s * b), order)(0.0))
        assert np.isnan(found) == (order >= 3)


@pytest.mark.parametrize("exponent", [-3, -6, -12])
def test_small_singular_values_lose_no_digits(exponent: int) -> None:
    a, b = np.diag([1.0, 1.0, 10.0**exponent, 10.0**exponent]), np.diag([0.0, 1, 1, 1])
    found = np.asarray(tn.derivative(lambda s: tn.linalg.det(a + s * b), 3)(0.0))
    assert_close(found, 6.0, 1e-12)
