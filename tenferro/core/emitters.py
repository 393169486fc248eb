"""Emitters put ops into graphs, and find out which are linear.

Each pass draws a fresh `pass_id`, so no two passes share an input.

An op is linear if it is its own derivative. So ops do not say in which operands they are linear:
their linearize rules do.

The emitter works out each op's mode from its operands: an op that reads an active value is `Linear`
with the mask that follows, any other is `Primal`, so that a coefficient such as `cos x` is the same
node as the user's own `cos x`.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from tenferro.core.fragment import FragmentBuilder, name_of
from tenferro.core.graph import ResolvedView, resolve_keys
from tenferro.core.keys import (
    PRIMAL,
    Derived,
    GlobalOpKey,
    GlobalValKey,
    Input,
    Linear,
    OpMode,
    SingleOutputNode,
    input_key,
    op_key,
)
from tenferro.core.primitive import Emitter, JvpSite, PrimitiveOp, RuleContext, V, only_output
from tenferro.errors import ADRuleError, TenferroError

__all__ = [
    "Cotangent",
    "FragmentEmitter",
    "KeyEmitter",
    "Tangent",
    "affine_in",
    "fresh_pass_id",
    "is_zero",
    "nonlinear",
    "own_derivative",
]


# Keys of the inputs that AD transforms create.

_pass_ids = itertools.count()


def fresh_pass_id() -> int:
    """A number that no other pass of this process has. Safe between threads."""
    return next(_pass_ids)


@dataclass(frozen=True, slots=True)
class Tangent:
    """The tangent of value `of` in differentiation pass `pass_id`."""

    of: GlobalValKey
    pass_id: int

    def __str__(self) -> str:
        return f"d{self.pass_id}({name_of(self.of)})"


@dataclass(frozen=True, slots=True)
class Cotangent:
    """The cotangent of output number `slot` in transposition pass `pass_id`."""

    slot: int
    pass_id: int

    def __str__(self) -> str:
        return f"ct{self.pass_id}[{self.slot}]"


# Whether what derivative rules emit is linear in tangents.

_NEAR = 3  # ops from a zero to what is zero by it, such as products with a real's imaginary part

Keys = tuple[GlobalValKey, ...]
Site = JvpSite[GlobalValKey]


def own_derivative(op: PrimitiveOp, at: JvpSite[V]) -> bool:
    """Whether the derivative of an op is the op itself.

    Args:
        op: the op. It is taken for linear if nothing is known: it has no linearize rule, or the
            rule needs zeros whose size data decide.
        at: the tangents that are not None are the operands themselves.
    """
    try:
        tangents = op.linearize(at)
    except TenferroError:
        return True
    same = False
    for made, out in zip(tangents, at.out, strict=True):
        if made is out:
            same = True
        elif made is not None:
            return False
    return same


def linear_in(
    op: PrimitiveOp, operands: Keys, active: Sequence[bool], emitter: Emitter[GlobalValKey]
) -> bool:
    """Whether an op is linear in its active operands, whatever the values of the others are."""
    linear = getattr(op, "linear", None)
    return linear is None or bool(linear(_site(op, operands, active, emitter)))


def linear_by_zeros(
    op: PrimitiveOp, operands: Keys, active: Sequence[bool], emitter: Emitter[GlobalValKey]
) -> bool:
    """Whether an op is linear in its active operands since some of the others are zero."""
    both = [on or is_zero(value, emitter) for value, on in zip(operands, active, strict=True)]
    return any(both) and both != list(active) and linear_in(op, operands, both, emitter)


def is_zero(value: GlobalValKey, emitter: Emitter[GlobalValKey], near: int = _NEAR) -> bool:
    """Whether a value is known to be zero: adding it changes nothing, or a zero makes it zero."""
    other = input_key(Tangent(value, fresh_pass_id()))
    emitter.ctx.declare_like(other, value)
    if emitter.emit(emitter.ctx.adder, other, value) is other:
        return True
    producer = emitter.producer(value) if near else None
    if producer is None:
        return False
    op, operands = producer
    zeros = [is_zero(operand, emitter, near - 1) for operand in operands]
    return (any(zeros) or not operands) and linear_in(op, operands, zeros, emitter)


def affine_in(
    op: PrimitiveOp, operands: Keys, active: Sequence[bool], emitter: Emitter[GlobalValKey]
) -> bool:
    """Whether the derivative of an op by its active operands does not depend on them."""
    site = _site(op, operands, active, emitter)
    fresh: list[GlobalValKey | None] = []
    for operand in site.tangent:
        key = None if operand is None else input_key(Tangent(operand, fresh_pass_id()))
        if key is not None:
            emitter.ctx.declare_like(key, operand)
        fresh.append(key)
    made = op.linearize(JvpSite(emitter, operands, site.out, tuple(fresh)))
    view: ResolvedView[PrimitiveOp] = resolve_keys()
    ends = [*operands, *(key for key in fresh if key is not None)]
    nodes, _ = view.topo_order([key for key in made if key is not None], leaves=ends)
    read = {key for node in nodes for key in node.inputs}
    return not any(on and operand in read for operand, on in zip(operands, active, strict=True))


def _site(
    op: PrimitiveOp, operands: Keys, active: Sequence[bool], emitter: Emitter[GlobalValKey]
) -> Site:
    tangents = tuple([v if on else None for v, on in zip(operands, active, strict=True)])
    return JvpSite(emitter, operands, op_key(op, operands, PRIMAL).outputs, tangents)


# Where derivative rules put the ops they emit: graph identities alone, or a fragment.

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
        key = value
        for _ in range(2):  # a constant, or one op on a constant
            if type(key) is SingleOutputNode:
                inputs = key.inputs
            elif isinstance(key, Derived):
                inputs = key.op.inputs
            else:
                return value.serial
            if len(inputs) != 1:
                return value.serial if inputs else -1
            (key,) = inputs
        return value.serial

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
