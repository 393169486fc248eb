"""The identity of an op: its name and its payload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from tenferro.exec_ir.handle import Sizes
from tenferro.exec_ir.payloads import Body, bind_payload, encode, payload_text, symbols_of
from tenferro.shape import InputDim, Leaf

T = TypeVar("T")


class Payload:
    """A name and a payload; the payload is the fields of the subclass, which is a dataclass.

    Two are equal if their names and payloads are, and the classes of the extension ops that they
    are or hold: a class that is defined again is another op. Identity, text, file form and symbols
    all follow from the fields, by the table of `payloads`.
    """

    name: ClassVar[str]
    body_fields: ClassVar[tuple[str, ...]] = ()
    """Names of the fields that hold programs."""
    added_fields: ClassVar[tuple[str, ...]] = ()
    """Names of the last fields, if they came after files with the op had been written.

    Each has a default, with which the op is what it was before: its identity is the same.
    """
    identity: bytes
    """Name, payload, and `classes`: what tells ops apart in this process."""
    classes: bytes = b""
    """Tokens at the end of the identity: of its class, if its name was defined before, and of the
    classes of extension ops that it is or holds."""
    _fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, name: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if name is not None:
            cls.name = name

    def __post_init__(self) -> None:
        values = [getattr(self, field) for field in self._fields]
        for field in reversed(self.added_fields):
            if encode(values[-1]) != encode(getattr(type(self), field)):
                break
            values.pop()
        identity = self.name.encode() + encode(tuple(values))
        if self.body_fields:  # computed once, so that no caller walks all nested programs
            classes = b"".join([self.classes, *[body.classes for body in self.bodies.values()]])
            object.__setattr__(self, "classes", classes)
            object.__setattr__(self, "_symbols", self._mentioned())
        object.__setattr__(self, "identity", identity + self.classes)

    @property
    def encoded(self) -> bytes:
        """Name and payload as bytes: the same in every process and version."""
        return self.identity.removesuffix(self.classes)

    @classmethod
    def payload_fields(cls) -> tuple[str, ...]:
        """Names of the payload's fields."""
        return cls._fields

    def symbols(self) -> set[Leaf]:
        """The symbols of the program that the payload mentions, without sizes of operands."""
        known: set[Leaf] | None = getattr(self, "_symbols", None)
        return self._mentioned() if known is None else known

    def _mentioned(self) -> set[Leaf]:
        names = self.payload_fields()
        mentioned = {leaf for name in names for leaf in symbols_of(getattr(self, name))}
        return {leaf for leaf in mentioned if not isinstance(leaf, InputDim)}

    def bind(self, sizes: Sizes) -> Self:
        """The op with symbols of its payload replaced by sizes."""
        if not self.symbols():
            return self
        return type(self)(
            **{name: bind_payload(getattr(self, name), sizes) for name in self.payload_fields()}
        )

    def bind_outside(self, sizes: Sizes) -> Self:
        """The op with symbols replaced, but not those in the programs inside it."""
        if not self.body_fields:
            return self.bind(sizes)
        names = [name for name in self.payload_fields() if name not in self.body_fields]
        bound = {name: bind_payload(getattr(self, name), sizes) for name in names}
        if all(bound[name] is getattr(self, name) for name in names):
            return self
        return replace(self, **bound)  # type: ignore[type-var]  # every op is a dataclass

    @property
    def bodies(self) -> dict[str, Body]:
        """The programs inside the op, in order, by their label.

        The label is the name of the field; if the field holds a tuple of programs, that of the
        first one is `field[0]`.
        """
        labelled: dict[str, Body] = {}
        for name in self.body_fields:
            value: Body | tuple[Body, ...] = getattr(self, name)
            if isinstance(value, tuple):
                labelled |= {f"{name}[{number}]": body for number, body in enumerate(value)}
            else:
                labelled[name] = value
        return labelled

    def with_bodies(self, bodies: Mapping[str, Body]) -> Self:
        """The op with its programs replaced, by their label."""
        return replace(self, **fields_of_bodies(bodies))  # type: ignore[type-var]  # as above

    @property
    def label(self) -> str:
        """The name of the op in short expressions, without the payload."""
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Payload) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    def stored_fields(self) -> tuple[str, ...]:
        """Names of the fields that a file holds: those that are not at their default.

        So a field with a default can be added to an op without changing existing files; see also
        `added_fields`.
        """
        return tuple(
            field.name
            for field in fields(self)  # type: ignore[arg-type]  # every op is a dataclass
            if field.default is MISSING
            or encode(getattr(self, field.name)) != encode(field.default)
        )

    def printed_fields(self) -> tuple[str, ...]:
        """Names of the fields that the text shows: those that are not at their default."""
        return tuple(
            field.name
            for field in fields(self)  # type: ignore[arg-type]  # every op is a dataclass
            if field.default is MISSING or getattr(self, field.name) != field.default
        )

    def __str__(self) -> str:
        names = [name for name in self.printed_fields() if name not in self.body_fields]
        if not names:
            return self.name
        values = ", ".join(f"{name}={payload_text(getattr(self, name))}" for name in names)
        return f"{self.name}[{values}]"

    def __repr__(self) -> str:
        return str(self)


def fields_of_bodies(bodies: Mapping[str, T]) -> dict[str, T | tuple[T, ...]]:
    """The fields of an op whose programs have these labels, which are in order; see `bodies`.

    >>> fields_of_bodies({"cond": 1, "branches[0]": 2, "branches[1]": 3})
    {'cond': 1, 'branches': (2, 3)}
    """
    values: dict[str, T | tuple[T, ...]] = {}
    for label, body in bodies.items():
        name, bracket, _ = label.partition("[")
        before = values.get(name, ())
        values[name] = (*before, body) if bracket and isinstance(before, tuple) else body
    return values


_defined: dict[str, int] = {}
"""How often a class of a name was defined again: it does not run the code of the one before."""


@dataclass_transform(frozen_default=True)
def payload(cls: type[T]) -> type[T]:
    """Make an op class a frozen dataclass whose equality is its identity."""
    frozen = dataclass(frozen=True, eq=False, repr=False)(cls)
    frozen._fields = tuple([field.name for field in fields(frozen)])  # type: ignore[attr-defined,arg-type]
    name = vars(frozen).get("name")
    if isinstance(name, str):
        times = _defined[name] = _defined.get(name, -1) + 1
        frozen.classes = b"@%s.%d" % (name.encode(), times) if times else b""  # type: ignore[attr-defined]
    return frozen
