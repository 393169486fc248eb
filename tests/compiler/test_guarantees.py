"""No pass takes the bound of a size for the size, nor says more of a size than was known."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tenferro.compiler import Needs, Pass, optimize, parse
from tenferro.errors import ShapeError
from tenferro.ir import ExecProgram, verify
from tenferro.ops.control_flow import VOCABULARY
from tenferro.shape import Leaf
from tests.dynamic_programs import M, N, arguments, check_claims, dynamic_program, values_of
from tests.programs import PASSES

seeds = st.integers(0, 2**32)
sizes = st.tuples(st.integers(0, 4), st.integers(0, 4))
WITH_SIZES = {"reshape", "broadcast_in_dim", "dynamic_broadcast_in_dim", "slice", "pad", "iota"}


def test_the_programs_hold_what_they_are_to_test() -> None:
    programs = [dynamic_program(seed) for seed in range(100)]
    names = {step.op.name for program in programs for step in program.instructions}
    assert names >= {"dynamic_truncate", "pad_to_match", "shape_of", "dot_general", *WITH_SIZES} - {
        "iota"
    }
    dynamic = [program for program in programs if "<=" in str(program)]
    assert len(dynamic) > 50
    assert any(step.op.name == "dot_general" for p in dynamic for step in p.instructions)


def program_for(seed: int, sizes: dict[Leaf, int]) -> ExecProgram:
    """A random program that these sizes are not too small for."""
    program = dynamic_program(seed)
    try:
        program.bind(sizes)
    except ShapeError:
        assume(False)
    return program


@given(seed=seeds, size=sizes)
def test_what_is_inferred_of_extents_is_true(seed: int, size: tuple[int, int]) -> None:
    bound: dict[Leaf, int] = {N: size[0], M: size[1]}
    check_claims(program_for(seed, bound), arguments(seed, *size), bound)


@pytest.mark.exhaustive(but=4)
@pytest.mark.parametrize(
    "each", list({each.name: each for each in PASSES}.values()), ids=lambda each: each.name
)
@settings(max_examples=25)
@given(seed=seeds, size=sizes)
def test_no_pass_takes_a_bound_for_a_size(each: Pass, seed: int, size: tuple[int, int]) -> None:
    bound: dict[Leaf, int] = {N: size[0], M: size[1]}
    program, inputs = program_for(seed, bound), arguments(seed, *size)
    result = each.run(program)
    verify(result, after=each.name)
    assert result.output_metas == program.output_metas
    check_claims(result, inputs, bound)


@given(seed=seeds, size=sizes)
def test_optimized_programs_give_the_same(seed: int, size: tuple[int, int]) -> None:
    bound: dict[Leaf, int] = {N: size[0], M: size[1]}
    program, inputs = program_for(seed, bound), arguments(seed, *size)
    result = optimize(program, passes=PASSES)
    check_claims(result, inputs, bound)
    before, after = (values_of(each, inputs, bound) for each in (program, result))
    for one, other in zip(program.output_slots, result.output_slots, strict=True):
        assert after[other].shape == before[one].shape
        np.testing.assert_allclose(after[other], before[one], rtol=1e-9, atol=1e-9)


@pytest.mark.exhaustive
@given(seed=seeds)
def test_a_program_is_read_back_with_its_guarantees(seed: int) -> None:
    program = optimize(dynamic_program(seed))
    again = parse(str(program))
    verify(again)
    assert str(again) == str(program)
    assert str(optimize(again)) == str(optimize(program))


@given(seed=seeds)
def test_a_pass_that_needs_ranks_alone_writes_no_sizes(seed: int) -> None:
    program = dynamic_program(seed)
    written = {step.op for step in program.instructions if step.op.name in WITH_SIZES}
    for each in PASSES:
        if each.needs is Needs.RANKS:
            result = each.run(program)
            assert {s.op for s in result.instructions if s.op.name in WITH_SIZES} <= written


def test_every_pass_says_what_it_needs_of_extents() -> None:
    assert {each.name: each.needs for each in PASSES} == {
        "algebraic_simplifier": Needs.EXACT_EXTENTS,
        "broadcast_sinking": Needs.EXACT_EXTENTS,
        "common_subexpressions": Needs.RANKS,
        "conjugate_sinking": Needs.RANKS,
        "contraction_layout": Needs.CONSTANT_EXTENTS,
        "dead_code": Needs.RANKS,
        "dot_decomposer": Needs.EXACT_EXTENTS,
        "dot_dimension_sorter": Needs.RANKS,
        "loop_fusion": Needs.RANKS,
        "loop_inlining": Needs.EXACT_EXTENTS,
        "loop_invariant_code_motion": Needs.RANKS,
        "scan_pushout_dot": Needs.RANKS,
        "pads_to_concatenate": Needs.EXACT_EXTENTS,
        "reroll": Needs.EXACT_EXTENTS,
        "summed_products": Needs.EXACT_EXTENTS,
        "transpose_folding": Needs.RANKS,
    }
    assert VOCABULARY.keys() >= WITH_SIZES
