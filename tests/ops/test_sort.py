"""Sorting: its order, its derivative, and the outputs that a program leaves out."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
from tenferro import ops
from tenferro.ops.functions import apply, emit_all, promote
from tests.graphs import Array, evaluated, function, metas_of
from tests.in_jax import in_jax

X = np.array([[3.0, 1.0, 3.0, 2.0], [0.0, -1.0, 5.0, 0.0]])


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "u1", "?"])
def test_sorting_is_stable_with_nan_last(dtype: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 4, (50, 3)).astype(dtype)
    if x.dtype.kind == "f":
        x[::7] = np.nan
        x[::5] = -0.0
        x[1::9] = -np.inf
    values, places = ops.Sort(0).evaluate([x])
    np.testing.assert_array_equal(values, np.sort(x, axis=0))
    np.testing.assert_array_equal(places, np.argsort(x, axis=0, kind="stable"))
    for op, theirs in ((ops.ArgMax(0), np.argmax), (ops.ArgMin(0), np.argmin)):
        np.testing.assert_array_equal(evaluated(op, x), theirs(x, axis=0))


def test_the_derivative_of_sorting_is_that_of_jax() -> None:
    x: Array = np.array([[3.0, 1.0, 3.0, 2.0], [0.0, -1.0, 5.0, 0.0]])
    weights = np.arange(8.0).reshape(2, 4)
    theirs = in_jax(jax.grad(lambda x: (jax.numpy.sort(x, axis=1) ** 2 * weights).sum()), x)
    second = in_jax(jax.hessian(lambda x: (jax.numpy.sort(x, axis=1) ** 3 * weights).sum()), x)
    np.testing.assert_allclose(tn.grad(lambda x: tn.sum(tn.sort(x) ** 2 * weights))(x), theirs)
    ours = tn.hessian(lambda x: tn.sum(tn.sort(x) ** 3 * weights))(x)
    np.testing.assert_allclose(np.asarray(ours), second)
    assert function(ops.Sort(1), metas_of([x]), 1).jvp([0]).outputs == (None,)


def both(x: Any, axis: int) -> Any:
    """The sorted elements, and the index that each had."""
    return apply(_sorted_with_places, x, axis=axis)


def _sorted_with_places(x: Any, axis: int) -> Any:
    return emit_all(ops.Sort(axis), *promote((x,)))


def sorts(program: tn.GraphProgram) -> list[tuple[bool, bool]]:
    """The outputs of each sort of a program."""
    steps = program.exec_program.instructions
    return [step.op.outputs for step in steps if isinstance(step.op, ops.Sort)]


@pytest.mark.parametrize(
    ("f", "outputs"),
    [
        (lambda x: both(x, 0), (True, True)),
        (lambda x: tn.sum(tn.sort(x, axis=0) ** 3), (True, False)),
        (lambda x: tn.argsort(x, axis=0), (False, True)),
    ],
    ids=["both", "values", "places"],
)
def test_a_program_sorts_for_the_outputs_that_are_read(f: Any, outputs: tuple[bool, bool]) -> None:
    program = tn.make_program(f, tn.TensorSpec(X.shape))
    assert sorts(program) == [outputs]
    loaded = tn.loads(tn.dumps(program))
    assert sorts(loaded) == [outputs]
    for run in (program, loaded, tn.jit(f), tn.jit(f, executor="numpy")):
        for result, wanted in zip(_all(run(X)), _all(f(X)), strict=True):
            np.testing.assert_array_equal(result, wanted)


def _all(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def test_a_loaded_program_with_a_sort_has_derivatives() -> None:
    def f(x: Any) -> Any:
        return tn.sum(tn.sort(x) ** 3 * np.arange(8.0).reshape(2, 4))

    program = tn.loads(tn.dumps(tn.make_program(f, tn.TensorSpec(X.shape))))
    assert sorts(program) == [(True, False)]
    np.testing.assert_allclose(tn.grad(program)(X), tn.grad(f)(X))
    np.testing.assert_allclose(tn.hessian(program)(X), tn.hessian(f)(X))


def test_a_sort_returns_both_outputs() -> None:
    values, places = both(X, 1)
    np.testing.assert_array_equal(values, np.sort(X, axis=1))
    np.testing.assert_array_equal(places, np.argsort(X, axis=1, kind="stable"))
