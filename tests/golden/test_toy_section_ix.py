"""AD architecture, section IX: the golden tests on the toy ops."""

import math
from collections.abc import Callable, Sequence

import pytest

from tenferro.core import (
    Fragment,
    FragmentBuilder,
    GlobalValKey,
    ResolvedView,
    differentiate,
    resolve,
    transpose,
)
from tests.toy import ADD, CTX, EXP, MUL, SUM, Toy, Var, cplx, real, vector
from tests.toy_graphs import forward, inner, one_output, reverse, run, text_of

Builder = FragmentBuilder[Toy]
Mode = Callable[
    [ResolvedView[Toy], Sequence[GlobalValKey | None], Sequence[Var]],
    tuple[ResolvedView[Toy], tuple[GlobalValKey | None, ...]],
]
X, Y, A, C, Z = real("x"), real("y"), real("a"), cplx("c"), cplx("z")

# F over R: the derivative that is taken last is a JVP, the first a VJP.
MODES: dict[str, Sequence[Mode]] = {
    "FoF": (forward, forward),
    "FoR": (reverse, forward),
    "RoF": (forward, reverse),
    "RoR": (reverse, reverse),
}


def square(builder: Builder, x: GlobalValKey) -> GlobalValKey:
    return builder.add(MUL, [x, x])[0]


def exp_of_product(builder: Builder, x: GlobalValKey, a: GlobalValKey) -> GlobalValKey:
    return builder.add(EXP, builder.add(MUL, [x, a]))[0]


def derivative(primal: Fragment[Toy], modes: Sequence[Mode], values: dict[Var, float]) -> float:
    """The repeated derivative by x with unit seeds; nothing is materialized before its value."""
    view = resolve([primal])
    outputs: Sequence[GlobalValKey | None] = primal.output_keys
    for mode in modes:
        view, outputs = mode(view, outputs, [X])
    result: float = run(view, outputs, values)[0]
    return result


def test_section_ix_1_x_plus_x_accumulates_by_global_identity() -> None:
    primal = one_output(lambda builder, x: builder.add(ADD, [x, x])[0], X)
    linear = differentiate(resolve([primal]), primal.output_keys, [X], ctx=CTX)
    transposed = transpose(linear, ctx=CTX)
    assert text_of(linear) == (
        "fragment(%0 = d(x)) {\n"
        "  %1 = add %0, %0  linear[active,active]\n"
        "  return %1\n"
        "}"
    )  # fmt: skip
    assert text_of(transposed) == (
        "fragment(%0 = ct[0]) {\n  %1 = add %0, %0  linear[active,active]\n  return %1\n}"
    )
    assert run(resolve([transposed.fragment]), transposed.output_keys, {}, seed=1.5) == [3.0]


def test_section_ix_2_x_times_y_has_distinct_reverse_sinks() -> None:
    primal = one_output(lambda builder, x, y: builder.add(MUL, [x, y])[0], X, Y)
    linear = differentiate(resolve([primal]), primal.output_keys, [X, Y], ctx=CTX)
    transposed = transpose(linear, ctx=CTX)
    assert text_of(linear) == (
        "fragment(%0 = d(x), %1 = d(y)) {\n"
        "  %2 = mul %0, @y  linear[active,fixed]\n"
        "  %3 = mul @x, %1  linear[fixed,active]\n"
        "  %4 = add %2, %3  linear[active,active]\n"
        "  return %4\n"
        "}"
    )
    assert text_of(transposed) == (
        "fragment(%0 = ct[0]) {\n"
        "  %1 = mul @x, %0  linear[fixed,active]\n"
        "  %2 = mul @y, %0  linear[fixed,active]\n"
        "  return %2, %1\n"
        "}"
    )
    view = resolve([primal, transposed.fragment])
    assert run(view, transposed.output_keys, {X: 2.0, Y: 5.0}) == [5.0, 2.0]


def test_section_ix_3_conj_appears_only_in_the_transpose() -> None:
    primal = one_output(lambda builder, c, z: builder.add(MUL, [c, z])[0], C, Z)
    linear = differentiate(resolve([primal]), primal.output_keys, [Z], ctx=CTX)
    transposed = transpose(linear, ctx=CTX)
    assert text_of(linear) == (
        "fragment(%0 = d(z)) {\n"
        "  %1 = mul @c, %0  linear[fixed,active]\n"
        "  return %1\n"
        "}"
    )  # fmt: skip
    assert text_of(transposed) == (
        "fragment(%0 = ct[0]) {\n"
        "  %1 = conj @c\n"
        "  %2 = mul %1, %0  linear[fixed,active]\n"
        "  return %2\n"
        "}"
    )
    c, z, dz, ct = 2 - 3j, 0.5 + 1j, -1 + 0.25j, 0.75 + 2j
    values = {C: c, Z: z}
    (dy,) = run(resolve([primal, linear.fragment]), linear.output_keys, values, seed=dz)
    view = resolve([primal, transposed.fragment])
    (ct_z,) = run(view, transposed.output_keys, values, seed=ct)
    assert dy == c * dz
    assert ct_z == c.conjugate() * ct
    assert inner(ct, dy) == pytest.approx(inner(ct_z, dz))


@pytest.mark.parametrize("mode", MODES)
def test_section_ix_4_x_squared_has_second_derivative_2(mode: str) -> None:
    assert derivative(one_output(square, X), MODES[mode], {X: 0.7}) == pytest.approx(2)


@pytest.mark.parametrize("mode", MODES)
def test_section_ix_5_exp_ax_has_second_derivative_a_squared_exp_ax(mode: str) -> None:
    x, a = 0.3, 1.7
    second = derivative(one_output(exp_of_product, X, A), MODES[mode], {X: x, A: a})
    assert second == pytest.approx(a**2 * math.exp(a * x))


@pytest.mark.parametrize("mode", [(forward,), (reverse,)], ids=["F", "R"])
def test_section_ix_5_exp_ax_has_derivative_a_exp_ax(mode: Sequence[Mode]) -> None:
    x, a = 0.3, 1.7
    first = derivative(one_output(exp_of_product, X, A), mode, {X: x, A: a})
    assert first == pytest.approx(a * math.exp(a * x))


def test_section_ix_6_the_transpose_of_sum_broadcasts() -> None:
    x, a = vector("x", 3), vector("a", 3)
    primal = one_output(
        lambda builder, x, a: builder.add(SUM, [exp_of_product(builder, x, a)])[0], x, a
    )
    view, (ct_x,) = reverse(resolve([primal]), primal.output_keys, [x])
    assert "%1 = broadcast[3] %0  linear[active]" in str(view.roots[-1])
    at, by = (0.3, -0.8, 0.1), (1.7, 0.6, -0.4)
    expected = tuple(by[i] * math.exp(by[i] * at[i]) * 2.0 for i in range(3))
    assert run(view, [ct_x], {x: at, a: by}, seed=2.0)[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    "modes",
    [(forward, forward, forward), (reverse, forward, forward), (reverse, reverse, reverse)],
    ids=["FoFoF", "FoFoR", "RoRoR"],
)
def test_section_ix_7_exp_ax_has_third_derivative_a_cubed_exp_ax(modes: Sequence[Mode]) -> None:
    x, a = 0.3, 1.7
    third = derivative(one_output(exp_of_product, X, A), modes, {X: x, A: a})
    assert third == pytest.approx(a**3 * math.exp(a * x))
