"""Ops, the programs in them, and codecs of extension ops.

Ops are read only by classes of the vocabulary, and by the codecs and packages that were passed to
the reader. Names in a file are not looked up anywhere else.

Each body is in the table once, even if several ops contain it, and after the bodies inside it. Ops
refer to it by its number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from types import MappingProxyType
from typing import Any, Final

from tenferro.errors import (
    ExtensionRegistryError,
    FileError,
    InvalidConfigError,
    UnsupportedExtensionError,
)
from tenferro.ir import ExecBuilder, ExecOp, ExecProgram, encode, with_last_use
from tenferro.ops import StdTensorOp
from tenferro.ops.extension import Extension, ExtensionOp, Package, parse_family_id, vocabulary_of
from tenferro.runtime import added_packages, builtin_package, builtin_packages
from tenferro.serialization.container import Json
from tenferro.serialization.missing_extension import MissingExtension, written_digest
from tenferro.serialization.schema import as_declared, items, numbers, reading, record, short, text
from tenferro.serialization.types import (
    check_payload,
    check_types,
    parse_meta,
    read_types,
    write_meta,
)
from tenferro.serialization.values import BlobReader, BlobWriter, from_json, to_json

__all__ = ["Families", "PayloadCodecs", "codecs_of"]


# PayloadCodecs: from the payload in a file to an extension op.

Decode = Callable[[tuple[Any, ...]], ExtensionOp]
"""Makes the op whose `payload()` is the tuple."""


class PayloadCodecs:
    """The families of extension ops that a file may contain, with functions that make their ops.

    `load` takes them as `codecs=`. There is no global registry.

    >>> from dataclasses import dataclass
    >>> from tenferro.ops.extension import family_id
    >>> @family_id(namespace="my-package", name="twice", version=1)
    ... @dataclass(frozen=True)
    ... class Twice(ExtensionOp):
    ...     input_count = output_count = 1
    ...     def infer_output_meta(self, dtypes, shapes):
    ...         return [(dtypes[0], shapes[0])]
    ...     def eager_execute(self, inputs):
    ...         return [inputs[0] * 2]
    >>> PayloadCodecs().register(Twice)
    PayloadCodecs(my-package.twice.v1)
    """

    def __init__(self) -> None:
        self._decoders: dict[str, tuple[type[ExtensionOp], Decode]] = {}

    def register(self, op: type[ExtensionOp], decode: Decode | None = None) -> PayloadCodecs:
        """Add the family of `op`, and return these codecs.

        Without `decode`, the payload must be the fields of a dataclass. This is the case if the
        class does not define `payload()` itself.

        Raises:
            MalformedFamilyIdError: the class has no valid family id.
            ExtensionRegistryError: another class has the family, or `decode` is missing and the
                payload is not the fields of a dataclass.
        """
        family = getattr(op, "FAMILY_ID", "")
        parse_family_id(family)
        if decode is not None and not callable(decode):
            raise ExtensionRegistryError(
                family, f"{family}: decode= takes a function of the payload, got {decode!r}"
            )
        if decode is None:
            if not _is_payload(op):
                raise ExtensionRegistryError(
                    family,
                    f"{family}: {op.__name__} is not a dataclass whose fields are its payload; "
                    "register it with decode=",
                )
            decode = _of_fields(op)
        registered, _ = self._decoders.setdefault(family, (op, decode))
        if registered is not op:
            raise ExtensionRegistryError(
                family, f"{family}: already registered for {registered.__name__}"
            )
        return self

    def knows(self, family_id: str) -> bool:
        """Whether ops of the family can be made.

        Raises:
            MalformedFamilyIdError: that is not a family id.
        """
        parse_family_id(family_id)
        return family_id in self._decoders

    def make(self, family_id: str, values: tuple[Any, ...]) -> ExtensionOp:
        """The op of a family whose payload is `values`.

        Raises:
            MalformedFamilyIdError: that is not a family id.
            UnsupportedExtensionError: the family is not registered, or only another version of it.
            InvalidConfigError: the family has no op with that payload.
        """
        if not self.knows(family_id):
            raise _unknown(family_id, self)
        cls, decode = self._decoders[family_id]
        try:
            op = decode(values)
            is_same = op.family_id == family_id and op.payload_identity() == encode(values)
        except Exception as error:
            raise _malformed(
                family_id, f"{cls.__name__} cannot be made from it: {error}"
            ) from error
        if not is_same:
            raise _malformed(family_id, f"the {cls.__name__} made from it has another payload")
        return op

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._decoders))

    def __len__(self) -> int:
        return len(self._decoders)

    def __repr__(self) -> str:
        return f"PayloadCodecs({', '.join(self._decoders)})"


def codecs_of(packages: Iterable[Package]) -> PayloadCodecs:
    """The codecs of packages, without families that need a codec but have none."""
    codecs = PayloadCodecs()
    for package in packages:
        for op in package.ops:
            if op in package.codecs or _is_payload(op):
                codecs.register(op, package.codecs.get(op))
    return codecs


class Families:
    """The families and the ops that one file may contain.

    Families of `codecs` take precedence over those of the packages, which include tenferro's own.
    If the payload of a family is not the fields of a dataclass and its package has no codec for it,
    reading an op of the family raises an error that names both. `ops` are further classes of ops,
    by name, such as those that only passes write.

    Raises:
        ExtensionRegistryError: a package is given twice, or is not one.
    """

    def __init__(
        self,
        codecs: PayloadCodecs | None = None,
        packages: Sequence[Package] = (),
        ops: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self._codecs = PayloadCodecs() if codecs is None else codecs
        self._packages = added_packages(packages)
        self._packaged = codecs_of(self._packages)
        self.vocabulary: dict[str, type[StdTensorOp]] = {**vocabulary_of(self._packages), **ops}

    def knows(self, family_id: str) -> bool:
        """Whether ops of the family can be made."""
        return self._codecs_for(family_id) is not None

    def make(self, family_id: str, values: tuple[Any, ...]) -> ExtensionOp:
        """The op of a family whose payload is `values`; raises as `PayloadCodecs.make` does."""
        codecs = self._codecs_for(family_id)
        if codecs is not None:
            return codecs.make(family_id, values)
        own = codecs_of(builtin_packages())
        error = _unknown(family_id, [*self._codecs, *self._packaged, *own])
        owner = next((p for p in self._packages if family_id in p.families), None)
        error.add_note(
            "pass the package of the family to load or loads, packages=(...)"
            if owner is None
            else f"the package {owner.name!r} has no codec for it; the author of the package adds "
            "one, Package(codecs={...})"
        )
        raise error

    def _codecs_for(self, family_id: str) -> PayloadCodecs | None:
        """The codecs that have a family, among which are those of tenferro's packages it needs."""
        if self._codecs.knows(family_id):
            return self._codecs
        package = builtin_package(family_id)
        if package is not None and all(package is not each for each in self._packages):
            self._packages = (*self._packages, package)
            self._packaged = codecs_of(self._packages)
        return self._packaged if self._packaged.knows(family_id) else None

    def check(self, family_id: str, values: tuple[Any, ...]) -> None:
        """Raise if an op of a known family cannot be made from its payload."""
        if self.knows(family_id):
            self.make(family_id, values)


def _unknown(family_id: str, families: Iterable[str]) -> UnsupportedExtensionError:
    """The error for a family that is not registered, or only in other versions."""
    family = parse_family_id(family_id)
    versions = [
        candidate.version
        for candidate in map(parse_family_id, families)
        if (candidate.namespace, candidate.name) == (family.namespace, family.name)
    ]
    reason = (
        f"version mismatch, graph has v{family.version}, runtime has v{max(versions)}"
        if versions
        else "not registered"
    )
    return UnsupportedExtensionError(family_id, f"{family}: {reason}")


def _is_payload(cls: type[Any]) -> bool:
    """Whether the payload of a class's ops is the fields of a dataclass."""
    return cls.payload is ExtensionOp.payload and is_dataclass(cls)


def _of_fields(cls: type[ExtensionOp]) -> Decode:
    names = cls.payload_fields()

    def decode(values: tuple[Any, ...]) -> ExtensionOp:
        return cls(**as_declared(cls, zip(names, values, strict=True)))

    return decode


def _malformed(family_id: str, problem: str) -> InvalidConfigError:
    return InvalidConfigError(family_id, f"family_id={family_id}: malformed payload: {problem}")


# Ops as JSON: name in the IR and fields of the payload; for an extension, family id and payload.

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

    The programs inside the op must have been written; see `write_bodies`.
    """
    if op.family is not None:
        values = op.family_payload()
        if blobs.check is not None:
            blobs.check(op.family, values)
        return Extension.name, {"family": op.family, "values": to_json(values, blobs)}
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
    """The op with this name and payload, this number of operands, and results of these types."""
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


# Instructions as JSON, and the programs inside ops: the table of bodies.

MAX_NESTING: Final = 32
"""Maximum depth of bodies within bodies."""

_NODE_KEYS = frozenset({"op", "payload", "in", "types", "site"})
_BODY_KEYS = frozenset({"digest", "inputs", "nodes", "outputs"})


def write_nodes(program: ExecProgram, blobs: BlobWriter, sites: bool = True) -> list[Json]:
    """The instructions of a program. Bodies inside them are written to `blobs`.

    Unless `sites`, the source lines that recorded them are omitted.
    """
    write_bodies(program.ops(), blobs, sites)
    return _write_nodes(program, blobs, sites)


def write_bodies(ops: Iterable[ExecOp], blobs: BlobWriter, sites: bool = True) -> None:
    """Write the programs inside ops, at any depth, to `blobs`."""
    depths: dict[str, int] = {}
    for digest, body in _innermost_first(ops, blobs):
        inner = [depths.get(written_digest(inside), 0) for inside in _inside(body)]
        depths[digest] = _checked_nesting(1 + max(inner, default=0))
        written = {
            "digest": digest,
            "inputs": [write_meta(meta, "an input of a body") for meta in body.input_metas],
            "nodes": _write_nodes(body, blobs, sites),
            "outputs": list(body.output_slots),
        }
        blobs.keep_body(digest, written)


def read_bodies(table: Json, reader: OpReader) -> None:
    """Read the table of bodies into `reader`, which returns them by number."""
    bodies = reader.blobs.bodies
    depths: dict[str, int] = {}
    for position, entry in enumerate(items(table, "bodies")):
        body = _read_body(entry, reader, f"body {position}")
        inner = [depths.get(written_digest(inside), 0) for inside in _inside(body)]
        depths[written_digest(body)] = _checked_nesting(1 + max(inner, default=0))
        bodies.append(body)


def read_node(entry: Json, builder: ExecBuilder, reader: OpReader, where: str) -> None:
    """Append the instruction of an entry, its output types inferred."""
    fields = record(entry, _NODE_KEYS, where)
    metas = builder.metas
    operands = numbers(fields["in"], f"an operand of {where}", len(metas))
    types = read_types(fields["types"], where)
    site = None if fields["site"] is None else text(fields["site"], f"the site of {where}")
    op = read_op(fields["op"], fields["payload"], len(operands), types, reader, where)
    if isinstance(op, MissingExtension):
        written = tuple([parse_meta(type_text, where) for type_text in types])
        builder.add(op, operands, site, written)
        return
    check_payload(op, where)
    with reading(f"{where}: {op.name}"):
        results = builder.add(op, operands, site)
    check_types(op, types, [metas[slot] for slot in results], where)


def _read_body(entry: Json, reader: OpReader, where: str) -> ExecProgram:
    fields = record(entry, _BODY_KEYS, where)
    builder = ExecBuilder()
    for written in items(fields["inputs"], f"the inputs of {where}"):
        builder.input(parse_meta(written, where))
    for position, node in enumerate(items(fields["nodes"], f"the nodes of {where}")):
        read_node(node, builder, reader, f"{where}: node {position}")
    outputs = numbers(fields["outputs"], f"an output of {where}", len(builder.metas))
    body = with_last_use(builder.build(outputs))
    if written_digest(body) != fields["digest"]:
        raise FileError(f"file: the digest written for {where} is not the digest of the program")
    return body


def _innermost_first(ops: Iterable[ExecOp], blobs: BlobWriter) -> Iterator[tuple[str, ExecProgram]]:
    """The bodies that are not yet written, each with its digest and after the bodies inside it.

    The caller writes each of them before it takes the next one.
    """
    stack = [(body, False) for op in ops for body in _bodies_of(op)]
    stack.reverse()
    while stack:
        body, are_inner_written = stack.pop()
        digest = written_digest(body)
        if blobs.has_body(digest):
            continue
        if are_inner_written:
            yield digest, body
        else:
            stack.append((body, True))
            stack.extend((inner, False) for inner in reversed(_inside(body)))


def _inside(program: ExecProgram) -> list[ExecProgram]:
    """The programs inside the ops of a program, in order."""
    return [body for op in program.ops() for body in _bodies_of(op)]


def _bodies_of(op: ExecOp) -> list[ExecProgram]:
    """The programs in the payload of an op, in order, including those inside tuples."""
    if op.family is None and not op.body_fields:
        return []
    values = list(op.bodies.values()) if op.family is None else list(op.family_payload())
    bodies: list[ExecProgram] = []
    while values:
        value = values.pop(0)
        if isinstance(value, ExecProgram):
            bodies.append(value)
        elif isinstance(value, tuple):
            values[:0] = value
    return bodies


def _checked_nesting(depth: int) -> int:
    if depth > MAX_NESTING:
        raise FileError(f"file: programs inside ops are nested more than {MAX_NESTING} deep")
    return depth


def _write_nodes(program: ExecProgram, blobs: BlobWriter, sites: bool) -> list[Json]:
    if program.written_slots() != list(range(program.n_slots)):
        raise FileError(
            "file: the slots of the program are not numbered in order; renumber it, as the "
            "compiler does"
        )
    nodes: list[Json] = []
    for step in program.instructions:
        name, payload = write_op(step.op, blobs)
        nodes.append(
            {
                "op": name,
                "payload": payload,
                "in": list(step.input_slots),
                "types": [write_meta(meta, step.op.name) for meta in step.output_metas],
                "site": step.site if sites else None,
            }
        )
    return nodes
