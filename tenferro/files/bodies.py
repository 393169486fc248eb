"""Instructions as JSON, and the programs inside ops: the table of bodies.

Each body is in the table once, even if several ops contain it, and after the bodies inside it. Ops
refer to it by its number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tenferro.errors import FileError
from tenferro.exec_ir import ExecBuilder, ExecInstruction, ExecOp, ExecProgram, with_last_use
from tenferro.files.container import Json
from tenferro.files.inference import (
    check_payload,
    check_types,
    parse_meta,
    read_types,
    write_meta,
)
from tenferro.files.missing import MissingExtension
from tenferro.files.nodes import OpReader, read_op, write_op
from tenferro.files.schema import items, numbers, reading, record, text
from tenferro.files.values import BlobWriter
from tenferro.files.written import written_digest

MAX_NESTING: Final = 32
"""Maximum depth of bodies within bodies."""

_NODE_KEYS = frozenset({"op", "payload", "in", "types", "site"})
_BODY_KEYS = frozenset({"digest", "inputs", "nodes", "outputs"})


def write_nodes(program: ExecProgram, blobs: BlobWriter, sites: bool = True) -> list[Json]:
    """The instructions of a program. Bodies inside them are written to `blobs`.

    Unless `sites`, the source lines that recorded them are omitted.

    Raises:
        FileError: the program contains a value that a file cannot hold.
    """
    _check_numbering(program)
    write_bodies(program.ops(), blobs, sites)
    return _write_nodes(program, blobs, sites)


def write_bodies(ops: Iterable[ExecOp], blobs: BlobWriter, sites: bool = True) -> None:
    """Write the programs inside ops, at any depth, to `blobs`.

    Raises:
        FileError: one of them contains a value that a file cannot hold, or they are nested too
            deep.
    """
    depths: dict[str, int] = {}
    for digest, body in _innermost_first(ops, blobs):
        inner = [depths.get(written_digest(inside), 0) for inside in _inside(body)]
        depths[digest] = _checked_nesting(1 + max(inner, default=0))
        _check_numbering(body)
        written = {
            "digest": digest,
            "inputs": [write_meta(meta, "an input of a body") for meta in body.input_metas],
            "nodes": _write_nodes(body, blobs, sites),
            "outputs": list(body.output_slots),
        }
        blobs.keep_body(digest, written)


def read_bodies(table: Json, reader: OpReader) -> None:
    """Read the table of bodies into `reader`, which returns them by number.

    Raises:
        FileError: an entry does not describe a program.
        ExtensionError: an extension op cannot be made, or infers other types.
    """
    bodies = reader.blobs.bodies
    depths: dict[str, int] = {}
    for position, entry in enumerate(items(table, "bodies")):
        body = _read_body(entry, reader, f"body {position}")
        inner = [depths.get(written_digest(inside), 0) for inside in _inside(body)]
        depths[written_digest(body)] = _checked_nesting(1 + max(inner, default=0))
        bodies.append(body)


def read_node(entry: Json, builder: ExecBuilder, reader: OpReader, where: str) -> None:
    """Append the instruction of an entry, its output types inferred.

    Raises:
        FileError: the entry does not describe an instruction, or its types are not the inferred
            ones.
        ExtensionError: an extension op cannot be made, or infers other types.
    """
    fields = record(entry, _NODE_KEYS, where)
    metas = builder.metas
    operands = numbers(fields["in"], f"an operand of {where}", len(metas))
    types = read_types(fields["types"], where)
    site = None if fields["site"] is None else text(fields["site"], f"the site of {where}")
    op = read_op(fields["op"], fields["payload"], len(operands), types, reader, where)
    if isinstance(op, MissingExtension):
        written = tuple([parse_meta(type_text, where) for type_text in types])
        builder.add_inferred(op, operands, written, site)
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


def _check_numbering(program: ExecProgram) -> None:
    if program.written_slots() != list(range(program.n_slots)):
        raise FileError(
            "file: the slots of the program are not numbered in order; renumber it, as the "
            "compiler does"
        )


def _write_nodes(program: ExecProgram, blobs: BlobWriter, sites: bool) -> list[Json]:
    return [_write_node(step, blobs, sites) for step in program.instructions]


def _write_node(step: ExecInstruction, blobs: BlobWriter, sites: bool) -> Json:
    name, payload = write_op(step.op, blobs)
    return {
        "op": name,
        "payload": payload,
        "in": list(step.input_slots),
        "types": [write_meta(meta, step.op.name) for meta in step.output_metas],
        "site": step.site if sites else None,
    }
