"""Contractions of values that are divided among devices."""

from __future__ import annotations

import pytest

from tenferro.compiler import (
    CPU,
    ContractionLayout,
    DotDecomposer,
    PartitionedAxes,
    parse,
    run_passes,
)
from tenferro.compiler.layout import LayoutRewrite, Problem, ProgramWriter
from tenferro.compiler.layout.requests import Choice, ContractionRules, Requests
from tenferro.ir import ExecProgram
from tenferro.ops import Reshape, Transpose

TWO_FREE = parse("""
    exec_program(%0: f64[4,6,5], %1: f64[5,3]) {
      %2: f64[4,6,3] = dot_general[lhs_contract=(2,), rhs_contract=(0,), lhs_batch=(), rhs_batch=()] %0!, %1!
      return %2
    }""")  # noqa: E501


def merged(program: ExecProgram, pinned: PartitionedAxes) -> bool:
    """Whether axes of contractions are merged."""
    return run_passes(program, [DotDecomposer(pinned)]).has_op(Reshape)


@pytest.mark.parametrize(
    ("pinned", "expected"),
    [
        (PartitionedAxes(((1, 1, 1), (1, 1))), True),
        (PartitionedAxes(((2, 1, 1), (1, 1))), True),  # the first axis of its group
        (PartitionedAxes(((1, 2, 1), (1, 1))), False),
        (PartitionedAxes(((2, 2, 1), (1, 1))), False),
        (PartitionedAxes(((1, 1, 5), (5, 1))), True),  # alone in its group
        (PartitionedAxes(((1, 1, 1), (1, 3))), True),
        (PartitionedAxes((), ((1, 2, 1),)), False),  # the result is divided, and so the operand
        (PartitionedAxes(everywhere=True), False),
    ],
)
def test_a_divided_axis_is_merged_only_as_the_first(
    pinned: PartitionedAxes, expected: bool
) -> None:
    assert merged(TWO_FREE, pinned) is expected


def test_divided_axes_are_carried_through_ops() -> None:
    program = parse("""
        exec_program(%0: f64[6,8], %1: f64[5,3]) {
          %2: f64[8,6] = transpose[perm=(1, 0)] %0!
          %3: f64[8,6,5] = broadcast_in_dim[shape=(8, 6, 5), dims=(0, 1)] %2!
          %4: f64[8,6,5] = tanh %3!
          %5: f64[4,2,30] = reshape[shape=(4, 2, 30)] %4!
          %6: f64[5,3] = cumulative_sum[axis=0, reverse=False] %1!
          %7: f64[5,3] = reverse[axes=(0,)] %6!
          return %5, %7
        }""")
    parts = PartitionedAxes(((3, 2), (5, 1))).parts(program)
    assert parts.of(2) == (2, 3)
    assert parts.of(4) == (2, 3, 1)
    assert parts.of(5) == (2, 1, 3)  # parts of the first axis of those that a reshape merges
    assert parts.local(4, (8, 6, 5)) == (4, 2, 5)
    assert parts.of(6) == (5, 1)


def test_results_of_an_op_that_may_mix_axes_are_in_doubt() -> None:
    program = parse("""
        exec_program(%0: f64[4,4], %1: f64[4,4]) {
          %2: f64[4,4], %3: i64[4,4] = sort[axis=0] %0!
          %4: f64[4,4], %5: i64[4,4] = sort[axis=0] %1!
          return %2, %4
        }""")
    parts = PartitionedAxes(((2, 1), (1, 1))).parts(program)
    assert parts.is_divided(2)
    assert not parts.is_divided(4)


def test_constraints_divide_by_the_sizes_of_the_mesh() -> None:
    program = parse("""
        exec_program(%0: f64[4,6]) {
          %1: f64[4,6] = sharding_constraint[spec=(None, ('data',))] %0!
          return %1
        }""")
    assert PartitionedAxes(sizes=(("data", 2),)).parts(program).of(0) == (1, 2)


def test_nothing_is_repeated_along_a_divided_axis() -> None:
    program = parse("""
        exec_program(%0: f64[64,8,64], %1: f64[8,512]) {
          %2: f64[64,64,512] = dot_general[lhs_contract=(1,), rhs_contract=(0,), lhs_batch=(), rhs_batch=()] %0!, %1!
          return %2
        }""")  # noqa: E501

    def is_repeated(pinned: PartitionedAxes | None) -> bool:
        requests = Requests(
            ContractionRules(Problem(program, pinned), CPU), {2: Choice(repeated=True)}
        )
        rewrite = LayoutRewrite(requests, ProgramWriter())
        rewrite.run()
        return bool(rewrite.repeated)

    assert is_repeated(None)
    assert is_repeated(PartitionedAxes(((1, 1, 4), (1, 1))))
    assert not is_repeated(PartitionedAxes(((4, 1, 1), (1, 1))))


@pytest.mark.parametrize(("counts", "expected"), [(1, True), (4, False)])
def test_an_input_that_is_gathered_is_not_moved_to_be_faster(counts: int, expected: bool) -> None:
    program = parse("""
        exec_program(%0: f64[128,64], %1: f64[2048,128]) {
          %2: f64[64,2048] = dot_general[lhs_contract=(0,), rhs_contract=(1,)] %0, %1!
          %3: f64[128,2048] = dot_general[lhs_contract=(1,), rhs_contract=(0,)] %0!, %2
          return %2, %3
        }""")
    layout = ContractionLayout(CPU, pinned=PartitionedAxes(((counts, 1), (1, 1))))
    assert run_passes(program, [layout]).has_op(Transpose) is expected
