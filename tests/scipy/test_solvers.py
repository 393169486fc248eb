"""`tn.scipy.sparse.linalg` and `tn.scipy.optimize`."""

from __future__ import annotations

from typing import Any

import jax
import jax.scipy.sparse.linalg
import numpy as np
import pytest
import scipy.optimize

import tenferro as tn
from tenferro.errors import ConfigError, DTypeError, ShapeError
from tests.in_jax import in_jax

ts: Any = tn.scipy.sparse.linalg
rng = np.random.default_rng(0)
N = 8
A = rng.normal(size=(N, N))
B = rng.normal(size=N)
METHODS = ("cg", "bicgstab", "gmres")


def matrix(name: str, a: Any) -> Any:
    return a @ a.conj().T + N * np.eye(N) if name == "cg" else a + 6 * np.eye(N)


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32"])
def test_systems_are_solved(name: str, dtype: str) -> None:
    a = matrix(name, A + (1j * A.T if dtype == "complex128" else 0)).astype(dtype)
    b = (B + (1j * B[::-1] if dtype == "complex128" else 0)).astype(dtype)
    tolerance = 1e-6 if dtype == "float32" else 1e-12
    expected = np.linalg.solve(a, b)
    for options in ({}, {"x0": b}, {"M": lambda x: x * 0.1}, {"M": np.eye(N, dtype=dtype) * 0.2}):
        x, info = getattr(ts, name)(a, b, tol=tolerance, **options)
        assert info is None
        assert x.dtype == b.dtype
        np.testing.assert_allclose(x, expected, tolerance * 1e3, tolerance * 1e2)


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("name", METHODS)
def test_trees_batches_and_derivatives(name: str) -> None:
    a = matrix(name, A)

    def split(x: Any) -> Any:
        return {"a": x[:5], "b": (x[5:].reshape(3, 1),)}

    def apply(x: Any) -> Any:
        return split(a @ tn.concat([x["a"], x["b"][0].ravel()]))

    expected = np.linalg.solve(a, B)
    found = getattr(ts, name)(apply, split(B), tol=1e-12)[0]
    np.testing.assert_allclose(found["a"], expected[:5], 1e-8)
    each = tn.vmap(lambda b: getattr(ts, name)(a, b, tol=1e-12)[0])(np.stack([B, 2 * B]))
    np.testing.assert_allclose(each[1], 2 * expected, 1e-7)

    def loss(m: Any, xp: Any) -> Any:
        return lambda a, b: xp.sum(xp.sin(getattr(m, name)((a + a.T) / 2, b, tol=1e-13)[0]))

    slopes = tn.jit(tn.grad(loss(ts, tn), (0, 1)))(a, B)
    theirs = in_jax(jax.grad(loss(jax.scipy.sparse.linalg, jax.numpy), (0, 1)), a, B)
    for one, other in zip(slopes, theirs, strict=True):
        np.testing.assert_allclose(one, other, 1e-6, 1e-9)


def test_few_vectors_and_no_right_side() -> None:
    a = matrix("gmres", A)
    x = ts.gmres(a, B, restart=3, tol=1e-10, maxiter=200, solve_method="incremental")[0]
    np.testing.assert_allclose(x, np.linalg.solve(a, B), 1e-7)

    class Doubled:
        def __matmul__(self, x: Any) -> Any:
            return 2 * x

    for name in METHODS:
        assert getattr(ts, name)(Doubled(), np.array([2.0, 4.0]))[0].tolist() == [1.0, 2.0]
        assert getattr(ts, name)(np.eye(3), np.zeros(3))[0].tolist() == [0.0, 0.0, 0.0]
    assert ts.cg(np.eye(2), np.array([1, 2]))[0].tolist() == [1.0, 2.0]


def rosenbrock(x: Any) -> Any:
    return ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()


def himmelblau(x: Any) -> Any:
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("method", ["BFGS", "l-bfgs-experimental-do-not-rely-on-this"])
@pytest.mark.parametrize("function", [rosenbrock, himmelblau], ids=lambda f: f.__name__)
def test_minima_are_scipys(method: str, function: Any) -> None:
    start = np.array([0.1, -0.2, 0.3]) if function is rosenbrock else np.zeros(2)
    expected = scipy.optimize.minimize(function, start, method="BFGS")
    found = tn.jit(lambda x: tn.scipy.optimize.minimize(function, x, method=method))(start)
    assert (bool(found.success), int(found.status)) == (True, 0)
    np.testing.assert_allclose(found.x, expected.x, 1e-4)
    assert int(found.nit) < 3 * expected.nit
    assert (found.hess_inv is None) == (method != "BFGS")


def test_minima_of_other_kinds() -> None:
    minimize: Any = tn.scipy.optimize.minimize

    def distance(x: Any, a: Any) -> Any:
        return tn.sum((x - a) ** 2 + x**4)

    narrow = minimize(distance, np.zeros(2, "float32"), (0.5,), method="BFGS")
    assert narrow.x.dtype == np.float32
    _, slope = tn.jvp(
        lambda a: minimize(distance, np.zeros(1), (a,), method="BFGS", tol=1e-10).x, (1.0,), (1.0,)
    )
    np.testing.assert_allclose(slope, [0.32395355], 1e-6)
    few = minimize(rosenbrock, np.zeros(2), method="BFGS", options={"maxiter": 2})
    assert (bool(few.success), int(few.status), int(few.nit)) == (False, 1, 2)
    below = minimize(lambda x: tn.sum(tn.where(x < 3.0, -x, tn.nan)), np.ones(2), method="BFGS")
    assert int(below.status) == 3
    turned = minimize(lambda z: tn.sum(tn.abs(z - (1 + 2j)) ** 2), np.zeros(2) + 0j, method="BFGS")
    np.testing.assert_allclose(turned.x, [1 + 2j] * 2, 1e-6)
    each = tn.vmap(lambda a: minimize(distance, np.zeros(1), (a,), method="BFGS").x)(np.ones(2))
    np.testing.assert_allclose(each, [[0.58975451]] * 2, 1e-5)


def test_wrong_calls_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"the result of A must be a tree like b, f64\[3\]"):
        ts.cg(lambda x: x[:2], np.zeros(3))
    with pytest.raises(ConfigError, match="A must be a square matrix or a function"):
        ts.cg(np.ones((2, 3)), np.zeros(3))
    with pytest.raises(DTypeError, match="cg: tol: takes arrays and numbers, got str"):
        ts.cg(lambda x: x, np.zeros(3), tol="x")
    with pytest.raises(ShapeError, match="x0 must be a tree like b"):
        ts.gmres(np.eye(3), np.zeros(3), np.zeros(2))
    minimize: Any = tn.scipy.optimize.minimize
    with pytest.raises(ConfigError, match="method must be one of"):
        minimize(rosenbrock, np.zeros(2), method="Newton")
    with pytest.raises(ConfigError, match="there is no option 'gtoll'; did you mean 'gtol'"):
        minimize(rosenbrock, np.zeros(2), method="BFGS", options={"gtoll": 1})
    with pytest.raises(ConfigError, match="options must be a dict, got 3"):
        minimize(rosenbrock, np.zeros(2), method="BFGS", options=3)
    with pytest.raises(ShapeError, match="x0 must be a vector"):
        minimize(rosenbrock, np.zeros((2, 2)), method="BFGS")
    with pytest.raises(DTypeError, match="x0 must be floating-point"):
        minimize(rosenbrock, np.zeros(2, int), method="BFGS")
    with pytest.raises(ConfigError, match="args must be a tuple"):
        minimize(rosenbrock, np.zeros(2), 3.0, method="BFGS")
