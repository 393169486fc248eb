"""The name of a family of extension ops: `<distribution>.<op>.v<major>`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from tenferro.errors import ExtensionRegistryError, MalformedFamilyIdError

C = TypeVar("C", bound=type[Any])

_FORMAT = re.compile(
    r"(?P<namespace>[A-Za-z0-9][A-Za-z0-9_-]*)\.(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"\.v(?P<version>0|[1-9][0-9]{0,8})",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class FamilyId:
    """The parts of a family id.

    Attributes:
        namespace: canonical name of the distribution that publishes the family.
        name: identifier of the op within it.
        version: raised by every breaking change of payload, shapes, derivatives or meaning.
    """

    namespace: str
    name: str
    version: int

    def __str__(self) -> str:
        return f"{self.namespace}.{self.name}.v{self.version}"


def parse_family_id(text: object) -> FamilyId:
    """The parts of a family id.

    Raises:
        MalformedFamilyIdError: the text is not of the form `<distribution>.<op>.v<major>`.

    >>> parse_family_id("tenferro-ext-tropical.einsum.v1")
    FamilyId(namespace='tenferro-ext-tropical', name='einsum', version=1)
    """
    match = _FORMAT.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise MalformedFamilyIdError(
            str(text),
            f"family_id {text!r} does not match the namespaced format "
            "'<distribution>.<op>.v<major>'",
        )
    return FamilyId(match["namespace"], match["name"], int(match["version"]))


def family_of(name: str, family: object) -> str:
    """The id of a family that is given as op class or as id.

    Raises:
        ExtensionRegistryError: it is neither.
    """
    if isinstance(family, str):
        return family
    family_id = getattr(family, "FAMILY_ID", None) if isinstance(family, type) else None
    if not isinstance(family_id, str):
        raise ExtensionRegistryError(
            name, f"takes an op class or a family id, got {family!r}", name
        )
    return family_id


def require_own_family(op_class: type[Any]) -> None:
    """Check that a class does not inherit the family of another op class.

    Raises:
        ExtensionRegistryError: it does.
    """
    if "FAMILY_ID" in vars(op_class) or "family_id" in vars(op_class):
        return
    owner = next((base for base in op_class.__mro__ if "FAMILY_ID" in vars(base)), None)
    if owner is not None:
        family = vars(owner)["FAMILY_ID"]
        raise ExtensionRegistryError(
            family,
            f"{op_class.__name__}: is derived from {owner.__name__}, of the family {family!r}, "
            "and two op classes are not of one family; give it its own with @family_id(...)",
        )


_tokens: WeakKeyDictionary[type[Any], bytes] = WeakKeyDictionary()
_numbers = itertools.count()


def class_token(op_class: type[Any]) -> bytes:
    """Bytes that no other class has in this process, also none that was defined before."""
    token = _tokens.get(op_class)
    return _tokens.setdefault(op_class, b"@%d" % next(_numbers)) if token is None else token


def require_class(op: object, known: object, what: str) -> None:
    """Check that an op is of the class that what a context has of its family belongs to.

    Args:
        op: the op, which has the family id of that class.
        known: the class; anything else stands for none.
        what: what the context has: `runtime`.

    Raises:
        ExtensionRegistryError: it is not; the class has been defined again.
    """
    if isinstance(known, type) and not isinstance(op, known):
        family = getattr(op, "FAMILY_ID", "")
        raise ExtensionRegistryError(
            family,
            f"packages: family {family!r}: the op is of one class {type(op).__qualname__}, and the "
            f"{what} of another one, since the class was defined again; make the package again, "
            "and with it the context, the executor or the compiled function",
        )


def family_id(*, namespace: str, name: str, version: int) -> Callable[[C], C]:
    """A class decorator that gives an extension op its `FAMILY_ID`.

    Args:
        namespace: canonical name of the distribution that publishes the family.
        name: identifier of the op within it.
        version: the family's version.

    Raises:
        MalformedFamilyIdError: the parts do not form a valid family id.

    >>> @family_id(namespace="my-package", name="fft", version=1)
    ... class FftOp: ...
    >>> FftOp.FAMILY_ID
    'my-package.fft.v1'
    """
    text = f"{namespace}.{name}.v{version}"
    if parse_family_id(text) != FamilyId(namespace, name, version):
        raise MalformedFamilyIdError(
            text, f"family_id {text!r}: version must be an integer, got {version!r}"
        )

    def decorate(cls: C) -> C:
        given: object = cls
        if not isinstance(given, type):
            raise MalformedFamilyIdError(text, f"family_id: takes an op class, got {given!r}")
        cls.FAMILY_ID = text
        return cls

    return decorate
