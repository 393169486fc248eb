"""Products in tn.linalg, against numpy.linalg."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ShapeError
from tests.linalg.matrices import random
from tests.tolerances import assert_close

RNG = np.random.default_rng(0)
A, B, V, W = random(RNG, 2, 3, 3), random(RNG, 2, 3, 3), random(RNG, 3), random(RNG, 3)
CALLS = {
    "cross": (V, W),
    "diagonal": (A,),
    "matmul": (A, B),
    "matrix_transpose": (A,),
    "outer": (V, W),
    "tensordot": (A, A.T),
    "trace": (A,),
    "vecdot": (A, B),
}


@pytest.mark.parametrize("name", CALLS)
def test_products_are_those_of_numpy(name: str) -> None:
    operands = CALLS[name]
    assert_close(getattr(tn.linalg, name)(*operands), getattr(np.linalg, name)(*operands), 1e-13)


def test_diagonals_are_those_of_the_last_two_axes() -> None:
    x = np.arange(24).reshape(2, 3, 4)
    for offset in (-1, 0, 2):
        for name in ("trace", "diagonal"):
            expected = getattr(np.linalg, name)(x, offset=offset)
            result = getattr(tn.linalg, name)(x, offset=offset)
            np.testing.assert_array_equal(np.asarray(result), expected)


@pytest.mark.parametrize("shapes", [[(3, 2), (2, 9), (9, 4)], [(3,), (3, 4), (4,)], [(2, 3), (3,)]])
def test_a_chain_of_products_is_that_of_numpy(shapes: list[tuple[int, ...]]) -> None:
    arrays = [random(RNG, *shape) for shape in shapes]
    assert_close(tn.linalg.multi_dot(arrays), np.linalg.multi_dot(arrays), 1e-13)

    def loss(first: Any) -> Any:
        return tn.sum(tn.linalg.multi_dot([first, *arrays[1:]]))

    rest = arrays[1] if len(arrays) == 2 else arrays[1] @ arrays[2]
    row = rest if rest.ndim == 1 else rest.sum(-1)
    assert_close(tn.grad(loss)(tn.Tensor(arrays[0])), np.broadcast_to(row, shapes[0]), 1e-13)


def test_wrong_operands_are_refused() -> None:
    with pytest.raises(ShapeError, match="multi_dot: takes two or more arrays, got 1"):
        tn.linalg.multi_dot([A[0]])
    with pytest.raises(ShapeError, match=r"multi_dot: takes matrices, got f64\[2,3,3\] for op"):
        tn.linalg.multi_dot([A, B])
    with pytest.raises(ShapeError, match=r"outer: takes vectors, got f64\[2,3,3\]"):
        tn.linalg.outer(A, V)
    with pytest.raises(ShapeError, match=r"trace: takes matrices \[\.\.\., m, n\], got f64\[3\]"):
        tn.linalg.trace(V)
