"""Free energy of the Ising model by the tensor renormalization group, and its derivative."""

import jax
import jax.numpy as jnp


def ising(beta):
    values = jnp.array([[1.0, 1.0], [1.0, -1.0]]) / jnp.sqrt(2.0)
    root = values @ jnp.diag(jnp.sqrt(2.0 * jnp.array([jnp.cosh(beta), jnp.sinh(beta)])))
    return jnp.einsum("ai,aj,ak,al->ijkl", root, root, root, root)


def halves(matrix, bond):
    left, values, right = jnp.linalg.svd(matrix, full_matrices=False)
    keep = min(bond, values.shape[0])
    root = jnp.sqrt(values[:keep])
    return left[:, :keep] * root, root[:, None] * right[:keep]


def coarse(tensor, bond):
    """Four halves around a plaquette; legs are right, up, left, down."""
    right, up, left, down = tensor.shape
    first, third = halves(tensor.reshape(right * up, left * down), bond)
    turned = tensor.transpose(1, 2, 3, 0).reshape(up * left, down * right)
    second, fourth = halves(turned, bond)
    return jnp.einsum(
        "adw,bax,ycb,zdc->yzwx",
        first.reshape(right, up, -1),
        second.reshape(up, left, -1),
        third.reshape(-1, left, down),
        fourth.reshape(-1, down, right),
    )


@jax.jit
def free_energy(beta):
    tensor, total = ising(beta), 0.0
    for level in range(8):
        size = jnp.max(jnp.abs(tensor))
        total = total + jnp.log(size) / 2.0**level
        tensor = coarse(tensor / size, 8)
    return -(total + jnp.log(jnp.abs(jnp.einsum("abab->", tensor))) / 2.0**8) / beta


def program():
    return jax.jit(free_energy), (0.4,)
