"""Random programs, computed op by op, have the derivatives of their graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings

import tenferro as tn
from tenferro.core import GlobalValKey
from tenferro.transforms import EagerTensor
from tests.graphs import Array, Function
from tests.random_graphs import Program, programs
from tests.tolerances import assert_close, rounding

TOLERANCE = 1e4 * rounding("c128")  # what forty ops may make of their rounding


def test_derivatives_of_random_programs_are_those_of_their_graphs(programs: int) -> None:
    check(max(1, programs // 3), eager_derivatives)


def check(count: int, property_: Any) -> None:
    silent = [HealthCheck.too_slow, HealthCheck.data_too_large]
    settings(max_examples=count, suppress_health_check=silent)(given(programs())(property_))()


def eager_derivatives(program: Program) -> None:
    rt = tn.EagerRuntime()
    f, arrays, wrt = program.function, program.arrays, program.wrt
    xs = [rt.variable(array) for array in arrays]
    y = replayed(rt, f, xs)
    assert_close(y.numpy(), f(*arrays)[0], TOLERANCE)
    if f.jvp(wrt).outputs == (None,):
        compare(rt.vjp([y], xs, [np.ones(y.shape, y.dtype)]), [None] * len(xs))
        return
    directions = [direction(array, 1) for array in arrays]
    seed = direction(y.numpy(), 2)
    back = f.vjp(wrt)
    cts = rt.vjp([y], xs, [seed])
    compare(cts, back(*arrays, seed))
    compare(rt.jvp([y], xs, directions), f.jvp(wrt)(*arrays, *directions))
    live = [place for place, key in enumerate(back.outputs) if key is not None]
    outputs = tuple(back.outputs[place] for place in live)
    again = Function(back.view, back.inputs, outputs).jvp(wrt)
    compare(
        rt.jvp([cts[place] for place in live], xs, directions),
        again(*arrays, seed, *directions),
    )


def replayed(rt: tn.EagerRuntime, f: Function, xs: Sequence[EagerTensor]) -> EagerTensor:
    """The output of a graph, computed op by op."""
    (output,) = f.outputs
    assert output is not None
    values: dict[GlobalValKey, EagerTensor] = dict(zip(f.inputs, xs, strict=True))
    ops, _ = f.view.topo_order([output])
    for op in ops:
        made = rt.invoke(op.primitive, *[values[key] for key in op.inputs])  # type: ignore[arg-type]
        values.update(zip(op.outputs, made, strict=True))
    return values[output]


def direction(array: Array, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    values: Any = rng.uniform(-1, 1, array.shape)
    if array.dtype.kind == "c":
        values = values + 1j * rng.uniform(-1, 1, array.shape)
    return np.asarray(values).astype(array.dtype)


def compare(ours: Sequence[EagerTensor], theirs: Sequence[Array | None]) -> None:
    for own, other in zip(ours, theirs, strict=True):
        expected = np.zeros(own.shape, own.dtype) if other is None else other
        assert_close(own.numpy(), expected, TOLERANCE)
