"""AD architecture, section IX: the golden tests on tensors."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from tenferro.ops import ADD, EXP, MUL, ReduceSum, StdTensorOp
from tenferro.shape import TensorMeta
from tests.graphs import Array, Function, inner, traced
from tests.toy_graphs import text_of

REAL, COMPLEX = TensorMeta.of("f64", ()), TensorMeta.of("c128", ())
ONE = np.array(1.0)
X, A = np.array(0.3), np.array(1.7)
SQUARE = traced(lambda emit, x: emit(MUL, x, x), REAL)
EXP_AX = traced(lambda emit, x, a: emit(EXP, emit(MUL, x, a)), REAL, REAL)


def forward(f: Function) -> Function:
    return f.jvp([0])


def reverse(f: Function) -> Function:
    return f.vjp([0])


# F over R: the derivative that is taken last is a JVP, the first a VJP.
STEPS: dict[str, Callable[[Function], Function]] = {"F": forward, "R": reverse}
SECOND = ["FoF", "FoR", "RoF", "RoR"]
THIRD = ["o".join(letters) for letters in itertools.product("FR", repeat=3)]


def derivative(f: Function, mode: str, *at: Array) -> Array:
    """The repeated derivative by the first input with unit seeds; nothing is merged on the way."""
    arguments = list(at)
    for letter in reversed(mode.split("o")):
        f = STEPS[letter](f)
        arguments.append(ONE)
    return np.asarray(f(*arguments)[0])


def test_section_ix_1_x_plus_x_accumulates_by_global_identity() -> None:
    f = traced(lambda emit, x: emit(ADD, x, x), REAL)
    assert text_of(f.jvp([0]).view.roots[-1]) == (
        "fragment(%0 = d(x0)) {\n"
        "  %1 = add %0, %0  linear[active,active]\n"
        "  return %1\n"
        "}"
    )  # fmt: skip
    assert text_of(f.vjp([0]).view.roots[-1]) == (
        "fragment(%0 = ct[0]) {\n"
        "  %1 = add %0, %0  linear[active,active]\n"
        "  return %1\n"
        "}"
    )  # fmt: skip
    assert f.vjp([0])(X, np.array(1.5)) == [3.0]


def test_section_ix_2_x_times_y_has_distinct_reverse_sinks() -> None:
    f = traced(lambda emit, x, y: emit(MUL, x, y), REAL, REAL)
    assert text_of(f.jvp([0, 1]).view.roots[-1]) == (
        "fragment(%0 = d(x0), %1 = d(x1)) {\n"
        "  %2 = multiply @x1, %0  linear[fixed,active]\n"
        "  %3 = multiply @x0, %1  linear[fixed,active]\n"
        "  %4 = add %2, %3  linear[active,active]\n"
        "  return %4\n"
        "}"
    )
    assert f.vjp([0, 1])(np.array(2.0), np.array(5.0), ONE) == [5.0, 2.0]


def test_section_ix_3_conj_appears_only_in_the_transpose() -> None:
    f = traced(lambda emit, c, z: emit(MUL, c, z), COMPLEX, COMPLEX)
    assert text_of(f.jvp([1]).view.roots[-1]) == (
        "fragment(%0 = d(x1)) {\n"
        "  %1 = multiply @x0, %0  linear[fixed,active]\n"
        "  return %1\n"
        "}"
    )  # fmt: skip
    assert text_of(f.vjp([1]).view.roots[-1]) == (
        "fragment(%0 = ct[0]) {\n"
        "  %1 = conj @x0\n"
        "  %2 = multiply %0, %1  linear[active,fixed]\n"
        "  return %2\n"
        "}"
    )
    c, z, dz, ct = (np.array(number) for number in (2 - 3j, 0.5 + 1j, -1 + 0.25j, 0.75 + 2j))
    (dy,), (ct_z,) = f.jvp([1])(c, z, dz), f.vjp([1])(c, z, ct)
    np.testing.assert_allclose(np.asarray(dy), c * dz)
    np.testing.assert_allclose(np.asarray(ct_z), np.conj(c) * ct)
    assert inner(ct, dy) == pytest.approx(inner(ct_z, dz))


@pytest.mark.parametrize("mode", SECOND)
def test_section_ix_4_x_squared_has_second_derivative_2(mode: str) -> None:
    np.testing.assert_allclose(derivative(SQUARE, mode, X), 2)


@pytest.mark.parametrize("mode", ["F", "R"])
def test_section_ix_5_exp_ax_has_derivative_a_exp_ax(mode: str) -> None:
    np.testing.assert_allclose(derivative(EXP_AX, mode, X, A), A * np.exp(A * X))


@pytest.mark.parametrize("mode", SECOND)
def test_section_ix_5_exp_ax_has_second_derivative_a_squared_exp_ax(mode: str) -> None:
    np.testing.assert_allclose(derivative(EXP_AX, mode, X, A), A**2 * np.exp(A * X))


@pytest.mark.parametrize("extent", [3, "n"])
def test_section_ix_6_the_transpose_of_sum_broadcasts(extent: int | str) -> None:
    vector = TensorMeta.of("f64", (extent,))
    f = traced(lambda emit, x, a: emit(ReduceSum((0,)), emit(EXP, emit(MUL, x, a))), vector, vector)
    reverse = text_of(f.vjp([0]).view.roots[-1]).splitlines()
    assert reverse[1] == f"  %1 = broadcast_in_dim[shape=({extent},), dims=()] %0  linear[active]"
    x, a, ct = np.array([0.3, -0.8, 0.1]), np.array([1.7, 0.6, -0.4]), np.array(2.0)
    (ct_x,) = f.vjp([0])(x, a, ct)
    np.testing.assert_allclose(np.asarray(ct_x), a * np.exp(a * x) * ct)


@pytest.mark.parametrize("mode", THIRD)
def test_section_ix_7_exp_ax_has_third_derivative_a_cubed_exp_ax(mode: str) -> None:
    np.testing.assert_allclose(derivative(EXP_AX, mode, X, A), A**3 * np.exp(A * X))


@pytest.mark.parametrize("mode", THIRD)
def test_section_ix_7_only_ops_of_the_vocabulary_arise(mode: str) -> None:
    f = EXP_AX
    for letter in reversed(mode.split("o")):
        f = STEPS[letter](f)
    assert all(isinstance(op, StdTensorOp) for op in f.ops())
