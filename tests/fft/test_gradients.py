"""Gradients of transforms: against JAX's, which are conjugates, and of higher order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tenferro as tn
from tests.in_jax import in_jax

Array = np.ndarray[Any, Any]
COMPLEX: dict[str, Callable[[Any, Any], Any]] = {
    "fft": lambda of, z: of.fft.fft(z),
    "fft cut": lambda of, z: of.fft.fft(z, n=3, norm="ortho"),
    "fft padded": lambda of, z: of.fft.fft(z, n=7, axis=0, norm="forward"),
    "ifft": lambda of, z: of.fft.ifft(z, norm="forward"),
    "irfft even": lambda of, z: of.fft.irfft(z),
    "irfft odd": lambda of, z: of.fft.irfft(z, n=7, norm="ortho"),
    "irfft axis 0": lambda of, z: of.fft.irfft(z, n=4, axis=0),
    "hfft": lambda of, z: of.fft.hfft(z, n=5),
    "fft2": lambda of, z: of.fft.fft2(z, norm="ortho"),
    "ifftn": lambda of, z: of.fft.ifftn(z),
    "irfftn": lambda of, z: of.fft.irfftn(z),
    "fftshift": lambda of, z: of.fft.fftshift(z) * (1 + of.arange(5)),
}
REAL: dict[str, Callable[[Any, Any], Any]] = {
    "rfft odd": lambda of, x: of.fft.rfft(x),
    "rfft even": lambda of, x: of.fft.rfft(x, n=6, norm="ortho"),
    "rfft axis 0": lambda of, x: of.fft.rfft(x, axis=0, norm="forward"),
    "ihfft": lambda of, x: of.fft.ihfft(x),
    "rfftn": lambda of, x: of.fft.rfftn(x),
    "rfft2 padded": lambda of, x: of.fft.rfft2(x, s=(3, 8)),
    "fft of real values": lambda of, x: of.fft.fft(x),
}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 5))
Z = X + 1j * RNG.normal(size=(4, 5))


def loss(of: Any, function: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """Neither symmetric in the frequencies nor in real and imaginary parts."""

    def total(x: Any) -> Any:
        y = function(of, x)
        weights = of.sin(1.0 + of.arange(y.shape[-1]))
        return of.sum(of.real(y * (1 - 0.5j)) * weights + of.real(y * of.conj(y)) * weights)

    return total


def gradients(of: Any, grad: Callable[..., Any], x: Any, z: Any) -> dict[str, Any]:
    found = {name: grad(loss(of, function))(z) for name, function in COMPLEX.items()}
    return found | {name: grad(loss(of, function))(x) for name, function in REAL.items()}


def test_gradients_are_the_conjugates_of_those_of_jax() -> None:
    peers = in_jax(lambda x, z: gradients(jnp, jax.grad, x, z), X, Z)
    found = tn.jit(lambda x, z: gradients(tn, tn.grad, x, z))(X, Z)
    on_numpy = tn.jit(lambda x, z: gradients(tn, tn.grad, x, z), executor="numpy")(X, Z)
    for name, peer in peers.items():
        expected = np.conj(peer)
        assert found[name].dtype == expected.dtype
        for each in (found, on_numpy):
            np.testing.assert_allclose(
                each[name], expected, atol=1e-13 * np.abs(expected).max(), err_msg=name
            )


def test_a_hessian_of_a_convolution() -> None:
    """|F(k x)|² / 2 has the Hessian of a quadratic form, at any order of the transforms."""
    kernel = RNG.normal(size=6)

    def energy(x: Any) -> Any:
        smooth = tn.fft.irfft(tn.fft.rfft(x) * tn.fft.rfft(kernel), n=6)
        return tn.sum(smooth * smooth) / 2

    circulant = np.array([[kernel[(i - j) % 6] for j in range(6)] for i in range(6)])
    found = tn.jit(tn.hessian(energy), executor="numpy")(RNG.normal(size=6))
    np.testing.assert_allclose(found, circulant.T @ circulant, atol=1e-13)


def test_gradients_with_named_sizes() -> None:
    def energy(x: Any) -> Any:
        y = tn.fft.rfft(x) * tn.fft.rfftfreq(x.shape[-1], 0.5)
        return tn.sum(tn.real(y * tn.conj(y)))

    for executor in ("numpy", "xla"):
        gradient = tn.jit(tn.grad(energy), symbolic={"x": ("n",)}, executor=executor)
        for n in (5, 6):
            x = RNG.normal(size=n)
            waves = np.exp(-2j * np.pi * np.outer(np.arange(n // 2 + 1), np.arange(n)) / n)
            scaled = np.diag(np.fft.rfftfreq(n, 0.5)) @ waves
            expected = 2 * np.real(scaled.conj().T @ (scaled @ x))
            np.testing.assert_allclose(gradient(x), expected, atol=1e-12)


def test_the_gradient_of_a_spacing() -> None:
    def total(d: Any) -> Any:
        return tn.sum(tn.fft.rfftfreq(4, d) ** 2)

    slope = tn.grad(total)(0.5)
    np.testing.assert_allclose(slope, -2 * np.sum(np.fft.rfftfreq(4, 0.5) ** 2) / 0.5)


def test_eager_backward() -> None:
    runtime = tn.EagerRuntime()
    x = runtime.variable(X)
    y = tn.fft.rfft(x)
    tn.sum(tn.real(y * tn.conj(y))).backward()
    expected = tn.jit(tn.grad(lambda x: tn.sum(tn.abs(tn.fft.rfft(x)) ** 2)), executor="numpy")(X)
    np.testing.assert_allclose(x.grad.numpy(), expected, atol=1e-12)
