"""Unrolled forms of tiny matrices in large batches compute what LAPACK computes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import tenferro as tn
from tenferro_xla.lowering import small_matrices as small

Array = np.ndarray[Any, Any]
BATCH = small.LARGE_BATCH + 1
OTHERS = ["float32", "complex64", "complex128"]


def drawn(n: int, dtype: str, seed: int = 0) -> Array:
    """Matrices with some that need pivots, and of very different sizes."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(BATCH, n, n))
    if dtype.startswith("complex"):
        a = a + 1j * rng.normal(size=a.shape)
    a[0] = np.eye(n)[::-1]
    a[1] = np.eye(n)
    a[2] *= 1e-12
    a[3] *= 1e12
    return a.astype(dtype)


def tolerance(dtype: str) -> float:
    return float(2e3 * np.finfo(dtype).eps)


def adjoint(a: Array) -> Array:
    return np.conj(a.swapaxes(-1, -2))


def assert_equal_matrices(found: Array, expected: Array, dtype: str) -> None:
    scale = np.abs(expected).max(axis=(-2, -1), keepdims=True)
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0, atol=tolerance(dtype))


@pytest.mark.parametrize(
    "dtype", ["float64", *[pytest.param(name, marks=pytest.mark.exhaustive) for name in OTHERS]]
)
def test_cholesky(dtype: str) -> None:
    for n in (1, 4):
        a = drawn(n, dtype)
        a = (
            a @ adjoint(a)
            + np.eye(n, dtype=dtype) * np.abs(a).max(axis=(-2, -1), keepdims=True) ** 2
        )
        a[4] = -np.eye(n)
        a[5, 0, 0] = np.nan
        a[6] = 0
        found = np.asarray(tn.jit(tn.linalg.cholesky)(a))
        assert found.dtype == dtype
        failed = np.isnan(found).all(axis=(-2, -1)) | (np.isnan(found[:, 0, 0]))
        assert list(np.flatnonzero(failed)) == [4, 5, 6]
        good = np.delete(np.arange(BATCH), [4, 5, 6])
        assert_equal_matrices(found[good], np.linalg.cholesky(a[good]), dtype)


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_lu_and_the_systems_that_it_solves(dtype: str) -> None:
    with jax.enable_x64(True):
        for n in (1, 3):
            a, b = drawn(n, dtype), drawn(n, dtype, 1)[..., :1]
            packed, pivots, places = (np.asarray(x) for x in jax.jit(small.lu)(a))
            expected = [scipy.linalg.lu_factor(each)[1] for each in a]
            np.testing.assert_array_equal(pivots, expected)
            lower = np.tril(packed, -1) + np.eye(n)
            assert (np.abs(lower) <= np.sqrt(2) + 1e-5).all()
            rows = np.take_along_axis(a, places[..., None], axis=-2)
            assert_equal_matrices(lower @ np.triu(packed), rows, dtype)
            assert (np.sort(places) == np.arange(n)).all()
            right = small.permuted(b, places)
            np.testing.assert_array_equal(right, np.take_along_axis(b, places[..., None], axis=-2))
            middle = small.triangular_solve(packed, right, lower=True, unit=True)
            x = np.asarray(small.triangular_solve(packed, middle, lower=False, unit=False))
            residual = np.abs(a @ x - b).max(axis=(-2, -1))
            size = np.abs(a).max(axis=(-2, -1)) * np.abs(x).max(axis=(-2, -1))
            assert (residual <= tolerance(dtype) * size).all()


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_eigh(dtype: str) -> None:
    for n in (1, 2, 4):
        a = drawn(n, dtype)
        a = a + adjoint(a)
        a[5] = np.diag(np.repeat([2.0, 1.0], 2)[:n])  # equal values
        a[6] = 0
        a[7, 0, 0] = np.inf
        values, vectors = (np.asarray(x) for x in tn.jit(tn.linalg.eigh)(a))
        assert values.dtype == vectors.dtype == dtype
        assert np.isnan(values[7]).all()
        assert np.isnan(vectors[7]).all()
        good = np.delete(np.arange(BATCH), [6, 7])
        a, values, vectors = a[good], values[good], vectors[good]
        assert_equal_matrices((vectors * values[:, None, :]) @ adjoint(vectors), a, dtype)
        unity = np.broadcast_to(np.eye(n), a.shape)
        assert_equal_matrices(adjoint(vectors) @ vectors, unity, dtype)
        assert (np.diff(values, axis=-1) >= 0).all()


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_eigh_without_double_precision_is_right_to_the_precision_of_the_dtype(dtype: str) -> None:
    a = drawn(4, dtype)
    a = a + adjoint(a)
    a[5] = 0
    a[6, 0, 1] = a[6, 1, 0] = np.finfo(dtype).tiny / 8  # whose rotation would divide by zero
    with jax.enable_x64(True):
        values, vectors = (np.asarray(x) for x in jax.jit(small.eigh)(jnp.asarray(a)))
    assert values.dtype == vectors.dtype == dtype
    size = np.abs(a).max(axis=(-2, -1))
    exact = np.linalg.eigvalsh(a.astype(np.float64))
    near = 20 * np.finfo(dtype).eps
    assert (np.abs(values - exact).max(axis=-1) <= near * size).all()
    assert np.abs(adjoint(vectors) @ vectors - np.eye(4)).max() <= near


def test_the_forms_are_chosen_by_size() -> None:
    def text(function: Any, *shape: int) -> str:
        program = tn.make_program(function, tn.TensorSpec(shape, "float64"))
        return tn.executor_named("xla").lower(program, {}).stablehlo()  # type: ignore[no-any-return,attr-defined]

    for function in (tn.linalg.cholesky, tn.linalg.inv, tn.linalg.eigvalsh):
        assert "custom_call" not in text(function, BATCH, 3, 3)
        assert "custom_call" in text(function, BATCH, 6, 6)
        assert "custom_call" in text(function, 8, 3, 3)
