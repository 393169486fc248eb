"""While: the op, jvp, bounded reverse mode, batch rule.

The tangents need no bound: they go along with the carry. The cotangents go from the last iteration
to the first, so the iterations must be stored in memory that is allocated before: a loop of at most
n iterations is written as ⌈√n⌉ blocks of ⌈√n⌉ iterations. The carry at the start of each block is
stored, and the values of one block at a time are computed again.

Source: A. Griewank and A. Walther, "Evaluating Derivatives", 2nd ed., chapter 12.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Self, cast

from tenferro.core import (
    Batched,
    BatchSite,
    Derived,
    GlobalValKey,
    JvpSite,
    KeyEmitter,
    Slots,
    TransposeSite,
    V,
    name_of,
)
from tenferro.errors import ADRuleError, ControlFlowError, counted
from tenferro.ir import (
    BOOL,
    INT32,
    INT64,
    Body,
    ExecProgram,
    NumpyArray,
    Pruned,
    TensorMeta,
    payload,
    restricted,
    type_of,
)
from tenferro.ops import ADD, AND, Compare, Convert, ReduceOr, Select, scalar
from tenferro.ops.control_flow.base import (
    ControlOp,
    PreparedBody,
    fixed_leaves,
    inputs_read,
    plain,
    positions,
    reached_in_iterations,
    size_in_words,
)
from tenferro.ops.control_flow.bodies import (
    Keys,
    batched_body,
    batched_iteration,
    batched_where,
    entries_like,
    fill_slots,
    fresh_like,
    graph_of,
    inlined,
    inner_emitter,
    program_of,
    repeated_where,
    root,
    transposed_through,
    with_batch_axis,
)
from tenferro.ops.control_flow.scan import CheckpointedScan, Iteration, Scan, pairs
from tenferro.ops.control_flow.switch import Switch

__all__ = ["While"]


@payload
class While(ControlOp, name="while"):
    """Runs `body` as long as `cond` is true of the carry.

    The operands are `cond_consts` values that `cond` reads in every iteration, `body_consts` values
    that `body` reads, and the carry that the first iteration starts from. `cond` takes its consts
    and the carry and returns one rank-0 bool; `body` takes its consts and the carry and returns the
    next carry. The results are the last carry.

    Attributes:
        cond: whether another iteration runs.
        body: what one iteration computes.
        cond_consts: number of values that `cond` reads in addition to the carry.
        body_consts: number of values that `body` reads in addition to the carry.
        max_steps: the largest number of iterations; then the loop ends whatever `cond` says. None
            for no bound.
        checkpoints: on how many levels reverse mode stores the carry; see `CheckpointedScan`.

    Raises:
        ControlFlowError: a field is of another type, a program has too few inputs or other
            outputs, or the body returns the carry with other types than it takes.
        UnsupportedDynamicShapeError: data decide a size in one of the programs.
    """

    cond: ExecProgram
    body: ExecProgram
    cond_consts: int
    body_consts: int
    max_steps: int | None = None
    checkpoints: int = 2

    body_fields = ("cond", "body")
    is_open = True
    takes_mask = True

    @property
    def one_mode(self) -> bool:
        """Without a bound on the iterations there is no reverse mode."""
        return self.max_steps is None

    def __post_init__(self) -> None:
        self._set(cond=self._as_body("cond", self.cond))
        self._set(body=self._as_body("the body", self.body))
        for name in ("cond_consts", "body_consts"):
            self._read_field(name)
        if self.max_steps is not None:
            self._read_field("max_steps", "an integer or None")
        self._read_field("checkpoints")
        super().__post_init__()
        self._check_counts()
        carry = len(self.body.output_slots)
        self._set(n_inputs=self.cond_consts + self.body_consts + carry, n_outputs=carry)
        for name, consts in (("cond", self.cond_consts), ("body", self.body_consts)):
            roles = [f"{name} const {position}" for position in range(consts)]
            roles += [f"carry leaf [{leaf}]" for leaf in range(carry)]
            where = "cond" if name == "cond" else "the body"
            self._check_sizes(where, getattr(self, name), roles)
        self._check_carry(self.carry_metas, self.body.output_metas)

    @property
    def carry_metas(self) -> tuple[TensorMeta, ...]:
        """The types of the carry, as the body takes it."""
        return self.body.input_metas[self.body_consts :]

    def _check_counts(self) -> None:
        """Raise ControlFlowError unless the counts fit the programs and these one another."""
        for name, consts in (("cond", self.cond_consts), ("body", self.body_consts)):
            program = getattr(self, name)
            needed, carry = len(program.input_slots), len(self.body.output_slots)
            if consts < 0 or consts + carry != needed:
                raise ControlFlowError(
                    f"while: {counted(consts, 'const')} and {counted(carry, 'carried value')} do "
                    f"not fit a {name} of {counted(needed, 'input')}"
                )
        if self.max_steps is not None and self.max_steps < 0:
            raise ControlFlowError(f"while: max_steps must not be negative, got {self.max_steps}")
        if self.checkpoints < 1:
            raise ControlFlowError(f"while: checkpoints must be at least 1, got {self.checkpoints}")
        returned = self.cond.output_metas
        if len(returned) != 1 or returned[0] != TensorMeta(BOOL, ()):
            types = ", ".join(map(str, returned)) or "nothing"
            raise ControlFlowError(f"while: cond must return one bool[], but returns {types}")
        read = self.cond.input_metas[self.cond_consts :]
        for leaf, (meta, expected) in enumerate(zip(read, self.carry_metas, strict=True)):
            if meta != expected:
                raise ControlFlowError(
                    f"while: cond takes carry leaf [{leaf}] as {meta}, but the body takes "
                    f"{expected}"
                )

    @property
    def const_places(self) -> dict[str, range]:
        """The consts of `cond`, then those of `body`."""
        start = self.cond_consts
        return {"cond": range(start), "body": range(start, start + self.body_consts)}

    def with_consts(self, bodies: Mapping[str, Body], counts: Mapping[str, int]) -> Self:
        cond, body = (cast(ExecProgram, bodies[name]) for name in self.body_fields)
        consts = {"cond_consts": counts["cond"], "body_consts": counts["body"]}
        return replace(self, cond=cond, body=body, **consts)

    @property
    def passed_on(self) -> Mapping[int, int]:
        """The leaves that the body returns as they are."""
        start = self.cond_consts + self.body_consts
        fixed = fixed_leaves(self.body, self.body_consts, self.n_outputs)
        return {leaf: start + leaf for leaf in fixed}

    def without_fixed(self) -> Pruned | None:
        """The loop without the leaves that its body returns as they are, unless these are all."""
        fixed = fixed_leaves(self.body, self.body_consts, self.n_outputs)
        remaining = [leaf for leaf in range(self.n_outputs) if leaf not in fixed]
        if not fixed or not remaining:
            return None
        cond, body = (
            [*range(consts), *(consts + leaf for leaf in (*fixed, *remaining))]
            for consts in (self.cond_consts, self.body_consts)
        )
        op = replace(
            self,
            cond=restricted(self.cond, cond, [0]),
            body=restricted(self.body, body, remaining),
            cond_consts=self.cond_consts + len(fixed),
            body_consts=self.body_consts + len(fixed),
        )
        start = self.cond_consts + self.body_consts
        also = [start + leaf for leaf in fixed]
        consts = (*range(self.cond_consts), *also, *range(self.cond_consts, start), *also)
        return Pruned(op, (*consts, *(start + leaf for leaf in remaining)), tuple(remaining))

    def surely_runs(self, label: str) -> bool:
        """Whether it is `cond`, which is asked before the first iteration."""
        return label == "cond" and self.max_steps != 0

    def _kinds_of_operands(self) -> str:
        consts = (
            f"{counted(self.cond_consts, 'cond const')}, {counted(self.body_consts, 'body const')}"
        )
        return f" ({consts} and {counted(self.n_outputs, 'carried value')})"

    def infer_all(self, metas: Sequence[TensorMeta]) -> tuple[TensorMeta, ...]:
        consts = self.cond.input_metas[: self.cond_consts]
        self._check_operands(metas, consts + self.body.input_metas)
        return plain(self.body.output_metas)

    def evaluate(self, inputs: Sequence[NumpyArray]) -> tuple[NumpyArray, ...]:
        self._check_arrays(inputs)
        cond, body = self._steps
        asked = cond.values(inputs[: self.cond_consts])
        values = body.values(inputs[self.cond_consts :])
        (goes_on,), count = self.cond.output_slots, 0
        while self.max_steps is None or count < self.max_steps:
            for slot, leaf in self._read:
                asked[slot] = values[leaf]
            cond.run(asked)
            if not asked[goes_on]:
                break
            body.run(values)
            body.advance(values)
            count += 1
        return tuple(body.carry(values))

    @cached_property
    def _steps(self) -> tuple[PreparedBody, PreparedBody]:
        """Both programs, prepared to run in iterations."""
        carry = self.n_outputs
        cond = PreparedBody(self.cond, self.cond_consts, 0)
        return cond, PreparedBody(self.body, self.body_consts, carry)

    @cached_property
    def _read(self) -> list[tuple[int, int]]:
        """For each leaf that `cond` reads, its slots in `cond` and in the body."""
        slots = self.cond.input_slots[self.cond_consts :]
        leaves = self.body.input_slots[self.body_consts :]
        read = {*self.cond.read_slots(), *self.cond.output_slots}
        return [(slot, leaf) for slot, leaf in zip(slots, leaves, strict=True) if slot in read]

    def pruned(self, live: Sequence[bool]) -> Pruned | None:
        """The loop without dead leaves that neither `cond` nor a live leaf depends on.

        Operands that the smaller programs do not read are left out, also where all are live.
        """
        in_cond = inputs_read(self.cond, [True])
        of_carry = in_cond[self.cond_consts :]
        needed = [is_live or read for is_live, read in zip(live, of_carry, strict=True)]
        while True:
            in_body = inputs_read(self.body, needed)
            of_carry = in_body[self.body_consts :]
            wider = [on or read for on, read in zip(needed, of_carry, strict=True)]
            if wider == needed:
                break
            needed = wider
        read = [*in_cond[: self.cond_consts], *in_body[: self.body_consts], *needed]
        if all(read):
            return None
        leaves = positions(needed)
        consts = [positions(in_cond[: self.cond_consts]), positions(in_body[: self.body_consts])]
        cond, body = (
            restricted(program, [*remaining, *(count + leaf for leaf in leaves)], outputs)
            for program, remaining, count, outputs in (
                (self.cond, consts[0], self.cond_consts, [0]),
                (self.body, consts[1], self.body_consts, leaves),
            )
        )
        smaller = replace(
            self, cond=cond, body=body, cond_consts=len(consts[0]), body_consts=len(consts[1])
        )
        return Pruned(smaller, tuple(positions(read)), tuple(leaves))

    def reached(self, active: Sequence[bool]) -> list[bool]:
        """Which leaves depend on the active operands, in any iteration.

        The number of iterations may depend on those that `cond` reads, and then all leaves do.
        """
        if any(active[: self.cond_consts]):
            return [True] * self.n_outputs
        flags = active[self.cond_consts :]
        reached = reached_in_iterations(self.body, flags, self.body_consts, self.n_outputs)
        fixed = [False] * self.cond_consts
        return [True] * self.n_outputs if any(self.cond.reached([*fixed, *reached])) else reached

    def like(self, cond: ExecProgram, body: ExecProgram, body_consts: int) -> While:
        """A loop of as many iterations of another body."""
        return replace(self, cond=cond, body=body, body_consts=body_consts)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The tangents of the carry, which go from iteration to iteration along with it."""
        inputs, following = graph_of(self.body)
        state = inputs[self.body_consts :]
        this = Iteration(inputs[: self.body_consts], state, [], following, [])
        paired = pairs(this, at, self.cond_consts)
        if paired is None:
            return (None,) * len(following)
        read, (goes_on,) = graph_of(self.cond)
        cond = program_of([*read, *fresh_like(paired.carry, "unread")], [goes_on])
        loop = self.like(cond, paired.body, self.body_consts + len(paired.consts))
        results = at.emitter.emit_all(loop, *at.primal[: self.cond_consts], *paired.operands)
        return fill_slots(results[len(following) :], paired.reached)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangents of the active operands, through an equal program of scans and switches.

        Raises:
            ADRuleError: there is no bound on the iterations.
        """
        if self.max_steps is None:
            raise _unbounded(self, at)
        steps = self.max_steps
        metas = [*self.cond.input_metas[: self.cond_consts], *self.body.input_metas]
        return transposed_through(at, metas, lambda *inner: _bounded(self, steps, *inner))

    def batch_rule(self, at: BatchSite[V], valid: V | None = None) -> Batched[V]:
        """One loop for all entries, until all have finished; a finished entry stays as it is."""
        first, split = self.cond_consts, self.cond_consts + self.body_consts
        flags, body = batched_iteration(
            self.body, list(at.batched[first:]), self.body_consts, self.n_outputs, at, valid
        )
        of_carry = flags[self.body_consts :]
        emitter = inner_emitter(at.emitter)
        cond = batched_body(self.cond, [*at.batched[:first], *of_carry], at.size, emitter)
        if cond.batched[0]:
            return self._until_all_finished(at, valid)
        mask = [] if valid is None else [valid]
        loop = self.like(cond.program(), body.program(of_carry), len(mask) + self.body_consts)
        operands = [*at.inputs[:first], *mask, *at.inputs[first:split]]
        carry = repeated_where(at, split, of_carry, valid)
        return tuple(zip(at.emitter.emit_all(loop, *operands, *carry), of_carry, strict=True))

    def _until_all_finished(self, at: BatchSite[V], counts: V | None) -> Batched[V]:
        """One loop, of which each iteration keeps the carry of entries that have finished.

        A finished one, for which the body may give NaN, adds nothing to cotangents.
        """
        emitter, first = inner_emitter(at.emitter), self.cond_consts
        split = first + self.body_consts
        everything = [True] * self.n_outputs
        cond = batched_body(self.cond, [*at.batched[:first], *everything], at.size, emitter)
        state, unfinished = cond.inputs[first:], cond.outputs[0]
        of_body = at.batched[first:split]
        consts = [
            with_batch_axis(key, at.size) if on else key
            for key, on in zip(graph_of(self.body)[0], of_body, strict=False)
        ]
        flags = [*of_body, *everything]
        operands = [*consts, *state]
        following = batched_where(emitter, unfinished, self.body, operands, flags, at.size)
        carry = [
            emitter.emit(Select(), entries_like(emitter, unfinished, new), new, old)
            for new, old in zip(following, state, strict=True)
        ]
        loop = self.like(
            program_of(cond.inputs, [emitter.emit(ReduceOr((0,)), unfinished)]),
            program_of([*cond.inputs[:first], *operands], carry),
            split,
        )
        asked = at.inputs[:first]
        rest = repeated_where(at, first, flags, counts)
        results = at.emitter.emit_all(loop, *asked, *asked, *rest)
        return tuple([(result, True) for result in results])

    def in_words(self) -> str:
        """The bound on the iterations, if there is one, and the size of an iteration."""
        bound = "" if self.max_steps is None else f"at most {self.max_steps} "
        return f"while: {bound}rounds of {size_in_words(self.body)}"

    @property
    def overwrites(self) -> Mapping[int, int]:
        start = self.cond_consts + self.body_consts
        return {leaf: start + leaf for leaf in range(self.n_outputs)}

    def _role(self, position: int) -> str:
        if position < self.cond_consts:
            return f"cond const {position}"
        position -= self.cond_consts
        if position < self.body_consts:
            return f"body const {position}"
        return f"carry leaf [{position - self.body_consts}]"

    def _reader(self, position: int) -> str:
        return "cond takes" if position < self.cond_consts else super()._reader(position)


# Reverse mode.


def _unbounded(op: While, at: TransposeSite[V]) -> ADRuleError:
    """The refusal of a loop without a bound, which names what a counter goes up to."""
    what = ""
    if op.cond.ops() == [Compare("LT")]:
        counter, limit = op.cond.instructions[0].input_slots
        inputs = op.cond.input_slots
        if counter in inputs[op.cond_consts :] and limit in inputs[: op.cond_consts]:
            bound = at.inputs[inputs.index(limit)]
            if isinstance(bound, GlobalValKey):  # a value of a graph
                site = bound.op.site if isinstance(bound, Derived) else None
                place = "" if site is None else f", at {site},"
                what = f", but {name_of(bound)}: {type_of(bound)}{place} is traced"
    error = ADRuleError(
        f"while_loop: reverse mode needs a bound on the rounds{what}; pass max_steps=, or use "
        "scan or fori_loop with constant bounds"
    )
    site = inner_emitter(at.emitter).site
    if site is not None:
        error.add_note(f"the loop is at {site}")
    return error


def _bounded(op: While, steps: int, at: KeyEmitter, operands: Keys) -> Sequence[GlobalValKey]:
    """The carry after the iterations of `op` on these operands, by blocks of iterations."""
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
    iterations = size
    for _ in range(1, op.checkpoints):
        block = guarded(at.emit_all(loop, *inputs))
        loop = CheckpointedScan(block, split, len(state), min(size, -(-steps // iterations)))
        iterations *= size
    return at.emit_all(loop, *consts, *carry)[:-1]
