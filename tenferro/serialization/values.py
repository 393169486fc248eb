"""Values of payloads as JSON; arrays as blobs; files of arrays.

The table in `ir.payloads` lists the kinds of values and how each is written. None, booleans,
integers and strings are JSON values; a tuple is a list; every other value is an object with one
key, the tag of its kind. Floats and complex numbers are written as their bits, arrays as blobs, and
programs inside ops as entries of the table of bodies.

| value | JSON |
|---|---|
| None, bool, int, str | itself; an int of 64 bits |
| tuple | a list |
| float, complex | `{"float": "3ff0000000000000"}`, `{"complex": …}`: bits, the real part first |
| bytes | `{"bytes": "00ff"}` |
| size that is not an integer | `{"size": "2*n"}` |
| dtype | `{"dtype": "f64"}` |
| array | `{"array": 0}`: the number of a blob |
| program | `{"program": 0}`: the number of a body |
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

import numpy as np

from tenferro.errors import FileError, class_of
from tenferro.ir import (
    Dim,
    DType,
    ExecProgram,
    NumpyArray,
    dtype_kind,
    dtype_of_short_name,
    kind_of,
    kind_of_tag,
    short_name,
)
from tenferro.ops import StdTensorOp
from tenferro.ops.control_flow import VOCABULARY
from tenferro.serialization.container import Json, aligned, pack, unpack
from tenferro.serialization.missing_extension import written_digest
from tenferro.serialization.schema import MAX_INTEGER, items, number, numbers, record, short, text
from tenferro.serialization.types import parse_size, size_text

__all__ = ["array_digests", "pack_arrays", "unpack_arrays"]


MAX_DEPTH: Final = 32
"""Maximum depth of tuples within tuples."""

MAX_RANK: Final = 64
Vocabulary = Mapping[str, type[StdTensorOp]]
CheckExtension = Callable[[str, tuple[object, ...]], object]
_BLOB_KEYS = frozenset({"dtype", "shape", "offset", "length", "sha256"})


class BlobWriter:
    """Collects the arrays of a file and the programs inside its ops. Equal ones are written once.

    Attributes:
        vocabulary: the ops that may be written, by name.
        check: raises if the extension op with a family and payload cannot be read again.
        blobs: the bytes of each array.
        table: the entry of each array in the header.
        bodies: the programs inside ops as JSON, each after those inside it.
    """

    def __init__(
        self, vocabulary: Vocabulary = VOCABULARY, check: CheckExtension | None = None
    ) -> None:
        self.vocabulary = vocabulary
        self.check = check
        self.blobs: list[bytes] = []
        self.table: list[Json] = []
        self.bodies: list[Json] = []
        self._offset = 0
        self._numbers: dict[tuple[str, tuple[int, ...], str], int] = {}
        self._body_numbers: dict[str, int] = {}

    def add(self, array: NumpyArray, digest: str | None = None) -> int:
        """The number of the blob that holds `array`; `digest` is its SHA-256, if that is known."""
        data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        digest = digest or hashlib.sha256(data).hexdigest()
        key = (short_name(array.dtype), array.shape, digest)
        position = self._numbers.get(key)
        if position is not None:
            return position
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

    def has_body(self, digest: str) -> bool:
        """Whether a program with this digest has been written."""
        return digest in self._body_numbers

    def keep_body(self, digest: str, written: Json) -> None:
        """Store a program inside an op under the next number."""
        self._body_numbers[digest] = len(self.bodies)
        self.bodies.append(written)

    def add_body(self, body: ExecProgram) -> int:
        """The number of a program that has been written."""
        return self._body_numbers[written_digest(body)]

    def size_text(self, size: Dim) -> str:
        """A size as text that `parse_size` reads."""
        return size_text(size)


class BlobReader:
    """The bodies of a file, and its arrays, each checked against the bytes of the file.

    Attributes:
        table: the entry of each array in the header.
        bodies: the programs inside ops that have been read so far.
    """

    def __init__(self, table: Json, body: memoryview) -> None:
        self.table = table
        self.bodies: list[ExecProgram] = []
        self._arrays: list[NumpyArray] = []
        offset = 0
        for position, entry in enumerate(items(table, "blobs")):
            array, length = _read_blob(entry, body, offset, f"blob {position}")
            self._arrays.append(array)
            offset += aligned(length)
        if offset != len(body):
            raise FileError(
                f"file: {len(body) - offset} bytes after the last blob do not belong to any blob"
            )

    def __len__(self) -> int:
        return len(self._arrays)

    def array(self, position: Json, where: str = "the number of an array") -> NumpyArray:
        """The array of a blob by its number; read-only."""
        return self._arrays[number(position, where, len(self._arrays))]

    def body(self, position: Json) -> ExecProgram:
        """The program of a body by its number; only bodies that were read before have one."""
        return self.bodies[number(position, "the number of a body", len(self.bodies))]

    def size(self, written: str) -> Dim:
        """The size of a text."""
        return parse_size(written)


def to_json(value: object, blobs: BlobWriter, depth: int = 0) -> Json:
    """A payload value as JSON; arrays go to `blobs`.

    >>> to_json((1, -0.0, None), BlobWriter())
    [1, {'float': '8000000000000000'}, None]
    """
    if depth > MAX_DEPTH:
        raise FileError(f"file: a payload has tuples more than {MAX_DEPTH} deep")
    if isinstance(value, tuple):
        return [to_json(item, blobs, depth + 1) for item in value]
    try:
        kind = kind_of(value)
    except TypeError:
        raise FileError(
            f"file: a payload has {class_of(value)}, which a file cannot hold"
        ) from None
    with _as_file_error():
        written = kind.write(value, blobs)
    return written if kind.tag is None else {kind.tag: written}


def from_json(value: Json, blobs: BlobReader, depth: int = 0) -> object:
    """The payload value that was written as `value`."""
    if depth > MAX_DEPTH:
        raise FileError(f"file: a payload has tuples more than {MAX_DEPTH} deep")
    if isinstance(value, list):
        return tuple([from_json(item, blobs, depth + 1) for item in value])
    if not isinstance(value, dict):
        with _as_file_error():
            return kind_of(value).read(value, blobs)
    tag, content = next(iter(value.items())) if len(value) == 1 else ("", None)
    kind = kind_of_tag(tag)
    if kind is None:
        raise FileError("file: a payload has an object of an unknown kind")
    with _as_file_error():
        return kind.read(content, blobs)


@contextmanager
def _as_file_error() -> Iterator[None]:
    """A context in which errors of the table of kinds become FileErrors."""
    try:
        yield
    except FileError:
        raise
    except ValueError as error:
        raise FileError(f"file: {error}") from None


def read_dtype(name: str) -> DType:
    """The dtype of a short name."""
    dtype = dtype_of_short_name(name)
    if dtype is None:
        raise FileError(f"file: {short(name)} is not an element type")
    return dtype


def _read_blob(entry: Json, body: memoryview, offset: int, where: str) -> tuple[NumpyArray, int]:
    """An array, read-only, and the number of its bytes."""
    fields = record(entry, _BLOB_KEYS, where)
    dtype = read_dtype(text(fields["dtype"], f"the dtype of {where}"))
    shape = numbers(fields["shape"], f"the shape of {where}")
    length = number(fields["length"], f"the length of {where}")
    if len(shape) > MAX_RANK or math.prod(shape) * dtype.itemsize != length:
        raise FileError(f"file: {where} has {length} bytes, which is not the size of its shape")
    if math.prod(size for size in shape if size) * dtype.itemsize > MAX_INTEGER:
        raise FileError(f"file: the extents of {where} overflow 64 bits when multiplied")
    if fields["offset"] != offset or offset + length > len(body):
        raise FileError(f"file: {where} does not begin at byte {offset}, or ends after the file")
    data = bytes(body[offset : offset + length])
    if hashlib.sha256(data).hexdigest() != fields["sha256"]:
        raise FileError(f"file: the checksum of {where} is wrong; the file is damaged")
    if dtype_kind(dtype) == "b" and data.strip(b"\x00\x01"):
        raise FileError(f"file: {where} has a bool that is neither 0 nor 1")
    array = np.frombuffer(data, dtype.newbyteorder("<")).astype(dtype, copy=False).reshape(shape)
    array.setflags(write=False)
    return array, length


# Arrays under a header in one file: what a farm keeps on disk.

_BLOBS, _ARRAYS = "blobs", "arrays"


class Unpacked(NamedTuple):
    """What a file of arrays holds: its header, the arrays, read-only, and what tells them apart."""

    header: dict[str, Json]
    arrays: list[NumpyArray]
    digests: list[Json]


def pack_arrays(
    header: dict[str, Json], arrays: Sequence[NumpyArray], digests: Sequence[Json] | None = None
) -> bytes:
    """The bytes of a file with a header and arrays, of which equal ones are written once.

    Args:
        header: the header.
        arrays: the arrays.
        digests: those of `array_digests`, if they are known.

    Raises:
        FileError: the header has a string that is not valid Unicode.

    >>> import numpy as np
    >>> data = pack_arrays({"kind": "part"}, [np.arange(2.0)])
    >>> unpack_arrays(data).header, unpack_arrays(data).arrays
    ({'kind': 'part'}, [array([0., 1.])])
    """
    blobs = BlobWriter()
    known = [None] * len(arrays) if digests is None else [each["sha256"] for each in digests]
    numbers = [blobs.add(array, digest) for array, digest in zip(arrays, known, strict=True)]
    return pack({**header, _ARRAYS: numbers, _BLOBS: blobs.table}, blobs.blobs)


def unpack_arrays(data: bytes) -> Unpacked:
    """What the bytes hold that `pack_arrays` returned.

    Raises:
        FileError: the bytes are not of such a file, or they are damaged.
    """
    header, body = unpack(data)
    if not isinstance(header, dict) or not header.keys() >= {_ARRAYS, _BLOBS}:
        raise FileError("file: the header must be an object with arrays and blobs")
    blobs = BlobReader(header.pop(_BLOBS), body)
    numbers = items(header.pop(_ARRAYS), "arrays")
    arrays = [blobs.array(each) for each in numbers]
    return Unpacked(header, arrays, _digests(blobs.table, numbers))


def array_digests(arrays: Sequence[NumpyArray]) -> list[Json]:
    """Element type, shape and SHA-256 of each array, as JSON."""
    blobs = BlobWriter()
    return _digests(blobs.table, [blobs.add(array) for array in arrays])


def _digests(table: Sequence[Json], numbers: Sequence[int]) -> list[Json]:
    return [{key: table[number][key] for key in ("dtype", "shape", "sha256")} for number in numbers]
