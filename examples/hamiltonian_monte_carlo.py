"""Hamiltonian Monte Carlo: many chains at once in a bent valley, whose moments are known.

A chain is written for one state: a `scan` over the draws, in each of which the state moves along a
path of constant energy, by a `fori_loop` of leapfrog steps with the gradient of the density, and is
accepted or not. `vmap` runs all chains together. Random numbers come from NumPy and are passed in.

The density of (x, y) is that of x normal with deviation S, and y normal with deviation 1 around
B (x² - S²). So both means are 0, and the variances are S² and 1 + 2 B² S⁴.
"""

import sys

import numpy as np

import tenferro as tn

CHAINS, WARMUP, DRAWS, LEAPS = 200, 100, 400, 24
S, B, STEP = 2.0, 0.3, 0.3


def energy(state):
    """Minus the logarithm of the density, up to a constant."""
    x, y = state[0], state[1]
    return x**2 / (2 * S**2) + (y - B * (x**2 - S**2)) ** 2 / 2


def moved(state, momentum):
    """State and momentum after LEAPS steps of size STEP."""
    force = tn.grad(lambda state: -energy(state))

    def leap(_, at):
        state, momentum = at
        momentum = momentum + STEP / 2 * force(state)
        state = state + STEP * momentum
        return state, momentum + STEP / 2 * force(state)

    return tn.fori_loop(0, LEAPS, leap, (state, momentum))


def draw(state, chances):
    """The next state of a chain, and whether the move was accepted."""
    momentum, threshold = chances
    proposed, end = moved(state, momentum)
    before = energy(state) + tn.sum(momentum**2) / 2
    after = energy(proposed) + tn.sum(end**2) / 2
    accepted = tn.log(threshold) < before - after
    state = tn.where(accepted, proposed, state)
    return state, (state, accepted)


def chain(start, momenta, thresholds):
    """All states of a chain `[draws, 2]`, and which moves were accepted."""
    return tn.scan(draw, start, (momenta, thresholds))[1]


def check_path(start, momentum):
    """A path keeps its energy nearly, and turned around it leads back."""
    end, final = moved(start, momentum)
    back, _ = moved(end, -final)
    np.testing.assert_allclose(back, start, atol=1e-10)
    drift = energy(end) + tn.sum(final**2) / 2 - energy(start) - np.sum(momentum**2) / 2
    assert abs(float(drift)) < 0.1, drift


def main():
    generator = np.random.default_rng(0)
    starts = generator.normal(size=(CHAINS, 2))
    momenta = generator.normal(size=(CHAINS, WARMUP + DRAWS, 2))
    thresholds = generator.uniform(size=(CHAINS, WARMUP + DRAWS))
    check_path(starts[0], momenta[0, 0])

    run = tn.jit(tn.vmap(chain))
    states, accepted = map(np.asarray, run(starts, momenta, thresholds))
    alone, _ = tn.jit(chain, executor="numpy")(starts[7], momenta[7, :10], thresholds[7, :10])
    np.testing.assert_allclose(states[7, :10], alone, rtol=1e-9)

    kept = states[:, WARMUP:]
    print(f"{CHAINS} chains of {DRAWS} draws, {accepted.mean():.1%} of the moves accepted")
    assert accepted.mean() > 0.8
    moments = {
        "mean of x": (kept[..., 0], 0.0),
        "mean of y": (kept[..., 1], 0.0),
        "variance of x": (kept[..., 0] ** 2, S**2),
        "variance of y": (kept[..., 1] ** 2, 1 + 2 * B**2 * S**4),
        "x² y": (kept[..., 0] ** 2 * kept[..., 1], 2 * B * S**4),
    }
    for name, (values, expected) in moments.items():
        # Chains are independent, whatever the draws of one have to do with each other.
        of_chains = values.mean(axis=1)
        error = of_chains.std(ddof=1) / np.sqrt(CHAINS)
        print(f"{name}: {of_chains.mean():.3f} ± {error:.3f}, expected {expected:.3f}")
        assert abs(of_chains.mean() - expected) < 6 * error
        assert error < 0.05 * max(expected, 1.0)


if __name__ == "__main__":
    sys.exit(main())
