"""Random programs of toy ops: what must hold of every derivative."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from tenferro.core import (
    Fragment,
    FragmentBuilder,
    GlobalValKey,
    compile_graph,
    differentiate,
    evaluate,
    materialize_merge,
    pull_back,
    push_forward,
    resolve,
    resolve_keys,
    transpose,
)
from tests.core.derivative_ops import MIRROR, SQUARE
from tests.toy import ADD, CONJ, CTX, EXP, MUL, NEG, SUM, Broadcast, Meta, Toy, Var, entrywise
from tests.toy_graphs import inner

LENGTH = 3


Values = dict[GlobalValKey, Any]


@dataclass
class Program:
    """A fragment, which of its inputs to differentiate by, and a value for each input."""

    fragment: Fragment[Toy]
    wrt: list[GlobalValKey]
    values: Values


def random_program(rng: random.Random) -> Program:
    field = rng.choice(["real", "complex"])
    builder: FragmentBuilder[Toy] = FragmentBuilder()
    inputs = [builder.input(Var(name, Meta(field))) for name in "xy"]
    inputs += [builder.input(Var(name, Meta(field, LENGTH))) for name in "vw"]
    made: list[GlobalValKey] = [*inputs]
    for _ in range(rng.randint(1, 12)):
        x = rng.choice(made)
        alike = [value for value in made if CTX.meta(value) == CTX.meta(x)]
        reshape = SUM if CTX.meta(x).length else Broadcast(LENGTH)
        op = rng.choice([ADD, MUL, NEG, CONJ, SQUARE, MIRROR, EXP, reshape])
        made += builder.add(op, [x, rng.choice(alike)][: op.n_inputs])
    outputs = rng.choices(made, k=rng.randint(1, 3))
    wrt = rng.sample(inputs, k=rng.randint(1, 4))
    return Program(builder.build(outputs), [*wrt], {key: random_like(key, rng) for key in inputs})


def random_like(key: GlobalValKey, rng: random.Random) -> Any:
    """A random value of the metadata of `key`."""
    meta = CTX.meta(key)
    reals = iter(lambda: rng.uniform(-0.7, 0.7), None)
    entries = [
        complex(next(reals), next(reals)) if meta.field == "complex" else next(reals)
        for _ in range(meta.length or 1)
    ]
    return tuple(entries) if meta.length else entries[0]


def run(outputs: Sequence[GlobalValKey | None], values: Values) -> list[Any]:
    """The values of the outputs that are not symbolic zeros; keys are their own definitions."""
    reached = [output for output in outputs if output is not None]
    graph = materialize_merge(resolve_keys(), reached)
    return evaluate(compile_graph(graph), [values[key] for key in graph.inputs])


def moved(values: Values, direction: Values, step: float) -> Values:
    """The values, those that have a direction a step along it."""

    def along(x: Any, dx: Any) -> Any:
        return entrywise(lambda x, dx: x + step * dx, x, dx)

    return values | {key: along(values[key], dx) for key, dx in direction.items()}


def inner_sum(pairs: Iterable[tuple[Any, Any]]) -> float:
    return math.fsum(inner(a, b) for a, b in pairs)


@pytest.mark.parametrize("block", range(10))
def test_derivatives_of_random_programs(block: int, programs: int) -> None:
    for seed in range(block * programs // 10, (block + 1) * programs // 10):
        check(random_program(random.Random(seed)), random.Random(~seed))


def check(program: Program, rng: random.Random) -> None:
    outputs, view = program.fragment.output_keys, resolve([program.fragment])
    linear = differentiate(view, outputs, program.wrt, ctx=CTX)
    transposed = transpose(linear, ctx=CTX)
    dx = {key: random_like(key, rng) for key in linear.input_keys}
    ct = {key: random_like(key, rng) for key in transposed.input_keys}
    values = program.values | dx | ct
    dy = run(linear.output_keys, values)
    ct_x = run(transposed.output_keys, values)

    # <ct, dy> = <ct_x, dx>; what is a symbolic zero contributes nothing.
    sinks = zip(dx.values(), transposed.output_keys, strict=True)
    reached = [tangent for tangent, sink in sinks if sink is not None]
    along, back = zip_strict(ct.values(), dy), zip_strict(ct_x, reached)
    scale = 1 + math.fsum(abs(inner(a, b)) for a, b in (*along, *back))
    assert inner_sum(along) == pytest.approx(inner_sum(back), abs=1e-12 * scale)

    # Filling the seeds in changes no value.
    pushed = push_forward(view, outputs, program.wrt, [*dx], ctx=CTX)
    seeds = iter(ct)
    pulled = pull_back(linear, [key and next(seeds) for key in linear.output_keys], ctx=CTX)
    assert run(pushed, values) == dy
    assert run(pulled, values) == ct_x

    # <ct, dy> is the slope of <ct, y>; an output without a tangent does not move.
    direction, step = dict(zip_strict(program.wrt, dx.values())), 1e-5
    moving = [y for y, tangent in zip_strict(outputs, linear.output_keys) if tangent is not None]
    still = [y for y, tangent in zip_strict(outputs, linear.output_keys) if tangent is None]
    ahead, behind = moved(values, direction, step), moved(values, direction, -step)
    assert run(still, ahead) == run(still, behind)
    rise = [zip_strict(ct.values(), run(moving, at)) for at in (ahead, behind)]
    slope = (inner_sum(rise[0]) - inner_sum(rise[1])) / (2 * step)
    assert slope == pytest.approx(inner_sum(along), rel=1e-5, abs=1e-5 * scale)


def zip_strict(a: Iterable[Any], b: Iterable[Any]) -> list[tuple[Any, Any]]:
    return list(zip(a, b, strict=True))
