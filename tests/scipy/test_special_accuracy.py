"""Special functions over many magnitudes: both executors and dtypes against SciPy and mpmath."""

from __future__ import annotations

from typing import Any


import numpy as np
import pytest


import tenferro as tn
from tests.scipy import special_points as sp

S = tn.scipy.special
TOLERANCE = {"float64": 1e-9, "float32": 1e-5}


def assert_right(points: Any, dtype: str, executor: str) -> None:
    operands = {name: tuple(x.astype(dtype) for x in args) for name, args in points.items()}
    run = tn.jit(
        lambda a: {name: sp.ours(name)(*args) for name, args in a.items()}, executor=executor
    )
    wrong = {}
    for name, value in run(operands).items():
        found = np.asarray(value)
        places = sp.disagreements(name, operands[name], found, TOLERANCE[dtype])
        if places:
            wrong[name] = places[:5]
    assert not wrong


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_values_are_right_over_many_magnitudes(executor: str) -> None:
    assert_right(sp.draw(60), "float64", executor)


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("executor", ["numpy", "xla"])
@pytest.mark.parametrize("name", list(sp.DRAWS))
def test_values_are_right_at_many_points(name: str, executor: str, dtype: str) -> None:
    points = sp.DRAWS[name](np.random.default_rng(11), 100_000)
    assert_right({name: points}, dtype, executor)
