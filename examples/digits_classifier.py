"""A classifier of handwritten digits, trained by a compiled gradient step; the same in JAX.

The data are the 1797 images of 8 by 8 pixels that scikit-learn ships. `net`, `loss` and `step` are
written once, for a namespace `xp` that is `tenferro` or `jax.numpy`. Both start from the same
weights and use the same batches, in float32, so they must reach the same accuracy.
"""

import sys
import time
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits

import tenferro as tn

LAYERS = (64, 48, 10)
BATCH = 128
STEPS = 1000
RATE = 0.5


def net(xp, params, x):
    """Logits `[batch, 10]` of images `[batch, 64]`."""
    for layer in params[:-1]:
        x = xp.tanh(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def loss(xp, params, x, y):
    """Mean cross-entropy against one-hot labels y."""
    logits = net(xp, params, x)
    shifted = logits - xp.max(logits, axis=1, keepdims=True)
    log_sum = xp.log(xp.sum(xp.exp(shifted), axis=1, keepdims=True))
    return -xp.mean(xp.sum(y * (shifted - log_sum), axis=1))


def sgd(params, grads):
    """One step of gradient descent."""
    return [
        {name: layer[name] - RATE * grad[name] for name in layer}
        for layer, grad in zip(params, grads, strict=True)
    ]


@tn.jit
def step_of_tenferro(params, x, y):
    value, grads = tn.value_and_grad(lambda p: loss(tn, p, x, y))(params)
    return value, sgd(params, grads)


@jax.jit
def step_of_jax(params, x, y):
    value, grads = jax.value_and_grad(lambda p: loss(jnp, p, x, y))(params)
    return value, sgd(params, grads)


def train(step, params, batches):
    """The trained weights, the last loss, and the median time of a step in microseconds."""
    times = []
    for x, y in batches:
        start = time.perf_counter()
        value, params = step(params, x, y)
        value = float(value)
        times.append(time.perf_counter() - start)
    return params, value, np.median(times[1:]) * 1e6


def accuracy(params, x, labels):
    """The fraction of the images that is classified correctly."""
    weights = [{name: np.asarray(value) for name, value in layer.items()} for layer in params]
    return float(np.mean(np.argmax(net(np, weights, x), axis=1) == labels))


def main():
    images, labels = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(images))
    x, labels = (images[order] / 16).astype(np.float32), labels[order]
    y = np.eye(10, dtype=np.float32)[labels]
    n_train = 1400
    params = [
        {
            "w": rng.normal(0, n**-0.5, (n, m)).astype(np.float32),
            "b": np.zeros(m, np.float32),
        }
        for n, m in pairwise(LAYERS)
    ]
    batches = [(x[i], y[i]) for i in rng.integers(0, n_train, (STEPS, BATCH))]

    reached = {}
    for name, step in (("tenferro", step_of_tenferro), ("jax", step_of_jax)):
        trained, last, time_of_step = train(step, params, batches)
        reached[name] = accuracy(trained, x[n_train:], labels[n_train:])
        print(
            f"{name:8} test accuracy {reached[name]:.4f}, last loss {last:.5f}, "
            f"{time_of_step:.0f} µs per step"
        )

    assert min(reached.values()) > 0.9, reached
    assert abs(reached["tenferro"] - reached["jax"]) < 0.01, reached
    print(f"both classify {min(reached.values()):.1%} of {len(x) - n_train} unseen digits right")


if __name__ == "__main__":
    sys.exit(main())
