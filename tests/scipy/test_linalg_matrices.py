"""Matrices with a name, and functions that `tn.linalg` does not have, are SciPy's."""

from __future__ import annotations

from typing import Any

import jax
import jax.scipy.linalg
import numpy as np
import pytest
import scipy.linalg as sl

import tenferro as tn
from tenferro.errors import ConfigError, ShapeError
from tests.in_jax import in_jax

tl: Any = tn.scipy.linalg
rng = np.random.default_rng(0)
V = rng.normal(size=6)
OF_A_SIZE: list[tuple[Any, ...]] = [
    *(
        (name, n)
        for name in ("hilbert", "invhilbert", "pascal", "invpascal", "dft")
        for n in (0, 1, 6)
    ),
    *(
        (name, 5, kind)
        for name in ("pascal", "invpascal")
        for kind in ("lower", "upper", "symmetric")
    ),
    *[("dft", 4, "n"), ("dft", 5, "sqrtn"), ("helmert", 5), ("helmert", 1), ("helmert", 4, True)],
    *[("hadamard", 1), ("hadamard", 8)],
]
OF_VECTORS: list[tuple[Any, ...]] = [
    *((name, V) for name in ("circulant", "companion", "fiedler", "fiedler_companion", "hankel")),
    *((name, V[:5]) for name in ("companion", "fiedler_companion")),
    *[
        ("companion", V[:2]),
        ("fiedler_companion", V[:2]),
        ("hankel", V, V[:3]),
        ("leslie", V, V[1:]),
    ],
    *(
        ("convolution_matrix", V[:m], n, mode)
        for m, n in ((6, 3), (2, 5))
        for mode in ("full", "same", "valid")
    ),
]


@pytest.mark.parametrize("call", [*OF_A_SIZE, *OF_VECTORS], ids=str)
def test_matrices_are_scipys(call: tuple[Any, ...]) -> None:
    name, *arguments = call
    expected = getattr(sl, name)(*arguments)
    found = getattr(tl, name)(*arguments)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, 1e-13, 1e-13)


@pytest.mark.parametrize(
    "name", ["circulant", "companion", "fiedler", "fiedler_companion", "hankel"]
)
def test_batches_and_gradients_of_matrices_of_vectors(name: str) -> None:
    rows, weights = rng.normal(size=(2, 6)), rng.normal(size=(6, 6))
    size = getattr(tl, name)(V).shape[0]

    def loss(m: Any, xp: Any) -> Any:
        return lambda v: xp.sum(getattr(m, name)(v) * weights[:size, :size])

    each = np.stack([np.asarray(getattr(tl, name)(row)) for row in rows])
    np.testing.assert_array_equal(getattr(tl, name)(rows), each)
    np.testing.assert_array_equal(tn.vmap(getattr(tl, name))(rows), each)
    expected = in_jax(lambda: jax.grad(loss(jax.scipy.linalg, jax.numpy))(V))
    np.testing.assert_allclose(tn.grad(loss(tl, tn))(V), expected, 1e-12)


MATRICES = {n: rng.normal(size=(n, n)) for n in (1, 2, 5)}


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("n", MATRICES)
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_schur_forms_and_functions_are_scipys(n: int, kind: str) -> None:
    a = MATRICES[n] * (1 if kind == "real" else 1 + 0.5j) + (0 if kind == "real" else np.eye(n))
    form, basis = sl.schur(a)
    expected = sl.rsf2csf(form, basis)
    for executor in ("numpy", "xla"):
        found = tn.jit(tl.rsf2csf, executor=executor)(form, basis)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, 1e-11, 1e-11)
    np.testing.assert_allclose(tl.funm(a, tn.sin), sl.funm(a, np.sin), 1e-8, 1e-8)
    _, error = tl.funm(a, tn.sin, disp=False)
    assert 0 < error.item() < 1e-10


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 0), (0, 3)], ids=str)
@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_columns_are_pivoted_as_in_scipy(shape: tuple[int, int], executor: str) -> None:
    a = rng.normal(size=shape)
    for mode in ("full", "economic", "r"):
        run = tn.jit(lambda a, mode=mode: tl.qr(a, mode=mode, pivoting=True), executor=executor)
        for one, other in zip(run(a), sl.qr(a, mode=mode, pivoting=True), strict=True):
            np.testing.assert_allclose(abs(one.numpy()), abs(other), 1e-11, 1e-12)
    order = tn.vmap(lambda a: tl.qr(a, pivoting=True)[2])(np.stack([a, a]))
    assert order.tolist() == [sl.qr(a, pivoting=True)[2].tolist()] * 2


def test_what_is_not_finite_keeps_the_order_of_its_columns() -> None:
    for executor in ("numpy", "xla"):
        run = tn.jit(lambda a: tl.qr(a, pivoting=True)[2], executor=executor)
        assert run(np.array([[1.0, np.nan, 9.0]])).tolist() == [0, 1, 2]


def test_products_with_the_orthogonal_factor() -> None:
    a = rng.normal(size=(4, 3))
    for mode, shape in (("left", (3, 2)), ("left", (3,)), ("right", (2, 4)), ("right", (4,))):
        c = rng.normal(size=shape)
        found, expected = (m.qr_multiply(a, c, mode, pivoting=True) for m in (tl, sl))
        for one, other in zip(found, expected, strict=True):
            assert one.shape == other.shape
            np.testing.assert_allclose(abs(np.asarray(one)), abs(other), 1e-10)


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_pairs_of_matrices_have_scipys_eigenvalues(kind: int) -> None:
    a = MATRICES[5] + MATRICES[5].T
    b = MATRICES[5] @ MATRICES[5].T + np.eye(5)
    values, vectors = tl.eigh(np.tril(a), np.tril(b), type=kind)
    expected = sl.eigh(a, b, type=kind)
    np.testing.assert_allclose(values, expected[0], 1e-9)
    np.testing.assert_allclose(abs(vectors.numpy()), abs(expected[1]), 1e-7, 1e-9)
    alone = tl.eigh(np.triu(a), np.triu(b), lower=False, eigvals_only=True, type=kind)
    np.testing.assert_allclose(alone, expected[0], 1e-9)


@pytest.mark.parametrize("diagonals", [(1, 1), (0, 0), (2, 1), (0, 2), (3, 3)], ids=str)
def test_banded_systems_are_solved(diagonals: tuple[int, int]) -> None:
    bands = rng.normal(size=(sum(diagonals) + 1, 5))
    bands[diagonals[1]] += 5
    for b in (V[:5], MATRICES[5]):
        expected = sl.solve_banded(diagonals, bands, b)
        np.testing.assert_allclose(tl.solve_banded(diagonals, bands, b), expected, 1e-10)
    slope = tn.grad(lambda b: tn.sum(tl.solve_banded(diagonals, bands, b) ** 2))(V[:5])
    assert np.isfinite(slope.numpy()).all()


@pytest.mark.parametrize("kind", ["sym", "her", "pos"])
@pytest.mark.parametrize("lower", [True, False])
def test_one_triangle_is_read(kind: str, lower: bool) -> None:
    a = MATRICES[5] @ MATRICES[5].T + np.eye(5) + (1j * np.eye(5) if kind == "sym" else 0)
    half = np.tril(a) if lower else np.triu(a)
    found = tl.solve(half, V[:5], lower=lower, assume_a=kind)
    np.testing.assert_allclose(found, np.linalg.solve(a, V[:5]), 1e-9)


def test_wrong_calls_are_refused() -> None:
    with pytest.raises(ShapeError, match="n must be a power of 2, got 3"):
        tl.hadamard(3)
    with pytest.raises(ConfigError, match="kind must be one of"):
        tl.pascal(3, "left")
    with pytest.raises(ShapeError, match="must be shorter by one than f"):
        tl.leslie(V, V)
    with pytest.raises(ShapeError, match="c must have an axis"):
        tl.hankel(1.0)
    with pytest.raises(ConfigError, match="lie in an interval depends on data"):
        tl.eigh_tridiagonal(V, V[1:], select="v")
    with pytest.raises(ShapeError, match="ab must have 3 rows"):
        tl.solve_banded((1, 1), np.ones((2, 4)), V[:4])
