"""Instructions as JSON, and the programs inside ops: the table of bodies.

A body stands in the table once, however many ops hold it, and after every body that it holds. An
op names it by its number.
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
"""Bodies within bodies, at most."""

_NODE_KEYS = frozenset({"op", "payload", "in", "types", "site"})
_BODY_KEYS = frozenset({"digest", "inputs", "nodes", "outputs"})


def write_nodes(program: ExecProgram, blobs: BlobWriter, sites: bool = True) -> list[Json]:
    """The instructions of a program. The bodies that they hold go to `blobs`.

    Without `sites` it is not written where they were recorded.

    Raises:
        FileError: the program holds what a file cannot.
    """
    _check_numbering(program)
    write_bodies(program.ops(), blobs, sites)
    return _write_nodes(program, blobs, sites)


def write_bodies(ops: Iterable[ExecOp], blobs: BlobWriter, sites: bool = True) -> None:
    """Write the programs inside ops, and those inside these, to `blobs`.

    Raises:
        FileError: one of them holds what a file cannot, or they are nested too deep.
    """
    depths: dict[str, int] = {}
    for digest, body in _innermost_first(ops, blobs):
        inner = [depths.get(written_digest(each), 0) for each in _inside(body)]
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
    """Read the table of bodies; `reader` then knows them by their numbers.

    Raises:
        FileError: an entry is not that of a program.
        ExtensionError: an extension op cannot be made, or infers other types.
    """
    bodies = reader.blobs.bodies
    depths: dict[str, int] = {}
    for position, entry in enumerate(items(table, "bodies")):
        body = _read_body(entry, reader, f"body {position}")
        inner = [depths.get(written_digest(each), 0) for each in _inside(body)]
        depths[written_digest(body)] = _checked_nesting(1 + max(inner, default=0))
        bodies.append(body)


def read_node(entry: Json, builder: ExecBuilder, reader: OpReader, where: str) -> None:
    """Append the instruction of an entry, its output types inferred.

    Raises:
        FileError: the entry is not that of an instruction, or says other types.
        ExtensionError: an extension op cannot be made, or infers other types.
    """
    fields = record(entry, _NODE_KEYS, where)
    metas = builder.metas
    operands = numbers(fields["in"], f"an operand of {where}", len(metas))
    types = read_types(fields["types"], where)
    site = None if fields["site"] is None else text(fields["site"], f"the site of {where}")
    op = read_op(fields["op"], fields["payload"], len(operands), types, reader, where)
    if isinstance(op, MissingExtension):
        written = tuple([parse_meta(each, where) for each in types])
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
        raise FileError(f"file: the digest that is written of {where} is not that of the program")
    return body


def _innermost_first(ops: Iterable[ExecOp], blobs: BlobWriter) -> Iterator[tuple[str, ExecProgram]]:
    """The bodies that have not been written, each with its digest and after those inside it.

    Each is to be written before the next one is asked for.
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
    """The programs in the payload of an op, in order; that of a family may hold some in tuples."""
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
