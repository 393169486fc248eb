"""The derivative rules of loops: the linear part of a loop is a loop, and so is its transpose."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any, TypeVar

from tenferro.autodiff import LinearFragment, differentiate, pull_back
from tenferro.chainrules import JvpSite, KeyEmitter, Slots, TransposeSite, V
from tenferro.computegraph import GlobalValKey, resolve_keys
from tenferro.control.graphs import (
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

T = TypeVar("T")
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
    consts, carry, _ = _by_role(op, active)
    seed_consts, seed_carry, seed_xs = _split(linear.input_keys, sum(consts), sum(carry))
    reached = linear.output_keys
    ys = [key for key in reached[op.carry :] if key is not None]
    if not seed_carry and not ys:
        return (None,) * len(reached)
    emitter = KeyEmitter(ctx)
    following = [
        zeros_like(emitter, start) if key is None else key
        for start, key in compress(zip(this.carry, reached, strict=False), carry)
    ]
    kept = keep(op, at.emitter, this, at.primal, [*following, *ys], linear.input_keys)
    body = program_of(
        [*kept.consts, *seed_consts, *seed_carry, *kept.xs, *seed_xs], [*following, *ys]
    )
    tangents = [
        full(at.emitter, 0, at.ctx.meta(primal)) if tangent is None else tangent
        for primal, tangent in compress(zip(at.primal, at.tangent, strict=True), active)
    ]
    of_consts, of_carry, of_xs = _split(tangents, len(seed_consts), len(seed_carry))
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
    consts, carry, xs = _by_role(op, active)
    emitter = KeyEmitter(ctx)
    ct_carry = fresh_like(compress(this.carry, carry), "ct_carry")
    received = [
        ct is not None and key is not None
        for ct, key in zip(at.ct, linear.output_keys, strict=True)
    ]
    ct_ys = fresh_like(compress(this.ys, received[op.carry :]), "ct_y")
    seeds = [*spread(ct_carry, carry), *spread(ct_ys, received[op.carry :])]
    pulled = pull_back(linear, seeds, ctx=ctx)
    of_consts, of_carry, of_xs = _split(pulled, sum(consts), sum(carry))
    sums = fresh_like(compress(this.consts, consts), "sum")
    totals = [_added(emitter, total, term) for total, term in zip(sums, of_consts, strict=True)]
    ending = [
        zeros_like(emitter, ct) if key is None else key
        for ct, key in zip(ct_carry, of_carry, strict=True)
    ]
    outputs = [*ending, *totals, *(key for key in of_xs if key is not None)]
    if not outputs:
        return (None,) * len(active)
    kept = keep(op, at.emitter, this, at.inputs, outputs, [*ct_carry, *sums, *ct_ys], active)
    body = program_of([*kept.consts, *ct_carry, *sums, *kept.xs, *ct_ys], outputs)
    starts = [
        full(at.emitter, 0, type_of(key)) if ct is None else ct
        for ct, key in compress(zip(at.ct, this.carry, strict=False), carry)
    ]
    stacked = zip(at.ct, received, strict=True)
    arriving = [ct for ct, on in list(stacked)[op.carry :] if ct is not None and on]
    zeros = [full(at.emitter, 0, type_of(key)) for key in sums]
    loop = op.like(body, len(kept.consts), len(starts) + len(zeros), backward=True)
    results = at.emitter.emit_all(
        loop,
        *kept.const_values,
        *starts,
        *zeros,
        *kept.stacks,
        *arriving,
    )
    end_carry, end_consts, ys = _split(results, len(starts), len(zeros))
    of_operands = [*spread(end_consts, consts), *spread(end_carry, carry)]
    of_operands += spread(spread(ys, [key is not None for key in of_xs]), xs)
    return tuple(ct if on else None for ct, on in zip(of_operands, at.active, strict=True))


def _by_role(op: Loop, flags: Sequence[bool]) -> tuple[list[bool], list[bool], list[bool]]:
    """Flags of the operands: of the consts, the carry and the xs."""
    return _split(flags, op.consts, op.carry)


def _split(values: Sequence[T], first: int, second: int) -> tuple[list[T], list[T], list[T]]:
    """The `first` values, the `second` ones after them, and the others."""
    end = first + second
    return list(values[:first]), list(values[first:end]), list(values[end:])


def _added(emitter: KeyEmitter, total: GlobalValKey, term: GlobalValKey | None) -> GlobalValKey:
    return total if term is None else emitter.ctx.adder.add(emitter, total, term)
