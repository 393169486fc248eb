"""ExtensionOp: the base class of ops outside tenferro's vocabulary."""

from __future__ import annotations

import copy
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, NoReturn, Self, final

from tenferro.chainrules import Emitter, V
from tenferro.errors import InvalidConfigError, TenferroError, UnsupportedADRuleError
from tenferro.exec_ir import Array, encode
from tenferro.family.frozen import plain
from tenferro.family.standard import StandardOps
from tenferro.shape import Dim, DimExpr, DType

OutputMeta = tuple[DType, Sequence[Dim]]
"""Dtype and shape of one output."""


class ExtensionOp(ABC):
    """An op of a third-party package, with its payload.

    Subclasses are frozen dataclasses, named with `@family_id(...)`. Tensor arguments are inputs of
    the op. Everything else that changes a result (axes, modes, tolerances) is a field, and
    therefore part of the payload. Caches, handles and plans belong in the `ExtensionCache` that is
    passed to the runtime. If a field does hold such an object, and does not change a result,
    declare it `field(compare=False)`, with a default.

    `input_count` and `output_count` are fixed for an op. If they vary within a family, they must be
    fields of the payload or follow from these.
    """

    FAMILY_ID: ClassVar[str]

    pointwise: ClassVar[bool] = False
    """Whether each element of the result depends only on the elements at the same position, and all
    inputs have the result's shape. Passes then treat the op as they treat an addition: the layout
    of axes passes through it, and sizes may be rounded up."""

    commutative: ClassVar[bool] = False
    """Whether its two inputs may be exchanged."""

    lowers_named_sizes: ClassVar[bool] = False
    """Whether `lower_to_standard_ops` also takes sizes without a number yet, so that the op can be
    exported for named sizes, and batched by standard ops before sizes are known."""

    undefined: ClassVar[str | None] = None
    """For a derivative: what NaN means in its results where its inputs have none. Eager runtimes
    made with `check_gauge=True` raise it as the text of a `GaugeError`."""

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
        """The family, which fixes the schema and the meaning of the payload."""
        return getattr(type(self), "FAMILY_ID", "")

    def payload(self) -> tuple[object, ...]:
        """The values that distinguish this op from others of its family.

        By default they are the dataclass fields. They may be numbers (NumPy's integers and bools
        become Python's), strings, bytes, dtypes,
        arrays, None, and tuples of these, but not symbolic sizes: an op gets these from its inputs.
        """
        names = self.payload_fields()
        if not names and attributes_of(self):
            raise InvalidConfigError(
                self.family_id,
                f"family_id={self.family_id}: {type(self).__name__} has attributes but no payload; "
                "make it a frozen dataclass, or define payload()",
            )
        return tuple([getattr(self, name) for name in names])

    @classmethod
    def payload_fields(cls) -> tuple[str, ...]:
        """Names of the dataclass fields, except those that are not compared."""
        return tuple([f.name for f in fields(cls) if f.compare]) if is_dataclass(cls) else ()

    @final
    def payload_identity(self) -> bytes:
        """The payload as canonical bytes; the same in every process and version.

        Raises:
            InvalidConfigError: `payload` fails or does not return a tuple, or the payload has a
                value without canonical bytes, or a symbolic size.
        """
        try:
            payload: object = self.payload()
        except TenferroError:
            raise
        except Exception as error:
            raise self._invalid(f"payload() failed: {type(error).__name__}: {error}") from error
        if not isinstance(payload, tuple | list):
            raise self._invalid(f"payload() returned a {type(payload).__name__}; return a tuple")
        try:
            values = plain(tuple(payload))
            if _has_symbol(values):
                raise TypeError("payload: a symbolic size cannot be part of it; pass an input")
            return encode(values)
        except (TypeError, RecursionError) as error:
            raise self._invalid(str(error)) from None

    def _invalid(self, problem: str) -> InvalidConfigError:
        return InvalidConfigError(self.family_id, f"family_id={self.family_id}: {problem}")

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
        """A copy that shares no state with this op."""
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

        Sizes are integers or symbolic expressions; both support `+ - * //` and `==`. The method
        must accept sizes that cannot be compared yet.

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
        """The outputs as standard ops emitted into `builder`, or None if there is no such form.

        This is a rewrite, not an execution: the elements are not available. All sizes are numbers,
        unless the class `lowers_named_sizes`. With `tenferro.extension.inline` it can be written
        with ordinary array functions.
        """
        return None

    def expanded(
        self,
        builder: Emitter[V],
        inputs: Sequence[V],
        input_dtypes: Sequence[DType],
        input_shapes: Sequence[tuple[Dim, ...]],
    ) -> Sequence[V] | None:
        """The outputs as standard ops and ops of other families, or None if there is no such form.

        By default these are the standard ops alone. They are asked for once all sizes are numbers,
        unless the class `lowers_named_sizes`: there is no form before. Executors that do not run
        the family expand its ops, and then those of the other families.
        """
        numbers = all(isinstance(size, int) for shape in input_shapes for size in shape)
        if not numbers and not self.lowers_named_sizes:
            return None
        return self.lower_to_standard_ops(
            StandardOps(builder, self.family_id), inputs, input_dtypes, input_shapes
        )

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
        """The outputs on NumPy arrays. This is the reference implementation."""

    def prune_outputs(self, live: tuple[bool, ...]) -> ExtensionOp | None:
        """An op of the same inputs that returns only the live outputs, in order.

        None if computing fewer outputs is not cheaper.
        """
        return None


def attributes_of(op: object) -> list[str]:
    """The attributes that an instance has, in its `__dict__` and in the `__slots__` of classes."""
    slots: list[str] = []
    for cls in type(op).__mro__:
        given = vars(cls).get("__slots__", ())
        slots += [given] if isinstance(given, str) else given
    held = [name for name in slots if name not in ("__dict__", "__weakref__")]
    return [*getattr(op, "__dict__", {}), *(name for name in held if hasattr(op, name))]


class ReverseOnlyOp(ExtensionOp):
    """An op that stands for tangents until they are transposed: it has a transpose rule, no result.

    The linearize rule of a family emits one if only its vjp is known. Forward mode is then refused.
    """

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """Refused."""
        self.refuse()

    @final
    def refuse(self) -> NoReturn:
        """Raise the error for forward mode."""
        raise UnsupportedADRuleError(
            self.family_id,
            "linearize",
            "stands for tangents that only reverse mode takes: use grad, vjp or jacrev, not jvp, "
            "jacfwd or linearize",
        )


def _has_symbol(value: object) -> bool:
    if isinstance(value, tuple):
        return any(map(_has_symbol, value))
    return isinstance(value, DimExpr)
