import numpy as np
import pytest

from tenferro.compiler import AlgebraicSimplifier, DeadCode, Pass, parse
from tenferro.config import config
from tenferro.ir import ExecBuilder, ExecProgram, verify
from tenferro.ops import ADD, MUL, BroadcastInDim, Concatenate, Constant, meta_of
from tests.programs import assert_leaves_alone, assert_rewrites, run

Simplifier = AlgebraicSimplifier


class Simplified:
    """The pass, and the dead code that it leaves."""

    name = "algebraic_simplifier"

    def run(self, program: ExecProgram) -> ExecProgram:
        simple = Simplifier().run(program)
        verify(simple)
        return DeadCode().run(simple)


SIMPLIFIED: Pass = Simplified()


def unary(type_: str, *lines: str) -> str:
    """A program of one input that returns what its last line defines."""
    last = lines[-1].split(":")[0]
    body = "\n".join(f"  {line}" for line in lines)
    return f"exec_program(%0: {type_}) {{\n{body}\n  return {last}\n}}"


def scalar(slot: int, value: str, dtype: str = "f64") -> str:
    return f"%{slot}: {dtype}[] = constant[value={value}, dtype={dtype}]"


def spread(slot: int, of: int, shape: str, dtype: str = "f64") -> str:
    sizes = f"({shape},)" if shape and "," not in shape else f"({shape})"
    return f"%{slot}: {dtype}[{shape}] = broadcast_in_dim[shape={sizes}, dims=()] %{of}"


@pytest.mark.parametrize(
    "lines",
    [
        (scalar(1, "1.0"), spread(2, 1, "n"), "%3: f64[n] = multiply %0, %2"),
        (scalar(1, "1.0"), spread(2, 1, "n"), "%3: f64[n] = multiply %2, %0"),
        (scalar(1, "0.0"), spread(2, 1, "n"), "%3: f64[n] = add %0, %2"),
        (scalar(1, "-0.0"), spread(2, 1, "n"), "%3: f64[n] = add %2, %0"),
        (scalar(1, "0.0"), spread(2, 1, "n"), "%3: f64[n] = subtract %0, %2"),
        (scalar(1, "1.0"), spread(2, 1, "n"), "%3: f64[n] = divide %0, %2"),
        (scalar(1, "1.0"), spread(2, 1, "n"), "%3: f64[n] = power %0, %2"),
        ("%1: f64[n] = negate %0", "%2: f64[n] = negate %1"),
        ("%1: f64[n] = conj %0",),
        ("%1: f64[n] = transpose[perm=(0,)] %0",),
        ("%1: f64[1,n] = reshape[shape=(1, n)] %0", "%2: f64[n] = reshape[shape=(n,)] %1"),
        ("%1: f64[n] = reverse[axes=(0,)] %0", "%2: f64[n] = reverse[axes=(0,)] %1"),
        ("%1: f64[n] = broadcast_in_dim[shape=(n,), dims=(0,)] %0",),
        ("%1: f64[n] = reduce_sum[axes=()] %0",),
        ("%1: f64[n] = convert[dtype=f64] %0",),
        ("%1: f64[n] = concatenate[axis=0] %0",),
        ("%1: f64[n] = slice[starts=(0,), limits=(n,), strides=(1,)] %0",),
        ("%1: c128[n] = complex %0, %0", "%2: f64[n] = real %1"),
        ("%1: bool[n] = compare[direction='LT'] %0, %0", "%2: f64[n] = select %1, %0, %0"),
    ],
)
def test_what_leaves_a_value_unchanged_is_dropped(lines: tuple[str, ...]) -> None:
    assert_rewrites(
        SIMPLIFIED, unary("f64[n]", *lines), "exec_program(%0: f64[n]) {\n  return %0\n}"
    )


def test_conjugating_twice_is_nothing_in_complex_numbers() -> None:
    assert_rewrites(
        SIMPLIFIED,
        unary("c64[2]", "%1: c64[2] = conj %0", "%2: c64[2] = conj %1", "%3: c64[2] = sine %2"),
        unary("c64[2]", "%3: c64[2] = sine %0"),
    )


def test_transposes_in_a_row_are_one() -> None:
    assert_rewrites(
        SIMPLIFIED,
        unary(
            "f64[2,<=n,?]",
            "%1: f64[?,2,<=n] = transpose[perm=(2, 0, 1)] %0",
            "%2: f64[<=n,2,?] = transpose[perm=(2, 1, 0)] %1",
            "%3: f64[?,<=n,2] = transpose[perm=(2, 0, 1)] %2",
        ),
        unary("f64[2,<=n,?]", "%3: f64[?,<=n,2] = transpose[perm=(2, 1, 0)] %0"),
    )


def test_reshapes_and_sums_in_a_row_are_one() -> None:
    assert_rewrites(
        SIMPLIFIED,
        unary(
            "f64[2,n,6]",
            "%1: f64[2*n,6] = reshape[shape=(2*n, 6)] %0",
            "%2: f64[2,n,2,3] = reshape[shape=(2, n, 2, 3)] %1",
            "%3: f64[2,n,3] = reduce_sum[axes=(2,)] %2",
            "%4: f64[n,3] = reduce_sum[axes=(0,)] %3",
        ),
        unary(
            "f64[2,n,6]",
            "%2: f64[2,n,2,3] = reshape[shape=(2, n, 2, 3)] %0",
            "%4: f64[n,3] = reduce_sum[axes=(0, 2)] %2",
        ),
    )


def test_an_elementwise_op_on_repeated_scalars_is_computed_once() -> None:
    assert_rewrites(
        SIMPLIFIED,
        """
        exec_program(%0: f64[], %1: f64[]) {
          %2: f64[n,3] = broadcast_in_dim[shape=(n, 3), dims=()] %0
          %3: f64[n,3] = broadcast_in_dim[shape=(n, 3), dims=()] %1
          %4: f64[n,3] = multiply %2, %3
          %5: f64[n,3] = sine %4
          %6: f64[3,n] = transpose[perm=(1, 0)] %5
          return %6
        }""",
        """
        exec_program(%0: f64[], %1: f64[]) {
          %7: f64[] = multiply %0, %1
          %8: f64[] = sine %7
          %6: f64[3,n] = broadcast_in_dim[shape=(3, n), dims=()] %8
          return %6
        }""",
    )


def test_choices_comparisons_and_conversions_of_repeated_scalars_are_computed_once() -> None:
    assert_rewrites(
        SIMPLIFIED,
        """
        exec_program(%0: f64[], %1: f64[]) {
          %2: f64[4] = broadcast_in_dim[shape=(4,), dims=()] %0
          %3: f64[4] = broadcast_in_dim[shape=(4,), dims=()] %1
          %4: bool[4] = compare[direction='LT'] %2, %3
          %5: f64[4] = select %4, %2, %3
          %6: c128[4] = complex %5, %2
          %7: f64[4] = imag %6
          %8: c128[4] = exponential %6
          %9: f64[4] = real %8
          %10: f32[4] = convert[dtype=f32] %9
          return %10, %7
        }""",
        """
        exec_program(%0: f64[], %1: f64[]) {
          %11: bool[] = compare[direction='LT'] %0, %1
          %12: f64[] = select %11, %0, %1
          %13: c128[] = complex %12, %0
          %7: f64[4] = broadcast_in_dim[shape=(4,), dims=()] %0
          %14: c128[] = exponential %13
          %15: f64[] = real %14
          %16: f32[] = convert[dtype=f32] %15
          %10: f32[4] = broadcast_in_dim[shape=(4,), dims=()] %16
          return %10, %7
        }""",
    )


def test_constants_are_computed() -> None:
    assert_rewrites(
        SIMPLIFIED,
        unary(
            "f64[2]",
            "%1: f64[2] = constant[value=[1.0, 4.0], dtype=f64, shape=(2,)]",
            "%2: f64[2] = sqrt %1",
            "%3: f64[] = constant[value=0.5, dtype=f64]",
            spread(4, 3, "2"),
            "%5: f64[2] = multiply %2, %4",
            "%6: f64[] = reduce_sum[axes=(0,)] %5",
            spread(7, 6, "2"),
            "%8: f64[2] = add %0, %7",
        ),
        unary(
            "f64[2]",
            "%6: f64[] = constant[value=1.5, dtype=f64]",
            spread(7, 6, "2"),
            "%8: f64[2] = add %0, %7",
        ),
    )


def test_a_literal_that_is_one_number_everywhere_is_seen_as_that_number() -> None:
    assert_rewrites(
        SIMPLIFIED,
        unary(
            "f32[2,2]",
            "%1: f32[2,2] = constant[value=[[1.0, 1.0], [1.0, 1.0]], dtype=f32, shape=(2, 2)]",
            "%2: f32[2,2] = multiply %1, %0",
        ),
        "exec_program(%0: f32[2,2]) {\n  return %0\n}",
    )


def test_no_literal_is_made_larger_than_the_limit() -> None:
    count = config.literal_bytes // 8
    for size, folded in ((count, True), (count + 1, False)):
        builder = ExecBuilder()
        half = [builder.add(Constant(np.arange(size // 2 + i) + 0.5), [])[0] for i in (0, size % 2)]
        program = builder.build(builder.add(Concatenate(0), half))
        result = SIMPLIFIED.run(program)
        assert (len(result.instructions) == 1) is folded
        np.testing.assert_array_equal(run(program, [])[0], run(result, [])[0])


def test_a_repeated_constant_does_not_become_a_literal() -> None:
    assert_leaves_alone(
        Simplifier(),
        "exec_program() {\n" + scalar(0, "2.0") + "\n" + spread(1, 0, "3") + "\nreturn %1\n}",
    )


@pytest.mark.parametrize(
    "line",
    [
        "%3: f64[3] = multiply %0, %2",
        "%3: f64[3] = divide %2, %0",
        "%3: f64[3] = subtract %0, %0",
        "%3: f64[3] = divide %0, %0",
        "%3: bool[3] = compare[direction='EQ'] %0, %0",
        "%3: f64[3] = maximum %0, %0",
    ],
)
def test_nan_and_infinity_survive(line: str) -> None:
    program = parse(unary("f64[3]", scalar(1, "0.0"), spread(2, 1, "3"), line))
    result = Simplifier().run(program)
    x = np.array([np.nan, np.inf, -np.inf])
    np.testing.assert_array_equal(run(result, [x])[0], run(program, [x])[0])
    assert str(result) == str(program)


def test_constants_that_are_not_numbers_are_computed_in_silence() -> None:
    assert_rewrites(
        SIMPLIFIED,
        unary("f64[]", scalar(1, "-1.0"), "%2: f64[] = log %1", "%3: f64[] = add %0, %2"),
        unary("f64[]", scalar(2, "nan"), "%3: f64[] = add %0, %2"),
    )


def test_small_factors_join_and_operands_take_one_order() -> None:
    assert_rewrites(
        SIMPLIFIED,
        unary(
            "f64[]",
            scalar(1, "2.0"),
            scalar(2, "3.0"),
            "%3: f64[] = multiply %2, %0",
            "%4: f64[] = multiply %1, %3",
        ),
        unary("f64[]", scalar(5, "6.0"), "%4: f64[] = multiply %0, %5"),
    )


def test_narrow_integers_that_overflow_wrap_in_silence() -> None:
    x = np.array([1, 3], np.int8)
    builder = ExecBuilder()
    value = builder.input(meta_of(x))
    for factor in (100, 100):
        (number,) = builder.add(Constant(np.int8(factor)), [])
        (everywhere,) = builder.add(BroadcastInDim((2,), ()), [number])
        (value,) = builder.add(MUL, [value, everywhere])
    program = builder.build([value])
    np.testing.assert_array_equal(run(SIMPLIFIED.run(program), [x])[0], run(program, [x])[0])


def test_values_whose_extents_are_not_exact_keep_their_type() -> None:
    assert_rewrites(
        SIMPLIFIED,
        unary(
            "f64[<=n,?]",
            "%1: f64[<=n,?] = negate %0",
            "%2: f64[<=n,?] = negate %1",
            "%3: f64[<=n,?] = add %2, %2",
        ),
        unary("f64[<=n,?]", "%3: f64[<=n,?] = add %0, %0"),
    )


def test_a_zero_sized_value_is_simplified_like_any_other() -> None:
    assert_rewrites(
        SIMPLIFIED,
        unary(
            "f64[0,3]",
            "%1: f64[0] = reshape[shape=(0,)] %0",
            "%2: f64[3,0] = reshape[shape=(3, 0)] %1",
        ),
        unary("f64[0,3]", "%2: f64[3,0] = reshape[shape=(3, 0)] %0"),
    )


@pytest.mark.parametrize("operands", ["%1, %0", "%0, %1"])
def test_a_contraction_with_a_single_one_is_the_other_operand(operands: str) -> None:
    one = "%1: f64[] = constant[value=1.0, dtype=f64]"
    product = f"%2: f64[n,3] = dot_general[(), ()] {operands}"
    negative = "%3: f64[n,3] = negate"
    assert_rewrites(
        SIMPLIFIED,
        unary("f64[n,3]", one, product, f"{negative} %2"),
        unary("f64[n,3]", f"{negative} %0"),
    )
    assert_leaves_alone(SIMPLIFIED, unary("f64[n,3]", one.replace("=1.0", "=2.0"), product))


def test_an_op_of_the_program_keeps_its_site() -> None:
    builder = ExecBuilder()
    x = builder.input(meta_of(np.zeros(())))
    (one,) = builder.add(Constant(np.array(0.0)), [])
    (same,) = builder.add(ADD, [x, one], "user.py:1")
    (twice,) = builder.add(ADD, [one, same], "user.py:2")
    (result,) = builder.add(MUL, [twice, one], "user.py:3")
    simple = SIMPLIFIED.run(builder.build([result]))
    assert [step.site for step in simple.instructions] == [None, "user.py:3"]
