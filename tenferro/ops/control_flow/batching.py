"""The batch rules of loops and branches: the programs that they hold, for all entries at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import NamedTuple

from tenferro.core import (
    Batched,
    BatchSite,
    Emitter,
    GlobalValKey,
    KeyEmitter,
    V,
    batch,
    resolve_keys,
)
from tenferro.ir import INT32, Dim, Exact, ExecProgram, fresh_input, is_inexact, type_of
from tenferro.ops import (
    Compare,
    Convert,
    CotangentWhere,
    ReduceOr,
    Select,
    Transpose,
    broadcast_like,
    repeated,
    scalar,
)
from tenferro.ops.control_flow.base import Call, Choice, ConditionalLoop, Loop, in_all_rounds
from tenferro.ops.control_flow.bodies import (
    Keys,
    graph_of,
    inlined,
    inner_emitter,
    may_not_end,
    noted,
    program_of,
    with_guard,
)

__all__ = ["BRANCHES_RUN"]

BRANCHES_RUN = "branches run (vmap)"
"""What the sites of selected results say, after `both` or their number."""


class _Whole(NamedTuple):
    """The graph of a program for all entries, and which of its outputs are batched."""

    inputs: Keys
    outputs: Keys
    batched: Sequence[bool]

    def with_batched(self, wanted: Sequence[bool], size: Dim, emitter: KeyEmitter) -> Keys:
        """The outputs, repeated where they are to be batched and are not."""
        return [
            repeated(emitter, key, size) if want and not is_batched else key
            for key, is_batched, want in zip(self.outputs, self.batched, wanted, strict=True)
        ]


def batch_scan(op: Loop, at: BatchSite[V]) -> Batched[V]:
    """One loop for all entries. A leaf of the carry is batched if it is so in any round."""
    emitter = inner_emitter(at.emitter)
    start, end = op.consts, op.consts + op.carry
    flags, whole = _with_batched_carry(op.body, list(at.batched), start, op.carry, at.size, emitter)
    wanted = [*flags[start:end], *whole.batched[op.carry :]]
    body = program_of(whole.inputs, whole.with_batched(wanted, at.size, emitter))
    operands = [
        at.repeated(place) if on else value
        for place, (value, on) in enumerate(zip(at.inputs[:end], flags, strict=False))
    ]
    xs = [
        _swapped(at.emitter, value) if on else value
        for value, on in zip(at.inputs[end:], flags[end:], strict=True)
    ]
    results = at.emitter.emit_all(op.like(body, op.consts, op.carry), *operands, *xs)
    ys = [
        _swapped(at.emitter, value) if on else value
        for value, on in zip(results[op.carry :], wanted[op.carry :], strict=True)
    ]
    return tuple(zip([*results[: op.carry], *ys], wanted, strict=True))


def batch_call(op: Call, at: BatchSite[V]) -> Batched[V]:
    """The body for all entries."""
    emitter = inner_emitter(at.emitter)
    whole = _whole(op.body, at.batched, at.size, emitter)
    call = op.like(program_of(whole.inputs, whole.outputs), op.saved)
    return tuple(zip(at.emitter.emit_all(call, *at.inputs), whole.batched, strict=True))


def batch_switch(op: Choice, at: BatchSite[V]) -> Batched[V]:
    """One switch for all entries; if the index is batched, all branches run and one is selected.

    The branches then get operands through which no cotangent flows to entries that do not take
    them. Otherwise a branch could give NaN for an entry that another branch is there for.
    """
    if at.batched[0] and len(op.branches) > 1:
        return _select_branches(op, at)
    emitter = inner_emitter(at.emitter)
    index = at.emit(scalar(0, INT32)) if at.batched[0] else at.inputs[0]
    graphs = [_whole(branch, at.batched[1:], at.size, emitter) for branch in op.branches]
    wanted = [any(flags) for flags in zip(*(graph.batched for graph in graphs), strict=True)]
    programs = [
        program_of(graph.inputs, graph.with_batched(wanted, at.size, emitter)) for graph in graphs
    ]
    results = at.emitter.emit_all(op.like(programs), index, *at.inputs[1:])
    return tuple(zip(results, wanted, strict=True))


def batch_while(op: ConditionalLoop, at: BatchSite[V]) -> Batched[V]:
    """One loop for all entries, until all have finished; a finished entry stays as it is."""
    emitter = inner_emitter(at.emitter)
    split = op.cond_consts + op.body_consts
    of_cond, of_body, of_carry = (
        list(at.batched[: op.cond_consts]),
        list(at.batched[op.cond_consts : split]),
        list(at.batched[split:]),
    )
    flags, body = _with_batched_carry(
        op.body, [*of_body, *of_carry], op.body_consts, len(of_carry), at.size, emitter
    )
    of_carry = flags[op.body_consts :]
    cond = _whole(op.cond, [*of_cond, *of_carry], at.size, emitter)
    if cond.batched[0]:
        return _until_all_finished(op, at, of_cond, of_body)
    outputs = body.with_batched(of_carry, at.size, emitter)
    loop = op.like(
        program_of(cond.inputs, cond.outputs), program_of(body.inputs, outputs), op.body_consts
    )
    operands = [*at.inputs[:split], *_given(at, split, of_carry)]
    return tuple(zip(at.emitter.emit_all(loop, *operands), of_carry, strict=True))


def _until_all_finished(
    op: ConditionalLoop, at: BatchSite[V], of_cond: Sequence[bool], of_body: Sequence[bool]
) -> Batched[V]:
    """One loop, of which each round keeps the carry of entries that have finished.

    If the loop has a bound, cotangents may flow through it. Each entry then has its own consts, so
    that a finished one, for which the body may give NaN, adds nothing to their cotangents.
    """
    emitter = inner_emitter(at.emitter)
    consts_of, split = op.cond_consts, op.cond_consts + op.body_consts
    everything = [True] * (len(at.inputs) - split)
    cond = _whole(op.cond, [*of_cond, *everything], at.size, emitter)
    state, taken = cond.inputs[consts_of:], cond.outputs[0]
    if op.max_steps is not None:
        types = op.body.input_metas[: op.body_consts]
        of_body = [on or is_inexact(meta.dtype) for on, meta in zip(of_body, types, strict=True)]
    read, _ = graph_of(op.body)
    consts = [
        with_batch_axis(key, at.size) if on else key for key, on in zip(read, of_body, strict=False)
    ]
    flags = [*of_body, *everything]
    following = _where(emitter, taken, op.body, [*consts, *state], flags, at.size)
    kept = [
        emitter.emit(Select(), _like(emitter, taken, new), new, old)
        for new, old in zip(following, state, strict=True)
    ]
    goes_on = emitter.emit(ReduceOr((0,)), taken)
    loop = op.like(
        program_of(cond.inputs, [goes_on]),
        program_of([*cond.inputs[:consts_of], *consts, *state], kept),
        split,
    )
    asked, given = at.inputs[:consts_of], _given(at, consts_of, flags)
    results = at.emitter.emit_all(loop, *asked, *asked, *given)
    return tuple([(result, True) for result in results])


def _whole(program: ExecProgram, flags: Sequence[bool], size: Dim, emitter: KeyEmitter) -> _Whole:
    """The graph of a program for all entries, of which some inputs are batched."""
    inputs, outputs = graph_of(program)
    whole = [
        with_batch_axis(key, size) if on else key for key, on in zip(inputs, flags, strict=True)
    ]
    batched = dict(compress(zip(inputs, whole, strict=True), flags))
    results = batch(resolve_keys(), outputs, batched, size, ctx=emitter.ctx, emitter=emitter)
    return _Whole(whole, [key for key, _ in results], [on for _, on in results])


def _with_batched_carry(
    body: ExecProgram, flags: list[bool], start: int, count: int, size: Dim, emitter: KeyEmitter
) -> tuple[list[bool], _Whole]:
    """Which inputs of a body are batched, and its graph for all entries.

    The first `count` outputs are the carry of the next round, whose inputs begin at `start`.
    """
    return in_all_rounds(
        flags,
        start,
        count,
        lambda flags: _whole(body, flags, size, emitter),
        lambda whole: whole.batched,
    )


def _select_branches(op: Choice, at: BatchSite[V]) -> Batched[V]:
    """All branches on all entries, and for each entry the results of the branch that it takes."""
    index, count = at.inputs[0], len(op.branches)
    if at.ctx.meta(index).dtype.itemsize < INT32.itemsize:  # it need not hold their number
        index = at.emit(Convert(INT32), index)
    flags = [
        on or is_inexact(at.ctx.meta(value).dtype)  # each entry has a cotangent of its own
        for on, value in zip(at.batched[1:], at.inputs[1:], strict=True)
    ]
    operands = _given(at, 1, flags)
    results: list[V] = []
    for number in reversed(range(count)):
        taken = _takes(at.emitter, index, number, count)
        branch = op.branches[number]
        values = _where(at.emitter, taken, branch, operands, flags, at.size)
        if results:
            with noted(at.emitter, f"{'both' if count == 2 else f'all {count}'} {BRANCHES_RUN}"):
                values = [
                    at.emit(Select(), _like(at.emitter, taken, new), new, old)
                    for new, old in zip(values, results, strict=True)
                ]
        results = values
    return tuple([(result, True) for result in results])


def _where(
    at: Emitter[V],
    taken: V,
    program: ExecProgram,
    operands: Sequence[V],
    flags: Sequence[bool],
    size: Dim,
) -> list[V]:
    """What a program computes for the entries that are taken; its results for others mean nothing.

    No cotangent flows to the others, and for them loops end at once. All results are batched.
    """
    inner = inner_emitter(at)
    given = [
        _guarded_batch(at, taken, value) if on else value
        for value, on in zip(operands, flags, strict=True)
    ]
    if may_not_end(program):
        program, given, flags = with_guard(program, inner), [taken, *given], [True, *flags]
    return inlined(at, for_all_entries(program, flags, size, inner), given)


def for_all_entries(
    program: ExecProgram, flags: Sequence[bool], size: Dim, emitter: KeyEmitter
) -> ExecProgram:
    """A program for all entries, of which some inputs are batched, and all outputs."""
    graph = _whole(program, flags, size, emitter)
    everything = [True] * len(graph.outputs)
    return program_of(graph.inputs, graph.with_batched(everything, size, emitter))


def _takes(at: Emitter[V], index: V, number: int, count: int) -> V:
    """For each entry whether its index, held within the branches, is `number`."""
    direction = "LE" if number == 0 else "GE" if number == count - 1 else "EQ"
    meta = at.ctx.meta(index)
    limit = broadcast_like(at, at.emit(scalar(number, meta.dtype)), meta, (), "vmap")
    return at.emit(Compare(direction), index, limit)


def _guarded_batch(at: Emitter[V], taken: V, value: V) -> V:
    """The value, through which no cotangent flows to entries that are not taken."""
    if not is_inexact(at.ctx.meta(value).dtype):
        return value
    return at.emit(CotangentWhere(), value, _like(at, taken, value))


def _like(at: Emitter[V], taken: V, value: V) -> V:
    """One bool for each entry, repeated to the shape of a batch."""
    bools = at.ctx.meta(taken).with_extents(at.ctx.meta(value).extents)
    return broadcast_like(at, taken, bools, (0,), "vmap")


def _given(at: BatchSite[V], start: int, flags: Sequence[bool]) -> list[V]:
    """The operands from `start` on, repeated where they are to be batched."""
    return [at.repeated(place) if on else at.inputs[place] for place, on in enumerate(flags, start)]


def _swapped(at: Emitter[V], value: V) -> V:
    """The value with its first two axes exchanged: the rounds and the entries."""
    rank = at.ctx.meta(value).rank
    return at.emit(Transpose((1, 0, *range(2, rank))), value)


def with_batch_axis(key: GlobalValKey, size: Dim) -> GlobalValKey:
    """A new input of a graph, for all entries of a value."""
    meta = type_of(key)
    return fresh_input(meta.with_extents([Exact(size), *meta.extents]), "batch")
