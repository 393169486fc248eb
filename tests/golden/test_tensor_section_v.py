"""AD architecture, section V: both vector examples, on tensors."""

from __future__ import annotations

import numpy as np
import pytest

from tenferro.ops import EXP, MUL, ReduceSum
from tenferro.shape import TensorMeta
from tests.graphs import Function, central, inner, traced
from tests.toy_graphs import text_of

VECTOR = TensorMeta.of("f64", (2,))
X, A = np.array([0.3, -0.8]), np.array([1.7, 0.6])
DX = np.array([0.25, -1.5])


@pytest.fixture
def elementwise() -> Function:
    """Example 1: y = exp(a · x)."""
    return traced(lambda emit, x, a: emit(EXP, emit(MUL, x, a)), VECTOR, VECTOR)


@pytest.fixture
def reduction() -> Function:
    """Example 2: y = Sum(exp(a · x))."""
    return traced(
        lambda emit, x, a: emit(ReduceSum((0,)), emit(EXP, emit(MUL, x, a))), VECTOR, VECTOR
    )


def test_section_v_example_1_fragments(elementwise: Function) -> None:
    assert text_of(elementwise.jvp([0]).view.roots[-1]) == (
        "fragment(%0 = d(x0)) {\n"
        "  %1 = multiply @x1, %0  linear[fixed,active]\n"
        "  %2 = multiply @exponential(multiply(x0, x1)), %1  linear[fixed,active]\n"
        "  return %2\n"
        "}"
    )
    assert text_of(elementwise.vjp([0]).view.roots[-1]) == (
        "fragment(%0 = ct[0]) {\n"
        "  %1 = multiply @exponential(multiply(x0, x1)), %0  linear[fixed,active]\n"
        "  %2 = multiply @x1, %1  linear[fixed,active]\n"
        "  return %2\n"
        "}"
    )


def test_section_v_example_1_formulas(elementwise: Function) -> None:
    ct_y = np.array([-0.4, 2.0])
    (y,) = elementwise(X, A)
    (dy,) = elementwise.jvp([0])(X, A, DX)
    (ct_x,) = elementwise.vjp([0])(X, A, ct_y)
    np.testing.assert_allclose(y, np.exp(A * X))
    np.testing.assert_allclose(dy, np.exp(A * X) * A * DX)
    np.testing.assert_allclose(ct_x, A * np.exp(A * X) * ct_y)
    assert inner(ct_y, dy) == pytest.approx(inner(ct_x, DX))
    check_difference(elementwise, dy)


def test_section_v_example_2_fragments(reduction: Function) -> None:
    assert text_of(reduction.jvp([0]).view.roots[-1]) == (
        "fragment(%0 = d(x0)) {\n"
        "  %1 = multiply @x1, %0  linear[fixed,active]\n"
        "  %2 = multiply @exponential(multiply(x0, x1)), %1  linear[fixed,active]\n"
        "  %3 = reduce_sum[axes=(0,)] %2  linear[active]\n"
        "  return %3\n"
        "}"
    )
    assert text_of(reduction.vjp([0]).view.roots[-1]) == (
        "fragment(%0 = ct[0]) {\n"
        "  %1 = broadcast_in_dim[shape=(2,), dims=()] %0  linear[active]\n"
        "  %2 = multiply @exponential(multiply(x0, x1)), %1  linear[fixed,active]\n"
        "  %3 = multiply @x1, %2  linear[fixed,active]\n"
        "  return %3\n"
        "}"
    )


def test_section_v_example_2_formulas(reduction: Function) -> None:
    ct_y = np.array(-0.4)
    (y,) = reduction(X, A)
    (dy,) = reduction.jvp([0])(X, A, DX)
    (ct_x,) = reduction.vjp([0])(X, A, ct_y)
    np.testing.assert_allclose(y, np.exp(A * X).sum())
    np.testing.assert_allclose(dy, (np.exp(A * X) * A * DX).sum())
    np.testing.assert_allclose(ct_x, A * np.exp(A * X) * ct_y)
    assert inner(ct_y, dy) == pytest.approx(inner(ct_x, DX))
    check_difference(reduction, dy)


def check_difference(f: Function, dy: np.ndarray | None) -> None:
    expected = central(lambda x: np.asarray(f(x, A)[0]), [X], [DX])
    np.testing.assert_allclose(np.asarray(dy), expected, rtol=1e-8)
