"""Sums of what several paddings make of arrays, which XLA's library computes wrongly."""

from typing import Any

import numpy as np
import pytest

import tenferro as tn


@pytest.mark.parametrize("shape", [(6, 7), (300, 300)])
def test_the_gradient_of_a_stencil_of_repeated_rows(shape: tuple[int, int]) -> None:
    def loss(x: Any) -> Any:
        y = tn.repeat(x, 2, axis=0)
        around = y[:-2, 1:-1] + y[2:, 1:-1] + y[1:-1, :-2] + y[1:-1, 2:]
        return tn.sum((around - 4 * y[1:-1, 1:-1]) ** 2)

    x = np.random.default_rng(0).normal(size=shape)
    found = tn.jit(tn.grad(loss))(x)
    np.testing.assert_allclose(found, tn.jit(tn.grad(loss), executor="numpy")(x), atol=1e-9)
