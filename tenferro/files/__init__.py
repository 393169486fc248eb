"""Files of programs and fragments, in a binary format without pickle or code.

Read in this order: `container` (bytes), `schema`, `types`, `missing`, `written`, `values`, `hints`
(the parts of a header), `codecs`, `nodes` (ops), `inference`, `bodies` (instructions, and programs
inside ops), `programs`, `fragments`, `store` (the functions for users), `calls` (programs as
functions), `arrays` (arrays under a header).
"""

from tenferro.files.arrays import (
    array_digests,
    pack_arrays,
    read_family_op,
    unpack_arrays,
    write_family_op,
)
from tenferro.files.calls import call
from tenferro.files.codecs import PayloadCodecs, codecs_of
from tenferro.files.container import canonical
from tenferro.files.missing import MissingExtension
from tenferro.files.store import dumps, load, loads, read_bytes, save
from tenferro.files.written import written_digest

__all__ = [
    "MissingExtension",
    "PayloadCodecs",
    "array_digests",
    "call",
    "canonical",
    "codecs_of",
    "dumps",
    "load",
    "loads",
    "pack_arrays",
    "read_bytes",
    "read_family_op",
    "save",
    "unpack_arrays",
    "write_family_op",
    "written_digest",
]
