"""save, load, dumps and loads: programs and fragments as bytes and as files; `call`."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tenferro.core import Fragment, LinearFragment
from tenferro.errors import FileError, class_of
from tenferro.ir import ExecProgram, fresh_input
from tenferro.ops.extension import Package
from tenferro.runtime import GraphProgram, ProgramInput, added_packages, check_program
from tenferro.serialization.container import (
    PREFIX_SIZE,
    Json,
    canonical_json,
    check_prefix,
    pack,
    unpack,
)
from tenferro.serialization.fragments import AnyFragment, read_fragment, write_fragment
from tenferro.serialization.ops import Families, OpReader, PayloadCodecs, read_bodies
from tenferro.serialization.programs import read_program, write_program
from tenferro.serialization.schema import short
from tenferro.serialization.values import BlobReader, BlobWriter

__all__ = ["call", "dumps", "load", "loads", "pack_program", "read_bytes", "save", "unpack_program"]


Saved = GraphProgram | AnyFragment
"""The values that a file can hold."""


def dumps(value: Saved, *, packages: Sequence[Package] = ()) -> bytes:
    """A program or fragment as the bytes of a file. Equal values have equal bytes.

    Args:
        value: the program or fragment.
        packages: extension families in addition to tenferro's own. Ops of these families are
            checked: it must be possible to read them again. Ops of other families are not checked.

    Raises:
        FileError: the value contains something that a file cannot hold: an op outside the
            vocabulary, or an input of a fragment whose key does not name a tensor.
        InvalidConfigError: an op of a family in `packages` cannot be made from its payload.
        ExtensionRegistryError: a package is given twice, or is not one.

    >>> import tenferro as tn
    >>> program = tn.make_program(lambda x: tn.sum(x * x), tn.TensorSpec(("n",), "float64"))
    >>> data = dumps(program)
    >>> loads(data).digest == program.digest, dumps(loads(data)) == data
    (True, True)
    """
    return written(value, Families(None, packages))


def loads(
    data: bytes,
    *,
    packages: Sequence[Package] = (),
    codecs: PayloadCodecs | None = None,
    skip_missing_extensions: bool = False,
) -> Any:
    """Read a program or fragment from the bytes of a file.

    Args:
        data: what `dumps` returned.
        packages: extension families that the file may contain, in addition to tenferro's own.
        codecs: further families, with functions that make their ops. They take precedence over
            `packages`.
        skip_missing_extensions: whether an op of another family becomes a placeholder, which raises
            if it is run, compiled or differentiated. If False, such an op raises here.

    Raises:
        FileError: the bytes are not those of a valid file.
        UnsupportedExtensionError: a family is not registered, or only in another version.
        ExtensionRegistryError: a package is given twice, or is not one.
        MalformedFamilyIdError, InvalidConfigError: a family id is malformed; a family has no op
            with the written payload, or infers other types.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise FileError(f"file: takes bytes, got {class_of(data)}")
    if codecs is not None and not isinstance(codecs, PayloadCodecs):
        raise FileError(f"file: codecs takes PayloadCodecs, got {class_of(codecs)}")
    families = Families(codecs, packages)
    data = bytes(data)
    value = read(data, families, skip_missing_extensions)
    if isinstance(value, GraphProgram):
        value = replace(value, packages=added_packages(packages))
    if _packed(value, BlobWriter(families.vocabulary)) != data:
        raise FileError("file: its content is not in canonical form")
    return value


def save(value: Saved, path: str | os.PathLike[str], *, packages: Sequence[Package] = ()) -> None:
    """Write a program or fragment to a file. The file is replaced atomically.

    For arguments and errors see `dumps`.

    Raises:
        FileError: the value contains something that a file cannot hold, or the file cannot be
            written.

    >>> import os, tempfile, tenferro as tn
    >>> program = tn.make_program(lambda x: x + 1, tn.TensorSpec((2,), "float64"))
    >>> path = os.path.join(tempfile.mkdtemp(), "successor.tenferro")
    >>> save(program, path)
    >>> load(path)
    GraphProgram(1 input, 3 instructions)
    """
    data = dumps(value, packages=packages)
    _check_path(path)
    target = Path(path)
    if not target.name:
        raise FileError(f"file: {str(path)!r} does not name a file")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
        temporary.replace(target)
    except OSError as error:
        raise FileError(f"file: {target} cannot be written: {error.strerror}") from None
    finally:
        temporary.unlink(missing_ok=True)


def load(
    path: str | os.PathLike[str],
    *,
    packages: Sequence[Package] = (),
    codecs: PayloadCodecs | None = None,
    skip_missing_extensions: bool = False,
) -> Any:
    """Read a program or fragment from a file. For arguments and errors see `loads`."""
    return loads(
        read_bytes(path),
        packages=packages,
        codecs=codecs,
        skip_missing_extensions=skip_missing_extensions,
    )


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file, after checking that it begins like a tenferro file of its length.

    Raises:
        FileError: the file cannot be read, or is not a tenferro file.
    """
    _check_path(path)
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise FileError(f"file: {path} is not a regular file")
            check_prefix(file.read(PREFIX_SIZE), status.st_size)  # before the rest is read
            file.seek(0)
            return file.read()
    except OSError as error:
        raise FileError(f"file: {path} cannot be read: {error.strerror}") from None


def identity(header: dict[str, Json]) -> str:
    """SHA-256 of a header, in hex, without source lines, which do not change the meaning.

    Two files with the same identity have the same content: the header includes the checksums of
    blobs.
    """
    meant = {key: value for key, value in header.items() if key != "identity"}
    if "nodes" in meant:
        meant["nodes"] = [{**node, "site": None} for node in meant["nodes"]]
    if "bodies" in meant:
        meant["bodies"] = [
            {**body, "nodes": [{**node, "site": None} for node in body["nodes"]]}
            for body in meant["bodies"]
        ]
    return hashlib.sha256(canonical_json(meant)).hexdigest()


def written(value: Saved, families: Families) -> bytes:
    """The bytes of a file; see `dumps`."""
    return _packed(value, BlobWriter(families.vocabulary, families.check))


def read(data: bytes, families: Families, skip_missing: bool = False) -> Saved:
    """What a file holds, whose content may be in another form than that of `dumps`; see `loads`."""
    header, body = unpack(data)
    if not isinstance(header, dict):
        raise FileError("file: the header must be an object")
    reader = OpReader(BlobReader(header.get("blobs"), body), families, skip_missing)
    if "bodies" in header:
        read_bodies(header.pop("bodies"), reader)
    kind = header.get("kind")
    if kind == "program":
        return read_program(header, reader)
    if kind == "fragment":
        return read_fragment(header, reader)
    raise FileError(f"file: {short(kind)} is not a kind of file")


def _packed(value: Saved, blobs: BlobWriter) -> bytes:
    if isinstance(value, GraphProgram):
        header = write_program(value, blobs)
    elif isinstance(value, Fragment | LinearFragment):
        header = write_fragment(value, blobs)
    else:
        raise FileError(f"file: {class_of(value)} cannot be saved; save a program or a fragment")
    header["blobs"] = blobs.table
    if blobs.bodies:
        header["bodies"] = blobs.bodies
    return pack({**header, "identity": identity(header)}, blobs.blobs)


def _check_path(path: object) -> None:
    """Raise FileError for what is not a path; a number would be taken for an open file."""
    if not isinstance(path, str | bytes | os.PathLike):
        raise FileError(f"file: takes a path, got {class_of(path)}")


# Programs as functions.


def call(program: GraphProgram, /, *args: Any, **named: Any) -> Any:
    """Call a program: the same as `program(*args, **named)`.

    Raises:
        BindingError: an input is missing, passed twice, unknown, or of another type.
        GuardViolationError: an assumption of the program does not hold for these sizes.

    >>> import tenferro as tn
    >>> program = tn.make_program(lambda x: tn.sum(x * x), tn.TensorSpec(("n",), "float64"))
    >>> call(program, [1.0, 2.0, 3.0])
    Tensor(14.)
    """
    check_program("call", program)
    return program(*args, **named)


# Programs whose inputs have no names, as bytes: what caches and farms keep on disk.


def pack_program(program: ExecProgram, families: Families | None = None) -> bytes:
    """The bytes of a file with a program.

    Args:
        program: the program.
        families: with the ops that it may have; by default tenferro's own.

    Raises:
        FileError: it has a value that a file cannot hold.

    >>> import tenferro as tn
    >>> program = tn.make_program(tn.sin, tn.TensorSpec((2,), "float64")).exec_program
    >>> unpack_program(pack_program(program)).digest == program.digest
    True
    """
    inputs = [
        ProgramInput(f"x{number}", meta, fresh_input(meta, f"x{number}"))
        for number, meta in enumerate(program.input_metas)
    ]
    return written(GraphProgram(program, tuple(inputs)), families or Families())


def unpack_program(data: bytes, families: Families | None = None) -> ExecProgram:
    """The program of the bytes that `pack_program` returned.

    Raises:
        FileError, ExtensionError: the bytes are not of such a file, or they are damaged.
    """
    found = read(data, families or Families())
    if not isinstance(found, GraphProgram):
        raise FileError("file: it holds a fragment, not a program")
    return found.exec_program
