"""AD architecture, section V: the two vector examples on the toy ops."""

import math
from dataclasses import dataclass
from typing import Any

import pytest

from tenferro.core import (
    Fragment,
    FragmentBuilder,
    GlobalValKey,
    LinearFragment,
    differentiate,
    resolve,
    transpose,
)
from tests.toy import CTX, EXP, MUL, SUM, Toy, vector
from tests.toy_graphs import inner, one_output, run, text_of

X, A = vector("x"), vector("a")
x, a, dx = (0.3, -0.8), (1.7, 0.6), (0.25, -0.4)
y = tuple(math.exp(ai * xi) for ai, xi in zip(a, x, strict=True))


@dataclass
class Example:
    """A primal fragment with its linear and transposed fragments."""

    primal: Fragment[Toy]
    linear: LinearFragment[Toy]
    transposed: LinearFragment[Toy]

    def value(self, at: tuple[float, ...]) -> Any:
        return run(resolve([self.primal]), self.primal.output_keys, {X: at, A: a})[0]

    def tangent(self, seed: tuple[float, ...]) -> Any:
        view = resolve([self.primal, self.linear.fragment])
        return run(view, self.linear.output_keys, {X: x, A: a}, seed)[0]

    def cotangent(self, seed: Any) -> Any:
        view = resolve([self.primal, self.transposed.fragment])
        return run(view, self.transposed.output_keys, {X: x, A: a}, seed)[0]


def example_of(primal: Fragment[Toy]) -> Example:
    linear = differentiate(resolve([primal]), primal.output_keys, [X], ctx=CTX)
    return Example(primal, linear, transpose(linear, ctx=CTX))


def exp_of_product(builder: FragmentBuilder[Toy], x: GlobalValKey, a: GlobalValKey) -> GlobalValKey:
    return builder.add(EXP, builder.add(MUL, [x, a]))[0]


def sum_of_exp(builder: FragmentBuilder[Toy], x: GlobalValKey, a: GlobalValKey) -> GlobalValKey:
    return builder.add(SUM, [exp_of_product(builder, x, a)])[0]


@pytest.fixture
def elementwise() -> Example:
    """Example 1: y = exp(a · x)."""
    return example_of(one_output(exp_of_product, X, A))


@pytest.fixture
def reduction() -> Example:
    """Example 2: y = Sum(exp(a · x))."""
    return example_of(one_output(sum_of_exp, X, A))


def test_section_v_example_1_fragments(elementwise: Example) -> None:
    assert text_of(elementwise.linear) == (
        "fragment(%0 = d(x)) {\n"
        "  %1 = mul %0, @a  linear[active,fixed]\n"
        "  %2 = mul @exp(mul(x, a)), %1  linear[fixed,active]\n"
        "  return %2\n"
        "}"
    )
    assert text_of(elementwise.transposed) == (
        "fragment(%0 = ct[0]) {\n"
        "  %1 = mul @exp(mul(x, a)), %0  linear[fixed,active]\n"
        "  %2 = mul @a, %1  linear[fixed,active]\n"
        "  return %2\n"
        "}"
    )


def test_section_v_example_1_formulas(elementwise: Example) -> None:
    ct = (0.9, -1.1)
    assert elementwise.value(x) == pytest.approx(y)
    assert elementwise.tangent(dx) == pytest.approx(tuple(y[i] * a[i] * dx[i] for i in range(2)))
    assert elementwise.cotangent(ct) == pytest.approx(tuple(a[i] * y[i] * ct[i] for i in range(2)))


def test_section_v_example_2_fragments(reduction: Example) -> None:
    assert text_of(reduction.linear) == (
        "fragment(%0 = d(x)) {\n"
        "  %1 = mul %0, @a  linear[active,fixed]\n"
        "  %2 = mul @exp(mul(x, a)), %1  linear[fixed,active]\n"
        "  %3 = sum %2  linear[active]\n"
        "  return %3\n"
        "}"
    )
    assert text_of(reduction.transposed) == (
        "fragment(%0 = ct[0]) {\n"
        "  %1 = broadcast[2] %0  linear[active]\n"
        "  %2 = mul @exp(mul(x, a)), %1  linear[fixed,active]\n"
        "  %3 = mul @a, %2  linear[fixed,active]\n"
        "  return %3\n"
        "}"
    )


def test_section_v_example_2_formulas(reduction: Example) -> None:
    ct = 0.9
    assert reduction.value(x) == pytest.approx(math.fsum(y))
    dy = math.fsum(y[i] * a[i] * dx[i] for i in range(2))
    assert reduction.tangent(dx) == pytest.approx(dy)
    assert reduction.cotangent(ct) == pytest.approx(tuple(a[i] * y[i] * ct for i in range(2)))


@pytest.mark.parametrize(
    ("name", "ct"), [("elementwise", (0.9, -1.1)), ("reduction", 0.9)], ids=["1", "2"]
)
def test_section_v_the_jvp_matches_finite_differences_and_the_transpose_the_jvp(
    name: str, ct: Any, request: pytest.FixtureRequest
) -> None:
    example: Example = request.getfixturevalue(name)
    step = 1e-6
    ahead = example.value(tuple(x[i] + step * dx[i] for i in range(2)))
    behind = example.value(tuple(x[i] - step * dx[i] for i in range(2)))
    dy = example.tangent(dx)
    slope = (inner(ct, ahead) - inner(ct, behind)) / (2 * step)
    assert inner(ct, dy) == pytest.approx(slope, rel=1e-7)
    assert inner(ct, dy) == pytest.approx(inner(example.cotangent(ct), dx), rel=1e-14)
