"""The only derivative-producing transform: from a resolved view to a linear fragment."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from tenferro.autodiff.linear_fragment import LinearFragment, finish
from tenferro.autodiff.rules import linearize_op, require_zero
from tenferro.chainrules import FragmentEmitter, KeyEmitter, RuleContext, Tangent, fresh_pass_id
from tenferro.computegraph import (
    FragmentBuilder,
    GlobalValKey,
    ResolvedView,
    input_key,
    name_of,
    require_values,
    require_view,
)
from tenferro.errors import ADError

Tangents = dict[GlobalValKey, GlobalValKey]


def differentiate(
    view: ResolvedView[Any],
    outputs: Sequence[GlobalValKey],
    wrt: Sequence[GlobalValKey | Hashable],
    *,
    ctx: RuleContext,
) -> LinearFragment[Any]:
    """Tangents of `outputs` as linear functions of fresh tangents of `wrt`.

    Primal values are referred to, not copied. `wrt` are values of the view (or the keys of its
    inputs); nothing behind them is differentiated. An output that no tangent reaches is None.

    Raises:
        ADRuleError: an op on the way has no linearize rule, or a rule breaks its arity.
        ADError: `wrt` names a value twice.
        GraphError: `view` is not a view, or outputs or `wrt` not a list.

    Source: AD architecture, section III.
    """
    require_view("differentiate", view)
    require_values("differentiate", "outputs", outputs)
    require_values("differentiate", "wrt", wrt, keys=True)
    sources = _distinct([_as_key(value) for value in wrt])
    emitter = FragmentEmitter(FragmentBuilder(parents=view.roots), ctx)
    pass_id = fresh_pass_id()
    inputs = [emitter.active_input(Tangent(source, pass_id), source) for source in sources]
    tangents: Tangents = dict(zip(sources, inputs, strict=True))
    _propagate(view, outputs, sources, tangents, emitter)
    results = [tangents.get(output) for output in outputs]
    for output, tangent in zip(outputs, results, strict=True):
        if tangent is not None:
            ctx.declare_like(tangent, output)  # otherwise inferred through the whole fragment
    return finish(emitter.builder, inputs, results)


def push_forward(
    view: ResolvedView[Any],
    outputs: Sequence[GlobalValKey],
    wrt: Sequence[GlobalValKey],
    tangents: Sequence[GlobalValKey | None],
    *,
    ctx: RuleContext,
) -> list[GlobalValKey | None]:
    """Tangents of `outputs` for given tangents of `wrt`: the JVP with its seeds filled in.

    The result is an ordinary value of the graph, simplified as it is built.

    Raises:
        ADRuleError: an op on the way has no linearize rule, or a rule breaks its arity.
        ADError: `wrt` names a value twice, or the number of tangents is not that of values.
    """
    if len(tangents) != len(wrt):
        raise ADError(f"push_forward: {len(tangents)} tangents for {len(wrt)} values of wrt")
    seeds = zip(_distinct(wrt), tangents, strict=True)
    known = {source: tangent for source, tangent in seeds if tangent is not None}
    _propagate(view, outputs, wrt, known, KeyEmitter(ctx))
    return [known.get(output) for output in outputs]


def _propagate(
    view: ResolvedView[Any],
    outputs: Sequence[GlobalValKey],
    leaves: Sequence[GlobalValKey],
    tangents: Tangents,
    emitter: KeyEmitter,
) -> None:
    order, _ = view.topo_order(outputs, leaves=leaves)
    get, may_flow = tangents.get, emitter.may_flow
    for op in order:
        incoming = tuple([get(key) for key in op.inputs])
        if not any(incoming):
            continue
        produced = op.outputs
        emitter.site = op.site
        results = linearize_op(op, produced, incoming, emitter)
        for key, tangent in zip(produced, results, strict=True):
            if tangent is None:
                continue
            if may_flow(tangent):
                tangents[key] = tangent
            else:
                require_zero(op.primitive, "linearize", tangent, emitter)


def _as_key(value: GlobalValKey | Hashable) -> GlobalValKey:
    return value if isinstance(value, GlobalValKey) else input_key(value)


def _distinct(sources: Sequence[GlobalValKey]) -> Sequence[GlobalValKey]:
    if len(set(sources)) != len(sources):
        twice = next(source for source in sources if sources.count(source) > 1)
        raise ADError(f"differentiate: wrt names {name_of(twice)} twice; name each value once")
    return sources
