"""A network that obeys the heat equation: derivatives by inputs within the loss."""

import jax
import jax.numpy as jnp
from jax import grad, random, vmap


def network(params, t, x):
    hidden = jnp.stack([t, x])
    for weights, bias in params[:-1]:
        hidden = jnp.tanh(hidden @ weights + bias)
    weights, bias = params[-1]
    return (hidden @ weights + bias)[0]


def residual(params, t, x):
    u_t = grad(network, argnums=1)(params, t, x)
    u_xx = grad(grad(network, argnums=2), argnums=2)(params, t, x)
    return u_t - 0.1 * u_xx


def loss(params, t, x):
    inside = vmap(residual, in_axes=(None, 0, 0))(params, t, x)
    start = vmap(network, in_axes=(None, None, 0))(params, 0.0, x) - jnp.sin(jnp.pi * x)
    return jnp.mean(inside**2) + jnp.mean(start**2)


@jax.jit
def train(params, t, x):
    value, grads = jax.value_and_grad(loss)(params, t, x)
    return value, [
        (w - 0.01 * dw, b - 0.01 * db) for (w, b), (dw, db) in zip(params, grads, strict=True)
    ]


def program():
    sizes, keys = [2, 32, 32, 1], random.split(random.key(0), 5)
    params = [
        (random.normal(k, (n, m)) / jnp.sqrt(n), jnp.zeros(m))
        for k, n, m in zip(keys[:3], sizes[:-1], sizes[1:], strict=True)
    ]
    return train, (params, random.uniform(keys[3], (512,)), random.uniform(keys[4], (512,)))
