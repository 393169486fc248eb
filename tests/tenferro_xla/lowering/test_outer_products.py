"""Outer products and their gradients: the same on both executors, with their passes and without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tests.tolerances import rounding

Array = np.ndarray[Any, Any]
PLAIN = tn.OptimizerOptions(summed_products=False, contraction_layout=False)


def gradient(expression: str) -> Callable[..., Any]:
    """Of the weighted sum of a product, by both factors, and of the gradient's squares."""

    def total(a: Any, b: Any, weights: Any) -> Any:
        return tn.sum(tn.real(tn.einsum(expression, a, b) * weights))

    def gradients(a: Any, b: Any, weights: Any) -> Any:
        return tn.grad(total, argnums=(0, 1))(a, b, weights)

    def squares(a: Any, b: Any, weights: Any) -> Any:
        return sum(tn.sum(tn.real(each * tn.conj(each))) for each in gradients(a, b, weights))

    def both(a: Any, b: Any, weights: Any) -> Any:
        return (*gradients(a, b, weights), *tn.grad(squares, argnums=(0, 1))(a, b, weights))

    return both


def assert_agree(function: Callable[..., Any], operands: list[Array]) -> None:
    """Both executors, with and without the passes."""
    expected = tn.jit(function, executor="numpy", options=PLAIN)(*operands)
    others = [
        tn.jit(function, executor="numpy")(*operands),
        tn.jit(function)(*operands),
        tn.jit(function, options=PLAIN)(*operands),
    ]
    tolerance = rounding(operands[0].dtype)
    for results in others:
        for one, other in zip(results, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize(
    ("expression", "shapes"),
    [
        ("tjk,to->tokj", [(4, 3, 2), (4, 5), (4, 5, 2, 3)]),
        ("a,b->ba", [(3,), (4,), (4, 3)]),
        ("bma,ba->mb", [(2, 3, 4), (2, 4), (3, 2)]),
        ("tjk,to->tokj", [(4, 0, 2), (4, 5), (4, 5, 2, 0)]),
    ],
)
def test_gradients_of_outer_products_agree(
    dtype: type[np.inexact[Any]], expression: str, shapes: list[tuple[int, ...]]
) -> None:
    rng = np.random.default_rng(3)
    operands: list[Array] = [np.asarray(rng.normal(size=shape)) for shape in shapes]
    if dtype is np.complex128:
        operands = [each + 1j * rng.normal(size=each.shape) for each in operands]
    assert_agree(gradient(expression), operands)


def test_numbers_that_are_not_finite_go_the_same_way() -> None:
    a, b, weights = np.ones((2, 3)), np.ones((2, 4)), np.ones((2, 4, 3))
    a[0, 0], b[1, 2], weights[0, 1, 2], weights[1, 0, 0] = np.nan, np.inf, -np.inf, 0.0

    def total(a: Any, b: Any, weights: Any) -> Any:
        return tn.sum(tn.einsum("ti,tj->tji", a, b) * weights)

    assert_agree(tn.grad(total, argnums=(0, 1)), [a, b, weights])
