"""The derivative rules of loops: the linear part of a loop is a loop, and so is its transpose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Self

from tenferro.autodiff import LinearFragment, differentiate, pull_back
from tenferro.chainrules import JvpSite, KeyEmitter, RuleContext, Slots, TransposeSite, V
from tenferro.computegraph import GlobalValKey, resolve_keys
from tenferro.control.graphs import (
    by_role,
    filled,
    fresh_like,
    inner_context,
    linear_in,
    program_of,
    spread,
    with_active_carry,
)
from tenferro.control.interfaces import Loop
from tenferro.control.kept import Round, keep
from tenferro.ops import full, zeros_like
from tenferro.shape import type_of

Linear = LinearFragment[Any]


def linearize(op: Loop, at: JvpSite[V]) -> Slots[V]:
    """The tangents of the results: those of the carry go from round to round.

    A carry is active if a tangent reaches it in any round; which are is a fixed point.
    """
    this, ctx = Round.of(op), inner_context(at.ctx)
    given = [tangent is not None for tangent in at.tangent]

    def tangents_by(active: Sequence[bool]) -> Linear:
        wrt = list(compress(this.inputs, active))
        return differentiate(resolve_keys(), this.outputs, wrt, ctx=ctx)

    active, linear = with_active_carry(given, op.consts, op.carry, tangents_by)
    consts, carry, _ = by_role(active, op.consts, op.carry)
    seed_consts, seed_carry, seed_xs = by_role(linear.input_keys, sum(consts), sum(carry))
    reached = linear.output_keys
    ys = [key for key in reached[op.carry :] if key is not None]
    if not seed_carry and not ys:
        return (None,) * len(reached)
    following = filled(KeyEmitter(ctx), reached[: op.carry], this.carry, carry)
    kept = keep(op, at.emitter, this, at.primal, [*following, *ys], linear.input_keys)
    body = program_of(
        [*kept.consts, *seed_consts, *seed_carry, *kept.xs, *seed_xs], [*following, *ys]
    )
    tangents = [
        full(at.emitter, 0, at.ctx.meta(primal)) if tangent is None else tangent
        for primal, tangent in compress(zip(at.primal, at.tangent, strict=True), active)
    ]
    of_consts, of_carry, of_xs = by_role(tangents, len(seed_consts), len(seed_carry))
    loop = op.like(body, len(kept.consts) + len(seed_consts), len(seed_carry))
    results = at.emitter.emit_all(
        loop, *kept.const_values, *of_consts, *of_carry, *kept.stacks, *of_xs
    )
    return spread(results, [*carry, *(key is not None for key in reached[op.carry :])])


def transpose_rule(op: Loop, at: TransposeSite[V]) -> Slots[V]:
    """The cotangents of the active operands, by a loop in the other direction.

    The cotangents of the carry go from round to round, and so do the sums of those of consts.
    """
    this, ctx = Round.of(op), inner_context(at.ctx)

    def linear_by(active: Sequence[bool]) -> Linear:
        positions = [position for position, on in enumerate(active) if on]
        return linear_in(this.inputs, this.outputs, positions, ctx)

    active, linear = with_active_carry(at.active, op.consts, op.carry, linear_by)
    flow = _Flow.of(op, this, linear, active, at.ct, ctx)
    emitter = KeyEmitter(ctx)
    sums = fresh_like(flow.terms.values(), "sum")
    totals = [
        ctx.adder.add(emitter, total, term)
        for total, term in zip(sums, flow.terms.values(), strict=True)
    ]
    ending = [
        zeros_like(emitter, seed) if flow.before.get(leaf) is None else flow.before[leaf]
        for leaf, seed in flow.carry.items()
    ]
    outputs = [*ending, *totals, *flow.xs.values()]
    if not outputs:
        return (None,) * len(active)
    seeds = [*flow.carry.values(), *sums, *flow.ys.values()]
    kept = keep(op, at.emitter, this, at.inputs, outputs, seeds, active)
    inputs = [*kept.consts, *flow.carry.values(), *sums, *kept.xs, *flow.ys.values()]
    zeros = [full(at.emitter, 0, type_of(key)) for key in [*flow.carry.values(), *sums]]
    count = len(flow.carry)
    starts = [
        zero if (ct := at.ct[leaf]) is None else ct
        for leaf, zero in zip(flow.carry, zeros, strict=False)
    ]
    arriving = [ct for place in flow.ys if (ct := at.ct[place]) is not None]
    loop = op.like(program_of(inputs, outputs), len(kept.consts), len(zeros), backward=True)
    results = at.emitter.emit_all(
        loop, *kept.const_values, *starts, *zeros[count:], *kept.stacks, *arriving
    )
    places = [*(op.consts + leaf for leaf in flow.carry), *flow.terms, *flow.xs]
    cts = dict(zip(places, results, strict=True))
    return tuple([cts.get(place) if on else None for place, on in enumerate(at.active)])


@dataclass(frozen=True, slots=True)
class _Flow:
    """Where cotangents flow in a round; what no cotangent reaches is not there.

    Attributes:
        carry: by leaf, the cotangent of the carry that the round returns.
        ys: by the place among the results, the cotangent of a y.
        before: by leaf, the cotangent of the carry that the round takes.
        terms: by the place among the operands, what the round adds to the cotangent of a const.
        xs: by the place among the operands, the cotangent of an entry.
    """

    carry: dict[int, GlobalValKey]
    ys: dict[int, GlobalValKey]
    before: dict[int, GlobalValKey]
    terms: dict[int, GlobalValKey]
    xs: dict[int, GlobalValKey]

    @classmethod
    def of(
        cls,
        op: Loop,
        this: Round,
        linear: Linear,
        active: Sequence[bool],
        given: Sequence[object],
        ctx: RuleContext,
    ) -> Self:
        """The flow from the results whose cotangents are `given`.

        Cotangents of further leaves of the carry may arrive round by round: a fixed point.
        """
        split = op.consts + op.carry
        ys = {
            place: fresh_like([key], "ct_y")[0]
            for place, key in enumerate(linear.output_keys)
            if place >= op.carry and given[place] is not None and key is not None
        }
        flags = active[op.consts : split]
        live = [on and ct is not None for on, ct in zip(flags, given, strict=False)]
        while True:
            places = list(compress(range(op.carry), live))
            carry = dict(zip(places, fresh_like(compress(this.carry, live), "ct"), strict=True))
            seeds = [carry.get(leaf) for leaf in range(op.carry)]
            seeds += [ys.get(place) for place in range(op.carry, len(linear.output_keys))]
            pulled = spread(pull_back(linear, seeds, ctx=ctx), active)
            found = {place: key for place, key in enumerate(pulled) if key is not None}
            before = {
                place - op.consts: key for place, key in found.items() if op.consts <= place < split
            }
            wider = [on or leaf in before for leaf, on in enumerate(live)]
            if wider == live:
                terms = {place: key for place, key in found.items() if place < op.consts}
                xs = {place: key for place, key in found.items() if place >= split}
                return cls(carry, ys, before, terms, xs)
            live = wider
