"""The batch rules of loops and branches: the programs that they hold, for all entries at once.

What a branch computes for entries that do not take it is not read, but its derivative may be NaN
there. So no cotangent flows from these entries to what they share with others: see `_Guard`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, NamedTuple

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
from tenferro.ir import (
    BOOL,
    INT32,
    Dim,
    Exact,
    ExecProgram,
    TensorMeta,
    fresh_input,
    is_inexact,
    type_of,
)
from tenferro.ops import (
    AND,
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
from tenferro.ops.control_flow.base import (
    Call,
    Choice,
    ConditionalLoop,
    ControlOp,
    Loop,
    in_all_rounds,
)
from tenferro.ops.control_flow.bodies import (
    Keys,
    graph_of,
    inlined,
    inner_emitter,
    is_constant,
    may_not_end,
    noted,
    program_of,
    with_guard,
)

__all__ = ["BRANCHES_RUN"]

BRANCHES_RUN = "branches run (vmap)"
"""What the sites of selected results say, after `both` or their number."""


# A program for all entries, of which some may not count.


@dataclass(frozen=True, slots=True)
class _Guard:
    """Keeps cotangents of entries that do not count from what they share with others.

    A value that is the same for all entries is repeated where an op reads it together with one that
    is not, and the cotangent of the copies is zero for entries that do not count. Loops and
    branches take the guard as an operand, and repeat the value inside.

    Attributes:
        taken: for each entry whether it counts.
        size: the number of entries.
        behind: values that are the same for all entries, whose cotangents stop if none counts.
    """

    taken: GlobalValKey
    size: Dim
    behind: set[GlobalValKey]

    def batch(self, op: Any, at: BatchSite[GlobalValKey]) -> Batched[GlobalValKey]:
        """The op on copies of what it shares among entries, or as it is if all of it is shared."""
        shared = [
            not on and is_inexact(type_of(value).dtype) and not is_constant(value)
            for value, on in zip(at.inputs, at.batched, strict=True)
        ]
        inputs, flags, emitter = at.inputs, at.batched, at.emitter
        if True not in at.batched:
            if True in shared and not op.moves and not op.repeats:  # has coefficients
                inputs = tuple(
                    [
                        _guarded_by_any(emitter, self.taken, value)
                        if on and value not in self.behind
                        else value
                        for value, on in zip(inputs, shared, strict=True)
                    ]
                )
            results = emitter.emit_all(op, *inputs)
            if not self.behind.isdisjoint(at.inputs) or inputs != at.inputs:
                self.behind.update(results)
            return tuple([(value, False) for value in results])
        if True in shared:
            if isinstance(op, ControlOp) and (found := op.batch_where(at, self.taken)) is not None:
                return found
            inputs = tuple(
                [
                    guarded_copies(emitter, value, self.taken, self.size) if on else value
                    for value, on in zip(inputs, shared, strict=True)
                ]
            )
            flags = tuple([on or copied for on, copied in zip(flags, shared, strict=True)])
        return op.batch_rule(BatchSite(emitter, inputs, flags, at.size))  # type: ignore[no-any-return]  # an op of any set


def guarded_copies(at: Emitter[V], value: V, taken: V | None, size: Dim) -> V:
    """A value for each of `size` entries; no cotangent flows from entries that are not taken."""
    copies = repeated(at, value, size)
    return copies if taken is None else _guarded(at, taken, copies)


def _guarded(at: Emitter[V], taken: V, value: V) -> V:
    """The value, through which no cotangent flows to entries that are not taken."""
    if not is_inexact(at.ctx.meta(value).dtype):
        return value
    return at.emit(CotangentWhere(), value, _like(at, taken, value))


def _guarded_by_any(at: Emitter[V], taken: V, value: V) -> V:
    """A value of all entries, through which a cotangent flows if one of them is taken."""
    meta: TensorMeta = at.ctx.meta(value)
    if not is_inexact(meta.dtype):
        return value
    bools = TensorMeta(BOOL, meta.extents)
    wanted = broadcast_like(at, at.emit(ReduceOr((0,)), taken), bools, (), "vmap")
    return at.emit(CotangentWhere(), value, wanted)


class _Whole(NamedTuple):
    """The graph of a program for all entries, and which of its outputs are batched."""

    inputs: Keys
    outputs: Keys
    batched: Sequence[bool]
    emitter: KeyEmitter
    size: Dim
    guard: _Guard | None

    def program(self, wanted: Sequence[bool] = ()) -> ExecProgram:
        """The program, whose outputs are repeated where they are to be batched and are not.

        Its first input says which entries count, if there is a guard.
        """
        taken = None if self.guard is None else self.guard.taken
        outputs = list(self.outputs)
        for place, (key, on) in enumerate(zip(self.outputs, self.batched, strict=True)):
            if wanted and wanted[place] and not on:
                outputs[place] = guarded_copies(self.emitter, key, taken, self.size)
        first = [] if self.guard is None else [self.guard.taken]
        return program_of([*first, *self.inputs], outputs)


def _guard(size: Dim) -> _Guard:
    return _Guard(fresh_input(TensorMeta(BOOL, [Exact(size)]), "taken"), size, set())


def _whole(
    program: ExecProgram,
    flags: Sequence[bool],
    size: Dim,
    emitter: KeyEmitter,
    guard: _Guard | None = None,
) -> _Whole:
    """The graph of a program for all entries, of which some inputs are batched."""
    inputs, outputs = graph_of(program)
    whole = [
        with_batch_axis(key, size) if on else key for key, on in zip(inputs, flags, strict=True)
    ]
    results = batch(
        resolve_keys(),
        outputs,
        dict(compress(zip(inputs, whole, strict=True), flags)),
        size,
        ctx=emitter.ctx,
        replaced=None if guard is None else dict(zip(inputs, inputs, strict=True)),
        emitter=emitter,
        rule=None if guard is None else guard.batch,
    )
    keys, batched = [key for key, _ in results], [on for _, on in results]
    return _Whole(whole, keys, batched, emitter, size, guard)


def _with_batched_carry(
    body: ExecProgram,
    flags: list[bool],
    start: int,
    count: int,
    at: BatchSite[V],
    guarded: bool,
) -> tuple[list[bool], _Whole]:
    """Which inputs of a body are batched, and its graph for all entries.

    The first `count` outputs are the carry of the next round, whose inputs begin at `start`.
    """
    emitter, guard = inner_emitter(at.emitter), _guard(at.size) if guarded else None
    return in_all_rounds(
        flags,
        start,
        count,
        lambda flags: _whole(body, flags, at.size, emitter, guard),
        lambda whole: whole.batched,
    )


def for_all_entries(
    program: ExecProgram, flags: Sequence[bool], size: Dim, emitter: KeyEmitter
) -> ExecProgram:
    """A program for all entries, of which some inputs are batched, and all outputs."""
    return _whole(program, flags, size, emitter).program([True] * len(program.output_slots))


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
        _guarded(at, taken, value) if on else value
        for value, on in zip(operands, flags, strict=True)
    ]
    if may_not_end(program):
        program, given, flags = with_guard(program, inner), [taken, *given], [True, *flags]
    whole = _whole(program, flags, size, inner, _guard(size))
    return inlined(at, whole.program([True] * len(whole.outputs)), [taken, *given])


def _takes(at: Emitter[V], index: V, number: int, count: int) -> V:
    """For each entry whether its index, held within the branches, is `number`."""
    direction = "LE" if number == 0 else "GE" if number == count - 1 else "EQ"
    meta = at.ctx.meta(index)
    limit = broadcast_like(at, at.emit(scalar(number, meta.dtype)), meta, (), "vmap")
    return at.emit(Compare(direction), index, limit)


def _like(at: Emitter[V], taken: V, value: V) -> V:
    """One bool for each entry, repeated to the shape of a batch."""
    bools = at.ctx.meta(taken).with_extents(at.ctx.meta(value).extents)
    return broadcast_like(at, taken, bools, (0,), "vmap")


def _given(at: BatchSite[V], start: int, flags: Sequence[bool], taken: V | None = None) -> list[V]:
    """The operands from `start` on, repeated where they are to be batched."""
    return [
        guarded_copies(at.emitter, value, taken, at.size) if want and not on else value
        for value, on, want in zip(at.inputs[start:], at.batched[start:], flags, strict=False)
    ]


def _swapped(at: Emitter[V], value: V) -> V:
    """The value with its first two axes exchanged: the rounds and the entries."""
    rank = at.ctx.meta(value).rank
    return at.emit(Transpose((1, 0, *range(2, rank))), value)


def with_batch_axis(key: GlobalValKey, size: Dim) -> GlobalValKey:
    """A new input of a graph, for all entries of a value."""
    meta = type_of(key)
    return fresh_input(meta.with_extents([Exact(size), *meta.extents]), "batch")


# The batch rules.


def batch_scan(op: Loop, at: BatchSite[V], taken: V | None = None) -> Batched[V]:
    """One loop for all entries. A leaf of the carry is batched if it is so in any round."""
    start, end = op.consts, op.consts + op.carry
    guarded = [] if taken is None else [taken]
    flags, whole = _with_batched_carry(
        op.body, list(at.batched), start, op.carry, at, taken is not None
    )
    wanted = [*flags[start:end], *whole.batched[op.carry :]]
    operands = _given(at, 0, flags[:end], taken)
    xs = [
        _swapped(at.emitter, value) if on else value
        for value, on in zip(at.inputs[end:], flags[end:], strict=True)
    ]
    loop = op.like(whole.program(wanted), op.consts + len(guarded), op.carry)
    results = at.emitter.emit_all(loop, *guarded, *operands, *xs)
    ys = [
        _swapped(at.emitter, value) if on else value
        for value, on in zip(results[op.carry :], wanted[op.carry :], strict=True)
    ]
    return tuple(zip([*results[: op.carry], *ys], wanted, strict=True))


def batch_call(op: Call, at: BatchSite[V], taken: V | None = None) -> Batched[V]:
    """The body for all entries."""
    guard = None if taken is None else _guard(at.size)
    whole = _whole(op.body, at.batched, at.size, inner_emitter(at.emitter), guard)
    operands = at.inputs if taken is None else (taken, *at.inputs)
    results = at.emitter.emit_all(op.like(whole.program(), op.saved), *operands)
    return tuple(zip(results, whole.batched, strict=True))


def batch_switch(op: Choice, at: BatchSite[V], taken: V | None = None) -> Batched[V]:
    """One switch for all entries; if the index is batched, all branches run and one is selected.

    No cotangent then flows to entries that do not take a branch. Otherwise it could give NaN for an
    entry that another branch is there for.
    """
    if at.batched[0] and len(op.branches) > 1:
        return _select_branches(op, at, taken)
    emitter = inner_emitter(at.emitter)
    index = at.emit(scalar(0, INT32)) if at.batched[0] else at.inputs[0]
    guard = None if taken is None else _guard(at.size)
    graphs = [_whole(branch, at.batched[1:], at.size, emitter, guard) for branch in op.branches]
    wanted = [any(flags) for flags in zip(*(graph.batched for graph in graphs), strict=True)]
    operands = at.inputs[1:] if taken is None else (taken, *at.inputs[1:])
    choice = op.like([graph.program(wanted) for graph in graphs])
    return tuple(zip(at.emitter.emit_all(choice, index, *operands), wanted, strict=True))


def _select_branches(op: Choice, at: BatchSite[V], counts: V | None) -> Batched[V]:
    """All branches on all entries, and for each entry the results of the branch that it takes."""
    index, count = at.inputs[0], len(op.branches)
    if at.ctx.meta(index).dtype.itemsize < INT32.itemsize:  # it need not hold their number
        index = at.emit(Convert(INT32), index)
    results: list[V] = []
    for number in reversed(range(count)):
        taken = _takes(at.emitter, index, number, count)
        reads = taken if counts is None else at.emit(AND, taken, counts)
        values = _where(
            at.emitter, reads, op.branches[number], at.inputs[1:], at.batched[1:], at.size
        )
        if results:
            with noted(at.emitter, f"{'both' if count == 2 else f'all {count}'} {BRANCHES_RUN}"):
                values = [
                    at.emit(Select(), _like(at.emitter, taken, new), new, old)
                    for new, old in zip(values, results, strict=True)
                ]
        results = values
    return tuple([(result, True) for result in results])


def batch_while(op: ConditionalLoop, at: BatchSite[V], taken: V | None = None) -> Batched[V]:
    """One loop for all entries, until all have finished; a finished entry stays as it is."""
    split = op.cond_consts + op.body_consts
    of_cond, of_body, of_carry = (
        list(at.batched[: op.cond_consts]),
        list(at.batched[op.cond_consts : split]),
        list(at.batched[split:]),
    )
    flags, body = _with_batched_carry(
        op.body, [*of_body, *of_carry], op.body_consts, len(of_carry), at, taken is not None
    )
    of_carry = flags[op.body_consts :]
    cond = _whole(op.cond, [*of_cond, *of_carry], at.size, inner_emitter(at.emitter))
    if cond.batched[0]:
        return _until_all_finished(op, at, of_cond, of_body, taken)
    guarded = [] if taken is None else [taken]
    loop = op.like(cond.program(), body.program(of_carry), len(guarded) + op.body_consts)
    operands = [*guarded, *at.inputs[op.cond_consts : split], *_given(at, split, of_carry, taken)]
    results = at.emitter.emit_all(loop, *at.inputs[: op.cond_consts], *operands)
    return tuple(zip(results, of_carry, strict=True))


def _until_all_finished(
    op: ConditionalLoop,
    at: BatchSite[V],
    of_cond: Sequence[bool],
    of_body: Sequence[bool],
    counts: V | None,
) -> Batched[V]:
    """One loop, of which each round keeps the carry of entries that have finished.

    A finished one, for which the body may give NaN, adds nothing to cotangents.
    """
    emitter = inner_emitter(at.emitter)
    consts_of, split = op.cond_consts, op.cond_consts + op.body_consts
    everything = [True] * (len(at.inputs) - split)
    cond = _whole(op.cond, [*of_cond, *everything], at.size, emitter)
    state, taken = cond.inputs[consts_of:], cond.outputs[0]
    consts = [
        with_batch_axis(key, at.size) if on else key
        for key, on in zip(graph_of(op.body)[0], of_body, strict=False)
    ]
    flags = [*of_body, *everything]
    following = _where(emitter, taken, op.body, [*consts, *state], flags, at.size)
    unfinished = [
        emitter.emit(Select(), _like(emitter, taken, new), new, old)
        for new, old in zip(following, state, strict=True)
    ]
    goes_on = emitter.emit(ReduceOr((0,)), taken)
    loop = op.like(
        program_of(cond.inputs, [goes_on]),
        program_of([*cond.inputs[:consts_of], *consts, *state], unfinished),
        split,
    )
    asked, given = at.inputs[:consts_of], _given(at, consts_of, flags, counts)
    results = at.emitter.emit_all(loop, *asked, *asked, *given)
    return tuple([(result, True) for result in results])
