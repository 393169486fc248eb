"""XLA gets the sizes that data decide, never their bounds."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tenferro.compiler import optimize
from tenferro.errors import ShapeError
from tenferro.runtime import GraphProgram, ProgramInput
from tenferro.shape import Leaf, fresh_input
from tenferro_xla import XlaExecutor
from tests.dynamic_programs import M, N, arguments, dynamic_program, values_of

XLA = XlaExecutor("cpu")
sizes = st.tuples(st.integers(0, 4), st.integers(0, 4))


@pytest.mark.exhaustive
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), size=sizes)
def test_random_programs_are_what_they_are_on_numpy(seed: int, size: tuple[int, int]) -> None:
    program, inputs = optimize(dynamic_program(seed, length=15)), arguments(seed, *size)
    bound: dict[Leaf, int] = {N: size[0], M: size[1]}
    try:
        program.bind(bound)
    except ShapeError:
        assume(False)
    names = [f"x{i}" for i in range(len(inputs))]
    declared = tuple(
        ProgramInput(name, meta, fresh_input(meta, name))
        for name, meta in zip(names, program.input_metas, strict=True)
    )
    results = XLA.run(GraphProgram(program, declared), dict(zip(names, inputs, strict=True)))
    expected = values_of(program, inputs, bound)
    for slot, result in zip(program.output_slots, results, strict=True):
        assert result.shape == expected[slot].shape
        np.testing.assert_allclose(np.asarray(result), expected[slot], rtol=1e-9, atol=1e-9)
