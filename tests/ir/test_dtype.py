import numpy as np
import pytest

from tenferro.errors import DTypeError
from tenferro.shape import (
    BOOL,
    COMPLEX64,
    COMPLEX128,
    FLOAT32,
    FLOAT64,
    INT64,
    as_dtype,
    complex_dtype,
    dtype_of_short_name,
    is_complex,
    is_floating,
    is_inexact,
    is_integer,
    real_dtype,
    short_name,
)

NAMES = ["bool", "bf16", "f16", "f32", "f64", "c64", "c128"] + [
    f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64)
]


@pytest.mark.parametrize("name", NAMES)
def test_a_short_name_stands_for_one_dtype(name: str) -> None:
    dtype = dtype_of_short_name(name)
    assert dtype is not None
    assert short_name(dtype) == name
    assert as_dtype(dtype) is dtype
    if name in ("i8", "u8"):
        with pytest.raises(DTypeError, match=f"'{name}' is u?int64 in NumPy and {dtype} in"):
            as_dtype(name)
    else:
        assert as_dtype(name) is dtype


def test_many_spellings_are_one_dtype() -> None:
    assert as_dtype(float) is as_dtype("float64") is as_dtype(np.float64) is FLOAT64
    assert as_dtype(complex) is COMPLEX128
    assert as_dtype(bool) is BOOL
    assert as_dtype(int) is INT64


@pytest.mark.parametrize("value", ["f8x", "nonsense", object()])
def test_a_value_that_is_not_an_element_type_is_refused(value: object) -> None:
    with pytest.raises(DTypeError, match="is not an element type"):
        as_dtype(value)


@pytest.mark.parametrize("value", ["U3", "O", "M8[s]", "V4"])
def test_element_types_that_tenferro_does_not_have_are_refused(value: str) -> None:
    with pytest.raises(DTypeError, match=r"is not supported; use one of bool, int8, i16"):
        as_dtype(value)


def test_kinds() -> None:
    dtypes = {name: dtype_of_short_name(name) or BOOL for name in NAMES}
    assert [name for name in NAMES if is_complex(dtypes[name])] == ["c64", "c128"]
    assert [name for name in NAMES if is_floating(dtypes[name])] == ["bf16", "f16", "f32", "f64"]
    assert sum(map(is_integer, dtypes.values())) == 8
    assert sum(map(is_inexact, dtypes.values())) == 6


def test_parts_of_complex_numbers() -> None:
    assert real_dtype(COMPLEX64) == FLOAT32
    assert real_dtype(COMPLEX128) == real_dtype(FLOAT64) == FLOAT64
    assert complex_dtype(FLOAT32) == complex_dtype(COMPLEX64) == COMPLEX64
    with pytest.raises(DTypeError, match="complex: parts must be f32 or f64, got i64"):
        complex_dtype(INT64)


def test_an_unknown_short_name_is_none() -> None:
    assert dtype_of_short_name("float64") is None
