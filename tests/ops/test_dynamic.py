"""Ops of which data decide sizes: what they refuse, what is inferred, and what is simplified."""

from typing import Any

import numpy as np
import pytest

from tenferro.core import KeyEmitter, input_key
from tenferro.errors import (
    AxisError,
    GraphError,
    GuardViolationError,
    RuntimeSizeError,
    ShapeError,
)
from tenferro.errors import UnsupportedDynamicShapeError as Unsupported
from tenferro.ops import (
    ADD,
    AssumeSize,
    BroadcastInDim,
    Concatenate,
    DynamicBroadcastInDim,
    DynamicTruncate,
    Pad,
    PadToMatch,
    ReduceMax,
    ReduceSum,
    ShapeOf,
    Slice,
    StdTensorOp,
    full,
    size_of_scalar,
)
from tenferro.shape import (
    FLOAT64,
    Exact,
    ShapeExtent,
    TensorInput,
    TensorMeta,
    Unknown,
    UpperBound,
    dim,
    same_size,
)
from tests.graphs import CTX

N, M = dim("n"), dim("m")
COUNT = TensorMeta.of("i64", ())
EMITTER = KeyEmitter(CTX)


def meta(*extents: ShapeExtent | Any) -> TensorMeta:
    known = ShapeExtent.__args__  # type: ignore[attr-defined]
    return TensorMeta(
        FLOAT64, [extent if isinstance(extent, known) else Exact(dim(extent)) for extent in extents]
    )


def value(type_: TensorMeta, name: str = "x") -> Any:
    key = input_key(TensorInput(name, type_))
    CTX.meta(key)
    return key


@pytest.mark.parametrize(
    ("op", "metas", "error", "text"),
    [
        (ShapeOf(2), [meta(2, 3)], AxisError, r"shape_of: axis 2 is out of range for f64\[2,3\]"),
        (
            DynamicTruncate(1),
            [meta(2), COUNT],
            AxisError,
            "dynamic_truncate: axis 1 is out of range",
        ),
        (
            PadToMatch(0),
            [meta(2), meta(2, 2)],
            ShapeError,
            r"pad_to_match: operands have types f64\[2\] and f64\[2,2\]; the reference must have",
        ),
        (DynamicBroadcastInDim((2,), ()), [], GraphError, "takes at least one operand"),
        (
            DynamicBroadcastInDim((2,), ()),
            [meta(2)],
            AxisError,
            r"dims \(\) must name one axis for",
        ),
        (DynamicBroadcastInDim((2, 3), (1, 0)), [meta(3, 2)], AxisError, "must increase"),
        (
            DynamicBroadcastInDim((dim("dim(1, 3)"),), ()),
            [meta(), meta(2)],
            AxisError,
            r"dim\(1, 3\) does not name an axis of one of the 2 operands",
        ),
        (
            DynamicBroadcastInDim((dim("dim(1, 0)"),), (0,)),
            [meta(3), meta(UpperBound(3))],
            ShapeError,
            r"axis 0 of f64\[3\] does not have the size of axis 0 of the result f64\[<=3\]",
        ),
        (
            AssumeSize(0, 3),
            [meta(4)],
            GuardViolationError,
            r"axis 0 of f64\[4\] was assumed to have",
        ),
        (
            AssumeSize(0, 3),
            [meta(Unknown())],
            Unsupported,
            r"assume_size: operand\[0\] must be exact, but is unknown",
        ),
        (
            ADD,
            [meta(UpperBound(N)), meta(UpperBound(N))],
            Unsupported,
            r"add: operand\[0\] must be exact, but is at most n",
        ),
        (ADD, [meta(UpperBound(N), 2), meta(UpperBound(N), 3)], Unsupported, "n"),
        (
            Slice((0,), (3,), (1,)),
            [meta(UpperBound(4))],
            Unsupported,
            r"slice: operand\[0\] must be exact, but is at most 4",
        ),
        (
            Slice((1,), (dim("dim(0, 0)"),), (1,)),
            [meta(UpperBound(4))],
            Unsupported,
            r"slice: operand\[0\]",
        ),
        (Pad((-1,), (0,), (0,)), [meta(UpperBound(4)), meta()], Unsupported, r"pad: operand\[0\]"),
        (
            Concatenate(0),
            [meta(2, UpperBound(N)), meta(2, UpperBound(N))],
            Unsupported,
            r"concatenate: operand\[0\] must be exact",
        ),
    ],
)
def test_what_ops_refuse(
    op: StdTensorOp, metas: list[TensorMeta], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        op.infer_all(metas)


@pytest.mark.parametrize(
    ("op", "metas", "extents"),
    [
        (DynamicTruncate(0), [meta("n"), COUNT], [UpperBound(N)]),
        (DynamicTruncate(0), [meta(Unknown()), COUNT], [Unknown()]),
        (DynamicTruncate(0), [meta(5), TensorMeta(COUNT.dtype, (), Exact(3))], [Exact(3)]),
        (DynamicTruncate(0), [meta("n"), TensorMeta(COUNT.dtype, (), Unknown())], [UpperBound(N)]),
        (PadToMatch(0), [meta(3), meta(5)], [Exact(5)]),
        (PadToMatch(0), [meta(UpperBound(N)), meta("n")], [Exact(N)]),
        (PadToMatch(0), [meta("n"), meta(UpperBound(M))], [UpperBound(dim("max(m, n)"))]),
        (PadToMatch(0), [meta("n"), meta(Unknown())], [Unknown()]),
        (
            DynamicBroadcastInDim((dim("dim(1, 0)"), 2), ()),
            [meta(), meta("n")],
            [Exact(N), Exact(2)],
        ),
        (
            DynamicBroadcastInDim((dim("2*dim(1, 0)"),), ()),
            [meta(), meta(UpperBound(N))],
            [UpperBound(2 * N)],
        ),
        (
            DynamicBroadcastInDim((dim("9 - dim(1, 0)"),), ()),
            [meta(), meta(UpperBound(N))],
            [Unknown()],
        ),
        (
            Slice((0, 1), (dim("dim(0, 0)"), 3), (1, 1)),
            [meta(UpperBound(N), 3)],
            [UpperBound(N), Exact(2)],
        ),
        (
            Pad((1, 0), (0, 2), (0, 0)),
            [meta(UpperBound(N), 3), meta()],
            [UpperBound(N + 1), Exact(5)],
        ),
        (Concatenate(0), [meta(UpperBound(N), 2), meta(3, 2)], [UpperBound(N + 3), Exact(2)]),
        (ReduceSum((0,)), [meta("n", UpperBound(M))], [UpperBound(M)]),
    ],
)
def test_guarantees_are_kept_and_never_upgraded(
    op: StdTensorOp, metas: list[TensorMeta], extents: list[ShapeExtent]
) -> None:
    (result,) = op.infer_all(metas)
    assert list(result.extents) == extents


def test_a_scalar_means_the_size_that_is_nearest() -> None:
    for number, size in (
        (0.49999999999999994, 0),
        (0.5, 1),
        (1.5, 2),
        (-0.5, 0),
        (2**53 + 2.0, 2**53 + 2),
    ):
        assert size_of_scalar(np.asarray(number)) == size
    assert size_of_scalar(np.asarray(2**64 - 1, np.uint64)) == 2**64 - 1
    with pytest.raises(
        RuntimeSizeError, match="dynamic_truncate: the size is nan, which is not a size"
    ):
        size_of_scalar(np.asarray(np.nan, np.float32))


def test_a_maximum_of_what_data_have_left_empty_is_refused() -> None:
    with pytest.raises(ShapeError, match=r"reduce_max: axis 0 of f64\[0,2\] has no elements"):
        ReduceMax((0,)).evaluate([np.zeros((0, 2))])


def test_what_changes_no_size_folds_to_its_operand() -> None:
    x, k = value(meta("n", 3)), value(COUNT, "k")
    y = EMITTER.emit(DynamicTruncate(0), x, k)
    assert EMITTER.emit(DynamicTruncate(0), y, EMITTER.emit(ShapeOf(0), y)) is y
    assert EMITTER.emit(DynamicTruncate(0), y, EMITTER.emit(ShapeOf(0), x)) is y
    assert EMITTER.emit(PadToMatch(0), x, y) is x
    assert EMITTER.emit(AssumeSize(1, 3), y) is y
    assert EMITTER.emit(Slice((0, 0), (dim("dim(0, 0)"), 3), (1, 1)), y) is y
    whole = DynamicBroadcastInDim((dim("dim(1, 0)"), 3), (0, 1))
    assert EMITTER.emit(whole, y, y) is y


def test_a_size_that_is_known_is_a_constant_and_an_ordinary_broadcast() -> None:
    x = value(meta(2, "n"))
    made = EMITTER.producer(EMITTER.emit(ShapeOf(0), x))
    assert made is not None
    assert made[0].value == 2
    one = EMITTER.emit(ReduceSum((0, 1)), x)
    made = EMITTER.producer(EMITTER.emit(DynamicBroadcastInDim((dim("dim(1, 1)"), 2), ()), one, x))
    assert made is not None
    assert made[0] == BroadcastInDim((N, 2), ())


def test_a_nested_truncation_pads_back_to_what_it_was_cut_from() -> None:
    x, k, j = value(meta("n")), value(COUNT, "k"), value(COUNT, "j")
    y = EMITTER.emit(DynamicTruncate(0), x, k)
    z = EMITTER.emit(DynamicTruncate(0), y, j)
    back = CTX.meta(EMITTER.emit(PadToMatch(0), z, y))
    assert same_size(back.extents[0], CTX.meta(y).extents[0])
    assert CTX.meta(EMITTER.emit(PadToMatch(0), z, x)).extents == (Exact(N),)


def test_values_of_no_known_source_cannot_be_filled() -> None:
    with pytest.raises(Unsupported, match=r"full: shape\[0\] must be exact, but is"):
        full(EMITTER, 0, meta(UpperBound(N)))


def test_assumed_sizes_are_checked_where_the_op_runs() -> None:
    with pytest.raises(GuardViolationError, match=r"axis 0 of f64\[2\] was assumed to have size 3"):
        AssumeSize(0, 3).evaluate([np.zeros(2)])
