"""A neural ODE: a network for the velocity of a pendulum with friction, learned from its paths.

The state follows y' = net(y). A path is a `scan` over the times, in each of which one step of the
classical Runge-Kutta method is taken; `vmap` makes paths from all starts at once. The gradient of
the error goes back through all steps of all paths: one loop forwards and one backwards, however
many steps there are. The learned network is then asked for a path four times as long, from a start
that it has not seen.
"""

import sys

import numpy as np

import tenferro as tn

STEPS, DT, HIDDEN, PATHS, EPOCHS = 50, 0.1, 16, 12, 1000


def pendulum(y):
    """The velocity of angle and speed, in NumPy: what the network has to learn."""
    return np.stack([y[..., 1], -np.sin(y[..., 0]) - 0.2 * y[..., 1]], axis=-1)


def runge_kutta(velocity, y):
    """The state after a time DT."""
    k1 = velocity(y)
    k2 = velocity(y + DT / 2 * k1)
    k3 = velocity(y + DT / 2 * k2)
    k4 = velocity(y + DT * k3)
    return y + DT / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def true_paths(starts, steps):
    """States of the pendulum after each step, `[paths, steps, 2]`."""
    states = [starts]
    for _ in range(steps):
        states.append(runge_kutta(pendulum, states[-1]))
    return np.stack(states[1:], axis=1)


def net(params, y):
    """The learned velocity of one state."""
    h = tn.tanh(params["w1"] @ y + params["b1"])
    return params["w2"] @ h + params["b2"]


def path(params, start, steps):
    """The states after each step, `[steps, 2]`, from one start."""

    def step(y, _):
        y = runge_kutta(lambda at: net(params, at), y)
        return y, y

    return tn.scan(step, start, length=steps)[1]


def loss(params, starts, paths):
    """The mean square error of all states of all paths."""
    made = tn.vmap(lambda start: path(params, start, STEPS))(starts)
    return tn.mean((made - paths) ** 2)


def adam(params, grads, state, count):
    """One step of Adam, on trees of arrays, with a rate that falls."""
    rate = 0.05 * 0.996**count
    means, squares, updated = {}, {}, {}
    for name, grad in grads.items():
        means[name] = 0.9 * state[0][name] + 0.1 * grad
        squares[name] = 0.99 * state[1][name] + 0.01 * grad**2
        scale = tn.sqrt(squares[name] / (1 - 0.99**count)) + 1e-8
        updated[name] = params[name] - rate / (1 - 0.9**count) * means[name] / scale
    return updated, (means, squares)


@tn.jit
def train(params, starts, paths):
    """The parameters after all epochs, which are a loop themselves, and the errors on the way."""

    def epoch(carry, count):
        params, state = carry
        value, grads = tn.value_and_grad(loss)(params, starts, paths)
        return adam(params, grads, state, count), value

    zeros = {name: tn.zeros_like(value) for name, value in params.items()}
    (params, _), errors = tn.scan(epoch, (params, (zeros, zeros)), np.arange(1.0, EPOCHS + 1))
    return params, errors


def check_gradient(params, starts, paths):
    """The gradient along a direction, beside a difference."""
    generator = np.random.default_rng(1)
    direction = {name: generator.normal(size=value.shape) for name, value in params.items()}
    value = tn.jit(loss)

    def along(t):
        moved = {name: params[name] + t * direction[name] for name in params}
        return float(value(moved, starts, paths))

    grads = tn.jit(tn.grad(loss))(params, starts, paths)
    slope = sum(np.sum(np.asarray(grads[name]) * direction[name]) for name in params)
    difference = (along(1e-5) - along(-1e-5)) / 2e-5
    print(f"slope of the error along a direction: {slope:.8f}, by differences {difference:.8f}")
    np.testing.assert_allclose(slope, difference, rtol=1e-6)


def main():
    generator = np.random.default_rng(0)
    starts = generator.uniform(-1.5, 1.5, size=(PATHS, 2))
    paths = true_paths(starts, STEPS)
    params = {
        "w1": generator.normal(size=(HIDDEN, 2)),
        "b1": generator.normal(size=HIDDEN),
        "w2": 0.1 * generator.normal(size=(2, HIDDEN)),
        "b2": np.zeros(2),
    }
    check_gradient(params, starts, paths)
    params, errors = train(params, starts, paths)
    errors = np.asarray(errors)
    print(f"mean square error: {errors[0]:.4f} at first, {errors[-1]:.1e} after {EPOCHS} epochs")
    assert errors[-1] < 1e-3 * errors[0]

    new = np.array([1.0, -0.5])
    made = np.asarray(path(params, new, 4 * STEPS))
    true = true_paths(new[None], 4 * STEPS)[0]
    error = np.max(np.abs(made - true))
    print(
        f"a new path, four times as long: off by at most {error:.3f} of {np.max(np.abs(true)):.2f}"
    )
    assert error < 0.1


if __name__ == "__main__":
    sys.exit(main())
