"""Loops over the same slices become one, and contract what they share once."""

from dataclasses import replace

import pytest

from tenferro.compiler import LoopFusion, OptimizerOptions, optimize, parse
from tenferro.compiler.canonical.loop_fusion import with_fused
from tenferro.config import config
from tenferro.errors import VerifyError
from tenferro.ir import verify
from tenferro.ops.control_flow import Scan
from tests.programs import assert_leaves_alone, assert_rewrites, assert_same_results, dots

TWO_LOOPS = """
exec_program(%0: f64[3,3], %1: f64[4,3], %2: i64[], %3: f64[], %4: f64[3]) {
  %5: i64[], %6: f64[] = scan[consts=1, carry=2, length=4] %0, %2, %3, %1 {
    body(%0: f64[3,3], %1: i64[], %2: f64[], %3: f64[3]) {
      %4: i64[] = constant[value=1, dtype=i64]
      %5: i64[] = add %1, %4
      %6: f64[3] = dot_general[lhs_contract=(1,), rhs_contract=(0,)] %0, %3
      %7: f64[] = reduce_sum[axes=(0,)] %6
      %8: f64[] = add %2, %7
      return %5, %8
    }
  }
  %7: f64[] = sine %6
  %8: f64[3] = negate %4
  %9: i64[], %10: f64[3], %11: i64[4] = scan[consts=1, carry=2, length=4] %0, %2, %8, %1 {
    body(%0: f64[3,3], %1: i64[], %2: f64[3], %3: f64[3]) {
      %4: f64[3] = dot_general[lhs_contract=(1,), rhs_contract=(0,)] %0, %3
      %5: f64[3] = add %2, %4
      %6: i64[] = constant[value=1, dtype=i64]
      %7: i64[] = add %1, %6
      return %7, %5, %1
    }
  }
  return %7, %9, %10, %11
}"""
STARTING_ALIKE = """
exec_program(%0: f64[3,3], %1: f64[4,3], %2: f64[3]) {
  %3: f64[3] = scan[consts=1, carry=1, length=4] %0, %2, %1 {
    body(%0: f64[3,3], %1: f64[3], %2: f64[3]) {
      %3: f64[3] = dot_general[lhs_contract=(1,), rhs_contract=(0,)] %0, %2
      %4: f64[3] = add %1, %3
      return %4
    }
  }
  %4: f64[3] = scan[consts=1, carry=1, length=4] %0, %2, %1 {
    body(%0: f64[3,3], %1: f64[3], %2: f64[3]) {
      %3: f64[3] = dot_general[lhs_contract=(1,), rhs_contract=(0,)] %0, %2
      %4: f64[3] = subtract %1, %3
      return %4
    }
  }
  return %3, %4
}"""


def test_two_loops_with_a_common_contraction_are_one() -> None:
    """The counter is carried once; what the second loop needs comes before both."""
    assert_rewrites(
        LoopFusion(),
        before=TWO_LOOPS,
        after="""
            exec_program(%0: f64[3,3], %1: f64[4,3], %2: i64[], %3: f64[], %4: f64[3]) {
              %8: f64[3] = negate %4
              %5: i64[], %6: f64[], %10: f64[3], %11: i64[4] = scan[consts=1, carry=3, length=4] %0, %2, %3, %8, %1 {
                body(%0: f64[3,3], %1: i64[], %2: f64[], %3: f64[3], %4: f64[3]) {
                  %5: i64[] = constant[value=1, dtype=i64]
                  %6: i64[] = add %1, %5!
                  %7: f64[3] = dot_general[(1,), (0,)] %0!, %4!
                  %8: f64[] = reduce_sum[axes=(0,)] %7
                  %9: f64[] = add %2!, %8!
                  %10: f64[3] = add %3!, %7!
                  return %6, %9, %10, %1
                }
              }
              %7: f64[] = sine %6
              return %7, %5, %10, %11
            }""",  # noqa: E501
    )


@pytest.mark.parametrize(
    ("part", "changed"),
    [
        ("%8: f64[3] = negate %4", "%8: f64[3] = broadcast_in_dim[shape=(3,), dims=()] %6"),
        ("%0, %2, %8, %1 {", "%0, %2, %8, %12 {"),
        ("carry=2, length=4] %0, %2, %8", "carry=2, length=4, reverse=True] %0, %2, %8"),
        (
            "%4: f64[3] = dot_general[lhs_contract=(1,)",
            "%4: f64[3] = dot_general[lhs_contract=(0,)",
        ),
    ],
    ids=["needs the first", "other slices", "other direction", "no common work"],
)
def test_loops_are_left_apart(part: str, changed: str) -> None:
    text = TWO_LOOPS.replace("%4: f64[3]) {", "%4: f64[3], %12: f64[4,3]) {", 1)
    assert part in text
    assert_leaves_alone(LoopFusion(), text.replace(part, changed))


def test_loops_of_other_lengths_are_left_apart() -> None:
    first = TWO_LOOPS.split("  %9:")[0].replace(" %1: f64[4,3]", " %1: f64[4,3], %20: f64[5,3]")
    second = """  %21: f64[3] = scan[consts=1, carry=1, length=5] %0, %8, %20 {
        body(%0: f64[3,3], %1: f64[3], %2: f64[3]) {
          %3: f64[3] = dot_general[lhs_contract=(1,), rhs_contract=(0,)] %0, %2
          %4: f64[3] = add %1, %3
          return %4
        }
      }
      return %7, %21
    }"""
    assert_leaves_alone(LoopFusion(), first + second)


def test_carries_that_only_start_alike_stay_apart() -> None:
    """Both start from %3; from the second round on they differ, and so does what reads them."""
    program = parse(STARTING_ALIKE)
    joined = LoopFusion().run(program)
    (step,) = joined.instructions
    assert isinstance(step.op, Scan)
    assert step.op.carry == 2
    assert_same_results(program, joined, {})


def test_three_loops_become_one_and_a_loop_in_a_body_is_joined() -> None:
    loop = """
        %{0}: f64[3] = scan[consts=1, carry=1, length=4] %0, %{1}, %1 {{
          body(%0: f64[3,3], %1: f64[3], %2: f64[3]) {{
            %3: f64[3] = dot_general[lhs_contract=(1,), rhs_contract=(0,)] %0, %2
            %4: f64[3] = {2} %1, %3
            return %4
          }}
        }}"""
    loops = "".join(
        loop.format(number + 3, 2, op) for number, op in enumerate(("add", "subtract", "multiply"))
    )
    inner = f"(%0: f64[3,3], %1: f64[4,3], %2: f64[3]) {{{loops}\n return %3, %4, %5\n }}"
    joined = optimize(parse(f"exec_program{inner}"))
    assert [step.op.name for step in joined.instructions] == ["scan"]
    assert dots(joined) == 4
    outer = f"""exec_program(%0: f64[3,3], %1: f64[4,3], %2: f64[3]) {{
      %3: f64[3], %4: f64[2,3], %5: f64[2,3] = scan[consts=2, carry=1, length=2] %0, %1, %2 {{
        body{inner}
      }}
      return %3, %4, %5
    }}"""
    assert dots(optimize(parse(outer))) == 2 * 4
    assert dots(optimize(parse(outer), OptimizerOptions(scan_fusion=False))) == 2 * 12


FED = """
exec_program(%0: f64[], %1: f64[4], %2: f64[]) {
  %3: f64[], %4: f64[4] = scan[consts=0, carry=1, length=4] %0, %1 {
    body(%0: f64[], %1: f64[]) {
      %2: f64[] = multiply %0, %1
      return %2, %2
    }
  }
  %5: f64[] = sine %2
  %6: f64[] = scan[consts=0, carry=1, length=4] %5, %4 {
    body(%0: f64[], %1: f64[]) {
      %2: f64[] = add %0, %1
      return %2
    }
  }
  return %3, %6
}"""


def test_a_loop_reads_what_another_stacks_in_the_same_round() -> None:
    """Tangents so go along with values: no stack is left."""
    joined = optimize(parse(FED))
    (loop,) = joined.ops_of(Scan)
    assert (loop.carry, len(loop.body.output_slots)) == (2, 2)
    assert_same_results(parse(FED), joined, {})


@pytest.mark.parametrize(
    "change",
    [
        ("sine %2", "sine %3"),  # the start depends on the end of the first loop
        ("length=4] %5", "length=4, reverse=True] %5"),
        ("length=4] %5", "length=4, unroll=2] %5"),
    ],
)
def test_a_loop_that_needs_more_of_the_other_stays_apart(change: tuple[str, str]) -> None:
    assert_leaves_alone(LoopFusion(), FED.replace(*change))


READS_TWICE = """
exec_program(%0: f64[3], %1: f64[]) {
  %2: f64[], %3: f64[3] = scan[consts=0, carry=1, length=3] %1, %0, %0 {
    body(%0: f64[], %1: f64[], %2: f64[]) {
      %3: f64[] = multiply %0, %1
      %4: f64[] = add %3, %2
      return %4, %3
    }
  }
  %4: f64[] = scan[consts=0, carry=1, length=3] %1, %3, %0, %0 {
    body(%0: f64[], %1: f64[], %2: f64[], %3: f64[]) {
      %4: f64[] = multiply %1, %2
      %5: f64[] = add %4, %3
      %6: f64[] = add %0, %5
      return %6
    }
  }
  return %2, %4
}"""


def test_loops_may_read_the_same_entries_several_times() -> None:
    before = parse(READS_TWICE)
    after = LoopFusion().run(before)
    verify(after)
    (loop,) = after.steps_of(Scan)
    assert len(loop.input_slots) == len(loop.op.body.input_slots)
    assert_same_results(before, after, {})


def test_the_verifier_compares_operands_with_the_inputs_of_bodies() -> None:
    program = parse(READS_TWICE)
    first, second = program.instructions
    fewer = replace(second, input_slots=second.input_slots[:-1], last_use=())
    with pytest.raises(VerifyError, match=r"scan: takes 4 operands .* got 3"):
        verify(replace(program, instructions=(first, fewer)))


def test_what_is_joined_is_verified_before_it_is_joined_again() -> None:
    assert config.verify
    program = parse(READS_TWICE)
    first = program.instructions[0]
    broken = replace(first, input_slots=first.input_slots[:-1], last_use=())
    with pytest.raises(VerifyError, match=r"scan: takes 3 operands .* got 2"):
        with_fused(program, 0, 1, broken)
