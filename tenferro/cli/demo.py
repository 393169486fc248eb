"""`tenferro demo`: a tour of one function, with its gradient checked three ways."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import tenferro as tn
from tenferro.cli.function import NamedFunction, trace
from tenferro.cli.inspect import Stage, pipeline
from tenferro.cli.screen import Screen
from tenferro.ir import TensorSpec
from tenferro.runtime import GraphProgram, executor_module, executor_named

TOLERANCE = 1e-12


SOURCE = """\
def free_energy(w, x):  # logarithm of a partition function; each column of x is a state
    return tn.log(tn.sum(tn.exp(x.T @ w)))
"""


def load() -> Callable[..., Any]:
    """The function of `SOURCE`, as if it were in a file: the dumps name its lines."""
    names: dict[str, Any] = {"tn": tn}
    exec(compile(SOURCE, "demo.py", "exec"), names)
    function: Callable[..., Any] = names["free_energy"]
    return function


def closed_form(w: np.ndarray[Any, Any], x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The gradient by w, on paper: the mean column of x, weighted by softmax."""
    weights = np.exp(x.T @ w)
    return np.asarray(x @ (weights / weights.sum()))


def demo(_: argparse.Namespace) -> int:
    """Print every stage, run the result, and check it; 1 if a gradient is wrong."""
    console = Screen()
    rng = np.random.default_rng(0)
    w, x = rng.normal(size=3), rng.normal(size=(3, 8))
    free_energy = load()
    _show(console, Stage("a function", "w is f64[3], x is f64[3,8]", SOURCE))

    specs = [TensorSpec(value.shape, value.dtype) for value in (w, x)]
    tour = pipeline(trace(NamedFunction(free_energy, Path("demo.py"), "free_energy"), specs), True)
    for stage in tour.stages({}):
        _show(console, stage)

    results = _results(free_energy, tour.program, w, x)
    truth = results["on paper"]
    table = Table(
        "gradient by w", "value", "max error", title="d free_energy / d w", title_justify="left"
    )
    for name, gradient in results.items():
        table.add_row(name, f"{np.round(gradient, 6)}", f"{np.max(np.abs(gradient - truth)):.1e}")
    console.print(table)
    worst = max(float(np.max(np.abs(each - truth))) for each in results.values())
    console.print(_speed(free_energy, w, x))
    verdict = "agree" if worst <= TOLERANCE else "DISAGREE"
    console.print(f"all gradients {verdict}: max error {worst:.1e}, tolerance {TOLERANCE:.0e}")
    return 0 if worst <= TOLERANCE else 1


def _show(console: Console, stage: Stage) -> None:
    console.print(f"[bold]{stage.title}[/bold]: {stage.note}", soft_wrap=True)
    console.print(stage.text.rstrip(), markup=False, soft_wrap=True)
    console.print()


def _results(
    free_energy: Callable[..., Any], program: GraphProgram, w: Any, x: Any
) -> dict[str, np.ndarray[Any, Any]]:
    """The gradient by w: of the program above, of `tn.grad`, of JAX, and on paper."""
    xla: Any = executor_named("xla")
    inputs = dict(zip((each.name for each in program.inputs), (w, x, 1.0), strict=True))

    def second(run: Callable[..., Any]) -> np.ndarray[Any, Any]:
        return np.asarray(run(program, inputs)[1])

    of_jax = executor_module("xla").jax_gradient
    value_only = tn.make_program(free_energy, w, x)
    return {
        "on paper": closed_form(w, x),
        "program above, NumPy": second(tn.GraphExecutor(tn.NumpyBackend()).run),
        "program above, XLA": second(xla.run),
        "tn.jit(tn.grad(f))": np.asarray(tn.jit(tn.grad(free_energy))(w, x)),
        "jax.grad, JAX's own rules": of_jax(value_only, w, x),
    }


def _speed(free_energy: Callable[..., Any], w: Any, x: Any) -> str:
    """How long the first and a later call of the compiled gradient take."""
    compiled = tn.jit(tn.grad(free_energy))
    placed = [tn.Tensor(executor_named("xla").put(each)) for each in (w, x)]
    start = time.perf_counter()
    np.asarray(compiled(*placed))
    first = time.perf_counter() - start
    times = []
    for _ in range(50):
        start = time.perf_counter()
        np.asarray(compiled(*placed))
        times.append(time.perf_counter() - start)
    later = np.median(times)
    return f"tn.jit(tn.grad(f)): first call {first * 1e3:.0f} ms, later ones {later * 1e6:.0f} µs"
