"""Payloads of ops: compare, print, parse, store, bind, in one table of kinds.

A kind defines how its values are compared (`encode`), how they are written in the text of programs
(`text`, `parse`) and in files (`write`, `read`), and which sizes they mention (`symbols`, `bind`).
Python's `==` does not tell payloads apart: `1 == True == 1.0`, `0.0 == -0.0`, `nan != nan`.
So a payload is encoded into bytes. Two payloads are equal if their bytes are, in every process and
version.
"""

from __future__ import annotations

import ast
import itertools
import re
import reprlib
import secrets
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any, NoReturn, Protocol, Self

import numpy as np

from tenferro.errors import FileError, class_of
from tenferro.ir.dims import Dim, DimExpr, Leaf, bind, dim_of_ast, leaves
from tenferro.ir.dtypes import DType, as_dtype, dtype_of_short_name, short_name

__all__ = [
    "MAX_INTEGER",
    "Body",
    "Handle",
    "Json",
    "NumpyArray",
    "PayloadReader",
    "PayloadWriter",
    "Sizes",
    "bind_payload",
    "encode",
    "fresh_token",
    "kind_of",
    "kind_of_tag",
    "payload_text",
]


# Handles: Python objects that are parts of ops.

Sizes = Mapping[Leaf, Dim]

_numbers = itertools.count()
_PROCESS = secrets.token_bytes(8)


def fresh_token() -> bytes:
    """Bytes that no other object has, in this process or in another."""
    return _PROCESS + b"%d" % next(_numbers)


def has_token(identity: bytes) -> bool:
    """Whether the identity of an op has a token of this process.

    >>> has_token(b"op" + fresh_token()), has_token(b"op")
    (True, False)
    """
    return _PROCESS in identity


class Handle(ABC):
    """A Python object as a part of an op, such as a derivative rule that a user wrote.

    An op that holds one has a meaning in this process only, and files do not hold it.
    """

    @property
    @abstractmethod
    def token(self) -> bytes:
        """Bytes that no other object has, in this process or in another."""

    def bind(self, sizes: Sizes) -> Self:
        """The object with symbols replaced by sizes, if it has some."""
        return self

    @abstractmethod
    def __str__(self) -> str:
        """What it is called in errors and in the text of programs: `custom_jvp f`."""

    def refuse_file(self) -> NoReturn:
        """Raise FileError: files do not hold functions."""
        raise FileError(
            f"file: {self} is a Python function, which files do not hold; save a compiled program, "
            "from which derivative rules are gone"
        )


# The kinds of value that a payload may hold: one table for all that is done with them.

NumpyArray = np.ndarray[Any, np.dtype[Any]]
Json = Any
"""What the module `json` reads and writes."""

MAX_INTEGER = 2**63 - 1
_HEX = re.compile(r"(?:[0-9a-f]{2})*", re.ASCII)


class Body(ABC):
    """A program inside an op. `ExecProgram` is its only subclass in tenferro."""

    __slots__ = ()

    @property
    @abstractmethod
    def digest(self) -> str:
        """A text that identifies the program, in every process and version."""

    @property
    @abstractmethod
    def classes(self) -> bytes:
        """Tokens of the classes of its extension ops, in order; see `Payload.classes`."""

    @abstractmethod
    def mentioned(self) -> set[Leaf]:
        """The symbols that its inputs and its ops mention."""

    @abstractmethod
    def bind(self, sizes: Sizes) -> Self:
        """The program with symbols replaced by sizes."""


class PayloadWriter(Protocol):
    """The part of a file that holds what JSON cannot."""

    def add(self, array: NumpyArray) -> int:
        """Store an array; returns its number."""

    def add_body(self, body: Any) -> int:
        """Store a program; returns its number."""

    def size_text(self, size: Dim) -> str:
        """A size as text that `PayloadReader.size` reads."""


class PayloadReader(Protocol):
    """Reads what `PayloadWriter` stored."""

    def array(self, number: Json) -> NumpyArray:
        """The array of a number."""

    def body(self, number: Json) -> Any:
        """The program of a number."""

    def size(self, text: str) -> Dim:
        """The size of a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadKind:
    """How the payload values of one type are compared, printed, parsed, bound and stored.

    Attributes:
        type: the type.
        encode: canonical bytes of a value.
        text: a value as it is written in the text of a program.
        parse: the value that a Python expression denotes; None where it is of another kind.
        symbols: the symbols that a value mentions, those of operands too.
        bind: a value with symbols replaced by sizes.
        tag: the key of the JSON object that holds a value; None where JSON has the type itself.
        write: a value as JSON, without the tag.
        read: the value that `write` has written; raises ValueError for anything else.
    """

    type: type
    encode: Callable[[Any], bytes]
    text: Callable[[Any], str] = repr
    parse: Callable[[ast.expr], Any] = lambda node: None
    symbols: Callable[[Any], set[Leaf]] = lambda value: set()
    bind: Callable[[Any, Sizes], Any] = lambda value, sizes: value
    tag: str | None = None
    write: Callable[[Any, PayloadWriter], Json] = lambda value, writer: value
    read: Callable[[Json, PayloadReader], Any] = lambda stored, reader: stored


def kind_of(value: object) -> PayloadKind:
    """The kind of a payload value.

    Raises:
        TypeError: a payload cannot hold it.
    """
    kind = _OF_TYPE.get(type(value))
    if kind is None:
        kind = next((known for known in KINDS if isinstance(value, known.type)), None)
    if kind is None:
        raise TypeError(f"payload: {class_of(value)} cannot be part of an op's identity")
    return kind


def kind_of_tag(tag: str) -> PayloadKind | None:
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
        ValueError: it does not denote a payload value.

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
    if {*map(type, items)} == {int}:  # sizes and axes, the most frequent payloads
        return b"(%s)" % (b"i%d;" * len(items) % items)
    return b"(" + b"".join([encode(item) for item in items]) + b")"


def _encode_array(array: NumpyArray) -> bytes:
    little = array.astype(as_dtype(array.dtype).newbyteorder("<"), copy=False)
    return b"a" + encode(array.dtype) + encode(array.shape) + _sized(b"", little.tobytes())


def _tuple_text(items: tuple[object, ...]) -> str:
    inner = ", ".join(payload_text(item) for item in items)
    return f"({inner},)" if len(items) == 1 else f"({inner})"


def _array_text(array: NumpyArray) -> str:
    if array.ndim == 0:
        return payload_text(array.item())
    return f"[{', '.join(payload_text(row) for row in array)}]"


def _parse_negative(node: ast.expr) -> Any:
    """A number with a minus; `repr` leaves out a real part of +0."""
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


def _text(stored: Json, tag: str) -> str:
    """The value under the tag of a JSON object, which must be a text."""
    if not isinstance(stored, str):
        raise ValueError(f"a {tag} of a payload must be a text")
    return stored


def _bits(stored: Json, tag: str, length: int | None = None) -> bytes:
    digits = _text(stored, tag)
    if not _HEX.fullmatch(digits) or length not in (None, len(digits) // 2):
        raise ValueError("a payload holds bits that are not written as digits of base 16")
    return bytes.fromhex(digits)


def _read_size(stored: Json, reader: PayloadReader) -> DimExpr:
    size = reader.size(_text(stored, "size"))
    if not isinstance(size, DimExpr):
        raise ValueError(f"the size {stored} of a payload must be written as an integer")
    return size


def _read_dtype(stored: Json, reader: PayloadReader) -> DType:
    name = _text(stored, "dtype")
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

KINDS: tuple[PayloadKind, ...] = (
    PayloadKind(type=NoneType, encode=lambda value: b"N"),
    PayloadKind(
        type=bool, encode=lambda value: b"T" if value else b"F", write=lambda v, _: bool(v)
    ),
    PayloadKind(  # after bool, which is a subclass of int
        type=int,
        encode=lambda value: b"i%d;" % value,
        parse=_parse_negative,
        write=lambda value, _: _bounded(value),
        read=lambda stored, _: _bounded(stored),
    ),
    PayloadKind(
        type=float,
        encode=lambda value: b"f" + struct.pack("<d", value),
        parse=_parse_name,
        tag="float",
        write=lambda value, _: struct.pack(">d", value).hex(),
        read=lambda stored, _: float(struct.unpack(">d", _bits(stored, "float", 8))[0]),
    ),
    PayloadKind(
        type=complex,
        encode=lambda value: b"c" + struct.pack("<dd", value.real, value.imag),
        parse=_parse_complex,
        tag="complex",
        write=lambda value, _: struct.pack(">dd", value.real, value.imag).hex(),
        read=lambda stored, _: complex(*struct.unpack(">dd", _bits(stored, "complex", 16))),
    ),
    PayloadKind(
        type=str,
        encode=lambda value: _sized(b"s", value.encode()),
        write=lambda value, _: str(value),
    ),
    PayloadKind(
        type=bytes,
        encode=lambda value: _sized(b"b", value),
        tag="bytes",
        write=lambda value, _: value.hex(),
        read=lambda stored, _: _bits(stored, "bytes"),
    ),
    PayloadKind(
        type=tuple,
        encode=_encode_tuple,
        text=_tuple_text,
        parse=_parse_tuple,
        symbols=lambda items: {leaf for item in items for leaf in symbols_of(item)},
        bind=lambda items, sizes: tuple([bind_payload(item, sizes) for item in items]),
    ),
    PayloadKind(
        type=np.dtype,
        encode=lambda value: _sized(b"t", short_name(value).encode()),
        text=short_name,
        parse=_parse_dtype,
        tag="dtype",
        write=lambda value, _: short_name(value),
        read=_read_dtype,
    ),
    PayloadKind(
        type=np.ndarray,
        encode=_encode_array,
        text=_array_text,
        parse=_parse_array,
        tag="array",
        write=lambda value, writer: writer.add(value),
        read=lambda stored, reader: reader.array(stored),
    ),
    PayloadKind(  # its text is a block below the line of its op; see `ir.parser`
        type=Body,
        encode=lambda value: _sized(b"p", value.digest.encode()),
        symbols=lambda value: value.mentioned(),
        bind=lambda value, sizes: value.bind(sizes),
        tag="program",
        write=lambda value, writer: writer.add_body(value),
        read=lambda stored, reader: reader.body(stored),
    ),
    PayloadKind(
        type=Handle,
        encode=lambda value: _sized(b"h", value.token),
        text=str,
        bind=lambda value, sizes: value.bind(sizes),
        write=lambda value, _: value.refuse_file(),
    ),
    PayloadKind(
        type=DimExpr,
        encode=lambda value: _sized(b"d", value.text.encode()),
        text=str,
        parse=dim_of_ast,  # last, since it parses every name as the name of a size
        symbols=leaves,
        bind=bind,
        tag="size",
        write=lambda value, writer: writer.size_text(value),
        read=_read_size,
    ),
)
_OF_TYPE: dict[type, PayloadKind] = {kind.type: kind for kind in KINDS}
_OF_TAG: dict[str, PayloadKind] = {kind.tag: kind for kind in KINDS if kind.tag is not None}
