"""ExtensionOp: what a family of ops outside the vocabulary says of itself."""

from __future__ import annotations

import copy
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, Self, final

from tenferro.chainrules import Emitter, V
from tenferro.errors import InvalidConfigError
from tenferro.exec_ir import Array, encode
from tenferro.shape import Dim, DimExpr, DType

OutputMeta = tuple[DType, Sequence[Dim]]
"""Dtype and shape of one output."""


class ExtensionOp(ABC):
    """An op that a package of its own brings, with its payload.

    Subclasses are frozen dataclasses, named with `@family_id(...)`. Tensor arguments are inputs of
    the op; everything else that changes a result (axes, modes, tolerances) is a field, and so part
    of the payload. Caches, handles and plans are not: they live in the `ExtensionCache` that a
    runtime is given. A field that holds such a thing all the same, and changes no result, is
    declared `field(compare=False)`, with a default.

    `input_count` and `output_count` are fixed for an op; where they vary within a family they are,
    or follow from, fields of the payload.
    """

    FAMILY_ID: ClassVar[str]

    pointwise: ClassVar[bool] = False
    """Whether each element of the result depends on the elements at its own place alone, and all
    inputs have the result's shape. Passes then treat the op as they treat an addition: the layout
    of axes passes through it, and sizes may be rounded up."""

    commutative: ClassVar[bool] = False
    """Whether its two inputs may be exchanged."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in ("payload_identity", "payload_hash", "payload_eq"):
            if name in cls.__dict__:
                raise TypeError(
                    f"{cls.__name__}: {name} is derived from payload(), so that hash and equality "
                    "cannot disagree; define payload() instead"
                )

    @property
    def family_id(self) -> str:
        """The family: one payload schema with one meaning, whatever the payload."""
        return getattr(type(self), "FAMILY_ID", "")

    def payload(self) -> tuple[object, ...]:
        """All that distinguishes this op from others of its family; the dataclass fields.

        Numbers, strings, bytes, dtypes, arrays, None, and tuples of these. No symbolic sizes: those
        reach an op through its inputs.
        """
        names = self.payload_fields()
        if not names and getattr(self, "__dict__", None):
            raise InvalidConfigError(
                self.family_id,
                f"family_id={self.family_id}: {type(self).__name__} has attributes but no payload; "
                "make it a frozen dataclass, or define payload()",
            )
        return tuple([getattr(self, name) for name in names])

    @classmethod
    def payload_fields(cls) -> tuple[str, ...]:
        """Names of the dataclass fields, but for those that take no part in comparison."""
        return tuple([f.name for f in fields(cls) if f.compare]) if is_dataclass(cls) else ()

    @final
    def payload_identity(self) -> bytes:
        """The payload as canonical bytes; the same in every process and version.

        Raises:
            InvalidConfigError: the payload holds a value that has none, or a symbolic size.
        """
        values = tuple(self.payload())
        try:
            if _has_symbol(values):
                raise TypeError("payload: a symbolic size cannot be part of it; pass an input")
            return encode(values)
        except TypeError as error:
            raise InvalidConfigError(
                self.family_id, f"family_id={self.family_id}: {error}"
            ) from None

    @final
    def payload_hash(self) -> int:
        """A hash of the payload; the same in every process and version."""
        return int.from_bytes(hashlib.sha256(self.payload_identity()).digest()[:8], "big")

    @final
    def payload_eq(self, other: ExtensionOp) -> bool:
        """Whether `other` is of the same family and has an equal payload."""
        return (
            self.family_id == other.family_id
            and self.payload_identity() == other.payload_identity()
        )

    def clone(self) -> Self:
        """A copy that shares nothing with this op."""
        return copy.deepcopy(self)

    @property
    @abstractmethod
    def input_count(self) -> int:
        """How many tensors the op takes."""

    @property
    @abstractmethod
    def output_count(self) -> int:
        """How many tensors the op returns."""

    @abstractmethod
    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """Dtype and shape of each output, from those of the inputs.

        Sizes are integers or symbolic expressions and support `+ - * //` and `==`; the method takes
        both. A size that cannot be compared yet is no error.

        Raises:
            ShapeError, DTypeError: the op cannot take these inputs.
        """

    def lower_to_standard_ops(
        self,
        builder: Emitter[V],
        inputs: Sequence[V],
        input_dtypes: Sequence[DType],
        input_shapes: Sequence[tuple[Dim, ...]],
    ) -> Sequence[V] | None:
        """The outputs as standard ops emitted into `builder`, or None where there is no such form.

        A rewrite, not an execution: it sees no elements. `tenferro.extension.inline` writes it with
        ordinary array functions.
        """
        return None

    def planned(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[int, ...]]
    ) -> ExtensionOp:
        """The op that computes the same, with what it chooses by sizes chosen for these.

        It lets an op that is lowered for constant sizes only be lowered for named ones: where sizes
        are rounded up, the plan for the rounded ones serves all smaller ones.
        """
        return self

    @abstractmethod
    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """The outputs on NumPy arrays: the reference meaning, for direct calls."""

    def prune_outputs(self, live: tuple[bool, ...]) -> ExtensionOp | None:
        """An op of the same inputs that returns the live outputs only, in order.

        None where dropping some gains nothing.
        """
        return None


def _has_symbol(value: object) -> bool:
    if isinstance(value, tuple):
        return any(map(_has_symbol, value))
    return isinstance(value, DimExpr)
