"""An optimized program gives what the unoptimized one gives, whatever passes run."""

from dataclasses import fields, replace

import numpy as np
import pytest

from tenferro.compiler import OptimizerOptions, Pass, optimize, parse
from tenferro.ir import ExecProgram, verify, with_last_use
from tests.programs import PASSES, assert_same_results, run
from tests.random_programs import random_program

NAMES = [each.name for each in fields(OptimizerOptions) if isinstance(each.default, bool)]
OPTIONS = [
    *(replace(OptimizerOptions(), **{name: False}) for name in NAMES),
    *(replace(OptimizerOptions.none(), **{name: True}) for name in NAMES),
]


def test_random_programs_give_the_same_results(programs: int) -> None:
    for seed in range(programs):
        program = random_program(seed)
        verify(program)
        for options in (OptimizerOptions(), OPTIONS[seed % len(OPTIONS)]):
            result = optimize(program, options, PASSES)
            verify(result, after=f"{options} at seed {seed}")
            assert result.output_metas == program.output_metas
            assert_same_results(program, result, {})


@pytest.mark.exhaustive(but=8)
@pytest.mark.parametrize("each", PASSES, ids=lambda each: each.name)
def test_each_pass_keeps_random_programs_sound(each: Pass) -> None:
    for seed in range(60):
        program = with_last_use(random_program(seed, 60))
        result = each.run(program)
        verify(result, after=f"{each.name} at seed {seed}")
        assert result.output_metas == program.output_metas
        assert_same_results(program, result, {})


def test_random_programs_are_read_back_from_their_text() -> None:
    for seed in range(60):
        for program in (random_program(seed), optimize(random_program(seed))):
            again = parse(str(program))
            assert str(again) == str(program)
            assert again.digest == program.digest


def test_an_optimized_program_has_at_most_as_many_contractions() -> None:
    def contractions(program: ExecProgram) -> int:
        return sum(step.op.name == "dot_general" for step in program.instructions)

    for seed in range(60):
        program = random_program(seed)
        assert contractions(optimize(program, passes=PASSES)) <= contractions(program)


def test_optimizing_again_changes_nothing_of_substance() -> None:
    for seed in range(60):
        once = optimize(random_program(seed), passes=PASSES)
        twice = optimize(once, passes=PASSES)
        assert len(twice.instructions) <= len(once.instructions)


def test_nan_and_infinity_come_out_where_they_came_out_before() -> None:
    for seed in range(40):
        program = random_program(seed)
        result = optimize(program, passes=PASSES)
        rng = np.random.default_rng(seed)
        inputs = []
        for meta in program.input_metas:
            assert meta.static_shape is not None
            numbers = rng.choice([1.0, np.nan, np.inf, -np.inf, 0.0], meta.static_shape)
            inputs.append(np.asarray(numbers).astype(meta.dtype))
        for expected, actual in zip(run(program, inputs), run(result, inputs), strict=True):
            if expected.dtype.kind != "c":  # a complex product has no one rule for infinities
                np.testing.assert_array_equal(np.isnan(actual), np.isnan(expected))
