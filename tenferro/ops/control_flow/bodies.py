"""Bodies as graphs: differentiate, batch, guard, find residuals.

A loop that a condition ends need not end for an entry that it was not written for. It gets a
further condition, which is false for such entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import compress
from typing import Any, Generic, Self, TypeVar, cast

from tenferro.core import (
    PRIMAL,
    Emitter,
    FragmentBuilder,
    FragmentEmitter,
    GlobalValKey,
    Input,
    KeyEmitter,
    LinearFragment,
    PrimitiveOp,
    ResolvedView,
    RuleContext,
    SingleOutputNode,
    Slots,
    TransposeSite,
    V,
    affine_in,
    finish,
    input_key,
    op_key,
    pull_back,
    residuals,
    resolve_keys,
)
from tenferro.errors import TracingError
from tenferro.ir import (
    BOOL,
    ExecBuilder,
    ExecInstruction,
    ExecProgram,
    ShapeGuardContext,
    TensorInput,
    TensorMeta,
    fresh_input,
    restricted,
    run,
    type_of,
)
from tenferro.ops import AND, Argument, StdTensorOp, replay, shape_context, zeros_like
from tenferro.ops.control_flow.base import ControlOp, Loop, in_all_rounds

__all__ = [
    "emitted",
    "foreign",
    "graph_of",
    "inlined",
    "inner_emitter",
    "linear_in",
    "noted",
    "program_of",
]


# Programs as graphs, which rules transform, and graphs as programs, which ops hold.

T = TypeVar("T")
Keys = Sequence[GlobalValKey]


def graph_of(program: ExecProgram) -> tuple[list[GlobalValKey], list[GlobalValKey]]:
    """The inputs and outputs of a program, as values of a graph.

    The inputs of equal programs are the same values, and so are then their outputs.
    """
    inputs = [
        input_key(TensorInput(f"body{number}", meta))
        for number, meta in enumerate(program.input_metas)
    ]
    outputs = run(
        program,
        cast(list[GlobalValKey], inputs),
        lambda step, operands: (
            op_key(cast(StdTensorOp, step.op), tuple(operands), PRIMAL, step.site).outputs
        ),
    )
    return [*inputs], outputs


def program_of(inputs: Keys, outputs: Keys) -> ExecProgram:
    """The program that computes `outputs` from `inputs`, which may be any values of a graph.

    Its instructions stand in the order in which a walk from the outputs meets them, so that graphs
    that compute the same give the same program.

    Raises:
        TracingError: the outputs depend on an input of the graph that is not among `inputs`.
        TenferroError: an op cannot take its operands.
    """
    view: ResolvedView[StdTensorOp] = resolve_keys()
    ops, others = view.topo_order(outputs, leaves=inputs)
    if others:
        raise TracingError(
            f"program: reads {others[0]}, which is not among its inputs; a derivative rule that is "
            "used in a loop must not close over values"
        )
    builder = ExecBuilder()
    slots = {key: builder.input(type_of(key)) for key in inputs}
    for op in ops:
        operands = tuple([slots[key] for key in op.inputs])
        made = (
            operands
            if type(op.primitive) is Argument
            else builder.add(cast(StdTensorOp, op.primitive), operands, op.site)
        )
        for key, slot in zip(op.outputs, made, strict=True):
            slots.setdefault(key, slot)  # an input stays the input
    return builder.build([slots[key] for key in outputs])


def foreign(values: Keys, inputs: Keys) -> list[Input]:
    """The inputs of the graph beside `inputs` that values depend on: a rule may close over some."""
    view: ResolvedView[StdTensorOp] = resolve_keys()
    _, met = view.topo_order(values, leaves=inputs)
    return met


def inner_context(ctx: RuleContext) -> ShapeGuardContext:
    """The context of a graph inside an op: types of its own, and the rules of the context."""
    return shape_context(ctx.registered_rule)


def inner_emitter(at: Any) -> KeyEmitter:
    """An emitter for a graph inside an op, which records the op's site."""
    emitter = KeyEmitter(inner_context(at.ctx))
    emitter.site = at.site if isinstance(at, KeyEmitter) else None
    return emitter


def fresh_like(keys: Iterable[GlobalValKey], name: str) -> list[GlobalValKey]:
    """A new input of a graph for each value, of its type."""
    return [fresh_input(type_of(key), f"{name}{number}") for number, key in enumerate(keys)]


def fresh_of_type(meta: TensorMeta) -> GlobalValKey:
    """A new input of a graph that nothing reads."""
    return fresh_input(meta, "unread")


def with_active_carry(
    given: Sequence[bool],
    start: int,
    count: int,
    linear_by: Callable[[Sequence[bool]], LinearFragment[Any]],
) -> tuple[list[bool], LinearFragment[Any]]:
    """Which inputs of a round are active, and the linear part of the round in these.

    The first `count` outputs are the carry of the next round, whose inputs begin at `start`. A leaf
    of the carry is active if a tangent reaches it in any round.
    """
    return in_all_rounds(
        given,
        start,
        count,
        linear_by,
        lambda linear: [key is not None for key in linear.output_keys],
    )


def by_role(
    values: Sequence[T], consts: int, carry: int
) -> tuple[Sequence[T], Sequence[T], Sequence[T]]:
    """The values of the consts, those of the carry, and the others."""
    end = consts + carry
    return values[:consts], values[consts:end], values[end:]


def spread(values: Iterable[T], places: Iterable[bool]) -> tuple[T | None, ...]:
    """The values in the places that are True, None in the others."""
    rest = iter(values)
    return tuple([next(rest) if place else None for place in places])


def filled(
    emitter: KeyEmitter, found: Sequence[GlobalValKey | None], like: Keys, places: Sequence[bool]
) -> Keys:
    """The values in the places, zeros of the type of `like` where there is none."""
    return [
        zeros_like(emitter, similar) if key is None else key
        for key, similar, place in zip(found, like, places, strict=True)
        if place
    ]


def linear_in(
    inputs: Keys, outputs: Keys, active: Iterable[int], ctx: RuleContext
) -> LinearFragment[Any]:
    """A graph that is linear in the inputs at the positions `active`, as a linear fragment of them.

    Its tangent outputs are None for outputs that do not depend on these.
    """
    emitter = _Splitting(FragmentBuilder(), ctx)
    seeds: dict[GlobalValKey, Input] = {}
    for position in active:
        like = inputs[position]
        (seed,) = fresh_like([like], "active")
        seeds[like] = emitter.active_input(cast(Input, seed).key, like)
    known = {key: seeds.get(key, key) for key in inputs}
    results = replay(emitter, outputs, known, keep_sites=True)
    linear = [key if key is not None and emitter.may_flow(key) else None for key in results]
    return finish(emitter.builder, list(seeds.values()), linear)


def dependent(values: Keys, sources: Iterable[GlobalValKey]) -> set[GlobalValKey]:
    """The sources, and what depends on them of all that the values are computed from."""
    view: ResolvedView[Any] = resolve_keys()
    found = set(sources)
    ops, _ = view.topo_order(values, leaves=found)
    for op in ops:
        if not found.isdisjoint(op.inputs):
            found.update(op.outputs)
    return found


class _Splitting(FragmentEmitter):
    """Emits an op some of whose outputs depend on active values, and others do not, as two ops.

    So each output of a linear op that is read is active.
    """

    def emit(self, op: PrimitiveOp, *operands: GlobalValKey) -> GlobalValKey:
        """The output of a single-output op."""
        if self._splits(op, operands):
            return self.emit_all(op, *operands)[0]
        return super().emit(op, *operands)

    def emit_all(self, op: PrimitiveOp, *operands: GlobalValKey) -> tuple[GlobalValKey, ...]:
        """All outputs of `op`."""
        if not self._splits(op, operands):
            return super().emit_all(op, *operands)
        active = [self.may_flow(operand) for operand in operands]
        whole = cast(StdTensorOp, op)
        fixed = [not on for on in whole.reached(active)]
        part = whole.pruned(fixed) if any(fixed) else None
        outputs = list(self._apply(op, operands).outputs)
        if part is not None:
            results = self._apply(
                cast(StdTensorOp, part.op), tuple([operands[place] for place in part.operands])
            ).outputs
            for place, result in zip(part.outputs, results, strict=True):
                outputs[place] = result
        return tuple(outputs)

    def _linear_here(
        self, op: PrimitiveOp, operands: Keys, mask: Sequence[bool], at: KeyEmitter
    ) -> bool:
        """Allow sums with what is fixed: that is zero, as zeros go into loops as operands."""
        return affine_in(op, tuple(operands), mask, at)

    def _splits(self, op: PrimitiveOp, operands: Iterable[GlobalValKey]) -> bool:
        """Whether an op holds programs and depends on active values."""
        return bool(cast(StdTensorOp, op).body_fields) and any(map(self.may_flow, operands))


def dependencies(values: Keys, among: Iterable[GlobalValKey]) -> set[GlobalValKey]:
    """Those of the values `among` that the others are computed from."""
    view: ResolvedView[Any] = resolve_keys()
    candidates = set(among)
    ops, _ = view.topo_order(values, leaves=candidates)
    read = {key for op in ops for key in op.inputs}.union(values)
    return candidates & read


def without_cheap(
    read: Keys, given: Iterable[GlobalValKey], among: set[GlobalValKey]
) -> list[GlobalValKey]:
    """The values to store so that the others follow from them, and from `given`, at little cost.

    Only values `among` a set, and copies of others, are left out. A value of `given` from which
    another one follows comes last.
    """
    at_hand, stored = {*read, *given}, dict.fromkeys(read)
    for key in read:
        copied = _copied(key)
        if key not in among and copied is None:
            continue
        sources = _sources(key, at_hand - {key}, _CHAIN)
        if sources is None and copied is not None:
            sources = copied
        if sources is not None:
            del stored[key]
            stored.update((source, None) for source in sources if source not in read)
    return list(stored)


_CHAIN = 4
"""The largest number of cheap ops in a row that are computed again."""


def _sources(
    key: GlobalValKey, at_hand: set[GlobalValKey], length: int
) -> list[GlobalValKey] | None:
    """The values at hand from which a value follows by cheap ops; None if it does not."""
    if key in at_hand:
        return [key]
    if is_constant(key):
        return []
    if not length or type(key) is not SingleOutputNode or not _is_cheap(key.primitive):
        return None
    parts = [_sources(operand, at_hand, length - 1) for operand in key.inputs]
    if any(part is None for part in parts):
        return None
    return [source for part in parts for source in part or ()]


def _copied(value: GlobalValKey) -> list[GlobalValKey] | None:
    """What the copies follow from that a value is; None if it is not one that repeats another."""
    if type(value) is not SingleOutputNode:
        return None
    op, operands = cast(StdTensorOp, value.primitive), list(value.inputs)
    if op.repeats and len(operands) == 1:
        return operands
    if op.for_derivatives and (sources := _copied(operands[0])) is not None:
        return [*sources, *(each for other in operands[1:] for each in _copied(other) or [other])]
    return None


def is_constant(value: GlobalValKey) -> bool:
    """Whether a value is a constant, or one op on a constant."""
    if type(value) is not SingleOutputNode:
        return False
    return all(type(key) is SingleOutputNode and not key.inputs for key in value.inputs)


def _is_cheap(op: Any) -> bool:
    """Whether computing its result takes no longer than reading it from memory."""
    return bool(op.cheap)


def emitted(
    at: Emitter[V],
    outputs: Iterable[GlobalValKey | None],
    known: Mapping[GlobalValKey, V],
    since: int,
    rule: str | None = None,
) -> Slots[V]:
    """Emit a graph that a rule made, on other values for those that are known. None stays None.

    Values with a serial before `since` are those that are around the graph, and stay themselves.
    Sites of new nodes begin with the name of the rule, if it is given.
    """
    values: dict[GlobalValKey, Any] = dict(known)
    results = list(outputs)
    view: ResolvedView[StdTensorOp] = resolve_keys()
    present = [key for key in results if key is not None]
    ops, _ = view.topo_order(present, leaves=tuple(known), since=since)
    for op in ops:
        operands = [values.get(key, key) for key in op.inputs]
        parts = [part for part in (rule, op.site) if part is not None]
        with _at_site(at, " at ".join(parts) or None):
            made = at.emit_all(cast(StdTensorOp, op.primitive), *operands)
        values.update(zip(op.outputs, made, strict=True))
    return tuple([None if key is None else values.get(key, key) for key in results])


def inlined(at: Emitter[V], program: ExecProgram, values: Sequence[V]) -> list[V]:
    """The outputs of a program on these values, each of its ops emitted, at its own site."""

    def emitted(step: ExecInstruction, operands: Sequence[V]) -> Sequence[V]:
        with _at_site(at, step.site):
            return at.emit_all(cast(StdTensorOp, step.op), *operands)

    return run(program, values, emitted)


@contextmanager
def noted(at: Any, text: str) -> Iterator[None]:
    """A context in which the sites of new nodes begin with a text; reports show it."""
    site = at.site if isinstance(at, KeyEmitter) else None
    with _at_site(at, text if site is None else f"{text} at {site}"):
        yield


@contextmanager
def _at_site(at: Any, site: str | None) -> Iterator[None]:
    """A context in which new nodes have a site, if there is one."""
    if site is None or not isinstance(at, KeyEmitter):
        yield
        return
    outer, at.site = at.site, site
    try:
        yield
    finally:
        at.site = outer


def transposed_through(
    at: TransposeSite[V],
    metas: Sequence[TensorMeta],
    build: Callable[[KeyEmitter, Keys], Keys],
) -> Slots[V]:
    """The cotangents of the active operands of an op, through an equal graph.

    `metas` are the types of the operands. `build` emits the graph on new inputs of these types and
    returns its outputs.
    """
    ctx = inner_context(at.ctx)
    operands: Keys = [fresh_input(meta, f"operand{place}") for place, meta in enumerate(metas)]
    outputs = build(inner_emitter(at.emitter), operands)
    linear = linear_in(operands, outputs, list(compress(range(len(operands)), at.active)), ctx)
    arriving = [ct is not None for ct in at.ct]
    seeds = fresh_like(compress(outputs, arriving), "ct")
    pulled = pull_back(linear, spread(seeds, arriving), ctx=ctx)
    given = [*at.inputs, *(ct for ct in at.ct if ct is not None)]
    known = dict(zip([*operands, *seeds], given, strict=True))
    found = replay(at.emitter, pulled, known)
    cts = iter(found)
    return tuple([next(cts) if on else None for on in at.active])


def root(number: int, degree: int) -> int:
    """The smallest integer whose power of this degree is at least `number`, and at least 1.

    >>> root(9, 2), root(10, 2), root(0, 2), root(1000, 3)
    (3, 4, 1, 10)
    """
    found = max(1, int(number ** (1 / degree)) - 1)
    while found**degree < number:
        found += 1
    return found


# The graph of one round of a loop, and what a loop keeps of it for a second one.


@dataclass(frozen=True, slots=True)
class Round:
    """The graph of one round.

    Attributes:
        consts: what every round reads.
        carry: what comes from the round before.
        xs: what only this round reads.
        next: the carry of the next round.
        ys: what is stacked.
    """

    consts: Keys
    carry: Keys
    xs: Keys
    next: Keys
    ys: Keys

    @classmethod
    def of(cls, op: Loop) -> Self:
        """The graph of a round of `op`."""
        inputs, outputs = graph_of(op.body)
        roles = by_role(inputs, op.consts, op.carry)
        return cls(*roles, outputs[: op.carry], outputs[op.carry :])

    @property
    def inputs(self) -> Keys:
        """All that a round reads, in the order of the loop's operands."""
        return [*self.consts, *self.carry, *self.xs]

    @property
    def outputs(self) -> Keys:
        """All that a round returns."""
        return [*self.next, *self.ys]


@dataclass(frozen=True, slots=True)
class Kept(Generic[V]):
    """The values of a loop that another loop over the same rounds reads.

    Attributes:
        consts, const_values: values that are the same in all rounds, in the graph of a round and
            where the loop is called.
        xs, stacks: values of a single round, and their stacks over all rounds.
    """

    consts: Keys
    const_values: Sequence[V]
    xs: Keys
    stacks: Sequence[V]


def keep(
    op: Loop,
    at: Emitter[V],
    this: Round,
    operands: Sequence[V],
    outputs: Keys,
    seeds: Keys,
    active: Sequence[bool] = (),
) -> Kept[V]:
    """What `outputs`, which are linear in `seeds`, read of the values of a round of `op`.

    What depends on consts alone is computed once, before the loop. An entry of xs is taken as it
    is. A value that costs less to compute again than to store is computed again; so are all values
    but the carry if the loop has checkpoints. The others are stacked by `op` itself, of which one
    more is emitted for that. Operands that are `active` have no values, and nothing reads them.
    """
    fixed = [not on for on in active] or [True] * len(operands)
    if op.checkpoints:
        needed = dependencies(outputs, this.inputs)
        read = [key for key in this.inputs if key in needed]
    else:
        read = residuals(outputs, seeds)
    varying = dependent(read, [*this.carry, *this.xs])
    read = without_cheap(read, [*this.consts, *this.xs], varying)
    consts = [key for key in read if key not in varying]
    known = dict(zip(this.inputs, operands, strict=True))
    values = [value for value in emitted(at, consts, known, since=0) if value is not None]
    given = [key for key in read if key in this.xs]
    stacked = [key for key in read if key in varying and key not in this.xs]
    stacks: Sequence[V] = ()
    if stacked:
        of_consts, of_carry = fixed[: op.consts], fixed[op.consts :][: op.carry]
        values_kept = [*compress(this.next, of_carry), *stacked]
        around = foreign(values_kept, this.inputs)
        flags = [True] * len(around) + fixed
        positions = list(compress(range(len(flags)), flags))
        whole = program_of([*around, *this.inputs], values_kept)
        body = restricted(whole, positions, range(len(values_kept)))
        loop = op.like(body, len(around) + sum(of_consts), sum(of_carry))
        passed: list[Any] = [*around, *compress(operands, fixed)]
        stacks = at.emit_all(loop, *passed)[sum(of_carry) :]
    return Kept(consts, values, [*given, *stacked], [*(known[key] for key in given), *stacks])


# Programs that run for all entries of a batch, also for those that do not need them.


def may_not_end(program: ExecProgram) -> bool:
    """Whether there is a loop in the program, at any depth, that a condition ends."""
    return any(op.is_open for each in program.walk() for op in each.ops_of(ControlOp))


def with_guard(program: ExecProgram, emitter: KeyEmitter) -> ExecProgram:
    """The program with a further first input, a bool; if it is false, such loops have no round."""
    guard = fresh_input(TensorMeta(BOOL, ()), "guard")
    inputs, _ = graph_of(program)
    outputs = _guarded_outputs(program, inputs, guard, emitter)
    return program_of([guard, *inputs], outputs)


def _guarded_outputs(
    program: ExecProgram, inputs: Keys, guard: GlobalValKey, emitter: KeyEmitter
) -> list[GlobalValKey]:
    """The outputs of a program, of whose loops the guard is a condition."""

    def emitted(step: ExecInstruction, operands: Sequence[GlobalValKey]) -> Keys:
        op = step.op
        if isinstance(op, ControlOp) and any(each.is_open for each in op.nested()):
            op, operands = _guarded(op, operands, guard, emitter)
        emitter.site = step.site
        return emitter.emit_all(cast(StdTensorOp, op), *operands)

    return run(program, inputs, emitted)


def _guarded(
    op: ControlOp, operands: Sequence[GlobalValKey], guard: GlobalValKey, emitter: KeyEmitter
) -> tuple[ControlOp, list[GlobalValKey]]:
    """The op and its operands, of which the guard is one more const.

    The body of a loop with a condition stays: in a batch, its own condition guards it.
    """
    bodies, places = dict(op.bodies), op.const_places
    labels = ["cond"] if op.is_open else [*bodies]
    for label in labels:
        body = cast(ExecProgram, bodies[label])
        bodies[label] = _with_condition(body, emitter) if op.is_open else with_guard(body, emitter)
    counts = {label: len(at) + (label in labels) for label, at in places.items()}
    start = min(places[label].start for label in labels)
    return op.with_consts(bodies, counts), [*operands[:start], guard, *operands[start:]]


def _with_condition(cond: ExecProgram, emitter: KeyEmitter) -> ExecProgram:
    """A condition with a further first input, a bool that must be true as well."""
    inputs, (goes_on,) = graph_of(with_guard(cond, emitter))
    return program_of(inputs, [emitter.emit(AND, inputs[0], goes_on)])
