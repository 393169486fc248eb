"""The container: a prefix, a JSON header, aligned blobs, and a SHA-256 over all of it.

Bytes are checked before they are used. No length field is trusted: every length is compared with
the number of bytes in the file before memory is allocated.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import struct
from collections.abc import Sequence
from typing import Any, NoReturn

from tenferro.errors import FileError

__all__ = ["Json", "canonical_json", "pack", "unpack"]

MAGIC = b"\x89TNF\r\n\x1a\n"
"""Eight bytes that do not occur in text and that a transfer in text mode would change."""

VERSION = 1
ALIGNMENT = 64

_PREFIX = struct.Struct("<8sIIQQ")  # magic, version, 0, length of the file, length of the header
_DIGEST = hashlib.sha256().digest_size
_LONGEST_INTEGER = 20
"""Maximum number of characters of a 64-bit integer, with its sign."""

_DEEPEST = 64
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKETS = bytes(set(range(256)) - _STEP.keys())

Json = Any
"""A parsed JSON value: a dict, list, string, integer, boolean or None."""


def pack(header: Json, blobs: Sequence[bytes]) -> bytes:
    """The bytes of a file, a function of header and blobs alone.

    >>> unpack(pack({"kind": "nothing"}, [b"abc"]))[0]
    {'kind': 'nothing'}
    """
    text = canonical_json(header)
    parts = [bytes(_PREFIX.size), text]
    parts.append(bytes(aligned(_PREFIX.size + len(text)) - _PREFIX.size - len(text)))
    for blob in blobs:
        parts += [blob, bytes(aligned(len(blob)) - len(blob))]
    total = sum(map(len, parts)) + _DIGEST
    parts[0] = _PREFIX.pack(MAGIC, VERSION, 0, total, len(text))
    checksum = hashlib.sha256()
    for part in parts:
        checksum.update(part)
    return b"".join([*parts, checksum.digest()])


def unpack(data: bytes) -> tuple[Json, memoryview]:
    """The header of a file, and the bytes of its blobs."""
    header_length = check_prefix(data[: _PREFIX.size], len(data))
    if hashlib.sha256(memoryview(data)[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise FileError("file: the checksum is wrong; the file is damaged")
    start = aligned(_PREFIX.size + header_length)
    text = data[_PREFIX.size : _PREFIX.size + header_length]
    return parse(text), memoryview(data)[start:-_DIGEST]


def check_prefix(prefix: bytes, length: int) -> int:
    """The length of the header, from the first bytes of a file of `length` bytes."""
    if len(prefix) < _PREFIX.size or not prefix.startswith(MAGIC):
        raise FileError("file: this is not a tenferro file: it does not begin with its magic bytes")
    _, version, reserved, total, header_length = _PREFIX.unpack(prefix)
    if version != VERSION:
        raise FileError(
            f"file: the format has version {version}, this tenferro reads version {VERSION}"
        )
    if reserved != 0:
        raise FileError("file: reserved bytes of the prefix are not zero")
    if total != length:
        raise FileError(f"file: it should have {total} bytes, but has {length}")
    if aligned(_PREFIX.size + header_length) + _DIGEST > length:
        raise FileError(
            f"file: a header of {header_length} bytes does not fit a file of {length} bytes"
        )
    return int(header_length)


PREFIX_SIZE = _PREFIX.size


def aligned(position: int) -> int:
    """The next aligned position, where a blob may begin."""
    return -(-position // ALIGNMENT) * ALIGNMENT


def canonical_json(value: Json) -> bytes:
    """The canonical text of a JSON value: sorted keys, no spaces, UTF-8.

    >>> canonical_json({"b": [1, None], "a": "ñ"}).decode()
    '{"a":"ñ","b":[1,null]}'
    """
    try:
        return json.dumps(
            value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        ).encode()
    except UnicodeEncodeError as error:
        piece = error.object[max(error.start - 10, 0) : error.end + 10]
        raise FileError(f"file: {piece!r} is not Unicode text") from None


def parse(text: bytes) -> Json:
    """The value of a JSON text in its canonical form."""
    _check_depth(text)
    try:
        value = json.loads(
            text.decode(),
            object_pairs_hook=_distinct,
            parse_float=_no_number,
            parse_constant=_no_number,
            parse_int=_integer,
        )
    except FileError:
        raise
    except ValueError as error:
        raise FileError(f"file: the header is not JSON: {error}") from None
    if canonical_json(value) != text:
        raise FileError("file: the header is not in canonical form")
    return value


def _check_depth(text: bytes) -> None:
    """Raise if a header is nested so deep that recursive readers would overflow the stack."""
    brackets = _STRING.sub(b"", text).translate(None, delete=_NO_BRACKETS)
    if max(itertools.accumulate(map(_STEP.__getitem__, brackets)), default=0) > _DEEPEST:
        raise FileError(f"file: the header is nested more than {_DEEPEST} deep")


def _distinct(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise FileError("file: the header has a key twice in one object")
    return value


def _no_number(text: str) -> NoReturn:
    raise FileError(f"file: {text[:_LONGEST_INTEGER]} in the header is not an integer")


def _integer(text: str) -> int:
    if len(text) > _LONGEST_INTEGER:
        raise FileError("file: an integer of the header does not fit 64 bits")
    return int(text)
