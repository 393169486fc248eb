"""A check that the ops an op set's rules emit have rules themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tenferro.autodiff.differentiate import differentiate
from tenferro.autodiff.transpose import transpose
from tenferro.chainrules import RuleContext
from tenferro.computegraph import Fragment, GlobalValKey, ResolvedView, op_key, resolve_keys


def check_closure(
    applications: Iterable[tuple[Any, Sequence[GlobalValKey], Sequence[GlobalValKey]]],
    *,
    ctx: RuleContext,
) -> set[type]:
    """Run every rule that the given ops can lead to; returns the types of all ops that occur.

    Each application is an op, its input keys, and those of them to differentiate by. The op is
    linearized and transposed; then the results are differentiated in turn, by their tangents too,
    until no op of a new type turns up.

    Raises:
        ADRuleError: some op that a rule emitted lacks a rule; the error names it.
    """
    view: ResolvedView[Any] = resolve_keys()
    met: set[type] = set()
    pending: list[tuple[GlobalValKey, Sequence[GlobalValKey]]] = []
    for op, inputs, wrt in applications:
        met.add(type(op))
        pending.extend((output, wrt) for output in op_key(op, tuple(inputs)).outputs)
    while pending:
        output, wrt = pending.pop()
        linear = differentiate(view, [output], wrt, ctx=ctx)
        if linear.tangent_outputs == (None,):
            continue
        reverse = transpose(linear, ctx=ctx)
        emitted = _op_types(linear.fragment) | _op_types(reverse.fragment)
        if emitted <= met:
            continue
        met |= emitted
        further = (*wrt, *linear.input_keys, *reverse.input_keys)
        results = (*linear.output_keys, *reverse.output_keys)
        pending.extend((key, further) for key in results if key is not None)
    return met


def _op_types(fragment: Fragment[Any]) -> set[type]:
    return {type(node.primitive) for node in fragment.nodes}
