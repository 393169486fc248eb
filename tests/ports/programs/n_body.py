"""Bodies that attract one another: leapfrog steps by `lax.scan`, energies on the way."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax, random


def acceleration(position, mass, softening=0.1):
    apart = position[None, :, :] - position[:, None, :]
    squared = jnp.sum(apart**2, axis=-1) + softening**2
    return jnp.sum(mass[None, :, None] * apart * squared[..., None] ** -1.5, axis=1)


def energy(position, velocity, mass):
    kinetic = 0.5 * jnp.sum(mass * jnp.sum(velocity**2, axis=-1))
    apart = position[None] - position[:, None]
    inverse = 1.0 / jnp.sqrt(jnp.sum(apart**2, axis=-1) + 0.01)
    return kinetic - 0.5 * jnp.sum(mass[:, None] * mass[None] * inverse * (1 - jnp.eye(len(mass))))


@partial(jax.jit, static_argnums=(3,))
def simulate(position, velocity, mass, steps, dt=0.01):
    def step(carry, _):
        position, velocity, force = carry
        velocity = velocity + 0.5 * dt * force
        position = position + dt * velocity
        force = acceleration(position, mass)
        velocity = velocity + 0.5 * dt * force
        return (position, velocity, force), energy(position, velocity, mass)

    start = (position, velocity, acceleration(position, mass))
    (position, velocity, _), energies = lax.scan(step, start, None, length=steps)
    return position, velocity, energies


def program():
    keys = random.split(random.PRNGKey(3), 3)
    position = random.normal(keys[0], (128, 3))
    velocity = 0.1 * random.normal(keys[1], (128, 3))
    mass = random.uniform(keys[2], (128,), minval=0.5, maxval=1.5) / 128
    return (lambda p, v, m: simulate(p, v, m, 20)), (position, velocity, mass)
