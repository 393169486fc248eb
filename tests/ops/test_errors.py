"""What each op refuses, and in which words."""

from __future__ import annotations

import re

import pytest

from tenferro import ops
from tenferro.errors import (
    AxisError,
    DTypeError,
    ExtentError,
    GraphError,
    ShapeError,
    TenferroError,
    UnsupportedDynamicShapeError,
)
from tenferro.shape import Exact, TensorMeta, Unknown, UpperBound, as_dtype, dim

BOUNDED = (
    "; data decide it, so it is a number only where nothing is traced: call the function without "
    "jit, and for derivatives with a tn.EagerRuntime; or keep the size, by size= or pad=True of "
    "the function that selects, or with tn.where"
)


def meta(text: str) -> TensorMeta:
    """The type that is written `f64[2,n]`."""
    dtype, sizes = re.fullmatch(r"(\w+)\[(.*)\]", text).groups()  # type: ignore[union-attr]
    extents = [
        Unknown() if size == "?"
        else UpperBound(dim(size[2:])) if size.startswith("<=")
        else Exact(dim(size))
        for size in sizes.split(",") if size
    ]  # fmt: skip
    return TensorMeta(as_dtype(dtype), extents)


REFUSALS: list[tuple[ops.StdTensorOp, str, type[TenferroError], str]] = [
    (ops.ADD, "f64[2]", GraphError, "add: takes 2 operands, got 1"),
    (ops.ADD, "f64[2] f32[2]", DTypeError,
     "add: operands have types f64[2] and f32[2]; convert them to one dtype"),
    (ops.MUL, "f64[2] f64[3]", ShapeError,
     "multiply: operands have types f64[2] and f64[3]; broadcast them to one shape"),
    (ops.MUL, "f64[2] f64[]", ShapeError,
     "multiply: operands have types f64[2] and f64[]; broadcast them to one shape"),
    (ops.ADD, "f64[n] f64[m]", ShapeError,
     "add: operands have types f64[n] and f64[m]; broadcast them to one shape"),
    (ops.ADD, "bool[2] bool[2]", DTypeError,
     "add: takes integer, unsigned, floating-point, complex operands, got bool[2]"),
    (ops.EXP, "i64[2]", DTypeError,
     "exponential: takes floating-point, complex operands, got i64[2]"),
    (ops.POW, "bool[] bool[]", DTypeError,
     "power: takes integer, unsigned, floating-point, complex operands, got bool[]"),
    (ops.ERF, "c128[2]", DTypeError, "erf: takes floating-point operands, got c128[2]"),
    (ops.ATAN2, "c64[] c64[]", DTypeError, "atan2: takes floating-point operands, got c64[]"),
    (ops.FLOOR, "i64[2]", DTypeError, "floor: takes floating-point operands, got i64[2]"),
    (ops.SIGN_BIT, "i64[2]", DTypeError, "sign_bit: takes floating-point operands, got i64[2]"),
    (ops.AND, "f64[2] f64[2]", DTypeError,
     "and: takes bool, integer, unsigned operands, got f64[2]"),
    (ops.SHIFT_LEFT, "bool[2] bool[2]", DTypeError,
     "shift_left: takes integer, unsigned operands, got bool[2]"),
    (ops.ReduceAnd((0,)), "i64[2]", DTypeError, "reduce_and: takes bool operands, got i64[2]"),
    (ops.ReduceOr((1,)), "bool[2]", AxisError,
     "reduce_or: axis 1 is out of range for bool[2] of rank 1"),
    (ops.CumulativeSum(1), "f64[2]", AxisError,
     "cumulative_sum: axis 1 is out of range for f64[2] of rank 1"),
    (ops.CumulativeProd(0), "bool[2]", DTypeError,
     "cumulative_prod: takes integer, unsigned, floating-point, complex operands, got bool[2]"),
    (ops.CumulativeMax(0), "c128[2]", DTypeError,
     "maximum: takes integer, unsigned, floating-point operands, got c128[2]"),
    (ops.CumulativeLogSumExp(0), "i64[2]", DTypeError,
     "log_add_exp: takes floating-point operands, got i64[2]"),
    (ops.LinearRecurrence(0), "f64[2] f64[3]", ShapeError,
     "linear_recurrence: operands have types f64[2] and f64[3]; broadcast them to one shape"),
    (ops.Iota(as_dtype("bool"), 3), "", DTypeError, "iota: the dtype must be numeric, got bool"),
    (ops.REM, "c64[2] c64[2]", DTypeError,
     "remainder: takes integer, unsigned, floating-point operands, got c64[2]"),
    (ops.MAXIMUM, "c128[2] c128[2]", DTypeError,
     "maximum: takes integer, unsigned, floating-point operands, got c128[2]"),
    (ops.MINIMUM, "bool[2] bool[2]", DTypeError,
     "minimum: takes integer, unsigned, floating-point operands, got bool[2]"),
    (ops.CLAMP, "c64[] c64[] c64[]", DTypeError,
     "clamp: takes integer, unsigned, floating-point operands, got c64[]"),
    (ops.Compare("LT"), "c64[2] c64[2]", DTypeError,
     "compare: LT orders its operands, and c64[2] and c64[2] have no order"),
    (ops.Compare("XX"), "f64[2] f64[2]", DTypeError,
     "compare: direction 'XX' is not one of EQ, NE, LT, LE, GT, GE"),
    (ops.Compare("EQ"), "f64[2] f64[3]", ShapeError,
     "compare: operands have types f64[2] and f64[3]; broadcast them to one shape"),
    (ops.SELECT, "f64[2] f64[2] f64[2]", DTypeError,
     "select: the predicate must be bool, got f64[2]"),
    (ops.SELECT, "bool[] f64[2] f64[2]", ShapeError,
     "select: predicate bool[] and choices f64[2] must have equal shapes"),
    (ops.SELECT, "bool[2] f64[2] f32[2]", DTypeError,
     "select: operands have types f64[2] and f32[2]; convert them to one dtype"),
    (ops.REAL, "f64[2]", DTypeError, "real: takes complex operands, got f64[2]"),
    (ops.IMAG, "f64[2]", DTypeError, "imag: takes complex operands, got f64[2]"),
    (ops.COMPLEX, "i64[2] i64[2]", DTypeError,
     "complex: takes floating-point operands, got i64[2]"),
    (ops.COMPLEX, "f16[2] f16[2]", DTypeError, "complex: parts must be f32 or f64, got f16"),
    (ops.Transpose((0,)), "f64[2,3]", AxisError,
     "transpose: perm (0,) must name each axis of f64[2,3] once"),
    (ops.Transpose((0, 0)), "f64[2,3]", AxisError,
     "transpose: axes (0, 0) of f64[2,3] name an axis twice"),
    (ops.Transpose((0, 2)), "f64[2,3]", AxisError,
     "transpose: axis 2 is out of range for f64[2,3] of rank 2"),
    (ops.Reshape((5,)), "f64[2,3]", ShapeError,
     "reshape: f64[2,3] has 6 elements, but f64[5] has 5"),
    (ops.Reshape((-1,)), "f64[2,3]", ExtentError,
     "shape: extent -1 is not between 0 and 2**63 - 1"),
    (ops.Reshape((dim("n"),)), "f64[m]", ShapeError,
     "reshape: f64[m] has m elements, but f64[n] has n"),
    (ops.Reshape((2,)), "f64[<=n]", UnsupportedDynamicShapeError,
     "UnsupportedDynamicShape: reshape: operand[0] must be exact, but is at most n (upper bound)"
     + BOUNDED),
    (ops.Reverse((1,)), "f64[2]", AxisError,
     "reverse: axis 1 is out of range for f64[2] of rank 1"),
    (ops.BroadcastInDim((2, 3), (0, 1)), "f64[3]", AxisError,
     "broadcast_in_dim: dims (0, 1) must name one axis for each axis of f64[3]"),
    (ops.BroadcastInDim((2, 3), (2,)), "f64[3]", AxisError,
     "broadcast_in_dim: axis 2 is out of range for f64[2,3] of rank 2"),
    (ops.BroadcastInDim((2, 3), (1, 0)), "f64[3,2]", AxisError,
     "broadcast_in_dim: dims (1, 0) must increase; transpose f64[3,2] first"),
    (ops.BroadcastInDim((2, 3), (0,)), "f64[3]", ShapeError,
     "broadcast_in_dim: axis 0 of f64[3] has size 3, but axis 0 of the result f64[2,3] has size 2"),
    (ops.BroadcastInDim((2, 3), (1,)), "f64[n]", ShapeError,
     "broadcast_in_dim: axis 0 of f64[n] has size n, but axis 1 of the result f64[2,3] has size 3"),
    (ops.ReduceSum((0, 0)), "f64[2]", AxisError,
     "reduce_sum: axes (0, 0) of f64[2] name an axis twice"),
    (ops.ReduceSum((0,)), "bool[2]", DTypeError,
     "reduce_sum: takes integer, unsigned, floating-point, complex operands, got bool[2]"),
    (ops.ReduceProd((-1,)), "f64[2]", AxisError,
     "reduce_prod: axis -1 is out of range for f64[2] of rank 1"),
    (ops.ReduceMax((0,)), "c64[2]", DTypeError,
     "reduce_max: takes integer, unsigned, floating-point operands, got c64[2]"),
    (ops.ReduceMin((1,)), "f64[2,0]", ShapeError,
     "reduce_min: axis 1 of f64[2,0] has no elements to choose from"),
    (ops.Slice((0,), (2,), (1,)), "f64[2,3]", AxisError,
     "slice: starts, limits and strides must have one entry for each axis of f64[2,3]"),
    (ops.Slice((0,), (3,), (1,)), "f64[2]", ShapeError,
     "slice: 0:3:1 does not lie within axis 0 of f64[2]"),
    (ops.Slice((2,), (1,), (1,)), "f64[2]", ShapeError,
     "slice: 2:1:1 does not lie within axis 0 of f64[2]"),
    (ops.Slice((-1,), (1,), (1,)), "f64[2]", ShapeError,
     "slice: -1:1:1 does not lie within axis 0 of f64[2]"),
    (ops.Slice((0,), (1,), (0,)), "f64[2]", ShapeError,
     "slice: 0:1:0 does not lie within axis 0 of f64[2]"),
    (ops.Slice((0,), (dim("n + 1"),), (1,)), "f64[n]", ShapeError,
     "slice: 0:n + 1:1 does not lie within axis 0 of f64[n]"),
    (ops.Slice((dim("n"),), (dim("n - 1"),), (1,)), "f64[n]", ShapeError,
     "slice: n:n - 1:1 does not lie within axis 0 of f64[n]"),
    (ops.Pad((0,), (0,), (0,)), "f64[2] f32[]", DTypeError,
     "pad: operand and padding value have types f64[2] and f32[]"),
    (ops.Pad((0,), (0,), (0,)), "f64[2] f64[1]", ShapeError,
     "pad: the padding value must be a scalar, got f64[1]"),
    (ops.Pad((0,), (0, 0), (0,)), "f64[2] f64[]", AxisError,
     "pad: low, high and interior must have one entry for each axis of f64[2]"),
    (ops.Pad((0,), (0,), (-1,)), "f64[2] f64[]", ShapeError,
     "pad: interior padding (-1,) of f64[2] must not be negative"),
    (ops.Pad((-2,), (-1,), (0,)), "f64[2] f64[]", ShapeError,
     "pad: padding leaves -1 elements along axis 0 of f64[2]"),
    (ops.Concatenate(0), "", GraphError, "concatenate: takes at least one operand"),
    (ops.Concatenate(1), "f64[2]", AxisError,
     "concatenate: axis 1 is out of range for f64[2] of rank 1"),
    (ops.Concatenate(0), "f64[2] f32[2]", DTypeError,
     "concatenate: operands have types f64[2] and f32[2]; convert them to one dtype"),
    (ops.Concatenate(0), "f64[2,2] f64[2,3]", ShapeError,
     "concatenate: operands f64[2,2] and f64[2,3] must agree off axis 0"),
    (ops.Concatenate(0), "f64[2,2] f64[2]", ShapeError,
     "concatenate: operands f64[2,2] and f64[2] must agree off axis 0"),
    (ops.ExtractDiag(1, 0), "f64[2,2]", AxisError,
     "extract_diag: axis_a 1 must come before axis_b 0"),
    (ops.ExtractDiag(0, 1), "f64[2,3]", ShapeError,
     "extract_diag: axes 0 and 1 of f64[2,3] have sizes 2 and 3, which differ"),
    (ops.ExtractDiag(0, 2), "f64[2,2]", AxisError,
     "extract_diag: axis 2 is out of range for f64[2,2] of rank 2"),
    (ops.EmbedDiag(0, 0), "f64[2]", AxisError,
     "embed_diag: axis_b 0 must come after axis_a 0 and be at most the rank of f64[2]"),
    (ops.EmbedDiag(0, 2), "f64[2]", AxisError,
     "embed_diag: axis_b 2 must come after axis_a 0 and be at most the rank of f64[2]"),
    (ops.Tril(), "f64[2]", ShapeError, "tril: needs at least two axes, got f64[2]"),
    (ops.Triu(1), "f64[]", ShapeError, "triu: needs at least two axes, got f64[]"),
    (ops.DotGeneral((1,), (0,)), "f32[2,3] f32[4,5]", ShapeError,
     "dot_general: lhs axis 1 of f32[2,3] and rhs axis 0 of f32[4,5] are matched "
     "but have sizes 3 and 4"),
    (ops.DotGeneral((1,), (0,)), "f32[2,3] f64[3,5]", DTypeError,
     "dot_general: operands have types f32[2,3] and f64[3,5]; convert them to one dtype"),
    (ops.DotGeneral((1,), (0,)), "bool[2,3] bool[3,5]", DTypeError,
     "dot_general: takes integer, unsigned, floating-point, complex operands, got bool[2,3]"),
    (ops.DotGeneral((2,), (0,)), "f64[2,3] f64[3,5]", AxisError,
     "dot_general: axis 2 is out of range for f64[2,3] of rank 2"),
    (ops.DotGeneral((0,), (0,), (0,), (1,)), "f64[2,3] f64[2,2]", AxisError,
     "dot_general: axes (0, 0) of f64[2,3] name an axis twice"),
    (ops.DotGeneral((0, 1), (0,)), "f64[2,3] f64[2]", AxisError,
     "must name as many axes of f64[2,3] as of f64[2]"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("op", "operands", "error", "words"),
    REFUSALS,
    ids=[f"{op.name}-{operands.replace(' ', '-')}" for op, operands, _, _ in REFUSALS],
)
def test_the_refusal_says_what_is_wrong(
    op: ops.StdTensorOp, operands: str, error: type[TenferroError], words: str
) -> None:
    with pytest.raises(error, match=re.escape(words) + "$"):
        op.infer_all([meta(operand) for operand in operands.split()])
