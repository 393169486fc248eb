"""Every op and family on XLA where some operands are constants of the program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.ops.functions import OpFunction, apply
from tests.ops.cases import CASES as OPS
from tests.ops.extension.test_surfaces import CASES as FAMILIES

Array = np.ndarray[Any, Any]
Call = tuple[str, Callable[..., Any], list[Array]]
"""A name, a function of all operands, and the operands."""


def op_calls() -> Iterator[Call]:
    """Each op of several operands that has a row of its own."""
    for case in OPS:
        if len(case.operands) < 2:
            continue
        op, arrays = case.op_for(case.dtypes[-1]), case.arrays(case.dtypes[-1])

        def run(*xs: Any, op: Any = op, output: int = case.output) -> Any:
            found = apply(OpFunction(op), *xs)
            return found[output] if isinstance(found, tuple) else found

        yield case.name, run, arrays


def family_calls() -> Iterator[Call]:
    """Each family with several inputs, and its gradient by each that has one."""
    for number, case in enumerate(FAMILIES):
        name, arrays = f"{number}-{case.name}", case.arrays
        if len(arrays) < 2 or case.packages:
            continue
        yield name, case.function, arrays
        if case.has_derivative and not case.brief and case.everywhere:
            for place in case.places:
                yield f"gradient by {place} of {name}", tn.grad(case.total, place), arrays


def solve_calls() -> Iterator[Call]:
    """Functions whose programs hold linear solves, on matrices."""
    a, b = np.eye(3) + 0.1, np.arange(6.0).reshape(3, 2)
    steps = np.linspace(0.5, 1.0, 2)

    def root(a: Any, b: Any) -> Any:
        start = tn.zeros(3)
        return tn.custom_root(
            lambda x: a @ x + 0.1 * x**3 - b[:, 0], start,
            lambda f, x: tn.lax.fori_loop(
                0, 8, lambda _, x: x - tn.linalg.solve(tn.jacfwd(f)(x), f(x)), x),
            lambda g, y: tn.linalg.solve(tn.jacfwd(g)(y), y),
        )  # fmt: skip

    def looped(a: Any, b: Any) -> Any:
        return tn.scan(lambda c, s: (tn.linalg.solve(a * s, c), None), b, steps)[0]

    functions: dict[str, Callable[..., Any]] = {
        "solve": tn.linalg.solve,
        "solve of a constant of the function": lambda a, b: tn.linalg.solve(a, np.eye(3)) @ b,
        "solve in a scan": looped,
        "gradient of a solve in a scan": tn.grad(lambda a, b: tn.sum(looped(a, b))),
        "lu_solve": lambda a, b: tn.scipy.linalg.lu_solve(tn.scipy.linalg.lu_factor(a), b),
        "jacrev of a root": tn.jacrev(root),
        "jacrev of a root by its right side": tn.jacrev(root, 1),
    }
    for name, function in functions.items():
        yield name, function, [a, b]


def constant_sets(count: int) -> Iterator[tuple[int, ...]]:
    """Each operand by itself, and all but one."""
    for size in sorted({1, count - 1}):
        yield from combinations(range(count), size)


def with_constants(call: Call) -> Iterator[Call]:
    """The functions of fewer operands, of which the others are constants."""
    name, function, arrays = call
    for places in constant_sets(len(arrays)):
        rest = [place for place in range(len(arrays)) if place not in places]

        def run(*xs: Any, places: Any = places, rest: Any = rest) -> Any:
            given = {**dict(zip(rest, xs, strict=True)), **{at: arrays[at] for at in places}}
            return function(*[given[at] for at in range(len(arrays))])

        yield f"{name}, constants {places}", run, [arrays[at] for at in rest]


def together(calls: list[Call]) -> dict[str, Any]:
    """The results of all calls, compiled as one program, which costs less than many."""

    def run(given: Any) -> Any:
        return {str(at): each(*given[str(at)]) for at, (_, each, _) in enumerate(calls)}

    found = tn.jit(run, executor="xla")({str(at): xs for at, (_, _, xs) in enumerate(calls)})
    return {name: found[str(at)] for at, (name, _, _) in enumerate(calls)}


def problems(calls: list[Call]) -> list[str]:
    """What is wrong with calls, of which each is compiled by itself if all together fail."""
    try:
        found = together(calls)
    except Exception as error:
        if len(calls) == 1:
            return [f"{calls[0][0]}: {type(error).__name__}: {error}"]
        middle = len(calls) // 2
        return problems(calls[:middle]) + problems(calls[middle:])
    wrong: list[str] = []
    for name, function, arrays in calls:
        expected = tn.jit(function, executor="numpy")(*arrays)
        for one, other in zip(tn.tree.leaves(found[name]), tn.tree.leaves(expected), strict=True):
            x, y = np.asarray(one), np.asarray(other)
            eps = np.finfo(x.dtype).eps if x.dtype.kind in "fc" else 0.0
            if x.dtype != y.dtype or not np.allclose(x, y, 1e4 * eps, 1e3 * eps, equal_nan=True):
                wrong.append(f"{name}: {x} is not {y}")
    return wrong


FEW = 10
"""Of so many calls one is tried by default, of those that stand for themselves."""


def of_group(group: str) -> list[Call]:
    """The calls of a group, with each set of constants."""
    found = {"ops": op_calls, "families": family_calls, "solves": solve_calls}[group]
    return [each for call in found() for each in with_constants(call)]


def test_a_solve_takes_constants() -> None:
    assert problems(of_group("solves")) == []


@pytest.mark.exhaustive
def test_any_operand_may_be_a_constant() -> None:
    calls = [*of_group("ops"), *of_group("families")]
    assert problems(calls[::FEW]) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("group", ["ops", "families"])
def test_any_operand_of_all_ops_may_be_a_constant(group: str) -> None:
    assert problems(of_group(group)) == []
