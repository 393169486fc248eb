"""`tn.jacobian` against `tn.jacfwd` and `tn.jacrev`: the choice of passes by cost.

Parts: `waist` (a network R^n -> R^2 -> R^n with layers of width n on both sides), `plain`
(functions without a waist: wide, tall, square, elementwise, linear algebra, a loop), and `hessian`
(of a function of two linear forms, against `jacfwd` of the gradient). Each is compiled on XLA and
on NumPy. Rounds are interleaved; the ratio is the median over rounds. Results are compared first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from support.harness import arguments, environment, interleaved, repeated, table, verdict

import tenferro as tn
from tenferro_xla import XlaExecutor

Function = Callable[[Any], Any]
RNG = np.random.default_rng(0)


def layers(*widths: int) -> Function:
    """A network of layers `tanh(W x)`."""
    pairs = zip(widths[1:], widths[:-1], strict=True)
    weights = [RNG.normal(size=pair) / np.sqrt(pair[1]) for pair in pairs]

    def network(x: Any) -> Any:
        for weight in weights:
            x = tn.tanh(weight @ x)
        return x

    return network


def recurrent(x: Any) -> Any:
    weight = np.random.default_rng(1).normal(size=(64, 64)) / 8
    return tn.scan(lambda c, _: (tn.tanh(weight @ c), None), x, length=20)[0]


def plain() -> dict[str, tuple[Function, Any]]:
    matrix = RNG.normal(size=(40, 40)) + 40 * np.eye(40)
    vector = RNG.normal(size=40)
    return {
        "tall 500 -> 20": (layers(500, 100, 20), RNG.normal(size=500)),
        "wide 20 -> 500": (layers(20, 100, 500), RNG.normal(size=20)),
        "square 200": (layers(200, 200, 200), RNG.normal(size=200)),
        "narrowing 200 -> 150": (layers(200, 200, 150), RNG.normal(size=200)),
        "classifier 784 -> 10": (layers(784, 128, 64, 10), RNG.normal(size=784)),
        "elementwise 500": (lambda x: tn.sin(x) * x, RNG.normal(size=500)),
        "neighbours 500": (lambda x: x[1:] * tn.exp(x[:-1]), RNG.normal(size=500)),
        "softmax 300": (lambda x: tn.exp(x) / tn.sum(tn.exp(x)), RNG.normal(size=300)),
        "solve by b": (lambda b: tn.linalg.solve(matrix, b), vector),
        "inverse 12 x 12": (tn.linalg.inv, matrix[:12, :12]),
        "determinant 40 x 40": (tn.linalg.det, matrix / 40),
        "loop 64": (recurrent, RNG.normal(size=64)),
    }


def measured(
    title: str, rows: dict[str, dict[str, Function]], points: dict[str, Any], how: Any
) -> dict[tuple[str, str], float]:
    """Print the times of functions on both executors; the ratios of the first to the best other."""
    ratios: dict[tuple[str, str], float] = {}
    for kind in ("xla", "numpy"):
        lines = []
        for name, functions in rows.items():
            executor: Any = XlaExecutor() if kind == "xla" else "numpy"
            point = tn.jit(lambda x: x, executor=executor)(points[name])
            compiled = {key: tn.jit(f, executor=executor) for key, f in functions.items()}
            results = [np.asarray(f(point)) for f in compiled.values()]
            for other in results[1:]:
                np.testing.assert_allclose(results[0], other, rtol=1e-8, atol=1e-10)
            found = interleaved(
                {
                    key: repeated(lambda f=f, point=point: wait(f(point)), how.calls)
                    for key, f in compiled.items()
                },
                how.rounds,
            )
            chosen, *others = found.values()
            ratios[kind, name] = max(chosen.over(other) for other in others)
            lines.append([name, *(each.text() for each in found.values()),
                          f"{ratios[kind, name]:.2f}"])  # fmt: skip
        names = list(next(iter(rows.values())))
        table(f"{title}, {kind}", ["", *(f"{name} µs" for name in names), "ratio"], lines)
    return ratios


def wait(value: Any) -> object:
    return value.data.block_until_ready() if hasattr(value.data, "block_until_ready") else value


def contenders(f: Function) -> dict[str, Function]:
    return {"jacobian": tn.jacobian(f), "jacfwd": tn.jacfwd(f), "jacrev": tn.jacrev(f)}


def without_waist(how: Any) -> None:
    cases = plain()
    rows = {name: contenders(f) for name, (f, _) in cases.items()}
    points = {name: x for name, (_, x) in cases.items()}
    for (kind, name), ratio in measured("Without a waist", rows, points, how).items():
        verdict(f"{name}, {kind}", ratio, 1.1, 1.0)


def with_waist(how: Any) -> None:
    rows, points = {}, {}
    for n in how.sizes:
        f = layers(*[n] * how.layers, 2, *[n] * how.layers)
        name = f"R^{n} -> R^2 -> R^{n}"
        rows[name] = {"jacobian": tn.jacobian(f), "jacrev": tn.jacrev(f)}
        points[name] = RNG.normal(size=n)
    for (kind, name), ratio in measured("A waist of 2", rows, points, how).items():
        verdict(f"{name}, {kind}", ratio, 0.2, 0.1)


def second(how: Any) -> None:
    rows, points = {}, {}
    for n in how.sizes:
        maps = [RNG.normal(size=shape) / n for shape in ((n, n), (n, n), (2, n))]

        def loss(x: Any, maps: Any = tuple(maps)) -> Any:
            for each in maps:
                x = each @ x
            return tn.sum(tn.exp(tn.sin(x)))

        name = f"linear maps R^{n} -> R^2"
        rows[name] = {"hessian": tn.hessian(loss), "jacfwd(grad)": tn.jacfwd(tn.grad(loss))}
        points[name] = RNG.normal(size=n)
    for (kind, name), ratio in measured("Hessians", rows, points, how).items():
        verdict(f"{name}, {kind}", ratio, 1.0, 0.3)


PARTS = {"plain": without_waist, "waist": with_waist, "hessian": second}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 300])
    parser.add_argument("--layers", type=int, default=8, help="on each side of the waist")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--calls", type=int, default=20, help="calls in a round")
    chosen = parser.parse_args()
    environment()
    with jax.enable_x64(True):
        for part in chosen.parts:
            PARTS[part](chosen)


if __name__ == "__main__":
    main()
