"""`jax.dtypes`: groups of dtypes, and what belongs to them."""

from __future__ import annotations

from typing import Any

from tenferro.errors import DTypeError
from tenferro.ir import FLOAT0, DType, DTypeLike, as_dtype, dtype_kind
from tenferro.missing_names import attributes
from tenferro.numpy import bfloat16, finfo, iinfo, issubdtype, result_type
from tenferro.numpy.dtypes import extended, prng_key

__all__ = [
    "TypePromotionError",
    "bfloat16",
    "canonicalize_dtype",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "issubdtype",
    "itemsize_bits",
    "prng_key",
    "result_type",
    "scalar_type_of",
]

TypePromotionError = DTypeError
float0 = FLOAT0
"""The dtype of tangents of integers, which have no values."""


def canonicalize_dtype(dtype: DTypeLike, allow_extended_dtype: bool = False) -> DType:
    """The dtype, which stays as it is: 64 bits are not narrowed.

    Args:
        dtype: a dtype, or a name or type of one.
        allow_extended_dtype: whether it may be the type of keys of random numbers.

    Raises:
        DTypeError: it is no dtype.

    >>> canonicalize_dtype("float64")
    dtype('float64')
    """
    own: Any = dtype
    if allow_extended_dtype and issubdtype(own, extended):
        return own  # type: ignore[no-any-return]
    return as_dtype(dtype)


def itemsize_bits(dtype: DTypeLike) -> int:
    """The number of bits of an element.

    >>> itemsize_bits("float32")
    32
    """
    return 8 * as_dtype(dtype).itemsize


_TYPES = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def scalar_type_of(x: Any) -> type:
    """The type of Python's numbers of the kind of a value: `bool`, `int`, `float` or `complex`.

    Raises:
        DTypeError: it is neither an array nor a number.

    >>> scalar_type_of(2), scalar_type_of(2.0)
    (<class 'int'>, <class 'float'>)
    """
    return _TYPES[dtype_kind(result_type(x))]


__getattr__, __dir__ = attributes("tenferro.dtypes", __all__)
