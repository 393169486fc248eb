"""Loops of small values, which are marked: XLA compiles them as one function."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import jax
import numpy as np
import pytest

import tenferro as tn
import tenferro_xla as txla
from tenferro.compiler import parse
from tenferro.ir import ExecProgram, NumpyArray, TensorMeta
from tenferro.ops.control_flow import Scan, While
from tenferro.ops.functions import OpFunction, apply
from tenferro_xla.compiled.stablehlo import Module, compile_stablehlo, lower_to_stablehlo, prepare
from tenferro_xla.lowering import ExtensionLowerings
from tenferro_xla.lowering.small_loops import as_one_function, is_small
from tenferro_xla.target import XlaTarget, platform_of, target_for
from tests.ops.cases import CASES

MARK = 'xla_cpu_small_call = "true"'
RNG = np.random.default_rng(0)
Function = Callable[..., Any]


def target() -> XlaTarget:
    placement = txla.XlaExecutor("cpu").placement
    return target_for(placement, platform_of(placement.first), ExtensionLowerings())


def module_of(function: Function, *operands: Any) -> Module:
    program = tn.jit(function, executor="xla").lower(*operands).exec_program
    return lower_to_stablehlo(prepare(program, target()), target())


def text_of(function: Function, *operands: Any) -> str:
    return str(tn.jit(function, executor="xla").lower(*operands).as_text())


def compare(marked: Module, *operands: Any) -> None:
    """Asserts that a program computes the same with marks and without."""
    assert marked.plain is not None
    runs = [compile_stablehlo(each, target()) for each in (marked, marked.plain())]
    with jax.enable_x64(True):
        one, other = [each(*tn.tree.leaves(operands)) for each in runs]
    for x, y in zip(one, other, strict=True):
        close(np.asarray(x), np.asarray(y))


def close(x: NumpyArray, y: NumpyArray) -> None:
    eps = np.finfo(x.dtype).eps if x.dtype.kind in "fc" else 0.0
    assert x.dtype == y.dtype
    np.testing.assert_allclose(x, y, rtol=1e4 * eps, atol=1e3 * eps)


# What is marked.


def recurrent(w: Any, h: Any, xs: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = tn.tanh(w @ h + x)
        return h, tn.sum(h * h)

    return tn.sum(tn.scan(step, h, xs)[1])


def operands(width: int, length: int = 20) -> list[NumpyArray]:
    shapes = (width, width), (width,), (length, width)
    return [RNG.normal(size=shape) / width for shape in shapes]


def test_a_loop_of_small_values_is_one_function() -> None:
    compare(module_of(recurrent, *operands(8)), *operands(8))
    assert text_of(recurrent, *operands(8)).count(MARK) == 1
    assert MARK not in text_of(recurrent, *operands(100))


def test_each_loop_of_a_gradient_is_one_function() -> None:
    gradient = tn.grad(recurrent, argnums=(0, 1, 2))
    compare(module_of(gradient, *operands(8)), *operands(8))
    assert text_of(gradient, *operands(8)).count(MARK) == 2


def test_a_loop_in_a_loop_is_in_its_function() -> None:
    def nested(x: Any) -> Any:
        return tn.fori_loop(0, 5, lambda _, x: tn.fori_loop(0, 3, lambda _, x: tn.sin(x), x), x)

    assert text_of(nested, np.ones(4)).count(MARK) == 1


def test_a_small_loop_in_a_large_one_is_marked() -> None:
    def nested(x: Any) -> Any:
        def step(x: Any, _: Any) -> Any:
            mean = tn.fori_loop(0, 3, lambda _, m: tn.sin(m), tn.mean(x, axis=0))
            return x * 0.5 + mean, None

        return tn.scan(step, x, length=4)[0]

    compare(module_of(nested, np.ones((1000, 3))), np.ones((1000, 3)))


def test_exports_and_functions_for_jax_have_no_marks() -> None:
    xs = operands(8)
    program = tn.jit(recurrent).program(*xs)
    with jax.enable_x64(True):
        assert MARK not in jax.jit(txla.to_jax(program)).lower(*xs).as_text()
    assert MARK not in txla.export(program).stablehlo()


def scan_of(text: str, consts: int = 0, carry: int = 1, length: int = 3) -> Scan:
    return Scan(parse(text), consts, carry, length)


def body(operation: str, *types: str, result: str | None = None) -> Scan:
    """A loop that carries nothing, whose iterations apply an operation to entries."""
    names = [f"%{number}" for number in range(len(types))]
    inputs = ", ".join(f"{name}: {each}" for name, each in zip(names, types, strict=True))
    last = f"%{len(types)}"
    return scan_of(
        f"exec_program({inputs}) {{\n {last}: {result or types[0]} = {operation} "
        f"{', '.join(names)}\n return {last}\n}}",
        carry=0,
    )


DOT = "dot_general[lhs_contract=(1,), rhs_contract=(0,), lhs_batch=(), rhs_batch=()]"


@pytest.mark.parametrize(
    ("loop", "small"),
    [
        (body("sine", "f64[31]"), True),
        (body("sine", "f64[32]"), False),
        (body("sort[axis=0, outputs=(False, True)]", "f64[8]", result="i64[8]"), False),
        (body("cumulative_sum[axis=0]", "f64[512]"), True),
        (body("cumulative_sum[axis=0]", "f64[513]"), False),
        (body("sine", "f64[0]"), False),
        (replace(body("sine", "f64[8]"), length=0), False),
        (body(DOT, "f64[7,7]", "f64[7,7]"), True),
        (body(DOT, "f64[2,2]", "f64[2,8]", result="f64[2,8]"), False),
        (body(DOT, "c128[4,4]", "c128[4,8]", result="c128[4,8]"), True),
        (body(DOT, "c128[8,8]", "c128[8,8]"), False),
        (body(DOT, "f64[32,32]", "f64[32,1]", result="f64[32,1]"), True),
        (body(DOT, "f64[33,33]", "f64[33,1]", result="f64[33,1]"), False),
        (body("sort[axis=0, outputs=(True, False)]", "f64[8]"), False),
    ],
    ids=str,
)
def test_what_fits_a_function(loop: Scan, small: bool) -> None:
    assert is_small(loop) == small


# What it computes.


def of_ops(rows: Sequence[tuple[Any, str]]) -> tuple[Function, list[list[NumpyArray]]]:
    """A loop of three iterations that apply some ops, and what they are applied to."""
    ops = [OpFunction(case.op_for(dtype)) for case, dtype in rows]
    arrays = [[np.stack([x] * 3) for x in case.arrays(dtype)] for case, dtype in rows]

    def loops(given: Any) -> Any:
        return [
            tn.scan(lambda c, xs, op=op: (c + 1, apply(op, *xs)), 0, tuple(xs))[1]
            for op, xs in zip(ops, given, strict=True)
        ]

    return loops, arrays


ROWS = [
    (case, dtype)
    for case in CASES
    for dtype in case.dtypes
    if case.operands and not case.name.startswith("dynamic_truncate")
]
"""All but those that make values whose sizes data decide, which no loop does."""
PART = 100


def check_ops(rows: Sequence[tuple[Any, str]]) -> None:
    loops, arrays = of_ops(rows)
    found, expected = (tn.jit(loops, executor=name)(arrays) for name in ("xla", "numpy"))
    for x, y in zip(tn.tree.leaves(found), tn.tree.leaves(expected), strict=True):
        close(np.asarray(x), np.asarray(y))


@pytest.mark.exhaustive
def test_ops_in_a_loop_compute_what_they_do_on_numpy() -> None:
    check_ops(ROWS[::20])


@pytest.mark.exhaustive
@pytest.mark.parametrize("start", range(0, len(ROWS), PART))
def test_all_ops_in_a_loop_compute_what_they_do_on_numpy(start: int) -> None:
    check_ops(ROWS[start : start + PART])


def drawn(draw: random.Random, carry: Sequence[Any], entries: Sequence[Any]) -> tuple[Any, Any]:
    """The next carry, and what is stacked; the carries change places, and some are left alone."""
    values = [*carry, *entries]
    for _ in range(draw.randrange(5)):
        x = draw.choice(values)
        y = draw.choice([each for each in values if each.shape == x.shape])
        values.append(
            draw.choice([tn.sin(x), x * 0.5 - y, x[::-1], tn.where(tn.sum(x) > 1, y, x + 1)])
        )
    after = [draw.choice([v for v in values if v.shape == x.shape][-3:]) for x in carry]
    return after, [draw.choice(values) for _ in range(draw.randrange(3))]


@pytest.mark.exhaustive(but=3)
@pytest.mark.parametrize("seed", range(12))
def test_drawn_loops_compute_what_they_do_without_the_mark(seed: int) -> None:
    draw = random.Random(seed)
    shapes = draw.choices([(3,), (2, 3), (1,)], k=4)
    carry, xs = [RNG.normal(size=s) for s in shapes[:2]], [RNG.normal(size=(5, *shapes[2]))]
    length, state = draw.choice([1, 5]), draw.getstate()

    def loop(carry: Any, xs: Any) -> Any:
        draw.setstate(state)
        return tn.scan(lambda c, x: drawn(draw, c, x), carry, xs, reverse=seed % 2 == 1)

    def counted(carry: Any, xs: Any) -> Any:
        draw.setstate(state)
        first = (0, [*carry, xs[0][0]])
        step = lambda s: (s[0] + 1, drawn(draw, s[1], [])[0])  # noqa: E731
        return tn.while_loop(lambda s: s[0] < length, step, first)

    for function in (loop, counted):
        compare(module_of(function, carry, xs), carry, xs)


@pytest.mark.parametrize("length", [0, 1])
def test_operands_that_no_iteration_reads_do_no_harm(length: int) -> None:
    """XLA ends the process at a parameter of the function that is not read."""
    step = parse("""
    exec_program(%0: i64[], %1: f64[3], %2: f64[3]) {
      %3: i64[] = constant[value=1, dtype=i64]
      %4: i64[] = add %0, %3
      %5: f64[3] = add %2, %2
      %6: f64[3] = multiply %1, %5
      return %4, %5, %6
    }""")
    cond = parse(f"""
    exec_program(%0: i64[], %1: f64[3], %2: f64[3]) {{
      %3: i64[] = constant[value={length}, dtype=i64]
      %4: bool[] = compare[direction='LT'] %0, %3
      return %4
    }}""")
    op = While(cond, step, 0, 0)

    def function(a: Any, b: Any) -> Any:
        return *apply(OpFunction(op), tn.asarray(0), a, b), a

    a, b = np.arange(3.0), np.ones(3)
    for x, y in zip(
        cast(Any, tn.jit(function, executor="xla")(a, b)),
        cast(Any, tn.jit(function, executor="numpy")(a, b)),
        strict=True,
    ):
        close(np.asarray(x), np.asarray(y))


def test_a_donated_start_is_overwritten() -> None:
    def run(x: Any, xs: Any) -> Any:
        return tn.scan(lambda x, y: (tn.sin(x) + y, None), x, xs)[0], tn.sum(xs)

    xs = RNG.normal(size=(5, 4))
    expected = tn.jit(run, executor="numpy")(np.ones(4), xs)
    start = tn.jit(lambda x: x + 1, executor="xla")(np.zeros(4))
    found = tn.jit(run, executor="xla", donate_argnums=(0,))(start, xs)
    close(np.asarray(found[0]), np.asarray(expected[0]))


def test_batched_loops_are_marked_too() -> None:
    batched = tn.vmap(lambda x: tn.while_loop(lambda x: tn.sum(x) < 5, lambda x: x * 1.5 + 0.1, x))
    x = RNG.uniform(size=(3, 4))
    compare(module_of(batched, x), x)


def test_xla_moves_no_constants_into_the_function() -> None:
    (call,) = (
        line
        for line in text_of(recurrent, *operands(8)).splitlines()
        if "@tenferro_loop(" in line and "call" in line
    )
    assert "optimization_barrier" in text_of(recurrent, *operands(8)).partition(call)[0]


# What XLA refuses.


def test_what_xla_refuses_with_a_mark_is_compiled_without() -> None:
    def in_order(x: jax.Array) -> tuple[jax.Array, ...]:
        return (jax.numpy.sort(x) * 2,)

    x = RNG.normal(size=20)
    program = ExecProgram((), (0,), (TensorMeta.of(x.dtype, x.shape),), (0,), 1)
    with jax.enable_x64(True):
        refused = jax.jit(lambda x: as_one_function(lambda xs: in_order(*xs), [x])).lower(x)
        plain = Module(program, jax.jit(in_order).lower(x))
        (result,) = compile_stablehlo(Module(program, refused, lambda: plain), target())(x)
    np.testing.assert_array_equal(result, np.sort(x) * 2)
