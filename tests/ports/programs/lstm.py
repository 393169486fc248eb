"""A recurrent network over characters: scan, clipped gradients, a dataclass as parameters."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax, random


@jax.tree_util.register_dataclass
@dataclass
class Cell:
    inputs: jax.Array
    hidden: jax.Array
    bias: jax.Array
    out: jax.Array


def step(cell, state, token):
    hidden, memory = state
    gates = cell.inputs[token] + hidden @ cell.hidden + cell.bias
    i, f, g, o = jnp.split(gates, 4, axis=-1)
    memory = jax.nn.sigmoid(f + 1.0) * memory + jax.nn.sigmoid(i) * jnp.tanh(g)
    hidden = jax.nn.sigmoid(o) * jnp.tanh(memory)
    return (hidden, memory), hidden @ cell.out


def loss(cell, tokens):
    zeros = jnp.zeros((tokens.shape[1], cell.hidden.shape[0]))
    _, scores = lax.scan(lambda s, t: step(cell, s, t), (zeros, zeros), tokens[:-1])
    picked = jax.nn.log_softmax(scores) * jax.nn.one_hot(tokens[1:], scores.shape[-1])
    return -jnp.mean(jnp.sum(picked, axis=-1))


@jax.jit
def train(cell, tokens):
    value, grads = jax.value_and_grad(loss)(cell, tokens)
    norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(grads)))
    factor = jnp.minimum(1.0, 1.0 / (norm + 1e-6))
    return value, jax.tree.map(lambda p, g: p - 0.5 * factor * g, cell, grads)


def program():
    keys = random.split(random.key(0), 4)
    cell = Cell(
        0.1 * random.normal(keys[0], (30, 256)),
        0.1 * random.normal(keys[1], (64, 256)),
        jnp.zeros(256),
        0.1 * random.normal(keys[2], (64, 30)),
    )
    return train, (cell, random.randint(keys[3], (40, 16), 0, 30))
