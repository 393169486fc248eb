"""Flow past a cylinder by the lattice Boltzmann method, D2Q9."""

import jax
import jax.numpy as jnp
import numpy as np

NX, NY = 200, 80
VELOCITIES = np.array([[0, 1, 0, -1, 0, 1, -1, -1, 1], [0, 0, 1, 0, -1, 1, 1, -1, -1]])
OPPOSITE = np.array([0, 3, 4, 1, 2, 7, 8, 5, 6])
WEIGHTS = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
OMEGA = 1.0 / (3.0 * 0.04 * 10 / 80 + 0.5)


def macroscopic(f):
    density = jnp.sum(f, axis=-1)
    return density, jnp.einsum("NMQ,dQ->NMd", f, VELOCITIES) / density[..., jnp.newaxis]


def equilibrium(density, velocity):
    projected = jnp.einsum("dQ,NMd->NMQ", VELOCITIES, velocity)
    squared = jnp.linalg.norm(velocity, axis=-1, ord=2) ** 2
    return (
        density[..., jnp.newaxis]
        * WEIGHTS[jnp.newaxis, jnp.newaxis, :]
        * (1 + 3 * projected + 9 / 2 * projected**2 - 3 / 2 * squared[..., jnp.newaxis])
    )


@jax.jit
def run(f, profile, obstacle):
    def update(_, f):
        f = f.at[-1, :, 3].set(f[-2, :, 3]).at[-1, :, 6].set(f[-2, :, 6])
        f = f.at[-1, :, 7].set(f[-2, :, 7])
        density, velocity = macroscopic(f)
        velocity = velocity.at[0, 1:-1, :].set(profile[0, 1:-1, :])
        inlet = jnp.sum(f[0][:, np.array([0, 2, 4])], axis=-1) + 2 * jnp.sum(
            f[0][:, np.array([3, 6, 7])], axis=-1
        )
        density = density.at[0, :].set(inlet / (1 - velocity[0, :, 0]))
        balanced = equilibrium(density, velocity)
        f = f.at[0, :, jnp.array([1, 5, 8])].set(balanced[0, :, jnp.array([1, 5, 8])])
        after = f - OMEGA * (f - balanced)
        after = jnp.where(obstacle[..., None], f[..., OPPOSITE], after)
        for i in range(9):
            shift = (VELOCITIES[0, i], VELOCITIES[1, i])
            after = after.at[:, :, i].set(jnp.roll(after[:, :, i], shift, axis=(0, 1)))
        return after

    return jax.lax.fori_loop(0, 10, update, f)


def program():
    x, y = np.meshgrid(np.arange(NX), np.arange(NY), indexing="ij")
    obstacle = np.sqrt((x - NX // 5) ** 2 + (y - NY // 2) ** 2) < 10
    profile = jnp.zeros((NX, NY, 2)).at[:, :, 0].set(0.04)
    return run, (equilibrium(jnp.ones((NX, NY)), profile), profile, obstacle)
