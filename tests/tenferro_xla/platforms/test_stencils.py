"""Rolls and borders that stencils read, which XLA must not choose from for each number."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.ir import ExecProgram, verify
from tenferro_xla.platforms import RollsToSlices, StoredBorders
from tests.programs import assert_same_results, short
from tests.tolerances import assert_close, rounding

MATRIX, VECTOR, VOLUME = (40, 36), (1200,), (20, 30, 30)


def program_of(f: Any, *shape: int) -> ExecProgram:
    return tn.make_program(f, tn.TensorSpec(shape, "float64")).exec_program


def stored(before: ExecProgram) -> str:
    """The text of a program after both passes, which keep its results."""
    result = StoredBorders().run(RollsToSlices().run(before))
    verify(result, after="stencils")
    assert_same_results(before, result, {})
    return short(result)


def laplacian(np_: Any, x: Any) -> Any:
    every = range(x.ndim)
    return sum(np_.roll(x, by, axis) for by in (1, -1) for axis in every) - 2 * x.ndim * x


def weighted(np_: Any, x: Any) -> Any:
    """All neighbours, with those at corners, each by its own weight."""
    places = itertools.product((-2, 0, 1), repeat=x.ndim)
    axes = tuple(range(x.ndim))
    return sum(np_.roll(x, by, axes) * (i + 0.5) for i, by in enumerate(places))


def padded(np_: Any, x: Any, mode: str) -> Any:
    wide = np_.pad(x, 1, mode=mode)
    total = 0.0
    for i, place in enumerate(itertools.product(range(3), repeat=x.ndim)):
        total += wide[tuple(slice(a, a + n) for a, n in zip(place, x.shape, strict=True))] * (i + 1)
    return total


@pytest.mark.parametrize("shape", [VECTOR, MATRIX, VOLUME], ids=["1", "2", "3"])
@pytest.mark.parametrize("f", [laplacian, weighted])
def test_rolls_of_one_array_are_windows_of_it_with_a_border(f: Any, shape: Any) -> None:
    text = stored(program_of(lambda x: f(tn, x), *shape))
    assert text.count("xla_kept") == 1


@pytest.mark.parametrize("mode", ["wrap", "edge", "constant"])
def test_an_array_with_a_border_is_stored(mode: str) -> None:
    text = stored(program_of(lambda x: padded(tn, x, mode), *MATRIX))
    assert text.count("xla_kept") + text.count("xla_stored") == 1


def test_windows_of_one_of_several_results_are_left_to_xla() -> None:
    def f(x: Any) -> Any:
        lu, _ = tn.linalg.lu_factor(x)
        return lu[1:] + lu[:-1] * 2.0

    before = program_of(f, 40, 40)
    assert short(StoredBorders().run(before)) == short(before)


@pytest.mark.parametrize(
    ("f", "shape"),
    [
        (lambda x: tn.roll(x, 1) - x, VECTOR),
        (lambda x: tn.roll(x, 1, 0) + tn.roll(x, -1, 0) - 2 * x, MATRIX),  # whole rows
        (lambda x: tn.roll(x, 10) + tn.roll(x, -10) - 2 * x, (30,)),
        (lambda x: tn.roll(x, 500) + tn.roll(x, -500) - 2 * x, VECTOR),  # a long border
        (lambda x: tn.roll(x, 1) @ tn.roll(x, -1), VECTOR),
        (lambda x: sum(tn.split(tn.concat([x, x[::-1]]), 4)), VECTOR),
        (lambda x: tn.pad(tn.tanh(x), 1)[2:] + tn.pad(tn.tanh(x), 1)[:-2], VECTOR),
    ],
    ids=["difference", "rows", "few", "far", "product", "parts", "function"],
)
def test_other_rolls_and_paddings_are_left_to_xla(f: Any, shape: Any) -> None:
    program = program_of(f, *shape)
    assert StoredBorders().run(RollsToSlices().run(program)) is program


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_xla_computes_stencils_and_their_gradients(dtype: str) -> None:
    x = np.random.default_rng(0).normal(size=MATRIX).astype(dtype)

    @tn.jit
    def f(x: Any) -> Any:
        wide = tn.pad(x, 1, mode="wrap")
        mean = (wide[1:-1, :-2] + wide[1:-1, 1:-1] + wide[1:-1, 2:]) / 3
        return mean, tn.grad(lambda x: tn.sum(laplacian(tn, x) ** 2))(x)

    mean, gradient = map(np.asarray, f(x))
    expected = (np.roll(x, 1, 1) + x + np.roll(x, -1, 1)) / 3
    assert_close(mean, expected, rounding(dtype))
    exact = 2 * laplacian(np, laplacian(np, x))
    assert_close(gradient, exact, rounding(dtype))
