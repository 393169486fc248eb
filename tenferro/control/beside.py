"""The tangents of loops that keep nothing of the rounds: they go along with the carry."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Generic, NamedTuple

from tenferro.autodiff import differentiate
from tenferro.chainrules import JvpSite, Slots, V
from tenferro.computegraph import resolve_keys
from tenferro.control.graphs import (
    Keys,
    by_role,
    filled,
    inner_emitter,
    program_of,
    spread,
    with_active_carry,
)
from tenferro.control.interfaces import Loop
from tenferro.control.kept import Round
from tenferro.exec_ir import ExecProgram
from tenferro.ops import zeros_like


class Pairs(NamedTuple, Generic[V]):
    """A loop of pairs: the values of rounds, and the tangents of the active ones.

    In each role, which are consts, carry and xs, and among the results, the values come first.

    Attributes:
        body: what one round computes.
        consts, carry: the tangents among the inputs of the body.
        operands: what the loop takes.
        reached: which results of a round have a tangent.
    """

    body: ExecProgram
    consts: Keys
    carry: Keys
    operands: Sequence[V]
    reached: Sequence[bool]


def pairs(this: Round, at: JvpSite[V], first: int = 0) -> Pairs[V] | None:
    """The loop of values and tangents of a loop; None if no result has a tangent.

    The loop's rounds take the operands from `first` on.
    """
    emitter, count = inner_emitter(at.emitter), len(this.carry)
    primal, tangent = at.primal[first:], at.tangent[first:]
    active, linear = with_active_carry(
        [given is not None for given in tangent],
        len(this.consts),
        count,
        lambda flags: differentiate(
            resolve_keys(), this.outputs, list(compress(this.inputs, flags)), ctx=emitter.ctx
        ),
    )
    sizes = len(this.consts), count
    of_consts, of_carry, _ = by_role(active, *sizes)
    reached = [*of_carry, *(key is not None for key in linear.output_keys[count:])]
    if not any(reached):
        return None
    counts = sum(of_consts), sum(of_carry)
    consts, carry, xs = by_role(linear.input_keys, *counts)
    tangents = filled(emitter, linear.output_keys, this.outputs, reached)
    body = program_of(
        [*this.consts, *consts, *this.carry, *carry, *this.xs, *xs], [*this.next, *tangents]
    )
    starts = [
        zeros_like(at.emitter, value) if given is None else given
        for value, given in compress(zip(primal, tangent, strict=True), active)
    ]
    values, beside = by_role(primal, *sizes), by_role(starts, *counts)
    operands = [
        value for both in zip(values, beside, strict=True) for part in both for value in part
    ]
    return Pairs(body, consts, carry, operands, reached)


def linearize_beside(op: Loop, at: JvpSite[V]) -> Slots[V]:
    """The tangents of the results of a scan: they go from round to round beside the carry."""
    found = pairs(Round.of(op), at)
    if found is None:
        return (None,) * len(at.out)
    loop = op.like(found.body, op.consts + len(found.consts), op.carry + len(found.carry))
    results = at.emitter.emit_all(loop, *found.operands)
    return spread(results[op.carry :], found.reached)
