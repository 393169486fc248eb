"""PayloadCodecs: from the payload in a file to an extension op."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from typing import Any

from tenferro.errors import ExtensionRegistryError, InvalidConfigError, UnsupportedExtensionError
from tenferro.exec_ir import encode
from tenferro.family import ExtensionOp, FamilyId, parse_family_id
from tenferro.files.hints import as_declared

Decode = Callable[[tuple[Any, ...]], ExtensionOp]
"""Makes the op whose `payload()` is the given tuple."""


class PayloadCodecs:
    """The families of extension ops that a file may hold, each with the way to make its ops.

    `load` is given one; there is no global registry.

    >>> from dataclasses import dataclass
    >>> from tenferro.family import family_id
    >>> @family_id(namespace="my-package", name="twice", version=1)
    ... @dataclass(frozen=True)
    ... class Twice(ExtensionOp):
    ...     input_count = output_count = 1
    ...     def infer_output_meta(self, dtypes, shapes):
    ...         return [(dtypes[0], shapes[0])]
    ...     def eager_execute(self, inputs):
    ...         return [inputs[0] * 2]
    >>> PayloadCodecs().register(Twice)
    PayloadCodecs(my-package.twice.v1)
    """

    def __init__(self) -> None:
        self._decoders: dict[str, tuple[type[ExtensionOp], Decode]] = {}

    def register(self, op: type[ExtensionOp], decode: Decode | None = None) -> PayloadCodecs:
        """Add the family of `op`, and return these codecs.

        Without `decode` the payload is taken for the fields of a dataclass, which it is where the
        class does not define `payload()` itself.

        Raises:
            MalformedFamilyIdError: the class has no valid family id.
            ExtensionRegistryError: another class has the family, or there is no way to make its
                ops.
        """
        family = getattr(op, "FAMILY_ID", "")
        parse_family_id(family)
        if decode is None:
            if not _is_payload(op):
                raise ExtensionRegistryError(
                    family,
                    f"{family}: {op.__name__} is no dataclass whose fields are its payload; "
                    "register it with decode=",
                )
            decode = _of_fields(op)
        held = self._decoders.setdefault(family, (op, decode))
        if held[0] is not op:
            raise ExtensionRegistryError(
                family, f"{family}: registered already, for {held[0].__name__}"
            )
        return self

    def knows(self, family_id: str) -> bool:
        """Whether ops of the family can be made.

        Raises:
            MalformedFamilyIdError: that is no family id.
        """
        parse_family_id(family_id)
        return family_id in self._decoders

    def make(self, family_id: str, values: tuple[Any, ...]) -> ExtensionOp:
        """The op of a family whose payload is `values`.

        Raises:
            MalformedFamilyIdError: that is no family id.
            UnsupportedExtensionError: the family is not registered, or in another version.
            InvalidConfigError: the family has no op with that payload.
        """
        family = parse_family_id(family_id)
        if family_id not in self._decoders:
            raise UnsupportedExtensionError(family_id, f"{family}: {self._reason(family)}")
        cls, decode = self._decoders[family_id]
        try:
            op = decode(values)
            kept = op.family_id == family_id and op.payload_identity() == encode(values)
        except Exception as error:
            raise _malformed(family_id, f"{cls.__name__} cannot be made of it: {error}") from error
        if not kept:
            raise _malformed(family_id, f"the {cls.__name__} made of it has another one")
        return op

    def _reason(self, family: FamilyId) -> str:
        """Why a family is not supported: it is unknown, or only in other versions."""
        known = [parse_family_id(held) for held in self._decoders]
        versions = [
            other.version
            for other in known
            if (other.namespace, other.name) == (family.namespace, family.name)
        ]
        if not versions:
            return "not registered"
        return f"version mismatch, graph has v{family.version}, runtime has v{max(versions)}"

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._decoders))

    def __len__(self) -> int:
        return len(self._decoders)

    def __repr__(self) -> str:
        return f"PayloadCodecs({', '.join(self._decoders)})"


def _is_payload(cls: type[Any]) -> bool:
    """Whether the payload of a class's ops is the fields of a dataclass."""
    return cls.payload is ExtensionOp.payload and is_dataclass(cls)


def _of_fields(cls: type[ExtensionOp]) -> Decode:
    names = cls.payload_fields()

    def decode(values: tuple[Any, ...]) -> ExtensionOp:
        return cls(**as_declared(cls, zip(names, values, strict=True)))

    return decode


def _malformed(family_id: str, problem: str) -> InvalidConfigError:
    return InvalidConfigError(family_id, f"family_id={family_id}: malformed payload: {problem}")
