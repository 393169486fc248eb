"""Transposition: reverse the active flow of a linear fragment. No new derivative is taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenferro.autodiff.differentiate import finish
from tenferro.autodiff.linear_fragment import LinearFragment
from tenferro.chainrules import (
    Cotangent,
    FragmentEmitter,
    KeyEmitter,
    RuleContext,
    Slots,
    TransposeSite,
    fresh_pass_id,
)
from tenferro.computegraph import FragmentBuilder, GlobalValKey, Linear, OpNode
from tenferro.errors import ADError, ADRuleError

Cotangents = dict[GlobalValKey, GlobalValKey]


def transpose(linear: LinearFragment[Any], *, ctx: RuleContext) -> LinearFragment[Any]:
    """Cotangents of the tangent inputs from fresh cotangents of the tangent outputs.

    Contributions to one tangent are summed by its `GlobalValKey` with the op set's `add`. A tangent output that is None
    has no cotangent input; a tangent input that nothing reaches has output None, a symbolic zero.

    Raises:
        ADRuleError: an op on the active path has no transpose rule, or a rule breaks its arity.

    Source: AD architecture, section III; Radul et al., "You Only Linearize Once", arXiv:2204.10923.
    """
    emitter = FragmentEmitter(FragmentBuilder(parents=(linear.fragment,)), ctx)
    pass_id = fresh_pass_id()
    reached = [(slot, key) for slot, key in enumerate(linear.output_keys) if key is not None]
    keys = [Cotangent(slot, pass_id) for slot, _ in reached]
    inputs = [emitter.active_input(key, like) for key, (_, like) in zip(keys, reached, strict=True)]
    seeds = dict(zip([slot for slot, _ in reached], inputs, strict=True))
    outputs = _reverse(
        linear, [seeds.get(slot) for slot in range(len(linear.tangent_outputs))], emitter
    )
    return finish(emitter.builder, keys, inputs, outputs)


def pull_back(
    linear: LinearFragment[Any], cotangents: Sequence[GlobalValKey | None], *, ctx: RuleContext
) -> list[GlobalValKey | None]:
    """Cotangents of the tangent inputs for given cotangents of the outputs: the VJP with its seeds filled in.

    The result is an ordinary value of the graph, simplified as it is built.
    """
    if len(cotangents) != len(linear.tangent_outputs):
        raise ADError(
            f"pull_back: {len(cotangents)} cotangents for {len(linear.tangent_outputs)} outputs"
        )
    return _reverse(linear, cotangents, KeyEmitter(ctx))


def _reverse(
    linear: LinearFragment[Any], seeds: Sequence[GlobalValKey | None], emitter: KeyEmitter
) -> list[GlobalValKey | None]:
    fragment = linear.fragment
    total: Cotangents = {}
    for key, seed in zip(linear.output_keys, seeds, strict=True):
        if key is not None and seed is not None:
            _accumulate(total, key, seed, emitter)
    for node in reversed(fragment.ops):
        if not isinstance(node.mode, Linear):
            continue  # a coefficient computed on the way; nothing flows through it
        ct = tuple([total.pop(key, None) for key in node.key.outputs])
        if any(ct):
            for key, term in zip(
                node.key.inputs, _transpose_op(node, node.mode, ct, emitter), strict=True
            ):
                if term is not None:
                    _accumulate(total, key, term, emitter)
    return [total.get(key) for key in linear.input_keys]


def _accumulate(
    total: Cotangents, key: GlobalValKey, term: GlobalValKey, emitter: KeyEmitter
) -> None:
    held = total.get(key)
    total[key] = term if held is None else emitter.ctx.adder.add(emitter, held, term)


def _transpose_op(
    node: OpNode[Any], mode: Linear, ct: Slots[GlobalValKey], emitter: KeyEmitter
) -> Slots[GlobalValKey]:
    result: Slots[GlobalValKey] = node.op.transpose_rule(
        TransposeSite(emitter, ct, node.key.inputs, mode.active_mask)
    )
    if len(result) != len(mode.active_mask):
        raise ADRuleError(
            f"{node.op}: its transpose rule returns {len(result)} cotangents for {len(mode.active_mask)} operands"
        )
    for term, active in zip(result, mode.active_mask, strict=True):
        if term is not None and not active:
            raise ADRuleError(
                f"{node.op}: its transpose rule returns a cotangent for a fixed operand"
            )
    return result
