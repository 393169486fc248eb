"""Types and sizes as text, in the notation of programs, compared with what ops infer.

The reader accepts only the output of the writer: sums of products of integers, names and calls, in
normal form. This bounds the work by the length of the text. The general notation has no such bound,
because products of sums are expanded.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from tenferro.errors import FileError, InvalidConfigError, counted
from tenferro.ir import (
    Dim,
    DimExpr,
    Exact,
    InputDim,
    ShapeExtent,
    SymDim,
    TensorMeta,
    Unknown,
    UpperBound,
    dtype_of_short_name,
    floordiv,
    maximum,
    minimum,
    product,
    symbol,
)
from tenferro.ops import StdTensorOp
from tenferro.ops.extension import Extension
from tenferro.serialization.container import Json
from tenferro.serialization.schema import MAX_INTEGER, items, reading, text

MAX_TEXT: Final = 4096
"""Maximum number of characters of the text of one type."""

MAX_SIZE: Final = 1024
"""Maximum number of characters of the text of one size."""

_MAX_DEPTH: Final = 32
_MAX_RANK: Final = 64
_TOKEN = re.compile(r"\d+|[^\W\d]\w*|[-+*(),]")
_CALLS: dict[str, Callable[[Dim, Dim], Dim]] = {
    "floordiv": floordiv,
    "max": maximum,
    "min": minimum,
}
_MAX_ARGS: dict[str, int] = {"dim": 2, "floordiv": 2, "max": 16, "min": 16}


def type_text(meta: TensorMeta) -> str:
    """The text of a type.

    >>> type_text(TensorMeta.of("f64", ("n", 3)))
    'f64[n,3]'
    """
    for extent in meta.extents:
        if isinstance(extent, Exact | UpperBound):
            size_text(extent.dim)
    return _bounded(str(meta), MAX_TEXT, "type")


def size_text(size: Dim) -> str:
    """The text of a size; symbols that are valid in this process alone have none."""
    text = _bounded(str(size), MAX_SIZE, "size")
    if "(" in text:  # sums of products of names can always be read again
        parse_size(text)
    return text


def parse_type(text: str) -> TensorMeta:
    """Parse the text of a type.

    >>> print(parse_type("f64[2*n + 1,<=m,?]"))
    f64[2*n + 1,<=m,?]
    """
    _bounded(text, MAX_TEXT, "type")
    name, bracket, rest = text.partition("[")
    dtype = dtype_of_short_name(name)
    if dtype is None or not bracket or not rest.endswith("]"):
        raise FileError(f"file: {text!r} is not a type")
    parts = _split(rest[:-1])
    if len(parts) > _MAX_RANK:
        raise FileError(
            f"file: a type has {counted(len(parts), 'axis', 'axes')}, more than {_MAX_RANK}"
        )
    meta = TensorMeta(dtype, [_extent(part) for part in parts])
    if meta.dims is None:
        return meta
    with reading(f"{text!r} is not a type"):
        return TensorMeta.of(dtype, meta.dims)  # raises for sizes that no array has


def parse_size(text: str) -> Dim:
    """Parse the text of a size.

    >>> print(parse_size("2*n + 1"))
    2*n + 1
    """
    return _SizeParser(_bounded(text, MAX_SIZE, "size")).whole()


def _extent(text: str) -> ShapeExtent:
    if text == "?":
        return Unknown()
    if text.startswith("<="):
        return UpperBound(parse_size(text[2:]))
    return Exact(parse_size(text))


def _split(text: str) -> list[str]:
    """The parts between commas, except commas inside the parentheses of a call."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        if character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
        if character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]] if text else []


def _bounded(text: str, limit: int, kind: str) -> str:
    if len(text) > limit:
        raise FileError(
            f"file: a {kind} takes {counted(len(text), 'character')}, more than {limit}; give its "
            "sizes simpler names"
        )
    return text


class _SizeParser:
    """Parses the text of one size."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _TOKEN.findall(text)
        self._at = 0

    def whole(self) -> Dim:
        """The size; raises FileError unless the whole text is its normal form."""
        with reading(f"{self._text!r} is not a size"):
            size = self._sum(0)
        if self._at != len(self._tokens) or str(size) != self._text:
            raise self._wrong()
        return size

    def _sum(self, depth: int) -> Dim:
        negative = self._accept("-")
        terms = [self._term(depth, negative)]
        while (sign := self._peek()) in ("+", "-"):
            self._at += 1
            terms.append(self._term(depth, sign == "-"))
        while len(terms) > 1:  # add by halves: every addition sorts all terms
            terms = [sum(terms[i : i + 2]) for i in range(0, len(terms), 2)]
        return terms[0]

    def _term(self, depth: int, negative: bool) -> Dim:
        factors: list[Dim] = [-1] if negative else []
        factors.append(self._factor(depth))
        while self._accept("*"):
            factors.append(self._factor(depth))
        return product(factors)

    def _factor(self, depth: int) -> Dim:
        token = self._take()
        if token.isascii() and token.isdigit():
            return self._integer(token)
        if not self._accept("("):
            return symbol(SymDim(token))
        if depth > _MAX_DEPTH or token not in _MAX_ARGS:
            raise self._wrong()
        start = self._at
        args = [self._sum(depth + 1)]
        while self._accept(","):
            args.append(self._sum(depth + 1))
        if not self._accept(")") or not 2 <= len(args) <= _MAX_ARGS[token]:
            raise self._wrong()
        if token == "dim":
            operand, axis = args
            if not isinstance(operand, int) or not isinstance(axis, int):
                raise self._wrong()
            return symbol(InputDim(operand, axis))
        size = functools.reduce(_CALLS[token], args)
        # A call that simplifies was not in normal form. It might become a sum, to be expanded.
        if str(size).replace(" ", "") != "".join([token, "(", *self._tokens[start : self._at]]):
            raise self._wrong()
        return size

    def _integer(self, token: str) -> int:
        if len(token) > len(str(MAX_INTEGER)) or int(token) > MAX_INTEGER:
            raise FileError("file: an integer in a size does not fit 64 bits")
        return int(token)

    def _peek(self) -> str | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _take(self) -> str:
        token = self._peek()
        if token is None:
            raise self._wrong()
        self._at += 1
        return token

    def _accept(self, token: str) -> bool:
        is_next = self._peek() == token
        if is_next:
            self._at += 1
        return is_next

    def _wrong(self) -> FileError:
        return FileError(f"file: {self._text!r} is not a size in normal form")


# Compare the types that ops infer with the written types, and bound the length of sizes.

_MAX_PRODUCT: Final = 1024
"""Maximum number of terms of an array's number of elements, expanded as a polynomial."""


def read_types(value: Json, where: str) -> tuple[str, ...]:
    """A JSON list of types, as text."""
    written = items(value, f"the types of {where}")
    return tuple([text(entry, f"a type of {where}") for entry in written])


def parse_meta(value: Json, where: str) -> TensorMeta:
    """The type of its text in a file."""
    return check_meta(parse_type(text(value, f"the type of {where}")), where)


def write_meta(meta: TensorMeta, where: str) -> str:
    """The text of a type; checks that it can be read again."""
    return type_text(check_meta(meta, where))


def check_types(
    op: StdTensorOp, written: Sequence[str], inferred: Sequence[TensorMeta], where: str
) -> None:
    """Raise unless the written types of an op's outputs are the inferred ones."""
    texts = [write_meta(meta, where) for meta in inferred]
    if tuple(texts) == tuple(written):
        return
    problem = f"the file says {', '.join(written)}, but the op infers {', '.join(texts)}"
    if isinstance(op, Extension):
        raise InvalidConfigError(op.family_id, f"family_id={op.family_id}: {where}: {problem}")
    raise FileError(f"file: {where}: {op.name}: {problem}")


def check_payload(op: StdTensorOp, where: str) -> None:
    """Raise FileError if the product of the sizes in a payload has too many terms."""
    for name in op.payload_fields():
        value = getattr(op, name)
        if isinstance(value, tuple):
            _check_product(value, where)


def check_meta(meta: TensorMeta, where: str) -> TensorMeta:
    """The type; raises FileError if its number of elements has too many terms."""
    bounds = [extent.dim for extent in meta.extents if isinstance(extent, Exact | UpperBound)]
    _check_product(bounds, where)
    return meta


def _check_product(sizes: Iterable[object], where: str) -> None:
    terms = math.prod([len(size.terms) for size in sizes if isinstance(size, DimExpr)])
    if terms > _MAX_PRODUCT:
        raise FileError(
            f"file: {where}: the product of its sizes has {counted(terms, 'term')}, more than "
            f"{_MAX_PRODUCT}; give its sizes simpler names"
        )
