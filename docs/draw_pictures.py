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


def circuit_amplitude(example: Any, axes: Any) -> None:
    """The derivative of the probability by the angle of each rotation."""
    generator = np.random.default_rng(0)
    angles = generator.uniform(0, np.pi, (example.LAYERS, example.QUBITS))
    bits = tuple(int(bit) for bit in generator.integers(0, 2, example.QUBITS))
    probability = tn.jit(tn.grad(lambda x: tn.abs(example.amplitude(x, bits)) ** 2))
    slopes = np.asarray(probability(angles))
    largest = np.max(np.abs(slopes))
    mesh = axes.pcolormesh(slopes, cmap="RdBu_r", vmin=-largest, vmax=largest)
    plt.colorbar(mesh, ax=axes, label="slope of the probability")
    axes.set_xlabel("qubit")
    axes.set_ylabel("layer")
    axes.set_yticks([0.5, 1.5, 2.5], ["1", "2", "3"])


def decay_rates(example: Any, axes: Any) -> None:
    """The fitted distributions of the rates of four sources, on the exact ones."""
    for_data, for_fits, _ = tn.random.split(tn.random.key(0), 3)
    spans, counts = example.observations(for_data)
    fit = tn.jit(tn.vmap(example.fitted), executor="numpy")
    theta = fit(tn.random.split(for_fits, example.SOURCES), spans, counts)
    shapes, scales = (np.asarray(each) for each in tn.vmap(example.parameters)(theta))
    x = np.linspace(0.05, 9, 200)
    for source in range(4):
        exact = (
            example.SHAPE + np.asarray(counts)[source].sum(),
            example.RATE + np.asarray(spans)[source].sum(),
        )
        for (shape, rate), style in (
            (exact, {"color": GREY, "lw": 3, "alpha": 0.4}),
            ((shapes[source], scales[source]), {"lw": 1}),
        ):
            density = np.asarray(tn.scipy.stats.gamma.pdf(x, shape, scale=1 / rate))
            axes.plot(x, density, **style)
    axes.set_xlabel("rate")
    axes.set_ylabel("density")


def deconvolution(example: Any, axes: Any) -> None:
    """The blurred signal, and what is estimated from it."""
    x, h = example.signal(), example.kernel(4.0)
    noise = 0.02 * np.random.default_rng(0).normal(size=x.size)
    y = np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(h), n=x.size) + noise
    axes.plot(y, color=GREY, lw=0.8, label="blurred, with noise")
    axes.plot(x, color=ORANGE, lw=1, label="truth")
    axes.plot(np.asarray(example.estimate(example.chosen(y, h), y, h)), lw=1.2, label="estimate")
    axes.legend(fontsize=7)


def digits_classifier(example: Any, axes: Any) -> None:
    """Twelve unseen digits, and how they are classified."""
    images, labels = example.load_digits(return_X_y=True)
    generator = np.random.default_rng(0)
    order = generator.permutation(len(images))
    x, labels = (images[order] / 16).astype(np.float32), labels[order]
    y = np.eye(10, dtype=np.float32)[labels]
    params = [
        {"w": generator.normal(0, n**-0.5, (n, m)).astype("f4"), "b": np.zeros(m, "f4")}
        for n, m in example.pairwise(example.LAYERS)
    ]
    batches = [(x[i], y[i]) for i in generator.integers(0, 1400, (example.STEPS, example.BATCH))]
    params, *_ = example.train(example.step_of_tenferro, params, batches)
    unseen = x[1400:1412]
    found = np.argmax(np.asarray(example.net(tn, params, unseen)), axis=1)
    sheet = np.zeros((22, 60))
    for number, (image, digit) in enumerate(zip(unseen, found, strict=True)):
        row, column = 11 * (number // 6), 10 * (number % 6)
        sheet[row : row + 8, column : column + 8] = image.reshape(8, 8)
        axes.text(column + 3.5, row + 10, str(digit), ha="center")
    shown = np.ma.masked_less(sheet, 0.05)
    axes.imshow(shown, cmap="Blues", vmin=-0.3, interpolation="none")
    axes.axis("off")


def dmrg_sweep(example: Any, axes: Any) -> None:
    """The derivative of the energy by each coupling: bonds of the open chain alternate."""
    couplings = np.ones(example.SITES - 1)
    runtime = tn.EagerRuntime()
    variable = runtime.variable(couplings)
    (slopes,) = runtime.grad(example.swept_energy(variable, 1.0), [variable])
    _, exact, _ = example.exact_energy(couplings, 1.0)
    places = np.arange(1, example.SITES)
    axes.bar(places, -np.asarray(slopes.detach()), width=0.6, label="gradient of the sweep")
    axes.plot(places, -exact, "_", color=ORANGE, ms=14, mew=2, label="exact")
    axes.set_ylim(0, 0.95)
    axes.legend(fontsize=7, loc="upper center")
    axes.set_xlabel("bond")
    axes.set_ylabel("-dE/dJ")


def gradients_side_by_side(example: Any, axes: Any) -> None:
    """How far the gradients are from those of JAX."""
    x = np.random.default_rng(0).normal(size=(3, 4))
    z = x + 1j * np.random.default_rng(1).normal(size=(3, 4))
    for start, functions, point, name in (
        (0, example.REAL, x, "real"),
        (len(example.REAL), example.COMPLEX, z, "complex"),
    ):
        apart = [example.difference(each, point) for each in functions.values()]
        at = start + np.arange(len(apart))
        axes.semilogy(at, np.maximum(apart, 1e-17), "o", ms=4, label=name)
    axes.axhline(2.0**-52, color=GREY, lw=0.8)
    axes.text(len(example.REAL) + len(example.COMPLEX) - 1, 2.6e-16, "rounding of 1", ha="right")
    axes.set_ylim(5e-18, 1e-12)
    axes.set_yticks([1e-17, 1e-15, 1e-13], ["0", "1e-15", "1e-13"])
    axes.legend(fontsize=7, loc="upper left")
    axes.set_xlabel("function")
    axes.set_ylabel("largest difference")


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


def ising_ground_state(example: Any, axes: Any) -> None:
    """How far the energy is above the exact one, after each tensor that is solved for."""
    exact = 1 - 1 / np.sin(np.pi / (4 * example.SITES + 2))
    state = example.random_state(np.random.default_rng(0))
    above = []
    for _ in range(3):
        for site in range(example.SITES - 1):
            above.append(example.solve(state, site) - exact)
            example.move_right(state, site)
        for site in range(example.SITES - 1, 0, -1):
            above.append(example.solve(state, site) - exact)
            example.move_left(state, site)
    axes.semilogy(np.arange(1, len(above) + 1) / (2 * example.SITES - 2), above)
    axes.set_xlabel("sweeps")
    axes.set_ylabel("above the exact energy")


def kalman_filter(example: Any, axes: Any) -> None:
    """The likelihood by the two strengths of the noise, and the steps of Newton's method."""
    seen, quality = example.observations()
    slopes = tn.jit(tn.grad(example.loss), executor="numpy")
    hessian = tn.jit(tn.hessian(example.loss), executor="numpy")
    path = [np.zeros(2)]
    for _ in range(6):
        curvature, slope = (np.asarray(f(path[-1], seen, quality)) for f in (hessian, slopes))
        path.append(path[-1] - np.clip(np.linalg.solve(curvature, slope), -0.5, 0.5))
    q, r = np.linspace(-0.7, 0.15, 9), np.linspace(-1.2, 0.15, 9)
    levels = [[example.loss_at_once(np.array([a, b]), seen, quality) for a in q] for b in r]
    axes.contour(np.exp(q), np.exp(r), np.array(levels), 12, colors=BLUE, linewidths=0.8)
    axes.plot(*np.exp(path).T, "o-", color=ORANGE, ms=3, lw=1, label="Newton's method")
    axes.plot(*np.exp(example.TRUTH), "+", color=GREY, ms=10, mew=2, label="truth")
    axes.legend(fontsize=7, loc="upper left")
    axes.set_xlabel("q")
    axes.set_ylabel("r")


def maximally_mixed(example: Any, axes: Any) -> None:
    """Entropy and fidelity of Werner states, and their slopes at the mixed state."""
    p = np.linspace(0, 0.98, 50)
    states = [example.werner(each) for each in p]
    axes.plot(p, [float(example.entropy(rho)) for rho in states], label="entropy")
    fidelities = [float(example.fidelity(example.MIXED, rho)) for rho in states]
    axes.plot(p, fidelities, label="fidelity with 1/4")
    axes.legend(fontsize=7)
    axes.set_xlabel("weight of the singlet")


def peps_patch(example: Any, axes: Any) -> None:
    """The largest number of bytes at once, of the whole network and of slices."""
    tensors = example.patch(np.random.default_rng(0))
    specs = [tn.TensorSpec(each.shape) for each in tensors]
    plan = tn.einsum_plan(example.terms(), *specs, *specs)
    names, sizes = [], []
    for part in (1, 2, 3, 4):
        limit = plan.peak_bytes // part
        one = tn.einsum_plan(example.terms(), *specs, *specs, memory_limit=limit)
        names.append(f"{one.slice_count} slices" if one.slice_count > 1 else "whole")
        sizes.append(one.peak_bytes / 1e3)
    axes.bar(range(len(sizes)), sizes, width=0.5, tick_label=names)
    axes.set_ylabel("peak, kB")


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
    circuit_amplitude,
    decay_rates,
    deconvolution,
    digits_classifier,
    dmrg_sweep,
    gaussian_process,
    gradients_side_by_side,
    hamiltonian_monte_carlo,
    heat_equation,
    ising_ctmrg,
    ising_ground_state,
    kalman_filter,
    maximally_mixed,
    peps_patch,
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
