"""Hamiltonian Monte Carlo of a logistic regression: many chains by vmap, steps by scan."""

import jax
import jax.numpy as jnp
from jax import lax, random

DATA = random.normal(random.PRNGKey(0), (200, 8))
LABELS = (DATA @ jnp.linspace(-1.0, 1.0, 8) > 0).astype(jnp.float32)


def log_density(weights):
    logits = DATA @ weights
    likelihood = jnp.sum(
        LABELS * jax.nn.log_sigmoid(logits) + (1 - LABELS) * jax.nn.log_sigmoid(-logits)
    )
    return likelihood - 0.5 * jnp.sum(weights**2)


def leapfrog(position, momentum, step_size, steps):
    gradient = jax.grad(log_density)

    def body(_, state):
        position, momentum = state
        momentum = momentum + 0.5 * step_size * gradient(position)
        position = position + step_size * momentum
        return position, momentum + 0.5 * step_size * gradient(position)

    return lax.fori_loop(0, steps, body, (position, momentum))


def kernel(position, key):
    first, second = random.split(key)
    momentum = random.normal(first, position.shape)
    moved, after = leapfrog(position, momentum, 0.02, 10)
    gain = (
        log_density(moved) - 0.5 * after @ after - log_density(position) + 0.5 * momentum @ momentum
    )
    accepted = jnp.log(random.uniform(second)) < gain
    position = jnp.where(accepted, moved, position)
    return position, (position, accepted)


@jax.jit
def sample(keys, starts):
    def chain(key, start):
        _, (draws, accepted) = lax.scan(kernel, start, random.split(key, 10))
        return draws, jnp.mean(accepted)

    return jax.vmap(chain)(keys, starts)


def program():
    return sample, (random.split(random.PRNGKey(1), 16), jnp.zeros((16, 8)))
