"""A variational autoencoder: encoder, decoder, evidence bound, Adam by hand."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import random


class AdamState(NamedTuple):
    step: jax.Array
    mean: dict
    square: dict


def dense(key, n, m):
    return {"w": random.normal(key, (n, m)) / jnp.sqrt(n), "b": jnp.zeros(m)}


def affine(layer, x):
    return x @ layer["w"] + layer["b"]


def encode(params, images):
    hidden = jax.nn.softplus(affine(params["encoder"], images))
    return affine(params["mean"], hidden), jax.nn.softplus(affine(params["scale"], hidden))


def decode(params, latent):
    return affine(params["logits"], jax.nn.softplus(affine(params["decoder"], latent)))


def elbo(key, params, images):
    mean, scale = encode(params, images)
    latent = mean + jnp.sqrt(scale) * random.normal(key, mean.shape)
    logits = decode(params, latent)
    likelihood = -jnp.sum(jnp.logaddexp(0.0, jnp.where(images, -1.0, 1.0) * logits))
    divergence = -0.5 * jnp.sum(1.0 + jnp.log(scale) - mean**2 - scale)
    return (likelihood - divergence) / images.shape[0]


@jax.jit
def step(key, params, state, images):
    value, grads = jax.value_and_grad(lambda p: -elbo(key, p, images))(params)
    count = state.step + 1
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state.mean, grads)
    square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g**2, state.square, grads)

    def moved(p, m, s):
        return p - 0.001 * (m / (1 - 0.9**count)) / (jnp.sqrt(s / (1 - 0.999**count)) + 1e-8)

    params = jax.tree.map(moved, params, mean, square)
    return value, params, AdamState(count, mean, square)


def program():
    keys = random.split(random.key(0), 6)
    params = {
        "encoder": dense(keys[0], 784, 256),
        "mean": dense(keys[1], 256, 10),
        "scale": dense(keys[2], 256, 10),
        "decoder": dense(keys[3], 10, 256),
        "logits": dense(keys[4], 256, 784),
    }
    zeros = jax.tree.map(jnp.zeros_like, params)
    images = random.bernoulli(keys[5], 0.3, (64, 784))
    return step, (random.key(7), params, AdamState(jnp.array(0), zeros, zeros), images)
