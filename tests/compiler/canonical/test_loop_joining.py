"""Loops over the same slices become one, and contract what they share once."""

from typing import Any

import numpy as np
import pytest

import tenferro as tn
import tenferro_xla as txla
from tenferro.compiler import LoopJoining, OptimizerOptions, optimize, parse
from tenferro.control import Scan
from tenferro.exec_ir import ExecProgram
from tenferro.ops import DotGeneral
from tests.programs import assert_leaves_alone, assert_rewrites, assert_same_results

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


def test_two_loops_with_a_common_contraction_are_one() -> None:
    """The counter is carried once; what the second loop needs comes before both."""
    assert_rewrites(
        LoopJoining(),
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
    assert_leaves_alone(LoopJoining(), text.replace(part, changed))


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
    assert_leaves_alone(LoopJoining(), first + second)


def test_carries_that_only_start_alike_stay_apart() -> None:
    """Both start from %3; from the second round on they differ, and so does what reads them."""
    text = """
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
    program = parse(text)
    joined = LoopJoining().run(program)
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
    assert dots(optimize(parse(outer), OptimizerOptions(loop_joining=False))) == 2 * 12


def dots(program: ExecProgram) -> int:
    """How many contractions one run of a program computes."""
    count = 0
    for step in program.instructions:
        if isinstance(step.op, DotGeneral):
            count += 1
        if isinstance(step.op, Scan):
            assert isinstance(step.op.length, int)
            count += step.op.length * dots(step.op.body)
    return count


# Every contraction depends on the slice.
RING, SHAPES, SLICE = (
    "abx,bcx,cdx,dax->",
    [(3, 4, 5), (4, 2, 5), (2, 6, 5), (6, 3, 5)],
    "ab,bc,cd,da->",
)
LOSSES: dict[str, Any] = {
    "itself": lambda y: tn.real(y),
    "log": lambda y: tn.log(tn.abs(y)),
    "square": lambda y: tn.abs(y) ** 2,
}


def value_and_gradient(text: str, loss: str, **options: Any) -> Any:
    """The function of a network's operands."""

    def f(*operands: Any) -> Any:
        return LOSSES[loss](
            tn.einsum(text, *operands, optimize=((0, 1), (0, 1), (0, 1)), **options)
        )

    return tn.value_and_grad(f, argnums=(0, 1, 2, 3))


def lowered(f: Any, shapes: list[tuple[int, ...]], dtype: str, joined: bool = True) -> ExecProgram:
    """A program as it is lowered for XLA, complex contractions counted as one."""
    options = OptimizerOptions(real_contractions=False, loop_joining=joined)
    program = tn.make_program(
        f, *[tn.TensorSpec(shape, dtype) for shape in shapes], options=options
    )
    return txla.XlaExecutor().lower(program).exec_program


@pytest.mark.parametrize("dtype", ["f64", "c128"])
@pytest.mark.parametrize("loss", LOSSES)
def test_value_and_gradient_of_a_sliced_network_contract_it_once(loss: str, dtype: str) -> None:
    """In each slice no more contractions than value and gradient of the slice take alone."""
    sliced = value_and_gradient(RING, loss, slices="x")
    alone = value_and_gradient(SLICE, loss)
    limit = 5 * dots(lowered(alone, [shape[:2] for shape in SHAPES], dtype))
    joined = lowered(sliced, SHAPES, dtype)
    assert [step.op.name for step in joined.instructions].count("scan") == 1
    assert 0 < dots(joined) <= limit
    assert dots(joined) < dots(lowered(sliced, SHAPES, dtype, joined=False))


def test_a_cotangent_with_axes_keeps_the_loops_apart() -> None:
    """It depends on the whole value, and so the gradient contracts the network again."""
    text, specs = "ij,jk,kl->il", [tn.TensorSpec((3, 3))] * 3

    def f(*operands: Any) -> Any:
        return tn.sum(tn.einsum(text, *operands, slices="j") ** 2)

    program = tn.make_program(tn.value_and_grad(f), *specs)
    steps = txla.XlaExecutor().lower(program).exec_program.instructions
    assert [step.op.name for step in steps].count("scan") == 2


@pytest.mark.parametrize("loss", LOSSES)
def test_results_of_joined_loops_are_those_without_slices(loss: str) -> None:
    generator = np.random.default_rng(0)
    operands = [
        generator.normal(size=shape) + 1j * generator.normal(size=shape) for shape in SHAPES
    ]
    value, gradients = tn.jit(value_and_gradient(RING, loss))(*operands)
    for executor in ("xla", "numpy"):
        sliced = tn.jit(value_and_gradient(RING, loss, slices="xc"), executor=executor)
        sliced_value, sliced_gradients = sliced(*operands)
        np.testing.assert_allclose(sliced_value, value, rtol=1e-12)
        for left, right in zip(sliced_gradients, gradients, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-11, atol=1e-12)


def test_higher_derivatives_of_a_number_are_one_loop_too() -> None:
    """A product of a Hessian and a vector reads values, gradients and their tangents."""

    def along(x: Any, y: Any, *others: Any) -> Any:
        def f(x: Any, y: Any) -> Any:
            return tn.log(tn.einsum(RING, x, y, *others, slices="x"))

        return tn.hvp(f, (x, y), (x + 1, y + 1))

    program = lowered(along, SHAPES, "f64")
    assert [step.op.name for step in program.instructions].count("scan") == 1
