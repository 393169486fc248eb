"""Operands as `jax.lax` takes them: of one dtype, and of one shape or scalars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from tenferro.errors import AxisError, DTypeError, ExecutorError
from tenferro.ir import (
    AnyTensor,
    ArrayLike,
    Dim,
    DimExpr,
    DType,
    DTypeLike,
    Exact,
    as_dtype,
    common_dtype,
    integer_of,
    is_inexact,
)
from tenferro.ops import StdTensorOp
from tenferro.ops.functions import called, is_number, normal_axis, promote, repeated

Config = Sequence[Sequence[Dim]]


LAX = "tenferro.lax"
"""Where users find the functions."""


def lax_op(name: str, op: StdTensorOp, *operands: ArrayLike) -> AnyTensor:
    """The op on operands as `jax.lax` takes them; errors name the function `name`.

    Operands of one rank are repeated along axes where they have size 1.
    """
    values = matched(name, operands)
    metas = [value.meta for value in values]
    if len(values) > 1 and any(meta.extents != metas[0].extents for meta in metas):
        sizes = zip(*(meta.extents for meta in metas), strict=False)
        common = [next((each for each in axis if each != ONE), ONE) for axis in sizes]
        for place, meta in enumerate(metas):
            if meta.rank == len(common) and ONE in meta.extents:
                pairs = zip(meta.extents, common, strict=True)
                wide = [new if old == ONE else old for old, new in pairs]
                values[place] = repeated(name, values[place], wide)
    return called(name, op, *values)


ONE = Exact(1)


def matched(name: str, operands: Sequence[Any]) -> list[AnyTensor]:
    """The operands, in which numbers have the dtype of the arrays, and scalars their shape."""
    values = same_dtype(name, operands)
    metas = [value.meta for value in values]
    largest = max(metas, key=lambda meta: meta.rank)
    return [
        value if meta.rank else repeated(name, value, largest.extents)
        for value, meta in zip(values, metas, strict=True)
    ]


def same_dtype(name: str, operands: Sequence[Any]) -> list[AnyTensor]:
    """The operands, in which numbers have the dtype of the arrays."""
    numbers = [
        is_number(each) or isinstance(each, DimExpr) or each.weak is not None for each in operands
    ]
    if all(numbers):
        return promote(operands)
    first: Any = operands[numbers.index(False)]
    meta = first.meta
    for operand in operands:
        number: Any = getattr(operand, "weak", None) if hasattr(operand, "weak") else operand
        if is_number(number) and common_dtype(meta.dtype, number) != meta.dtype:
            shown = operand.meta if hasattr(operand, "weak") else operand
            raise DTypeError(f"{name}: the number {shown} is not one for {meta}; convert one")
    return [
        promote((operand,), meta.dtype)[0] if is_weak else operand
        for operand, is_weak in zip(operands, numbers, strict=True)
    ]


def require_default(name: str, option: str, value: object, instead: str) -> None:
    """Raise ExecutorError for an option of `jax.lax` that has its place elsewhere."""
    if value is not None:
        raise ExecutorError(f"{name}: {option}= is not an option of tenferro; {instead}")


def result_type(name: str, values: Sequence[AnyTensor], preferred: DTypeLike | None) -> DType:
    """The dtype in which a contraction is computed: that of both operands, or the preferred one."""
    if preferred is not None:
        return as_dtype(preferred)
    metas = [value.meta for value in values]
    if len({meta.dtype for meta in metas}) == 1:
        return as_dtype(metas[0].dtype)
    common = common_dtype(*(meta.dtype for meta in metas))
    if not is_inexact(common):
        types = " and ".join(str(meta) for meta in metas)
        raise DTypeError(f"{name}: operands have types {types}; convert them to one dtype")
    return as_dtype(common)


def along(name: str, axis: Any, rank: int) -> int:
    """An axis of `jax.lax`, which may count from the end here."""
    return normal_axis(name, axis, rank)


def axes_of(name: str, axes: Any, rank: int) -> tuple[int, ...]:
    """Several axes, or one."""
    several = axes if isinstance(axes, Sequence) else np.ravel(axes).tolist()
    normal = tuple(along(name, axis, rank) for axis in several)
    if len(set(normal)) != len(normal):
        raise AxisError(f"{name}: axes {tuple(several)} name an axis twice")
    return normal


def sizes_of(name: str, field: str, values: Any, count: int) -> tuple[Dim, ...]:
    """`count` integers, of which some may be named sizes."""
    listed = [*values] if isinstance(values, Sequence | np.ndarray) else []
    known = [0 if isinstance(value, DimExpr) else value for value in listed] or values
    numbers = tuple_of(name, field, known, count, 0)
    return tuple(
        value if isinstance(value, DimExpr) else number
        for value, number in zip(listed, numbers, strict=True)
    )


def tuple_of(name: str, field: str, values: Any, count: int, default: int) -> tuple[int, ...]:
    """One integer for each of `count` axes; `default` if there are none given."""
    if values is None:
        return (default,) * count
    if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str):
        raise AxisError(f"{name}: {field} must be {count} integers, got {values!r}")
    numbers = [integer_of(value) for value in values]
    if len(numbers) != count or None in numbers:
        raise AxisError(f"{name}: {field} must be {count} integers, got {values!r}")
    return tuple(cast("list[int]", numbers))
