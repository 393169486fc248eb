"""Scan: the op, jvp, transpose, checkpointed reverse mode.

Source: A. Griewank and A. Walther, "Evaluating Derivatives", 2nd ed., chapter 12.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import Any, Generic, NamedTuple, Self, cast

import numpy as np

from tenferro.core import (
    Batched,
    BatchSite,
    GlobalValKey,
    JvpSite,
    KeyEmitter,
    LinearFragment,
    RuleContext,
    Slots,
    TransposeSite,
    V,
    differentiate,
    pull_back,
    resolve_keys,
)
from tenferro.errors import ADRuleError, ControlFlowError, UnsupportedDynamicShapeError
from tenferro.ir import (
    Body,
    Dim,
    DimExpr,
    Exact,
    ExecProgram,
    NumpyArray,
    Pruned,
    TensorMeta,
    describe,
    payload,
    restricted,
    runtime_dims,
    type_of,
)
from tenferro.ops import Concatenate, Reshape, Slice, full, zeros_like
from tenferro.ops.control_flow.base import (
    ControlOp,
    Interpreter,
    Loop,
    Rounds,
    T,
    fixed_leaves,
    inputs_read,
    plain,
    positions,
    reached_in_rounds,
    size_in_words,
)
from tenferro.ops.control_flow.batching import batch_scan
from tenferro.ops.control_flow.bodies import (
    Keys,
    Round,
    by_role,
    filled,
    fresh_like,
    fresh_of_type,
    inner_context,
    inner_emitter,
    keep,
    linear_in,
    program_of,
    root,
    spread,
    transposed_through,
    with_active_carry,
)

__all__ = ["CheckpointedScan", "Scan"]


# The derivative rules of loops: the linear part of a loop is a loop, and so is its transpose.

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
        emitter.emit(ctx.adder, total, term)
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


# The tangents of loops that keep nothing of the rounds: they go along with the carry.


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


# Reverse mode of loops that store less: the rounds run in blocks.


def transpose_by_blocks(op: Loop, at: TransposeSite[V]) -> Slots[V]:
    """The cotangents of the active operands, through an equal loop over blocks of rounds.

    Raises:
        ADRuleError: the number of rounds is not known.
    """
    length = op.length
    if isinstance(length, DimExpr):
        raise ADRuleError(
            f"scan: checkpoints need a known number of rounds, got {length}; bind the size, or "
            "leave checkpoints= out"
        )

    def build(emitter: KeyEmitter, operands: Keys) -> Keys:
        return _blocks(op, length, emitter, operands)

    return transposed_through(at, op.operand_metas, build)


def _blocks(op: Loop, length: int, at: KeyEmitter, operands: Keys) -> Keys:
    """The results of `op`, whose rounds run in blocks; the last rounds may not fill a block."""
    count = root(length, op.checkpoints)
    size = length // count
    consts, carry, xs = by_role(operands, op.consts, op.carry)

    def rounds(number: int) -> Loop:
        """The loop inside a block."""
        levels = op.checkpoints - 1 if op.checkpoints > 2 else 0
        return op.like(op.body, op.consts, op.carry, length=number, checkpoints=levels)

    def outer(carry: Keys) -> Keys:
        """All blocks."""
        entries = [fresh_of_type(meta) for meta in rounds(size).operand_metas]
        block = program_of(entries, at.emit_all(rounds(size), *entries))
        loop = op.like(block, op.consts, op.carry, length=count, checkpoints=1)
        results = at.emit_all(
            loop, *consts, *carry, *(_grouped(at, key, count, size) for key in xs)
        )
        return [*results[: op.carry], *(_ungrouped(at, key) for key in results[op.carry :])]

    def rest(carry: Keys) -> Keys:
        """The rounds after the last block."""
        left = [_entries(at, key, count * size, length) for key in xs]
        return at.emit_all(rounds(length - count * size), *consts, *carry, *left)

    if length == count * size:
        return outer(carry)
    first = rest(carry) if op.reverse else outer(carry)
    second = outer(first[: op.carry]) if op.reverse else rest(first[: op.carry])
    whole, part = (second, first) if op.reverse else (first, second)
    ys = zip(whole[op.carry :], part[op.carry :], strict=True)
    return [*second[: op.carry], *(at.emit(Concatenate(0), *pair) for pair in ys)]


def _grouped(at: KeyEmitter, stack: GlobalValKey, count: int, size: int) -> GlobalValKey:
    """The entries of a stack, in `count` blocks of `size`."""
    entries = _entries(at, stack, 0, count * size)
    return at.emit(Reshape((count, size, *_sizes(stack)[1:])), entries)


def _ungrouped(at: KeyEmitter, blocks: GlobalValKey) -> GlobalValKey:
    """The entries of all blocks as one stack."""
    count, size, *others = _sizes(blocks)
    return at.emit(Reshape((count * size, *others)), blocks)


def _entries(at: KeyEmitter, stack: GlobalValKey, start: int, limit: int) -> GlobalValKey:
    """The entries of a stack from `start` to `limit`."""
    sizes = _sizes(stack)
    starts = (start, *(0 for _ in sizes[1:]))
    return at.emit(Slice(starts, (limit, *sizes[1:]), (1,) * len(sizes)), stack)


def _sizes(key: GlobalValKey) -> tuple[Dim, ...]:
    return type_of(key).exact_shape()


# Scan: a loop whose body is a program.


@payload
class Scan(ControlOp, name="scan"):
    """Runs `body` once for each of `length` entries along the first axis of its last operands.

    The operands are `consts` values that every round reads, `carry` values that the first round
    starts from, and the *xs*, of which each round reads one entry. The body takes them in that
    order and returns the next carry and then the *ys*. The results are the last carry, and the ys
    of all rounds, stacked along a new first axis.

    Attributes:
        body: what one round computes.
        consts: number of values that are the same in all rounds.
        carry: number of values that go from round to round.
        length: number of rounds.
        reverse: whether the rounds go from the last entry to the first.
        unroll: number of rounds that an executor may compile as one; does not change results.

    Raises:
        ControlFlowError: a field is of another type, the body has too few inputs or outputs, or it
            returns the carry with other types than it takes.
        UnsupportedDynamicShapeError: data decide a size in the body, or the number of rounds.
    """

    body: ExecProgram
    consts: int
    carry: int
    length: Dim
    reverse: bool = False
    unroll: int = 1

    body_fields = ("body",)

    def __post_init__(self) -> None:
        body = self._as_body("the body", self.body)
        object.__setattr__(self, "body", body)
        self._check_fields()
        super().__post_init__()
        object.__setattr__(self, "n_inputs", len(body.input_slots))
        object.__setattr__(self, "n_outputs", len(body.output_slots))
        self._check_counts()
        if runtime_dims(self.length):
            raise UnsupportedDynamicShapeError("scan", "length", describe(Exact(self.length)))
        roles = [self._role(position) for position in range(len(body.input_slots))]
        self._check_sizes("the body", body, roles)
        goes_in = body.input_metas[self.consts : self.consts + self.carry]
        self._check_carry(goes_in, body.output_metas[: self.carry])

    def _check_fields(self) -> None:
        """Store the counts as `int`; raise ControlFlowError if a field is of another type."""
        for name in ("consts", "carry", "unroll"):
            object.__setattr__(self, name, self._as_integer(name))
        if not isinstance(self.length, DimExpr):
            length = self._as_integer("length", "an integer or a size of the program")
            object.__setattr__(self, "length", length)
        reverse: object = self.reverse
        if not isinstance(reverse, bool | np.bool_):
            raise self._mistyped("reverse", "True or False")
        object.__setattr__(self, "reverse", bool(reverse))

    def _check_counts(self) -> None:
        """Raise ControlFlowError unless the counts fit one another and the body."""
        n_inputs, n_outputs = len(self.body.input_slots), len(self.body.output_slots)
        if self.consts < 0 or self.carry < 0 or self.consts + self.carry > n_inputs:
            raise ControlFlowError(
                f"scan: {self.consts} consts and {self.carry} carried values do not fit a body of "
                f"{n_inputs} inputs"
            )
        if self.carry > n_outputs:
            raise ControlFlowError(
                f"scan: the body returns {n_outputs} values, but carries {self.carry}"
            )
        if isinstance(self.length, int) and self.length < 0:
            raise ControlFlowError(f"scan: length must not be negative, got {self.length}")
        if self.unroll < 1:
            raise ControlFlowError(f"scan: unroll must be at least 1, got {self.unroll}")

    @property
    def const_places(self) -> dict[str, range]:
        """The first operands."""
        return {"body": range(self.consts)}

    def with_consts(self, bodies: Mapping[str, Body], counts: Mapping[str, int]) -> Self:
        """The scan of another body."""
        return replace(self, body=cast(ExecProgram, bodies["body"]), consts=counts["body"])

    def without_fixed(self) -> Pruned | None:
        """The scan without the leaves that its body returns as they are."""
        body, start = self.body, self.consts
        fixed = fixed_leaves(body, start, self.carry)
        if not fixed:
            return None
        kept = [leaf for leaf in range(self.n_outputs) if leaf not in fixed]
        rest = [at for at in range(start, len(body.input_slots)) if at - start not in fixed]
        operands = (*range(start), *(start + leaf for leaf in fixed), *rest)
        op = replace(
            self,
            body=restricted(body, operands, kept),
            consts=start + len(fixed),
            carry=self.carry - len(fixed),
        )
        return Pruned(op, operands, tuple(kept))

    @property
    def rounds(self) -> int:
        """The number of rounds, if it is known."""
        return self.length if isinstance(self.length, int) else super().rounds

    def surely_runs(self, label: str) -> bool:
        """Whether there is certainly a round."""
        return isinstance(self.length, int) and self.length > 0

    def check_arity(self, count: int) -> None:
        """Raise ControlFlowError unless there is an operand for each input of the body."""
        xs = len(self.body.input_slots) - self.consts - self.carry
        if count != self.n_inputs:
            raise ControlFlowError(
                f"scan: takes {self.n_inputs} operands ({self.consts} consts, {self.carry} carried "
                f"values and {xs} xs), got {count}"
            )

    def infer_all(self, metas: Sequence[TensorMeta]) -> tuple[TensorMeta, ...]:
        """The carry's types, and those of the ys with a first axis of `length`.

        Raises:
            ControlFlowError: the number of operands is wrong, or the type of one is not that of the
                body's input.
            VerifyError: the body is malformed.
        """
        self._check_operands(metas, self.operand_metas)
        outputs = plain(self.body.output_metas)
        stacks = [self._stacked(meta) for meta in outputs[self.carry :]]
        return (*outputs[: self.carry], *stacks)

    def evaluate(self, inputs: Sequence[NumpyArray]) -> tuple[NumpyArray, ...]:
        """The rounds one after another."""
        self._check_arrays(inputs)
        steps, start = self._steps, self.consts + self.carry
        values, entries = steps.values(inputs[:start]), inputs[start:]
        body, places = self.body, self.body.input_slots[start:]
        metas, returned = body.output_metas[self.carry :], body.output_slots[self.carry :]
        count = self._rounds()
        ys = [np.empty((count, *(meta.static_shape or ())), meta.dtype) for meta in metas]
        xs, stacks = list(zip(places, entries, strict=True)), list(zip(ys, returned, strict=True))
        for number in reversed(range(count)) if self.reverse else range(count):
            for slot, x in xs:
                values[slot] = x[number]
            steps.run(values)
            for stack, slot in stacks:
                stack[number] = values[slot]
            steps.advance(values)
        return (*steps.carry(values), *ys)

    @cached_property
    def _steps(self) -> Rounds:
        """The body, prepared to run in rounds."""
        return Rounds(self.body, self.consts, self.carry)

    def pruned(self, live: Sequence[bool]) -> Pruned | None:
        """The scan without dead ys and without dead carries that no live output depends on.

        Operands that the smaller body does not read are left out, also where all outputs are live.
        """
        needed, read = self._needed(live)
        if all(needed) and all(read):
            return None
        outputs, operands = positions(needed), positions(read)
        op = replace(
            self,
            body=restricted(self.body, operands, outputs),
            consts=len([position for position in operands if position < self.consts]),
            carry=len([position for position in outputs if position < self.carry]),
        )
        return Pruned(op, tuple(operands), tuple(outputs))

    def _needed(self, live: Sequence[bool]) -> tuple[list[bool], list[bool]]:
        """Which outputs and which inputs of the body the live outputs need.

        A carry that a round reads must also be computed by the round before.
        """
        body, needed = self.body, list(live)
        while True:
            read = inputs_read(body, needed)
            carried = read[self.consts : self.consts + self.carry]
            wider = [on or (i < self.carry and carried[i]) for i, on in enumerate(needed)]
            if wider == needed:
                for leaf in range(self.carry):  # a carry keeps its operand if its result is needed
                    read[self.consts + leaf] = needed[leaf]
                return needed, read
            needed = wider

    def reached(self, active: Sequence[bool]) -> list[bool]:
        """Which results depend on the active operands, in any round."""
        return reached_in_rounds(self.body, active, self.consts, self.carry)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The tangents, by a loop over the linear part of the body."""
        if self.checkpoints:
            return linearize_beside(self, at)
        return linearize(self, at)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangents, by a loop in the other direction."""
        if self.checkpoints > 1:
            return transpose_by_blocks(self, at)
        return transpose_rule(self, at)

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        """One loop for all entries; see `batches`."""
        return batch_scan(self, at)

    @property
    def checkpoints(self) -> int:
        """On how many levels derivatives store the carry and compute the rest again."""
        return 0

    def like(
        self,
        body: ExecProgram,
        consts: int,
        carry: int,
        backward: bool = False,
        length: Dim | None = None,
        checkpoints: int | None = None,
    ) -> Scan:
        """A loop with another body, and for the rest like this one.

        It goes in the other direction if `backward`.
        """
        rounds = self.length if length is None else length
        levels = self.checkpoints if checkpoints is None else checkpoints
        reverse = self.reverse != backward
        loop = Scan(body, consts, carry, rounds, reverse, self.unroll)
        return (
            loop
            if not levels
            else CheckpointedScan(body, consts, carry, rounds, reverse, self.unroll, levels)
        )

    def interpreted(self, values: Sequence[T], at: Interpreter[T]) -> list[T] | None:
        """The rounds one after another; None if their number is not known, or is zero."""
        if not isinstance(self.length, int) or not self.length:
            return None
        start = self.consts + self.carry
        carry, stacks = list(values[self.consts : start]), []
        for number in reversed(range(self.length)) if self.reverse else range(self.length):
            entries = [at.entry(x, number) for x in values[start:]]
            outputs = at.run(self.body, [*values[: self.consts], *carry, *entries])
            carry = outputs[: self.carry]
            stacks.append(outputs[self.carry :])
        order = stacks[::-1] if self.reverse else stacks
        return [*carry, *(at.stacked(ys) for ys in zip(*order, strict=True))]

    def in_words(self) -> str:
        """The rounds, and what is compiled or stored in another way than by default."""
        unrolled = f", {self.unroll} at once" if self.unroll > 1 else ""
        levels = self.checkpoints
        kept = f", checkpointed on {levels} levels" if levels > 1 else ""
        return f"scan: {self.length} rounds of {size_in_words(self.body)}{unrolled}{kept}"

    @property
    def overwrites(self) -> Mapping[int, int]:
        """Each result of the carry may use the buffer of its operand."""
        return {leaf: self.consts + leaf for leaf in range(self.carry)}

    @property
    def written_inside(self) -> Collection[int]:
        """The carry: the body returns only entries of what is stacked."""
        return range(self.carry)

    @property
    def operand_metas(self) -> tuple[TensorMeta, ...]:
        """The types of the operands."""
        metas, start = self.body.input_metas, self.consts + self.carry
        return (*metas[:start], *(self._stacked(meta) for meta in metas[start:]))

    def _stacked(self, meta: TensorMeta) -> TensorMeta:
        """The type with a first axis of `length`."""
        return meta.with_extents([Exact(self.length), *meta.extents])

    def _rounds(self) -> int:
        assert not isinstance(self.length, DimExpr), "sizes are bound"
        return self.length

    def _misfit(self, position: int, meta: TensorMeta, expected: TensorMeta) -> ControlFlowError:
        """The error for an operand of another type than the body takes."""
        start = self.consts + self.carry
        if position >= start and meta.rank and meta.extents[0] != expected.extents[0]:
            return ControlFlowError(
                f"scan: {self._role(position)} is {meta}, whose axis 0 is "
                f"{describe(meta.extents[0])}, but the loop has {self.length} rounds"
            )
        return super()._misfit(position, meta, expected)

    def _role(self, position: int) -> str:
        if position < self.consts:
            return f"const {position}"
        if position < self.consts + self.carry:
            return f"carry leaf [{position - self.consts}]"
        return f"xs leaf [{position - self.consts - self.carry}]"


@payload
class CheckpointedScan(Scan, name="checkpointed_scan"):
    """A `Scan` of which reverse mode stores less and computes more.

    With one level it stores the carry of each round, and computes the other values of a round
    again. With k levels the n rounds are blocks of blocks: it stores about the k-th root of n
    carries on each level, and the values of as many rounds.

    Attributes:
        levels: the number of levels.

    Raises:
        ControlFlowError: as `Scan`; or `levels` is not a positive integer.
    """

    levels: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", self._as_integer("levels"))
        super().__post_init__()
        if self.levels < 1:
            raise ControlFlowError(f"scan: levels must be at least 1, got {self.levels}")

    @property
    def checkpoints(self) -> int:
        """The number of levels."""
        return self.levels
