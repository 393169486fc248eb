"""Embedded diagonals, small and large, at any axes."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro as tn
from tenferro.ops import EmbedDiag
from tenferro.ops.functions import OpFunction, apply
from tests.graphs import metas_of


@pytest.mark.parametrize("size", [3, 130])
@pytest.mark.parametrize(("rank", "axes"), [(1, (0, 1)), (2, (1, 2)), (2, (0, 2)), (2, (0, 1))])
def test_an_embedded_diagonal_is_that_of_numpy(size: int, rank: int, axes: tuple[int, int]) -> None:
    shape = [2] * rank
    shape[axes[0]] = size
    x = np.random.default_rng(0).normal(size=shape)
    x.flat[0] = np.inf
    op = EmbedDiag(*axes)
    assert op.infer(*metas_of([x])).static_shape == op.numpy(x).shape
    found = tn.jit(lambda x: apply(OpFunction(op), x))(x)
    np.testing.assert_array_equal(found, op.numpy(x))
