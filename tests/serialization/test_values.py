"""Payload values stay what they are, to the bit; blobs hold what their entries say."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenferro.errors import FileError
from tenferro.ir import encode
from tenferro.serialization import canonical_json
from tenferro.serialization.container import parse
from tenferro.serialization.values import BlobReader, BlobWriter, from_json, to_json
from tenferro.shape import as_dtype, dim

SCALARS: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.complex_numbers(allow_nan=True)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.binary()
    | st.sampled_from([as_dtype("f64"), as_dtype("bool"), dim("2*n + 1"), np.arange(3.0)])
)
VALUES = st.recursive(SCALARS, lambda items: st.lists(items).map(tuple), max_leaves=8)


def through_a_file(value: object) -> object:
    blobs = BlobWriter()
    written = parse(canonical_json({"value": to_json(value, blobs), "blobs": blobs.table}))
    body = b"".join(blob + bytes(-len(blob) % 64) for blob in blobs.blobs)
    return from_json(written["value"], BlobReader(written["blobs"], memoryview(body)))


@given(VALUES)
def test_a_value_keeps_type_and_bits(value: object) -> None:
    read = through_a_file(value)
    assert type(read) is type(value)
    assert encode(read) == encode(value)


@pytest.mark.parametrize(
    "bits", [0x7FF8000000000000, 0xFFF8000000000001, 0x7FF0DEADBEEF0001, 1 << 63]
)
def test_the_bits_of_a_float_are_kept(bits: int) -> None:
    (value,) = struct.unpack(">d", bits.to_bytes(8, "big"))
    read = through_a_file(value)
    assert isinstance(read, float)
    assert struct.pack(">d", read) == bits.to_bytes(8, "big")


@pytest.mark.parametrize(
    "array",
    [
        np.array([True, False]),
        np.array(-7, "i8"),
        np.array([[1.5, -0.0, np.nan]], "f2"),
        np.array([1, 2], ">i4").astype("i4"),
        np.zeros((0, 3), "c16"),
        np.arange(24, dtype="u8").reshape(2, 3, 4)[:, ::2],
        np.array([1 + 2j, complex(math.nan, -0.0)], "c8"),
    ],
)
def test_an_array_keeps_dtype_shape_and_bytes(array: Any) -> None:
    read = through_a_file(array)
    assert isinstance(read, np.ndarray)
    assert (read.dtype, read.shape) == (array.dtype, array.shape)
    assert read.tobytes() == np.ascontiguousarray(array).tobytes()
    assert not read.flags.writeable


@pytest.mark.parametrize(
    ("value", "match"),
    [
        ([1, 2], "file: a payload has a list, which a file cannot hold"),
        ({1}, "file: a payload has a set"),
        (np.float32(1), "file: a payload has a float32"),
        (2**63, "file: an integer of a payload does not fit 64 bits"),
        (-(2**63) - 1, "file: an integer of a payload does not fit 64 bits"),
    ],
)
def test_what_no_file_can_hold_is_refused(value: object, match: str) -> None:
    with pytest.raises(FileError, match=match):
        to_json(value, BlobWriter())


def test_tuples_are_nested_up_to_a_bound() -> None:
    value: object = ()
    written: Any = []
    for _ in range(40):
        value, written = (value,), [written]
    with pytest.raises(FileError, match="file: a payload has tuples more than 32 deep"):
        to_json(value, BlobWriter())
    with pytest.raises(FileError, match="file: a payload has tuples more than 32 deep"):
        from_json(written, BlobReader([], memoryview(b"")))


@pytest.mark.parametrize(
    ("written", "match"),
    [
        ({}, "file: a payload has an object of an unknown kind"),
        ({"float": "00", "bytes": ""}, "file: a payload has an object of an unknown kind"),
        ({"code": "print()"}, "file: a payload has an object of an unknown kind"),
        ({"float": "00"}, "file: a payload holds bits that are not written as digits of base 16"),
        ({"float": "3FF0000000000000"}, "digits of base 16"),
        ({"float": 1}, "file: a float of a payload must be a text"),
        ({"complex": "00" * 15}, "digits of base 16"),
        ({"bytes": "0"}, "digits of base 16"),
        ({"bytes": "0 0 "}, "digits of base 16"),
        ({"size": "3"}, "file: the size 3 of a payload must be written as an integer"),
        ({"dtype": "object"}, "file: 'object' is not an element type"),
        ({"array": 0}, "file: the number of an array must be an integer from 0 to -1"),
        ({"array": -1}, "file: the number of an array must be an integer"),
        (2**63, "file: an integer of a payload does not fit 64 bits"),
    ],
)
def test_what_is_written_otherwise_is_refused(written: Any, match: str) -> None:
    with pytest.raises(FileError, match=match):
        from_json(written, BlobReader([], memoryview(b"")))


def blob(**changes: Any) -> dict[str, Any]:
    writer = BlobWriter()
    writer.add(np.array([1.0, 2.0]))
    return {**writer.table[0], **changes}


BODY = np.array([1.0, 2.0]).tobytes() + bytes(48)


def test_a_sound_blob_is_read() -> None:
    assert BlobReader([blob()], memoryview(BODY)).array(0, "x").tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("table", "match"),
    [
        ({}, "file: blobs must be a list"),
        ([], "file: 64 bytes after the last blob do not belong to any blob"),
        ([{}], "file: blob 0 must be an object of dtype, length, offset, sha256, shape"),
        ([blob(dtype="f65")], "file: 'f65' is not an element type"),
        ([blob(shape=[3])], "file: blob 0 has 16 bytes, which is not the size of its shape"),
        ([blob(shape=[-2])], "file: the shape of blob 0 must be an integer from 0"),
        (
            [blob(shape=[2] + [1] * 64)],
            "file: blob 0 has 16 bytes, which is not the size of its shape",
        ),
        (
            [blob(shape=[2**62, 2**62])],
            "file: blob 0 has 16 bytes, which is not the size of its shape",
        ),
        ([blob(shape=[0, 2**62, 2**62], length=0)], "extents of blob 0 overflow 64 bits"),
        ([blob(length=2**62, shape=[2**59])], "file: blob 0 does not begin at byte 0, or ends"),
        ([blob(offset=64)], "file: blob 0 does not begin at byte 0, or ends after the file"),
        ([blob(), blob()], "file: blob 1 does not begin at byte 64, or ends after the file"),
        ([blob(sha256="00")], "file: the checksum of blob 0 is wrong; the file is damaged"),
    ],
)
def test_a_table_that_does_not_fit_the_bytes_is_refused(table: Any, match: str) -> None:
    with pytest.raises(FileError, match=match):
        BlobReader(table, memoryview(BODY))


def test_a_bool_is_0_or_1() -> None:
    writer = BlobWriter()
    writer.add(np.array([2], "u1"))
    entry = {**writer.table[0], "dtype": "bool"}
    with pytest.raises(FileError, match="file: blob 0 has a bool that is neither 0 nor 1"):
        BlobReader([entry], memoryview(b"\2" + bytes(63)))
