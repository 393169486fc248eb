"""Determinants and powers of matrices: values of NumPy, gradients of JAX, and errors."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ConfigError, ShapeError, TracingError
from tenferro.runtime import NUMPY_EXECUTOR
from tests.in_jax import in_jax
from tests.tolerances import assert_close, rounding

Array = np.ndarray[Any, Any]
SHAPES = [(3, 3), (2, 4, 4), (1, 1), (0, 0), (2, 0, 0), (0, 3, 3), (5, 5)]
RNG = np.random.default_rng(1)


def normal(*shape: int, dtype: str = "float64") -> Array:
    values = RNG.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * RNG.normal(size=shape)
    return values.astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_det_and_slogdet_are_those_of_numpy(dtype: str) -> None:
    for shape in SHAPES:
        a = normal(*shape, dtype=dtype)
        found = (tn.linalg.det(a), *tn.linalg.slogdet(a))
        wanted = (np.linalg.det(a), *np.linalg.slogdet(a))
        for one, other in zip(found, wanted, strict=True):
            assert np.asarray(one).dtype == other.dtype
            assert_close(np.asarray(one), other, rounding(dtype), f"{shape}")


def test_xla_computes_the_same() -> None:
    matrices = [normal(*shape, dtype="complex128") for shape in SHAPES]

    def all_of_them(matrices: Any) -> Any:
        return [(tn.linalg.det(a), *tn.linalg.slogdet(a)) for a in matrices]

    found = jax.tree.leaves(tn.jit(all_of_them)(matrices))
    wanted = jax.tree.leaves(all_of_them(matrices))
    for one, other in zip(found, wanted, strict=True):
        assert_close(np.asarray(one), np.asarray(other), rounding("f8"))


def test_slogdet_has_named_results_in_programs_too() -> None:
    result = tn.jit(tn.linalg.slogdet, executor=NUMPY_EXECUTOR)(np.diag([-1.0, 2.0]))
    assert type(result) is tn.linalg.SlogdetResult
    assert np.asarray(result.sign) == -1
    assert_close(np.asarray(result.logabsdet), np.log(2.0), rounding("f8"))


def test_a_determinant_that_overflows_has_a_logarithm() -> None:
    assert_close(tn.linalg.slogdet(1e200 * np.eye(3)).logabsdet, 600 * np.log(10), rounding("f8"))


@pytest.mark.parametrize(
    "dtype", [pytest.param("float64", marks=pytest.mark.exhaustive), "complex128"]
)
def test_gradients_are_the_conjugates_of_those_of_jax(dtype: str) -> None:
    a = normal(2, 3, 3, dtype=dtype)

    def losses(library: Any) -> Any:
        def loss(a: Any) -> Any:
            sign, logabsdet = library.linalg.slogdet(a)
            phase = library.real(sign * (2 + 1j)).sum() if dtype == "complex128" else 0.0
            power = library.real(library.linalg.matrix_power(a, 3)).sum()
            return library.real(library.linalg.det(a) * 3).sum() + logabsdet.sum() + phase + power

        return loss

    wanted = np.conj(in_jax(jax.grad(losses(jnp)), a))
    for executor in (NUMPY_EXECUTOR, "xla"):
        found = np.asarray(tn.jit(tn.grad(losses(tn)), executor=executor)(a))
        assert_close(found, wanted, 10 * rounding(dtype))


def test_second_derivatives_of_slogdet_are_right() -> None:
    a, e, h = normal(3, 3, dtype="complex128"), normal(3, 3, dtype="complex128"), 1e-5

    def gradient(a: Any) -> Any:
        def loss(a: Any) -> Any:
            sign, logabsdet = tn.linalg.slogdet(a)
            return tn.real(sign) * logabsdet

        return tn.grad(loss)(a)

    found = np.asarray(tn.jvp(gradient, (a,), (e,))[1])
    slope = (np.asarray(gradient(a + h * e)) - np.asarray(gradient(a - h * e))) / (2 * h)
    assert_close(found, slope, 1e-6)


def test_the_gradient_of_slogdet_at_a_singular_matrix_is_not_finite() -> None:
    gradient = tn.grad(lambda a: tn.linalg.slogdet(a).logabsdet)(np.diag([1.0, 0.0]))
    assert not np.isfinite(np.asarray(gradient)).all()


@pytest.mark.parametrize("exponent", [-2, -1, 0, 1, 2, 5, np.int32(3)])
def test_matrix_power_is_that_of_numpy(exponent: int) -> None:
    for a in (normal(2, 3, 3), normal(2, 2, dtype="complex128"), np.eye(2, dtype=int)):
        wanted = np.linalg.matrix_power(a, exponent)
        assert_close(np.asarray(tn.linalg.matrix_power(a, exponent)), wanted, 1e-11)


def test_errors_name_the_function_and_the_operands() -> None:
    for name in ("det", "slogdet"):
        with pytest.raises(ShapeError, match=rf"{name}: takes square matrices, got f64\[2,3\]"):
            getattr(tn.linalg, name)(np.ones((2, 3)))
    with pytest.raises(ConfigError, match=r"the exponent must be an integer, got 0\.5"):
        tn.linalg.matrix_power(np.eye(2), 0.5)
    with pytest.raises(TracingError, match=r"matrix_power: .* static_argnames"):
        tn.jit(tn.linalg.matrix_power, executor=NUMPY_EXECUTOR)(np.eye(2), 2)
