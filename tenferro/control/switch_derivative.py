"""The derivative rules of choices: the linear part of a choice is a choice of linear parts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

from tenferro.autodiff import differentiate, pull_back
from tenferro.chainrules import JvpSite, KeyEmitter, Slots, TransposeSite, V
from tenferro.computegraph import GlobalValKey, resolve_keys
from tenferro.control.branches import Branches, Part, chosen_part
from tenferro.control.graphs import filled, fresh_like, inner_context, linear_in, spread
from tenferro.control.interfaces import Choice

Found = Sequence[GlobalValKey | None]


def linearize(op: Choice, at: JvpSite[V]) -> Slots[V]:
    """The tangents of the results: those that the chosen branch has."""
    these, ctx = Branches.of(op), inner_context(at.ctx)
    active = [tangent is not None for tangent in at.tangent[1:]]
    wrt = list(compress(these.inputs, active))
    linear = [differentiate(resolve_keys(), outputs, wrt, ctx=ctx) for outputs in these.outputs]
    reached = _in_any([part.output_keys for part in linear])
    if not any(reached):
        return (None,) * len(reached)
    emitter = KeyEmitter(ctx)
    parts = [
        Part(filled(emitter, part.output_keys, outputs, reached), part.input_keys)
        for part, outputs in zip(linear, these.outputs, strict=True)
    ]
    tangents = [tangent for tangent in at.tangent if tangent is not None]
    results = chosen_part(op, at.emitter, at.primal, these, parts, tangents)
    return spread(results, reached)


def transpose_rule(op: Choice, at: TransposeSite[V]) -> Slots[V]:
    """The cotangents of the active operands: those that the chosen branch gives."""
    these, ctx = Branches.of(op), inner_context(at.ctx)
    active = at.active[1:]
    positions = list(compress(range(len(active)), active))
    arriving = [ct is not None for ct in at.ct]
    pulled: list[Found] = []
    seeds = fresh_like(compress(these.outputs[0], arriving), "ct")
    for outputs in these.outputs:
        linear = linear_in(these.inputs, outputs, positions, ctx)
        pulled.append(pull_back(linear, spread(seeds, arriving), ctx=ctx))
    reached = _in_any(pulled)
    if not any(reached):
        return (None,) * len(at.active)
    emitter = KeyEmitter(ctx)
    like = list(compress(these.inputs, active))
    parts = [Part(filled(emitter, cts, like, reached), seeds) for cts in pulled]
    cts = [ct for ct in at.ct if ct is not None]
    results = chosen_part(op, at.emitter, at.inputs, these, parts, cts, active)
    return (None, *spread(spread(results, reached), active))


def _in_any(found: Sequence[Found]) -> list[bool]:
    """For each place whether some branch has a value there."""
    return [any(key is not None for key in keys) for keys in zip(*found, strict=True)]
