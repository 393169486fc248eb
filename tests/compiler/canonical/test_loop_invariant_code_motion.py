"""What is the same in all rounds goes out of a loop, and scalar constants go into it."""

from __future__ import annotations

import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import LoopInvariantCodeMotion, OptimizerOptions, optimize, parse
from tenferro.ir import evaluate, verify
from tests.programs import assert_leaves_alone, assert_rewrites
from tests.sampling import EXECUTORS


def test_what_reads_consts_alone_is_computed_before_the_loop() -> None:
    assert_rewrites(
        LoopInvariantCodeMotion(),
        before="""
            exec_program(%0: f64[2,3], %1: f64[2], %2: f64[4,3]) {
              %3: f64[2], %4: f64[4,2] = scan[consts=1, carry=1, length=4] %0, %1, %2 {
                body(%0: f64[2,3], %1: f64[2], %2: f64[3]) {
                  %3: f64[3,2] = transpose[perm=(1, 0)] %0
                  %4: f64[3,2] = exponential %3  # user.py:4
                  %5: f64[2] = reduce_sum[axes=(0,)] %4
                  %6: f64[] = constant[value=2.0, dtype=f64]
                  %7: f64[2] = broadcast_in_dim[shape=(2,), dims=()] %6
                  %8: f64[2] = dot_general[(0,), (0,)] %4, %2
                  %9: f64[2] = multiply %8, %7
                  %10: f64[2] = add %1, %9
                  return %10, %5
                }
              }
              return %3, %4
            }""",
        after="""
            exec_program(%0: f64[2,3], %1: f64[2], %2: f64[4,3]) {
              %5: f64[3,2] = transpose[perm=(1, 0)] %0
              %6: f64[3,2] = exponential %5  # user.py:4
              %7: f64[2] = reduce_sum[axes=(0,)] %6
              %8: f64[2], %9: f64[4,2] = scan[consts=3, carry=1, length=4] %0, %6, %7, %1, %2 {
                body(%0: f64[2,3], %4: f64[3,2], %5: f64[2], %1: f64[2], %2: f64[3]) {
                  %3: f64[3,2] = transpose[perm=(1, 0)] %0!
                  %6: f64[] = constant[value=2.0, dtype=f64]
                  %7: f64[2] = broadcast_in_dim[shape=(2,), dims=()] %6!
                  %8: f64[2] = dot_general[(0,), (0,)] %4!, %2!
                  %9: f64[2] = multiply %8!, %7!
                  %10: f64[2] = add %1!, %9!
                  return %10, %5
                }
              }
              return %8, %9
            }""",
    )


def test_constants_of_the_program_stand_in_the_bodies_that_read_them() -> None:
    assert_rewrites(
        LoopInvariantCodeMotion(),
        before="""
            exec_program(%0: f64[2], %1: i64[]) {
              %2: f64[] = constant[value=1.0, dtype=f64]
              %3: f64[2] = broadcast_in_dim[shape=(2,), dims=()] %2
              %4: f64[2] = scan[consts=2, carry=1, length=3] %3, %1, %0 {
                body(%0: f64[2], %1: i64[], %2: f64[2]) {
                  %3: f64[2] = switch %1, %0, %2 {
                    branches[0](%0: f64[2], %1: f64[2]) {
                      %2: f64[2] = multiply %0, %1
                      return %2
                    }
                    branches[1](%0: f64[2], %1: f64[2]) {
                      return %0
                    }
                  }
                  return %3
                }
              }
              return %4
            }""",
        after="""
            exec_program(%0: f64[2], %1: i64[]) {
              %2: f64[] = constant[value=1.0, dtype=f64]
              %3: f64[2] = broadcast_in_dim[shape=(2,), dims=()] %2
              %4: f64[2] = scan[consts=1, carry=1, length=3] %1, %0 {
                body(%1: i64[], %2: f64[2]) {
                  %4: f64[] = constant[value=1.0, dtype=f64]
                  %0: f64[2] = broadcast_in_dim[shape=(2,), dims=()] %4!
                  %3: f64[2] = switch %1!, %2! {
                    branches[0](%1: f64[2]) {
                      %3: f64[] = constant[value=1.0, dtype=f64]
                      %0: f64[2] = broadcast_in_dim[shape=(2,), dims=()] %3!
                      %2: f64[2] = multiply %0!, %1!
                      return %2
                    }
                    branches[1](%1: f64[2]) {
                      %2: f64[] = constant[value=1.0, dtype=f64]
                      %0: f64[2] = broadcast_in_dim[shape=(2,), dims=()] %2!
                      return %0
                    }
                  }
                  return %3
                }
              }
              return %4
            }""",
    )


WHILE = """
exec_program(%0: f64[], %1: f64[2], %2: i64[], %3: f64[2]) {
  %4: i64[], %5: f64[2] = while[cond_consts=1, body_consts=1] %0, %1, %2, %3 {
    cond(%0: f64[], %1: i64[], %2: f64[2]) {
      %3: f64[] = exponential %0
      %4: f64[] = reduce_sum[axes=(0,)] %2
      %5: bool[] = compare[direction='LT'] %4, %3
      return %5
    }
    body(%0: f64[2], %1: i64[], %2: f64[2]) {
      %3: f64[2] = exponential %0
      %4: f64[2] = add %2, %3
      %5: i64[] = constant[value=1, dtype=i64]
      %6: i64[] = add %1, %5
      return %6, %4
    }
  }
  return %4, %5
}"""


def test_both_programs_of_a_while_have_invariants() -> None:
    program = parse(WHILE)
    after = LoopInvariantCodeMotion().run(program)
    verify(after)
    assert [op.name for op in after.ops()] == ["exponential", "exponential", "while"]
    inputs = [np.array(1.0), np.array([0.1, 0.2]), np.array(0), np.zeros(2)]
    for one, other in zip(evaluate(program, inputs), evaluate(after, inputs), strict=True):
        np.testing.assert_array_equal(one, other)


INNER = """
exec_program(%0: f64[2], %1: f64[2], %2: f64[]) {{
  %3: f64[2] = scan[consts=2, carry=1, length={rounds}] %0, %2, %1 {{
    body(%0: f64[2], %1: f64[], %2: f64[2]) {{
      %3: f64[2] = scan[consts=1, carry=1, length=2] %1, %0 {{
        body(%0: f64[], %1: f64[2]) {{
          %2: f64[] = exponential %0
          %3: f64[2] = broadcast_in_dim[shape=(2,), dims=()] %2
          %4: f64[2] = add %1, %3
          return %4
        }}
      }}
      %4: f64[2] = add %2, %3
      return %4
    }}
  }}
  return %3
}}"""


@pytest.mark.parametrize(
    ("rounds", "names"), [("3", ["exponential", "scan", "scan"]), ("n", ["exponential", "scan"])]
)
def test_a_loop_moves_out_of_a_loop_that_has_rounds(rounds: str, names: list[str]) -> None:
    after = LoopInvariantCodeMotion().run(parse(INNER.format(rounds=rounds)))
    verify(after)
    assert [op.name for op in after.ops()] == names


def test_a_second_run_finds_nothing_more() -> None:
    once = LoopInvariantCodeMotion().run(parse(INNER.format(rounds="3")))
    assert LoopInvariantCodeMotion().run(once) is once
    assert_leaves_alone(
        LoopInvariantCodeMotion(),
        """
        exec_program(%0: f64[2,3], %1: f64[3,2]) {
          %2: f64[3,2] = scan[consts=1, carry=1, length=4] %0, %1 {
            body(%0: f64[2,3], %1: f64[3,2]) {
              %2: f64[3,2] = transpose[perm=(1, 0)] %0
              %3: f64[3,2] = add %1, %2
              return %3
            }
          }
          return %2
        }""",
    )


def test_large_values_that_nothing_is_read_for_move_and_small_ones_stay() -> None:
    text = """
        exec_program(%0: f64[]) {{
          %1: f64[] = scan[consts=0, carry=1, length=4] %0 {{
            body(%0: f64[]) {{
              %1: f64[{size}] = iota[dtype=f64, size={size}]
              %2: f64[{size}] = broadcast_in_dim[shape=({size},), dims=()] %0
              %3: f64[{size}] = multiply %1, %2
              %4: f64[] = reduce_sum[axes=(0,)] %3
              return %4
            }}
          }}
          return %1
        }}"""
    for size, names in ((1023, ["scan"]), (1024, ["iota", "scan"])):
        after = LoopInvariantCodeMotion().run(parse(text.format(size=size)))
        assert [op.name for op in after.ops()] == names


def test_folds_see_constants_that_were_outside() -> None:
    program = optimize(
        parse("""
        exec_program(%0: f64[2]) {
          %1: f64[] = constant[value=1.0, dtype=f64]
          %2: f64[2] = broadcast_in_dim[shape=(2,), dims=()] %1
          %3: f64[2] = scan[consts=1, carry=1, length=3] %2, %0 {
            body(%0: f64[2], %1: f64[2]) {
              %2: f64[2] = multiply %0, %1
              %3: f64[2] = sine %2
              return %3
            }
          }
          return %3
        }""")
    )
    (body,) = program.bodies()
    assert [op.name for op in body.ops()] == ["sine"]
    assert [op.name for op in program.ops()] == ["scan"]


def test_a_carry_that_no_round_changes_is_a_const() -> None:
    assert_rewrites(
        LoopInvariantCodeMotion(),
        before="""
            exec_program(%0: f64[2], %1: f64[2], %2: f64[4,2]) {
              %3: f64[2], %4: f64[2], %5: f64[4,2] = scan[consts=0, carry=2, length=4] %0, %1, %2 {
                body(%0: f64[2], %1: f64[2], %2: f64[2]) {
                  %3: f64[2] = exponential %0
                  %4: f64[2] = multiply %1, %3
                  %5: f64[2] = add %4, %2
                  return %0, %5, %4
                }
              }
              return %3, %4, %5
            }""",
        after="""
            exec_program(%0: f64[2], %1: f64[2], %2: f64[4,2]) {
              %6: f64[2] = exponential %0
              %7: f64[2], %8: f64[4,2] = scan[consts=2, carry=1, length=4] %0, %6, %1, %2 {
                body(%0: f64[2], %3: f64[2], %1: f64[2], %2: f64[2]) {
                  %4: f64[2] = multiply %1!, %3!
                  %5: f64[2] = add %4, %2!
                  return %5, %4
                }
              }
              return %0, %7, %8
            }""",
    )


def test_a_while_reads_what_it_does_not_change_as_consts_of_both_programs() -> None:
    program = parse("""
        exec_program(%0: f64[], %1: i64[], %2: i64[]) {
          %3: f64[], %4: i64[], %5: i64[] = while[cond_consts=0, body_consts=0] %0, %1, %2 {
            cond(%0: f64[], %1: i64[], %2: i64[]) {
              %3: bool[] = compare[direction='LT'] %1, %2
              return %3
            }
            body(%0: f64[], %1: i64[], %2: i64[]) {
              %3: i64[] = constant[value=1, dtype=i64]
              %4: i64[] = add %1, %3
              %5: f64[] = multiply %0, %0
              return %5, %4, %2
            }
          }
          return %3, %4, %5
        }""")
    after = optimize(program)
    assert "while[cond_consts=1, body_consts=0] %2, %0!, %1! {" in str(after)
    inputs = [np.array(1.5), np.array(0), np.array(3)]
    for one, other in zip(evaluate(program, inputs), evaluate(after, inputs), strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_entry_that_is_the_same_in_all_rounds_becomes_a_const() -> None:
    assert_rewrites(
        LoopInvariantCodeMotion(),
        before="""
            exec_program(%0: f64[2], %1: f64[2], %2: f64[3,2]) {
              %3: f64[] = constant[value=2.0, dtype=f64]
              %4: f64[3,2] = broadcast_in_dim[shape=(3, 2), dims=()] %3
              %5: f64[3,2] = broadcast_in_dim[shape=(3, 2), dims=(1,)] %1
              %6: f64[2] = scan[consts=0, carry=1, length=3] %0, %4, %2, %5 {
                body(%0: f64[2], %1: f64[2], %2: f64[2], %3: f64[2]) {
                  %4: f64[2] = multiply %0, %1
                  %5: f64[2] = multiply %2, %3
                  %6: f64[2] = add %4, %5
                  return %6
                }
              }
              return %6, %4, %5
            }""",
        after="""
            exec_program(%0: f64[2], %1: f64[2], %2: f64[3,2]) {
              %3: f64[] = constant[value=2.0, dtype=f64]
              %4: f64[3,2] = broadcast_in_dim[shape=(3, 2), dims=()] %3
              %5: f64[3,2] = broadcast_in_dim[shape=(3, 2), dims=(1,)] %1
              %7: f64[2] = broadcast_in_dim[shape=(2,), dims=()] %3
              %6: f64[2] = scan[consts=1, carry=1, length=3] %1, %0, %2 {
                body(%1: f64[2], %2: f64[2], %3: f64[2]) {
                  %7: f64[] = constant[value=2.0, dtype=f64]
                  %0: f64[2] = broadcast_in_dim[shape=(2,), dims=()] %7!
                  %4: f64[2] = multiply %2!, %0!
                  %5: f64[2] = multiply %3!, %1!
                  %6: f64[2] = add %4!, %5!
                  return %6
                }
              }
              return %6, %4, %5
            }""",
    )


def test_a_loop_repeats_a_large_const_itself() -> None:
    assert_rewrites(
        LoopInvariantCodeMotion(),
        before="""
            exec_program(%0: f64[40], %1: f64[40,50], %2: f64[9,50,2]) {
              %3: f64[40,50] = broadcast_in_dim[shape=(40, 50), dims=(0,)] %0
              %4: f64[40,50], %5: f64[9,40,2] = scan[consts=2, carry=1, length=9] %3, %3, %1, %2 {
                body(%0: f64[40,50], %1: f64[40,50], %2: f64[40,50], %3: f64[50,2]) {
                  %4: f64[40,50] = multiply %2, %0
                  %5: f64[40,2] = dot_general[(1,), (0,)] %1, %3
                  return %4, %5
                }
              }
              return %4, %5
            }""",
        after="""
            exec_program(%0: f64[40], %1: f64[40,50], %2: f64[9,50,2]) {
              %3: f64[40,50] = broadcast_in_dim[shape=(40, 50), dims=(0,)] %0
              %6: f64[40,50], %7: f64[9,40,2] = scan[consts=2, carry=1, length=9] %0, %3, %1, %2 {
                body(%6: f64[40], %1: f64[40,50], %2: f64[40,50], %3: f64[50,2]) {
                  %0: f64[40,50] = broadcast_in_dim[shape=(40, 50), dims=(0,)] %6!
                  %4: f64[40,50] = multiply %2!, %0!
                  %5: f64[40,2] = dot_general[(1,), (0,)] %1!, %3!
                  return %4, %5
                }
              }
              return %6, %7
            }""",
    )


def test_a_large_const_is_transposed_before_the_loop() -> None:
    assert_rewrites(
        LoopInvariantCodeMotion(),
        before="""
            exec_program(%0: f64[40,30], %1: f64[30,40]) {
              %2: f64[30,40] = scan[consts=1, carry=1, length=3] %0, %1 {
                body(%0: f64[40,30], %1: f64[30,40]) {
                  %2: f64[30,40] = transpose[perm=(1, 0)] %0
                  %3: f64[30,40] = multiply %1, %2
                  return %3
                }
              }
              return %2
            }""",
        after="""
            exec_program(%0: f64[40,30], %1: f64[30,40]) {
              %3: f64[30,40] = transpose[perm=(1, 0)] %0
              %2: f64[30,40] = scan[consts=2, carry=1, length=3] %0, %3, %1 {
                body(%0: f64[40,30], %2: f64[30,40], %1: f64[30,40]) {
                  %3: f64[30,40] = multiply %1!, %2!
                  return %3
                }
              }
              return %2
            }""",
    )


def test_a_transpose_that_a_product_reads_stays_in_the_loop() -> None:
    assert_leaves_alone(
        LoopInvariantCodeMotion(),
        """
        exec_program(%0: f64[40,30], %1: f64[40,30]) {
          %2: f64[40,30] = scan[consts=1, carry=1, length=3] %0, %1 {
            body(%0: f64[40,30], %1: f64[40,30]) {
              %2: f64[30,40] = transpose[perm=(1, 0)] %0
              %3: f64[40,40] = dot_general[(1,), (0,)] %1, %2
              %4: f64[40,30] = dot_general[(1,), (0,)] %3, %0
              return %4
            }
          }
          return %2
        }""",
    )


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_loops_with_equal_entries_compute_what_they_did(executor: str) -> None:
    def loss(w, x, xs):  # type: ignore[no-untyped-def]
        def step(x, entries):  # type: ignore[no-untyped-def]
            same, y, one = entries
            return tn.sin(x * same + y @ w.T) + one, tn.sum(x)

        stacks = tn.broadcast_to(x, xs.shape), xs, tn.full(xs.shape, 0.5)
        last, ys = tn.scan(step, x, stacks)
        return tn.sum(last) + tn.sum(ys)

    w, x, xs = np.eye(40) * 0.3, np.linspace(0, 1, 40), np.linspace(-1, 1, 200).reshape(5, 40)
    options = OptimizerOptions(loop_invariant_code_motion=False)
    results = []
    for each in (OptimizerOptions(), options):
        gradient = tn.value_and_grad(loss, (0, 1, 2))
        value, parts = tn.jit(gradient, executor=executor, options=each)(w, x, xs)
        results.append([value, *parts])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-12, atol=1e-13)
