"""Late ops whose sizes are known become ordinary ones."""

from __future__ import annotations

import pytest

from tenferro.compiler import BindSizes, ResolveDynamicOps
from tenferro.shape import SymDim
from tests.programs import assert_leaves_alone, read, rewritten

PADDED = """
exec_program(%0: f64[2], %1: f64[5]) {
  %2: f64[5] = pad_to_match[axis=0] %0, %1
  return %2
}"""


def test_an_op_that_follows_known_shapes_is_an_ordinary_one() -> None:
    text = rewritten(ResolveDynamicOps(), PADDED)
    assert "pad_to_match" not in text
    assert "pad[" in text


@pytest.mark.parametrize("size", ["n", "<=5"])
def test_an_op_whose_size_data_decide_stays(size: str) -> None:
    assert_leaves_alone(
        ResolveDynamicOps(),
        """
        exec_program(%0: f64[9], %1: f64[]) {
          %2: f64[<=9] = dynamic_truncate[axis=0] %0, %1
          return %2
        }""",
    )


def test_sizes_are_bound_in_every_type_and_payload() -> None:
    program = read(
        """
        exec_program(%0: f64[], %1: f64[n,3]) {
          %2: f64[n,3] = broadcast_in_dim[shape=(n, 3), dims=()] %0
          %3: f64[n,3] = add %2, %1
          return %3
        }"""
    )
    bound = BindSizes.of({SymDim("n"): 7}).run(program)
    assert "n" not in {str(leaf) for leaf in bound.mentioned()}
    assert str(bound.output_metas[0]) == "f64[7,3]"
    assert BindSizes.of(None).run(program) is program
