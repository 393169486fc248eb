from typing import Any

import numpy as np
import pytest

from tenferro import ops
from tenferro.compiler import parse
from tenferro.errors import ParseError
from tenferro.ir import ExecBuilder, ExecOp, parse_exec, payload, verify, with_last_use
from tenferro.ops import (
    ABS,
    ADD,
    ALL_OPS,
    CLAMP,
    COMPLEX,
    CONJ,
    COS,
    DIV,
    EXP,
    EXPM1,
    IMAG,
    LOG,
    LOG1P,
    MAXIMUM,
    MINIMUM,
    MUL,
    NEG,
    POW,
    REAL,
    REM,
    RSQRT,
    SELECT,
    SIGN,
    SIN,
    SQRT,
    SUB,
    TANH,
    ArgMax,
    ArgMin,
    AssumeSize,
    BroadcastInDim,
    Compare,
    Concatenate,
    Constant,
    Convert,
    DotGeneral,
    DynamicBroadcastInDim,
    DynamicSlice,
    DynamicTruncate,
    DynamicUpdateSlice,
    EmbedDiag,
    ExtractDiag,
    Gather,
    GatherDynamicSliceSizes,
    Pad,
    PadToMatch,
    ReduceMax,
    ReduceMin,
    ReduceProd,
    ReduceSum,
    Reshape,
    Reverse,
    Scatter,
    ScatterReduce,
    ShapeOf,
    Slice,
    Sort,
    StdTensorOp,
    TopPlaces,
    Transpose,
    Tril,
    Triu,
)
from tenferro.shape import TensorMeta, as_dtype, dim

N = dim("n")
REALS = ("f64", ("n", 3))
INTEGERS = ("i32", ("n", 3))
FUNCTIONS: tuple[type[StdTensorOp], ...] = (
    *(ops.Tan, ops.Sinh, ops.Cosh, ops.Asin, ops.Acos, ops.Atan, ops.Asinh, ops.Acosh, ops.Atanh),
    *(ops.Cbrt, ops.Erf, ops.Erfc, ops.ErfInv, ops.Logistic),
    *(ops.Floor, ops.Ceil, ops.RoundNearestEven, ops.SignBit, ops.StopGradient),
)
BITWISE: tuple[type[StdTensorOp], ...] = (
    *(ops.And, ops.Or, ops.Xor, ops.ShiftLeft, ops.ShiftRight),
)
# For each op: the types of its operands.
APPLICATIONS: list[tuple[StdTensorOp, list[tuple[str, tuple[Any, ...]]]]] = [
    *[(op, [REALS] * 2) for op in (ADD, SUB, MUL, DIV, REM, MAXIMUM, MINIMUM, POW)],
    *[(op, [REALS]) for op in (NEG, ABS, SIGN, EXP, LOG, SIN, COS, TANH, SQRT, RSQRT)],
    (ops.SECH_SQUARED, [REALS]),
    (ops.InversePower(3), [REALS]),
    *[(op, [REALS]) for op in (EXPM1, LOG1P)],
    *[(op, [("c64", (2,))]) for op in (CONJ, REAL, IMAG)],
    (COMPLEX, [REALS] * 2),
    (CLAMP, [REALS] * 3),
    (Compare("GE"), [REALS] * 2),
    (ops.CheckpointName("h"), [REALS]),
    (ops.After(1), [REALS, ("bool", ())]),
    (ops.CotangentWhere(), [REALS, ("bool", ("n", 3))]),
    (ops.ShardingConstraint((("data", "model"), None)), [REALS]),
    (SELECT, [("bool", (2,)), ("i32", (2,)), ("i32", (2,))]),
    (Convert(as_dtype("c128")), [REALS]),
    (Constant(np.array([[1, 2]])), []),
    (Transpose((1, 0)), [REALS]),
    (Reshape((3, N)), [REALS]),
    (Reverse((0,)), [REALS]),
    (BroadcastInDim((2 * N, N, 3), (1, 2)), [REALS]),
    *[(op((0,)), [REALS]) for op in (ReduceSum, ReduceProd, ReduceMax, ReduceMin, ops.ReduceNorm)],
    (Slice((0, 1), (N, 3), (1, 2)), [REALS]),
    (Pad((N, -1), (0, 2), (0, 1)), [REALS, ("f64", ())]),
    (Concatenate(0), [REALS] * 3),
    (ExtractDiag(0, 1), [("f64", (3, 3))]),
    (EmbedDiag(0, 2), [REALS]),
    (Tril(-1), [REALS]),
    (Triu(1), [REALS]),
    (DotGeneral((1,), (1,), (0,), (0,)), [REALS, ("f64", ("n", 3, 4))]),
    (ShapeOf(1), [REALS]),
    (DynamicTruncate(0), [REALS, ("i64", ())]),
    (PadToMatch(0), [REALS, ("f32", ("m", 5))]),
    (DynamicBroadcastInDim((dim("2*dim(1, 0)"), N, 3), (1, 2)), [REALS, ("i32", ("m",))]),
    (AssumeSize(0, dim("m")), [REALS]),
    (Gather((1,), (0,), (0,), 1, (1, 3), unique=True), [REALS, ("i64", ("m",))]),
    (
        GatherDynamicSliceSizes((1,), (0,), (0,), 1, (1, dim("dim(2, 1) - 1"))),
        [REALS, ("i64", ("m",)), ("f64", (2, 4))],
    ),
    (
        Scatter((1,), (0,), (0,), 1, combiner="set"),
        [REALS, ("i64", ("m",)), ("f64", ("m", 3))],
    ),
    (
        ScatterReduce((), (0,), (0,), 2, (1,), (0,), "max"),
        [REALS, ("uint8", (3, "m")), ("f64", (3, "m"))],
    ),
    (DynamicSlice((N, 2)), [REALS, ("i32", ()), ("i32", ())]),
    (DynamicUpdateSlice(), [REALS, ("f64", ("n", 2)), ("i64", ()), ("i64", ())]),
    (Sort(1), [REALS]),
    (TopPlaces(1, 2), [REALS]),
    *[(op(0), [REALS]) for op in (ArgMax, ArgMin)],
    *[(op(), [REALS]) for op in FUNCTIONS],
    *[(op(), [REALS] * 2) for op in (ops.Atan2, ops.LogAddExp)],
    *[(op(), [INTEGERS] * 2) for op in BITWISE],
    *[(op(), [INTEGERS]) for op in (ops.Not, ops.PopulationCount, ops.CountLeadingZeros)],
    (ops.BitcastConvert(as_dtype("u64")), [REALS]),
    (ops.Iota(as_dtype("i32"), 2 * N), []),
    *[(op((1,)), [("bool", (2, 3))]) for op in (ops.ReduceAnd, ops.ReduceOr)],
    *[(op(1, reverse=True), [REALS]) for op in (ops.CumulativeSum, ops.CumulativeProd)],
    *[(op(1, reverse=True), [REALS]) for op in (ops.CumulativeMax, ops.CumulativeMin)],
    (ops.CumulativeLogSumExp(1), [REALS]),
    (ops.LinearRecurrence(1), [REALS] * 2),
    (ops.Special("xlogy"), [REALS] * 2),
    (ops.Threefry2x32("fold_in"), [("u32", ("n",))] * 4),
    *[(op, [REALS] * 2) for op in (ops.GammaSample(log=True), ops.GAMMA_GRAD)],
]


def test_every_op_of_the_vocabulary_is_applied_below() -> None:
    assert {type(op) for op, _ in APPLICATIONS} == set(ALL_OPS)


@pytest.mark.parametrize(("op", "types"), APPLICATIONS, ids=lambda item: getattr(item, "name", ""))
def test_each_op_is_read_back(op: StdTensorOp, types: list[tuple[str, tuple[Any, ...]]]) -> None:
    builder = ExecBuilder()
    operands = [builder.input(TensorMeta.of(dtype, shape)) for dtype, shape in types]
    program = with_last_use(builder.build(builder.add(op, operands, "user.py:3")))
    again = parse(str(program))
    verify(again)
    assert str(again) == str(program)
    assert again.digest == program.digest
    (step,) = again.instructions
    assert step.op == op
    assert step.site == "user.py:3"
    assert step.last_use == program.instructions[0].last_use


NUMBERS = [
    True,
    3,
    -(2**62),
    np.uint64(2**64 - 1),
    0.1,
    -0.0,
    5e-324,
    np.inf,
    -np.inf,
    np.nan,
    -np.nan,
    np.float32(0.1),
    np.float16(-65504),
    0j,
    1j,
    -1j,
    complex(-0.0, 0.0),
    complex(0.0, -0.0),
    complex(-0.0, -0.0),
    complex(-0.0, -1.0),
    complex(0.0, -1.0),
    complex(-1.5, -2.5),
    complex(np.nan, np.nan),
    complex(np.inf, -np.inf),
    complex(-np.inf, np.nan),
    complex(0.0, np.inf),
    complex(0.0, -np.inf),
    complex(-0.0, -np.inf),
    np.complex64(0.1 + 0.2j),
    np.zeros(0),
    np.zeros((2, 0, 3), np.complex64),
    np.zeros((0, 2), bool),
    np.array([True, False]),
    np.array([[1, -2], [3, 4]], np.int8),
    np.array([np.nan, np.inf, -np.inf, -0.0]),
    np.array([complex(np.nan, -0.0), -1j, 1 - 1j]),
    np.arange(6, dtype="f4").reshape(3, 2).T,
]


@pytest.mark.parametrize("value", NUMBERS, ids=repr)
def test_each_constant_is_read_back_to_the_bit(value: object) -> None:
    op = Constant(np.asarray(value))
    builder = ExecBuilder()
    program = builder.build(builder.add(op, []))
    again = parse(str(program))
    assert again.instructions[0].op == op
    assert again.digest == program.digest
    assert str(again) == str(program)


def test_a_nan_is_a_nan_whatever_its_sign() -> None:
    assert Constant(np.array(np.nan)) == Constant(np.array(-np.nan))
    assert Constant(np.array(complex(np.nan, -np.nan))) == Constant(
        np.array(complex(np.nan, np.nan))
    )


def test_extents_keep_their_guarantee() -> None:
    text = "exec_program(%0: f64[n,<=2*n,?,min(m, n)]) {\n  return %0\n}"
    assert str(parse(text)) == text


def test_comments_and_blank_lines_are_skipped() -> None:
    program = parse(
        """
        # a program

        exec_program(%0: f64[]) {
          # a step
          %1: f64[] = sine %0

          return %1
        }
        """
    )
    assert len(program.instructions) == 1


@payload
class Split(ExecOp, name="split"):
    """An op with two outputs of different dtypes."""

    n_outputs = 2

    def infer_all(self, metas: Any) -> tuple[TensorMeta, ...]:
        return (metas[0], metas[0].with_dtype(as_dtype("i32")))


def test_an_op_with_several_outputs_is_read_back() -> None:
    builder = ExecBuilder()
    outputs = builder.add(Split(), [builder.input(TensorMeta.of("f64", (2,)))])
    program = builder.build(outputs)
    assert "%1: f64[2], %2: i32[2] = split %0" in str(program)
    again = parse_exec(str(program), {"split": Split})
    verify(again)
    assert str(again) == str(program)


GOOD = "exec_program(%0: f64[2]) {\n  %1: f64[2] = sine %0\n  return %1\n}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"expected 'exec_program\(\.\.\.\) \{' in the first line"),
        ("program() {\n return\n}", r"expected 'exec_program\(\.\.\.\) \{' in the first line"),
        (GOOD.replace("}", ""), r"expected '  return \.\.\.' and '\}' at the end"),
        (GOOD.replace("  return %1\n", ""), r"expected '  return \.\.\.' and '\}' at the end"),
        (GOOD.replace("sine", "sinus"), "unknown op 'sinus' in"),
        (GOOD.replace("f64[2])", "f65[2])"), "unknown element type 'f65' of %0"),
        (GOOD.replace("= sine", "sine"), "not an instruction"),
        (GOOD.replace("sine %0", "sine x"), "expected operands such as '%1' or '%1!'"),
        (GOOD.replace("sine", "sine[a=1]"), "sine: .*unexpected keyword argument 'a'"),
        (GOOD.replace("sine", "transpose"), "transpose: .*missing 1 required .* 'perm'"),
        (GOOD.replace("sine", "transpose[perm=(1]"), "unbalanced brackets|cannot read the payload"),
        (GOOD.replace("sine", "transpose[perm=(1,"), "unbalanced brackets"),
        (GOOD.replace("sine", "transpose[perm=f(1)]"), "cannot read the payload 'perm=f"),
        (GOOD.replace("f64[2])", "f64[2+])"), "'2\\+' is not a size"),
    ],
)
def test_what_is_no_program_is_refused(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse(text)


def test_a_slot_number_out_of_all_proportion_is_refused() -> None:
    text = "exec_program(%0: f64[]) {\n  %99999999999: f64[] = sine %0\n  return %99999999999\n}"
    with pytest.raises(ParseError, match="slot %99999999999 in a program of 2 values"):
        parse(text)
