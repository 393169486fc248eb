"""A GraphProgram as a header and blobs, and back.

Values are numbered: the inputs, then the results of the nodes, in order. The nodes are a flat table
in the order of execution. Reading builds a new program: every type is inferred again and compared
with the written one.
"""

from __future__ import annotations

from collections.abc import Sequence

from tenferro.compiler import DEFAULT_OPTIONS, MemoryLimit, OptimizerOptions
from tenferro.errors import FileError
from tenferro.ir import (
    Exact,
    ExecBuilder,
    ExecProgram,
    Guard,
    SymDim,
    TensorMeta,
    fresh_input,
    leaves,
    verify,
    with_last_use,
)
from tenferro.runtime import GraphProgram, ProgramInput, Tensor
from tenferro.serialization.container import Json
from tenferro.serialization.missing_extension import has_placeholder, written_digest
from tenferro.serialization.ops import OpReader, read_node, write_nodes
from tenferro.serialization.schema import items, number, numbers, reading, record, text
from tenferro.serialization.trees import read_form, write_form
from tenferro.serialization.types import parse_meta, parse_size, size_text, write_meta
from tenferro.serialization.values import BlobWriter

_KEYS = frozenset({"kind", "identity", "digest", "inputs", "nodes", "outputs", "guards", "blobs"})
_LIMIT = "memory_limit"
"""The key of the memory limit in bytes, which programs without one do not have."""
_TREES = "trees"
"""The key of the trees that a program takes and gives, which flat programs do not have."""
_INPUT_KEYS = frozenset({"name", "type", "default"})
_GUARD_KEYS = frozenset({"left", "right", "reason"})


def write_program(program: GraphProgram, blobs: BlobWriter) -> dict[str, Json]:
    """The header of a program, without the table of blobs and the identity."""
    exec_program, limit = program.exec_program, program.options.memory_limit
    header: dict[str, Json] = {
        "kind": "program",
        "digest": written_digest(exec_program),
        "inputs": [_write_input(declared, blobs) for declared in program.inputs],
        "nodes": write_nodes(exec_program, blobs),
        "outputs": list(exec_program.output_slots),
        "guards": [
            {
                "left": size_text(guard.left),
                "right": size_text(guard.right),
                "reason": guard.reason,
            }
            for guard in program.guards
        ],
    }
    if program.form is not None and not program.form.is_flat:
        header[_TREES] = write_form(program.form, blobs)
    return header if limit is None else {**header, _LIMIT: limit.bytes}


def read_program(header: Json, reader: OpReader) -> GraphProgram:
    """The program of a header."""
    optional = {_LIMIT, _TREES} & header.keys() if isinstance(header, dict) else frozenset()
    fields = record(header, _KEYS | optional, "the header of a program")
    builder = ExecBuilder()
    entries = items(fields["inputs"], "inputs")
    inputs = [_read_input(entry, builder, reader, f"input {i}") for i, entry in enumerate(entries)]
    for position, entry in enumerate(items(fields["nodes"], "nodes")):
        read_node(entry, builder, reader, f"node {position}")
    outputs = numbers(fields["outputs"], "an output", len(builder.metas))
    program = with_last_use(builder.build(outputs))
    guards = [_read_guard(entry) for entry in items(fields["guards"], "guards")]
    _check(program, text(fields["digest"], "the digest"))
    _check_guards(guards, program)
    options = _read_options(fields[_LIMIT]) if _LIMIT in fields else DEFAULT_OPTIONS
    form = None
    if _TREES in fields:
        form = read_form(fields[_TREES], reader.blobs, len(inputs), len(outputs))
    with reading("inputs"):
        return GraphProgram(program, tuple(inputs), tuple(guards), options, form=form)


def _read_options(limit: Json) -> OptimizerOptions:
    """The options of a program that keeps a limit."""
    if not number(limit, "the memory limit"):
        raise FileError("file: the memory limit must be at least 1 byte")
    return OptimizerOptions(memory_limit=MemoryLimit(number(limit, "the memory limit"), "load"))


def _read_input(entry: Json, builder: ExecBuilder, reader: OpReader, where: str) -> ProgramInput:
    fields = record(entry, _INPUT_KEYS, where)
    name = text(fields["name"], f"the name of {where}")
    meta = parse_meta(fields["type"], where)
    builder.input(meta)
    default = None
    if fields["default"] is not None:
        default = Tensor(reader.blobs.array(fields["default"], f"the default of {where}"))
        if not _is_of(default, meta):
            raise FileError(f"file: {where} is {meta}, but its default is {default.meta}")
    return ProgramInput(name, meta, fresh_input(meta, name), default)


def _check(program: ExecProgram, digest: str) -> None:
    """Raise FileError if a size is unknown or the digest differs."""
    symbols = program.symbols()
    for position, op in enumerate(program.ops()):
        needed = {leaf for leaf in op.symbols() if isinstance(leaf, SymDim)}
        unknown = sorted(str(leaf) for leaf in needed - symbols)
        if unknown:
            raise FileError(
                f"file: node {position} needs the size {unknown[0]}, which no input has"
            )
    if not has_placeholder(program):
        with reading("the program"):
            verify(program)
    if written_digest(program) != digest:
        raise FileError("file: the written digest is not the digest of the program")


def _check_guards(guards: Sequence[Guard], program: ExecProgram) -> None:
    """Raise FileError for a guard that is not about sizes of the program, or that never holds."""
    symbols = program.symbols()
    for position, guard in enumerate(guards):
        unknown = sorted(map(str, (leaves(guard.left) | leaves(guard.right)) - symbols))
        if unknown:
            raise FileError(
                f"file: guard {position} needs the size {unknown[0]}, which no input has"
            )
        gap = guard.left - guard.right
        if isinstance(gap, int) and gap != 0:
            raise FileError(
                f"file: guard {position} says that {guard.left} is {guard.right}, which never holds"
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


def _write_input(declared: ProgramInput, blobs: BlobWriter) -> Json:
    default = declared.default
    return {
        "name": declared.name,
        "type": write_meta(declared.meta, f"input {declared.name!r}"),
        "default": None if default is None else blobs.add(default.numpy()),
    }


def _read_guard(entry: Json) -> Guard:
    fields = record(entry, _GUARD_KEYS, "a guard")
    return Guard(
        parse_size(text(fields["left"], "a side of a guard")),
        parse_size(text(fields["right"], "a side of a guard")),
        text(fields["reason"], "the reason of a guard"),
    )
