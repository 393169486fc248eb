"""Operands: dtype promotion, broadcasting, axes, as in NumPy.

Symbolic sizes of aligned axes are assumed equal unless they certainly differ. The assumption is an
op of the graph and is checked when the sizes are known. Data-dependent sizes must certainly be
equal.

An operand of a body is an expression, a Python number (whose dtype is weak), or a symbolic size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, TypeVar

import numpy as np

from tenferro.errors import (
    AxisError,
    DTypeError,
    ShapeError,
    TenferroError,
    UnsupportedDynamicShapeError,
)
from tenferro.ir import (
    BOOL,
    INT32,
    INT64,
    UINT64,
    AnyTensor,
    ArrayLike,
    Axis,
    Dim,
    DimExpr,
    DType,
    DTypeLike,
    Exact,
    Integers,
    ShapeExtent,
    TensorMeta,
    as_dtype,
    at_most,
    canonical,
    describe,
    dtype_kind,
    inexact_of,
    integer_of,
    is_integer,
    maximum,
    promoted_dtype,
    refuse_traced,
    same_size,
    short_name,
)
from tenferro.ops import (
    ADD,
    MUL,
    SUB,
    AssumeSize,
    BroadcastInDim,
    Convert,
    DotGeneral,
    ReduceSum,
    Reshape,
    StdTensorOp,
    scalar,
)
from tenferro.ops.functions.dispatch import broadcast_like, emit, full

__all__ = [
    "array",
    "assume_size",
    "called",
    "common_batch",
    "convert",
    "counts",
    "integers",
    "is_number",
    "named",
    "normal_axes",
    "normal_axis",
    "promote",
    "repeated",
    "result_dtype",
]


# Broadcasting of shapes by NumPy's rule: axes align at the end, size 1 is repeated.


def broadcast(name: str, values: Sequence[AnyTensor]) -> list[AnyTensor]:
    """The values repeated to their common shape.

    Raises:
        ShapeError: two sizes differ and neither is 1; names the axis.
        UnsupportedDynamicShapeError: a size is data-dependent and may differ between the values.
    """
    if len(values) == 1:
        return [*values]
    metas: list[TensorMeta] = [value.meta for value in values]
    dims = metas[0].dims
    if dims is not None and all(meta is metas[0] or meta.dims == dims for meta in metas):
        return list(values)
    extents = broadcast_extents(name, metas)
    return [repeated(name, value, extents) for value in values]


def broadcast_extents(name: str, metas: Sequence[TensorMeta]) -> tuple[ShapeExtent, ...]:
    """The extents of the common shape of operands."""
    rank = max(meta.rank for meta in metas)
    result: list[ShapeExtent] = []
    for axis in range(-rank, 0):
        result.append(Exact(1))
        for meta in metas:
            if meta.rank >= -axis:
                result[-1] = _aligned_extent(name, axis, result[-1], meta.extents[axis], metas)
    return tuple(result)


def common_batch(
    name: str, metas: Sequence[TensorMeta], shown: Sequence[TensorMeta] | None = None
) -> tuple[ShapeExtent, ...]:
    """The common batch axes of matrices; `shown` are the types that errors show, if they differ.

    Raises:
        ShapeError: the batch axes cannot be broadcast.
    """
    batches = [meta.with_extents(meta.extents[:-2]) for meta in metas]
    try:
        return broadcast_extents(name, batches)
    except UnsupportedDynamicShapeError:
        raise
    except ShapeError as error:
        types = " and ".join(map(str, shown or metas))
        axes = " and ".join(str(meta)[len(short_name(meta.dtype)) :] for meta in batches)
        text = f"{name}: operands have types {types}; their batch axes {axes} do not broadcast"
        raise ShapeError(text) from error


def broadcast_shape(name: str, metas: Sequence[TensorMeta]) -> tuple[Dim, ...]:
    """The common shape of operands; all their sizes must be exact."""
    return TensorMeta(metas[0].dtype, broadcast_extents(name, metas)).exact_shape(name, "operand")


def broadcast_to(value: AnyTensor, shape: Sequence[Dim], name: str = "broadcast_to") -> AnyTensor:
    """The value repeated to `shape`, axes aligned at the end.

    Raises:
        ShapeError: a size is neither 1 nor that of the result; `name` is the calling function.
    """
    meta: TensorMeta = value.meta
    if meta.dims == tuple(shape):
        return value
    offset = len(shape) - meta.rank
    if offset < 0:
        result_meta = TensorMeta.of(meta.dtype, shape)
        raise ShapeError(f"{name}: {meta} has more axes than the result {result_meta}")
    for axis, extent in enumerate(meta.extents):
        size = shape[axis + offset]
        value = _with_assumed_size(value, axis, extent, Exact(size))
        current = value.meta.extents[axis]
        if isinstance(current, Exact) and current.dim not in (1, size):
            raise ShapeError(
                f"{name}: axis {axis} of {meta} has size {current}, but axis {axis + offset} of "
                f"the result {TensorMeta.of(meta.dtype, shape)} has size {size}"
            )
    if value.meta.dims == tuple(shape):
        return value
    return emit(BroadcastInDim(tuple(shape), tuple(range(offset, len(shape)))), value)


def repeated(name: str, value: AnyTensor, extents: Sequence[ShapeExtent]) -> AnyTensor:
    """The value repeated to `extents`, a result of `broadcast_extents` or `common_batch`."""
    meta: TensorMeta = value.meta
    offset = len(extents) - meta.rank
    for axis, extent in enumerate(meta.extents):
        value = _with_assumed_size(value, axis, extent, extents[axis + offset])
    meta = value.meta
    if offset == 0 and all(map(same_size, meta.extents, extents)):
        return value
    wide = meta.with_extents(extents)
    return broadcast_like(value, wide, range(offset, len(extents)), name)


def drop_axes(x: AnyTensor, axes: Sequence[int]) -> AnyTensor:
    """The value without `axes`, whose size is 1."""
    meta: TensorMeta = x.meta
    if not axes:
        return x
    if meta.dims is not None:
        remaining = tuple(size for axis, size in enumerate(meta.dims) if axis not in axes)
        return emit(Reshape(remaining), x)
    if meta.dtype == BOOL:  # sum over the axes of size 1; that needs no exact sizes
        return emit(Convert(BOOL), drop_axes(emit(Convert(INT32), x), axes))
    return emit(ReduceSum(tuple(axes)), x)


def insert_axes(x: AnyTensor, axes: Sequence[int]) -> AnyTensor:
    """The value with new axes of size 1 at the positions `axes` of the result."""
    meta: TensorMeta = x.meta
    if not axes:
        return x
    rank = meta.rank + len(axes)
    old_axes = tuple(axis for axis in range(rank) if axis not in axes)
    if meta.dims is not None:
        shape: list[Dim] = [1] * rank
        for size, axis in zip(meta.dims, old_axes, strict=True):
            shape[axis] = size
        return emit(Reshape(tuple(shape)), x)
    extents: list[ShapeExtent] = [Exact(1)] * rank
    for extent, axis in zip(meta.extents, old_axes, strict=True):
        extents[axis] = extent
    return broadcast_like(x, meta.with_extents(extents), old_axes, "expand_dims")


def assume_size(value: AnyTensor, axis: int, size: Dim) -> AnyTensor:
    """The value with the size of an axis assumed to be `size`; unchanged if it is that already."""
    extent = value.meta.extents[axis]
    return value if extent == Exact(size) else emit(AssumeSize(axis, size), value)


def _with_assumed_size(
    value: AnyTensor, axis: int, extent: ShapeExtent, target: ShapeExtent
) -> AnyTensor:
    """The value with the size of an axis assumed to be `target`, if the two can be equal."""
    if extent == Exact(1) or not isinstance(extent, Exact) or not isinstance(target, Exact):
        return value
    may_be = canonical(extent.dim, target.dim) is not None
    return assume_size(value, axis, target.dim) if may_be else value


def agree(x: AnyTensor, x_axis: int, y: AnyTensor, y_axis: int) -> tuple[AnyTensor, AnyTensor]:
    """Two values with the sizes of axis `x_axis` of x and `y_axis` of y assumed to be equal.

    If the sizes certainly differ, the values are unchanged: the op that matches the axes raises.
    """
    x_extent, y_extent = x.meta.extents[x_axis], y.meta.extents[y_axis]
    if not isinstance(x_extent, Exact) or not isinstance(y_extent, Exact):
        return x, y
    size = canonical(x_extent.dim, y_extent.dim)
    if size is None:
        return x, y
    return assume_size(x, x_axis, size), assume_size(y, y_axis, size)


def agree_off(values: Sequence[AnyTensor], axis: int) -> list[AnyTensor]:
    """Values of equal rank whose sizes are assumed equal on every axis except `axis`."""
    result = list(values)
    shapes = {_without(value.meta.extents, axis) for value in result}
    if len(shapes) == 1:
        return result
    for i in range(result[0].meta.rank):
        for _ in range(2):  # after one round, the first value has the common size
            for position in range(1, len(result)):
                same_rank = result[position].meta.rank == result[0].meta.rank
                if i != axis and same_rank:
                    result[0], result[position] = agree(result[0], i, result[position], i)
    return result


def _without(extents: Sequence[ShapeExtent], axis: int) -> tuple[ShapeExtent, ...]:
    return (*extents[:axis], *extents[axis + 1 :])


def matched(dot: DotGeneral, lhs: AnyTensor, rhs: AnyTensor) -> tuple[AnyTensor, AnyTensor]:
    """The operands of a contraction with the sizes of matched axes assumed to be equal."""
    pairs = (
        *zip(dot.lhs_contract, dot.rhs_contract, strict=True),
        *zip(dot.lhs_batch, dot.rhs_batch, strict=True),
    )
    for i, j in pairs:
        lhs, rhs = agree(lhs, i, rhs, j)
    return lhs, rhs


def _aligned_extent(
    name: str, axis: int, a: ShapeExtent, b: ShapeExtent, metas: Sequence[TensorMeta]
) -> ShapeExtent:
    """The extent to which two aligned axes broadcast."""
    if b == Exact(1) or a is b or same_size(a, b):
        return a
    if a == Exact(1):
        return b
    if not isinstance(a, Exact) or not isinstance(b, Exact):
        inexact = a if isinstance(b, Exact) else b
        raise UnsupportedDynamicShapeError(name, f"operand[{axis}]", describe(inexact))
    size = canonical(a.dim, b.dim)
    if size is None:
        typed = " and ".join(str(meta) for meta in metas)
        raise ShapeError(
            f"{name}: operands have types {typed}; axis {axis} has sizes "
            f"{a} and {b}, which do not broadcast"
        )
    return Exact(size)


# Operands of array functions: promotion of dtypes and broadcasting of shapes, as in NumPy.

KINDS = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}
_NUMBERS = (bool, int, float, complex)
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def strong(operand: Any) -> AnyTensor:
    """An expression whose dtype does not yield to others: of one that stands for a number.

    An expression that stands for a Python number takes part in promotion as the number does.
    """
    plain: AnyTensor = operand
    return plain if operand.weak is None else type(operand)(operand.emitter, operand.value)


def array(operand: ArrayLike) -> AnyTensor:
    """An operand as an expression; a number becomes a rank-0 constant."""
    if isinstance(operand, DimExpr) or is_number(operand):
        return as_value(operand, result_dtype((operand,)))
    return strong(operand)


def is_number(operand: object) -> bool:
    """Whether an operand is a Python number, whose dtype is weak."""
    return isinstance(operand, _NUMBERS) and not isinstance(operand, np.generic)


def result_dtype(operands: Sequence[Any]) -> DType:
    """The dtype that operands promote to, as in NumPy or JAX; Python numbers are weak.

    Raises:
        DTypeError: the result is not a dtype of tenferro, or a number does not fit.
    """
    common = _one_dtype(operands)
    if common is not None:
        return common
    parts: list[Any] = []
    numbers: list[Any] = []
    has_array = False
    for operand in operands:
        if isinstance(operand, DimExpr):
            parts.append(0)
        elif is_number(operand):
            parts.append(operand)
        elif operand.weak is not None:
            numbers.append(operand)
        else:
            has_array = True
            parts.append(operand.meta.dtype)
    # Among numbers alone a counter of unsigned integers stays one.
    parts += [each.weak if has_array else each.meta.dtype for each in numbers]
    try:
        return promoted_dtype(*parts)
    except TypeError as error:
        raise DTypeError(f"promotion: {error}") from None


def _one_dtype(operands: Sequence[Any]) -> DType | None:
    """The common inexact dtype of all arrays, if all other operands are Python floats; else None.

    This is the usual case, and faster than NumPy's promotion.
    """
    common: DType | None = None
    for operand in operands:
        if type(operand) is float:
            continue
        if isinstance(operand, DimExpr) or is_number(operand):
            return None
        if operand.weak is not None:
            return None
        dtype = operand.meta.dtype
        if dtype_kind(dtype) not in "fc" or (common is not None and dtype is not common):
            return None
        common = dtype
    return common


def as_value(operand: Any, dtype: DType) -> AnyTensor:
    """The operand as a value of `dtype`; a number becomes a rank-0 constant.

    Raises:
        DTypeError: a Python integer does not fit `dtype`.
    """
    if isinstance(operand, DimExpr):
        return _size_as_value(operand, dtype)
    if is_number(operand):
        try:
            return emit(scalar(np.asarray(operand, dtype=dtype), dtype))
        except (OverflowError, TypeError, ValueError):
            raise DTypeError(f"promotion: {operand} does not fit {short_name(dtype)}") from None
    value: AnyTensor = operand if operand.weak is None else strong(operand)
    own = value.meta.dtype
    return value if own is dtype or own == dtype else emit(Convert(dtype), value)


def is_traced_integer(operand: Any) -> bool:
    """Whether an operand is an integer whose value is not known, and whose dtype is weak."""
    if isinstance(operand, DimExpr):
        return True
    return not is_number(operand) and operand.weak is not None and dtype_kind(operand.dtype) in "iu"


def is_integral(operand: Any) -> bool:
    """Whether an operand is an integer, a size or an array of integers; bools are not."""
    if is_number(operand):
        return isinstance(operand, int) and not isinstance(operand, bool)
    return isinstance(operand, DimExpr) or dtype_kind(operand.meta.dtype) in "iu"


def integers_of(operand: ArrayLike) -> AnyTensor:
    """An integral operand as a value of its own dtype; int64 for a size."""
    return as_value(operand, INT64) if isinstance(operand, DimExpr) else strong(operand)


def fitting(name: str, operand: Any, dtype: DType) -> AnyTensor:
    """What is put into an array of `dtype`, as a value of it, if the dtype can hold its kind.

    Raises:
        DTypeError: it cannot, such as complex values for a real array, or a number does not fit.
    """
    if isinstance(operand, DimExpr):
        own = INT64
    elif is_number(operand):
        own = np.result_type(operand)
    else:
        own = operand.meta.dtype
    if KINDS[dtype_kind(own)] > KINDS[dtype_kind(dtype)]:
        raise DTypeError(
            f"{name}: values of {short_name(as_dtype(own))} do not fit an array of "
            f"{short_name(dtype)}; cast one of them first"
        )
    return as_value(operand, dtype)


def in_integers(
    x: ArrayLike, y: ArrayLike, function: Callable[[ArrayLike, ArrayLike], AnyTensor]
) -> AnyTensor:
    """`function(x, y)`, which takes an integer that is not known yet with all its digits.

    The number may not fit the dtype of the result, to which the result is then reduced.
    """
    if is_traced_integer(x) or is_traced_integer(y):
        dtype = result_dtype((x, y))
        if is_integer(dtype) and dtype.itemsize < INT64.itemsize:
            return convert(function(*promote((x, y), INT64)), dtype)
    return function(x, y)


def convert(value: AnyTensor, dtype: DType) -> AnyTensor:
    """The value in `dtype`; unchanged if it has that dtype."""
    return value if value.meta.dtype == dtype else emit(Convert(dtype), value)


def promote(operands: Sequence[ArrayLike], dtype: DType | None = None) -> list[AnyTensor]:
    """The operands as values of their common dtype, or of `dtype`."""
    dtype = result_dtype(operands) if dtype is None else dtype
    return list(map(as_value, operands, repeat(dtype)))


def inexact_dtype(operands: Sequence[ArrayLike]) -> DType:
    """The operands' common dtype if it is floating-point or complex, else a float for it."""
    return inexact_of(result_dtype(operands))


def called(name: str, op: StdTensorOp, *values: AnyTensor) -> AnyTensor:
    """Emit an op; its errors name the array function `name` instead of the op."""
    if isinstance(op, DotGeneral):
        values = matched(op, *values)
    try:
        return emit(op, *values)
    except TenferroError as error:
        text = str(error)
        if not text.startswith(f"{op.name}: "):
            raise
        raise type(error)(name + text.removeprefix(op.name)) from None


def named(name: str) -> Callable[[F], F]:
    """Set the name of an array function in errors to the one under which users call it."""

    def rename(function: F) -> F:
        function.__name__ = name
        return function

    return rename


def integers(name: str, field: str, value: Integers) -> list[int]:
    """One integer or several as a list.

    Raises:
        DTypeError: a number is not an integer.
    """
    if type(value) is int:
        return [value]
    refuse_traced(name, field, value)
    numbers = np.ravel(value)
    if numbers.size and dtype_kind(numbers.dtype) not in "biu":
        raise DTypeError(f"{name}: {field} must be integers, got {value!r}")
    return [int(number) for number in numbers]


def counts(name: str, field: str, value: Any) -> list[Dim]:
    """One integer or size, or several, as a list.

    Raises:
        DTypeError: a number is not an integer.
    """
    if isinstance(value, DimExpr):
        return [value]
    if not isinstance(value, list | tuple) or not any(isinstance(x, DimExpr) for x in value):
        return [*integers(name, field, value)]
    return [x for item in value for x in counts(name, field, item)]


def normal_axis(name: str, axis: Any, rank: int) -> int:
    """An axis counted from the front.

    Raises:
        AxisError: it is out of range.
    """
    index = integer_of(axis)
    if index is None:
        if getattr(axis, "ndim", 0) > 0:
            meta = getattr(axis, "meta", None)
            kind = f"an array{'' if meta is None else f' {meta}'}"
            raise AxisError(f"{name}: axis is {kind}, not an integer; pass arrays in one list")
        refuse_traced(name, "axis", axis)
        raise AxisError(f"{name}: axis {axis!r} is not an integer")
    if not -rank <= index < rank:
        raise AxisError(f"{name}: axis {index} is out of range for rank {rank}")
    return index % rank


def normal_axes(name: str, axis: Axis, rank: int) -> tuple[int, ...]:
    """Axes counted from the front, sorted; None means all axes.

    Raises:
        AxisError: an axis is out of range or named twice.
    """
    if axis is None:
        return tuple(range(rank))
    axes_tuple = axis if isinstance(axis, tuple | list) else (axis,)
    axes = sorted(normal_axis(name, item, rank) for item in axes_tuple)
    if len(set(axes)) != len(axes):
        raise AxisError(f"{name}: axes {tuple(axes_tuple)} name an axis twice")
    return tuple(axes)


# Reductions over axes, of operands that are promoted.

MakeReduction = Callable[[tuple[int, ...]], StdTensorOp]


def reduce(name: str, op: MakeReduction, x: ArrayLike, axis: Axis, keepdims: bool) -> AnyTensor:
    """The reduction over `axis` (None: all); its axes stay with size 1 if `keepdims`."""
    (value,) = promote((x,))
    meta: TensorMeta = value.meta
    axes = normal_axes(name, axis, meta.rank) if meta.rank else reduced_axes(name, axis, 0)
    result = called(name, op(axes), value)
    return restored(result, meta, axes) if keepdims else result


def reduced_axes(name: str, axis: Axis, rank: int) -> tuple[int, ...]:
    """The axes of a reduction; axis 0 or -1 of an array without axes is none, as in NumPy."""
    if rank == 0 and isinstance(axis, int) and axis in (0, -1):
        return ()
    return normal_axes(name, axis, rank)


def restored(result: AnyTensor, meta: TensorMeta, axes: tuple[int, ...]) -> AnyTensor:
    """The reduction over `axes` of an operand of type `meta`, with these axes as axes of size 1."""
    wide = result.meta.with_extents(
        Exact(1) if i in axes else extent for i, extent in enumerate(meta.extents)
    )
    remaining = tuple(i for i in range(meta.rank) if i not in axes)
    return broadcast_like(result, wide, remaining, "keepdims")


def countable(x: ArrayLike, dtype: DTypeLike | None = None) -> AnyTensor:
    """The operand in `dtype`; if None, in the dtype in which NumPy sums its dtype."""
    if dtype is not None:
        return promote((x,), as_dtype(dtype))[0]
    element = result_dtype((x,))
    if dtype_kind(element) in "bi":
        element = INT64
    elif dtype_kind(element) == "u":
        element = UINT64
    return promote((x,), element)[0]


def _size_as_value(size: DimExpr, dtype: DType) -> AnyTensor:
    """A symbolic size as a value: its polynomial, with each atom as a sum of that many ones."""

    def ones(count: Dim) -> AnyTensor:
        return emit(ReduceSum((0,)), full(1, TensorMeta.of(dtype, (count,))))

    total: AnyTensor | None = None
    for atoms, coefficient in size.terms:
        term = emit(scalar(coefficient, dtype))
        for atom in atoms:
            count = DimExpr((((atom,), 1),))
            value = ones(maximum(count, 0))
            if not at_most(0, count):  # such as floordiv(n - 5, 2)
                value = emit(SUB, value, ones(maximum(-count, 0)))
            term = emit(MUL, term, value)
        total = term if total is None else emit(ADD, total, term)
    assert total is not None, "a size without terms is an integer"
    return total
