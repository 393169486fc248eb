"""The usual tests take some of many like cases; those with `--exhaustive` take the others."""

from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Any

import pytest

NEEDS_JAX = pytest.mark.skipif(find_spec("jax") is None, reason="XLA runs through jax")
EXECUTORS = ["numpy", pytest.param("xla", marks=NEEDS_JAX)]
"""The executors by which a test of the compiler computes, where they are there."""


def some(
    cases: Iterable[Any], every: int, ids: Callable[[Any], str] | None = None, start: int = 0
) -> list[Any]:
    """Parameters of a test: one of `every` cases, from `start` on, is usual, others exhaustive."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=[] if number % every == start else pytest.mark.exhaustive,
            id=None if ids is None else ids(case),
        )
        for number, case in enumerate(cases)
    ]
