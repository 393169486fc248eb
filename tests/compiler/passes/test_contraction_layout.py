"""The order of axes chosen for contractions: text in, text out, and the same results."""

import string
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tenferro.compiler import OptimizerOptions, optimize
from tenferro.compiler.passes import ContractionLayout
from tenferro.exec_ir import ExecBuilder, ExecProgram, verify
from tenferro.ops import ADD, EXP, MUL, DotGeneral, ReduceSum, Transpose
from tenferro.shape import COMPLEX128, FLOAT64, make_meta
from tests.programs import assert_leaves_alone, assert_rewrites, assert_same_results


def test_a_result_is_made_in_the_order_in_which_it_is_contracted() -> None:
    assert_rewrites(
        ContractionLayout(),
        before="""
            exec_program(%0: f64[300,8], %1: f64[8,200], %2: f64[300,9]) {
              %3: f64[300,200] = dot_general[(1,), (0,)] %0, %1
              %4: f64[200,9] = dot_general[(0,), (0,)] %3, %2
              return %4
            }""",
        after="""
            exec_program(%0: f64[300,8], %1: f64[8,200], %2: f64[300,9]) {
              %3: f64[200,8] = transpose[perm=(1, 0)] %1
              %4: f64[200,300] = dot_general[(1,), (1,)] %3, %0
              %5: f64[200,9] = dot_general[(1,), (0,)] %4, %2
              return %5
            }""",
    )


def test_a_short_left_side_stays_where_the_result_would_have_to_be_moved() -> None:
    assert_rewrites(
        ContractionLayout(),
        before="""
            exec_program(%0: f64[4,500], %1: f64[500,900], %2: f64[900,3]) {
              %3: f64[4,900] = dot_general[(1,), (0,)] %0, %1
              %4: f64[4,3] = dot_general[(1,), (0,)] %3, %2
              return %4
            }""",
        after="""
            exec_program(%0: f64[4,500], %1: f64[500,900], %2: f64[900,3]) {
              %3: f64[4,900] = dot_general[(1,), (0,)] %0, %1
              %4: f64[4,3] = dot_general[(1,), (0,)] %3, %2
              return %4
            }""",
    )


def test_a_wish_goes_through_what_is_elementwise_and_a_transpose_is_a_change_of_names() -> None:
    assert_rewrites(
        ContractionLayout(),
        before="""
            exec_program(%0: f64[300,8], %1: f64[8,200], %2: f64[300,9]) {
              %3: f64[300,200] = dot_general[(1,), (0,)] %0, %1
              %4: f64[300,200] = exponential %3
              %5: f64[200,300] = transpose[perm=(1, 0)] %4
              %6: f64[200,9] = dot_general[(1,), (0,)] %5, %2
              return %6
            }""",
        after="""
            exec_program(%0: f64[300,8], %1: f64[8,200], %2: f64[300,9]) {
              %3: f64[200,8] = transpose[perm=(1, 0)] %1
              %4: f64[200,300] = dot_general[(1,), (1,)] %3, %0
              %5: f64[200,300] = exponential %4
              %6: f64[200,9] = dot_general[(1,), (0,)] %5, %2
              return %6
            }""",
    )


def test_batch_axes_are_made_to_lead() -> None:
    assert_rewrites(
        ContractionLayout(),
        before="""
            exec_program(%0: f64[30,8], %1: f64[5,8,20], %2: f64[5,20,7]) {
              %3: f64[30,5,20] = dot_general[(1,), (1,)] %0, %1
              %4: f64[5,30,7] = dot_general[(2,), (1,), (1,), (0,)] %3, %2
              return %4
            }""",
        after="""
            exec_program(%0: f64[30,8], %1: f64[5,8,20], %2: f64[5,20,7]) {
              %3: f64[5,20,8] = transpose[perm=(0, 2, 1)] %1
              %4: f64[30,5,20] = dot_general[(1,), (2,)] %0, %3
              %5: f64[5,30,20] = transpose[perm=(1, 0, 2)] %4
              %6: f64[5,30,7] = dot_general[(2,), (1,), (0,), (0,)] %5, %2
              return %6
            }""",
    )


def test_other_ops_and_outputs_get_their_values_as_they_were() -> None:
    assert_rewrites(
        ContractionLayout(),
        before="""
            exec_program(%0: f64[300,8], %1: f64[8,200], %2: f64[300,9]) {
              %3: f64[300,200] = dot_general[(1,), (0,)] %0, %1
              %4: f64[200,9] = dot_general[(0,), (0,)] %3, %2
              %5: f64[200,300] = reshape[shape=(200, 300)] %3
              return %3, %4, %5
            }""",
        after="""
            exec_program(%0: f64[300,8], %1: f64[8,200], %2: f64[300,9]) {
              %3: f64[300,200] = dot_general[(1,), (0,)] %0, %1
              %4: f64[200,9] = dot_general[(0,), (0,)] %3, %2
              %5: f64[200,300] = reshape[shape=(200, 300)] %3
              return %3, %4, %5
            }""",
    )


def test_one_contraction_alone_is_left_to_the_executor() -> None:
    assert_leaves_alone(
        ContractionLayout(),
        """
        exec_program(%0: f64[8,300], %1: f64[8,200]) {
          %2: f64[300,200] = dot_general[(0,), (0,)] %0, %1
          return %2
        }""",
    )


def test_a_program_whose_sizes_are_not_known_is_left_alone() -> None:
    assert_leaves_alone(
        ContractionLayout(),
        """
        exec_program(%0: f64[n,8], %1: f64[8,200], %2: f64[n,9]) {
          %3: f64[n,200] = dot_general[(1,), (0,)] %0, %1
          %4: f64[200,9] = dot_general[(0,), (0,)] %3, %2
          return %4
        }""",
    )


@st.composite
def programs(draw: st.DrawFn) -> ExecProgram:
    """Contractions by labels, of values with any order of axes, and what stands between them."""
    sizes = {label: draw(st.integers(0, 12)) or 3 for label in string.ascii_lowercase[:6]}
    sizes["a"] = draw(st.sampled_from([0, 1, 4]))
    dtype = draw(st.sampled_from([FLOAT64, COMPLEX128]))
    builder = ExecBuilder()
    values: list[tuple[int, str]] = []
    for _ in range(3):
        labels = "".join(draw(st.permutations("abcdef"))[: draw(st.integers(1, 4))])
        meta = make_meta(dtype, tuple(sizes[label] for label in labels))
        values.append((builder.input(meta), labels))
    for _ in range(draw(st.integers(2, 7))):
        x, y = draw(st.sampled_from(values)), draw(st.sampled_from(values))
        made = draw(st.sampled_from([contracted, contracted, moved, summed, elementwise]))
        values.append(made(draw, builder, x, y))
    return builder.build([slot for slot, _ in values[3:][-3:]])


Value = tuple[int, str]


def contracted(draw: Any, builder: ExecBuilder, x: Value, y: Value) -> Value:
    """Over some of the common labels, the others running along."""
    common = [label for label in x[1] if label in y[1]]
    batch = [label for label in draw(st.permutations(common)) if draw(st.booleans())]
    matched = [label for label in draw(st.permutations(common)) if label not in batch]
    free = [[label for label in v[1] if label not in common] for v in (x, y)]
    if len(batch) + len(free[0]) + len(free[1]) > 5:
        return x
    op = DotGeneral(
        *(tuple(v[1].index(label) for label in group) for group in (matched, batch) for v in (x, y))
    )
    return builder.add(op, [x[0], y[0]])[0], "".join([*batch, *free[0], *free[1]])


def moved(draw: Any, builder: ExecBuilder, x: Value, y: Value) -> Value:
    perm = tuple(draw(st.permutations(range(len(x[1])))))
    return builder.add(Transpose(perm), [x[0]])[0], "".join(x[1][axis] for axis in perm)


def summed(draw: Any, builder: ExecBuilder, x: Value, y: Value) -> Value:
    if not x[1]:
        return x
    axis = draw(st.integers(0, len(x[1]) - 1))
    return builder.add(ReduceSum((axis,)), [x[0]])[0], x[1][:axis] + x[1][axis + 1 :]


def elementwise(draw: Any, builder: ExecBuilder, x: Value, y: Value) -> Value:
    if x[1] == y[1]:
        return builder.add(draw(st.sampled_from([ADD, MUL])), [x[0], y[0]])[0], x[1]
    small = builder.add(MUL, [x[0], x[0]])[0]
    return builder.add(draw(st.sampled_from([ADD, MUL])), [small, x[0]])[0], x[1]


@given(programs())
def test_random_programs_keep_types_and_results(program: ExecProgram) -> None:
    verify(program)
    result = ContractionLayout().run(program)
    verify(result, after="contraction_layout")
    assert result.input_metas == program.input_metas
    assert result.output_metas == program.output_metas
    assert_same_results(program, result, {})
    with_it = optimize(program)
    without = optimize(program, OptimizerOptions(contraction_layout=False))
    assert_same_results(without, with_it, {})


def test_exponentials_of_contractions_agree() -> None:
    builder = ExecBuilder()
    x, y = (builder.input(make_meta(FLOAT64, (7, 5))) for _ in range(2))
    (inner,) = builder.add(DotGeneral((0,), (0,)), [x, y])
    (warm,) = builder.add(EXP, [inner])
    (outer,) = builder.add(DotGeneral((0,), (1,)), [warm, x])
    program = builder.build([outer, warm])
    assert_same_results(program, ContractionLayout().run(program), {})
