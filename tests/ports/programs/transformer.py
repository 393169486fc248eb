"""A small language model: causal attention, layer norm, a training step."""

import jax
import jax.numpy as jnp
from jax import random

VOCABULARY, WIDTH, HEADS, LENGTH, LAYERS = 64, 64, 4, 32, 2


def init(key):
    keys = iter(random.split(key, 4 * LAYERS + 2))

    def matrix(n, m):
        return random.normal(next(keys), (n, m)) * n**-0.5

    layers = [
        {
            "qkv": matrix(WIDTH, 3 * WIDTH),
            "out": matrix(WIDTH, WIDTH),
            "up": matrix(WIDTH, 4 * WIDTH),
            "down": matrix(4 * WIDTH, WIDTH),
            "scale": jnp.ones((2, WIDTH)),
        }
        for _ in range(LAYERS)
    ]
    return {"embed": matrix(VOCABULARY, WIDTH), "position": matrix(LENGTH, WIDTH), "layers": layers}


def norm(x, scale):
    mean = x.mean(axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale


def attention(layer, x):
    q, k, v = jnp.split(x @ layer["qkv"], 3, axis=-1)
    q, k, v = (a.reshape(*a.shape[:-1], HEADS, -1) for a in (q, k, v))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
    mask = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), dtype=bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(x.shape) @ layer["out"]


def logits(params, tokens):
    x = params["embed"][tokens] + params["position"][: tokens.shape[1]]
    for layer in params["layers"]:
        x = x + attention(layer, norm(x, layer["scale"][0]))
        x = x + jax.nn.gelu(norm(x, layer["scale"][1]) @ layer["up"]) @ layer["down"]
    return x @ params["embed"].T


def loss(params, tokens):
    scores = jax.nn.log_softmax(logits(params, tokens[:, :-1]))
    return -jnp.take_along_axis(scores, tokens[:, 1:, None], axis=-1).mean()


@jax.jit
def train(params, tokens):
    value, grads = jax.value_and_grad(loss)(params, tokens)
    return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


def program():
    tokens = random.randint(random.key(1), (8, LENGTH + 1), 0, VOCABULARY)
    return train, (init(random.key(0)), tokens)
