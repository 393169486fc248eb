"""The derivative rules of a family, applied, and what they return checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tenferro.chainrules import Emitter, JvpSite, KeyEmitter, Slots, TransposeSite, V
from tenferro.errors import (
    ADRuleError,
    ExtensionRuleError,
    TenferroError,
    UnsupportedADRuleError,
)
from tenferro.family.batching import differ
from tenferro.family.op import ExtensionOp
from tenferro.family.rules import ExtensionAdRule
from tenferro.shape import TensorMeta


def tangents(op: ExtensionOp, rule: ExtensionAdRule, at: JvpSite[V]) -> Slots[V]:
    """The tangents of the outputs of an op, by its family's linearize rule.

    Raises:
        ExtensionRuleError: the rule does not return one value for each output, of the type of that
            output and linear in the tangents of the operands, or None.
    """
    with _named(op.family_id, "linearize"):
        results = rule.linearize(op, at)
        _check(op.family_id, "linearize", results, at.out, "output", at.emitter)
    return tuple(results)


def cotangents(op: ExtensionOp, rule: ExtensionAdRule, at: TransposeSite[V]) -> Slots[V]:
    """The cotangents of the active operands of an op, by its family's transpose rule.

    Raises:
        ExtensionRuleError: the rule does not return one value for each operand, of the type of that
            operand and linear in the cotangents, or None; or one for an operand that is fixed.
    """
    with _named(op.family_id, "transpose"):
        results = rule.transpose_rule(op, at)
        _check(op.family_id, "transpose", results, at.inputs, "input", at.emitter)
        for place, (term, active) in enumerate(zip(results, at.active, strict=True)):
            if term is not None and not active:
                raise ExtensionRuleError(
                    op.family_id,
                    f"family_id={op.family_id}: its transpose rule returns a cotangent for input "
                    f"{place}, which is fixed; return None there",
                )
    return tuple(results)


@contextmanager
def _named(family: str, kind: str) -> Iterator[None]:
    """Give an error that a rule raises the family of the rule."""
    try:
        yield
    except (ExtensionRuleError, UnsupportedADRuleError) as error:
        error.add_note(f"in the {kind} rule of {family}")
        raise
    except ADRuleError as error:
        text = f"family_id={family}: its {kind} rule: {error}"
        raise ExtensionRuleError(family, text) from error
    except TenferroError as error:
        error.add_note(f"in the {kind} rule of {family}")
        raise
    except Exception as error:
        text = f"family_id={family}: its {kind} rule failed: {type(error).__name__}: {error}"
        if isinstance(error, TypeError | AttributeError | IndexError):
            text += "; compute with values of the site in inline(at, function, *values)"
        raise ExtensionRuleError(family, text) from error


def _check(
    family: str, kind: str, results: Any, like: Sequence[V], place: str, emitter: Emitter[V]
) -> None:
    """Raise ExtensionRuleError unless results are values of the types of others, or None."""
    count = len(like)
    returns = f"family_id={family}: its {kind} rule returns"
    if not isinstance(results, tuple | list) or len(results) != count:
        got = f"{len(results)} values" if isinstance(results, tuple | list) else "one value"
        raise ExtensionRuleError(
            family, f"{returns} {got}; return a tuple of {count}, one for each {place}"
        )
    for number, (result, similar) in enumerate(zip(results, like, strict=True)):
        problem = None if result is None else _problem(result, similar, emitter)
        if problem is not None:
            raise ExtensionRuleError(family, f"{returns} for {place} {number} {problem}")


def _problem(value: Any, like: Any, emitter: Any) -> str | None:
    """What is wrong with a value that must have the type of another one; None if nothing is."""
    expected: TensorMeta = emitter.ctx.meta(like)
    try:
        meta: TensorMeta = emitter.ctx.meta(value)
    except (AttributeError, TypeError):
        return f"a {type(value).__name__}, which is not a value of the site"
    fits = meta.dtype == expected.dtype and meta.rank == expected.rank
    if not fits or any(map(differ, meta.extents, expected.extents)):
        return f"{meta}, which must be {expected}"
    if isinstance(emitter, KeyEmitter) and emitter.is_stray(value):
        return (
            "a value that does not depend on those it is given; it must be linear in them: return "
            "None for a zero"
        )
    return None
