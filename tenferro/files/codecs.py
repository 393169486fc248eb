"""PayloadCodecs: from the payload in a file to an extension op."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from types import MappingProxyType
from typing import Any

from tenferro.errors import ExtensionRegistryError, InvalidConfigError, UnsupportedExtensionError
from tenferro.exec_ir import encode
from tenferro.families import STANDARD, further
from tenferro.family import ExtensionOp, Package, parse_family_id, vocabulary_of
from tenferro.files.hints import as_declared
from tenferro.ops import StdTensorOp

Decode = Callable[[tuple[Any, ...]], ExtensionOp]
"""Makes the op whose `payload()` is the tuple."""


class PayloadCodecs:
    """The families of extension ops that a file may contain, with functions that make their ops.

    `load` takes them as `codecs=`. There is no global registry.

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

        Without `decode`, the payload must be the fields of a dataclass. This is the case if the
        class does not define `payload()` itself.

        Raises:
            MalformedFamilyIdError: the class has no valid family id.
            ExtensionRegistryError: another class has the family, or `decode` is missing and the
                payload is not the fields of a dataclass.
        """
        family = getattr(op, "FAMILY_ID", "")
        parse_family_id(family)
        if decode is not None and not callable(decode):
            raise ExtensionRegistryError(
                family, f"{family}: decode= takes a function of the payload, got {decode!r}"
            )
        if decode is None:
            if not _is_payload(op):
                raise ExtensionRegistryError(
                    family,
                    f"{family}: {op.__name__} is not a dataclass whose fields are its payload; "
                    "register it with decode=",
                )
            decode = _of_fields(op)
        registered, _ = self._decoders.setdefault(family, (op, decode))
        if registered is not op:
            raise ExtensionRegistryError(
                family, f"{family}: already registered for {registered.__name__}"
            )
        return self

    def knows(self, family_id: str) -> bool:
        """Whether ops of the family can be made.

        Raises:
            MalformedFamilyIdError: that is not a family id.
        """
        parse_family_id(family_id)
        return family_id in self._decoders

    def make(self, family_id: str, values: tuple[Any, ...]) -> ExtensionOp:
        """The op of a family whose payload is `values`.

        Raises:
            MalformedFamilyIdError: that is not a family id.
            UnsupportedExtensionError: the family is not registered, or only another version of it.
            InvalidConfigError: the family has no op with that payload.
        """
        if not self.knows(family_id):
            raise _unknown(family_id, self)
        cls, decode = self._decoders[family_id]
        try:
            op = decode(values)
            is_same = op.family_id == family_id and op.payload_identity() == encode(values)
        except Exception as error:
            raise _malformed(
                family_id, f"{cls.__name__} cannot be made from it: {error}"
            ) from error
        if not is_same:
            raise _malformed(family_id, f"the {cls.__name__} made from it has another payload")
        return op

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._decoders))

    def __len__(self) -> int:
        return len(self._decoders)

    def __repr__(self) -> str:
        return f"PayloadCodecs({', '.join(self._decoders)})"


def codecs_of(packages: Iterable[Package]) -> PayloadCodecs:
    """The codecs of packages, without families that need a codec but have none."""
    codecs = PayloadCodecs()
    for package in packages:
        for op in package.ops:
            if op in package.codecs or _is_payload(op):
                codecs.register(op, package.codecs.get(op))
    return codecs


class Families:
    """The families and the ops that one file may contain.

    Families of `codecs` take precedence over those of the packages, which include tenferro's own.
    If the payload of a family is not the fields of a dataclass and its package has no codec for it,
    reading an op of the family raises an error that names both. `ops` are further classes of ops,
    by name, such as those that only passes write.

    Raises:
        ExtensionRegistryError: a package is given twice, or is not one.
    """

    def __init__(
        self,
        codecs: PayloadCodecs | None = None,
        packages: Sequence[Package] = (),
        ops: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self._codecs = PayloadCodecs() if codecs is None else codecs
        self._packages = (*STANDARD, *further(packages))
        self._packaged = codecs_of(self._packages)
        self.vocabulary: dict[str, type[StdTensorOp]] = {**vocabulary_of(self._packages), **ops}

    def knows(self, family_id: str) -> bool:
        """Whether ops of the family can be made.

        Raises:
            MalformedFamilyIdError: that is not a family id.
        """
        return self._codecs.knows(family_id) or self._packaged.knows(family_id)

    def make(self, family_id: str, values: tuple[Any, ...]) -> ExtensionOp:
        """The op of a family whose payload is `values`; raises as `PayloadCodecs.make` does."""
        if self._codecs.knows(family_id):
            return self._codecs.make(family_id, values)
        if self._packaged.knows(family_id):
            return self._packaged.make(family_id, values)
        error = _unknown(family_id, [*self._codecs, *self._packaged])
        owner = next((p for p in self._packages if family_id in p.families), None)
        error.add_note(
            "pass the package of the family to load or loads, packages=(...)"
            if owner is None
            else f"the package {owner.name!r} has no codec for it; the author of the package adds "
            "one, Package(codecs={...})"
        )
        raise error

    def check(self, family_id: str, values: tuple[Any, ...]) -> None:
        """Raise if an op of a known family cannot be made from its payload.

        Raises:
            InvalidConfigError: the op cannot be made.
        """
        if self.knows(family_id):
            self.make(family_id, values)


def _unknown(family_id: str, families: Iterable[str]) -> UnsupportedExtensionError:
    """The error for a family that is not registered, or only in other versions."""
    family = parse_family_id(family_id)
    versions = [
        candidate.version
        for candidate in map(parse_family_id, families)
        if (candidate.namespace, candidate.name) == (family.namespace, family.name)
    ]
    reason = (
        f"version mismatch, graph has v{family.version}, runtime has v{max(versions)}"
        if versions
        else "not registered"
    )
    return UnsupportedExtensionError(family_id, f"{family}: {reason}")


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
