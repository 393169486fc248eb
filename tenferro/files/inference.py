"""Compare the types that ops infer with the written types, and bound the length of sizes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from tenferro.errors import FileError, InvalidConfigError
from tenferro.family import Extension
from tenferro.files.container import Json
from tenferro.files.schema import items, text
from tenferro.files.types import parse_type, type_text
from tenferro.ops import StdTensorOp
from tenferro.shape import DimExpr, Exact, TensorMeta, UpperBound

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
    """Compare the written types of an op's outputs with the inferred ones.

    Raises:
        FileError: they differ.
        InvalidConfigError: they differ, for an extension op.
    """
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
            f"file: {where}: the product of its sizes has {terms} terms, more than {_MAX_PRODUCT}; "
            "give its sizes simpler names"
        )
