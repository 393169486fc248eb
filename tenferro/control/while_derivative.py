"""The derivative rules of loops without a known number of rounds.

The tangents need no bound: they go along with the carry. The cotangents go from the last round to
the first, so the rounds must be kept in memory that is allocated before: a loop of at most n rounds
is written as ⌈√n⌉ blocks of ⌈√n⌉ rounds. The carry at the start of each block is stored, and the
values of one block at a time are computed again.

Source: A. Griewank and A. Walther, "Evaluating Derivatives", 2nd ed., chapter 12.
"""

from __future__ import annotations

from collections.abc import Sequence

from tenferro.chainrules import JvpSite, KeyEmitter, Slots, TransposeSite, V
from tenferro.computegraph import Derived, GlobalValKey, name_of
from tenferro.control.beside import pairs
from tenferro.control.graphs import (
    Keys,
    fresh_like,
    graph_of,
    inlined,
    inner_emitter,
    program_of,
    root,
    spread,
    transposed_through,
)
from tenferro.control.interfaces import ConditionalLoop
from tenferro.control.kept import Round
from tenferro.control.scan import CheckpointedScan, Scan
from tenferro.control.switch import Switch
from tenferro.errors import ADRuleError
from tenferro.exec_ir import ExecProgram
from tenferro.ops import ADD, AND, Compare, Convert, scalar
from tenferro.shape import INT32, INT64, type_of


def linearize(op: ConditionalLoop, at: JvpSite[V]) -> Slots[V]:
    """The tangents of the carry: they go from round to round beside it."""
    inputs, following = graph_of(op.body)
    this = Round(inputs[: op.body_consts], inputs[op.body_consts :], [], following, [])
    found = pairs(this, at, op.cond_consts)
    if found is None:
        return (None,) * len(following)
    read, (goes_on,) = graph_of(op.cond)
    cond = program_of([*read, *fresh_like(found.carry, "unread")], [goes_on])
    loop = op.like(cond, found.body, op.body_consts + len(found.consts))
    results = at.emitter.emit_all(loop, *at.primal[: op.cond_consts], *found.operands)
    return spread(results[len(following) :], found.reached)


def transpose_rule(op: ConditionalLoop, at: TransposeSite[V]) -> Slots[V]:
    """The cotangents of the active operands, through an equal program of scans and switches."""
    if op.max_steps is None:
        raise _unbounded(op, at)
    steps = op.max_steps
    metas = [*op.cond.input_metas[: op.cond_consts], *op.body.input_metas]
    return transposed_through(
        at, metas, lambda emitter, operands: _bounded(op, steps, emitter, operands)
    )


def _unbounded(op: ConditionalLoop, at: TransposeSite[V]) -> ADRuleError:
    """The refusal of a loop without a bound, which names what a counter goes up to."""
    found = ""
    if op.cond.ops() == [Compare("LT")]:
        counter, limit = op.cond.instructions[0].input_slots
        inputs = op.cond.input_slots
        if counter in inputs[op.cond_consts :] and limit in inputs[: op.cond_consts]:
            found = _traced_bound(at.inputs[inputs.index(limit)])
    error = ADRuleError(
        f"while_loop: reverse mode needs a bound on the rounds{found}; pass max_steps=, or use "
        "scan or fori_loop with constant bounds"
    )
    site = inner_emitter(at.emitter).site
    if site is not None:
        error.add_note(f"the loop is at {site}")
    return error


def _traced_bound(bound: object) -> str:
    """What an error says of a bound that is a value of a graph."""
    if not isinstance(bound, GlobalValKey):
        return ""
    site = bound.op.site if isinstance(bound, Derived) else None
    place = "" if site is None else f", at {site},"
    return f", but {name_of(bound)}: {type_of(bound)}{place} is traced"


def _bounded(
    op: ConditionalLoop, steps: int, at: KeyEmitter, operands: Keys
) -> Sequence[GlobalValKey]:
    """The carry after the rounds of `op` on these operands, by blocks of rounds."""
    split = op.cond_consts + op.body_consts
    consts = operands[:split]
    size = root(steps, op.checkpoints)
    carry = [*operands[split:], at.emit(scalar(0, INT64))]
    state = fresh_like(carry, "carry")
    inputs = [*consts, *state]
    *values, count = state
    under = at.emit(Compare("LT"), count, at.emit(scalar(steps, INT64)))
    (wanted,) = inlined(at, op.cond, [*consts[: op.cond_consts], *values])
    index = at.emit(Convert(INT32), at.emit(AND, wanted, under))
    following = inlined(at, op.body, [*consts[op.cond_consts :], *values])
    counted = at.emit(ADD, count, at.emit(scalar(1, INT64)))
    identity = program_of(inputs, state)

    def guarded(then: Keys) -> ExecProgram:
        """One step, which does nothing once the loop has ended."""
        choice = Switch((identity, program_of(inputs, then)))
        return program_of(inputs, at.emit_all(choice, index, *inputs))

    loop = Scan(guarded([*following, counted]), split, len(state), size)
    if op.checkpoints == 1:
        loop = loop.like(loop.body, split, len(state), length=steps, checkpoints=1)
    rounds = size
    for _ in range(1, op.checkpoints):
        block = guarded(at.emit_all(loop, *inputs))
        loop = CheckpointedScan(block, split, len(state), min(size, -(-steps // rounds)))
        rounds *= size
    return at.emit_all(loop, *consts, *carry)[:-1]
