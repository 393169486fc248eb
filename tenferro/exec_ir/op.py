"""One operation of the execution IR."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, TypeVar, dataclass_transform

import numpy as np

from tenferro.errors import GraphError
from tenferro.exec_ir.identity import encode
from tenferro.shape import DimExpr, InputDim, Leaf, TensorMeta, bind, leaves, short_name

Array = np.ndarray[Any, np.dtype[Any]]
T = TypeVar("T")


class Category(enum.Enum):
    """How an instruction is dispatched."""

    SESSION = "session"
    """Runs in a backend session; neighbours run as one segment."""
    HOST = "host"
    """Runs without a backend kernel."""
    BOUNDARY = "boundary"
    """Runs alone, through the backend or an extension's runtime."""


class ExecOp:
    """An op.

    A name, a payload (the dataclass fields), a shape rule, and its meaning on NumPy arrays.

    Subclasses are made with `@payload` and name themselves in the class statement: `class Neg(…,
    name="negate")`.
    """

    name: ClassVar[str]
    category: ClassVar[Category] = Category.SESSION
    n_inputs: int | None = 1
    n_outputs: int = 1
    follows_shapes: ClassVar[bool] = False
    """Whether sizes of the payload follow those of operands, some of which are there for that."""
    identity: bytes

    def __init_subclass__(cls, name: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if name is not None:
            cls.name = name

    def __post_init__(self) -> None:
        values = tuple([getattr(self, field) for field in self.payload_fields()])
        object.__setattr__(self, "identity", b"%s%s" % (self.name.encode(), encode(values)))

    @classmethod
    def payload_fields(cls) -> tuple[str, ...]:
        """Names of the payload's fields."""
        return tuple(field.name for field in fields(cls))  # type: ignore[arg-type]  # every op is a dataclass

    def infer(self, *metas: Any, **_: Any) -> TensorMeta:
        """Metadata of the output from that of the operands.

        A typed error when the op cannot take them.
        """
        raise AssertionError(f"{self.name}: has neither infer nor infer_all")

    def infer_all(self, metas: Sequence[TensorMeta]) -> tuple[TensorMeta, ...]:
        """Metadata of all outputs."""
        self.check_arity(len(metas))
        return (self.infer(*metas),)

    def numpy(self, *arrays: Any, **_: Any) -> Array:
        """The meaning of a single-output op: what every executor must compute."""
        raise AssertionError(f"{self.name}: has neither numpy nor evaluate")

    def evaluate(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """The outputs on NumPy arrays."""
        return (self.numpy(*inputs),)

    def resolved(self, shapes: Sequence[tuple[int, ...]]) -> ExecOp:
        """The op to dispatch, on its first operands, where all operands have these shapes."""
        return self

    def check_arity(self, count: int) -> None:
        """Raise GraphError unless the op takes `count` operands."""
        if self.n_inputs is not None and count != self.n_inputs:
            raise GraphError(f"{self.name}: takes {self.n_inputs} operands, got {count}")

    def symbols(self) -> set[Leaf]:
        """The symbols of the program that the payload mentions, without sizes of operands."""
        found = [leaf for field in self.payload_fields() for leaf in _symbols(getattr(self, field))]
        return {leaf for leaf in found if not isinstance(leaf, InputDim)}

    def bind(self: T, sizes: dict[Leaf, int]) -> T:
        """The op with symbols of its payload replaced by sizes."""
        assert isinstance(self, ExecOp)
        if not self.symbols():
            return self
        values = {field: _bind(getattr(self, field), sizes) for field in self.payload_fields()}
        return type(self)(**values)

    @property
    def label(self) -> str:
        """What the op is called in short expressions: its name, without the payload."""
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecOp) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)

    def printed_fields(self) -> tuple[str, ...]:
        """Names of the fields that the text shows: those that are not at their default."""
        return tuple(
            field.name
            for field in fields(self)  # type: ignore[arg-type]  # every op is a dataclass
            if field.default is MISSING or getattr(self, field.name) != field.default
        )

    def __str__(self) -> str:
        names = self.printed_fields()
        if not names:
            return self.name
        values = ", ".join(f"{field}={payload_text(getattr(self, field))}" for field in names)
        return f"{self.name}[{values}]"

    def __repr__(self) -> str:
        return str(self)


@dataclass_transform(frozen_default=True)
def payload(cls: type[T]) -> type[T]:
    """Make an op class a frozen dataclass whose equality is its identity."""
    return dataclass(frozen=True, eq=False, repr=False)(cls)


def payload_text(value: object) -> str:
    """A payload value as `parse_exec` reads it back."""
    match value:
        case np.dtype():
            return short_name(value)
        case tuple():
            inner = ", ".join(payload_text(item) for item in value)
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        case np.ndarray():
            return (
                payload_text(value.item())
                if value.ndim == 0
                else f"[{', '.join(payload_text(row) for row in value)}]"
            )
        case np.generic():
            return payload_text(value.item())
        case DimExpr():
            return str(value)
        case _:
            return repr(value)


def _symbols(value: object) -> set[Leaf]:
    match value:
        case DimExpr():
            return leaves(value)
        case tuple():
            return {leaf for item in value for leaf in _symbols(item)}
        case _:
            return set()


def _bind(value: object, sizes: dict[Leaf, int]) -> object:
    match value:
        case DimExpr():
            return bind(value, sizes)
        case tuple():
            return tuple(_bind(item, sizes) for item in value)
        case _:
            return value
