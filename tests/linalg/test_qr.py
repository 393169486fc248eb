"""tn.linalg.qr, as users call it."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from jax import numpy as jnp

import tenferro as tn
from tenferro.errors import ConfigError, ShapeError
from tests.linalg.matrices import assert_orthonormal, difference, inner, random
from tests.sampling import some
from tests.tolerances import assert_close, rounding

RNG = np.random.default_rng(0)
DTYPES = ("float32", "float64", "complex64", "complex128")
SHAPES = [(3, 3), (4, 2), (2, 4), (1, 1), (2, 3, 2), (0, 3), (3, 0), (0, 2, 2)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_the_factors_give_the_matrix(shape: tuple[int, ...], mode: str, dtype: str) -> None:
    a = random(RNG, *shape, dtype=dtype)
    expected = np.linalg.qr(a, mode)
    for positive in (False, True):
        q, r = (np.asarray(part) for part in tn.linalg.qr(a, mode=mode, positive=positive))
        assert [(x.shape, x.dtype) for x in (q, r)] == [(x.shape, x.dtype) for x in expected]
        assert_close(q @ r, a, rounding(dtype))
        assert_orthonormal(q, rounding(dtype))
        assert_close(r, np.triu(r), 0)
        diagonal = np.diagonal(r, axis1=-2, axis2=-1)
        assert_close(diagonal.imag, 0 * diagonal.real, rounding(dtype))
        assert not positive or (diagonal.real >= 0).all()
        if mode == "reduced":
            assert_close(tn.linalg.qr(a, mode="r", positive=positive), r, rounding(dtype))


@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("shape", [(4, 2), (2, 4)])
def test_xla_gives_the_same_unique_factors(shape: tuple[int, int], mode: str) -> None:
    a = random(RNG, *shape, dtype=complex)

    def unique(x: Any) -> Any:
        q, r = tn.linalg.qr(x, mode=mode, positive=True)
        k = min(shape)
        return q[:, :k], r, q[:, k:] @ tn.conj(q[:, k:].mT)

    for x, y in zip(tn.jit(unique)(a), unique(tn.Tensor(a)), strict=True):
        assert_close(x, y, rounding(complex))


@pytest.mark.parametrize(("shape", "dtype"), [((3, 3), complex), ((4, 2), float)])
def test_gradients_are_those_of_jax(shape: tuple[int, int], dtype: type) -> None:
    a, weights = random(RNG, *shape, dtype=dtype), random(RNG, *shape, dtype=dtype)

    def loss(backend: Any, x: Any) -> Any:
        q, r = backend.linalg.qr(x)
        return backend.sum(backend.real(q * weights)) ** 2 + backend.sum(backend.abs(r) ** 4)

    with jax.enable_x64(True):
        expected = np.conj(np.asarray(jax.jit(jax.grad(lambda x: loss(jnp, x)))(a)))
    assert_close(tn.grad(lambda x: loss(tn, x))(tn.Tensor(a)), expected, 1e-9)


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize("shape", [(4, 2), (2, 4)])
@pytest.mark.parametrize("dtype", some([complex, float], 2))
def test_first_and_second_derivatives_are_differences(
    shape: tuple[int, int], mode: Any, dtype: type
) -> None:
    a, d = random(RNG, *shape, dtype=dtype), random(RNG, *shape, dtype=dtype)
    weights = random(RNG, min(shape), dtype=dtype)

    def loss(x: Any) -> Any:
        if mode == "r":
            return tn.sum(tn.abs(tn.linalg.qr(x, mode="r")) ** 3)
        q, r = tn.linalg.qr(x, mode=mode, positive=True)
        k = min(shape)
        rest = q[:, k:] @ tn.conj(q[:, k:].mT)
        return tn.real(tn.sum(q[:, :k] * weights + r[0, 0])) + tn.sum(tn.abs(rest) ** 4)

    gradient = tn.grad(loss)
    slope = difference(lambda x: loss(tn.Tensor(x)), a, d)
    assert abs(inner(np.asarray(gradient(tn.Tensor(a))), d) - slope) < 1e-7 * (1 + abs(slope))
    change = difference(lambda x: gradient(tn.Tensor(x)), a, d)
    forward = tn.jvp(gradient, (tn.Tensor(a),), (tn.Tensor(d),))[1]
    assert_close(forward, change, 1e-6)
    reverse = tn.grad(lambda x: tn.real(tn.sum(tn.conj(d) * gradient(x))))(tn.Tensor(a))
    assert_close(reverse, change, 1e-6)


def test_dependent_columns_have_no_gradient() -> None:
    for a in (np.ones((3, 2)), np.ones((2, 3)), np.zeros((2, 2)), np.arange(9.0).reshape(3, 3)):
        gradient = tn.grad(lambda x: tn.sum(tn.linalg.qr(x).Q))(tn.Tensor(a))
        assert np.isnan(np.asarray(gradient)).all()


def test_wrong_operands_are_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        tn.linalg.qr(np.eye(2), mode="economic")  # type: ignore[call-overload]
    text = "qr: mode must be 'reduced', 'complete' or 'r', got 'economic'"
    assert str(caught.value) == text
    with pytest.raises(ShapeError, match=r"qr: takes matrices \[\.\.\., m, n\], got f64\[3\]"):
        tn.linalg.qr(np.ones(3))
