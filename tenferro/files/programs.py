"""A GraphProgram as a header and blobs, and back.

Values are numbered: the inputs, then the results of the nodes, in order. The nodes are a flat
table in the order of execution. What is read is built anew: every type is inferred and compared
with the one that is written.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import cast

from tenferro.errors import FileError
from tenferro.exec_ir import (
    ExecBuilder,
    ExecInstruction,
    ExecOp,
    ExecProgram,
    verify,
    with_last_use,
)
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
from tenferro.files.types import parse_size, size_text
from tenferro.files.values import BlobWriter
from tenferro.runtime import GraphProgram, ProgramInput, Tensor
from tenferro.shape import Exact, Guard, SymDim, TensorMeta, fresh_input

_KEYS = frozenset({"kind", "identity", "digest", "inputs", "nodes", "outputs", "guards", "blobs"})
_INPUT_KEYS = frozenset({"name", "type", "default"})
_NODE_KEYS = frozenset({"op", "payload", "in", "types", "site"})
_GUARD_KEYS = frozenset({"left", "right", "reason"})


def write_program(program: GraphProgram, blobs: BlobWriter) -> dict[str, Json]:
    """The header of a program, without the table of blobs and the identity.

    Raises:
        FileError: it holds what a file cannot.
    """
    exec_program = program.exec_program
    _check_numbering(exec_program)
    return {
        "kind": "program",
        "digest": written_digest(exec_program),
        "inputs": [_write_input(declared, blobs) for declared in program.inputs],
        "nodes": [_write_node(step, blobs) for step in exec_program.instructions],
        "outputs": list(exec_program.output_slots),
        "guards": [_write_guard(guard) for guard in program.guards],
    }


def read_program(header: Json, reader: OpReader) -> GraphProgram:
    """The program of a header.

    Raises:
        FileError: the header is not that of a program.
        ExtensionError: an extension op cannot be made, or infers other types.
    """
    fields = record(header, _KEYS, "the header of a program")
    read = _Reading(reader)
    inputs = [read.input(entry, i) for i, entry in enumerate(items(fields["inputs"], "inputs"))]
    for position, entry in enumerate(items(fields["nodes"], "nodes")):
        read.node(entry, f"node {position}")
    outputs = numbers(fields["outputs"], "an output", len(read.builder.metas))
    program = with_last_use(read.builder.build(outputs))
    guards = [_read_guard(entry) for entry in items(fields["guards"], "guards")]
    _check(program, text(fields["digest"], "the digest"))
    with reading("inputs"):
        return GraphProgram(program, tuple(inputs), tuple(guards))


def written_digest(program: ExecProgram) -> str:
    """The digest of a program, with placeholders counted as what they stand for."""
    return replace(program, instructions=tuple(map(_original, program.instructions))).digest


@dataclass(frozen=True, slots=True)
class _Reading:
    """Reads inputs and nodes, each with the values that come before it."""

    ops: OpReader
    builder: ExecBuilder = field(default_factory=ExecBuilder)

    def input(self, entry: Json, position: int) -> ProgramInput:
        """An input."""
        where = f"input {position}"
        fields = record(entry, _INPUT_KEYS, where)
        name = text(fields["name"], f"the name of {where}")
        meta = parse_meta(fields["type"], where)
        self.builder.input(meta)
        default = None
        if fields["default"] is not None:
            default = Tensor(self.ops.blobs.array(fields["default"], f"the default of {where}"))
            if not _is_of(default, meta):
                raise FileError(f"file: {where} is {meta}, but its default is {default.meta}")
        return ProgramInput(name, meta, fresh_input(meta, name), default)

    def node(self, entry: Json, where: str) -> None:
        """An instruction, its output types inferred."""
        fields = record(entry, _NODE_KEYS, where)
        metas = self.builder.metas
        operands = numbers(fields["in"], f"an operand of {where}", len(metas))
        types = read_types(fields["types"], where)
        site = None if fields["site"] is None else text(fields["site"], f"the site of {where}")
        op = read_op(fields["op"], fields["payload"], len(operands), types, self.ops, where)
        if isinstance(op, MissingExtension):
            written = tuple([parse_meta(each, where) for each in types])
            self.builder.add_inferred(op, operands, written, site)
            return
        check_payload(op, where)
        with reading(f"{where}: {op.name}"):
            results = self.builder.add(op, operands, site)
        check_types(op, types, [metas[slot] for slot in results], where)


def _check(program: ExecProgram, digest: str) -> None:
    """What each node alone does not show."""
    known = program.symbols()
    for position, step in enumerate(program.instructions):
        needed = {leaf for leaf in step.op.symbols() if isinstance(leaf, SymDim)}
        unknown = sorted(str(leaf) for leaf in needed - known)
        if unknown:
            raise FileError(
                f"file: node {position} needs the size {unknown[0]}, which no input has"
            )
    if not any(isinstance(step.op, MissingExtension) for step in program.instructions):
        with reading("the program"):
            verify(program)
    if written_digest(program) != digest:
        raise FileError("file: the digest that is written is not that of the program")


def _check_numbering(program: ExecProgram) -> None:
    slots = list(program.input_slots)
    for step in program.instructions:
        slots.extend(step.output_slots)
    if slots != list(range(program.n_slots)):
        raise FileError(
            "file: the slots of the program are not numbered in order; renumber it, as the "
            "compiler does"
        )


def _is_of(tensor: Tensor, meta: TensorMeta) -> bool:
    return (
        tensor.dtype == meta.dtype
        and len(tensor.shape) == meta.rank
        and all(
            extent.dim == size
            for extent, size in zip(meta.extents, tensor.shape, strict=True)
            if isinstance(extent, Exact) and isinstance(extent.dim, int)
        )
    )


@dataclass(frozen=True, slots=True)
class _Identity:
    """All of an op that the digest reads."""

    identity: bytes


def _original(step: ExecInstruction) -> ExecInstruction:
    if not isinstance(step.op, MissingExtension):
        return step
    return replace(step, op=cast(ExecOp, _Identity(step.op.written_identity)))


def _write_input(declared: ProgramInput, blobs: BlobWriter) -> Json:
    default = declared.default
    return {
        "name": declared.name,
        "type": write_meta(declared.meta, f"input {declared.name!r}"),
        "default": None if default is None else blobs.add(default.numpy()),
    }


def _write_node(step: ExecInstruction, blobs: BlobWriter) -> Json:
    name, payload = write_op(step.op, blobs)
    return {
        "op": name,
        "payload": payload,
        "in": list(step.input_slots),
        "types": [write_meta(meta, step.op.name) for meta in step.output_metas],
        "site": step.site,
    }


def _write_guard(guard: Guard) -> Json:
    return {
        "left": size_text(guard.left),
        "right": size_text(guard.right),
        "reason": guard.reason,
    }


def _read_guard(entry: Json) -> Guard:
    fields = record(entry, _GUARD_KEYS, "a guard")
    return Guard(
        parse_size(text(fields["left"], "a side of a guard")),
        parse_size(text(fields["right"], "a side of a guard")),
        text(fields["reason"], "the reason of a guard"),
    )
