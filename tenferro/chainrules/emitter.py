"""Where derivative rules put the ops they emit: graph identities alone, or a fragment.

The emitter works out each op's mode from its operands: an op that reads an active value is `Linear`
with the mask that follows, any other is `Primal`, so that a coefficient such as `cos x` is the same
node as the user's own `cos x`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from tenferro.chainrules.linearity import is_zero, linear_by_zeros, linear_in
from tenferro.chainrules.primitive import PrimitiveOp, RuleContext, only_output
from tenferro.computegraph import (
    PRIMAL,
    Derived,
    FragmentBuilder,
    GlobalOpKey,
    GlobalValKey,
    Input,
    Linear,
    OpMode,
    SingleOutputNode,
    op_key,
)
from tenferro.errors import ADRuleError

Operands = tuple[GlobalValKey, ...]


class KeyEmitter:
    """Emits graph keys without a fragment, for derivatives with given seeds. Each node is `Primal`.

    `site` is the place in the user's program that new nodes are recorded with.
    """

    def __init__(self, ctx: RuleContext) -> None:
        self.ctx = ctx  # knows the metadata of values
        self.site: str | None = None

    def emit(self, op: PrimitiveOp, *operands: GlobalValKey) -> GlobalValKey:
        """The output of a single-output op, after the op's own local simplification."""
        folded = op.fold(self, operands)
        if folded is not None:
            return folded
        node = self._apply(op, operands)
        return node if type(node) is SingleOutputNode else only_output(op, node.outputs)

    def emit_all(self, op: PrimitiveOp, *operands: GlobalValKey) -> tuple[GlobalValKey, ...]:
        """All outputs of `op`."""
        if op.n_outputs == 1:
            return (self.emit(op, *operands),)
        return self._apply(op, operands).outputs

    def producer(self, value: GlobalValKey) -> tuple[Any, tuple[GlobalValKey, ...]] | None:
        """The op and operands of a single-output op."""
        return (value.primitive, value.inputs) if type(value) is SingleOutputNode else None

    def order(self, value: GlobalValKey) -> int:
        """The serial of the value; -1 for constants, whose serials depend on earlier programs."""
        if type(value) is SingleOutputNode:
            inputs = value.inputs
        elif isinstance(value, Derived):
            inputs = value.op.inputs
        else:
            return value.serial
        if len(inputs) == 1 and isinstance(inputs[0], Derived):
            inputs = inputs[0].op.inputs  # a constant, or one op on a constant
        return value.serial if inputs else -1

    def may_flow(self, value: GlobalValKey) -> bool:
        """Whether the value may depend on the seeds; True, since keys do not tell."""
        return True

    def is_stray(self, value: GlobalValKey) -> bool:
        """Whether a value that must be linear in the seeds neither depends on them nor is zero."""
        return not self.may_flow(value) and not is_zero(value, KeyEmitter(self.ctx))

    def _apply(self, op: PrimitiveOp, operands: tuple[GlobalValKey, ...]) -> GlobalOpKey:
        return op_key(op, operands, PRIMAL, self.site)


class FragmentEmitter(KeyEmitter):
    """Emits into a fragment under construction, whose builder knows the active values."""

    def __init__(self, builder: FragmentBuilder[Any], ctx: RuleContext) -> None:
        super().__init__(ctx)
        self.builder = builder
        self._is_active = builder.is_active
        self._modes: dict[tuple[bool, ...], OpMode] = {}
        self._linear: set[tuple[PrimitiveOp, tuple[bool, ...]]] = set()

    def active_input(self, key: Hashable, like: GlobalValKey) -> Input:
        """Declare an active input of the fragment, with the metadata of `like`."""
        value = self.builder.input(key, active=True)
        self.ctx.declare_like(value, like)
        return value

    def may_flow(self, value: GlobalValKey) -> bool:
        """Whether the value is active."""
        return self._is_active(value, False)

    def _apply(self, op: PrimitiveOp, operands: tuple[GlobalValKey, ...]) -> GlobalOpKey:
        is_active = self._is_active
        if len(operands) == 2:  # nearly always, and a list takes longer
            mask: tuple[bool, ...] = (is_active(operands[0], False), is_active(operands[1], False))
        else:
            mask = tuple([is_active(value, False) for value in operands])
        mode = self._modes.get(mask) or self._new_mode(mask)
        if mode is not PRIMAL and (op, mask) not in self._linear:  # asked once for each op
            self._require_linear(op, operands, mask)
        return self.builder.apply(op, operands, mode, self.site)

    def _require_linear(self, op: PrimitiveOp, operands: Operands, mask: tuple[bool, ...]) -> None:
        """Raise ADRuleError unless an op is linear in its active operands."""
        emitter = KeyEmitter(self.ctx)
        if linear_in(op, operands, mask, emitter):
            self._linear.add((op, mask))
        elif not self._linear_here(op, operands, mask, emitter):
            error = nonlinear(op, mask)
            if self.site is not None:
                error.add_note(f"recorded at {self.site}")
            raise error

    def _linear_here(
        self, op: PrimitiveOp, operands: Operands, mask: tuple[bool, ...], at: KeyEmitter
    ) -> bool:
        """Whether an op is linear in its active operands by what the others are."""
        return linear_by_zeros(op, operands, mask, at)

    def _new_mode(self, mask: tuple[bool, ...]) -> OpMode:
        """The mode for a mask; one object for all nodes that have it."""
        mode = self._modes[mask] = Linear(mask) if True in mask else PRIMAL
        return mode


def nonlinear(op: PrimitiveOp, active: Sequence[bool]) -> ADRuleError:
    """The error for an op that a rule emits on tangents in which it is not linear."""
    places = [str(place) for place, on in enumerate(active) if on]
    named = f"operand{'s' * (len(places) > 1)} {' and '.join(places)}"
    together = " together" if len(places) > 1 else " alone" if len(active) > 1 else ""
    return ADRuleError(
        f"{op}: is not linear in {named}{together}; what a derivative rule emits must be linear in "
        "the tangents: leave out terms without a tangent, and products of two of them"
    )
