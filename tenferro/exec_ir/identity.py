"""When two payloads are one op.

Python's `==` is too weak for that: `1 == True == 1.0`, `0.0 == -0.0`, `nan != nan`. A payload is encoded into bytes that
tell all of these apart; equal bytes are equal payloads, in every process and version.
"""

from __future__ import annotations

import struct

import numpy as np

from tenferro.shape import DimExpr, short_name


def encode(value: object) -> bytes:
    """The canonical bytes of a payload value.

    Raises:
        TypeError: the value is of a type that a payload cannot hold.

    >>> encode(1) == encode(True), encode(0.0) == encode(-0.0), encode(float("nan")) == encode(float("nan"))
    (False, False, True)
    """
    kind = type(value)
    if kind is int:  # most of what payloads hold; the order of cases below costs it time
        return b"i%d;" % value
    if kind is tuple:
        return b"(%s)" % b"".join([encode(item) for item in value])  # type: ignore[attr-defined]
    match value:
        case None:
            return b"N"
        case bool():
            return b"T" if value else b"F"
        case int():
            return b"i%d;" % value
        case float():
            return b"f" + struct.pack("<d", value)
        case complex():
            return b"c" + struct.pack("<dd", value.real, value.imag)
        case str():
            return _sized(b"s", value.encode())
        case bytes():
            return _sized(b"b", value)
        case tuple():
            return b"(" + b"".join([encode(item) for item in value]) + b")"
        case DimExpr():
            return _sized(b"d", value.text.encode())
        case np.dtype():
            return _sized(b"t", short_name(value).encode())
        case np.ndarray():
            little = value.astype(value.dtype.newbyteorder("<"), copy=False)
            return b"a" + encode(value.dtype) + encode(value.shape) + _sized(b"", little.tobytes())
        case _:
            raise TypeError(f"payload: a {type(value).__name__} cannot be part of an op's identity")


def _sized(tag: bytes, data: bytes) -> bytes:
    return tag + b"%d:" % len(data) + data
