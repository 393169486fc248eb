"""The kinds of value that a payload may hold: one table for all that is done with them.

A kind says of its values what tells them apart (`encode`), how they stand in the text of programs
(`text`, `parse`) and in files (`write`, `read`), and which sizes they mention (`symbols`, `bind`).
Python's `==` is too weak to tell payloads apart: `1 == True == 1.0`, `0.0 == -0.0`, `nan != nan`.
So a payload is encoded into bytes; equal bytes are equal payloads, in every process and version.
"""

from __future__ import annotations

import ast
import re
import reprlib
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any, Protocol, Self

import numpy as np

from tenferro.shape import (
    Dim,
    DimExpr,
    DType,
    Leaf,
    bind,
    dim_of_ast,
    dtype_of_short_name,
    leaves,
    short_name,
)

Array = np.ndarray[Any, np.dtype[Any]]
Json = Any
"""What the module `json` reads and writes."""

Sizes = Mapping[Leaf, Dim]
MAX_INTEGER = 2**63 - 1
_HEX = re.compile(r"(?:[0-9a-f]{2})*", re.ASCII)


class Body(ABC):
    """A program inside an op. `ExecProgram` is the one that there is."""

    __slots__ = ()

    @property
    @abstractmethod
    def digest(self) -> str:
        """What tells it from other programs."""

    @abstractmethod
    def mentioned(self) -> set[Leaf]:
        """The symbols that its inputs and its ops mention."""

    @abstractmethod
    def bind(self, sizes: Sizes) -> Self:
        """The program with symbols replaced by sizes."""


class PayloadWriter(Protocol):
    """Where a file keeps what JSON does not hold."""

    def add(self, array: Array) -> int:
        """The number under which an array is kept."""

    def add_body(self, body: Any) -> int:
        """The number under which a program is kept."""

    def size_text(self, size: Dim) -> str:
        """A size as text that can be read again."""


class PayloadReader(Protocol):
    """Where a file has what JSON does not hold."""

    def array(self, number: Json) -> Array:
        """The array that is kept under a number."""

    def body(self, number: Json) -> Any:
        """The program that is kept under a number."""

    def size(self, text: str) -> Dim:
        """The size of a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What is done with the payload values of one type.

    Attributes:
        type: the type.
        encode: canonical bytes of a value.
        text: a value as the text of a program has it.
        parse: the value that a Python expression denotes; None where it is of another kind.
        symbols: the symbols that a value mentions, those of operands too.
        bind: a value with symbols replaced by sizes.
        tag: the key of the JSON object that holds a value; None where JSON has the type itself.
        write: a value as JSON, or as what stands under the tag.
        read: the value of what `write` made; ValueError for anything else.
    """

    type: type
    encode: Callable[[Any], bytes]
    text: Callable[[Any], str] = repr
    parse: Callable[[ast.expr], Any] = lambda node: None
    symbols: Callable[[Any], set[Leaf]] = lambda value: set()
    bind: Callable[[Any, Sizes], Any] = lambda value, sizes: value
    tag: str | None = None
    write: Callable[[Any, PayloadWriter], Json] = lambda value, writer: value
    read: Callable[[Json, PayloadReader], Any] = lambda held, reader: held


def kind_of(value: object) -> Kind:
    """The kind of a payload value.

    Raises:
        TypeError: a payload cannot hold it.
    """
    kind = _OF_TYPE.get(type(value))
    if kind is None:
        kind = next((each for each in KINDS if isinstance(value, each.type)), None)
    if kind is None:
        raise TypeError(f"payload: a {type(value).__name__} cannot be part of an op's identity")
    return kind


def kind_of_tag(tag: str) -> Kind | None:
    """The kind whose JSON objects have this key."""
    return _OF_TAG.get(tag)


def encode(value: object) -> bytes:
    """The canonical bytes of a payload value.

    Raises:
        TypeError: the value is of a type that a payload cannot hold.

    >>> encode(1) == encode(True), encode(0.0) == encode(-0.0)
    (False, False)
    >>> encode(float("nan")) == encode(float("nan"))
    True
    """
    return kind_of(value).encode(value)


def payload_text(value: object) -> str:
    """A payload value as `parse_payload` reads it back.

    >>> import numpy as np
    >>> payload_text((1, -0.0, np.dtype("f8")))
    '(1, -0.0, f64)'
    """
    plain = value.item() if isinstance(value, np.generic) else value
    return kind_of(plain).text(plain)


def parse_payload(node: ast.expr) -> Any:
    """The payload value that a Python expression denotes; lists stand for arrays.

    Raises:
        ValueError: it denotes none.

    >>> parse_payload(ast.parse("(1, -0.0, f64)", mode="eval").body)
    (1, -0.0, dtype('float64'))
    """
    if isinstance(node, ast.Constant) and type(node.value) in _OF_TYPE:
        return node.value
    for kind in KINDS:
        value = kind.parse(node)
        if value is not None:
            return value
    raise ValueError("not a payload value")


def symbols_of(value: object) -> set[Leaf]:
    """The symbols that a payload value mentions."""
    return kind_of(value).symbols(value)


def bind_payload(value: object, sizes: Sizes) -> Any:
    """A payload value with symbols replaced by sizes."""
    return kind_of(value).bind(value, sizes)


def _sized(tag: bytes, data: bytes) -> bytes:
    return tag + b"%d:" % len(data) + data


def _encode_tuple(items: tuple[object, ...]) -> bytes:
    if {*map(type, items)} == {int}:  # sizes and axes, most of all payloads
        return b"(%s)" % (b"i%d;" * len(items) % items)
    return b"(" + b"".join([encode(item) for item in items]) + b")"


def _encode_array(array: Array) -> bytes:
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return b"a" + encode(array.dtype) + encode(array.shape) + _sized(b"", little.tobytes())


def _tuple_text(items: tuple[object, ...]) -> str:
    inner = ", ".join(payload_text(item) for item in items)
    return f"({inner},)" if len(items) == 1 else f"({inner})"


def _array_text(array: Array) -> str:
    if array.ndim == 0:
        return payload_text(array.item())
    return f"[{', '.join(payload_text(row) for row in array)}]"


def _parse_negative(node: ast.expr) -> Any:
    """A number with a minus: `repr` writes a real part of +0 as none."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() | ast.Name() as operand):
            value = parse_payload(operand)
            return complex(0.0, -value.imag) if isinstance(value, complex) else -value
        case _:
            return None


def _parse_name(node: ast.expr) -> Any:
    return _NAMES.get(node.id) if isinstance(node, ast.Name) else None


def _parse_complex(node: ast.expr) -> complex | None:
    """A sum of a real and an imaginary part, as `repr` writes it: `-0` is a float there."""
    match node:
        case ast.BinOp(left=left, op=(ast.Add() | ast.Sub()) as sign, right=right):
            imaginary = _parse_name(right) or getattr(right, "value", None)
            if not isinstance(imaginary, complex):
                return None
            negated = isinstance(left, ast.UnaryOp)
            real = float(parse_payload(left.operand if isinstance(left, ast.UnaryOp) else left))
            minus = isinstance(sign, ast.Sub)
            return complex(-real if negated else real, -imaginary.imag if minus else imaginary.imag)
        case _:
            return None


def _parse_tuple(node: ast.expr) -> tuple[Any, ...] | None:
    return tuple(map(parse_payload, node.elts)) if isinstance(node, ast.Tuple) else None


def _parse_array(node: ast.expr) -> list[Any] | None:
    return list(map(parse_payload, node.elts)) if isinstance(node, ast.List) else None


def _parse_dtype(node: ast.expr) -> DType | None:
    return dtype_of_short_name(node.id) if isinstance(node, ast.Name) else None


def _bounded(value: int) -> int:
    if not -MAX_INTEGER - 1 <= value <= MAX_INTEGER:
        raise ValueError("an integer of a payload does not fit 64 bits")
    return int(value)


def _text(held: Json, tag: str) -> str:
    """What stands under the tag of a JSON object, which must be a text."""
    if not isinstance(held, str):
        raise ValueError(f"a {tag} of a payload must be a text")
    return held


def _bits(held: Json, tag: str, length: int | None = None) -> bytes:
    digits = _text(held, tag)
    if not _HEX.fullmatch(digits) or length not in (None, len(digits) // 2):
        raise ValueError("a payload holds bits that are not written as digits of base 16")
    return bytes.fromhex(digits)


def _read_size(held: Json, reader: PayloadReader) -> DimExpr:
    size = reader.size(_text(held, "size"))
    if not isinstance(size, DimExpr):
        raise ValueError(f"the size {held} of a payload must be written as an integer")
    return size


def _read_dtype(held: Json, reader: PayloadReader) -> DType:
    name = _text(held, "dtype")
    dtype = dtype_of_short_name(name)
    if dtype is None:
        raise ValueError(f"{reprlib.repr(name)} is not an element type")
    return dtype


_NAMES: dict[str, float | complex] = {
    "nan": float("nan"),
    "inf": float("inf"),
    "nanj": complex(0, float("nan")),
    "infj": complex(0, float("inf")),
}

KINDS: tuple[Kind, ...] = (
    Kind(type=NoneType, encode=lambda value: b"N"),
    Kind(type=bool, encode=lambda value: b"T" if value else b"F", write=lambda v, _: bool(v)),
    Kind(  # after bool, which is a subclass of int
        type=int,
        encode=lambda value: b"i%d;" % value,
        parse=_parse_negative,
        write=lambda value, _: _bounded(value),
        read=lambda held, _: _bounded(held),
    ),
    Kind(
        type=float,
        encode=lambda value: b"f" + struct.pack("<d", value),
        parse=_parse_name,
        tag="float",
        write=lambda value, _: struct.pack(">d", value).hex(),
        read=lambda held, _: float(struct.unpack(">d", _bits(held, "float", 8))[0]),
    ),
    Kind(
        type=complex,
        encode=lambda value: b"c" + struct.pack("<dd", value.real, value.imag),
        parse=_parse_complex,
        tag="complex",
        write=lambda value, _: struct.pack(">dd", value.real, value.imag).hex(),
        read=lambda held, _: complex(*struct.unpack(">dd", _bits(held, "complex", 16))),
    ),
    Kind(
        type=str,
        encode=lambda value: _sized(b"s", value.encode()),
        write=lambda value, _: str(value),
    ),
    Kind(
        type=bytes,
        encode=lambda value: _sized(b"b", value),
        tag="bytes",
        write=lambda value, _: value.hex(),
        read=lambda held, _: _bits(held, "bytes"),
    ),
    Kind(
        type=tuple,
        encode=_encode_tuple,
        text=_tuple_text,
        parse=_parse_tuple,
        symbols=lambda items: {leaf for item in items for leaf in symbols_of(item)},
        bind=lambda items, sizes: tuple([bind_payload(item, sizes) for item in items]),
    ),
    Kind(
        type=np.dtype,
        encode=lambda value: _sized(b"t", short_name(value).encode()),
        text=short_name,
        parse=_parse_dtype,
        tag="dtype",
        write=lambda value, _: short_name(value),
        read=_read_dtype,
    ),
    Kind(
        type=np.ndarray,
        encode=_encode_array,
        text=_array_text,
        parse=_parse_array,
        tag="array",
        write=lambda value, writer: writer.add(value),
        read=lambda held, reader: reader.array(held),
    ),
    Kind(  # its text is a block below the line of its op; see `exec_ir.text`
        type=Body,
        encode=lambda value: _sized(b"p", value.digest.encode()),
        symbols=lambda value: value.mentioned(),
        bind=lambda value, sizes: value.bind(sizes),
        tag="program",
        write=lambda value, writer: writer.add_body(value),
        read=lambda held, reader: reader.body(held),
    ),
    Kind(
        type=DimExpr,
        encode=lambda value: _sized(b"d", value.text.encode()),
        text=str,
        parse=dim_of_ast,  # last: it takes every name for that of a size
        symbols=leaves,
        bind=bind,
        tag="size",
        write=lambda value, writer: writer.size_text(value),
        read=_read_size,
    ),
)
_OF_TYPE: dict[type, Kind] = {kind.type: kind for kind in KINDS}
_OF_TAG: dict[str, Kind] = {kind.tag: kind for kind in KINDS if kind.tag is not None}
