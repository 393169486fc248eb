"""Arrays under a header in one file: what a farm keeps on disk."""

from __future__ import annotations

from collections.abc import Sequence

from tenferro.errors import FileError
from tenferro.exec_ir import Array
from tenferro.files.container import Json, pack, unpack
from tenferro.files.schema import items
from tenferro.files.values import BlobReader, BlobWriter

_BLOBS, _ARRAYS = "blobs", "arrays"


def pack_arrays(header: dict[str, Json], arrays: Sequence[Array]) -> bytes:
    """The bytes of a file with a header and arrays, of which equal ones are written once.

    Raises:
        FileError: the header has a string that is not valid Unicode.

    >>> import numpy as np
    >>> unpack_arrays(pack_arrays({"kind": "part"}, [np.arange(2.0)]))
    ({'kind': 'part'}, [array([0., 1.])])
    """
    blobs = BlobWriter()
    numbers = [blobs.add(array) for array in arrays]
    return pack({**header, _ARRAYS: numbers, _BLOBS: blobs.table}, blobs.blobs)


def unpack_arrays(data: bytes) -> tuple[dict[str, Json], list[Array]]:
    """The header and the arrays, read-only, of the bytes that `pack_arrays` returned.

    Raises:
        FileError: the bytes are not of such a file, or they are damaged.
    """
    header, body = unpack(data)
    if not isinstance(header, dict) or not header.keys() >= {_ARRAYS, _BLOBS}:
        raise FileError("file: the header must be an object with arrays and blobs")
    blobs = BlobReader(header.pop(_BLOBS), body)
    return header, [blobs.array(each) for each in items(header.pop(_ARRAYS), "arrays")]


def array_digests(arrays: Sequence[Array]) -> list[Json]:
    """Element type, shape and SHA-256 of each array, as JSON."""
    blobs = BlobWriter()
    numbers = [blobs.add(array) for array in arrays]
    keys = ("dtype", "shape", "sha256")
    return [{key: blobs.table[number][key] for key in keys} for number in numbers]
