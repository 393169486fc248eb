"""Files: programs and fragments in a format of its own, without pickle or code.

Read in this order: `container` (bytes), `schema`, `types`, `values`, `hints` (the pieces of a
header), `missing`, `codecs`, `nodes` (ops), `inference`, `programs`, `fragments`, `store` (what
users call), `calls` (programs as functions).
"""

from tenferro.files.calls import call
from tenferro.files.codecs import PayloadCodecs
from tenferro.files.missing import MissingExtension
from tenferro.files.programs import written_digest
from tenferro.files.store import dumps, load, loads, read_bytes, save

__all__ = [
    "MissingExtension",
    "PayloadCodecs",
    "call",
    "dumps",
    "load",
    "loads",
    "read_bytes",
    "save",
    "written_digest",
]
