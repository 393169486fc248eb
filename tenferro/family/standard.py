"""The builder that `lower_to_standard_ops` emits into."""

from __future__ import annotations

from typing import Any, Generic

from tenferro.chainrules import Emitter, PrimitiveOp, RuleContext, V
from tenferro.errors import InvalidConfigError


class StandardOps(Generic[V]):
    """The builder into which an extension emits its standard ops. It rejects extension ops."""

    def __init__(self, at: Emitter[V], family_id: str) -> None:
        self._at = at
        self._family_id = family_id

    @property
    def ctx(self) -> RuleContext:
        """The types of values."""
        return self._at.ctx

    def emit(self, op: PrimitiveOp, *operands: V) -> V:
        """The output of a single-output op."""
        self._check(op)
        return self._at.emit(op, *operands)

    def emit_all(self, op: PrimitiveOp, *operands: V) -> tuple[V, ...]:
        """All outputs of `op`."""
        self._check(op)
        return tuple(self._at.emit_all(op, *operands))

    def producer(self, value: V) -> tuple[Any, tuple[V, ...]] | None:
        """The op and operands of a single-output op."""
        return self._at.producer(value)

    def order(self, value: V) -> int:
        """The number of the value."""
        return self._at.order(value)

    def _check(self, op: PrimitiveOp) -> None:
        family: str | None = getattr(op, "family", None)
        if family is not None:
            raise InvalidConfigError(
                self._family_id,
                f"family_id={self._family_id}: lower_to_standard_ops emitted an op of {family}; "
                "it may emit standard ops only",
            )
