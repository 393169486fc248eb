"""Payload values and arrays as JSON and blobs.

The kinds of value are those that `exec_ir.encode` tells apart, and each stays what it is: floats
and complex numbers are written by their bits, arrays as blobs.

| value | JSON |
|---|---|
| None, bool, int, str | itself; an int of 64 bits |
| tuple | a list |
| float, complex | `{"float": "3ff0000000000000"}`, `{"complex": …}`: bits, the real part first |
| bytes | `{"bytes": "00ff"}` |
| size that is no integer | `{"size": "2*n"}` |
| dtype | `{"dtype": "f64"}` |
| array | `{"array": 0}`: the number of a blob |
"""

from __future__ import annotations

import hashlib
import math
import re
import struct
from collections.abc import Callable
from types import NoneType
from typing import Any, Final

import numpy as np

from tenferro.errors import FileError
from tenferro.exec_ir import Array
from tenferro.files.container import Json, aligned
from tenferro.files.schema import MAX_INTEGER, items, number, numbers, record, short, text
from tenferro.files.types import parse_size, size_text
from tenferro.shape import DimExpr, DType, dtype_of_short_name, short_name

MAX_DEPTH: Final = 32
"""Tuples within tuples, at most."""

MAX_RANK: Final = 64
_BLOB_KEYS = frozenset({"dtype", "shape", "offset", "length", "sha256"})
_HEX = re.compile(r"(?:[0-9a-f]{2})*", re.ASCII)


class BlobWriter:
    """Collects the arrays of a file; equal ones are written once."""

    def __init__(self) -> None:
        self.blobs: list[bytes] = []
        self.table: list[Json] = []
        self._offset = 0
        self._numbers: dict[tuple[str, tuple[int, ...], str], int] = {}

    def add(self, array: Array) -> int:
        """The number of the blob that holds `array`."""
        data = _little_endian(array).tobytes()
        digest = hashlib.sha256(data).hexdigest()
        key = (short_name(array.dtype), array.shape, digest)
        found = self._numbers.get(key)
        if found is not None:
            return found
        self._numbers[key] = position = len(self.blobs)
        self.blobs.append(data)
        self.table.append(
            {
                "dtype": key[0],
                "shape": list(array.shape),
                "offset": self._offset,
                "length": len(data),
                "sha256": digest,
            }
        )
        self._offset += aligned(len(data))
        return position


class BlobReader:
    """The arrays of a file, each checked against the bytes that are there."""

    def __init__(self, table: Json, body: memoryview) -> None:
        self._arrays: list[Array] = []
        offset = 0
        for position, entry in enumerate(items(table, "blobs")):
            array, length = _read_blob(entry, body, offset, f"blob {position}")
            self._arrays.append(array)
            offset += aligned(length)
        if offset != len(body):
            raise FileError(f"file: {len(body) - offset} bytes after the last blob belong to none")

    def __len__(self) -> int:
        return len(self._arrays)

    def array(self, position: Json, where: str) -> Array:
        """The array of a blob by its number; read-only."""
        return self._arrays[number(position, where, len(self._arrays))]


def to_json(value: object, blobs: BlobWriter, depth: int = 0) -> Json:
    """A payload value as JSON; arrays go to `blobs`.

    Raises:
        FileError: the value is of a kind that payloads do not hold, or beyond a bound of the
            format.

    >>> to_json((1, -0.0, None), BlobWriter())
    [1, {'float': '8000000000000000'}, None]
    """
    if depth > MAX_DEPTH:
        raise FileError(f"file: a payload has tuples more than {MAX_DEPTH} deep")
    if isinstance(value, tuple):
        return [to_json(item, blobs, depth + 1) for item in value]
    if isinstance(value, np.ndarray):
        return {"array": blobs.add(value)}
    for kind, write in _WRITERS.items():
        if isinstance(value, kind):
            return write(value)
    raise FileError(f"file: a payload holds a {type(value).__name__}, which no file can hold")


def from_json(value: Json, blobs: BlobReader, depth: int = 0) -> object:
    """The payload value that was written as `value`.

    Raises:
        FileError: nothing is written so.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return _int(value)
    if depth > MAX_DEPTH:
        raise FileError(f"file: a payload has tuples more than {MAX_DEPTH} deep")
    if isinstance(value, list):
        return tuple([from_json(item, blobs, depth + 1) for item in value])
    kind, held = next(iter(value.items())) if len(value) == 1 else ("", None)
    if kind == "array":
        return blobs.array(held, "the number of an array")
    if kind not in _READERS:
        raise FileError("file: a payload holds an object of no known kind")
    return _READERS[kind](text(held, f"a {kind} of a payload"))


def _int(value: int) -> int:
    if not -MAX_INTEGER - 1 <= value <= MAX_INTEGER:
        raise FileError("file: an integer of a payload does not fit 64 bits")
    return int(value)


def _write_complex(value: complex) -> Json:
    return {"complex": struct.pack(">dd", value.real, value.imag).hex()}


_WRITERS: dict[type, Callable[[Any], Json]] = {
    NoneType: lambda value: value,
    bool: bool,  # before int, of which it is a subclass
    int: _int,
    float: lambda value: {"float": struct.pack(">d", value).hex()},
    complex: _write_complex,
    str: str,
    bytes: lambda value: {"bytes": value.hex()},
    DimExpr: lambda value: {"size": size_text(value)},
    np.dtype: lambda value: {"dtype": short_name(value)},
}


def _bits(digits: str, length: int | None = None) -> bytes:
    if not _HEX.fullmatch(digits) or length not in (None, len(digits) // 2):
        raise FileError("file: a payload holds bits that are not written as digits of base 16")
    return bytes.fromhex(digits)


def _read_float(digits: str) -> float:
    (value,) = struct.unpack(">d", _bits(digits, 8))
    return float(value)


def _read_complex(digits: str) -> complex:
    return complex(*struct.unpack(">dd", _bits(digits, 16)))


def _read_size(written: str) -> DimExpr:
    size = parse_size(written)
    if not isinstance(size, DimExpr):
        raise FileError(f"file: the size {written} of a payload must be written as an integer")
    return size


def read_dtype(name: str) -> DType:
    """The dtype of a short name."""
    dtype = dtype_of_short_name(name)
    if dtype is None:
        raise FileError(f"file: {short(name)} is not an element type")
    return dtype


_READERS: dict[str, Callable[[str], object]] = {
    "float": _read_float,
    "complex": _read_complex,
    "bytes": _bits,
    "size": _read_size,
    "dtype": read_dtype,
}


def _read_blob(entry: Json, body: memoryview, offset: int, where: str) -> tuple[Array, int]:
    """An array, read-only, and the number of its bytes."""
    fields = record(entry, _BLOB_KEYS, where)
    dtype = read_dtype(text(fields["dtype"], f"the dtype of {where}"))
    shape = numbers(fields["shape"], f"the shape of {where}")
    length = number(fields["length"], f"the length of {where}")
    if len(shape) > MAX_RANK or math.prod(shape) * dtype.itemsize != length:
        raise FileError(f"file: {where} has {length} bytes, which do not fill its shape")
    if math.prod(size for size in shape if size) * dtype.itemsize > MAX_INTEGER:
        raise FileError(f"file: the extents of {where} overflow 64 bits when multiplied")
    if fields["offset"] != offset or offset + length > len(body):
        raise FileError(f"file: {where} does not begin at byte {offset}, or ends after the file")
    data = bytes(body[offset : offset + length])
    if hashlib.sha256(data).hexdigest() != fields["sha256"]:
        raise FileError(f"file: {where} does not have the checksum that is written of it")
    if dtype.kind == "b" and data.strip(b"\x00\x01"):
        raise FileError(f"file: {where} holds a bool that is neither 0 nor 1")
    array = np.frombuffer(data, dtype.newbyteorder("<")).astype(dtype, copy=False).reshape(shape)
    array.setflags(write=False)
    return array, length


def _little_endian(array: Array) -> Array:
    return array.astype(array.dtype.newbyteorder("<"), copy=False)
