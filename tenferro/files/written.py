"""The digest of a program with placeholders: that of the program with the original ops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from tenferro.exec_ir import Body, ExecOp, ExecProgram, Sizes, encode, fields_of_bodies
from tenferro.files.missing import MissingExtension
from tenferro.shape import Leaf


def has_placeholder(program: ExecProgram) -> bool:
    """Whether the program, or one inside its ops, has a placeholder."""
    return any(part.has_op(MissingExtension) for part in program.walk())


def written_digest(program: ExecProgram) -> str:
    """The digest of a program, with placeholders counted as the ops that they stand for."""
    if not has_placeholder(program):
        return program.digest
    digests: dict[int, str] = {}
    for body in reversed(list(program.walk())):
        digests[id(body)] = body.with_ops(lambda op: _original(op, digests)).digest
    return digests[id(program)]


def _original(op: ExecOp, digests: Mapping[int, str]) -> ExecOp:
    """The op as it is encoded without placeholders."""
    if isinstance(op, MissingExtension):
        encoded = op.written_bytes
    elif op.body_fields:
        values = {name: getattr(op, name) for name in op.payload_fields()}
        meant = {label: _Digest(digests[id(body)]) for label, body in op.bodies.items()}
        encoded = op.name.encode() + encode(tuple((values | fields_of_bodies(meant)).values()))
    else:
        return op
    return cast(ExecOp, _Encoded(encoded))


@dataclass(frozen=True, slots=True)
class _Encoded:
    """An op reduced to what the digest of a program reads."""

    encoded: bytes


class _Digest(Body):
    """A program reduced to what the encoding of an op reads."""

    def __init__(self, digest: str) -> None:
        self._digest = digest

    @property
    def digest(self) -> str:
        """The digest."""
        return self._digest

    @property
    def classes(self) -> bytes:
        """None."""
        return b""

    def mentioned(self) -> set[Leaf]:
        """No symbols."""
        return set()

    def bind(self, sizes: Sizes) -> _Digest:
        """Itself."""
        return self
