"""Ops as JSON: name in the IR and fields of the payload; for an extension, family id and payload.
Ops are read only by classes of the vocabulary, and by the codecs and packages that were passed to
the reader. Names in a file are not looked up anywhere else.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tenferro.errors import FileError
from tenferro.exec_ir import ExecOp
from tenferro.family import Extension
from tenferro.files.codecs import Families
from tenferro.files.container import Json
from tenferro.files.hints import as_declared
from tenferro.files.missing import MissingExtension
from tenferro.files.schema import items, reading, record, short, text
from tenferro.files.values import BlobReader, BlobWriter, from_json, to_json
from tenferro.ops import StdTensorOp

_EXTENSION_KEYS = frozenset({"family", "values"})


@dataclass(frozen=True, slots=True)
class OpReader:
    """The arrays, bodies and families with which ops are read.

    Attributes:
        blobs: the arrays and bodies of the file.
        families: the registered families of extension ops.
        skip_missing: whether ops of unregistered families are read as placeholders.
    """

    blobs: BlobReader
    families: Families = field(default_factory=Families)
    skip_missing: bool = False


def write_op(op: ExecOp, blobs: BlobWriter) -> tuple[str, Json]:
    """Name and payload of an op.

    The programs inside the op must have been written; see `bodies.write_bodies`.

    Raises:
        FileError: the op is not of the vocabulary.
        InvalidConfigError: an extension op of a known family cannot be read again.
    """
    if op.family is not None:
        return _extension(op.family, op.family_payload(), blobs)
    fields = {name: to_json(getattr(op, name), blobs) for name in op.stored_fields()}
    if blobs.vocabulary.get(op.name) is not type(op):
        raise FileError(
            f"file: {op.name} is not a standard op; pass a package that has {type(op).__name__} "
            "among its primitives, packages=(...)"
        )
    return op.name, fields


def read_op(
    name: Json, payload: Json, operands: int, types: tuple[str, ...], reader: OpReader, where: str
) -> StdTensorOp:
    """The op with this name and payload, this number of operands, and results of these types.

    Raises:
        FileError: there is no op with this name, or its payload is malformed.
        MalformedFamilyIdError: the family id is not one.
        UnsupportedExtensionError: the family is not registered, and `skip_missing` is not set.
        InvalidConfigError: the family has no op with that payload.
    """
    if name == Extension.name:
        return _read_extension(payload, operands, types, reader, where)
    cls = reader.families.vocabulary.get(text(name, f"the op of {where}"))
    if cls is None:
        raise FileError(
            f"file: {where}: there is no op {short(name)}; if a package has it, pass the package, "
            "packages=(...)"
        )
    if not isinstance(payload, dict):
        raise FileError(f"file: the payload of {where} must be an object")
    values = [(key, from_json(value, reader.blobs)) for key, value in payload.items()]
    with reading(f"{where}: {name}"):
        return cls(**as_declared(cls, values))


def _extension(family_id: str, values: tuple[object, ...], blobs: BlobWriter) -> tuple[str, Json]:
    if blobs.check is not None:
        blobs.check(family_id, values)
    return Extension.name, {"family": family_id, "values": to_json(values, blobs)}


def _read_extension(
    payload: Json, operands: int, types: tuple[str, ...], reader: OpReader, where: str
) -> StdTensorOp:
    fields_ = record(payload, _EXTENSION_KEYS, f"the payload of {where}")
    family_id = text(fields_["family"], f"the family of {where}")
    registered = reader.families.knows(family_id)  # raises for malformed family ids
    written = items(fields_["values"], f"the payload of {where}")
    values = tuple([from_json(value, reader.blobs, 1) for value in written])
    if reader.skip_missing and not registered:
        return MissingExtension(family_id, values, operands, types)
    return Extension(reader.families.make(family_id, values))
