"""Where derivative rules put the ops they emit: graph identities alone, or a fragment.

The emitter works out each op's mode from its operands: an op that reads an active value is `Linear`
with the mask that follows, any other is `Primal`, so that a coefficient such as `cos x` is the same
node as the user's own `cos x`.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from tenferro.chainrules.primitive import PrimitiveOp, RuleContext
from tenferro.computegraph import (
    PRIMAL,
    Derived,
    FragmentBuilder,
    GlobalValKey,
    Input,
    Linear,
    OpMode,
    op_key,
)


class KeyEmitter:
    """Emits by making identities alone, for derivatives with given seeds. Each node is `Primal`.

    `site` is where in the user's program what is emitted next comes from; new nodes carry it.
    """

    def __init__(self, ctx: RuleContext) -> None:
        self._ctx = ctx
        self.site: str | None = None

    @property
    def ctx(self) -> RuleContext:
        """The metadata of values."""
        return self._ctx

    def emit(self, op: PrimitiveOp, *operands: GlobalValKey) -> GlobalValKey:
        """Output 0 of `op`, after the op's own local simplification."""
        folded = op.fold(self, operands)
        return folded if folded is not None else self._add(op, operands)[0]

    def emit_all(self, op: PrimitiveOp, *operands: GlobalValKey) -> tuple[GlobalValKey, ...]:
        """All outputs of `op`."""
        return (self.emit(op, *operands),) if op.n_outputs == 1 else self._add(op, operands)

    def producer(self, value: GlobalValKey) -> tuple[Any, tuple[GlobalValKey, ...]] | None:
        """The op and operands of a single-output op."""
        if not isinstance(value, Derived) or value.op.primitive.n_outputs != 1:
            return None
        return value.op.primitive, value.op.inputs

    def order(self, value: GlobalValKey) -> int:
        """Older values come first, and constants before all: how old they are is history."""
        return -1 if _is_constant(value) else value.serial

    def may_flow(self, value: GlobalValKey) -> bool:
        """Whether the value may depend on the seeds. Of keys alone that is not known: yes."""
        return True

    def _add(self, op: PrimitiveOp, operands: tuple[GlobalValKey, ...]) -> tuple[GlobalValKey, ...]:
        return op_key(op, operands, site=self.site).outputs


class FragmentEmitter(KeyEmitter):
    """Emits into a fragment under construction and keeps track of which values are active."""

    def __init__(self, builder: FragmentBuilder[Any], ctx: RuleContext) -> None:
        super().__init__(ctx)
        self.builder = builder
        self._active: set[GlobalValKey] = set()
        self._modes: dict[tuple[bool, ...], OpMode] = {}

    def active_input(self, key: Hashable, like: GlobalValKey) -> Input:
        """Declare an active input of the fragment, with the metadata of `like`."""
        value = self.builder.input(key)
        self._ctx.declare_like(value, like)
        self._active.add(value)
        return value

    def may_flow(self, value: GlobalValKey) -> bool:
        """Whether the value is active."""
        return value in self._active

    def _add(self, op: PrimitiveOp, operands: tuple[GlobalValKey, ...]) -> tuple[GlobalValKey, ...]:
        active = self._active
        mode = self._mode(tuple([value in active for value in operands]))
        outputs = self.builder.add(op, operands, mode, self.site)
        if mode is not PRIMAL:
            active.update(outputs)
        return outputs

    def _mode(self, mask: tuple[bool, ...]) -> OpMode:
        """The mode for a mask; one object for all nodes that have it."""
        mode = self._modes.get(mask)
        if mode is None:
            mode = self._modes[mask] = Linear(mask) if True in mask else PRIMAL
        return mode


def _is_constant(value: GlobalValKey) -> bool:
    """Whether a value is a constant, or made of one in a single step."""
    if not isinstance(value, Derived):
        return False
    inputs = value.op.inputs
    if len(inputs) == 1 and isinstance(inputs[0], Derived):
        inputs = inputs[0].op.inputs
    return not inputs
