"""A layer of infinite depth: its output z solves z = tanh(W z + U x + b).

`tn.custom_root` gives the derivative of the solution, -f'(z)⁻¹ df. The solver is not
differentiated: nothing of its rounds is stored, and there is no bound on their number. The linear
systems, and in reverse mode their transposes, are solved by rounds as well. Gradients are compared
with those of a loop of 200 rounds and with differences; then the layer is fitted to a function of
two variables.
"""

import sys

import numpy as np

import tenferro as tn

WIDTH, POINTS = 16, 64
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(POINTS, 2))
Y = np.sin(3 * X[:, 0]) * X[:, 1]
PARAMS = {
    "w": 0.5 * RNG.normal(size=(WIDTH, WIDTH)) / np.sqrt(WIDTH),
    "u": RNG.normal(size=(WIDTH, 2)),
    "b": RNG.normal(size=WIDTH),
    "v": RNG.normal(size=WIDTH) / WIDTH,
}


def layer(params, x, z):
    """One application of the layer."""
    return tn.tanh(params["w"] @ z + params["u"] @ x + params["b"])


def in_rounds(step, start):
    """The fixed point of a contraction, to twelve digits."""

    def goes_on(pair):
        before, after = pair
        return tn.max(tn.abs(after - before)) > 1e-12

    return tn.while_loop(goes_on, lambda pair: (pair[1], step(pair[1])), (start, step(start)))[1]


def equilibrium(params, x):
    """The output of the layer of infinite depth."""
    return tn.custom_root(
        lambda z: layer(params, x, z) - z,
        tn.zeros(WIDTH),
        lambda f, z: in_rounds(lambda z: z + f(z), z),
        lambda g, y: in_rounds(lambda z: z + g(z) - y, -y),
    )


def loss_of(outputs):
    """The mean squared error of a model whose last layer is linear in `outputs`."""

    def loss(params):
        z = tn.vmap(lambda x: outputs(params, x))(X)
        return tn.mean((z @ params["v"] - Y) ** 2)

    return loss


def repeated(params, x):
    """The layer applied 200 times; all rounds are differentiated."""
    return tn.fori_loop(0, 200, lambda _, z: layer(params, x, z), tn.zeros(WIDTH))


loss = loss_of(equilibrium)
value_and_gradient = tn.jit(tn.value_and_grad(loss), executor="xla")
value, gradient = value_and_gradient(PARAMS)
expected = tn.jit(tn.grad(loss_of(repeated)), executor="xla")(PARAMS)
errors = {
    name: float(np.abs(np.asarray(gradient[name]) - np.asarray(expected[name])).max())
    for name in PARAMS
}
print("gradient, against a loop of 200 rounds:", {k: f"{e:.1e}" for k, e in errors.items()})

direction = {name: RNG.normal(size=array.shape) for name, array in PARAMS.items()}
compiled = tn.jit(loss, executor="xla")


def moved(step):
    return {name: PARAMS[name] + step * direction[name] for name in PARAMS}


slope = sum(float(np.sum(np.asarray(gradient[k]) * direction[k])) for k in PARAMS)
difference = (compiled(moved(1e-5)).item() - compiled(moved(-1e-5)).item()) / 2e-5
print(f"slope in a direction: {slope:.9f}; by differences {difference:.9f}")

params, momentum = PARAMS, {name: np.zeros_like(array) for name, array in PARAMS.items()}
for _ in range(300):
    fitted, gradient = value_and_gradient(params)
    momentum = {k: 0.9 * momentum[k] + np.asarray(gradient[k]) for k in params}
    params = {k: params[k] - 0.03 * momentum[k] for k in params}
print(f"mean squared error: {value.item():.4f} at first, {fitted.item():.6f} after 300 steps")

right = max(errors.values()) < 1e-9 and abs(slope - difference) < 1e-6 * abs(slope)
sys.exit(0 if right and fitted.item() < 0.1 * value.item() else "the layer was not fitted")
