"""Element types: NumPy's dtypes, their short names, and predicates on them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tenferro.config import RULES_OF_PROCESS, rules_here
from tenferro.errors import DTypeError

__all__ = [
    "BFLOAT16",
    "BOOL",
    "COMPLEX64",
    "COMPLEX128",
    "FLOAT0",
    "FLOAT16",
    "FLOAT32",
    "FLOAT64",
    "INT8",
    "INT32",
    "INT64",
    "UINT8",
    "UINT32",
    "UINT64",
    "DType",
    "as_dtype",
    "common_dtype",
    "complex_dtype",
    "default_float",
    "dtype_kind",
    "dtype_of_short_name",
    "float_limits",
    "in_single",
    "inexact_of",
    "is_complex",
    "is_floating",
    "is_inexact",
    "is_integer",
    "is_storage",
    "promoted_dtype",
    "real_dtype",
    "short_name",
]

DType = np.dtype[Any]

BOOL: DType = np.dtype(np.bool_)
INT8: DType = np.dtype(np.int8)
INT32: DType = np.dtype(np.int32)
INT64: DType = np.dtype(np.int64)
UINT8: DType = np.dtype(np.uint8)
UINT32: DType = np.dtype(np.uint32)
UINT64: DType = np.dtype(np.uint64)
BFLOAT16: DType = np.dtype(ml_dtypes.bfloat16)
FLOAT16: DType = np.dtype(np.float16)
FLOAT32: DType = np.dtype(np.float32)
FLOAT64: DType = np.dtype(np.float64)
COMPLEX64: DType = np.dtype(np.complex64)
COMPLEX128: DType = np.dtype(np.complex128)

FLOAT0 = np.dtype([("float0", np.void, 0)])
"""JAX's dtype of derivatives by integers, which has no values; tensors do not have it."""

_BY_NAME: dict[str, DType] = {
    "bool": BOOL,
    "i8": INT8,
    "i16": np.dtype(np.int16),
    "i32": INT32,
    "i64": INT64,
    "u8": UINT8,
    "u16": np.dtype(np.uint16),
    "u32": UINT32,
    "u64": UINT64,
    "bf16": BFLOAT16,
    "f16": FLOAT16,
    "f32": FLOAT32,
    "f64": FLOAT64,
    "c64": COMPLEX64,
    "c128": COMPLEX128,
}
_STORAGE: dict[str, DType] = {
    "f8e3m4": np.dtype(ml_dtypes.float8_e3m4),
    "f8e4m3": np.dtype(ml_dtypes.float8_e4m3),
    "f8e4m3b11fnuz": np.dtype(ml_dtypes.float8_e4m3b11fnuz),
    "f8e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8e4m3fnuz": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "f8e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "f8e5m2fnuz": np.dtype(ml_dtypes.float8_e5m2fnuz),
}
_KINDS: dict[DType, str] = {dtype: dtype.kind for dtype in _BY_NAME.values()}
_KINDS |= {BFLOAT16: "f"} | dict.fromkeys(_STORAGE.values(), "V")
_BY_NAME |= _STORAGE
_TWO_MEANINGS = {"i8": "int", "u8": "uint"}
_CHOICE = ", ".join(f"{_TWO_MEANINGS[n]}8" if n in _TWO_MEANINGS else n for n in _BY_NAME)
_SHORT: dict[DType, str] = {dtype: name for name, dtype in _BY_NAME.items()}


def as_dtype(value: object) -> DType:
    """The dtype of a NumPy dtype or scalar type, a Python type, or a name such as `"f64"`.

    None is the default, as Python's `float` is: float64, or as `tn.config.default_float` says.

    Raises:
        DTypeError: tenferro does not have this element type, or the name has two meanings: `i8` and
            `u8` count bytes in NumPy, and bits in the texts of tenferro.

    >>> as_dtype("f64") == as_dtype("float64") == as_dtype(float)
    True
    """
    if isinstance(value, str) and value in _BY_NAME:
        if value in _TWO_MEANINGS:
            word = _TWO_MEANINGS[value]
            raise DTypeError(
                f"dtype: {value!r} is {word}64 in NumPy and {word}8 in tenferro's texts; write "
                f"'{word}64' or '{word}8'"
            )
        return _BY_NAME[value]
    if value is None or value is float:
        return default_float()
    if value is complex:
        return complex_dtype(default_float())
    try:
        dtype: DType = np.dtype(value)  # type: ignore[call-overload]  # any object of the user
    except (TypeError, ValueError):  # NumPy reads `value.dtype`, which may be anything
        raise DTypeError(f"dtype: {value!r} is not an element type; use one of {_CHOICE}") from None
    dtype = dtype.newbyteorder("=")
    if dtype not in _SHORT:
        raise DTypeError(f"dtype: {dtype} is not supported; use one of {_CHOICE}")
    return _BY_NAME[_SHORT[dtype]]


def short_name(dtype: DType) -> str:
    """The name used in types and dumps.

    >>> short_name(as_dtype("complex128"))
    'c128'
    """
    return _SHORT[dtype]


def dtype_of_short_name(name: str) -> DType | None:
    """The dtype of a short name, or None if `name` is not a short name."""
    return _BY_NAME.get(name)


def dtype_kind(dtype: DType) -> str:
    """The letter for the kind of numbers: that of NumPy, where the dtype is NumPy's own.

    It is "f" for bfloat16, and "V", with which no op computes, for numbers of 8 bits.

    >>> dtype_kind(BFLOAT16), BFLOAT16.kind
    ('f', 'V')
    """
    return _KINDS.get(dtype) or dtype.kind


def is_complex(dtype: DType) -> bool:
    """Whether elements have an imaginary part."""
    return dtype_kind(dtype) == "c"


def is_floating(dtype: DType) -> bool:
    """Whether elements are real floating-point numbers."""
    return dtype_kind(dtype) in "fV"


def is_inexact(dtype: DType) -> bool:
    """Whether elements are floating-point or complex: whether a derivative can exist.

    Those of 8 bits are, so that they are not taken for integers.
    """
    return dtype_kind(dtype) in "fcV"


def is_integer(dtype: DType) -> bool:
    """Whether elements are signed or unsigned integers."""
    return dtype_kind(dtype) in "iu"


def is_storage(dtype: DType) -> bool:
    """Whether elements are floating-point numbers of 8 bits, which are stored and converted."""
    return dtype_kind(dtype) == "V"


def in_single(dtype: DType) -> DType:
    """The dtype in which sums of numbers of this dtype are computed: float32 for 16 bits.

    >>> short_name(in_single(BFLOAT16)), short_name(in_single(FLOAT64))
    ('f32', 'f64')
    """
    return FLOAT32 if dtype in (FLOAT16, BFLOAT16) else dtype


def float_limits(dtype: DType) -> np.finfo[Any]:
    """NumPy's limits of a floating-point dtype; `numpy.finfo` does not have those of bfloat16.

    >>> float_limits(BFLOAT16).nmant
    7
    """
    limits: np.finfo[Any] = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]  # as NumPy's
    return limits


def real_dtype(dtype: DType) -> DType:
    """The dtype of the real part.

    >>> short_name(real_dtype(COMPLEX64))
    'f32'
    """
    return {COMPLEX64: FLOAT32, COMPLEX128: FLOAT64}.get(dtype, dtype)


def complex_dtype(dtype: DType) -> DType:
    """The dtype of a complex number with parts of type `dtype`.

    Raises:
        DTypeError: there is no complex dtype with such parts.
    """
    if is_complex(dtype):
        return dtype
    if dtype not in (FLOAT32, FLOAT64):
        raise DTypeError(f"complex: parts must be f32 or f64, got {short_name(dtype)}")
    return COMPLEX64 if dtype == FLOAT32 else COMPLEX128


# The dtype of several arrays and numbers, and of what has none; `tn.config.using` changes both.


def default_float() -> DType:
    """The dtype of what has none.

    >>> short_name(default_float())
    'f64'
    """
    return _BY_NUMPY_NAME[(rules_here.get() or RULES_OF_PROCESS[0]).default_float]


_BY_NUMPY_NAME = {"float32": FLOAT32, "float64": FLOAT64}


def inexact_of(dtype: DType) -> DType:
    """The dtype itself if it has derivatives, else that of the sine of such integers or bools.

    By JAX's rules it is float32 for integers of up to 32 bits.

    >>> short_name(inexact_of(INT32))
    'f64'
    """
    if is_inexact(dtype):
        return dtype
    as_in_jax = (rules_here.get() or RULES_OF_PROCESS[0]).promotion == "jax"
    return FLOAT32 if as_in_jax and dtype.itemsize <= 4 else default_float()


def promoted_dtype(*parts: DType | bool | int | float | complex) -> DType:
    """The dtype that arrays of these dtypes and Python numbers promote to; the numbers are weak.

    Raises:
        TypeError: the dtypes have no common one.

    >>> short_name(promoted_dtype(FLOAT32, INT32)), short_name(promoted_dtype(FLOAT32, 2.5))
    ('f64', 'f32')
    """
    rules = rules_here.get() or RULES_OF_PROCESS[0]
    dtypes = [part for part in parts if isinstance(part, np.dtype)]
    if rules.promotion == "jax":
        common = _promoted_as_in_jax(dtypes, parts)
    else:
        common = common_dtype(*parts)
    if is_inexact(common) and not any(map(is_inexact, dtypes)):
        return as_dtype(complex if is_complex(common) else float)
    return as_dtype(common)


def common_dtype(*parts: DType | bool | int | float | complex) -> DType:
    """What `numpy.result_type` says, also of dtypes that NumPy does not have.

    bfloat16 promotes as float16 does, and both together to float32. Numbers of 8 bits have no
    common dtype with others.

    Raises:
        TypeError: the dtypes have no common one.

    >>> short_name(common_dtype(BFLOAT16, INT8)), short_name(common_dtype(BFLOAT16, FLOAT16))
    ('bf16', 'f32')
    """
    dtypes = [part for part in parts if isinstance(part, np.dtype)]
    if any(map(is_storage, dtypes)):
        return _promoted_storage(dtypes)
    if BFLOAT16 not in dtypes:
        return np.result_type(*parts)
    halves = [FLOAT16 if isinstance(x, np.dtype) and x == BFLOAT16 else x for x in parts]
    common = np.result_type(*halves)
    if common != FLOAT16:
        return common
    return FLOAT32 if FLOAT16 in dtypes else BFLOAT16


def _promoted_storage(dtypes: list[DType]) -> DType:
    """The only dtype, of 8 bits.

    Raises:
        TypeError: there are others.
    """
    if len(set(dtypes)) > 1:
        names = " and ".join(map(short_name, dict.fromkeys(dtypes)))
        raise TypeError(f"{names} have no common dtype; convert one of them with astype")
    return dtypes[0]


def _promoted_as_in_jax(dtypes: list[DType], parts: tuple[Any, ...]) -> DType:
    """The dtype by JAX's rules: floats yield to wider floats only, and to complex numbers.

    Source: `jax.numpy.promote_types`, and JAX's documentation, Type promotion semantics.
    """
    if any(map(is_storage, dtypes)):
        return _promoted_storage(dtypes)
    inexact = [dtype for dtype in dtypes if is_inexact(dtype)]
    if any(map(is_complex, dtypes)) or any(isinstance(part, complex) for part in parts):
        is_wide = any(real_dtype(dtype).itemsize > 4 for dtype in inexact)
        return COMPLEX128 if is_wide or not inexact else COMPLEX64
    if inexact:
        widest = max(inexact, key=lambda dtype: dtype.itemsize)
        alike = all(dtype == widest or dtype.itemsize < widest.itemsize for dtype in inexact)
        return widest if alike else FLOAT32  # two formats of 16 bits
    if any(isinstance(part, float) for part in parts):
        return FLOAT64
    whole = [dtype for dtype in dtypes if is_integer(dtype)]
    if whole:
        return np.result_type(*whole)
    numbers = [part for part in parts if isinstance(part, int) and not isinstance(part, bool)]
    if not numbers:
        return BOOL
    narrow = dtypes and default_float() == FLOAT32 and all(-(2**31) <= n < 2**31 for n in numbers)
    return INT32 if narrow else INT64  # of a mask and a number; in JAX it yields to int32
