"""Loops against those of `jax.lax` under `jax.jit`.

Parts: `runs` (value, and value with gradient, of five loops: a recurrent network, Runge-Kutta
steps, a Kalman filter, a cumulative logsumexp, Metropolis steps), `small` (the same of families of
loops of small values: recurrent and gated networks, elementwise steps and reductions, products, of
several widths, and a `while`), `orbits` (the gradient of 5 bodies in 5000 Runge-Kutta steps over
its value), `lengths` (the first result of a gradient at 10 and at 10 000 steps), `host` (the NumPy
executor beside the same loop in Python), `memory` (what the gradient through
`while_loop(max_steps=20_000)` of 8 kB carries allocates).
Rounds of both are interleaved; the ratio is the median over rounds. Results are compared first. All
is in 64 bits. The first result is from the function to a value, from empty caches.
"""

from __future__ import annotations

import resource
from collections.abc import Callable
from typing import Any

import jax
import jax.lax
import numpy as np
from support.harness import arguments, environment, interleaved, note, repeated, table, verdict
from support.pairs import Function, Make, Pair, compared

import tenferro as tn
from tenferro_xla import XlaExecutor

RNG = np.random.default_rng(0)
WIDTH, STEPS = 64, 200


def loops_of(library: Any) -> Any:
    return jax.lax if library is jax else tn


def recurrent(library: Any, xp: Any) -> Function:
    def loss(w: Any, h: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = xp.tanh(w @ h + x)
            return h, xp.sum(h * h)

        _, ys = loops_of(library).scan(step, h, xs)
        return xp.sum(ys)

    return loss


def runge_kutta(library: Any, xp: Any) -> Function:
    def loss(a: Any, y: Any) -> Any:
        def slope(y: Any) -> Any:
            return xp.tanh(a @ y)

        def step(_: Any, y: Any) -> Any:
            k1 = slope(y)
            k2 = slope(y + 0.005 * k1)
            k3 = slope(y + 0.005 * k2)
            k4 = slope(y + 0.01 * k3)
            return y + (0.01 / 6) * (k1 + 2 * k2 + 2 * k3 + k4)

        return xp.sum(loops_of(library).fori_loop(0, 1000, step, y) ** 2)

    return loss


def kalman(library: Any, xp: Any) -> Function:
    def loss(f: Any, q: Any, r: Any, xs: Any) -> Any:
        def step(state: Any, x: Any) -> Any:
            mean, cov = state
            mean, cov = f @ mean, f @ cov @ f.T + q
            residual = x - mean[:2]
            innovation = cov[:2, :2] + r
            det = innovation[0, 0] * innovation[1, 1] - innovation[0, 1] * innovation[1, 0]
            rows = xp.stack(
                [
                    xp.stack([innovation[1, 1], -innovation[0, 1]]),
                    xp.stack([-innovation[1, 0], innovation[0, 0]]),
                ]
            )
            gain = cov[:, :2] @ (rows / det)
            energy = residual @ (rows / det) @ residual + xp.log(det)
            return (mean + gain @ residual, cov - gain @ cov[:2, :]), energy

        start = (xp.zeros(4), xp.eye(4))
        _, energies = loops_of(library).scan(step, start, xs)
        return xp.sum(energies)

    return loss


def cumulative(library: Any, xp: Any) -> Function:
    def loss(xs: Any) -> Any:
        def step(total: Any, x: Any) -> Any:
            total = xp.logaddexp(total, x)
            return total, total

        _, ys = loops_of(library).scan(step, xp.full(WIDTH, -30.0), xs)
        return xp.sum(ys * ys)

    return loss


def metropolis(library: Any, xp: Any) -> Function:
    def mean(scale: Any, x: Any, moves: Any, levels: Any) -> Any:
        def energy(x: Any) -> Any:
            return xp.sum(x**4 - x * x, axis=-1)

        def step(state: Any, draw: Any) -> Any:
            x, before = state
            move, level = draw
            proposed = x + scale * move
            after = energy(proposed)
            accepted = level < before - after
            x = xp.where(accepted[:, None], proposed, x)
            return (x, xp.where(accepted, after, before)), xp.mean(x * x)

        _, ys = loops_of(library).scan(step, (x, energy(x)), (moves, levels))
        return xp.mean(ys)

    return mean


def gated(library: Any, xp: Any) -> Function:
    def sigmoid(x: Any) -> Any:
        return 1 / (1 + xp.exp(-x))

    def loss(ws: Any, us: Any, h: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            update, reset = sigmoid(ws[0] @ x + us[0] @ h), sigmoid(ws[1] @ x + us[1] @ h)
            h = (1 - update) * xp.tanh(ws[2] @ x + us[2] @ (reset * h)) + update * h
            return h, xp.sum(h)

        return xp.sum(loops_of(library).scan(step, h, xs)[1])

    return loss


def elementwise(library: Any, xp: Any) -> Function:
    def loss(a: Any, x: Any) -> Any:
        def step(_: Any, x: Any) -> Any:
            return xp.tanh(a * x + 0.1) * 0.9 + x / (1 + x * x)

        return xp.sum(loops_of(library).fori_loop(0, 300, step, x))

    return loss


def normalized(library: Any, xp: Any) -> Function:
    def loss(a: Any, x: Any) -> Any:
        def step(_: Any, x: Any) -> Any:
            x = x - xp.mean(x)
            return x / xp.sqrt(xp.sum(x * x) + 1) * a + 0.1

        return xp.sum(loops_of(library).fori_loop(0, 300, step, x))

    return loss


def products(library: Any, xp: Any) -> Function:
    def loss(w: Any, x: Any) -> Any:
        def step(_: Any, x: Any) -> Any:
            return xp.tanh(w @ x) + 0.1

        return xp.sum(loops_of(library).fori_loop(0, 200, step, x))

    return loss


def until(library: Any, xp: Any) -> Function:
    def last(x: Any, w: Any) -> Any:
        def step(state: Any) -> Any:
            count, x = state
            return count + 1, xp.sin(x * w) + 0.01

        return loops_of(library).while_loop(lambda state: state[0] < 1000, step, (0, x))[1]

    return last


def orbits_of(library: Any, xp: Any) -> Function:
    def loss(mass: Any, place: Any, speed: Any) -> Any:
        def pull(x: Any) -> Any:
            apart = x[None] - x[:, None]
            squares = xp.sum(apart * apart, axis=-1) + 0.1
            return xp.sum(mass[None, :, None] * apart / (squares * xp.sqrt(squares))[..., None], 1)

        def step(_: Any, state: Any) -> Any:
            x, v = state
            h = 0.001
            a1 = pull(x)
            v2, a2 = v + h / 2 * a1, pull(x + h / 2 * v)
            v3, a3 = v + h / 2 * a2, pull(x + h / 2 * v2)
            v4, a4 = v + h * a3, pull(x + h * v3)
            return x + h / 6 * (v + 2 * v2 + 2 * v3 + v4), v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)

        x, v = loops_of(library).fori_loop(0, 5000, step, (place, speed))
        return xp.sum(x * x) + xp.sum(v * v)

    return loss


def normal(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.normal(size=shape)


LOOPS: dict[str, tuple[Make, tuple[Any, ...]]] = {
    "RNN": (recurrent, (normal(WIDTH, WIDTH) / 8, normal(WIDTH), normal(STEPS, WIDTH))),
    "RK4": (runge_kutta, (normal(8, 8), normal(8))),
    "Kalman": (
        kalman,
        (np.eye(4) + 0.1 * normal(4, 4) / 4, np.eye(4) / 10, np.eye(2) / 2, normal(STEPS, 2)),
    ),
    "logsumexp": (cumulative, (normal(1000, WIDTH),)),
    "Metropolis": (
        metropolis,
        (np.array(0.5), normal(100, 8), normal(500, 100, 8), np.log(RNG.uniform(size=(500, 100)))),
    ),
}


def small_loops() -> dict[str, tuple[Make, tuple[Any, ...]]]:
    """Families of loops of small values, by name and width."""
    rows: dict[str, tuple[Make, tuple[Any, ...]]] = {}
    for n in (4, 8, 16, 32):
        w, h, xs = normal(n, n) / n, normal(n), normal(500, n)
        rows[f"RNN {n}"] = recurrent, (w, h, xs)
    for n in (4, 16):
        rows[f"GRU {n}"] = gated, (normal(3, n, n) / n, normal(3, n, n) / n, h[:n], xs[:, :n])
    for n in (1, 8, 64, 512, 2048):
        rows[f"elementwise {n}"] = elementwise, (normal(n), normal(n))
        rows[f"normalized {n}"] = normalized, (normal(n), normal(n))
    for n in (2, 4, 6, 8, 16):
        rows[f"products {n}"] = products, (normal(n, n) / n, normal(n, n))
    return rows


def with_gradient(make: Make, count: int) -> Make:
    def made(library: Any, xp: Any) -> Function:
        return library.value_and_grad(make(library, xp), tuple(range(count)))  # type: ignore[no-any-return]

    return made


def flat(make: Make) -> Make:
    """The results as one tuple, so that trees are not timed."""

    def made(library: Any, xp: Any) -> Function:
        function = make(library, xp)

        def flattened(*args: Any) -> Any:
            value, gradient = function(*args)
            return (value, *gradient)

        return flattened

    return made


def runs(how: Any) -> None:
    values = {name: Pair(make, operands) for name, (make, operands) in LOOPS.items()}
    compared("Values", values, 1.1, 1.2, how)
    gradients = {
        name: Pair(flat(with_gradient(make, len(operands))), operands)
        for name, (make, operands) in LOOPS.items()
    }
    compared("Values and gradients", gradients, 1.1, 1.2, how)


def small(how: Any) -> None:
    rows = small_loops()
    values = {name: Pair(make, operands) for name, (make, operands) in rows.items()}
    values["while 8"] = Pair(until, (normal(8), np.linspace(0.9, 0.999, 8)))
    compared("Values of small loops", values, 1.1, 1.2, how)
    gradients = {
        name: Pair(flat(with_gradient(make, len(operands))), operands)
        for name, (make, operands) in rows.items()
    }
    compared("Values and gradients of small loops", gradients, 1.1, 1.2, how)


def orbits(how: Any) -> None:
    """Print the gradient of a long loop over its value."""
    operands = np.abs(normal(5)) + 0.5, normal(5, 3), normal(5, 3) * 0.1
    value = tn.jit(orbits_of(tn, tn), executor=XlaExecutor())
    gradient = tn.jit(tn.grad(orbits_of(tn, tn), (0, 1, 2)), executor=XlaExecutor())
    contenders = {
        "value": repeated(lambda: value(*operands).data.block_until_ready(), 1),
        "gradient": repeated(lambda: gradient(*operands)[0].data.block_until_ready(), 1),
    }
    found = interleaved(contenders, how.rounds)
    table(
        "5 bodies, 5000 steps",
        ["", "ms [quartiles]"],
        [[name, samples.text(1e3, 1)] for name, samples in found.items()],
    )
    verdict("5 bodies, gradient over value", found["gradient"].over(found["value"]), 3.5, 3.0)


def lengths(how: Any) -> None:
    """Print the time to a first gradient at two lengths."""
    w, h, _ = LOOPS["RNN"][1]
    inputs = {steps: normal(steps, WIDTH) for steps in (10, 10_000)}

    def first(steps: int) -> Callable[[], object]:
        def call() -> object:
            jax.clear_caches()
            fresh = tn.jit(tn.grad(recurrent(tn, tn)), executor=XlaExecutor())
            return fresh(w, h, inputs[steps]).data.block_until_ready()

        return call

    found = interleaved({str(n): repeated(first(n), 1) for n in inputs}, how.first * 2)
    table(
        "First gradient of the RNN",
        ["steps", "ms [quartiles]"],
        [[name, samples.text(1e3, 0)] for name, samples in found.items()],
    )
    verdict("10 000 steps over 10", found["10000"].over(found["10"]), 1.2, 1.1)


def host(how: Any) -> None:
    """Print the NumPy executor beside loops written in Python."""
    rows: list[list[object]] = []
    for width in (3, 64, 256):
        w, h, xs = normal(width, width) / width, normal(width), normal(STEPS, width)

        def written(w: Any = w, h: Any = h, xs: Any = xs) -> Any:
            ys = np.empty(len(xs))
            for number in range(len(xs)):
                h = np.tanh(w @ h + xs[number])
                ys[number] = np.sum(h * h)
            return np.sum(ys)

        compiled = tn.jit(recurrent(tn, tn), executor="numpy")
        np.testing.assert_allclose(compiled(w, h, xs), written(), rtol=1e-12)
        contenders = {
            "tn": repeated(lambda f=compiled, a=(w, h, xs): f(*a), 5),  # type: ignore[misc]
            "python": repeated(written, 5),
        }
        found = interleaved(contenders, how.rounds)
        ratio = found["tn"].over(found["python"])
        rows.append([width, found["tn"].text(), found["python"].text(), f"{ratio:.2f}"])
    table("RNN on NumPy", ["width", "tn µs", "Python µs", "ratio"], rows)
    verdict("width 3 over Python", float(str(rows[0][3])), 1.2, 1.1)


def memory(how: Any) -> None:
    """Print what the gradient through a bounded loop adds to the peak of the process."""
    w = np.full(1000, 0.9999)

    def loss(scale: Any, x: Any) -> Any:
        return tn.sum(
            tn.while_loop(
                lambda x: tn.sum(x * x) > 1e-9,
                lambda x: tn.sin(x * w) * scale,
                x,
                max_steps=20_000,
            )
        )

    value = tn.jit(loss, executor=XlaExecutor())
    gradient = tn.jit(tn.grad(loss), executor=XlaExecutor())
    x = np.ones(1000)
    value(0.999, x)
    gradient(0.999, np.full(1000, 1e-6))  # compiled, on a loop that ends at once
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    gradient(0.999, x).data.block_until_ready()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    note(f"the peak grew by {grown:.1f} MB")
    verdict("MB for the gradient of a loop of at most 20 000 rounds", grown, 20.0, 10.0)


PARTS = {
    "runs": runs,
    "small": small,
    "orbits": orbits,
    "lengths": lengths,
    "host": host,
    "memory": memory,
}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=20, help="calls in a round")
    parser.add_argument("--first", type=int, default=3, help="rounds of first results")
    chosen = parser.parse_args()
    environment()
    note("ratios are to jax.jit, in 64 bits")
    with jax.enable_x64(True):
        for part in chosen.parts:
            PARTS[part](chosen)


if __name__ == "__main__":
    main()
