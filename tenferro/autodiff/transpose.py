"""Transposition: reverse the active flow of a linear fragment. No new derivative is taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenferro.autodiff.linear_fragment import LinearFragment, finish
from tenferro.autodiff.rules import require_zero, transpose_op
from tenferro.chainrules import (
    Cotangent,
    FragmentEmitter,
    KeyEmitter,
    RuleContext,
    Slots,
    fresh_pass_id,
)
from tenferro.computegraph import FragmentBuilder, GlobalValKey, Linear, SingleOutputNode
from tenferro.errors import ADError, GraphError

Cotangents = dict[GlobalValKey, GlobalValKey]


def transpose(linear: LinearFragment[Any], *, ctx: RuleContext) -> LinearFragment[Any]:
    """Cotangents of the tangent inputs from fresh cotangents of the tangent outputs.

    Contributions to one tangent are summed by its `GlobalValKey` with the op set's `add`. A tangent
    output that is None has no cotangent input; a tangent input that nothing reaches has output
    None, a symbolic zero.

    Raises:
        ADRuleError: an op on the active path has no transpose rule, or a rule breaks its arity.

    Source: AD architecture, section III; Radul et al., "You Only Linearize Once", arXiv:2204.10923.
    """
    if not isinstance(linear, LinearFragment):
        raise GraphError(
            f"transpose: takes a linear fragment, got a {type(linear).__name__}; "
            "pass what differentiate returned, not its .fragment"
        )
    emitter = FragmentEmitter(FragmentBuilder(parents=(linear.fragment,)), ctx)
    pass_id = fresh_pass_id()
    seeds = [
        None if tangent is None else emitter.active_input(Cotangent(slot, pass_id), tangent)
        for slot, tangent in enumerate(linear.output_keys)
    ]
    outputs = _reverse(linear, seeds, emitter)
    return finish(emitter.builder, [seed for seed in seeds if seed is not None], outputs)


def pull_back(
    linear: LinearFragment[Any], cotangents: Sequence[GlobalValKey | None], *, ctx: RuleContext
) -> list[GlobalValKey | None]:
    """Cotangents of the tangent inputs for given cotangents of the outputs.

    This is the VJP with its seeds filled in. The result is an ordinary value of the graph,
    simplified as it is built.

    Raises:
        ADRuleError: an op on the active path has no transpose rule, or a rule breaks its arity.
        ADError: the number of cotangents is not that of outputs.
    """
    if len(cotangents) != len(linear.tangent_outputs):
        raise ADError(
            f"pull_back: {len(cotangents)} cotangents for {len(linear.tangent_outputs)} outputs"
        )
    return _reverse(linear, cotangents, KeyEmitter(ctx))


def _reverse(
    linear: LinearFragment[Any], seeds: Sequence[GlobalValKey | None], emitter: KeyEmitter
) -> list[GlobalValKey | None]:
    total: Cotangents = {}
    for key, seed in zip(linear.output_keys, seeds, strict=True):
        if key is not None and seed is not None:
            _accumulate(total, key, seed, emitter)
    for node in reversed(linear.fragment.nodes):
        if not isinstance(node.mode, Linear):
            continue  # a coefficient, which does not depend on the tangents
        if type(node) is SingleOutputNode:
            ct: Slots[GlobalValKey] = (total.pop(node, None),)
        else:
            ct = tuple([total.pop(key, None) for key in node.outputs])
        if not any(ct):
            continue
        emitter.site = node.site
        terms = transpose_op(node, node.mode, ct, emitter)
        for key, term in zip(node.inputs, terms, strict=True):
            if term is not None and not _accumulate(total, key, term, emitter):
                require_zero(node.primitive, "transpose", term, emitter)
    return [total.get(key) for key in linear.input_keys]


def _accumulate(
    total: Cotangents, key: GlobalValKey, term: GlobalValKey, emitter: KeyEmitter
) -> bool:
    """Add a term to the cotangent of a value; False if it does not depend on any cotangent."""
    ct = total.pop(key, None)
    if ct is not None:
        term = emitter.ctx.adder.add(emitter, ct, term)
    if emitter.may_flow(term):
        total[key] = term
        return True
    return ct is not None  # terms may cancel
