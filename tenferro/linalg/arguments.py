"""Operands of linear algebra: their dtypes, squares and batches; and options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nan
from typing import Any, NoReturn, SupportsFloat

from tenferro.errors import ConfigError, DTypeError, ShapeError, TenferroError, TracingError
from tenferro.ir import (
    COMPLEX64,
    COMPLEX128,
    FLOAT32,
    FLOAT64,
    AnyTensor,
    Dim,
    DType,
    TensorMeta,
    canonical,
    in_single,
    inexact_of,
    integer_of,
    short_name,
)
from tenferro.ops.extension import DTypes, Shapes, sizes_differ
from tenferro.ops.functions import (
    assume_size,
    common_batch,
    manipulation,
    promote,
    repeated,
    result_dtype,
)
from tenferro.runtime import Tensor
from tenferro.transforms import TracedTensor

# Checks of operands of linear algebra, with errors that name the function and the operand.

DTYPES = (FLOAT32, FLOAT64, COMPLEX64, COMPLEX128)


REAL_OF = {FLOAT32: FLOAT32, FLOAT64: FLOAT64, COMPLEX64: FLOAT32, COMPLEX128: FLOAT64}
"""The dtype of moduli."""


COMPLEX_OF = {
    FLOAT32: COMPLEX64,
    FLOAT64: COMPLEX128,
    COMPLEX64: COMPLEX64,
    COMPLEX128: COMPLEX128,
}
"""The complex dtype of the same precision."""


Shape = tuple[Dim, ...]


def check_dtype(name: str, *dtypes: DType) -> DType:
    """The common dtype of the operands.

    Raises:
        DTypeError: they have several, or one that linear algebra does not take.
    """
    for dtype in dtypes:
        if dtype not in DTYPES:
            raise DTypeError(
                f"{name}: takes float32, float64, complex64 or complex128, got {dtype.name}; "
                "convert it with astype"
            )
        if dtype != dtypes[0]:
            names = ", ".join(each.name for each in dtypes)
            raise DTypeError(f"{name}: operands have dtypes {names}; convert them to one")
    return dtypes[0]


def check_matrix(name: str, dtype: DType, shape: Sequence[Dim]) -> tuple[Shape, Dim, Dim]:
    """The batch sizes, rows and columns of a matrix operand.

    Raises:
        ShapeError: it has fewer than two axes.
    """
    if len(shape) < 2:
        meta = TensorMeta.of(dtype, tuple(shape))
        raise ShapeError(f"{name}: takes matrices [..., m, n], got {meta}")
    return tuple(shape[:-2]), shape[-2], shape[-1]


def check_square(name: str, dtype: DType, shape: Sequence[Dim]) -> tuple[Shape, Dim]:
    """The batch sizes and the rows of a square matrix operand.

    Raises:
        ShapeError: it is not a matrix, or certainly not a square one.
    """
    batch, rows, columns = check_matrix(name, dtype, shape)
    if rows != columns:
        text = f"{name}: takes square matrices, got {TensorMeta.of(dtype, tuple(shape))}"
        if sizes_differ(rows, columns, text):
            raise ShapeError(text)
    return batch, rows


def check_same(name: str, what: str, a: Dim, b: Dim) -> None:
    """Raise ShapeError if two sizes certainly differ."""
    if a != b and sizes_differ(a, b, f"{name}: {what}"):
        raise ShapeError(f"{name}: {what} differ: {a} and {b}")


def check_equal_sizes(name: str, what: str, ours: Sequence[Dim], theirs: Sequence[Dim]) -> None:
    """Raise ShapeError if two sizes in the same place certainly differ."""
    for a, b in zip(ours, theirs, strict=True):
        check_same(name, what, a, b)


def check_factored(name: str, dtypes: DTypes, shapes: Shapes) -> tuple[DType, Shape, Dim]:
    """The dtype, the batch sizes and the rows of A; the other inputs are factors of it.

    Raises:
        ShapeError, DTypeError: A is not square, or the factors are not of its type.
    """
    dtype = check_dtype(name, *dtypes[:2])
    batch, n = check_square(name, dtype, shapes[0])
    for shape in shapes[1:]:
        for ours, theirs in zip((*batch, n), shape, strict=False):
            check_same(name, "the sizes of A and its factors", ours, theirs)
    return dtype, batch, n


def floating(name: str, *operands: Any) -> list[AnyTensor]:
    """The operands in one floating-point or complex dtype; integers and bool become float64.

    Raises:
        DTypeError: an operand is of half precision.
    """
    dtype = result_dtype(operands)
    if in_single(dtype) != dtype:
        refuse_half(name, dtype)
    return promote(operands, inexact_of(dtype))


def refuse_half(name: str, dtype: DType) -> NoReturn:
    """Raise the DTypeError of an operand of half precision."""
    raise DTypeError(
        f"{name}: takes single and double precision, got {short_name(dtype)}; "
        "convert it with astype(tn.float32)"
    )


def in_single_at_least(x: Any) -> tuple[AnyTensor, DType]:
    """An operand whose 16-bit numbers become float32, and the dtype that it has without that."""
    dtype = inexact_of(result_dtype((x,)))
    return promote((x,), dtype)[0].astype(in_single(dtype)), dtype


def known(name: str, what: str, value: Any) -> Any:
    """An option, which cannot be an array whose elements are not known.

    Raises:
        TracingError: it is one.
    """
    if isinstance(value, TracedTensor) and value.elements is None:
        raise TracingError(
            f"{name}: {what} must be known while tracing, got {value}; "
            f"declare it in static_argnames; {value.dependence}"
        )
    return value


def integer(name: str, what: str, value: Any) -> int | None:
    """An integer option as a Python integer; None if it is not one.

    Raises:
        TracingError: it is a traced array.
    """
    known(name, what, value)
    return integer_of(value)


def number(name: str, what: str, value: Any) -> float:
    """A real option of at least 0.

    Raises:
        ConfigError: it is none.
        TracingError: it is a traced array.
    """
    known(name, what, value)
    if isinstance(value, bool | str) or not isinstance(value, SupportsFloat):
        raise ConfigError(f"{name}: {what} must be a number of at least 0, got {value!r}")
    try:
        result = float(value)
    except (TypeError, TenferroError):
        result = nan
    if not result >= 0:
        raise ConfigError(f"{name}: {what} must be a number of at least 0, got {value!r}")
    return result


def matrix(name: str, x: Any) -> AnyTensor:
    """A matrix operand in a dtype of linear algebra.

    Raises:
        ShapeError: it has fewer than two axes.
    """
    (value,) = floating(name, x)
    check_matrix(name, value.dtype, value.meta.exact_shape(name, "x"))
    return value


def square(name: str, x: Any) -> AnyTensor:
    """A square matrix operand in a dtype of linear algebra.

    Raises:
        ShapeError: it has fewer than two axes, or is not square.
    """
    (value,) = floating(name, x)
    check_square(name, value.dtype, value.meta.exact_shape(name, "x"))
    return value


def agreed(m: Dim, n: Dim, text: str) -> Dim:
    """The simpler of two sizes.

    Raises:
        ShapeError: they certainly differ.
    """
    size = canonical(m, n)
    if size is None:
        raise ShapeError(text)
    return size


def shown_type(value: Any) -> TensorMeta:
    """The type of an array that a user gave, for errors."""
    return value.meta if isinstance(value, Tensor | TracedTensor) else Tensor(value).meta


def same_batch(
    name: str, *operands: AnyTensor, types: Sequence[TensorMeta] | None = None
) -> list[AnyTensor]:
    """Matrix operands repeated to common batch axes; errors name `types`, see `common_batch`."""
    metas = [operand.meta for operand in operands]
    batch = common_batch(name, metas, types)
    return [
        repeated(name, operand, (*batch, *meta.extents[-2:]))
        for operand, meta in zip(operands, metas, strict=True)
    ]


def systems(
    name: str, a: Any, b: Any, repeat: bool = True
) -> tuple[AnyTensor, AnyTensor, Callable[[AnyTensor], AnyTensor]]:
    """Square matrices and right sides in one dtype, repeated to common batch axes if `repeat`.

    b of rank 1 is one vector, as in NumPy 2. The third result turns a solution into the shape that
    the user expects.

    Raises:
        ShapeError: a is not square, or b does not have as many rows as a.
    """
    lhs, rhs = floating(name, a, b)
    left, right = lhs.meta, rhs.meta
    _, n = check_square(name, left.dtype, left.exact_shape(name, "a"))
    axis, common = rows_of(name, left, right, n)
    lhs = assume_size(assume_size(lhs, left.rank - 2, common), left.rank - 1, common)
    rhs = assume_size(rhs, right.rank + axis, common)
    is_vector = right.rank == 1
    if is_vector:
        rhs = manipulation.expand_dims(rhs, -1)
    if repeat:
        lhs, rhs = same_batch(name, lhs, rhs)
    return lhs, rhs, lambda x: manipulation.squeeze(x, -1) if is_vector else x


def rows_of(name: str, left: TensorMeta, right: TensorMeta, m: Dim) -> tuple[int, Dim]:
    """The axis of the rows of a right side, and their number; the left side has m of them.

    Raises:
        ShapeError: it has no axis, or certainly not as many rows.
    """
    if not right.rank:
        raise ShapeError(f"{name}: the right side must have an axis, got {right}")
    axis = -1 if right.rank == 1 else -2
    size = right.exact_shape(name, "b")[axis]
    text = f"{name}: lhs {left} and rhs {right} differ in rows (axis {axis}: {m} and {size})"
    return axis, agreed(m, size, text)


def _pair(name: str, what: str, value: Any) -> Any:
    """The two parts of a factorization that a user holds.

    Raises:
        ConfigError: the value is no such pair.
    """
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ConfigError(f"{name}: {what} must be a pair, got {type(value).__name__}")
    return value
