"""Values that are compared with what a reduction found among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.ir import ExecProgram
from tenferro_xla.platforms import Materialize, MaterializedComparisons
from tests.programs import assert_same_results


def outer(x: Any) -> Any:
    return x[:, None] * x[None, :] + 0.3 * x[None, :]


def of_unit_vector(x: Any) -> Any:
    v = x / tn.linalg.norm(x)
    return tn.sum(tn.max(v[:, None] - v[None, :], axis=0))


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "max": lambda x: tn.sum(tn.max(outer(x), axis=0)),
    "min": lambda x: tn.sum(tn.min(outer(x).T, axis=1)),
    "unit vector": of_unit_vector,
    "greatest entry": lambda x: tn.sum(tn.where(outer(x) >= tn.max(outer(x)), outer(x), 0.0)),
    "scatter": lambda x: tn.sum(tn.zeros(2).at[np.arange(5) % 2].max(outer(x)[0] + 20)),
    "in a loop": lambda x: tn.sum(
        tn.scan(lambda c, _: (tn.max(outer(c), axis=0), None), x, length=2)[0]
    ),
}


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_gradient_of_an_extremum_is_that_of_numpy(name: str) -> None:
    gradient = tn.vmap(tn.grad(FUNCTIONS[name]))
    x = np.random.default_rng(0).normal(size=(20, 5))
    found, expected = tn.jit(gradient)(x), tn.jit(gradient, executor="numpy")(x)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    alone = tn.jit(tn.grad(FUNCTIONS[name]))
    np.testing.assert_allclose(alone(x[0]), np.asarray(expected)[0], rtol=1e-9)


def program_of(function: Callable[[Any], Any]) -> ExecProgram:
    return tn.make_program(function, tn.TensorSpec((5,))).exec_program


def test_what_is_stored_is_what_was_computed() -> None:
    program = program_of(tn.grad(FUNCTIONS["max"]))
    result = MaterializedComparisons().run(program)
    assert [step.op for step in result.instructions].count(Materialize()) == 1
    assert_same_results(program, result, {})


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x == tn.max(x),  # an input is read twice, and the same
        lambda x: x[::-1] == tn.max(x),
        lambda x: tn.where(x * 2 > 1, x, 0.0),  # nothing is reduced
        lambda x: x * 2 > tn.sum(x),  # another value is
    ],
)
def test_nothing_else_is_stored(function: Callable[[Any], Any]) -> None:
    program = program_of(function)
    assert MaterializedComparisons().run(program) is program
