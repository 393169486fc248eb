"""Matrix equations and tridiagonal systems."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
import scipy.linalg

import tenferro as tn
from tenferro import linalg
from tenferro.errors import ShapeError
from tests.in_jax import in_jax
from tests.linalg.differences import Array, assert_derivatives, random, weighted

EVERYWHERE = pytest.mark.parametrize(
    ("executor", "dtype"), [*[("numpy", dtype) for dtype in "fdFD"], ("xla", "f"), ("xla", "D")]
)
KINDS = pytest.mark.parametrize("dtype", ["d", "D"])
EXECUTORS = pytest.mark.parametrize("executor", ["numpy", "xla"])
COMPILED = {
    executor: {
        "sylvester": tn.jit(lambda a, b, q: linalg.solve_sylvester(a, b, q), executor=executor),
        "continuous": tn.jit(
            lambda a, q: linalg.solve_continuous_lyapunov(a, q), executor=executor
        ),
        "discrete": tn.jit(lambda a, q: linalg.solve_discrete_lyapunov(a, q), executor=executor),
        "tridiagonal": tn.jit(
            lambda dl, d, du, b: linalg.tridiagonal_solve(dl, d, du, b), executor=executor
        ),
    }
    for executor in ("numpy", "xla")
}


def operands(name: str, dtype: str) -> list[Array]:
    rng = np.random.default_rng(0)
    a, b = random(rng, (3, 4, 4), dtype), random(rng, (3, 2, 2), dtype)
    if name == "tridiagonal":
        diagonals = [random(rng, (3, 4), dtype) for _ in range(3)]
        diagonals[1] = (diagonals[1] + 4).astype(dtype)
        return [*diagonals, random(rng, (3, 4, 2), dtype)]
    if name == "sylvester":
        shifted = [(x + 3 * np.eye(len(x[0]))).astype(dtype) for x in (a, b)]
        return [*shifted, random(rng, (3, 4, 2), dtype)]
    factor = 6 if name == "discrete" else 1
    return [(a / factor).astype(dtype), random(rng, (3, 4, 4), dtype)]


def dense(dl: Array, d: Array, du: Array) -> Array:
    return np.array(
        [np.diag(y) + np.diag(x[1:], -1) + np.diag(z[:-1], 1)
         for x, y, z in zip(dl, d, du, strict=True)]
    )  # fmt: skip


def residual(name: str, x: Array, *inputs: Array) -> Array:
    if name == "tridiagonal":
        return np.asarray(dense(*inputs[:3]) @ x - inputs[3])
    if name == "sylvester":
        a, b, q = inputs
        return np.asarray(a @ x + x @ b - q)
    a, q = inputs
    h = a.conj().swapaxes(-1, -2)
    return np.asarray(a @ x + x @ h - q if name == "continuous" else a @ x @ h - x + q)


@pytest.mark.exhaustive(but=6)
@EVERYWHERE
@pytest.mark.parametrize("name", list(COMPILED["numpy"]))
def test_solutions_solve(name: str, dtype: str, executor: str) -> None:
    inputs = operands(name, dtype)
    x = np.asarray(COMPILED[executor][name](*inputs))
    assert x.dtype == np.dtype(dtype)
    tolerance = 1e-4 if dtype in "fF" else 1e-11
    assert np.abs(residual(name, x, *inputs)).max() < tolerance * max(1, np.abs(x).max())


def test_conventions_are_those_of_scipy() -> None:
    for name, theirs in (
        ("sylvester", scipy.linalg.solve_sylvester),
        ("continuous", scipy.linalg.solve_continuous_lyapunov),
        ("discrete", scipy.linalg.solve_discrete_lyapunov),
    ):
        inputs = [each[0] for each in operands(name, "D")]
        found = np.asarray(COMPILED["numpy"][name](*inputs))
        np.testing.assert_allclose(found, theirs(*inputs), atol=1e-12)


@KINDS
@pytest.mark.parametrize("name", list(COMPILED["numpy"]))
def test_solutions_are_differentiable(name: str, dtype: str) -> None:
    function = {
        "sylvester": linalg.solve_sylvester,
        "continuous": linalg.solve_continuous_lyapunov,
        "discrete": linalg.solve_discrete_lyapunov,
        "tridiagonal": linalg.tridiagonal_solve,
    }[name]
    inputs = [each[:2] for each in operands(name, dtype)]
    weights = random(np.random.default_rng(1), np.shape(function(*inputs)), dtype)
    assert_derivatives(lambda *xs: weighted(function(*xs), weights), inputs, tolerance=1e-6)


def test_gradient_of_tridiagonal_solve_is_the_conjugate_of_that_of_jax() -> None:
    inputs = operands("tridiagonal", "D")
    places = (0, 1, 2, 3)
    ours = tn.grad(lambda *xs: tn.sum(tn.abs(linalg.tridiagonal_solve(*xs)) ** 3), places)(*inputs)
    peer = jax.grad(
        lambda *xs: jax.numpy.sum(abs(jax.lax.linalg.tridiagonal_solve(*xs)) ** 3), places
    )
    theirs = in_jax(peer, *inputs)
    for found, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(found, np.conj(expected), atol=1e-12)


@pytest.mark.exhaustive
@EXECUTORS
def test_singular_equations_are_nan_in_their_matrix_alone(executor: str) -> None:
    compiled = COMPILED[executor]
    one = np.eye(2)
    pair, right = np.stack([one, 3 * one]), np.ones((2, 2, 2))
    found = np.asarray(compiled["sylvester"](pair, np.stack([-one, -one]), right))
    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(found[1], 0.5 * right[1])
    found = np.asarray(compiled["discrete"](np.stack([one, 0 * one]), right))
    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(found[1], right[1])
    zero, main = np.zeros((2, 2)), np.array([[0.0, 1.0], [2.0, 1.0]])
    found = np.asarray(compiled["tridiagonal"](zero, main, zero, np.ones((2, 2, 1))))
    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(found[1], [[0.5], [1.0]])


@pytest.mark.exhaustive(but=2)
@EXECUTORS
@pytest.mark.parametrize("name", list(COMPILED["numpy"]))
def test_operands_that_are_not_finite_or_empty(name: str, executor: str) -> None:
    function, inputs = COMPILED[executor][name], operands(name, "d")
    expected = np.asarray(function(*inputs))
    for place in range(len(inputs)):
        bad = [each.copy() for each in inputs]
        bad[place][1] = np.nan
        found = np.asarray(function(*bad))
        assert np.isnan(found[1]).any()
        np.testing.assert_array_equal(found[[0, 2]], expected[[0, 2]])
    assert function(*[each[:0] for each in inputs]).shape == (0, *expected.shape[1:])


def test_one_row_and_a_vector() -> None:
    one = np.ones(1)
    np.testing.assert_allclose(linalg.tridiagonal_solve(one, 2 * one, one, one), [0.5])
    dl, d, du, b = [each[0] for each in operands("tridiagonal", "d")]
    whole = np.asarray(linalg.tridiagonal_solve(dl, d, du, b))
    np.testing.assert_allclose(linalg.tridiagonal_solve(dl, d, du, b[:, 0]), whole[:, 0])
    assert linalg.tridiagonal_solve(dl, d, du, np.stack([b, b])).shape == (2, 4, 2)


REFUSED: list[tuple[Any, tuple[Any, ...], str]] = [
    (
        linalg.solve_sylvester,
        (np.eye(2), np.eye(3), np.ones((4, 3))),
        r"solve_sylvester: a f64\[2,2\] and q f64\[4,3\] differ in rows \(axis -2: 2 and 4\)",
    ),
    (
        linalg.solve_sylvester,
        (np.eye(2), np.eye(3), np.ones((2, 2))),
        r"solve_sylvester: b f64\[3,3\] and q f64\[2,2\] differ in columns \(axis -1: 3 and 2\)",
    ),
    (
        linalg.solve_sylvester,
        (np.ones((2, 3)), np.eye(3), np.ones((2, 3))),
        r"solve_sylvester: takes square matrices, got f64\[2,3\]",
    ),
    (
        linalg.solve_continuous_lyapunov,
        (np.eye(2), np.eye(3)),
        r"solve_continuous_lyapunov: a f64\[2,2\] and q f64\[3,3\] differ in rows",
    ),
    (
        linalg.solve_discrete_lyapunov,
        (np.eye(2), np.ones(2)),
        r"solve_discrete_lyapunov: takes matrices \[..., m, n\], got f64\[2\]",
    ),
    (
        linalg.tridiagonal_solve,
        (np.ones(2), np.ones(3), np.ones(3), np.ones(3)),
        r"tridiagonal_solve: diagonals and right side f64\[2\], f64\[3\], f64\[3\], f64",
    ),
]


@pytest.mark.parametrize(("function", "inputs", "text"), REFUSED)
def test_operands_that_are_refused(function: Any, inputs: tuple[Any, ...], text: str) -> None:
    with pytest.raises(ShapeError, match=text):
        function(*inputs)
