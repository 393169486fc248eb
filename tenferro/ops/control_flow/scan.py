"""Scan: the op, jvp, transpose, batch rule, checkpointed reverse mode.

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
    Emitter,
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
    residuals,
    resolve_keys,
)
from tenferro.errors import ADRuleError, ControlFlowError, UnsupportedDynamicShapeError, counted
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
    fresh_input,
    payload,
    restricted,
    runtime_dims,
    type_of,
)
from tenferro.ops import Concatenate, Reshape, Slice, Transpose, full, zeros_like
from tenferro.ops.control_flow.base import (
    ControlOp,
    Interpreter,
    PreparedBody,
    T,
    fixed_leaves,
    in_all_iterations,
    inputs_read,
    plain,
    positions,
    reached_in_iterations,
    size_in_words,
)
from tenferro.ops.control_flow.bodies import (
    Keys,
    batched_iteration,
    dependencies,
    dependent,
    emitted,
    fill_slots,
    filled,
    foreign,
    fresh_like,
    graph_of,
    inner_context,
    inner_emitter,
    linear_in,
    pays_again,
    program_of,
    repeated_where,
    root,
    transposed_through,
    without_cheap,
)

__all__ = ["CheckpointedScan", "Scan"]


@payload
class Scan(ControlOp, name="scan"):
    """Runs `body` once for each of `length` entries along the first axis of its last operands.

    The operands are `consts` values that every iteration reads, `carry` values that the first
    iteration starts from, and the *xs*, of which each iteration reads one entry. The body takes
    them in that order and returns the next carry and then the *ys*. The results are the last carry,
    and the ys of all iterations, stacked along a new first axis.

    Attributes:
        body: what one iteration computes.
        consts: number of values that are the same in all iterations.
        carry: number of values that go from iteration to iteration.
        length: number of iterations.
        reverse: whether the iterations go from the last entry to the first.
        unroll: number of iterations that an executor may compile as one; does not change results.

    Raises:
        ControlFlowError: a field is of another type, the body has too few inputs or outputs, or it
            returns the carry with other types than it takes.
        UnsupportedDynamicShapeError: data decide a size in the body, or the number of iterations.
    """

    body: ExecProgram
    consts: int
    carry: int
    length: Dim
    reverse: bool = False
    unroll: int = 1

    body_fields = ("body",)
    takes_mask = True

    def __post_init__(self) -> None:
        body = self._as_body("the body", self.body)
        self._set(body=body)
        self._read_field("reverse", "True or False")
        for name in ("consts", "carry", "unroll"):
            self._read_field(name)
        if not isinstance(self.length, DimExpr):
            self._read_field("length", "an integer or a size of the program")
        super().__post_init__()
        n_inputs, n_outputs = len(body.input_slots), len(body.output_slots)
        self._set(n_inputs=n_inputs, n_outputs=n_outputs)
        start = self.consts + self.carry
        if self.consts < 0 or self.carry < 0 or start > n_inputs:
            raise ControlFlowError(
                f"scan: {counted(self.consts, 'const')} and {counted(self.carry, 'carried value')} "
                f"do not fit a body of {counted(n_inputs, 'input')}"
            )
        if self.carry > n_outputs:
            raise ControlFlowError(
                f"scan: the body returns {counted(n_outputs, 'value')}, but carries {self.carry}"
            )
        if isinstance(self.length, int) and self.length < 0:
            raise ControlFlowError(f"scan: length must not be negative, got {self.length}")
        if self.unroll < 1:
            raise ControlFlowError(f"scan: unroll must be at least 1, got {self.unroll}")
        if runtime_dims(self.length):
            raise UnsupportedDynamicShapeError("scan", "length", describe(Exact(self.length)))
        self._check_sizes("the body", body)
        self._check_carry(body.input_metas[self.consts : start], body.output_metas[: self.carry])

    @property
    def const_places(self) -> dict[str, range]:
        return {"body": range(self.consts)}

    def with_consts(self, bodies: Mapping[str, Body], counts: Mapping[str, int]) -> Self:
        return replace(self, body=cast(ExecProgram, bodies["body"]), consts=counts["body"])

    @property
    def passed_on(self) -> Mapping[int, int]:
        """The leaves that the body returns as they are."""
        fixed = fixed_leaves(self.body, self.consts, self.carry)
        return {leaf: self.consts + leaf for leaf in fixed}

    def without_fixed(self) -> Pruned | None:
        """The scan without the leaves that its body returns as they are."""
        body, start = self.body, self.consts
        fixed = fixed_leaves(body, start, self.carry)
        if not fixed:
            return None
        remaining = [leaf for leaf in range(self.n_outputs) if leaf not in fixed]
        rest = [at for at in range(start, len(body.input_slots)) if at - start not in fixed]
        operands = (*range(start), *(start + leaf for leaf in fixed), *rest)
        op = replace(
            self,
            body=restricted(body, operands, remaining),
            consts=start + len(fixed),
            carry=self.carry - len(fixed),
        )
        return Pruned(op, operands, tuple(remaining))

    @property
    def iterations(self) -> int:
        """The number of iterations, if it is known."""
        return self.length if isinstance(self.length, int) else super().iterations

    def surely_runs(self, label: str) -> bool:
        """Whether there is certainly an iteration."""
        return isinstance(self.length, int) and self.length > 0

    def _kinds_of_operands(self) -> str:
        xs = len(self.body.input_slots) - self.consts - self.carry
        consts, carry = counted(self.consts, "const"), counted(self.carry, "carried value")
        return f" ({consts}, {carry} and {xs} xs)"

    def infer_all(self, metas: Sequence[TensorMeta]) -> tuple[TensorMeta, ...]:
        """The carry's types, and those of the ys with a first axis of `length`."""
        self._check_operands(metas, self.operand_metas)
        outputs = plain(self.body.output_metas)
        stacks = [self._stacked(meta) for meta in outputs[self.carry :]]
        return (*outputs[: self.carry], *stacks)

    def evaluate(self, inputs: Sequence[NumpyArray]) -> tuple[NumpyArray, ...]:
        self._check_arrays(inputs)
        steps, start = self._steps, self.consts + self.carry
        values, entries = steps.values(inputs[:start]), inputs[start:]
        body, places = self.body, self.body.input_slots[start:]
        metas, returned = body.output_metas[self.carry :], body.output_slots[self.carry :]
        count = self.length
        assert not isinstance(count, DimExpr), "sizes are bound"
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
    def _steps(self) -> PreparedBody:
        """The body, prepared to run often."""
        return PreparedBody(self.body, self.consts, self.carry)

    def pruned(self, live: Sequence[bool]) -> Pruned | None:
        """The scan without dead ys and without dead carries that no live output depends on.

        Operands that the smaller body does not read are left out, also where all outputs are live.
        """
        needed = list(live)
        while True:  # a carry that an iteration reads must also be computed by the iteration before
            read = inputs_read(self.body, needed)
            carried = read[self.consts : self.consts + self.carry]
            wider = [on or (i < self.carry and carried[i]) for i, on in enumerate(needed)]
            if wider == needed:
                break
            needed = wider
        read[self.consts : self.consts + self.carry] = needed[: self.carry]  # starts of results
        if all(needed) and all(read):
            return None
        outputs, operands = positions(needed), positions(read)
        op = replace(
            self,
            body=restricted(self.body, operands, outputs),
            consts=sum(read[: self.consts]),
            carry=sum(needed[: self.carry]),
        )
        return Pruned(op, tuple(operands), tuple(outputs))

    def reached(self, active: Sequence[bool]) -> list[bool]:
        return reached_in_iterations(self.body, active, self.consts, self.carry)

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
        levels = self.checkpoints if checkpoints is None else checkpoints
        count, reverse = self.length if length is None else length, self.reverse != backward
        fields = body, consts, carry, count, reverse, self.unroll
        return CheckpointedScan(*fields, levels) if levels else Scan(*fields)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The tangents of the results, by a loop over the linear part of the body.

        A carry is active if a tangent reaches it in any iteration; which are is a fixed point. With
        checkpoints nothing of the iterations is stored: the tangents go along with the carry.
        """
        this = Iteration.of(self)
        if self.checkpoints:
            paired = pairs(this, at)
            if paired is None:
                return (None,) * len(at.out)
            counts = self.consts + len(paired.consts), self.carry + len(paired.carry)
            results = at.emitter.emit_all(self.like(paired.body, *counts), *paired.operands)
            return fill_slots(results[self.carry :], paired.reached)
        active, linear = linear_iteration(this, [tangent is not None for tangent in at.tangent], at)
        consts, carry, _ = by_role(active, self.consts, self.carry)
        seed_consts, seed_carry, seed_xs = by_role(linear.input_keys, sum(consts), sum(carry))
        reached = linear.output_keys
        ys = [key for key in reached[self.carry :] if key is not None]
        if not seed_carry and not ys:
            return (None,) * len(reached)
        emitter = KeyEmitter(inner_context(at.ctx))
        outputs = [*filled(emitter, reached[: self.carry], this.carry, carry), *ys]
        stored = residuals_of(self, at.emitter, this, at.primal, outputs, linear.input_keys)
        body = program_of(
            [*stored.consts, *seed_consts, *seed_carry, *stored.xs, *seed_xs], outputs
        )
        tangents = [
            full(at.emitter, 0, at.ctx.meta(primal)) if tangent is None else tangent
            for primal, tangent in compress(zip(at.primal, at.tangent, strict=True), active)
        ]
        of_consts, of_carry, of_xs = by_role(tangents, len(seed_consts), len(seed_carry))
        loop = self.like(body, len(stored.consts) + len(seed_consts), len(seed_carry))
        results = at.emitter.emit_all(
            loop, *stored.const_values, *of_consts, *of_carry, *stored.stacks, *of_xs
        )
        return fill_slots(results, [*carry, *(key is not None for key in reached[self.carry :])])

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangents of the active operands, by a loop in the other direction.

        The cotangents of the carry go from iteration to iteration, and so do the sums of those of
        consts. With several levels of checkpoints the iterations run in blocks.

        Raises:
            ADRuleError: iterations run in blocks, but their number is not known.
        """
        if self.checkpoints > 1:
            metas = self.operand_metas
            return transposed_through(at, metas, lambda *inner: _blocks(self, *inner))
        this, ctx = Iteration.of(self), inner_context(at.ctx)
        active, linear = in_all_iterations(
            at.active,
            self.consts,
            self.carry,
            lambda flags: linear_in(this.inputs, this.outputs, positions(flags), ctx),
            lambda linear: [key is not None for key in linear.output_keys],
        )
        flow = _Flow.of(self, this, linear, active, at.ct, ctx)
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
        carry = [*flow.carry.values(), *sums]
        ys = list(flow.ys.values())
        stored = residuals_of(self, at.emitter, this, at.inputs, outputs, [*carry, *ys], active)
        body = program_of([*stored.consts, *carry, *stored.xs, *ys], outputs)
        starts = [full(at.emitter, 0, type_of(key)) for key in carry]
        for place, leaf in enumerate(flow.carry):
            ct = at.ct[leaf]
            starts[place] = starts[place] if ct is None else ct
        arriving = [ct for place in flow.ys if (ct := at.ct[place]) is not None]
        loop = self.like(body, len(stored.consts), len(carry), backward=True)
        results = at.emitter.emit_all(
            loop, *stored.const_values, *starts, *stored.stacks, *arriving
        )
        places = [*(self.consts + leaf for leaf in flow.carry), *flow.terms, *flow.xs]
        cts = dict(zip(places, results, strict=True))
        return tuple([cts.get(place) if on else None for place, on in enumerate(at.active)])

    def batch_rule(self, at: BatchSite[V], valid: V | None = None) -> Batched[V]:
        """One loop for all entries. A leaf of the carry is batched if it is so in any iteration."""
        start, end = self.consts, self.consts + self.carry
        flags, whole = batched_iteration(self.body, list(at.batched), start, self.carry, at, valid)
        wanted = [*flags[start:end], *whole.batched[self.carry :]]
        first = [] if valid is None else [valid]
        operands = [*first, *repeated_where(at, 0, flags[:end], valid)]
        operands += [
            _swapped(at.emitter, value) if on else value
            for value, on in zip(at.inputs[end:], flags[end:], strict=True)
        ]
        loop = self.like(whole.program(wanted), len(first) + self.consts, self.carry)
        results = at.emitter.emit_all(loop, *operands)
        ys = [
            _swapped(at.emitter, value) if on else value
            for value, on in zip(results[self.carry :], wanted[self.carry :], strict=True)
        ]
        return tuple(zip([*results[: self.carry], *ys], wanted, strict=True))

    def interpreted(self, values: Sequence[T], at: Interpreter[T]) -> list[T] | None:
        """The iterations one after another; None if their number is not known, or is zero."""
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
        """The iterations, and what is compiled or stored in another way than by default."""
        unrolled = f", {self.unroll} at once" if self.unroll > 1 else ""
        levels = self.checkpoints
        stored = f", checkpointed on {levels} levels" if levels > 1 else ""
        return (
            f"scan: {counted(self.length, 'round')} of {size_in_words(self.body)}{unrolled}{stored}"
        )

    @property
    def overwrites(self) -> Mapping[int, int]:
        return {leaf: self.consts + leaf for leaf in range(self.carry)}

    @property
    def written_inside(self) -> Collection[int]:
        """The carry: the body returns only entries of what is stacked."""
        return range(self.carry)

    @property
    def operand_metas(self) -> tuple[TensorMeta, ...]:
        metas, start = self.body.input_metas, self.consts + self.carry
        return (*metas[:start], *(self._stacked(meta) for meta in metas[start:]))

    def _stacked(self, meta: TensorMeta) -> TensorMeta:
        """The type with a first axis of `length`."""
        return meta.with_extents([Exact(self.length), *meta.extents])

    def _misfit(self, position: int, meta: TensorMeta, expected: TensorMeta) -> ControlFlowError:
        """The error for an operand of another type than the body takes."""
        start = self.consts + self.carry
        if position >= start and meta.rank and meta.extents[0] != expected.extents[0]:
            return ControlFlowError(
                f"scan: {self._role(position)} is {meta}, whose axis 0 is "
                f"{describe(meta.extents[0])}, but the loop has {counted(self.length, 'round')}"
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

    With one level it stores the carry of each iteration, and computes the other values of a
    iteration again. With k levels the n iterations are blocks of blocks: it stores about the k-th
    root of n carries on each level, and the values of as many iterations.

    Attributes:
        levels: the number of levels.

    Raises:
        ControlFlowError: as `Scan`; or `levels` is not a positive integer.
    """

    levels: int = 1

    def __post_init__(self) -> None:
        self._read_field("levels")
        super().__post_init__()
        if self.levels < 1:
            raise ControlFlowError(f"scan: levels must be at least 1, got {self.levels}")

    @property
    def checkpoints(self) -> int:
        return self.levels


# The graph of an iteration, and what its derivative reads of it.


@dataclass(frozen=True, slots=True)
class Iteration:
    """The graph of one iteration.

    Attributes:
        consts: what every iteration reads.
        carry: what comes from the one before.
        xs: what only this one reads.
        next: the carry of the next one.
        ys: what is stacked.
    """

    consts: Keys
    carry: Keys
    xs: Keys
    next: Keys
    ys: Keys

    @classmethod
    def of(cls, op: Scan) -> Self:
        """The graph of an iteration of `op`."""
        inputs, outputs = graph_of(op.body)
        roles = by_role(inputs, op.consts, op.carry)
        return cls(*roles, outputs[: op.carry], outputs[op.carry :])

    @property
    def inputs(self) -> Keys:
        """All that an iteration reads, in the order of the loop's operands."""
        return [*self.consts, *self.carry, *self.xs]

    @property
    def outputs(self) -> Keys:
        """All that an iteration returns."""
        return [*self.next, *self.ys]


def by_role(
    values: Sequence[T], consts: int, carry: int
) -> tuple[Sequence[T], Sequence[T], Sequence[T]]:
    """The values of the consts, those of the carry, and the others."""
    end = consts + carry
    return values[:consts], values[consts:end], values[end:]


def linear_iteration(
    this: Iteration, active: Sequence[bool], at: JvpSite[V]
) -> tuple[list[bool], LinearFragment[Any]]:
    """Which inputs of an iteration are active, and its linear part in these.

    A leaf of the carry is active if a tangent reaches it in any iteration.
    """
    ctx = inner_context(at.ctx)
    return in_all_iterations(
        active,
        len(this.consts),
        len(this.carry),
        lambda flags: differentiate(
            resolve_keys(), this.outputs, list(compress(this.inputs, flags)), ctx=ctx
        ),
        lambda linear: [key is not None for key in linear.output_keys],
    )


@dataclass(frozen=True, slots=True)
class Residuals(Generic[V]):
    """The values of a loop that another loop over the same iterations reads.

    Attributes:
        consts, const_values: values that are the same in all iterations, in the graph of one and
            where the loop is called.
        xs, stacks: values of a single iteration, and their stacks over all.
    """

    consts: Keys
    const_values: Sequence[V]
    xs: Keys
    stacks: Sequence[V]


def residuals_of(
    op: Scan,
    at: Emitter[V],
    this: Iteration,
    operands: Sequence[V],
    outputs: Keys,
    seeds: Keys,
    active: Sequence[bool] = (),
) -> Residuals[V]:
    """What `outputs`, which are linear in `seeds`, read of the values of an iteration of `op`.

    What depends on consts alone is computed once, before the loop. An entry of xs is taken as it
    is. A value that costs less to compute again than to store is computed again. So are all values
    but the carry if the loop has checkpoints, or if that costs less for all of them together. The
    others are stacked by `op` itself, of which one more is emitted for that. Operands that are
    `active` have no values, and nothing reads them.
    """
    fixed = [not on for on in active] or [True] * len(operands)
    needed = dependencies(outputs, this.inputs)
    read: Keys = [key for key in this.inputs if key in needed]
    varying = {*this.carry, *this.xs}
    if not op.checkpoints:
        at_hand = [*this.consts, *this.xs]
        least = residuals(outputs, seeds)
        varying = dependent(least, varying)
        least = without_cheap(least, at_hand, varying)
        stored = [key for key in least if key in varying and key not in this.xs]
        instead = [key for key in read if key in this.carry]
        if not pays_again(stored, instead, at_hand, op.length):
            read = least
    consts = [key for key in read if key not in varying]
    known = dict(zip(this.inputs, operands, strict=True))
    values = [value for value in emitted(at, consts, known, since=0) if value is not None]
    entries = [key for key in read if key in this.xs]
    stacked = [key for key in read if key in varying and key not in this.xs]
    stacks: Sequence[V] = ()
    if stacked:
        of_consts, of_carry, _ = by_role(fixed, op.consts, op.carry)
        returned = [*compress(this.next, of_carry), *stacked]
        around = foreign(returned, this.inputs)
        whole = program_of([*around, *this.inputs], returned)
        read_by_body = [*range(len(around)), *(len(around) + at for at in positions(fixed))]
        body = restricted(whole, read_by_body, range(len(returned)))
        loop = op.like(body, len(around) + sum(of_consts), sum(of_carry))
        passed: list[Any] = [*around, *compress(operands, fixed)]
        stacks = at.emit_all(loop, *passed)[sum(of_carry) :]
    return Residuals(consts, values, [*entries, *stacked], [*(known[x] for x in entries), *stacks])


@dataclass(frozen=True, slots=True)
class _Flow:
    """Where cotangents flow in an iteration; what no cotangent reaches is not there.

    Attributes:
        carry: by leaf, the cotangent of the carry that the iteration returns.
        ys: by the place among the results, the cotangent of a y.
        before: by leaf, the cotangent of the carry that the iteration takes.
        terms: by the place among the operands, what the iteration adds to the cotangent of a const.
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
        op: Scan,
        this: Iteration,
        linear: LinearFragment[Any],
        active: Sequence[bool],
        cts: Sequence[object],
        ctx: RuleContext,
    ) -> Self:
        """The flow from the results whose cotangents are `cts`.

        Cotangents of further leaves of the carry may arrive iteration by iteration: a fixed point.
        """
        split = op.consts + op.carry
        ys = {
            place: fresh_like([key], "ct_y")[0]
            for place, key in enumerate(linear.output_keys)
            if place >= op.carry and cts[place] is not None and key is not None
        }
        flags = active[op.consts : split]
        live = [on and ct is not None for on, ct in zip(flags, cts, strict=False)]
        while True:
            places = list(compress(range(op.carry), live))
            carry = dict(zip(places, fresh_like(compress(this.carry, live), "ct"), strict=True))
            seeds = [carry.get(leaf) for leaf in range(op.carry)]
            seeds += [ys.get(place) for place in range(op.carry, len(linear.output_keys))]
            pulled = fill_slots(pull_back(linear, seeds, ctx=ctx), active)
            flowing = {place: key for place, key in enumerate(pulled) if key is not None}
            before = {
                place - op.consts: key
                for place, key in flowing.items()
                if op.consts <= place < split
            }
            wider = [on or leaf in before for leaf, on in enumerate(live)]
            if wider == live:
                terms = {place: key for place, key in flowing.items() if place < op.consts}
                xs = {place: key for place, key in flowing.items() if place >= split}
                return cls(carry, ys, before, terms, xs)
            live = wider


# The tangents of loops that store nothing of the iterations: they go along with the carry.


class PairedLoop(NamedTuple, Generic[V]):
    """A loop of pairs: the values of iterations, and the tangents of the active ones.

    In each role, which are consts, carry and xs, and among the results, the values come first.

    Attributes:
        body: what one iteration computes.
        consts, carry: the tangents among the inputs of the body.
        operands: what the loop takes.
        reached: which results of an iteration have a tangent.
    """

    body: ExecProgram
    consts: Keys
    carry: Keys
    operands: Sequence[V]
    reached: Sequence[bool]


def pairs(this: Iteration, at: JvpSite[V], first: int = 0) -> PairedLoop[V] | None:
    """The loop of values and tangents of a loop; None if no result has a tangent.

    The loop's iterations take the operands from `first` on.
    """
    emitter, count = inner_emitter(at.emitter), len(this.carry)
    primal, tangent = at.primal[first:], at.tangent[first:]
    active, linear = linear_iteration(this, [each is not None for each in tangent], at)
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
        zeros_like(at.emitter, value) if each is None else each
        for value, each in compress(zip(primal, tangent, strict=True), active)
    ]
    roles = zip(by_role(primal, *sizes), by_role(starts, *counts), strict=True)
    operands = [value for both in roles for part in both for value in part]
    return PairedLoop(body, consts, carry, operands, reached)


# Reverse mode of loops that store less: the iterations run in blocks.


def _blocks(op: Scan, at: KeyEmitter, operands: Keys) -> Keys:
    """The results of `op`, whose iterations run in blocks; the last ones may not fill a block."""
    length = op.length
    if isinstance(length, DimExpr):
        raise ADRuleError(
            f"scan: checkpoints need a known number of rounds, got {length}; bind the size, or "
            "leave checkpoints= out"
        )
    count = root(length, op.checkpoints)
    size = length // count
    consts, carry, xs = by_role(operands, op.consts, op.carry)

    def iterations(number: int) -> Scan:
        levels = op.checkpoints - 1 if op.checkpoints > 2 else 0
        return op.like(op.body, op.consts, op.carry, length=number, checkpoints=levels)

    def entries(stack: GlobalValKey, start: int, limit: int) -> GlobalValKey:
        others = type_of(stack).exact_shape()[1:]
        none = (0,) * len(others)
        return at.emit(Slice((start, *none), (limit, *others), (1, *(1 for _ in none))), stack)

    def in_blocks(carry: Keys) -> Keys:
        inner = iterations(size)
        inputs = [fresh_input(meta, "unread") for meta in inner.operand_metas]
        block = program_of(inputs, at.emit_all(inner, *inputs))
        loop = op.like(block, op.consts, op.carry, length=count, checkpoints=1)
        grouped = [
            at.emit(
                Reshape((count, size, *type_of(key).exact_shape()[1:])),
                entries(key, 0, count * size),
            )
            for key in xs
        ]
        results = at.emit_all(loop, *consts, *carry, *grouped)
        ys = [
            at.emit(Reshape((count * size, *type_of(key).exact_shape()[2:])), key)
            for key in results[op.carry :]
        ]
        return [*results[: op.carry], *ys]

    def the_rest(carry: Keys) -> Keys:
        left = [entries(key, count * size, length) for key in xs]
        return at.emit_all(iterations(length - count * size), *consts, *carry, *left)

    if length == count * size:
        return in_blocks(carry)
    first = the_rest(carry) if op.reverse else in_blocks(carry)
    second = in_blocks(first[: op.carry]) if op.reverse else the_rest(first[: op.carry])
    whole, part = (second, first) if op.reverse else (first, second)
    ys = zip(whole[op.carry :], part[op.carry :], strict=True)
    return [*second[: op.carry], *(at.emit(Concatenate(0), *pair) for pair in ys)]


def _swapped(at: Emitter[V], value: V) -> V:
    """The value with its first two axes exchanged: the iterations and the entries."""
    rank = at.ctx.meta(value).rank
    return at.emit(Transpose((1, 0, *range(2, rank))), value)
