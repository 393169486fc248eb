"""Dtypes, groups of dtypes, and what a value is; NumPy's options for printing."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from tenferro import namespace as tn
from tenferro.errors import DTypeError
from tenferro.ir import DType, DTypeLike, as_dtype
from tenferro.ops.functions import is_number
from tenferro.runtime import Tensor
from tenferro.transforms import TracedTensor

__all__ = [
    "Array",
    "array_repr",
    "array_str",
    "bool_",
    "cdouble",
    "complex_",
    "complexfloating",
    "csingle",
    "double",
    "dtype",
    "euler_gamma",
    "float_",
    "floating",
    "generic",
    "get_printoptions",
    "inexact",
    "int_",
    "integer",
    "iscomplexobj",
    "isrealobj",
    "isscalar",
    "issubdtype",
    "iterable",
    "ndarray",
    "number",
    "printoptions",
    "promote_types",
    "set_printoptions",
    "signedinteger",
    "single",
    "uint",
    "unsignedinteger",
]

bool_ = tn.bool
int_ = tn.int64
uint = tn.uint64
float_ = tn.float64
complex_ = tn.complex128
single = tn.float32
double = tn.float64
csingle = tn.complex64
cdouble = tn.complex128

generic = np.generic
number = np.number
integer = np.integer
signedinteger = np.signedinteger
unsignedinteger = np.unsignedinteger
inexact = np.inexact
floating = np.floating
complexfloating = np.complexfloating

dtype = np.dtype
ndarray = Array = Tensor | TracedTensor
"""What arrays are, in a trace or not; for annotations and `isinstance`."""

euler_gamma = float(np.euler_gamma)


def promote_types(x1: DTypeLike, x2: DTypeLike) -> DType:
    """The dtype that arrays of two dtypes promote to.

    >>> tn.promote_types("float32", "int64")
    dtype('float64')
    """
    return as_dtype(np.promote_types(as_dtype(x1), as_dtype(x2)))


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Whether a dtype is another dtype, or belongs to a group such as `tn.floating`.

    >>> tn.issubdtype(tn.float32, tn.floating)
    True
    """
    try:
        return bool(np.issubdtype(arg1, arg2))
    except TypeError:
        raise DTypeError(
            f"issubdtype: takes dtypes, or groups such as tn.floating, got {arg1!r} and {arg2!r}"
        ) from None


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype of a value is complex.

    >>> tn.iscomplexobj(tn.array([1j]))
    True
    """
    return _kind(x) == "c"


def isrealobj(x: Any) -> bool:
    """Whether the dtype of a value is not complex.

    >>> tn.isrealobj(tn.array([1.0]))
    True
    """
    return _kind(x) != "c"


def isscalar(element: Any) -> bool:
    """Whether a value is a number, or an array without axes.

    >>> tn.isscalar(1.0), tn.isscalar([1.0])
    (True, False)
    """
    if is_number(element) or isinstance(element, np.generic):
        return True
    return hasattr(element, "dtype") and getattr(element, "ndim", 1) == 0


def iterable(y: Any) -> bool:
    """Whether a value can be iterated over; an array without axes cannot.

    >>> tn.iterable([1]), tn.iterable(1)
    (True, False)
    """
    if isinstance(y, Tensor | TracedTensor):
        return y.ndim > 0
    return bool(np.iterable(y))


def array_repr(
    x: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The elements as NumPy's `repr` writes them.

    >>> tn.array_repr(tn.array([1, 2]))
    'array([1, 2])'
    """
    return np.array_repr(np.asarray(x), max_line_width, precision, suppress_small)


def array_str(
    x: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The elements as NumPy's `str` writes them.

    >>> tn.array_str(tn.array([1, 2]))
    '[1 2]'
    """
    return np.array_str(np.asarray(x), max_line_width, precision, suppress_small)


def set_printoptions(**options: Any) -> None:
    """Set NumPy's options for printing, which hold for tensors too.

    >>> tn.set_printoptions(precision=8)
    """
    np.set_printoptions(**options)


def get_printoptions() -> dict[str, Any]:
    """NumPy's options for printing.

    >>> tn.get_printoptions()["precision"]
    8
    """
    return dict(np.get_printoptions())


def printoptions(**options: Any) -> AbstractContextManager[Any]:
    """NumPy's options for printing within a `with` block.

    >>> with tn.printoptions(precision=2):
    ...     print(tn.array([1 / 3]))
    Tensor([0.33])
    """
    return np.printoptions(**options)


def _kind(x: Any) -> str:
    return str(x.dtype.kind if hasattr(x, "dtype") else tn.asarray(x).dtype.kind)
