"""Jacobians of random functions of loops and branches agree in all modes, sparse ones too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ADError
from tests.loop_languages import Ours
from tests.random_loops import random_function
from tests.tolerances import assert_close, rounding

RNG = np.random.default_rng(0)
ARGS = (RNG.normal(size=3), RNG.normal(size=(3, 3)), np.asarray(0.7))
NUMBERS = (0, 1, 2)
TOLERANCE = 1e5 * rounding("f64")


def blocks(tree: Any) -> list[Any]:
    """The blocks of a Jacobian, dense."""
    found = [each for row in tree for each in row]
    return [each.todense() if isinstance(each, tn.SparseMatrix) else each for each in found]


def check(seed: int) -> None:
    block = random_function(seed, depth=1 + seed % 2, derivatives=False)

    def f(v: Any, m: Any, s: Any) -> Any:
        return tuple(block.run(Ours(), [v, m, s, np.asarray(2)]))

    expected = blocks(tn.jacfwd(f, NUMBERS)(*ARGS))
    options: list[dict[str, Any]] = [{}, {"mode": "cross"}, {"sparsity": "auto"}]
    for option in options:
        try:
            found = blocks(tn.jacobian(f, NUMBERS, **option)(*ARGS))
        except ADError:  # a function may have no cut, or a loop no reverse mode
            if option == {"mode": "cross"}:
                continue
            raise
        for mine, theirs in zip(found, expected, strict=True):
            assert_close(np.asarray(mine), np.asarray(theirs), TOLERANCE)


@pytest.mark.exhaustive(but=3)
@pytest.mark.parametrize("seed", range(6))
def test_all_modes_agree(seed: int) -> None:
    check(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(6, 206))
def test_all_modes_agree_for_many_functions(seed: int) -> None:
    check(seed)
