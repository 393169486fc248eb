"""Derivatives of high order: size of the program, and time from the function to an executable.

Nested forward mode (`tn.jvp`, `jax.jvp`) and nested reverse mode (`tn.grad`, `jax.grad`) of the
same three functions of one scalar. Sizes: optimized instructions for tenferro, equations of the
jaxpr with those of its calls for JAX. Times: tracing, lowering and XLA's compiler, each time from
an empty cache. JAX runs in 64-bit mode, as tenferro does. Values are compared at every order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from support.harness import Samples, arguments, environment, interleaved, note, table, verdict

import tenferro as tn
from tenferro.runtime import GraphProgram
from tenferro_xla import XlaExecutor

Scalar = Any
Function = Callable[[Scalar], Scalar]
POINT = 0.3
RNG = np.random.default_rng(0)
W1, B1, W2, B2, W3 = (RNG.normal(size=size) / 2 for size in ((8,), (8,), (8, 8), (8,), (8,)))


def sine_times_gauss(np_like: Any) -> Function:
    return lambda x: np_like.sin(x) * np_like.exp(x * x)


def tanh_chain(np_like: Any) -> Function:
    def function(x: Scalar) -> Scalar:
        for _ in range(4):
            x = np_like.tanh(x)
        return x

    return function


def mlp(np_like: Any) -> Function:
    def function(x: Scalar) -> Scalar:
        hidden = np_like.tanh(x * W1 + B1)
        hidden = np_like.tanh(W2 @ hidden + B2)
        return W3 @ hidden

    return function


FUNCTIONS = {"sin(x)·exp(x²)": sine_times_gauss, "tanh, 4 deep": tanh_chain, "MLP 1-8-8-1": mlp}
SHORT = {"sin": "sin(x)·exp(x²)", "tanh": "tanh, 4 deep", "mlp": "MLP 1-8-8-1"}


def forward(library: Any, function: Function, order: int) -> Function:
    for _ in range(order):
        function = pushed(library, function)
    return function


def pushed(library: Any, function: Function) -> Function:
    return lambda x: library.jvp(function, (x,), (1.0,))[1]


def reverse(library: Any, function: Function, order: int) -> Function:
    for _ in range(order):
        function = library.grad(function)
    return function


Mode = Callable[[Any, Function, int], Function]
MODES: dict[str, Mode] = {"forward": forward, "reverse": reverse}


def tenferro_program(make: Callable[[Any], Function], mode: Mode, order: int) -> GraphProgram:
    return tn.make_program(mode(tn, make(tn), order), tn.TensorSpec((), "float64"))


def jax_trace(make: Callable[[Any], Function], mode: Mode, order: int) -> Any:
    with jax.enable_x64(True):
        return jax.jit(mode(jax, make(jnp), order)).trace(jnp.float64(POINT))


def equations(jaxpr: Any) -> int:
    """Equations of a jaxpr, with those of the jaxprs that they call."""
    total = 0
    for equation in jaxpr.eqns:
        total += 1 + sum(equations(called) for called in _called(equation.params.values()))
    return total


def _called(values: Iterable[Any]) -> list[Any]:
    """The jaxprs among the parameters of an equation, open or closed, alone or in tuples."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, tuple | list):
            found += _called(value)
        elif hasattr(value, "eqns"):
            found.append(value)
        elif hasattr(value, "jaxpr"):
            found.append(value.jaxpr)
    return found


class Stages:
    """Compiles one function both ways, and keeps the seconds of each stage."""

    def __init__(self, make: Callable[[Any], Function], mode: Mode, order: int) -> None:
        self.make, self.mode, self.order = make, mode, order
        self.laps: dict[str, list[tuple[float, float, float]]] = {"tenferro": [], "jax": []}
        self.program: GraphProgram | None = None
        self.value: Any = None
        self.jax_size = 0
        self.jax_value = 0.0

    def tenferro(self) -> float:
        jax.clear_caches()
        clock = [time.perf_counter()]
        executor = XlaExecutor()
        program = tenferro_program(self.make, self.mode, self.order)
        clock.append(time.perf_counter())
        lowered = executor.lower(program)
        clock.append(time.perf_counter())
        compiled = lowered.compile()
        clock.append(time.perf_counter())
        (value,) = compiled.run({"x": np.float64(POINT)})
        self.program, self.value = program, float(value)
        return self._keep("tenferro", clock)

    def jax(self) -> float:
        jax.clear_caches()
        with jax.enable_x64(True):
            clock = [time.perf_counter()]
            traced = jax_trace(self.make, self.mode, self.order)
            clock.append(time.perf_counter())
            lowered = traced.lower()
            clock.append(time.perf_counter())
            compiled = lowered.compile()
            clock.append(time.perf_counter())
            self.jax_value = float(compiled(jnp.float64(POINT)))
        self.jax_size = equations(traced.jaxpr.jaxpr)
        return self._keep("jax", clock)

    def _keep(self, name: str, clock: list[float]) -> float:
        trace, lower, compile_ = np.diff(clock)
        self.laps[name].append((trace, lower, compile_))
        return clock[-1] - clock[0]

    def breakdown(self, name: str) -> str:
        """Milliseconds of tracing, lowering and compiling."""
        return " + ".join(f"{1e3 * each:.0f}" for each in np.median(self.laps[name][1:], axis=0))


def sizes(name: str, orders: int, limit: float) -> None:
    """Print how large the programs are, each method as far as one order takes `limit` seconds."""
    make = FUNCTIONS[SHORT[name]]
    methods: dict[str, Callable[[int], int]] = {}
    for mode_name, mode in MODES.items():
        methods[f"tenferro {mode_name}"] = lambda order, mode=mode: len(
            tenferro_program(make, mode, order).exec_program.instructions
        )
        methods[f"jax {mode_name}"] = lambda order, mode=mode: equations(
            jax_trace(make, mode, order).jaxpr.jaxpr
        )
    rows: list[list[object]] = []
    for method, size_at in methods.items():
        row: list[object] = [method]
        seconds = 0.0
        for order in range(1, orders + 1):
            if 4 * seconds > limit:  # nested modes grow two- to fourfold with each order
                row.append("–")
                continue
            start = time.perf_counter()
            row.append(size_at(order))
            seconds = time.perf_counter() - start
        rows.append(row)
    columns = ["nodes at order", *map(str, range(1, orders + 1))]
    table(SHORT[name], columns, rows)


def check_values(stages: Stages, derivative: float) -> None:
    """Raise AssertionError unless tenferro's three ways and JAX agree."""
    for value in (stages.value, derivative):
        np.testing.assert_allclose(value, stages.jax_value, rtol=1e-9, atol=1e-9)


def times(name: str, orders: list[int], rounds: int) -> float:
    """Print the time to an executable, nested jvp in both; the ratio at the last order."""
    make = FUNCTIONS[SHORT[name]]
    rows: list[list[object]] = []
    ratio = 0.0
    for order in orders:
        stages = Stages(make, forward, order)
        found: dict[str, Samples] = interleaved(
            {"tenferro": stages.tenferro, "jax": stages.jax}, rounds
        )
        check_values(stages, float(tn.derivative(make(tn), order)(POINT)))
        ratio = found["tenferro"].over(found["jax"])
        assert stages.program is not None
        rows.append(
            [
                order,
                len(stages.program.exec_program.instructions),
                found["tenferro"].text(1e3, 0),
                stages.breakdown("tenferro"),
                stages.jax_size,
                found["jax"].text(1e3, 0),
                stages.breakdown("jax"),
                f"1/{1 / ratio:.1f}",
            ]
        )
    columns = [
        "order", "tn nodes", "tn ms [quartiles]", "trace+lower+XLA",
        "jax nodes", "jax ms [quartiles]", "trace+lower+XLA", "ratio",
    ]  # fmt: skip
    table(f"{SHORT[name]}: function to executable, nested jvp, cold", columns, rows)
    return ratio


def check_reverse(name: str, orders: int) -> None:
    """Raise AssertionError unless nested `tn.grad` agrees with `tn.derivative`."""
    function = FUNCTIONS[SHORT[name]](tn)
    for order in range(1, orders + 1):
        actual = float(reverse(tn, function, order)(POINT))
        expected = float(tn.derivative(function, order)(POINT))
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--functions", nargs="+", default=list(SHORT), choices=SHORT)
    parser.add_argument("--orders", type=int, default=8, help="highest order")
    parser.add_argument("--limit", type=float, default=4.0, help="seconds per method and order")
    parser.add_argument("--timed", type=int, nargs="+", default=[2, 4, 8], help="orders to time")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    environment()
    for name in chosen.functions:
        sizes(name, chosen.orders, chosen.limit)
        check_reverse(name, min(4, chosen.orders))
    for name in chosen.functions:
        ratio = times(name, chosen.timed, chosen.rounds)
        verdict(f"{SHORT[name]}, order {chosen.timed[-1]}, over jax.jvp", ratio, 0.2, 0.05)
    note("values: nested tn.jvp, tn.derivative and nested tn.grad (to order 4) agree with JAX")


if __name__ == "__main__":
    main()
