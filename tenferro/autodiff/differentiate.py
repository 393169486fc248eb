"""The only derivative-producing transform: from a resolved view to a fragment linear in fresh tangents."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, cast

from tenferro.autodiff.linear_fragment import LinearFragment
from tenferro.chainrules import (
    FragmentEmitter,
    JvpSite,
    KeyEmitter,
    PrimitiveOp,
    RuleContext,
    Slots,
    Tangent,
    fresh_pass_id,
)
from tenferro.computegraph import (
    FragmentBuilder,
    GlobalOpKey,
    GlobalValKey,
    ResolvedView,
    input_key,
)
from tenferro.errors import ADError, ADRuleError

Tangents = dict[GlobalValKey, GlobalValKey]


def differentiate(
    view: ResolvedView[Any],
    outputs: Sequence[GlobalValKey],
    wrt: Sequence[GlobalValKey | Hashable],
    *,
    ctx: RuleContext,
) -> LinearFragment[Any]:
    """Tangents of `outputs` as linear functions of fresh tangents of `wrt`.

    Primal values are referred to, not copied. `wrt` are values of the view (or the keys of its inputs); nothing behind
    them is differentiated. An output that no tangent reaches is None.

    Raises:
        ADRuleError: an op on the way has no linearization rule, or a rule breaks its arity.
        ADError: `wrt` names a value twice.

    Source: AD architecture, section III.
    """
    sources = _distinct([_as_key(value) for value in wrt])
    emitter = FragmentEmitter(FragmentBuilder(parents=view.roots), ctx)
    pass_id = fresh_pass_id()
    keys = [Tangent(source, pass_id) for source in sources]
    tangents = {
        source: emitter.active_input(key, source) for source, key in zip(sources, keys, strict=True)
    }
    inputs = tuple(tangents[source] for source in sources)
    _propagate(view, outputs, tangents, emitter)
    return finish(emitter.builder, keys, inputs, [tangents.get(output) for output in outputs])


def push_forward(
    view: ResolvedView[Any],
    outputs: Sequence[GlobalValKey],
    wrt: Sequence[GlobalValKey],
    tangents: Sequence[GlobalValKey | None],
    *,
    ctx: RuleContext,
) -> list[GlobalValKey | None]:
    """Tangents of `outputs` for given tangents of `wrt`: the JVP with its seeds filled in.

    The result is an ordinary value of the graph, and with seeds such as 1 it is simplified as it is built.
    """
    seeds = zip(_distinct(wrt), tangents, strict=True)
    known = {source: tangent for source, tangent in seeds if tangent is not None}
    _propagate(view, outputs, known, KeyEmitter(ctx), leaves=wrt)
    return [known.get(output) for output in outputs]


def finish(
    builder: FragmentBuilder[Any],
    keys: Sequence[Hashable],
    inputs: Sequence[GlobalValKey],
    outputs: Sequence[GlobalValKey | None],
) -> LinearFragment[Any]:
    """Close a fragment under construction into a `LinearFragment`."""
    fragment = builder.build([output for output in outputs if output is not None])
    return LinearFragment(
        fragment,
        tuple((key, builder.local_id(value)) for key, value in zip(keys, inputs, strict=True)),
        tuple(None if output is None else builder.local_id(output) for output in outputs),
    )


def _propagate(
    view: ResolvedView[Any],
    outputs: Sequence[GlobalValKey],
    tangents: Tangents,
    emitter: KeyEmitter,
    leaves: Sequence[GlobalValKey] = (),
) -> None:
    order, _ = view.topo_order(outputs, leaves=leaves or tuple(tangents))
    get = tangents.get
    for op in order:
        incoming = tuple([get(key) for key in op.inputs])
        if any(incoming):
            for key, tangent in zip(op.outputs, _linearize(op, incoming, emitter), strict=True):
                if tangent is not None:
                    tangents[key] = tangent


def _linearize(
    op: GlobalOpKey, incoming: Slots[GlobalValKey], emitter: KeyEmitter
) -> Slots[GlobalValKey]:
    primitive = cast(PrimitiveOp, op.primitive)
    result = primitive.linearize(JvpSite(emitter, op.inputs, op.outputs, incoming))
    if len(result) != primitive.n_outputs:
        raise ADRuleError(
            f"{primitive}: its linearize rule returns {len(result)} tangents for {primitive.n_outputs} outputs"
        )
    return result


def _as_key(value: GlobalValKey | Hashable) -> GlobalValKey:
    return value if isinstance(value, GlobalValKey) else input_key(value)


def _distinct(sources: Sequence[GlobalValKey]) -> Sequence[GlobalValKey]:
    if len(set(sources)) != len(sources):
        raise ADError("differentiate: a value is given twice in wrt; name each once")
    return sources
