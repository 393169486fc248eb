"""Rules that many ops share.

They handle None, the symbolic zero, so that rules do not have to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tenferro.chainrules.primitive import Emitter, JvpSite, PrimitiveOp, Slots, TransposeSite, V


def add_terms(emitter: Emitter[V], terms: Iterable[V | None]) -> V | None:
    """The sum of the terms that are not None, with the op set's `add`; None when there are none."""
    total: V | None = None
    for term in terms:
        if term is not None:
            total = term if total is None else emitter.ctx.adder.add(emitter, total, term)
    return total


def multilinear(at: JvpSite[V], op: PrimitiveOp) -> Slots[V]:
    """Linearization of a single-output op that is linear in each operand alone, such as a product.

    One term for each active operand: the op itself with that operand replaced by its tangent.
    """
    terms = [
        at.emit(op, *at.primal[:index], tangent, *at.primal[index + 1 :])
        for index, tangent in enumerate(at.tangent)
        if tangent is not None
    ]
    return (add_terms(at.emitter, terms),)


def jointly_linear(at: JvpSite[V], op: PrimitiveOp, zeros_like: Callable[[V], V]) -> Slots[V]:
    """Linearization of an op that is linear in all operands together, such as a concatenation.

    The op itself on the tangents, with explicit zeros for those that are None.
    """
    tangents = [
        zeros_like(primal) if tangent is None else tangent
        for primal, tangent in zip(at.primal, at.tangent, strict=True)
    ]
    return at.emitter.emit_all(op, *tangents)


def chain(at: JvpSite[V], *partials: Callable[[V], V]) -> Slots[V]:
    """Linearization of a single-output op as a sum of one term for each operand.

    `partials[i]` takes the tangent of operand i to its contribution; it is not called for a
    symbolic zero, so that its coefficients are only built where they are needed.
    """
    emitter = at.emitter
    total: V | None = None
    for partial, tangent in zip(partials, at.tangent, strict=True):
        if tangent is not None:
            term = partial(tangent)
            total = term if total is None else emitter.ctx.adder.add(emitter, total, term)
    return (total,)


def each_active(at: TransposeSite[V], *pullbacks: Callable[[V], V | None]) -> Slots[V]:
    """Transposition of a single-output op.

    `pullbacks[i]` takes the cotangent to that of operand i, if that is active.
    """
    ct = at.ct[0]
    if ct is None:
        return (None,) * len(at.active)
    return tuple(
        [
            pullback(ct) if active else None
            for pullback, active in zip(pullbacks, at.active, strict=True)
        ]
    )
