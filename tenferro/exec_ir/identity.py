"""When two payloads are one op.

Python's `==` is too weak for that: `1 == True == 1.0`, `0.0 == -0.0`, `nan != nan`. A payload is
encoded into bytes that tell all of these apart; equal bytes are equal payloads, in every process
and version.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from types import NoneType
from typing import Any

import numpy as np

from tenferro.shape import DimExpr, short_name


def encode(value: object) -> bytes:
    """The canonical bytes of a payload value.

    Raises:
        TypeError: the value is of a type that a payload cannot hold.

    >>> encode(1) == encode(True), encode(0.0) == encode(-0.0)
    (False, False)
    >>> encode(float("nan")) == encode(float("nan"))
    True
    """
    encoder = _ENCODERS.get(type(value)) or _encoder_of_subclass(value)
    return encoder(value)


def _tuple(items: tuple[object, ...]) -> bytes:
    return b"(" + b"".join([encode(item) for item in items]) + b")"


def _array(array: np.ndarray[Any, Any]) -> bytes:
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return b"a" + encode(array.dtype) + encode(array.shape) + _sized(b"", little.tobytes())


def _sized(tag: bytes, data: bytes) -> bytes:
    return tag + b"%d:" % len(data) + data


_ENCODERS: dict[type, Callable[[Any], bytes]] = {
    NoneType: lambda _: b"N",
    bool: lambda value: b"T" if value else b"F",  # before int, of which it is a subclass
    int: lambda value: b"i%d;" % value,
    float: lambda value: b"f" + struct.pack("<d", value),
    complex: lambda value: b"c" + struct.pack("<dd", value.real, value.imag),
    str: lambda value: _sized(b"s", value.encode()),
    bytes: lambda value: _sized(b"b", value),
    tuple: _tuple,
    DimExpr: lambda value: _sized(b"d", value.text.encode()),
    np.dtype: lambda value: _sized(b"t", short_name(value).encode()),
    np.ndarray: _array,
}


def _encoder_of_subclass(value: object) -> Callable[[Any], bytes]:
    for kind, encoder in _ENCODERS.items():
        if isinstance(value, kind):
            return encoder
    raise TypeError(f"payload: a {type(value).__name__} cannot be part of an op's identity")
