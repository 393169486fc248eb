"""Apply one derivative rule, and check what it returns."""

from __future__ import annotations

from typing import Any

from tenferro.chainrules import JvpSite, KeyEmitter, Slots, TransposeSite
from tenferro.computegraph import GlobalOpKey, GlobalValKey, Linear
from tenferro.errors import ADRuleError


def linearize_op(
    op: GlobalOpKey,
    outputs: tuple[GlobalValKey, ...],
    incoming: Slots[GlobalValKey],
    emitter: KeyEmitter,
) -> Slots[GlobalValKey]:
    """Tangents of the outputs of an op from those of its operands.

    Raises:
        ADRuleError: the op has no linearize rule, or the rule breaks its arity.
    """
    rule = getattr(op.primitive, "linearize", None)
    if rule is None:
        raise ADRuleError(f"{op.primitive}: has no linearize rule")
    result = rule(JvpSite(emitter, op.inputs, outputs, incoming))
    return _checked(op.primitive, "linearize", result, len(outputs), "output")


def transpose_op(
    node: GlobalOpKey, mode: Linear, ct: Slots[GlobalValKey], emitter: KeyEmitter
) -> Slots[GlobalValKey]:
    """Cotangents of the active operands of a linear op from those of its outputs.

    Raises:
        ADRuleError: the op has no transpose rule, or the rule breaks its arity or gives a fixed
            operand a cotangent.
    """
    rule = getattr(node.primitive, "transpose_rule", None)
    if rule is None:
        raise ADRuleError(f"{node.primitive}: has no transpose rule")
    mask = mode.active_mask
    try:
        result = rule(TransposeSite(emitter, ct, node.inputs, mask))
        terms = _checked(node.primitive, "transpose", result, len(mask), "operand")
    except ADRuleError as error:
        if node.site is not None and not getattr(error, "__notes__", None):
            error.add_note(f"recorded at {node.site}")
        raise
    for term, active in zip(terms, mask, strict=True):
        if term is not None and not active:
            raise ADRuleError(
                f"{node.primitive}: its transpose rule returns a cotangent for operand "
                f"{_first_fixed(terms, mask)}, which is fixed; return None there"
            )
    return terms


def require_zero(op: Any, rule: str, value: GlobalValKey, emitter: KeyEmitter) -> None:
    """Check that a value which a rule returned, and which does not depend on its seeds, is zero.

    Raises:
        ADRuleError: it is not.
    """
    if emitter.is_stray(value):
        raise ADRuleError(
            f"{op}: its {rule} rule returns a value that does not depend on those it is given; "
            "it must be linear in them: return None for a zero"
        )


def _first_fixed(terms: Slots[GlobalValKey], mask: tuple[bool, ...]) -> int:
    """The first operand that is fixed but has a cotangent."""
    return next(i for i, term in enumerate(terms) if term is not None and not mask[i])


def _checked(op: Any, rule: str, result: Any, count: int, place: str) -> Slots[GlobalValKey]:
    if isinstance(result, tuple) and len(result) == count:
        return result
    kind = type(result).__name__
    got = f"{len(result)} values" if isinstance(result, tuple) else f"one {kind}"
    raise ADRuleError(
        f"{op}: its {rule} rule returns {got}; return a tuple of {count}, one for each {place}"
    )
