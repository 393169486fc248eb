"""The derivative rules of checkpointed programs: the forward part is inside the linear one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress

from tenferro.autodiff import differentiate, pull_back
from tenferro.chainrules import Emitter, JvpSite, Slots, TransposeSite, V
from tenferro.computegraph import GlobalValKey, resolve_keys
from tenferro.control.graphs import (
    Keys,
    dependencies,
    fresh_like,
    graph_of,
    inner_context,
    linear_in,
    program_of,
    spread,
)
from tenferro.control.interfaces import Call


def linearize(op: Call, at: JvpSite[V]) -> Slots[V]:
    """The tangents of the results and of the saved values.

    They are computed from the operands and from the saved values; what else they read is computed
    again.
    """
    inputs, outputs = graph_of(op.body)
    active = [tangent is not None for tangent in at.tangent]
    wrt = list(compress(inputs, active))
    linear = differentiate(resolve_keys(), outputs, wrt, ctx=inner_context(at.ctx))
    first = len(outputs) - op.saved
    known = dict(zip(outputs[first:], at.out[first:], strict=True))
    known.update(zip(inputs, at.primal, strict=True))
    tangents = [tangent for tangent in at.tangent if tangent is not None]
    return _emitted(op, at.emitter, known, linear.input_keys, tangents, linear.output_keys)


def transpose_rule(op: Call, at: TransposeSite[V]) -> Slots[V]:
    """The cotangents of the active operands; nothing is computed before those of results arrive."""
    ctx = inner_context(at.ctx)
    inputs, outputs = graph_of(op.body)
    linear = linear_in(inputs, outputs, list(compress(range(len(inputs)), at.active)), ctx)
    arriving = [ct is not None for ct in at.ct]
    seeds = fresh_like(compress(outputs, arriving), "ct")
    pulled = pull_back(linear, spread(seeds, arriving), ctx=ctx)
    known = {
        key: value for key, value, on in zip(inputs, at.inputs, at.active, strict=True) if not on
    }
    cts = [ct for ct in at.ct if ct is not None]
    found = _emitted(op, at.emitter, known, seeds, cts, pulled, transposed=True)
    return spread(found, at.active)


def _emitted(
    op: Call,
    at: Emitter[V],
    known: Mapping[GlobalValKey, V],
    seeds: Keys,
    given: Sequence[V],
    outputs: Sequence[GlobalValKey | None],
    transposed: bool = False,
) -> Slots[V]:
    """The outputs, which are linear in `seeds`, for given values of these, by one op.

    It reads those of the values that are `known` which it needs; its last operands are `given`.
    """
    reached = [key is not None for key in outputs]
    found = [key for key in outputs if key is not None]
    if not found:
        return (None,) * len(outputs)
    needed = dependencies(found, known)
    read = [key for key in known if key in needed]
    call = op.like(program_of([*read, *seeds], found), transposed=transposed)
    results = at.emit_all(call, *(known[key] for key in read), *given)
    return spread(results, reached)
