"""Files of programs and fragments, in a binary format without pickle or code.

Read in this order: `container` (bytes), `schema`, `types`, `missing`, `written`, `values`, `hints`
(the parts of a header), `codecs`, `nodes` (ops), `inference`, `bodies` (instructions, and programs
inside ops), `programs`, `fragments`, `store` (the functions for users), `calls` (programs as
functions), `arrays` (arrays under a header), `unnamed` (programs whose inputs have no names);
`cache_folder` and `programs_cache` (kept on disk).
"""

from tenferro.files.arrays import array_digests, pack_arrays, unpack_arrays
from tenferro.files.cache_folder import CacheFolder, harmless, tell
from tenferro.files.calls import call
from tenferro.files.codecs import Families, PayloadCodecs, codecs_of
from tenferro.files.container import Json, canonical, pack, unpack
from tenferro.files.missing import MissingExtension
from tenferro.files.programs_cache import (
    DiskCache,
    cache,
    disk_cache,
    key_of,
    program_kept,
    source_digest,
)
from tenferro.files.store import dumps, load, loads, read_bytes, save
from tenferro.files.unnamed import pack_program, unpack_program
from tenferro.files.written import written_digest

__all__ = [
    "CacheFolder",
    "DiskCache",
    "Families",
    "Json",
    "MissingExtension",
    "PayloadCodecs",
    "array_digests",
    "cache",
    "call",
    "canonical",
    "codecs_of",
    "disk_cache",
    "dumps",
    "harmless",
    "key_of",
    "load",
    "loads",
    "pack",
    "pack_arrays",
    "pack_program",
    "program_kept",
    "read_bytes",
    "save",
    "source_digest",
    "tell",
    "unpack",
    "unpack_arrays",
    "unpack_program",
    "written_digest",
]
