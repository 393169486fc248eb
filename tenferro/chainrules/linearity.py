"""Whether what derivative rules emit is linear in tangents.

An op is linear if it is its own derivative. So ops do not say in which operands they are linear:
their linearize rules do.
"""

from __future__ import annotations

from collections.abc import Sequence

from tenferro.chainrules.input_keys import Tangent, fresh_pass_id
from tenferro.chainrules.primitive import Emitter, JvpSite, PrimitiveOp, V
from tenferro.computegraph import (
    PRIMAL,
    GlobalValKey,
    ResolvedView,
    input_key,
    op_key,
    resolve_keys,
)
from tenferro.errors import TenferroError

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
    pairs = list(zip(tangents, at.out, strict=True))
    return any(made is out for made, out in pairs) and all(
        made is None or made is out for made, out in pairs
    )


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
    """Whether a value is seen to be zero: adding it changes nothing, or a zero makes it zero."""
    other = input_key(Tangent(value, fresh_pass_id()))
    emitter.ctx.declare_like(other, value)
    if emitter.ctx.adder.add(emitter, other, value) is other:
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
