"""Dtypes and their limits, under the names of the Python array API standard."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenferro.arrays import ArrayOperators, is_number
from tenferro.errors import DTypeError
from tenferro.shape import DType, as_dtype, is_inexact, is_integer, short_name


def result_type(*operands: Any) -> Any:
    """The dtype that the operands promote to: arrays, dtypes, and Python numbers, which give way.

    >>> result_type("float32", "int64")
    dtype('float64')
    """
    parts = [_promoting(operand) for operand in operands]
    try:
        return as_dtype(np.result_type(*parts))
    except (TypeError, ValueError) as error:
        raise DTypeError(f"result_type: {error}") from None


def can_cast(source: Any, target: object) -> Any:
    """Whether promotion leads from a dtype, or that of an array, to another.

    >>> can_cast("int32", "float64")
    True
    """
    given = _promoting(source)
    if is_number(given):
        raise DTypeError(f"can_cast: takes an array or a dtype, got {given!r}")
    return bool(np.can_cast(given, as_dtype(target)))


def isdtype(dtype: object, kind: object) -> Any:
    """Whether a dtype is another, or of a kind such as "real floating"; a tuple of them means any.

    >>> isdtype("float32", "real floating")
    True
    """
    wanted = kind if isinstance(kind, tuple) else (kind,)
    return any(_is_kind(as_dtype(dtype), one) for one in wanted)


def finfo(dtype: Any) -> Any:
    """Limits of a floating-point dtype, or that of an array, as NumPy gives them.

    >>> finfo("float32").bits
    32
    """
    given = as_dtype(_promoting(dtype))
    if not is_inexact(given):
        raise DTypeError(f"finfo: {short_name(given)} is not a floating-point dtype")
    return np.finfo(given)


def iinfo(dtype: Any) -> Any:
    """Limits of an integer dtype, or that of an array, as NumPy gives them.

    >>> iinfo("int32").max
    2147483647
    """
    given = as_dtype(_promoting(dtype))
    if not is_integer(given):
        raise DTypeError(f"iinfo: {short_name(given)} is not an integer dtype")
    return np.iinfo(given)


_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def _is_kind(dtype: DType, kind: object) -> bool:
    if isinstance(kind, str) and kind in _KINDS:
        return dtype.kind in _KINDS[kind]
    return dtype == as_dtype(kind)


def _promoting(operand: Any) -> Any:
    """The dtype of an array or of its name; a Python number as it is."""
    if is_number(operand):
        return operand
    return operand.dtype if isinstance(operand, ArrayOperators | np.ndarray) else as_dtype(operand)
