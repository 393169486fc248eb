"""Elementwise ops, whose operands and result have one type, and their constant folding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tenferro.chainrules import Emitter, V
from tenferro.ops.base import SameType
from tenferro.ops.broadcast_reduce import full, may_repeat, on_scalars, uniform


class Elementwise(SameType):
    """An elementwise op. It folds constants; subclasses add identities in `simplify`."""

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """Fold constants and repeated scalars, order commutative operands, then `simplify`."""
        for operand in operands:
            producer = at.producer(operand)
            if producer is not None and producer[0].seen_through:
                return self._fold_through(at, operands)
        if self.commutative and at.order(operands[0]) > at.order(operands[1]):
            return at.emit(self, operands[1], operands[0])
        return None

    def _fold_through(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        """`fold` for operands with a producer that is `seen_through`."""
        values: Sequence[np.ndarray | None] = [None] * len(operands)
        if any(may_repeat(at, operand) for operand in operands):
            values = [uniform(at, operand) for operand in operands]
            if (repeated := self._on_repeated(at, operands, values)) is not None:
                return repeated
        if self.commutative and at.order(operands[0]) > at.order(operands[1]):
            return at.emit(self, operands[1], operands[0])
        return self.simplify(at, tuple(operands), values)

    def _on_repeated(
        self, at: Emitter[V], operands: Sequence[V], values: Sequence[np.ndarray | None]
    ) -> V | None:
        """The result if every operand is a constant or a repeated scalar, else None."""
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return on_scalars(at, self, operands)
        (meta,) = self.infer_all([at.ctx.meta(operand) for operand in operands])
        with np.errstate(all="ignore"):
            result = self.evaluate(known)[0]
        return None if meta.dims is None else full(at, result, meta)

    def simplify(
        self, at: Emitter[V], operands: tuple[V, ...], values: Sequence[np.ndarray | None]
    ) -> V | None:
        """A simpler value, or None. `values[i]` is the constant that fills operand i, or None.

        Called only if the producer of an operand is `seen_through`.
        """
        return None


def is_value(constant: np.ndarray | None, number: complex) -> bool:
    """Whether a uniform constant is known and is `number`."""
    return constant is not None and bool(constant == number)
