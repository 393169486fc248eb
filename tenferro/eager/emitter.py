"""An emitter that computes each op immediately, for functions that cannot be planned as a whole."""

from __future__ import annotations

from typing import Any, Protocol

from tenferro.chainrules import PrimitiveOp, only_output
from tenferro.eager.tensor import EagerTensor
from tenferro.ops import ADD
from tenferro.shape import TensorMeta


class Invoker(Protocol):
    """Computes single ops."""

    def invoke(self, op: Any, *operands: EagerTensor) -> tuple[EagerTensor, ...]:
        """The outputs of one op."""


class EagerContext:
    """Metadata of eager tensors: their types."""

    adder: PrimitiveOp = ADD

    def meta(self, value: EagerTensor) -> TensorMeta:
        """The type of a tensor."""
        return value.meta

    def declare_like(self, value: EagerTensor, like: EagerTensor) -> None:
        """Does nothing: a tensor has its type."""

    def registered_rule(self, family_id: str) -> None:
        """None: this emitter does not apply derivative rules."""
        return


class EagerEmitter:
    """Computes each op as it is emitted, and records it like any other op."""

    def __init__(self, invoker: Invoker) -> None:
        self._invoker = invoker

    @property
    def ctx(self) -> EagerContext:
        """The metadata of values."""
        return _CONTEXT

    def emit(self, op: PrimitiveOp, *operands: EagerTensor) -> EagerTensor:
        """The output of a single-output op."""
        return only_output(op, self._invoker.invoke(op, *operands))

    def emit_all(self, op: PrimitiveOp, *operands: EagerTensor) -> tuple[EagerTensor, ...]:
        """All outputs of the op."""
        return self._invoker.invoke(op, *operands)

    def producer(self, value: EagerTensor) -> None:
        """None: the op that computed a value is not looked up."""
        return

    def order(self, value: EagerTensor) -> int:
        """0 for all values: operands are not reordered."""
        return 0


_CONTEXT = EagerContext()
