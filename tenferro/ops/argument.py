"""Argument: an argument of a function, as a value that differs from every other value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tenferro.chainrules import Batched, BatchSite, Emitter, JvpSite, Slots, TransposeSite, V
from tenferro.exec_ir import payload
from tenferro.ops.base import Unchanged


@payload
class Argument(Unchanged, name="argument"):
    """The operand, as an argument of one call of a function.

    It occurs in graphs only: lowering drops it, so programs do not contain it. `is_open` says
    whether the function is still being traced; it is state and not part of the identity.
    """

    number: int

    is_open: ClassVar[bool]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.mark(is_open=True)

    def mark(self, is_open: bool) -> None:
        """Set whether the function is still being traced."""
        object.__setattr__(self, "is_open", is_open)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The tangent of the operand."""
        return at.tangent

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent of the result."""
        return at.ct

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        """The operand."""
        return ((at.inputs[0], True),)

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V:
        """The operand: a graph that is emitted again does not need the argument."""
        return operands[0]
