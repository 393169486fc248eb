"""Checks of operands of linear algebra, with errors that name the function and the operand."""

from __future__ import annotations

from collections.abc import Sequence

from tenferro.errors import DTypeError, ShapeError
from tenferro.family import sizes_differ
from tenferro.shape import COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, Dim, DType, TensorMeta

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
    text = f"{name}: takes square matrices, got {TensorMeta.of(dtype, tuple(shape))}"
    if sizes_differ(rows, columns, text):
        raise ShapeError(text)
    return batch, rows


def check_same(name: str, what: str, a: Dim, b: Dim) -> None:
    """Raise ShapeError if two sizes certainly differ."""
    if sizes_differ(a, b, f"{name}: {what}"):
        raise ShapeError(f"{name}: {what} differ: {a} and {b}")
