"""Saving and loading: values to bytes and files, and back."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tenferro.autodiff import LinearFragment
from tenferro.computegraph import Fragment
from tenferro.errors import FileError
from tenferro.family import Package
from tenferro.files.bodies import read_bodies
from tenferro.files.codecs import Families, PayloadCodecs
from tenferro.files.container import PREFIX_SIZE, Json, canonical, check_prefix, pack, unpack
from tenferro.files.fragments import AnyFragment, read_fragment, write_fragment
from tenferro.files.nodes import OpReader
from tenferro.files.programs import read_program, write_program
from tenferro.files.schema import short
from tenferro.files.values import BlobReader, BlobWriter
from tenferro.runtime import GraphProgram

Saved = GraphProgram | AnyFragment
"""What a file can hold."""


def dumps(value: Saved, *, packages: Sequence[Package] = ()) -> bytes:
    """A program or fragment as the bytes of a file; equal ones have equal bytes.

    Args:
        value: the program or fragment.
        packages: extension families, beside those that come with tenferro, of which it is checked
            that they can be read again. Ops of other families are written unchecked.

    Raises:
        FileError: it holds what a file cannot: an op that is not of the vocabulary, a key of a
            fragment's input that does not name a tensor.
        InvalidConfigError: an op of a family in `packages` cannot be made of its payload.
        ExtensionRegistryError: a package is given twice, or is not one.

    >>> import tenferro as tn
    >>> program = tn.make_program(lambda x: tn.sum(x * x), tn.TensorSpec(("n",), "float64"))
    >>> data = dumps(program)
    >>> loads(data).digest == program.digest, dumps(loads(data)) == data
    (True, True)
    """
    families = Families(None, packages)
    return _packed(value, BlobWriter(families.vocabulary, families.check))


def loads(
    data: bytes,
    *,
    packages: Sequence[Package] = (),
    codecs: PayloadCodecs | None = None,
    skip_missing_extensions: bool = False,
) -> Any:
    """The program or fragment of which `data` are the bytes.

    Args:
        data: what `dumps` returned.
        packages: extension families that the file may hold, beside those that come with tenferro.
        codecs: further families, each with the way to make its ops; they come before `packages`.
        skip_missing_extensions: whether an op of another family becomes a placeholder, which
            raises when it is run, compiled or differentiated, instead of an error at once.

    Raises:
        FileError: the bytes are not what `dumps` returns for any value.
        UnsupportedExtensionError: a family is not known, or only in another version.
        ExtensionRegistryError: a package is given twice, or is not one.
        MalformedFamilyIdError, InvalidConfigError: a family id is not one; a family has no op with
            the payload that is written, or infers other types.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise FileError(f"file: takes bytes, got a {type(data).__name__}")
    families = Families(codecs, packages)
    data = bytes(data)
    header, body = unpack(data)
    if not isinstance(header, dict):
        raise FileError("file: the header must be an object")
    blobs = BlobReader(header.get("blobs"), body)
    reader = OpReader(blobs, families, skip_missing_extensions)
    if "bodies" in header:
        read_bodies(header.pop("bodies"), reader)
    value = _read(header, reader)
    if _packed(value, BlobWriter(families.vocabulary)) != data:
        raise FileError("file: it is not the one form in which its content is written")
    return value


def save(value: Saved, path: str | os.PathLike[str], *, packages: Sequence[Package] = ()) -> None:
    """Write a program or fragment to a file, which is there wholly or not at all.

    Arguments and errors are those of `dumps`.

    Raises:
        FileError: it holds what a file cannot, or the file cannot be written.

    >>> import os, tempfile, tenferro as tn
    >>> program = tn.make_program(lambda x: x + 1, tn.TensorSpec((2,), "float64"))
    >>> path = os.path.join(tempfile.mkdtemp(), "successor.tenferro")
    >>> save(program, path)
    >>> load(path)
    GraphProgram(1 inputs, 3 instructions)
    """
    data = dumps(value, packages=packages)
    target = Path(path)
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with beside.open("xb") as file:
            file.write(data)
        beside.replace(target)
    except OSError as error:
        raise FileError(f"file: {target} cannot be written: {error.strerror}") from None
    finally:
        beside.unlink(missing_ok=True)


def load(
    path: str | os.PathLike[str],
    *,
    packages: Sequence[Package] = (),
    codecs: PayloadCodecs | None = None,
    skip_missing_extensions: bool = False,
) -> Any:
    """The program or fragment of a file; arguments and errors are those of `loads`."""
    return loads(
        read_bytes(path),
        packages=packages,
        codecs=codecs,
        skip_missing_extensions=skip_missing_extensions,
    )


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file that begins as a tenferro file of its length does.

    Raises:
        FileError: there is no such file, or it begins otherwise.
    """
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise FileError(f"file: {path} is not a regular file")
            prefix = file.read(PREFIX_SIZE)
            check_prefix(prefix, status.st_size)  # before all of it is read
            return prefix + file.read()
    except OSError as error:
        raise FileError(f"file: {path} cannot be read: {error.strerror}") from None


def identity(header: dict[str, Json]) -> str:
    """SHA-256 of a header, in hex, without what changes no meaning: where nodes were recorded.

    Two files with one identity hold the same thing. The checksums of blobs are part of the header.
    """
    meant = {key: value for key, value in header.items() if key != "identity"}
    if "nodes" in meant:
        meant["nodes"] = _without_sites(meant["nodes"])
    if "bodies" in meant:
        meant["bodies"] = [
            {**body, "nodes": _without_sites(body["nodes"])} for body in meant["bodies"]
        ]
    return hashlib.sha256(canonical(meant)).hexdigest()


def _without_sites(nodes: list[dict[str, Json]]) -> list[Json]:
    return [{**node, "site": None} for node in nodes]


def _packed(value: Saved, blobs: BlobWriter) -> bytes:
    header = {**_write(value, blobs), "blobs": blobs.table}
    if blobs.bodies:
        header["bodies"] = blobs.bodies
    return pack({**header, "identity": identity(header)}, blobs.blobs)


def _write(value: Saved, blobs: BlobWriter) -> dict[str, Json]:
    if isinstance(value, GraphProgram):
        return write_program(value, blobs)
    if isinstance(value, Fragment | LinearFragment):
        return write_fragment(value, blobs)
    raise FileError(f"file: a {type(value).__name__} cannot be saved; save a program or a fragment")


def _read(header: dict[str, Json], reader: OpReader) -> Saved:
    kind = header.get("kind")
    if kind == "program":
        return read_program(header, reader)
    if kind == "fragment":
        return read_fragment(header, reader)
    raise FileError(f"file: {short(kind)} is not a kind of file")
