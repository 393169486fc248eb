"""Sums of windows of one array become concatenations."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tenferro as tn
from tenferro.compiler import DeadCode, OptimizerOptions, PadsToConcatenate
from tenferro.ir import ExecBuilder, ExecProgram, verify
from tenferro.ops import ADD, Add, Concatenate, Constant, Pad
from tenferro.shape import TensorMeta
from tests.programs import assert_leaves_alone, assert_same_results, read, short
from tests.sampling import EXECUTORS

APART = OptimizerOptions(pads_to_concatenate=False, reroll=False)


def joined(text: str, least: int = 2) -> str:
    """The text of a program after the pass, without what is dead then."""
    program = read(text)
    result = DeadCode().run(PadsToConcatenate(least).run(program))
    assert_same_results(program, result, {})
    return short(result)


def pads(shape: str, *windows: str) -> str:
    """A program that adds paddings: `size low high`, each a tuple in Python's notation."""
    inputs = ", ".join(f"%{i}: f64[{each.split()[0]}]" for i, each in enumerate(windows))
    n = len(windows)
    lines = [f"%{n}: f64[] = constant[value=0.0, dtype=f64]"]
    for i, each in enumerate(windows):
        size, low, high, interior = (*each.split(), "")[:4]
        zeros = f"({'0,' * (size.count(',') + 1)})"
        payload = f"low={low}, high={high}, interior={interior or zeros}"
        lines.append(f"%{n + 1 + i}: f64[{shape}] = pad[{payload}] %{i}, %{n}")
    total = n + 1
    for i in range(1, n):
        lines.append(f"%{2 * n + i}: f64[{shape}] = add %{total}, %{n + 1 + i}")
        total = 2 * n + i
    body = "\n".join(lines)
    return f"exec_program({inputs}) {{\n{body}\nreturn %{total}\n}}"


def instructions(text: str) -> list[str]:
    """The lines between head and return, without slots and types of results."""
    return [line.partition(" = ")[2] for line in text.splitlines()[1:-2]]


def test_windows_that_cover_the_array() -> None:
    text = pads("4", "1 (2,) (1,)", "2 (0,) (2,)", "1 (3,) (0,)")
    assert instructions(joined(text)) == ["concatenate[axis=0] %1, %0, %2"]


HALVES = """
    exec_program(%0: f64[3,{first}], %1: f64[3,2]) {{
      %2: f64[] = constant[value=0.0, dtype=f64]
      %3: f64[3,2] = {function} %1
      %4: f64[3,2] = multiply %3, %1
      %5: f64[3,6] = pad[low=(0, 0), high=(0, {rest}), interior=(0, 0)] %0, %2
      %6: f64[3,6] = pad[low=(0, 4), high=(0, 0), interior=(0, 0)] %4, %2
      %7: f64[3,6] = add %5, %6
      return %7
    }}"""


def test_two_windows_that_cover_the_array_and_hold_a_function() -> None:
    text = HALVES.format(first=4, rest=2, function="tanh")
    assert instructions(joined(text, least=4))[-1] == "concatenate[axis=1] %0, %4"


@pytest.mark.parametrize(
    ("first", "rest", "function"),
    [(4, 2, "negate"), (3, 3, "tanh"), (5, 1, "tanh")],
    ids=["no function", "gap", "overlap"],
)
def test_two_windows_stay_without_a_function_or_where_they_do_not_cover_the_array(
    first: int, rest: int, function: str
) -> None:
    text = HALVES.format(first=first, rest=rest, function=function)
    assert_leaves_alone(PadsToConcatenate(), text)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_gradient_of_a_gate_is_that_of_its_halves(dtype: str, executor: str) -> None:
    def gate(x: Any) -> Any:
        half = x.shape[1] // 2
        return tn.sum((x[:, :half] * tn.sigmoid(x[:, half:])) ** 2)

    x = np.linspace(-3, 3, 60).reshape(6, 10).astype(dtype)
    first, second = np.split(x.astype(np.float64), 2, axis=1)
    y = 1 / (1 + np.exp(-second))
    expected = np.concatenate([2 * first * y * y, 2 * first**2 * y * y * (1 - y)], axis=1)
    for options in (OptimizerOptions(), APART):
        found = tn.jit(tn.grad(gate), executor=executor, options=options)(x)
        np.testing.assert_allclose(found, expected, rtol=64 * np.finfo(dtype).eps, atol=1e-30)


def test_gaps_are_zeros_and_the_ends_are_padded() -> None:
    text = pads("9", "2 (1,) (6,)", "2 (5,) (2,)")
    assert instructions(joined(text))[1:] == [
        "constant[value=0.0, dtype=f64]",
        "broadcast_in_dim[shape=(2,), dims=()] %6",
        "concatenate[axis=0] %0, %7, %1",
        "pad[low=(1,), high=(2,), interior=(0,)] %8, %2",
    ]


def test_single_elements_at_equal_distances() -> None:
    text = pads("8", "1 (1,) (6,)", "1 (4,) (3,)", "1 (7,) (0,)")
    assert instructions(joined(text))[1:] == [
        "concatenate[axis=0] %0, %1, %2",
        "pad[low=(1,), high=(0,), interior=(2,)] %9, %3",
    ]


def test_windows_along_several_axes() -> None:
    windows = [f"1,1 ({i},{j}) ({1 - i},{2 - j})" for i in range(2) for j in range(3)]
    lines = instructions(joined(pads("2,3", *windows)))
    assert [line.split()[0] for line in lines] == [
        "concatenate[axis=1]",
        "concatenate[axis=1]",
        "concatenate[axis=0]",
    ]


def test_equal_windows_are_added_and_overlapping_ones_kept_apart() -> None:
    text = pads("4", "2 (0,) (2,)", "2 (1,) (1,)", "2 (0,) (2,)", "2 (2,) (0,)")
    program = read(text)
    result = DeadCode().run(PadsToConcatenate(2).run(program))
    assert_same_results(program, result, {})
    assert [step.op.name for step in result.instructions if isinstance(step.op, Add | Concatenate)]
    assert len(result.ops_of(Concatenate)) == 1
    assert [step.output_metas[0].static_shape for step in result.steps_of(Add)] == [(2,), (4,)]


def test_named_sizes_off_the_axis_and_at_its_end() -> None:
    text = pads("n,m", *[f"1,m ({i},0) (n-{i + 1},0)" for i in range(4)])
    program = read(text)
    result = DeadCode().run(PadsToConcatenate().run(program))
    (pad,) = result.ops_of(Pad)
    assert str(pad) == "pad[low=(0, 0), high=(n - 4, 0), interior=(0, 0)]"


def test_updates_of_zeros_are_windows() -> None:
    text = """
        exec_program(%0: f64[1], %1: f64[2]) {
          %2: f64[] = constant[value=0.0, dtype=f64]
          %3: f64[3] = broadcast_in_dim[shape=(3,), dims=()] %2
          %4: i64[] = constant[value=0, dtype=i64]
          %5: i64[] = constant[value=7, dtype=i64]
          %6: f64[3] = dynamic_update_slice %3, %0, %4
          %7: f64[3] = dynamic_update_slice %3, %1, %5
          %8: f64[3] = add %6, %7
          return %8
        }"""
    assert instructions(joined(text)) == ["concatenate[axis=0] %0, %1"]


@pytest.mark.parametrize(
    "text",
    [
        pads("4", "2 (0,) (2,) (0,)", "2 (0,) (1,) (1,)"),
        pads("3", "3 (-1,) (1,)", "3 (1,) (-1,)"),
        pads("2", "1 (0,) (1,)", "1 (1,) (0,)").replace("value=0.0", "value=1.0"),
        pads("2", "1 (0,) (1,)", "1 (1,) (0,)").replace("return %5", "return %5, %3"),
        pads("2", "1 (0,) (1,)", "1 (1,) (0,)"),
    ],
    ids=["holes", "cut off", "not zero", "read elsewhere", "few"],
)
def test_others_stay(text: str) -> None:
    assert_leaves_alone(PadsToConcatenate(4 if text.endswith("%5\n}") else 2), text)


def gradient(function: Callable[[Any], Any], shape: tuple[int, ...]) -> ExecProgram:
    """The program of a gradient, whose joined form must give the same."""
    spec = tn.TensorSpec(shape, "float64")
    one, other = (
        tn.make_program(tn.grad(function), spec, options=options).exec_program
        for options in (APART, OptimizerOptions(reroll=False))
    )
    assert_same_results(one, other, {})
    return other


def rows(x: Any) -> Any:
    return sum((tn.sum(tn.sin(x[i])) for i in range(1, 12)), start=tn.sum(tn.sin(x[0])))


def columns(x: Any) -> Any:
    return sum((tn.sum(tn.sin(x[:, i])) for i in range(1, 12)), start=tn.sum(tn.sin(x[:, 0])))


def elements(x: Any) -> Any:
    return sum((tn.sin(x[i, j]) for i in range(4) for j in range(5)), start=0.0)


def sliding(x: Any) -> Any:
    return sum((tn.sum(tn.sin(x[i : i + 3])) for i in range(10)), start=0.0)


def strided(x: Any) -> Any:
    return sum((tn.sum(tn.sin(x[i::3])) for i in range(3)), start=tn.sum(x[::2]))


@pytest.mark.parametrize(
    ("function", "shape", "full"),
    [
        (rows, (12, 2), 0),
        (columns, (2, 12), 0),
        (elements, (4, 5), 0),
        (sliding, (12,), 3),
        (strided, (9,), 4),
    ],
)
def test_the_gradient_of_indexing_takes_linear_memory(
    function: Callable[[Any], Any], shape: tuple[int, ...], full: int
) -> None:
    """Few values are as large as the array: none is added but overlapping layers."""
    program = gradient(function, shape)
    assert len(program.ops_of(Pad)) <= full


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_random_windows_have_the_same_sum(seed: int) -> None:
    program = random_sum(random.Random(seed))
    result = PadsToConcatenate(2).run(program)
    verify(result)
    assert_same_results(program, result, {})


def random_sum(rng: random.Random) -> ExecProgram:
    """A sum, in any order, of windows that may overlap, be equal, or have holes."""
    builder = ExecBuilder()
    shape = [rng.randint(1, 9) for _ in range(rng.randint(1, 3))]
    (zero,) = builder.add(Constant(0.0), [])
    terms = [builder.input(TensorMeta.of("f64", shape))]
    for _ in range(rng.randint(2, 14)):
        sizes, low, interior = zip(*[random_place(rng, total) for total in shape], strict=True)
        high = [
            total - start - size - (size - 1) * between
            for total, start, size, between in zip(shape, low, sizes, interior, strict=True)
        ]
        window = builder.input(TensorMeta.of("f64", sizes))
        terms += builder.add(Pad(low, tuple(high), interior), [window, zero])
    while len(terms) > 1:
        one = terms.pop(rng.randrange(len(terms)))
        place = rng.randrange(len(terms))
        (terms[place],) = builder.add(ADD, [one, terms[place]])
    return builder.build(terms)


def random_place(rng: random.Random, total: int) -> tuple[int, int, int]:
    """Size, start and holes of a window along one axis."""
    if rng.random() < 0.3:
        return total, 0, 0
    start = rng.randrange(total)
    size = rng.choice((1, rng.randint(1, min(3, total - start))))
    holes = size > 1 and start + 2 * size - 1 <= total and rng.random() < 0.2
    return size, start, int(holes)
