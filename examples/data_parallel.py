"""Data-parallel training: each device computes on its part of every batch.

Alone it makes four virtual devices of the CPU and compares the training with that on one device. As
one of several processes, on one machine or on several, it trains on the devices of all of them:

    python data_parallel.py --coordinator 127.0.0.1:4321 --processes 2 --process 0
"""

import argparse
import os

import numpy as np

import tenferro as tn

STEPS, BATCH, WIDTH = 60, 64, 32


def loss(params, x, y):
    """The mean squared error of a network with one hidden layer."""
    hidden = tn.tanh(x @ params["w"] + params["b"])
    return tn.mean((hidden @ params["v"] - y) ** 2)


def update(params, x, y):
    """One step of gradient descent, and the loss before it."""
    value, slopes = tn.value_and_grad(loss)(params, x, y)
    return {name: params[name] - 0.1 * slopes[name] for name in params}, value


def batches():
    """The same batches in every process."""
    rng = np.random.default_rng(0)
    for _ in range(STEPS):
        x = rng.normal(size=(BATCH, 8))
        yield x, np.tanh(x.sum(axis=1))


def start():
    """The parameters before training."""
    rng = np.random.default_rng(1)
    return {"w": rng.normal(size=(8, WIDTH)) / 3, "b": np.zeros(WIDTH), "v": np.ones(WIDTH) / WIDTH}


def train(step, params):
    """The losses of all steps."""
    losses = []
    for x, y in batches():
        params, value = step(params, x, y)
        losses.append(value)
    return [float(value) for value in losses]


def on_mesh(mesh):
    """Train on the devices of a mesh: parameters on every device, batches divided."""
    P = tn.sharding.PartitionSpec  # noqa: N806
    step = tn.jit(
        update,
        mesh=mesh,
        in_shardings=(P(), P("data"), P("data")),
        out_shardings=P(),
        donate_argnums=0,
    )
    whole = tn.sharding.NamedSharding(mesh, P())
    return train(step, tn.device_put(start(), whole))


def main():
    """Train on four devices of this process, or on those of several processes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--coordinator")
    parser.add_argument("--processes", type=int)
    parser.add_argument("--process", type=int)
    parser.add_argument("--devices", type=int, default=4, help="virtual devices of each process")
    options = parser.parse_args()
    count = options.devices * (options.processes or 1)
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={options.devices}"
    if options.coordinator is not None:
        tn.sharding.initialize(options.coordinator, options.processes, options.process)
    losses = on_mesh(tn.sharding.make_mesh((count,), ("data",)))
    print(f"{count} devices: loss {losses[0]:.6f} -> {losses[-1]:.6f}")
    assert losses[-1] < losses[0]
    if options.coordinator is not None:
        tn.sharding.shutdown()
        return
    alone = train(tn.jit(update), start())
    print(f"1 device:  loss {alone[0]:.6f} -> {alone[-1]:.6f}")
    assert np.allclose(losses, alone, rtol=1e-12)


if __name__ == "__main__":
    main()
