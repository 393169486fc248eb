"""`tn.lax.linalg` has the names, the parameters and the results of `jax.lax.linalg`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
import scipy.linalg
from jax.lax import linalg as theirs

import tenferro as tn
from tenferro.errors import ConfigError, ShapeError
from tests.in_jax import in_jax

ours: Any = tn.lax.linalg
rng = np.random.default_rng(0)
A = rng.normal(size=(2, 4, 4))
H = A + A.swapaxes(1, 2)
P = A @ A.swapaxes(1, 2) + np.eye(4)
W = rng.normal(size=4)
SIDES = [(a, b, c, d) for a in (False, True) for b in (False, True) for c in (0, 1) for d in (0, 1)]


def raw(a: Any) -> Any:
    """LAPACK's reflections of the first three columns of matrices."""
    packed = [scipy.linalg.qr(each[:, :3], mode="raw")[0] for each in a]
    return np.stack([q for q, _ in packed]), np.stack([taus for _, taus in packed])


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "lu": lambda m, a: (m.lu(a), m.lu(a[:, :3]), m.lu(a[..., :3])),
    "cholesky": lambda m, a: m.cholesky(a @ a.conj().swapaxes(1, 2) + np.eye(4)),
    "values": lambda m, a: (
        m.eigh(a + a.conj().swapaxes(1, 2))[1],
        m.eigh(a, lower=False, symmetrize_input=False)[1],
        m.svd(a, compute_uv=False),
    ),
    "factors up to signs": lambda m, a: [
        abs(x) for x in (*m.qr(a[..., :3], pivoting=True), *m.qr(a, full_matrices=False), *m.svd(a))
    ],
    "triangles": lambda m, a: [
        m.triangular_solve(
            a, b, left_side=left, lower=lower, transpose_a=bool(turn), conjugate_a=bool(conjugate)
        )
        for left, lower, turn, conjugate in SIDES
        for b in (a, a[..., 0])
    ],
    "reflections": lambda m, a: (
        m.householder_product(*raw(a)),
        *(m.ormqr(*raw(a), a, left=k, transpose=t) for k in (True, False) for t in (True, False)),
    ),
    "tridiagonal": lambda m, a: m.tridiagonal_solve(
        a[0, 1] * (np.arange(4) > 0), a[0, 0] + 9, a[0, 2] * (np.arange(4) < 3), a[1]
    ),
}
REAL: dict[str, Callable[[Any], Any]] = {
    "products": lambda m: m.symmetric_product(
        A[0], H[0], alpha=2.0, beta=0.5, symmetrize_output=True
    ),
    "update": lambda m: m.cholesky_update(np.linalg.cholesky(P[0]).T, W),
    "pivots": lambda m: m.lu_pivots_to_permutation(np.array([[1, 3, 2], [2, 2, 4]], "int32"), 5),
}


def test_names_and_parameters_are_those_of_jax() -> None:
    for name in dir(theirs):
        other = getattr(theirs, name)
        if name[0] == "_" or name.endswith("_p") or inspect.ismodule(other) or name in ours.MISSING:
            continue
        if inspect.isclass(other):
            members = {key: each.value for key, each in other.__members__.items()}
            assert {
                key: each.value for key, each in getattr(ours, name).__members__.items()
            } == members
        else:
            assert list(inspect.signature(getattr(ours, name)).parameters) == list(
                inspect.signature(other).parameters
            ), name


@pytest.mark.exhaustive(but=5)
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("name", CALLS)
def test_results_are_those_of_jax(name: str, dtype: str) -> None:
    a = (A + (1j * A[::-1] if dtype == "complex128" else 0)).astype(dtype)
    expected = jax.tree.leaves(in_jax(lambda: CALLS[name](theirs, a)))
    found = tn.tree.leaves(CALLS[name](ours, a))
    tolerance = 1e-3 if dtype == "float32" else 1e-9
    for one, other in zip(found, expected, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(np.asarray(one), other, tolerance, tolerance)


@pytest.mark.parametrize("name", REAL)
def test_results_of_real_matrices_are_those_of_jax(name: str) -> None:
    expected = in_jax(lambda: REAL[name](theirs))
    found = tn.jit(lambda: REAL[name](ours), executor="numpy")()
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, 1e-11, 1e-11)


def test_left_and_right_eigenvectors_are_those_of_jax() -> None:
    expected, found = in_jax(lambda: theirs.eig(A)), ours.eig(A)
    for k in range(2):
        i, j = (np.argsort(np.asarray(each[0])[k]) for each in (found, expected))
        np.testing.assert_allclose(np.asarray(found[0])[k][i], np.asarray(expected[0])[k][j], 1e-10)
        for one, other in zip(found[1:], expected[1:], strict=True):
            sizes = (abs(np.asarray(one)[k][:, i]), abs(np.asarray(other)[k][:, j]))
            np.testing.assert_allclose(*sizes, 1e-8)
    assert len(ours.eig(A, compute_left_eigenvectors=False)) == 2


def test_derivatives_of_reflections_are_differences() -> None:
    q, taus = (x[0] for x in raw(A))
    weights = rng.normal(size=(4, 3))

    def loss(q: Any, taus: Any) -> Any:
        return tn.sum(ours.householder_product(q, taus) ** 2 * weights)

    slopes = tn.grad(loss, (0, 1))(q, taus)
    for k, (x, slope) in enumerate(zip((q, taus), slopes, strict=True)):
        step = rng.normal(size=x.shape) * 1e-6
        ends = [[q, taus], [q, taus]]
        ends[0][k], ends[1][k] = x + step, x - step
        difference = (loss(*ends[0]) - loss(*ends[1])).item() / 2
        assert difference == pytest.approx(float(np.sum(np.asarray(slope) * step)), rel=1e-5)


def test_wrong_calls_are_refused() -> None:
    with pytest.raises(ConfigError, match="pivots are not perturbed"):
        ours.tridiagonal_solve(W, W, W, A[0], perturb_singular=True)
    with pytest.raises(ConfigError, match="pass full_matrices=False"):
        ours.svd(A, subset_by_index=(0, 1))
    with pytest.raises(ShapeError, match="has more pivots than rows"):
        ours.lu_pivots_to_permutation(np.array([1, 1], "int32"), 1)
    with pytest.raises(ShapeError, match="must have m ≥ n ≥ k"):
        ours.householder_product(A[0, :2], W)
    with pytest.raises(AttributeError, match="it is how JAX computes"):
        ours.qdwh  # noqa: B018


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("kind", ["d", "z"])
def test_packed_forms_are_those_of_lapack(kind: str) -> None:
    lapack: Any = scipy.linalg.lapack
    a = A + 1j * A[::-1] if kind == "z" else A
    compiled = tn.jit(lambda x: (ours.tridiagonal(x), ours.hessenberg(x)))(a)
    for i, matrix in enumerate(a):
        for lower in (True, False):
            reduced = lapack.zhetrd if kind == "z" else lapack.dsytrd
            expected = reduced(matrix, lower=lower)[:4]
            results = (
                [x[i] for x in compiled[0]] if lower else ours.tridiagonal(matrix, lower=False)
            )
            for actual, reference in zip(results, expected, strict=True):
                np.testing.assert_allclose(actual, reference, atol=1e-12)
        expected = (lapack.zgehrd if kind == "z" else lapack.dgehrd)(matrix)[:2]
        for actual, reference in zip(compiled[1], expected, strict=True):
            np.testing.assert_allclose(actual[i], reference, atol=1e-12)
    assert ours.tridiagonal(np.ones((1, 1)))[3].shape == (0,)


def test_flags_are_no_arrays() -> None:
    matrix, flags = np.eye(2), np.array([True, False])
    calls: list[tuple[Any, str]] = [
        (lambda: ours.qr(matrix, full_matrices=flags), "qr: full_matrices"),
        (lambda: ours.ormqr(matrix, flags, matrix, left=flags), "ormqr: left"),
        (lambda: ours.eig(matrix, compute_left_eigenvectors=flags), "eig: compute_left"),
        (lambda: ours.eigh(matrix, lower=flags), "eigh: lower"),
        (lambda: ours.svd(matrix, compute_uv=flags), "svd: compute_uv"),
        (lambda: ours.schur(matrix, compute_schur_vectors=flags), "schur: compute_schur"),
        (lambda: ours.triangular_solve(matrix, matrix, lower=flags), "triangular_solve: lower"),
    ]
    for call, text in calls:
        with pytest.raises(ConfigError, match=text + r"\w* must be True or False, got an array"):
            call()
