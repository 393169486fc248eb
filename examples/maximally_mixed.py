"""Entropy and fidelity of density matrices, with derivatives at the maximally mixed state.

All eigenvalues of the maximally mixed state 1/n are equal. Functions of a matrix are smooth there,
but single eigenvectors are not, and derivatives that go through them are NaN: JAX is shown beside.
Derivatives of `tn.linalg.logm`, `sqrtm` and `funm_hermitian` are exact, and here known on paper.
"""

import sys

import jax
import numpy as np
from jax import numpy as jnp

import tenferro as tn

N = 4
MIXED = np.eye(N) / N


def trace(x):
    """The trace of a matrix."""
    return tn.sum(tn.diagonal(x))


def entropy(rho):
    """The von Neumann entropy, −tr ρ log ρ."""
    return -trace(rho @ tn.linalg.logm(rho, assume_a="her"))


def fidelity(rho, sigma):
    """Uhlmann's fidelity, (tr √(√σ ρ √σ))²."""
    root = tn.linalg.sqrtm(sigma, assume_a="her")
    return trace(tn.linalg.sqrtm(root @ rho @ root, assume_a="her")) ** 2


def entropy_in_jax(rho):
    """The entropy by eigenvalues and eigenvectors, as there is no other way in JAX."""
    values, vectors = jnp.linalg.eigh(rho)
    return -jnp.trace(rho @ (vectors * jnp.log(values)) @ vectors.T)


def werner(p):
    """A singlet of two spins in noise: eigenvalues (1 + 3p)/4 once and (1 − p)/4 three times."""
    singlet = np.array([0, 1, -1, 0]) / np.sqrt(2)
    return p * np.outer(singlet, singlet) + (1 - p) * MIXED


def main():
    direction = np.diag([2.0, 0.0, -1.0, -1.0]) + 0.5 * (np.eye(N)[::-1])
    sigma = werner(0.5)

    slope = tn.grad(entropy)(MIXED)
    bend = tn.hvp(entropy, MIXED, direction)
    towards = tn.grad(fidelity)(MIXED, sigma)
    curved = tn.hvp(lambda rho: fidelity(rho, MIXED), MIXED, direction)
    with jax.enable_x64(True):
        of_jax = np.asarray(jax.grad(entropy_in_jax)(jnp.asarray(MIXED)))

    print(f"entropy of 1/{N}: {float(entropy(MIXED)):.12f}, log {N} = {np.log(N):.12f}")
    print(f"its gradient, first row:         {np.asarray(slope)[0]}")
    print(f"its gradient in JAX, first row:  {of_jax[0]}")
    print(f"fidelity with a Werner state: {float(fidelity(MIXED, sigma)):.12f}")

    values, vectors = np.linalg.eigh(sigma)
    root = (vectors * np.sqrt(values)) @ vectors.T
    np.testing.assert_allclose(float(entropy(MIXED)), np.log(N), rtol=1e-14)
    np.testing.assert_allclose(slope, (np.log(N) - 1) * np.eye(N), atol=1e-13)
    np.testing.assert_allclose(bend, -N * direction, atol=1e-12)
    np.testing.assert_allclose(float(fidelity(MIXED, sigma)), np.trace(root) ** 2 / N, rtol=1e-13)
    np.testing.assert_allclose(towards, np.trace(root) * root, atol=1e-13)
    np.testing.assert_allclose(
        curved, np.trace(direction) / 2 * np.eye(N) - N / 2 * direction, atol=1e-12
    )
    assert np.isnan(of_jax).any(), "JAX has learnt it"


if __name__ == "__main__":
    sys.exit(main())
