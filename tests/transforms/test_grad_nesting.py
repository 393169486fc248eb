"""Transforms inside transforms: no perturbation is taken for another."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tests.tolerances import assert_close, rounding

X = 0.7
Function = Callable[[Any], Any]


def f(x: Any) -> Any:
    return tn.sin(x) * x * x


def by_grad(g: Function) -> Function:
    return tn.grad(g)


def by_jvp(g: Function) -> Function:
    return lambda x: tn.jvp(g, (x,), (tn.ones_like(x),))[1]


def by_vjp(g: Function) -> Function:
    def derivative(x: Any) -> Any:
        value, pullback = tn.vjp(g, x)
        return pullback(tn.ones_like(value))[0]

    return derivative


def by_linearize(g: Function) -> Function:
    return lambda x: tn.linearize(g, x)[1](tn.ones_like(x))


def by_jacobian(g: Function) -> Function:
    return tn.jacrev(g)


def by_jit_of_grad(g: Function) -> Function:
    return tn.jit(tn.grad(g), executor="numpy")


def by_grad_of_jit(g: Function) -> Function:
    return tn.grad(tn.jit(g, executor="numpy"))


DERIVATIVES = [
    by_grad,
    by_jvp,
    by_vjp,
    by_linearize,
    by_jacobian,
    by_jit_of_grad,
    by_grad_of_jit,
    tn.derivative,
]
# sin(x)·x² differentiated once, twice, three times
FIRST = math.cos(X) * X * X + 2 * X * math.sin(X)
SECOND = -math.sin(X) * X * X + 4 * X * math.cos(X) + 2 * math.sin(X)
THIRD = -math.cos(X) * X * X - 6 * X * math.sin(X) + 6 * math.cos(X)


@pytest.mark.parametrize("outer", DERIVATIVES, ids=lambda d: d.__name__)
@pytest.mark.parametrize("inner", DERIVATIVES, ids=lambda d: d.__name__)
def test_second_derivatives_in_any_order(outer: Any, inner: Any) -> None:
    assert_close(inner(f)(tn.Tensor(X)), FIRST, rounding("f64"))
    assert_close(outer(inner(f))(tn.Tensor(X)), SECOND, rounding("f64"))


@pytest.mark.parametrize(
    "transforms", list(itertools.permutations([by_jvp, by_vjp, by_jit_of_grad, by_linearize], 3))
)
def test_third_derivatives_in_any_order(transforms: Any) -> None:
    g: Function = f
    for transform in transforms:
        g = transform(g)
    assert_close(g(tn.Tensor(X)), THIRD, rounding("f64"))
    assert_close(tn.jit(g, executor="xla")(X), THIRD, rounding("f64"))


@pytest.mark.parametrize("y", [3.0, tn.Tensor(3.0), np.array(3.0), tn.Tensor([1.0, 2.0])], ids=repr)
def test_an_argument_is_not_the_equal_value_that_is_closed_over(y: Any) -> None:
    gradient = tn.grad(lambda a: tn.sum(a * y))(y)
    assert_close(np.asarray(gradient), np.asarray(y), rounding("f64"))


@pytest.mark.parametrize("inner", DERIVATIVES, ids=lambda d: d.__name__)
@pytest.mark.parametrize("outer", DERIVATIVES, ids=lambda d: d.__name__)
def test_an_inner_derivative_does_not_see_the_outer_perturbation(outer: Any, inner: Any) -> None:
    def confusing(x: Any) -> Any:
        return x * inner(lambda y: x + y)(tn.Tensor(1.0))

    def confused_by_value(x: Any) -> Any:
        return x * inner(lambda y: x * y)(x)

    assert_close(outer(confusing)(tn.Tensor(2.0)), 1.0, rounding("f64"))
    assert_close(outer(confused_by_value)(tn.Tensor(3.0)), 6.0, rounding("f64"))


def test_an_outer_value_that_is_an_argument_of_the_inner_function_too() -> None:
    def h(y: Any) -> Any:
        return tn.grad(lambda a: a * y)(y)  # y, not 2y

    assert h(tn.Tensor(5.0)).item() == 5.0
    assert tn.grad(h)(tn.Tensor(5.0)).item() == 1.0
    assert tn.jit(tn.grad(h))(5.0).item() == 1.0


def test_nested_jvps_keep_their_tangents_apart() -> None:
    def g(x: Any) -> Any:
        return tn.jvp(lambda y: x * y * y, (x,), (x,))[1]  # 2·x·y·x at y = x: 2x³

    value, tangent = tn.jvp(g, (2.0,), (1.0,))
    assert (value.item(), tangent.item()) == (16.0, 24.0)


def test_a_pullback_may_be_called_again_and_within_other_traces() -> None:
    _, pullback = tn.vjp(lambda z: z**3, tn.Tensor([1.0, 2.0]))
    assert pullback(tn.ones(2))[0].tolist() == [3.0, 12.0]
    assert pullback(np.array([2.0, 0.0]))[0].tolist() == [6.0, 0.0]
    assert tn.jit(lambda c: pullback(c)[0], executor="numpy")(tn.ones(2)).tolist() == [3.0, 12.0]
    assert tn.grad(lambda c: tn.sum(pullback(c)[0]))(tn.ones(2)).tolist() == [3.0, 12.0]

    def twice(x: Any) -> Any:
        value, pull = tn.vjp(lambda z: z**3, x)
        return pull(1.0)[0] + pull(value)[0]  # 3x² + 3x⁵

    assert tn.grad(twice)(2.0).item() == 6 * 2.0 + 15 * 2.0**4


def test_a_compiled_function_may_close_over_values_of_a_trace_around_it() -> None:
    def loss(y: Any) -> Any:
        scaled = tn.jit(lambda x: x * y)
        return tn.sum(scaled(tn.Tensor([1.0, 2.0]))) + scaled(3.0)

    assert tn.grad(loss)(5.0).item() == 6.0
    assert tn.jit(tn.grad(loss))(5.0).item() == 6.0


def test_a_hessian_of_a_compiled_function() -> None:
    x = tn.Tensor([1.0, 2.0])
    for executor in ("numpy", "xla"):
        hessian = tn.hessian(tn.jit(lambda x: tn.sum(x**3), executor=executor))(x)
        assert hessian.tolist() == [[6.0, 0.0], [0.0, 12.0]]


def test_transforms_of_a_function_that_ignores_its_argument() -> None:
    for derivative in DERIVATIVES:
        assert derivative(lambda x: tn.Tensor(2.0))(tn.Tensor(1.0)).item() == 0.0
