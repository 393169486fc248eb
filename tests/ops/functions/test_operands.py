"""Symbolic sizes as operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import AxisError, ShapeError

NUMPY = tn.GraphExecutor(tn.NumpyBackend())
VECTOR = tn.TensorSpec(("n",))
MATRIX = tn.TensorSpec(("n", "m"))


def run(
    function: Callable[..., Any], spec: tn.TensorSpec, x: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    (result,) = NUMPY.run(tn.make_program(function, spec), {"x": x})
    return np.asarray(result)


@pytest.mark.parametrize("n", [1, 5, 12])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * x.shape[0],
        lambda x: x.shape[0] * x,
        lambda x: x / x.shape[0],
        lambda x: x.shape[0] - x,
        lambda x: x - (x.shape[0] - 10),
        lambda x: x + x.shape[0] // 2,
        lambda x: x * (2 * x.shape[0] * x.shape[0] - 3),
        lambda x: x > x.shape[0],
    ],
)
def test_a_symbolic_size_is_a_number_in_arithmetic(function: Callable[..., Any], n: int) -> None:
    x = np.arange(float(n))
    np.testing.assert_allclose(run(function, VECTOR, x), function(x))


def test_a_size_keeps_the_dtype_of_the_array() -> None:
    program = tn.make_program(lambda x: x * x.shape[0], tn.TensorSpec(("n",), "float32"))
    assert program.exec_program.output_metas[0].dtype == np.float32


@pytest.mark.parametrize("shape", [(2, 3), (1, 1), (4, 2)])
def test_symbolic_shapes_reshape_broadcast_and_slice(shape: tuple[int, int]) -> None:
    x = np.arange(float(np.prod(shape))).reshape(shape)
    n, m = shape
    assert run(lambda x: x.reshape(-1), MATRIX, x).tolist() == x.reshape(-1).tolist()
    assert run(lambda x: x.reshape(-1, x.shape[0]), MATRIX, x).shape == (m, n)
    assert run(lambda x: x.T @ x, MATRIX, x).tolist() == (x.T @ x).tolist()
    assert run(lambda x: x - tn.mean(x, axis=0), MATRIX, x).tolist() == (x - x.mean(0)).tolist()
    assert run(lambda x: x[:, 0], MATRIX, x).tolist() == x[:, 0].tolist()
    assert run(lambda x: x[-1], MATRIX, x).tolist() == x[-1].tolist()
    assert run(lambda x: x[1:, None], MATRIX, x).tolist() == x[1:, None].tolist()
    assert run(lambda x: x[: x.shape[0] - 1], MATRIX, x).tolist() == x[: n - 1].tolist()
    assert run(lambda x: tn.zeros((x.shape[0], 2)), MATRIX, x).shape == (n, 2)
    assert run(lambda x: tn.concat([x, x]), MATRIX, x).shape == (2 * n, m)
    assert run(lambda x: tn.pad(x, ((1, 2), (0, 0))), MATRIX, x).shape == (n + 3, m)


def test_what_needs_a_known_size_says_so() -> None:
    with pytest.raises(ShapeError, match=r"sizes n and n \+ 1, which do not broadcast"):
        tn.make_program(lambda x: x + tn.pad(x, ((0, 1), (0, 0))), MATRIX)
    with pytest.raises(AxisError, match="too many indices"):
        tn.make_program(lambda x: x[0, 0], VECTOR)
