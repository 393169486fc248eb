"""Marginal likelihood of a Gaussian process, its gradient, and predictions."""

import jax
import jax.numpy as jnp
from jax import random
from jax.scipy.linalg import cho_factor, cho_solve, solve_triangular


def kernel(params, x, y):
    squared = jnp.sum(
        (x[:, None, :] - y[None, :, :]) ** 2 / jnp.exp(params["length"]) ** 2, axis=-1
    )
    return jnp.exp(params["scale"]) * jnp.exp(-0.5 * squared)


def negative_likelihood(params, x, y):
    covariance = kernel(params, x, x) + jnp.exp(params["noise"]) * jnp.eye(x.shape[0])
    factor = jnp.linalg.cholesky(covariance)
    white = solve_triangular(factor, y, lower=True)
    return 0.5 * white @ white + jnp.sum(jnp.log(jnp.diagonal(factor)))


@jax.jit
def fit_and_predict(params, x, y, new):
    value, grads = jax.value_and_grad(negative_likelihood)(params, x, y)
    params = jax.tree_util.tree_map(lambda p, g: p - 1e-3 * g, params, grads)
    covariance = kernel(params, x, x) + jnp.exp(params["noise"]) * jnp.eye(len(x))
    mean = kernel(params, new, x) @ cho_solve(cho_factor(covariance, lower=True), y)
    return value, params, mean


def program():
    x = random.uniform(random.key(0), (150, 3))
    y = jnp.sin(3 * x[:, 0]) + 0.1 * random.normal(random.key(1), (150,))
    params = {"length": jnp.zeros(3), "scale": jnp.zeros(()), "noise": jnp.array(-2.0)}
    return fit_and_predict, (params, x, y, random.uniform(random.key(2), (50, 3)))
