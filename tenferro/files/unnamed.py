"""Programs whose inputs have no names, as bytes: what caches and farms keep on disk."""

from __future__ import annotations

from tenferro.errors import FileError
from tenferro.exec_ir import ExecProgram
from tenferro.files.codecs import Families
from tenferro.files.store import read, written
from tenferro.runtime import GraphProgram, ProgramInput
from tenferro.shape import fresh_input


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
