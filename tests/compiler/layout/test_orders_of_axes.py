"""Any choice of orders keeps a program's results; the search takes what is cheaper."""

from dataclasses import fields, replace

from hypothesis import given
from hypothesis import strategies as st

import tenferro as tn
from tenferro.compiler import (
    CPU,
    ContractionLayout,
    DeviceCosts,
    OptimizerOptions,
    optimize,
)
from tenferro.compiler.layout import LayoutRewrite, Problem, ProgramWriter, choose_orders
from tenferro.compiler.layout.assignment import estimate
from tenferro.compiler.layout.requests import Choice, ContractionRules, Requests
from tenferro.ir import ExecProgram, verify
from tenferro.ops import Transpose
from tests.programs import PASSES, assert_same_results, read
from tests.random_contractions import contraction_programs

DECIDED = st.sampled_from([None, True, False])
CHOICES = st.builds(Choice, *[DECIDED] * 6)

OUTER = """
    exec_program(%0: c128[3,1], %1: c128[3], %2: c128[10]) {
      %3: c128[3,1,10] = dot_general[(), ()] %0, %2
      %4: c128[1,10] = dot_general[(0,), (0,)] %3, %1
      return %4
    }"""
"""The larger operand of the last contraction may as well be the right one, and stay as it is."""


TWICE = """
    exec_program(%0: f64[10,20,30], %1: f64[10,30,5], %2: f64[20,7]) {
      %3: f64[20,5] = dot_general[(0, 2), (0, 1)] %0, %1
      %4: f64[7,10,30] = dot_general[(0,), (1,)] %2, %0
      return %3, %4
    }"""
"""The second contraction can read the copy that the first one needs: [20,10,30]."""

AS_ONE = Choice(repeated=False, split=False)


@given(contraction_programs(), st.data())
def test_any_choices_keep_types_and_results(program: ExecProgram, data: st.DataObject) -> None:
    problem = Problem(program)
    choices = {slot: data.draw(CHOICES) for slot in problem.contractions}
    writer, requests = (
        ProgramWriter(),
        Requests(ContractionRules(problem, CPU), choices, data.draw(st.booleans())),
    )
    result = writer.build(LayoutRewrite(requests, writer).run())
    verify(result)
    assert result.input_metas == program.input_metas
    assert result.output_metas == program.output_metas
    assert_same_results(program, result, {})


@given(contraction_programs(), st.data())
def test_what_was_decided_for_other_choices_changes_no_estimate(
    program: ExecProgram, data: st.DataObject
) -> None:
    """Rules that have answered before say the same as new ones."""
    problem = Problem(program)
    asked = ContractionRules(problem, CPU)
    for _ in range(3):
        choices = {slot: data.draw(CHOICES) for slot in problem.contractions}
        shares = data.draw(st.booleans())
        assert estimate(asked, choices, shares) == estimate(
            ContractionRules(problem, CPU), choices, shares
        )


@given(contraction_programs())
def test_the_estimate_counts_the_moves_that_are_written(program: ExecProgram) -> None:
    """With every transpose at one second and nothing else at any, seconds are transposes."""
    free = dict.fromkeys((field.name for field in fields(DeviceCosts)), 0.0)
    costs = DeviceCosts(**{**free, "kernel": 1.0})
    problem, writer = Problem(program), ProgramWriter()
    result = writer.build(LayoutRewrite(Requests(ContractionRules(problem, costs)), writer).run())
    transposes = sum(step.op.name == "transpose" for step in result.instructions)
    assert estimate(ContractionRules(problem, costs), {}).seconds == transposes


def test_the_search_finds_what_the_rules_miss() -> None:
    problem = Problem(read(OUTER))
    costs = replace(CPU, move=1e-3, load=1e-3)
    by_rules = estimate(ContractionRules(problem, costs), {}).seconds
    chosen = choose_orders(problem, costs)
    assert (
        estimate(ContractionRules(problem, costs), dict(chosen.choices)).seconds < 0.01 * by_rules
    )
    writer = ProgramWriter()
    result = writer.build(LayoutRewrite(chosen, writer).run())
    assert_same_results(problem.program, result, {})


def test_sides_stay_where_exchanging_them_would_move_more() -> None:
    program = read("""
        exec_program(%0: f32[100,300], %1: f32[300,300], %2: bool[100,300], %3: f32[100,700]) {
          %4: f32[100,300] = dot_general[(1,), (1,)] %0, %1
          %5: f32[100,300] = select %2, %4, %4
          %6: f32[100,300] = dot_general[(1,), (1,)] %5, %1
          %7: f32[100,300] = select %2, %6, %6
          %8: f32[700,300] = dot_general[(0,), (0,)] %3, %7
          return %8
        }""")
    assert len(ContractionLayout().run(program).ops_of(Transpose)) == 1  # of %3


def test_a_product_reads_the_copy_that_was_made_for_another_one() -> None:
    problem = Problem(read(TWICE))
    rules = ContractionRules(problem, replace(CPU, contracted_first=0.6, pack=0.0, move=3.4e-9))
    apart, shared = (
        estimate(rules, dict.fromkeys((3, 4), AS_ONE), shares) for shares in (False, True)
    )
    assert shared.seconds < 0.7 * apart.seconds
    requests = Requests(rules, shared.choices, shares_copies=True)
    writer = ProgramWriter()
    result = writer.build(LayoutRewrite(requests, writer).run())
    assert [step.op.name for step in result.instructions].count("transpose") == 1
    assert_same_results(problem.program, result, {})


def test_costs_are_an_option() -> None:
    """Where a transpose costs nothing, a left operand contracted first is turned."""
    program = read(
        """
        exec_program(%0: f64[40,50], %1: f64[40,3], %2: f64[50,4]) {
          %3: f64[50,3] = dot_general[(0,), (0,)] %0, %1
          %4: f64[3,4] = dot_general[(0,), (0,)] %3, %2
          return %4
        }"""
    )

    def transposes(**costs: float) -> int:
        options = OptimizerOptions(layout_costs=replace(CPU, **costs))
        result = optimize(program, options, PASSES)
        assert_same_results(program, result, {})
        return sum(step.op.name == "transpose" for step in result.instructions)

    assert transposes(move=0.0, load=0.0, kernel=0.0) > transposes(kernel=1.0)


def test_a_layout_pass_of_the_callers_own_keeps_its_costs() -> None:
    program = read(OUTER)
    own = ContractionLayout(replace(CPU, kernel=1.0))
    assert str(optimize(program, passes=[own])) == str(optimize(own.run(program), passes=[]))


def test_unwritten_values_that_are_read_twice_are_computed_once() -> None:
    """A transpose of a value that waits for its order hands it to several readers."""

    def f(x: tn.TracedTensor, m: tn.TracedTensor) -> tuple[tn.TracedTensor, ...]:
        t = tn.transpose(tn.exp(tn.broadcast_to(x[:, :, None], (30, 40, 50))), (2, 1, 0))
        return tn.max(t, axis=2), tn.sum(t, axis=1), m @ m @ m

    program = tn.make_program(f, tn.TensorSpec((30, 40)), tn.TensorSpec((9, 9))).exec_program
    assert [step.op.name for step in program.instructions].count("exponential") == 1


def test_repeated_values_through_many_transposes_stay_few_steps() -> None:
    def f(x: tn.TracedTensor, m: tn.TracedTensor) -> tuple[tn.TracedTensor, ...]:
        v = tn.broadcast_to(x[:, :, None, None], (2, 2, 2, 2))
        for i in range(30):
            v = tn.transpose(tn.exp(v), (1, 0, 2, 3) if i % 2 else (0, 1, 3, 2))
            v = v * v
        return v, m @ m @ m

    program = tn.make_program(f, tn.TensorSpec((2, 2)), tn.TensorSpec((3, 3))).exec_program
    assert len(program.instructions) < 150


def test_sizes_beyond_all_bounds_are_left_to_who_refuses_them() -> None:
    def f(x: tn.TracedTensor, m: tn.TracedTensor) -> tn.TracedTensor:
        return tn.tensordot(tn.tensordot(x, m, 1), m, 1)

    specs = [tn.TensorSpec((2**50,) * 25), tn.TensorSpec((2**50, 2**50))]
    assert len(tn.make_program(f, *specs).exec_program.instructions) >= 2
