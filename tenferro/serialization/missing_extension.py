"""The placeholder of an extension op whose package is missing, and digests that look through it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, cast

from tenferro.errors import UnsupportedExtensionError
from tenferro.ir import (
    Body,
    Category,
    ExecOp,
    ExecProgram,
    Leaf,
    Sizes,
    encode,
    fields_of_bodies,
    payload,
)
from tenferro.ops import StdTensorOp

__all__ = ["MissingExtension", "written_digest"]


# MissingExtension: the placeholder of an extension op whose family is not registered.


@payload
class MissingExtension(StdTensorOp, name="missing_extension"):
    """A placeholder for an extension op that was read without the code of its family.

    It has the family id, payload and output types of the file, and can be written again. Types for
    other inputs, derivatives and results need the family and raise an error. It never equals the op
    that it stands for.
    """

    family_id: str
    values: tuple[Any, ...]
    input_count: int
    types: tuple[str, ...]

    category: ClassVar[Category] = Category.BOUNDARY

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n_inputs", self.input_count)
        object.__setattr__(self, "n_outputs", len(self.types))
        object.__setattr__(self, "family", self.family_id)

    def family_payload(self) -> tuple[object, ...]:
        """The payload of the op in the file."""
        return self.values

    @property
    def written_bytes(self) -> bytes:
        """The missing op as it is encoded."""
        return b"extension" + encode(self.family_id) + encode(self.values)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise UnsupportedExtensionError(
            self.family_id,
            f"{self.family_id}: not registered; this op is the placeholder that "
            "skip_missing_extensions left; load the file again with the package of its family, "
            "packages=(...)",
        )

    infer_all = evaluate = expanded = linearize = transpose_rule = _refuse


# The digest of a program with placeholders: that of the program with the original ops.


def has_placeholder(program: ExecProgram) -> bool:
    """Whether the program, or one inside its ops, has a placeholder."""
    return any(part.has_op(MissingExtension) for part in program.walk())


def written_digest(program: ExecProgram) -> str:
    """The digest of a program, with placeholders counted as the ops that they stand for."""
    if not has_placeholder(program):
        return program.digest
    digests: dict[int, str] = {}
    for body in reversed(program.walk()):
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
