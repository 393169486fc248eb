"""Compiler options are asked for, never assumed; and only for programs that they are good for."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import parse
from tenferro.ir import ExecProgram
from tenferro_xla import XlaExecutor, target
from tenferro_xla.lowering import ExtensionLowerings
from tenferro_xla.placement import OneDevice
from tenferro_xla.platforms import CPU_PLATFORM, Option
from tenferro_xla.platforms.cpu import (
    FEW,
    HEAP,
    MANY,
    NO_FUSION_EMITTERS,
    SMALL_HEAPS,
    WIDE_VECTORS,
)
from tenferro_xla.target import accepted_options, target_for

HOST = jax.devices("cpu")[0]
UNKNOWN = Option("xla_cpu_no_such_option", True, "nothing")
KNOWN = Option("xla_cpu_enable_fast_math", False, "nothing")


def test_an_option_that_this_xla_does_not_know_is_dropped_with_what_it_says() -> None:
    found = accepted_options([UNKNOWN, KNOWN], HOST)
    assert found.accepted == (KNOWN,)
    ((dropped, words),) = found.dropped
    assert dropped == UNKNOWN
    assert "xla_cpu_no_such_option" in words


def test_each_option_is_tried_once_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    accepted_options([UNKNOWN], HOST)
    monkeypatch.setattr(target.jax, "jit", None)  # another try would call it
    assert accepted_options([UNKNOWN], HOST).accepted == ()


def chain(products: int, size: int = 3, dtype: str = "f64", other: str = "") -> ExecProgram:
    """Products of a matrix with the transposes of what they give, and other ops in between."""
    one = f"{dtype}[{size},{size}]"
    lines, value = [], 0
    for _ in range(products):
        lines.append(f"%{value + 1}: {one} = transpose[perm=(1, 0)] %{value}")
        dot = "dot_general[lhs_contract=(1,), rhs_contract=(0,)]"
        lines.append(f"%{value + 2}: {one} = {dot} %{value + 1}, %0")
        value += 2
        if other:
            lines.append(f"%{value + 1}: {one} = {other} %{value}")
            value += 1
    body = "\n".join(lines)
    return parse(f"exec_program(%0: {one}) {{\n{body}\nreturn %{value}\n}}")


def test_the_older_emitters_compile_small_real_contractions_of_moved_operands() -> None:
    assert CPU_PLATFORM.options_for(chain(30, size=40)) == (NO_FUSION_EMITTERS,)
    assert CPU_PLATFORM.options_for(chain(3, size=40)) == ()
    assert CPU_PLATFORM.options_for(chain(30, size=300)) == ()
    assert CPU_PLATFORM.options_for(chain(30, size=40, dtype="c128")) == ()
    assert CPU_PLATFORM.options_for(chain(30, size=40, other="sine")) == ()


def one_op(op: str, size: int = FEW, dtype: str = "f64") -> ExecProgram:
    one = f"{dtype}[{size}]"
    return parse(f"exec_program(%0: {one}) {{\n%1: {one} = {op} %0\nreturn %1\n}}")


def test_the_older_emitters_compile_programs_of_few_numbers() -> None:
    assert CPU_PLATFORM.options_for(one_op("sine")) == (NO_FUSION_EMITTERS,)
    assert CPU_PLATFORM.options_for(one_op("sine", size=FEW + 1)) == ()
    assert CPU_PLATFORM.options_for(one_op("sine", dtype="c128")) == ()
    assert CPU_PLATFORM.options_for(one_op("atan")) == ()


def test_the_newer_emitters_compile_loops_and_scatters_of_few_numbers() -> None:
    def running(x: Any) -> Any:
        return tn.scan(lambda total, each: (total + each, total), 0.0, x)

    def summed(x: Any) -> Any:
        return tn.grad(lambda x: tn.sum(x[np.array([1, 1, 0])] ** 2))(x)

    for f in (running, summed):
        program = tn.jit(f).program(np.ones(3)).exec_program
        assert CPU_PLATFORM.options_for(program) == ()


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
def test_functions_of_few_numbers_do_not_depend_on_the_emitters(dtype: str) -> None:
    x = np.array([0, 1, -3, 4, 7, -2], dtype)
    if x.dtype.kind == "f":
        x[:4] = [-0.0, np.inf, -np.inf, np.nan]

    def several(x: Any) -> Any:
        y = tn.where(x > 0, x * x, tn.minimum(x, 1))
        return y, tn.flip(tn.cumsum(x)), tn.max(x), tn.sort(x), tn.sign(x), x // 2, x % 2

    known = [option.name for option in accepted_options([NO_FUSION_EMITTERS], HOST).accepted]
    older, newer = (
        tn.jit(several, executor=XlaExecutor("cpu", compiler_options=options))(x)
        for options in ({}, dict.fromkeys(known, True))
    )
    for one, other in zip(older, newer, strict=True):
        np.testing.assert_array_equal(one, other, strict=True)
        np.testing.assert_array_equal(np.signbit(one), np.signbit(other))


def squares(size: int, count: int) -> ExecProgram:
    """The sum of products of square matrices, each with the one before, all alive at once."""
    one = f"f64[{size},{size}]"
    dot = "dot_general[lhs_contract=(1,), rhs_contract=(0,)]"
    lines = [f"%{number + 1}: {one} = {dot} %{number}, %0" for number in range(count)]
    lines.append(f"%{count + 1}: {one} = {dot} %{count}, %{count}")
    lines += [
        f"%{count + number + 1}: {one} = {dot} %{count + number}, %{number}"
        for number in range(1, count)
    ]
    body = "\n".join(lines)
    return parse(f"exec_program(%0: {one}) {{\n{body}\nreturn %{2 * count}\n}}")


def test_temporaries_lie_in_small_blocks_where_many_values_fit_one() -> None:
    side = 1 << 10
    assert 8 * side * side <= HEAP
    assert CPU_PLATFORM.options_for(squares(side, 6)) == (SMALL_HEAPS,)
    assert CPU_PLATFORM.options_for(squares(side, 2)) == ()
    assert CPU_PLATFORM.options_for(squares(2 * side, 6)) == ()


def test_running_sums_count_twice_since_xla_pads_them() -> None:
    def running(rows: int) -> ExecProgram:
        one = f"f64[{rows},1024]"
        sums = [
            f"%{n + 1}: {one} = cumulative_sum[axis=0, reverse={n % 2 > 0}] %{n}" for n in range(6)
        ]
        last = [f"%{n + 6}: {one} = multiply %{n + 5}, %{n}" for n in range(1, 6)]
        body = "\n".join([*sums, *last])
        return parse(f"exec_program(%0: {one}) {{\n{body}\nreturn %11\n}}")

    assert CPU_PLATFORM.options_for(running(1 << 10)) == (SMALL_HEAPS,)
    assert CPU_PLATFORM.options_for(running(3 << 9)) == ()  # 12 MiB each


@pytest.mark.exhaustive
def test_results_do_not_depend_on_the_blocks() -> None:
    program = squares(1 << 10, 6)
    x = np.random.default_rng(0).normal(size=(1 << 10, 1 << 10)) / 32
    results = [
        XlaExecutor("cpu", compiler_options=given).compile_exec(program).run_host(x)
        for given in ({}, {SMALL_HEAPS.name: -1})
    ]
    np.testing.assert_array_equal(*results)


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extrema_do_not_depend_on_the_width_of_vectors(dtype: type) -> None:
    x = np.random.default_rng(0).normal(size=(20, 70, 60)).astype(dtype)
    assert x.size >= MANY
    x[3, 5, 7], x[4, :, :], x[5, :3] = np.nan, -0.0, -np.inf
    x[4, 9, 11] = 0.0

    def extrema(x: Any) -> Any:
        axes = (0, 1, 2, None)
        parts = [f(x, axis=axis) for axis in axes for f in (tn.max, tn.min)]
        return *parts, tn.exp(x - tn.max(x))

    wide = tn.jit(extrema)(x)
    narrow = XlaExecutor("cpu", compiler_options={WIDE_VECTORS.name: 256})
    for one, other in zip(wide, tn.jit(extrema, executor=narrow)(x), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)
        np.testing.assert_array_equal(np.signbit(one), np.signbit(other))


@pytest.mark.parametrize(
    ("dtype", "size", "op", "chosen"),
    [
        ("f32", MANY, "exponential", True),
        ("f64", MANY, "negate", True),
        ("f64", MANY, "cumulative_sum[axis=0, reverse=False]", False),
        ("f64", MANY - 1, "negate", False),
        ("i64", MANY, "negate", False),
    ],
)
def test_extrema_of_many_numbers_get_wide_vectors(
    dtype: str, size: int, op: str, chosen: bool
) -> None:
    program = parse(
        f"exec_program(%0: {dtype}[{size}]) {{\n"
        f"%1: {dtype}[{size}] = {op} %0\n"
        f"%2: {dtype}[] = reduce_max[axes=(0,)] %1\nreturn %2\n}}"
    )
    assert (WIDE_VECTORS in CPU_PLATFORM.options_for(program)) == chosen


def test_the_options_of_the_user_win() -> None:
    program = chain(30)
    asked = {NO_FUSION_EMITTERS.name: True, "xla_cpu_enable_fast_math": False}
    lowerings = ExtensionLowerings()
    assert target_for(OneDevice(HOST), CPU_PLATFORM, lowerings).options_for(program) == {
        option.name: option.value
        for option in accepted_options([NO_FUSION_EMITTERS], HOST).accepted
    }
    own = target_for(OneDevice(HOST), CPU_PLATFORM, lowerings, compiler_options=asked)
    assert own.options_for(program) == asked


def test_results_do_not_depend_on_the_option() -> None:
    program = chain(30)
    known = [option.name for option in accepted_options([NO_FUSION_EMITTERS], HOST).accepted]
    x = np.random.default_rng(0).normal(size=(3, 3))
    results = [
        XlaExecutor("cpu", compiler_options=given).compile_exec(program).run_host(x)
        for given in ({}, dict.fromkeys(known, True))
    ]
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
