"""What derivatives of loops store, and that they are programs like any other."""

from __future__ import annotations

import gc
import subprocess
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import parse
from tenferro.core import FragmentBuilder, differentiate, resolve, transpose
from tenferro.ir import run as exec_run
from tenferro.ir import verify
from tenferro.ops.control_flow import Scan, Switch
from tenferro.ops.functions import OpFunction, apply
from tenferro.serialization import dumps, loads
from tenferro.shape import fresh_input
from tests.graphs import CTX, run
from tests.tolerances import assert_close, rounding
from tests.transforms.differentiable_loops import PROGRAMS

SHAPES = ((3, 3), (3,), (3,), (5,))
SPECS = [tn.TensorSpec(shape, "float64") for shape in SHAPES]
EACH = (0, 1, 2, 3)


def gradient(name: str) -> tn.GraphProgram:
    """The program of the gradient of a function."""
    return tn.make_program(tn.grad(lambda *x: PROGRAMS[name](tn, tn, *x), EACH), *SPECS)


def arguments() -> list[Any]:
    rng = np.random.default_rng(1)
    return [0.5 * rng.normal(size=shape) for shape in SHAPES]


# --- what is stored -------------------------------------------------------------------------------

STEP = parse("""
exec_program(%0: f64[3], %1: f64[3]) {
  %2: f64[3] = multiply %0, %1
  %3: f64[3] = sine %2
  %4: f64[3] = cosine %3
  %5: f64[3] = multiply %4, %0
  %6: f64[3] = tanh %5
  return %6, %4
}""")
LOOP = Scan(STEP, consts=0, carry=1, length=5)


def of_loop(op: Scan) -> Any:
    def f(c: Any, xs: Any) -> Any:
        last, ys = apply(OpFunction(op), c, xs)
        return tn.sum(last * last) + tn.sum(tn.sin(ys))

    return f


def test_a_loop_that_computes_again_stores_its_carry_only() -> None:
    c, xs = np.array([0.5, -1.0, 2.0]), np.linspace(-1, 1, 15).reshape(5, 3)
    results, stacks = [], []
    for checkpoints in (0, 1):
        f = of_loop(LOOP.like(LOOP.body, LOOP.consts, LOOP.carry, checkpoints=checkpoints))
        results.append(tn.jit(tn.grad(f, (0, 1)), executor="numpy")(c, xs))
        specs = [tn.TensorSpec(x.shape, "float64") for x in (c, xs)]
        forward, _ = tn.make_program(tn.grad(f), *specs).exec_program.ops_of(Scan)
        stacks.append(forward.n_outputs - forward.carry)
    for stored, again in zip(*results, strict=True):
        assert_close(again.numpy(), stored.numpy(), rounding("f64"))
    assert stacks[1] == 2 < stacks[0]  # the carry, and the ys that the function reads


def test_second_derivatives_of_a_loop_that_computes_again() -> None:
    c, xs = np.array([0.5, -1.0, 2.0]), np.linspace(-1, 1, 15).reshape(5, 3)
    results = []
    for checkpoints in (0, 1):
        f = of_loop(LOOP.like(LOOP.body, LOOP.consts, LOOP.carry, checkpoints=checkpoints))
        over = tn.grad(lambda c, xs, f=f: tn.sum(tn.sin(tn.grad(f)(c, xs))), (0, 1))
        results.append(tn.jit(over, executor="numpy")(c, xs))
    for stored, again in zip(*results, strict=True):
        assert_close(again.numpy(), stored.numpy(), rounding("f64"))


def test_what_depends_on_consts_alone_is_computed_before_the_loop() -> None:
    def f(w: Any, xs: Any) -> Any:
        return tn.sum(tn.scan(lambda c, x: (tn.sin(w * w) * c + x, None), w, xs)[0])

    specs = [tn.TensorSpec((3,), "float64"), tn.TensorSpec((5, 3), "float64")]
    program = tn.make_program(tn.grad(f), *specs).exec_program
    for loop in program.ops_of(Scan):
        assert not {"sine", "cosine"} & {op.name for op in loop.body.ops()}


def test_an_entry_is_read_where_it_lies() -> None:
    """The entries of xs are no values to be stored."""

    def f(c: Any, xs: Any) -> Any:
        return tn.sum(tn.scan(lambda c, x: (c * x, None), c, xs)[0])

    specs = [tn.TensorSpec((3,), "float64"), tn.TensorSpec((5, 3), "float64")]
    (backward,) = tn.make_program(tn.grad(f), *specs).exec_program.ops_of(Scan)
    assert (backward.reverse, backward.n_outputs) == (True, 1)


def test_value_and_gradient_of_a_choice_are_one_choice() -> None:
    """Branches share results by type, and pass on inside what the derivative reads."""

    def f(x: Any, i: Any) -> Any:
        return tn.sum(tn.switch(i, [lambda: tn.sin(tn.exp(x)), lambda: tn.tanh(x), lambda: x]))

    specs = [tn.TensorSpec((3,), "float64"), tn.TensorSpec((), "int64")]
    (chosen,) = tn.make_program(tn.value_and_grad(f), *specs).exec_program.ops_of(Switch)
    assert chosen.n_outputs == 2


@pytest.mark.exhaustive
def test_a_bounded_loop_stores_few_of_its_rounds() -> None:
    def f(w: Any, c: Any) -> Any:
        result = tn.while_loop(
            lambda c: c[0] < 1e9, lambda c: tn.sin(c * w) + 0.5, c, max_steps=20_000
        )
        return tn.sum(result)

    compiled = tn.jit(tn.grad(f, (0, 1)), executor="numpy")
    args = np.full(1000, 0.7), np.ones(1000)
    compiled(*args)
    tracemalloc.start()
    try:
        compiled(*args)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20e6


# --- programs like any other ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["backwards", "conditional_rounds", "until", "nested"])
def test_a_gradient_is_printed_read_verified_and_filed(name: str) -> None:
    program = gradient(name)
    exec_program = program.exec_program
    again = parse(str(exec_program))
    verify(again)
    assert str(again) == str(exec_program)
    assert again.digest == exec_program.digest
    loaded = loads(dumps(program))
    args = arguments()
    results = [tn.call(each, *args) for each in (program, loaded)]
    for own, other in zip(*results, strict=True):
        np.testing.assert_array_equal(own.numpy(), other.numpy())


def digests() -> list[str]:
    names = ("backwards", "conditional_rounds", "until")
    return [gradient(name).exec_program.digest for name in names]


@pytest.mark.exhaustive
def test_a_gradient_reads_alike_in_all_traces_and_processes() -> None:
    first = digests()
    gc.collect()
    assert digests() == first
    code = (
        "from tests.transforms.test_loop_programs_of_derivatives import digests; print(*digests())"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "7", "PYTHONPATH": ":".join(sys.path)},
    )
    assert ran.stdout.split() == first


@pytest.mark.parametrize("name", ["backwards", "conditional_rounds", "until"])
def test_the_derivatives_of_a_graph_with_loops_survive_a_file(name: str) -> None:
    """The graph of a program, its linear part, and the transpose of that."""
    specs = [tn.TensorSpec((3, 3), "float64"), *SPECS[1:]]
    program = tn.make_program(
        lambda *x: PROGRAMS[name](tn, tn, *x), *specs, options=tn.OptimizerOptions.none()
    ).exec_program
    builder: FragmentBuilder[Any] = FragmentBuilder()
    inputs: list[Any] = [builder.input(fresh_input(meta, "x").key) for meta in program.input_metas]
    outputs = exec_run(program, inputs, lambda step, x: builder.add(step.op, x))
    whole = builder.build(outputs)
    results = []
    for fragment in (whole, loads(dumps(whole))):
        linear = differentiate(
            resolve([fragment]), fragment.output_keys, fragment.input_keys, ctx=CTX
        )
        reverse = transpose(linear, ctx=CTX)
        for saved in (linear, reverse):
            assert dumps(loads(dumps(saved))) == dumps(saved)
        cts = [key for key in reverse.output_keys if key is not None]
        given = dict(zip(fragment.input_keys, arguments(), strict=True))
        given |= {reverse.input_keys[0]: np.ones(())}
        results.append(run(resolve([fragment, reverse.fragment]), cts, given))
    for own, other in zip(*results, strict=True):
        np.testing.assert_array_equal(own, other)
    wanted = tn.call(gradient(name), *arguments())
    for own, other in zip(results[0], wanted, strict=False):
        assert_close(own, other.numpy(), rounding("f64"))
