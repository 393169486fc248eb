"""Repeated structure of a program becomes a loop that computes the same bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tenferro as tn
from tenferro.compiler import OptimizerOptions, Reroll, optimize, parse
from tenferro.compiler.reroll.iterations import Iterations, Rolled, Sequence, find_runs
from tenferro.compiler.reroll.loop import Loop, RerolledBody
from tenferro.compiler.reroll.reroll import ValueNumbers
from tenferro.ir import ExecProgram, verify
from tenferro.ops.control_flow import Scan
from tenferro.shape import SymDim
from tests.compiler.repeated import repeated
from tests.programs import arguments, assert_leaves_alone, assert_rewrites, run

SMALL = Reroll(iterations=4, saves=0)
UNROLLED = OptimizerOptions(reroll=False)
RNG = np.random.default_rng(5)
MATRIX, VECTOR = RNG.normal(size=(4, 4)), RNG.normal(size=4)


def program_of(function: Callable[..., Any], *arguments: Any) -> ExecProgram:
    """The program before it is rolled."""
    return tn.make_program(function, *arguments, options=UNROLLED).exec_program


def rolled(program: ExecProgram, rolling: Reroll | None = None) -> ExecProgram:
    """The program with loops, which must compute the same bits."""
    result = (rolling or Reroll()).run(program)
    verify(result)
    inputs = arguments(program)
    for before, after in zip(run(program, inputs), run(result, inputs), strict=True):
        assert after.dtype == before.dtype
        assert after.shape == before.shape
        assert after.tobytes() == before.tobytes()
    return result


def loops(program: ExecProgram) -> list[Scan]:
    return program.ops_of(Scan)


def sites(program: ExecProgram) -> list[str]:
    """What the loops of the outermost program say of themselves, without the line."""
    return [str(step.site).partition(" at ")[0] for step in program.steps_of(Scan)]


def rk4(steps: int) -> Callable[[Any, Any], Any]:
    def slope(a: Any, y: Any) -> Any:
        return tn.tanh(a @ y)

    def solve(a: Any, y: Any) -> Any:
        for _ in range(steps):
            k1 = slope(a, y)
            k2 = slope(a, y + 0.05 * k1)
            k3 = slope(a, y + 0.05 * k2)
            k4 = slope(a, y + 0.1 * k3)
            y = y + 0.1 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return tn.sum(y)

    return solve


def chain(sites: Any) -> Any:
    value = tn.ones(3)
    for number in range(sites.shape[0]):
        value = tn.tanh(value @ sites[number])
    return tn.sum(value)


def test_a_python_loop_becomes_a_loop() -> None:
    result = rolled(program_of(rk4(200), MATRIX, VECTOR))
    assert sites(result) == ["rolled: 200 rounds of 21 instructions"]
    assert len(result.instructions) == 2
    assert str(result.steps_of(Scan)[0].site).startswith(
        "rolled: 200 rounds of 21 instructions at test_reroll.py:"
    )


def test_the_size_of_a_gradient_does_not_depend_on_the_number_of_steps() -> None:
    """The backward loop reads what the forward loop has kept, from the last round to the first."""
    programs = [rolled(program_of(tn.grad(rk4(steps)), MATRIX, VECTOR)) for steps in (60, 200)]
    assert len({len(program.instructions) for program in programs}) == 1
    assert [loop.reverse for loop in loops(programs[1])] == [False, True]
    assert sum(int(str(loop.length)) for loop in loops(programs[1])) == 199 + 198


def test_a_chain_of_equal_tensors_and_its_gradient() -> None:
    tensors = RNG.normal(size=(200, 3, 3))
    value = rolled(program_of(chain, tensors))
    assert sites(value) == ["rolled: 200 rounds of 4 instructions"]
    gradient = rolled(program_of(tn.grad(chain), tensors))
    assert len(gradient.instructions) < 20
    assert len(loops(gradient)) == 2


def test_a_chain_of_unequal_bonds_stays() -> None:
    tensors = [np.ones((2 + i % 7 + i // 30, 2 + (i + 1) % 7 + (i + 1) // 30)) for i in range(200)]

    def contract(tensors: Any) -> Any:
        value = tn.ones(2)
        for tensor in tensors:
            value = tn.tanh(value @ tensor)
        return tn.sum(value)

    program = program_of(contract, tensors)
    assert Reroll().run(program) is program


def nested(y: Any) -> Any:
    for _ in range(20):
        for _ in range(20):
            y = tn.tanh(y) * 0.9
        y = y + tn.sin(y)
    return y


def in_time(y: Any) -> Any:
    for number in range(100):
        y = tn.sin(y * (1.0 + number)) + tn.cos(y)
    return y


def two_rounds_ago(y: Any) -> Any:
    before = y
    for _ in range(100):
        y, before = 2 * y - before - 0.1 * tn.sin(y), y
    return y


def alternating(y: Any) -> Any:
    """The sequence of ops has half the period of the operands."""
    z = tn.cos(y)
    for _ in range(60):
        y = tn.sin(y) + y
        y = tn.sin(y) + z
    return y


def collected(y: Any) -> Any:
    values = []
    for _ in range(100):
        y = tn.sin(tn.tanh(y))
        values.append(tn.sum(tn.exp(y)))
    return tn.stack(values)


@pytest.mark.parametrize(
    ("function", "site"),
    [
        (nested, "20 rounds of 42 instructions"),
        (in_time, "99 rounds of 4 instructions"),
        (two_rounds_ago, "100 rounds of 5 instructions"),
        (alternating, "58 rounds of 4 instructions"),
        (collected, "100 rounds of 5 instructions"),
    ],
)
def test_loops_of_all_kinds(function: Callable[[Any], Any], site: str) -> None:
    result = rolled(program_of(function, VECTOR), Reroll(saves=67))
    assert sites(result) == [f"rolled: {site}"]
    assert len(result.instructions) < 12


def test_a_loop_in_a_loop_is_rolled_in_its_body() -> None:
    (outer,) = loops(rolled(program_of(nested, VECTOR), Reroll(saves=17)))
    (inner,) = outer.body.ops_of(Scan)
    assert (outer.length, inner.length) == (20, 20)


def test_inputs_are_stacked_if_that_costs_less_than_it_saves() -> None:
    def recurrent(weights: Any) -> Any:
        value = tn.ones(4)
        for weight in weights:
            value = tn.sin(tn.cos(value * weight) + tn.tanh(value)) * 0.5
        return value

    program = program_of(recurrent, [RNG.normal(size=4) for _ in range(40)])
    assert len(loops(rolled(program, Reroll(saves=67)))) == 1
    assert Reroll(saves=200).run(program) is program


def test_a_family_may_be_in_a_loop() -> None:
    def solve(a: Any, y: Any) -> Any:
        for _ in range(20):
            y = tn.sin(tn.linalg.solve(a, tn.tanh(y)))
        return y

    program = program_of(solve, MATRIX, VECTOR)
    result = Reroll(saves=4).run(program)
    assert len(loops(result)) == 1
    one, other = (
        tn.jit(solve, executor="numpy", options=OptimizerOptions(reroll=on))(MATRIX, VECTOR)
        for on in (True, False)
    )
    np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


def test_a_program_with_named_sizes_is_rolled_when_they_are_known() -> None:
    """Sizes may be rounded up, and nothing masks the padding in a loop."""
    program = program_of(in_time, tn.TensorSpec(("n",), "float64"))
    rolling = Reroll(saves=67)
    assert rolling.run(program) is program
    (loop,) = loops(rolling.run(program.bind({SymDim("n"): 5})))
    assert str(loop.body.input_metas[0]) == "f64[5]"


def test_the_option_turns_it_off() -> None:
    on = tn.make_program(rk4(20), MATRIX, VECTOR).exec_program
    off = tn.make_program(rk4(20), MATRIX, VECTOR, options=UNROLLED).exec_program
    assert (len(loops(on)), len(loops(off))) == (1, 0)


ROUND = """
  %{1}: f64[3] = sine %{0}
  %{2}: f64[3] = cosine %{1}"""
LINES = "".join(ROUND.format(i, i + 1, i + 2).replace("{", "") for i in range(1, 9, 2))


def test_a_program_as_text() -> None:
    assert_rewrites(
        SMALL,
        before=f"exec_program(%0: f64[3], %1: f64[3]) {{{LINES}\n  %10: f64[3] = add %9, %0\n"
        "  return %10\n}",
        after="""
            exec_program(%0: f64[3], %1: f64[3]) {
              %9: f64[3] = scan[consts=0, carry=1, length=4] %1 {  # rolled: 4 rounds of 2 instructions
                body(%0: f64[3]) {
                  %1: f64[3] = sine %0!
                  %2: f64[3] = cosine %1!
                  return %2
                }
              }
              %10: f64[3] = add %9, %0
              return %10
            }""",  # noqa: E501
    )


def test_too_few_rounds_stay() -> None:
    text = f"exec_program(%0: f64[3], %1: f64[3]) {{{LINES}\n  return %9\n}}"
    assert_leaves_alone(Reroll(iterations=5, saves=0), text)


def test_a_small_program_is_not_searched() -> None:
    text = f"exec_program(%0: f64[3], %1: f64[3]) {{{LINES}\n  return %9\n}}"
    assert_leaves_alone(Reroll(), text)


def test_operands_without_a_rule_stay() -> None:
    """The distance from which the third operand comes is another one in each round."""
    steps = [
        f"%{2 * i + 1}: f64[3] = sine %{2 * i}\n"
        f"%{2 * i + 2}: f64[3] = add %{2 * i + 1}, %{(i * i * 7) % (2 * i + 1)}"
        for i in range(20)
    ]
    lines = "\n".join(steps)
    assert_leaves_alone(SMALL, f"exec_program(%0: f64[3]) {{\n{lines}\n  return %40\n}}")


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_random_bodies_with_random_wiring_keep_their_bits(seed: int) -> None:
    program = optimize(repeated(seed), UNROLLED)
    rolled(program, Reroll(iterations=2, saves=0))


def test_random_bodies_are_rolled() -> None:
    """So that the test above tests something."""
    programs = [optimize(repeated(seed), UNROLLED) for seed in range(30)]
    small = Reroll(iterations=2, saves=0)
    assert len([p for p in programs if small.run(p) is not p]) >= 8


def test_a_loop_that_computes_something_else_is_refused() -> None:
    """The loop is replayed before it replaces its rounds."""
    program = parse(f"exec_program(%0: f64[3], %1: f64[3]) {{{LINES}\n  return %9\n}}")
    sequence = Sequence(program)
    (run_,) = find_runs(sequence.symbols, 4, 8)
    loop = Loop(sequence, Iterations(sequence, run_, Rolled(sequence)), [])
    loop.ask_single(9, (1, 0), 3)
    body = RerolledBody(loop)
    values = ValueNumbers(sequence)
    assert values.replay(loop, loop.scan(body.program, 0), body.consts)
    first, second = body.program.instructions
    swapped = (replace(first, op=second.op), replace(second, op=first.op))
    other = replace(body.program, instructions=swapped)
    assert not values.replay(loop, loop.scan(other, 0), body.consts)
    late = replace(body.program, output_slots=first.output_slots)
    assert not values.replay(loop, loop.scan(late, 0), body.consts)
