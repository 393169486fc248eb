"""Matrices with a structure."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import tenferro as tn
from tenferro import linalg
from tenferro.errors import DTypeError, ShapeError
from tests.linalg.differences import assert_derivatives, random, weighted

RNG = np.random.default_rng(0)
D, E = RNG.normal(size=(2, 4)), RNG.normal(size=(2, 3))


def test_eigh_tridiagonal_is_that_of_scipy() -> None:
    values, vectors = map(np.asarray, linalg.eigh_tridiagonal(D, E))
    for number in range(2):
        expected = scipy.linalg.eigh_tridiagonal(D[number], E[number])
        np.testing.assert_allclose(values[number], expected[0])
        np.testing.assert_allclose(np.abs(vectors[number]), np.abs(expected[1]))
    np.testing.assert_allclose(linalg.eigh_tridiagonal(D, E, eigvals_only=True), values)
    assert linalg.eigh_tridiagonal([2.0], np.zeros(0), eigvals_only=True).shape == (1,)


def test_eigh_tridiagonal_is_differentiable() -> None:
    weights = RNG.normal(size=(2, 4, 4))
    assert_derivatives(
        lambda d, e: weighted(linalg.eigh_tridiagonal(d, e).eigenvectors ** 2, weights), [D, E]
    )


def test_eigh_tridiagonal_refuses() -> None:
    text = r"eigh_tridiagonal: e must be shorter by one than d, got d f64\[2\], e f64\[2\]"
    with pytest.raises(ShapeError, match=text):
        linalg.eigh_tridiagonal(np.ones(2), np.ones(2))
    with pytest.raises(DTypeError, match="eigh_tridiagonal: takes real d and e, got c128"):
        linalg.eigh_tridiagonal(np.ones(2), 1j * np.ones(1))


def test_block_diag_is_that_of_scipy() -> None:
    blocks = [np.arange(4).reshape(2, 2), np.array([5, 6, 7]), np.ones((2, 1))]
    np.testing.assert_array_equal(linalg.block_diag(*blocks), scipy.linalg.block_diag(*blocks))
    batch = linalg.block_diag(np.ones((3, 1, 2)), np.ones((2, 2)))
    assert batch.shape == (3, 3, 4)
    with pytest.raises(ShapeError, match="block_diag: needs at least one array, got none"):
        linalg.block_diag()


@pytest.mark.parametrize("dtype", ["d", "D"])
def test_toeplitz_is_that_of_scipy_and_differentiable(dtype: str) -> None:
    c, r = random(RNG, (2, 3), dtype), random(RNG, (2, 4), dtype)
    expected = [scipy.linalg.toeplitz(c[i], r[i]) for i in range(2)]
    np.testing.assert_array_equal(linalg.toeplitz(c, r), expected)
    np.testing.assert_array_equal(linalg.toeplitz(c[0]), scipy.linalg.toeplitz(c[0]))
    np.testing.assert_array_equal(linalg.toeplitz(c[0], r), [
        scipy.linalg.toeplitz(c[0], r[i]) for i in range(2)
    ])  # fmt: skip
    weights = random(RNG, (2, 3, 4), dtype)
    assert_derivatives(lambda x, y: weighted(linalg.toeplitz(x, y) ** 2, weights), [c, r])
    assert linalg.toeplitz(np.zeros(0), np.ones(2)).shape == (0, 2)
    np.testing.assert_array_equal(linalg.toeplitz(np.array(2.0), [0.0, 3.0]), [[2.0, 3.0]])


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_structured_matrices_of_named_sizes(executor: str) -> None:
    function = tn.jit(
        lambda c, r: (linalg.toeplitz(c, r), linalg.block_diag(c, r[:, None])),
        executor=executor,
        symbolic={"c": ("n",), "r": ("m",)},
    )
    for n, m in ((3, 4), (4, 2)):
        c, r = np.arange(1.0, n + 1), np.arange(1.0, m + 1)
        toeplitz, blocks = function(c, r)
        np.testing.assert_array_equal(toeplitz, scipy.linalg.toeplitz(c, r))
        np.testing.assert_array_equal(blocks, scipy.linalg.block_diag(c, r[:, None]))
