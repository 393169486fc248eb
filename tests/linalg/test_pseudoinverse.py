"""pinv, lstsq and matrix_rank, for matrices of any rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ShapeError, TracingError
from tests.linalg.matrices import (
    Array,
    adjoint,
    difference,
    inner,
    random,
    unitary,
    with_singular_values,
)
from tests.tolerances import assert_close, rounding

RNG = np.random.default_rng(0)
DTYPES = ("float32", "float64", "complex64", "complex128")
SHAPES = [(3, 3), (4, 2), (2, 4), (2, 3, 2), (0, 3), (3, 0)]
numpy_executor = tn.GraphExecutor(tn.NumpyBackend())


@pytest.mark.parametrize("dtype", DTYPES)
def test_pseudoinverses_are_those_of_numpy(dtype: str) -> None:
    for shape in SHAPES:
        a = random(RNG, *shape, dtype=dtype)
        expected = np.linalg.pinv(a)
        result = tn.linalg.pinv(a)
        assert result.dtype == expected.dtype
        assert_close(result, expected, 10 * rounding(dtype))
    low = with_singular_values(RNG, 4, 3, [2, 1, 0], dtype)
    for f in (tn.linalg.pinv, tn.jit(lambda x: tn.linalg.pinv(x))):
        assert_close(f(low), np.linalg.pinv(low, rcond=1e-4), 10 * rounding(dtype))
    square = low[:3]
    whole = square + adjoint(square)
    result = tn.linalg.pinv(square, hermitian=True)
    assert_close(result, np.linalg.pinv(whole / 2), 100 * rounding(dtype))


def moved(a: Array, rng: np.random.Generator) -> tuple[Array, Any]:
    """A direction along matrices of equal rank, and the path as a function of its length."""
    m, n = a.shape
    left, right = random(rng, m, m, dtype=a.dtype), random(rng, n, n, dtype=a.dtype)
    return left @ a + a @ right, lambda t: (np.eye(m) + t * left) @ a @ (np.eye(n) + t * right)


@pytest.mark.exhaustive(but=6)
@pytest.mark.parametrize("values", [[2, 2, 1], [2, 2, 0], [1, 0, 0], [1, 1, 1]])
@pytest.mark.parametrize("shape", [(4, 3), (3, 3), (3, 4)])
@pytest.mark.parametrize("dtype", [float, complex])
def test_derivatives_of_pinv_along_matrices_of_equal_rank(
    values: list[float], shape: tuple[int, int], dtype: type
) -> None:
    rng = np.random.default_rng(1)
    a = with_singular_values(rng, *shape, values, dtype)
    weights = random(rng, shape[1], shape[0], dtype=dtype)
    along, path = moved(a, rng)

    def loss(x: Any) -> Any:
        return tn.real(tn.sum(tn.linalg.pinv(x, rtol=1e-9) * weights))

    gradient = tn.grad(loss)
    zero, one = np.zeros(()), np.ones(())
    slope = difference(lambda t: loss(tn.Tensor(path(t))), zero, one)
    assert abs(inner(np.asarray(gradient(tn.Tensor(a))), along) - slope) < 1e-7
    change = difference(lambda t: gradient(tn.Tensor(path(t))), zero, one)
    second = tn.jvp(gradient, (tn.Tensor(a),), (tn.Tensor(along),))[1]
    assert_close(second, change, 1e-6)


@pytest.mark.parametrize("shape", [(5, 3), (3, 3), (3, 5)])
@pytest.mark.parametrize("vector", [False, True])
def test_least_squares_are_those_of_numpy(shape: tuple[int, int], vector: bool) -> None:
    for dtype in DTYPES:
        a = random(RNG, *shape, dtype=dtype)
        b = random(RNG, *(shape[:1] if vector else (shape[0], 2)), dtype=dtype)
        result: Any = tn.linalg.lstsq(a, b)
        x, residuals, rank, s = np.linalg.lstsq(a, b)
        tolerance = 10 * rounding(dtype)
        assert_close(result.x, x, tolerance)
        if shape[0] > shape[1]:
            assert_close(result.residuals, residuals, tolerance)
        else:
            assert_close(result.residuals, np.zeros(result.residuals.shape), tolerance)
        assert int(result.rank) == rank
        assert_close(result.singular_values, s, tolerance)


def test_least_squares_are_differentiated_in_both_operands() -> None:
    a, b = with_singular_values(RNG, 5, 3, [2, 2, 1], complex), random(RNG, 5, dtype=complex)
    da, db = random(RNG, 5, 3, dtype=complex), random(RNG, 5, dtype=complex)

    def loss(x: Any, y: Any) -> Any:
        result = tn.linalg.lstsq(x, y)
        return tn.sum(tn.abs(result.x) ** 2) + tn.sum(result.residuals)

    first, second = (np.asarray(g) for g in tn.grad(loss, (0, 1))(tn.Tensor(a), tn.Tensor(b)))
    slope = difference(lambda t: loss(tn.Tensor(a + t * da), b + t * db), np.zeros(()), np.ones(()))
    assert abs(inner(first, da) + inner(second, db) - slope) < 1e-8


def test_ranks() -> None:
    matrices = np.stack([with_singular_values(RNG, 4, 3, s) for s in ([2, 1, 1], [1, 1, 0])])
    result = tn.linalg.matrix_rank(matrices)
    assert result.dtype == np.dtype("int64")
    assert np.asarray(result).tolist() == [3, 2]
    assert np.asarray(tn.linalg.matrix_rank(matrices, rtol=0.6)).tolist() == [1, 2]
    assert np.asarray(tn.linalg.matrix_rank(matrices, 1.5)).tolist() == [1, 0]
    assert int(tn.linalg.matrix_rank(np.zeros((2, 0)))) == 0
    late = tn.jit(
        lambda x: tn.linalg.matrix_rank(x), executor=numpy_executor, symbolic={"x": ("m", "n")}
    )
    assert [int(late(unitary(RNG, 4)[:, :k])) for k in (4, 2)] == [4, 2]


def test_wrong_operands_are_refused() -> None:
    text = r"lstsq: lhs f64\[3,2\] and rhs f64\[4,2\] differ in rows \(axis -2: 3 and 4\)"
    with pytest.raises(ShapeError, match=text):
        tn.linalg.lstsq(np.ones((3, 2)), np.ones((4, 2)))
    with pytest.raises(ShapeError, match=r"pinv: takes square matrices, got f64\[2,3\]"):
        tn.linalg.pinv(np.ones((2, 3)), hermitian=True)


def test_residuals_of_lstsq_are_those_of_numpy_if_asked_for() -> None:
    tall, wide, zero = RNG.normal(size=(5, 3)), RNG.normal(size=(2, 3)), np.zeros((3, 2))
    for a, b in ((tall, RNG.normal(size=(5, 2))), (wide, np.ones(2)), (zero, np.ones(3))):
        expected = np.linalg.lstsq(a, b)
        for actual, reference in zip(
            tn.linalg.lstsq(a, b, numpy_resid=True), expected, strict=True
        ):
            np.testing.assert_allclose(actual, reference, atol=1e-13)
    with pytest.raises(TracingError, match="lstsq: the rank of a, for numpy_resid, must be known"):
        tn.jit(lambda a: tn.linalg.lstsq(a, np.ones(3), numpy_resid=True))(zero)
