"""Draws the pictures of the gallery: `python docs/draw_pictures.py [NAME ...]`, with matplotlib.

Each function draws what the example of its name computes, by the functions of that example. The
pictures are in `docs/pictures`, in colours that are readable on light and dark pages.
"""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

import tenferro as tn

DOCS = Path(__file__).parent
GREY, BLUE, ORANGE, GREEN = "#888888", "#4c8fd6", "#e0803a", "#4caf7a"
STYLE = {
    "axes.edgecolor": GREY,
    "axes.labelcolor": GREY,
    "axes.prop_cycle": mpl.cycler(color=[BLUE, ORANGE, GREEN, GREY]),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.figsize": (4.0, 2.4),
    "font.size": 9,
    "legend.frameon": False,
    "legend.labelcolor": GREY,
    "savefig.transparent": True,
    "svg.fonttype": "none",
    "svg.hashsalt": "tenferro",
    "text.color": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
}


def deconvolution(example: Any, axes: Any) -> None:
    """The blurred signal, and what is estimated from it."""
    x, h = example.signal(), example.kernel(4.0)
    noise = 0.02 * np.random.default_rng(0).normal(size=x.size)
    y = np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(h), n=x.size) + noise
    axes.plot(y, color=GREY, lw=0.8, label="blurred, with noise")
    axes.plot(x, color=ORANGE, lw=1, label="truth")
    axes.plot(np.asarray(example.estimate(example.chosen(y, h), y, h)), lw=1.2, label="estimate")
    axes.legend(fontsize=7)


def heat_equation(example: Any, axes: Any) -> None:
    """A wave of the Burgers equation that becomes steep."""
    start = example.slope(1 - np.cos(example.X))
    for time, width in ((0.0, 0.8), (0.4, 1.1), (0.8, 1.4), (1.6, 1.8)):
        state = np.asarray(example.burgers(start, 0.2, time)) if time else np.asarray(start)
        axes.plot(example.X, state, lw=width, label=f"t = {time}")
    axes.legend(fontsize=7)
    axes.set_xlabel("x")
    axes.set_ylabel("u")


def gaussian_process(example: Any, axes: Any) -> None:
    """The samples, and the process at the minimum of the loss."""
    theta = example.newton(np.log([0.5, 2.0, 0.5]))
    amplitude, length, _ = np.exp(theta)
    at = np.linspace(0, 6, 200)
    between = amplitude**2 * np.exp(-((at[:, None] - example.X) ** 2) / (2 * length**2))
    k = np.asarray(example.covariance(theta))
    mean = between @ np.linalg.solve(k, example.Y)
    spread = amplitude**2 - np.sum(between * np.linalg.solve(k, between.T).T, axis=1)
    width = 2 * np.sqrt(np.maximum(spread, 0))
    axes.fill_between(at, mean - width, mean + width, color=BLUE, alpha=0.25, lw=0)
    axes.plot(at, mean)
    axes.plot(example.X, example.Y, ".", color=ORANGE, ms=4)


def hamiltonian_monte_carlo(example: Any, axes: Any) -> None:
    """Some draws, over the density."""
    generator = np.random.default_rng(0)
    chains, draws = 40, 120
    starts = generator.normal(size=(chains, 2))
    momenta = generator.normal(size=(chains, draws, 2))
    thresholds = generator.uniform(size=(chains, draws))
    run = tn.jit(tn.vmap(example.chain))
    sampled = np.asarray(run(starts, momenta, thresholds)[0])[:, 60::6].reshape(-1, 2)
    x, y = np.meshgrid(np.linspace(-6, 6, 60), np.linspace(-4, 11, 60))
    density = np.exp(-np.asarray(example.energy(np.stack([x, y]))))
    axes.contour(x, y, density, levels=[0.05, 0.2, 0.5, 0.8], colors=BLUE, linewidths=0.8)
    axes.plot(*sampled.T, ".", color=ORANGE, ms=2.5)


def ising_ctmrg(example: Any, axes: Any) -> None:
    """The energy by corner transfer matrices, on Onsager's curve."""
    fine = np.linspace(0.2, 0.8, 120)
    axes.plot(fine, [-example.onsager(beta, 512)[1] for beta in fine], color=GREY, label="Onsager")
    some = [0.25, 0.3, 0.35, 0.4, 0.48, 0.55, 0.62, 0.7]
    found = [-float(example.value_and_slope(beta)[1]) for beta in some]
    axes.plot(some, found, "o", color=ORANGE, ms=4, label="corner transfer matrices")
    axes.legend(fontsize=7)
    axes.set_xlabel("β")
    axes.set_ylabel("energy per site")


def maximally_mixed(example: Any, axes: Any) -> None:
    """Entropy and fidelity of Werner states, and their slopes at the mixed state."""
    p = np.linspace(0, 0.98, 50)
    states = [example.werner(each) for each in p]
    axes.plot(p, [float(example.entropy(rho)) for rho in states], label="entropy")
    fidelities = [float(example.fidelity(example.MIXED, rho)) for rho in states]
    axes.plot(p, fidelities, label="fidelity with 1/4")
    axes.legend(fontsize=7)
    axes.set_xlabel("weight of the singlet")


def sparse_newton(example: Any, axes: Any) -> None:
    """The pattern of the Hessian of 40 numbers."""
    pattern = np.asarray(example.hessian(np.full(40, 0.9)).todense()) != 0
    rows, columns = np.nonzero(pattern)
    axes.plot(columns, rows, "s", ms=2)
    axes.invert_yaxis()
    axes.set_aspect("equal")


def spring_chain(example: Any, axes: Any) -> None:
    """The three slowest modes."""
    u = example.equilibrium(0.0)
    _, modes = np.linalg.eigh(np.asarray(example.hessian(u, 0.0)))
    for number in range(3):
        shape = np.concatenate([[0], modes[:, number], [0]])
        axes.plot(shape * np.sign(shape[1]), "o-", ms=3, lw=1, label=f"mode {number + 1}")
    axes.legend(fontsize=7)
    axes.set_xlabel("mass")


def tensor_completion(example: Any, axes: Any) -> None:
    """All entries of the completed tensor, by the true ones."""
    generator = np.random.default_rng(0)
    whole = np.einsum("aib,bjc,ckd,dle->ijkl", *example.cores(generator))
    known = generator.random(whole.shape) < 0.15
    places = np.array(np.nonzero(known))
    others = np.array(np.nonzero(~known))[:, ::40]
    for steps, color in ((40, GREY), (1500, ORANGE)):
        train = example.fit(example.cores(np.random.default_rng(1)), places, whole[known], steps)
        guess = np.asarray(example.elements(train, others))
        axes.plot(whole[*others], guess, ".", ms=3, color=color, label=f"{steps} steps")
    axes.legend(fontsize=7)
    axes.set_xlabel("entry that was not seen")
    axes.set_ylabel("found")


def train_a_neural_ode(example: Any, axes: Any) -> None:
    """A path of the learned network, on the true one."""
    generator = np.random.default_rng(0)
    starts = generator.uniform(-1.5, 1.5, size=(example.PATHS, 2))
    paths = example.true_paths(starts, example.STEPS)
    params = {
        "w1": generator.normal(size=(example.HIDDEN, 2)),
        "b1": generator.normal(size=example.HIDDEN),
        "w2": 0.1 * generator.normal(size=(2, example.HIDDEN)),
        "b2": np.zeros(2),
    }
    params, _ = example.train(params, starts, paths)
    new = np.array([1.0, -0.5])
    steps = 4 * example.STEPS
    axes.plot(*example.true_paths(new[None], steps)[0].T, color=GREY, lw=3, label="pendulum")
    axes.plot(*np.asarray(example.path(params, new, steps)).T, color=ORANGE, lw=1, label="network")
    axes.legend(fontsize=7)
    axes.set_xlabel("angle")
    axes.set_ylabel("speed")


def training_under_a_limit(example: Any, axes: Any) -> None:
    """The memory of a gradient without a limit, and with two."""
    _, free = example.training(None)
    limits = [None, free.peak // 2, free.peak // 3]
    peaks = [example.training(limit)[1].peak / 1e6 for limit in limits]
    axes.bar(["no limit", "a half", "a third"], peaks, width=0.5)
    axes.set_ylabel("peak, MB")


PICTURES: list[Callable[[Any, Any], None]] = [
    deconvolution,
    gaussian_process,
    hamiltonian_monte_carlo,
    heat_equation,
    ising_ctmrg,
    maximally_mixed,
    sparse_newton,
    spring_chain,
    tensor_completion,
    train_a_neural_ode,
    training_under_a_limit,
]


def main(names: list[str]) -> None:
    """Draw the pictures that are named, or all."""
    sys.path.insert(0, str(DOCS.parent / "examples"))
    (DOCS / "pictures").mkdir(exist_ok=True)
    plt.rcParams.update(STYLE)
    for draw in PICTURES:
        if names and draw.__name__ not in names:
            continue
        figure, axes = plt.subplots()
        draw(importlib.import_module(draw.__name__), axes)
        figure.tight_layout()
        path = DOCS / "pictures" / f"{draw.__name__}.svg"
        figure.savefig(path, metadata={"Date": None, "Creator": None})
        plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1:])
