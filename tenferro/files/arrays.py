"""Arrays under a header in one file: what a farm keeps on disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tenferro.errors import FileError
from tenferro.exec_ir import Array
from tenferro.files.container import Json, pack, unpack
from tenferro.files.schema import items
from tenferro.files.values import BlobReader, BlobWriter

_BLOBS, _ARRAYS = "blobs", "arrays"


class Unpacked(NamedTuple):
    """What a file of arrays holds: its header, the arrays, read-only, and what tells them apart."""

    header: dict[str, Json]
    arrays: list[Array]
    digests: list[Json]


def pack_arrays(
    header: dict[str, Json], arrays: Sequence[Array], digests: Sequence[Json] | None = None
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


def array_digests(arrays: Sequence[Array]) -> list[Json]:
    """Element type, shape and SHA-256 of each array, as JSON."""
    blobs = BlobWriter()
    return _digests(blobs.table, [blobs.add(array) for array in arrays])


def _digests(table: Sequence[Json], numbers: Sequence[int]) -> list[Json]:
    return [{key: table[number][key] for key in ("dtype", "shape", "sha256")} for number in numbers]
