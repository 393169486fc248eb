"""A payload's values are of the types that the op's class declares."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest

from tenferro.errors import FileError
from tenferro.ops import ALL_OPS
from tenferro.serialization.schema import as_declared, field_types, fits
from tenferro.shape import Dim, DType, as_dtype, dim


class Colour(enum.IntEnum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (1, int, True),
        (True, int, False),
        (True, bool, True),
        (1, bool, False),
        (1, float, True),
        (True, float, False),
        (1.0, int, False),
        (1.0, complex, True),
        (1j, float, False),
        ("a", str, True),
        (b"a", str, False),
        (None, None, True),
        (None, int | None, True),
        (None, int, False),
        ((), tuple[int, ...], True),
        ((1, "a"), tuple[int, str], True),
        ((1,), tuple[int, str], False),
        ([1], tuple[int, ...], False),
        (((1,), (2, 3)), tuple[tuple[int, ...], ...], True),
        (((1,), 2), tuple[tuple[int, ...], ...], False),
        (dim("n"), Dim, True),
        (3, Dim, True),
        ("n", Dim, False),
        (as_dtype("f64"), DType, True),
        ("f64", DType, False),
        (np.ones(2), np.ndarray[Any, Any], True),
        ("a", Literal["a", 1], True),
        (1, Literal["a", 1], True),
        (True, Literal["a", 1], False),
        (Colour.RED, Colour, True),
        ({}, Any, True),
    ],
)
def test_whether_a_value_is_of_a_type(value: object, hint: Any, expected: bool) -> None:
    assert fits(value, hint) is expected


@pytest.mark.parametrize("op", ALL_OPS, ids=lambda op: op.name)
def test_the_fields_of_every_op_have_types_that_can_be_checked(op: type) -> None:
    for name, hint in field_types(op).items():
        assert not fits(object(), hint) or op.__name__ == "Constant", name


@dataclass
class Painted:
    colour: Colour
    number: int = 0


def test_a_number_becomes_the_member_of_an_enum() -> None:
    assert as_declared(Painted, [("colour", 1)])["colour"] is Colour.RED


@pytest.mark.parametrize(
    ("field", "value", "match"),
    [
        ("colour", 7, "file: 7 is not a member of Colour"),
        ("colour", None, "file: colour of Painted cannot be None"),
        ("number", "x", "file: number of Painted cannot be 'x'"),
        ("size", 1, "file: Painted has no field 'size'"),
    ],
)
def test_other_values_are_refused(field: str, value: object, match: str) -> None:
    with pytest.raises(FileError, match=match):
        as_declared(Painted, [(field, value)])
