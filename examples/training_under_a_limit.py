"""A deep network trained under a memory limit, with the report of what is computed again.

A residual network of 48 layers with one weight learns a rotation of points. Its gradient keeps the
values of all layers. With a limit of a third of that it keeps some, and computes the others again:
the losses are the same.
"""

import numpy as np

import tenferro as tn

LAYERS, POINTS, WIDTH, STEPS = 48, 256, 16, 8


def loss(params, x, y):
    """The mean squared error."""
    for _ in range(LAYERS):
        x = x + tn.tanh(x @ params["w"] + params["b"]) / LAYERS
    return tn.mean((x - y) ** 2)


def training(limit):
    """The losses of some steps, and the report of the gradient's memory."""
    step = tn.jit(tn.value_and_grad(loss), executor="numpy", memory_limit=limit)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(POINTS, WIDTH))
    y = x @ np.linalg.qr(rng.normal(size=(WIDTH, WIDTH)))[0]
    params = {"w": rng.normal(size=(WIDTH, WIDTH)) / 4, "b": np.zeros(WIDTH)}
    losses = []
    for _ in range(STEPS):
        value, grads = step(params, x, y)
        losses.append(float(value))
        params = {name: params[name] - 0.5 * np.asarray(grads[name]) for name in params}
    return losses, step.memory(params, x, y)


def main():
    """Train twice."""
    losses, free = training(None)
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}, {free.peak / 1e6:.2f} MB")
    limited, report = training(free.peak // 3)
    print(f"loss {limited[0]:.4f} -> {limited[-1]:.4f}, {report.peak / 1e6:.2f} MB")
    print(report)
    assert losses[-1] < losses[0]
    assert np.allclose(losses, limited, rtol=1e-12)
    assert report.peak <= free.peak // 3


if __name__ == "__main__":
    main()
