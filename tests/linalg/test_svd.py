"""tn.linalg.svd and svdvals, as users call them."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from jax import numpy as jnp

import tenferro as tn
from tenferro.errors import ConfigError, DTypeError, ShapeError
from tests.linalg.matrices import (
    Array,
    adjoint,
    assert_orthonormal,
    difference,
    inner,
    random,
)
from tests.tolerances import assert_close, rounding

RNG = np.random.default_rng(0)
DTYPES = ("float32", "float64", "complex64", "complex128")
SHAPES = [(3, 3), (4, 2), (2, 4), (1, 1), (2, 3, 2), (0, 3), (3, 0), (0, 2, 2)]
numpy_executor = tn.GraphExecutor(tn.NumpyBackend())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("full", [False, True])
def test_the_factors_are_orthonormal_and_give_the_matrix(
    shape: tuple[int, ...], full: bool, dtype: str
) -> None:
    a = random(RNG, *shape, dtype=dtype)
    u, s, vh = (np.asarray(part) for part in tn.linalg.svd(a, full))
    expected = np.linalg.svd(a, full)
    assert [(x.shape, x.dtype) for x in (u, s, vh)] == [(x.shape, x.dtype) for x in expected]
    k, tolerance = s.shape[-1], rounding(dtype)
    assert_close(s, expected.S, tolerance)
    assert_close((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], a, tolerance)
    for x in (u, adjoint(vh)):
        assert_orthonormal(x, tolerance)
    assert_close(tn.linalg.svdvals(a), s, tolerance)
    assert_close(tn.linalg.svd(a, compute_uv=False), s, tolerance)


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("shape", [(3, 2), (2, 3, 4)])
@pytest.mark.parametrize("full", [False, True])
def test_xla_and_numpy_agree_on_invariants(shape: tuple[int, ...], full: bool) -> None:
    a = random(RNG, *shape, dtype=complex)

    def invariants(x: Any) -> Any:
        u, s, vh = tn.linalg.svd(x, full)
        k = s.shape[-1]
        rest = u[..., k:]
        return s, (u[..., :k] * s[..., None, :] ** 2) @ vh[..., :k, :], rest @ tn.conj(rest.mT)

    compiled, run = tn.jit(invariants)(a), tn.jit(invariants, executor=numpy_executor)(a)
    for x, y in zip(compiled, run, strict=True):
        assert_close(x, y, rounding(complex))


@pytest.mark.parametrize("executor", ["xla", numpy_executor], ids=["xla", "numpy"])
def test_a_matrix_that_is_not_finite_fails_alone(executor: Any) -> None:
    good = random(RNG, 3, 2)
    batch = np.stack([good, np.full((3, 2), np.nan), good, np.where(good > 0, np.inf, good)])
    good = np.stack([good, good, good, good])
    for f in (
        lambda x: tn.linalg.svd(x, False),
        tn.linalg.svdvals,
        tn.linalg.qr,
        tn.linalg.pinv,
    ):
        run = tn.jit(lambda x: f(x), executor=executor)  # noqa: B023  # used at once
        results, expected = run(batch), run(good)
        for x, y in zip(*[parts(r) for r in (results, expected)], strict=True):
            assert np.isnan(np.asarray(x)[[1, 3]]).all()
            np.testing.assert_array_equal(np.asarray(x)[[0, 2]], np.asarray(y)[[0, 2]])


def parts(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def losses(backend: Any, linalg: Any) -> list[Any]:
    return [
        lambda x: backend.sum(linalg.svd(x, full_matrices=False)[1] ** 3),
        lambda x: backend.real(product(backend, linalg.svd(x, full_matrices=False)))[0, 1],
    ]


def product(backend: Any, factors: Any) -> Any:
    u, s, vh = factors
    return (u * backend.exp(-s)) @ vh


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize(("shape", "dtype"), [((3, 3), complex), ((4, 2), float)])
def test_gradients_are_those_of_jax(shape: tuple[int, int], dtype: type) -> None:
    a = random(RNG, *shape, dtype=dtype)
    for ours, theirs in zip(losses(tn, tn.linalg), losses(jnp, jnp.linalg), strict=True):
        with jax.enable_x64(True):
            expected = np.conj(np.asarray(jax.jit(jax.grad(theirs))(a)))
        assert_close(tn.grad(ours)(tn.Tensor(a)), expected, 1e-10)


def test_the_gradient_of_full_factors_is_the_slope() -> None:
    for shape in ((4, 2), (2, 4)):
        a, d = random(RNG, *shape, dtype=complex), random(RNG, *shape, dtype=complex)

        def loss(x: Any) -> Any:
            u, s, vh = tn.linalg.svd(x)
            k = s.shape[-1]
            left, right = u[:, k:], vh[k:]
            first = tn.sum(tn.abs(left @ tn.conj(left.mT)) ** 4)
            return first + tn.sum(tn.abs(tn.conj(right.mT) @ right) ** 4) + s[0]

        slope = difference(lambda x: loss(tn.Tensor(x)), a, d)
        assert abs(inner(np.asarray(tn.grad(loss)(tn.Tensor(a))), d) - slope) < 1e-8


def test_one_program_serves_tall_square_and_wide_matrices() -> None:
    def loss(x: Any) -> Any:
        u, s, vh = tn.linalg.svd(x, False)
        q, r = tn.linalg.qr(x, positive=True)
        return tn.sum((u * s**2) @ vh * x) + tn.sum(q @ (r * r))

    gradient = tn.grad(loss)
    late = tn.jit(lambda x: gradient(x), executor=numpy_executor, symbolic={"x": ("m", "n")})
    for shape in ((4, 3), (3, 3), (3, 4)):
        a = random(RNG, *shape)
        assert_close(late(a), gradient(tn.Tensor(a)), 1e-11)
    assert late.trace_stats().misses == 1


def test_a_gradient_through_fixed_phases_exists() -> None:
    a, d = random(RNG, 3, 3, dtype=complex), random(RNG, 3, 3, dtype=complex)
    weights = random(RNG, 3, 3, dtype=complex)

    def loss(x: Any) -> Any:
        return tn.real(tn.sum(tn.linalg.fix_phases(tn.linalg.svd(x).U) * weights))

    assert np.isnan(np.asarray(tn.grad(lambda x: tn.sum(tn.real(tn.linalg.svd(x).U)))(a))).all()
    slope = difference(lambda x: loss(tn.Tensor(x)), a, d)
    assert abs(inner(np.asarray(tn.grad(loss)(tn.Tensor(a))), d) - slope) < 1e-8


@pytest.mark.parametrize("dtype", DTYPES)
def test_fixed_phases_make_the_largest_entry_positive(dtype: str) -> None:
    v = random(RNG, 2, 4, 3, dtype=dtype)
    fixed = np.asarray(tn.linalg.fix_phases(v))
    largest = np.take_along_axis(fixed, np.abs(v).argmax(-2, keepdims=True), -2)
    assert_close(largest, np.abs(v).max(-2, keepdims=True), rounding(dtype))
    assert_close(np.abs(fixed), np.abs(v), rounding(dtype))
    assert np.asarray(tn.linalg.fix_phases(np.zeros((2, 2)))).tolist() == [[0, 0], [0, 0]]


def test_integers_become_float64() -> None:
    assert tn.linalg.svdvals([[1, 0], [0, 2]]).dtype == np.dtype("float64")


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: tn.linalg.svd(np.ones(3)),
            ShapeError,
            "svd: takes matrices [..., m, n], got f64[3]",
        ),
        (
            lambda: tn.linalg.svd(np.eye(2), degenerate="x"),
            ConfigError,
            "svd: degenerate must be 'nan', 'project' or 'broaden', got 'x'",
        ),
        (
            lambda: tn.linalg.svd(np.ones((2, 2), "float16")),
            DTypeError,
            "svd: takes single and double precision, got f16; convert it with astype(tn.float32)",
        ),
        (
            lambda: tn.linalg.eigh(np.eye(2), degenerate="x"),
            ConfigError,
            "eigh: degenerate must be 'nan', 'project' or 'broaden', got 'x'",
        ),
    ],
)
def test_wrong_operands_are_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text


def test_results_are_named() -> None:
    result: Any = tn.linalg.svd(np.eye(2))
    assert result._fields == ("U", "S", "Vh")
    a: Array = np.eye(2)
    assert tn.linalg.eigh(a)._fields == ("eigenvalues", "eigenvectors")
