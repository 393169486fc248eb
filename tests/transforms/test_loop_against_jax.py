"""Loops and branches compute what those of jax.lax do."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
from tenferro.transforms import flatten
from tests.tolerances import assert_close, rounding
from tests.transforms.loop_programs import PROGRAMS, input_of

NAMES = list(PROGRAMS)


def compute(name: str, x: Any) -> Any:
    return PROGRAMS[name](tn.lax, tn, x)


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    """The results of all programs in JAX, which compiles them together."""

    def everything(inputs: dict[str, Any]) -> dict[str, Any]:
        return {name: PROGRAMS[name](jax.lax, jnp, inputs[name]) for name in NAMES}

    with jax.enable_x64(True):
        inputs = {name: jnp.asarray(input_of(name)) for name in NAMES}
        results: dict[str, Any] = jax.tree.map(np.asarray, jax.jit(everything)(inputs))
    return results


def assert_same(actual: Any, wanted: Any) -> None:
    leaves, tree = flatten(actual)
    others, other_tree = flatten(wanted)
    assert tree == other_tree
    for leaf, other in zip(leaves, others, strict=True):
        assert (leaf.dtype, leaf.shape) == (other.dtype, other.shape)
        assert_close(leaf.numpy(), other, rounding(other.dtype))


@pytest.mark.parametrize("name", NAMES)
def test_at_once(name: str, expected: dict[str, Any]) -> None:
    assert_same(compute(name, input_of(name)), expected[name])


@pytest.mark.parametrize("name", NAMES)
def test_compiled_for_numpy(name: str, expected: dict[str, Any]) -> None:
    compiled = tn.jit(lambda x: compute(name, x), executor="numpy")
    assert_same(compiled(input_of(name)), expected[name])


def test_compiled_for_xla(expected: dict[str, Any]) -> None:
    @tn.jit(executor="xla")
    def everything(inputs: dict[str, Any]) -> dict[str, Any]:
        return {name: compute(name, inputs[name]) for name in NAMES}

    results = everything({name: input_of(name) for name in NAMES})
    for name in NAMES:
        assert_same(results[name], expected[name])


@pytest.mark.parametrize("name", NAMES)
def test_eager(name: str, expected: dict[str, Any]) -> None:
    x = tn.EagerRuntime().constant(input_of(name))
    assert_same(compute(name, x), expected[name])


@pytest.mark.parametrize("batch_size", [1, 2, 3, 4])
def test_map_takes_entries_in_batches(batch_size: int, expected: dict[str, Any]) -> None:
    result = tn.map(
        lambda row: {"norm": tn.sum(row * row), "row": row}, input_of(""), batch_size=batch_size
    )
    assert_same(result, expected["mapped"])
