"""Bodies as graphs: differentiate, batch, guard, find residuals.

A loop that a condition ends need not end for an entry that it was not written for. It gets a
further condition, which is false for such entries.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, NamedTuple, TypeVar, cast

from tenferro.core import (
    PRIMAL,
    Batched,
    BatchSite,
    Emitter,
    FragmentBuilder,
    FragmentEmitter,
    GlobalOpKey,
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
    batch,
    finish,
    input_key,
    op_key,
    pull_back,
    resolve_keys,
)
from tenferro.errors import TenferroError, TracingError, UnsupportedExtensionError
from tenferro.ir import (
    BOOL,
    Dim,
    Exact,
    ExecBuilder,
    ExecInstruction,
    ExecProgram,
    ShapeGuardContext,
    TensorInput,
    TensorMeta,
    fresh_input,
    is_inexact,
    run,
    type_of,
)
from tenferro.ops import (
    AND,
    Analytic,
    Argument,
    CotangentWhere,
    Pow,
    ReduceOr,
    Rsqrt,
    Special,
    Sqrt,
    StdTensorOp,
    broadcast_like,
    repeated,
    replay,
    shape_context,
    zeros_like,
)
from tenferro.ops.control_flow.base import ControlOp, in_all_iterations, on_named_axes

__all__ = [
    "emitted",
    "foreign",
    "graph_of",
    "inlined",
    "inner_emitter",
    "linear_in",
    "noted",
    "program_of",
    "program_of_ops",
    "require_family",
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
    return program_of_ops(ops, inputs, outputs)


def program_of_ops(
    ops: Iterable[GlobalOpKey], inputs: Keys, outputs: Keys, families: Container[str] | None = None
) -> ExecProgram:
    """The program of ops of a graph, each after those that it reads.

    `families`, if given, are the extension families that the executor of the program has.

    Raises:
        UnsupportedExtensionError: an extension op is of a family that is not among `families`.
        TenferroError: an op cannot take its operands; a note says where it was recorded.
    """
    builder = ExecBuilder()
    slots: dict[GlobalValKey, int] = {}
    for key in inputs:
        slots[key] = builder.input(type_of(key))
    slot_of = slots.__getitem__
    for op in ops:
        primitive = cast(StdTensorOp, op.primitive)
        made = operands = tuple(map(slot_of, op.inputs))
        try:
            if families is not None and primitive.family is not None:
                require_family(primitive.family, families)
            if type(primitive) is not Argument:  # the value that was passed
                made = builder.add(primitive, operands, op.site)
        except TenferroError as error:
            if op.site is not None:
                error.add_note(f"recorded at {op.site}")
            raise
        if type(op) is SingleOutputNode:
            slots.setdefault(op, made[0])  # an input stays the input
        else:
            for key, slot in zip(op.outputs, made, strict=True):
                slots.setdefault(key, slot)
    return builder.build(map(slot_of, outputs))


def require_family(family: str, families: Container[str]) -> None:
    """Raise UnsupportedExtensionError unless a family is among those that a compiler has."""
    if family not in families:
        raise UnsupportedExtensionError(
            family,
            f"{family}: not registered; add it to the families of the compiler, families=(...)",
        )


def foreign(values: Keys, inputs: Keys) -> list[Input]:
    """The inputs other than `inputs` that values depend on: a rule may close over some."""
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


def fill_slots(values: Iterable[T], places: Iterable[bool]) -> tuple[T | None, ...]:
    """The values in the places that are True, None in the others."""
    rest = iter(values)
    return tuple([next(rest) if place else None for place in places])


def filled(
    emitter: KeyEmitter, keys: Sequence[GlobalValKey | None], like: Keys, places: Sequence[bool]
) -> Keys:
    """The values in the places, zeros of the type of `like` where there is none."""
    return [
        zeros_like(emitter, similar) if key is None else key
        for key, similar, place in zip(keys, like, places, strict=True)
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
    reached = set(sources)
    ops, _ = view.topo_order(values, leaves=reached)
    for op in ops:
        if not reached.isdisjoint(op.inputs):
            reached.update(op.outputs)
    return reached


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
    read: Keys, available: Iterable[GlobalValKey], among: set[GlobalValKey]
) -> list[GlobalValKey]:
    """The values to store so that the others follow cheaply from them, and from `available`.

    Only values `among` a set, and copies of others, are left out. A value of `available` from which
    another one follows comes last.
    """
    at_hand, stored = {*read, *available}, dict.fromkeys(read)
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


# Whether values of iterations are stored, or computed again. Figures are those of one core.

STREAMED = 8 << 20
"""Bytes of stored values from which they do not stay in a cache."""
STREAMING = 0.8e-9
"""Seconds for a byte that goes to memory and comes back, in memory that is new to the process."""
SIMPLE, FUNCTION, POWER = 0.4e-9, 5e-9, 40e-9
"""Seconds for an operation, as in a sum; a function, as the sine; and a power."""


def pays_again(stored: Keys, instead: Keys, available: Iterable[GlobalValKey], times: Dim) -> bool:
    """Whether it takes less to compute some values again, in each of many iterations.

    They would be stored; from what is stored `instead`, and is available, they follow. If the
    number of iterations is not known, they are stored.
    """
    saved = sum(map(_bytes, stored)) - sum(map(_bytes, instead))
    if not isinstance(times, int) or saved * times < STREAMED:
        return False
    view: ResolvedView[Any] = resolve_keys()
    ops, _ = view.topo_order(stored, leaves={*instead, *available})
    return sum(map(_seconds, ops)) < STREAMING * saved


def _bytes(value: GlobalValKey) -> int:
    meta = type_of(value)
    return meta.known_size * meta.dtype.itemsize


def _seconds(node: Any) -> float:
    """About how long an op takes."""
    op = cast(StdTensorOp, node.primitive)
    work = op.work(list(map(type_of, node.inputs)), list(map(type_of, node.outputs)))
    if op.moves or op.repeats:
        return 0.0  # it is done where it is read
    if isinstance(op, Pow | Special):
        return POWER * work
    is_function = isinstance(op, Analytic) and not isinstance(op, Sqrt | Rsqrt)
    return (FUNCTION if is_function else SIMPLE) * work


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
    at: TransposeSite[V], metas: Sequence[TensorMeta], build: Callable[[KeyEmitter, Keys], Keys]
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
    pulled = pull_back(linear, fill_slots(seeds, arriving), ctx=ctx)
    values = [*at.inputs, *(ct for ct in at.ct if ct is not None)]
    known = dict(zip([*operands, *seeds], values, strict=True))
    cts = replay(at.emitter, pulled, known)
    return fill_slots(cts, at.active)


def root(number: int, degree: int) -> int:
    """The smallest integer whose power of this degree is at least `number`, and at least 1.

    >>> root(9, 2), root(10, 2), root(0, 2), root(1000, 3)
    (3, 4, 1, 10)
    """
    size = max(1, int(number ** (1 / degree)) - 1)
    while size**degree < number:
        size += 1
    return size


# Programs that run for all entries of a batch, also for those that do not need them.


def may_not_end(program: ExecProgram) -> bool:
    """Whether there is a loop in the program, at any depth, that a condition ends."""
    return any(op.is_open for each in program.walk() for op in each.ops_of(ControlOp))


def with_guard(program: ExecProgram, emitter: KeyEmitter) -> ExecProgram:
    """The program with a further first input, a bool that such loops have no iteration without."""
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


# Programs for all entries of a batch. What a branch computes for entries that do not take it is not
# read, but its derivative may be NaN there: no cotangent flows from these entries to others.


@dataclass(frozen=True, slots=True)
class CotangentMask:
    """Keeps cotangents of entries that do not count from what they share with others.

    A value that is the same for all entries is repeated where an op reads it together with one that
    is not, and the cotangent of the copies is zero for entries that do not count. Loops and
    branches take the mask as an operand, and repeat the value inside.

    Attributes:
        valid: for each entry whether it counts.
        guarded: values that are the same for all entries, whose cotangents stop if none counts.
    """

    valid: GlobalValKey
    guarded: set[GlobalValKey] = field(default_factory=set)

    @classmethod
    def of_size(cls, size: Dim) -> CotangentMask:
        """The mask that a program takes as its first input."""
        return cls(fresh_input(TensorMeta(BOOL, [Exact(size)]), "taken"))

    def batch(self, op: Any, at: BatchSite[GlobalValKey]) -> Batched[GlobalValKey]:
        """The op on copies of what it shares among entries, or as it is if all of it is shared."""
        inputs, emitter = list(at.inputs), at.emitter
        shared = [
            place
            for place, (value, on) in enumerate(zip(inputs, at.batched, strict=True))
            if not on and is_inexact(type_of(value).dtype) and not is_constant(value)
        ]
        if True not in at.batched:
            if not op.moves and not op.repeats:  # it has coefficients, which may be infinite
                for place in shared:
                    if inputs[place] not in self.guarded:
                        inputs[place] = _guarded_by_any(emitter, self.valid, inputs[place])
            results = emitter.emit_all(op, *inputs)
            if not self.guarded.isdisjoint(inputs) or inputs != list(at.inputs):
                self.guarded.update(results)
            return tuple([(value, False) for value in results])
        if shared and isinstance(op, ControlOp) and op.takes_mask:
            return cast(Any, op).batch_rule(at, self.valid)  # type: ignore[no-any-return]  # as below
        flags = list(at.batched)
        for place in shared:
            inputs[place] = masked_copies(emitter, inputs[place], self.valid, at.size)
            flags[place] = True
        return op.batch_rule(BatchSite(emitter, tuple(inputs), tuple(flags), at.size))  # type: ignore[no-any-return]  # an op of any set


def masked_copies(at: Emitter[V], value: V, valid: V | None, size: Dim) -> V:
    """A value for each of `size` entries; no cotangent flows from those that are not valid."""
    copies = repeated(at, value, size)
    return copies if valid is None else _masked(at, valid, copies)


def _masked(at: Emitter[V], valid: V, value: V) -> V:
    """The value, through which no cotangent flows to entries that are not valid."""
    if not is_inexact(at.ctx.meta(value).dtype):
        return value
    return at.emit(CotangentWhere(), value, entries_like(at, valid, value))


def _guarded_by_any(at: Emitter[V], valid: V, value: V) -> V:
    """A value of all entries, through which a cotangent flows if one of them is valid."""
    bools = TensorMeta(BOOL, at.ctx.meta(value).extents)
    wanted = broadcast_like(at, at.emit(ReduceOr((0,)), valid), bools, (), "vmap")
    return at.emit(CotangentWhere(), value, wanted)


def entries_like(at: Emitter[V], valid: V, value: V) -> V:
    """One bool for each entry, repeated to the shape of a batch."""
    bools = at.ctx.meta(valid).with_extents(at.ctx.meta(value).extents)
    return broadcast_like(at, valid, bools, (0,), "vmap")


def repeated_where(
    at: BatchSite[V], start: int, wanted: Sequence[bool], valid: V | None = None
) -> list[V]:
    """The operands from `start` on, repeated where they are to be batched and are not."""
    return [
        masked_copies(at.emitter, value, valid, at.size) if want and not on else value
        for value, on, want in zip(at.inputs[start:], at.batched[start:], wanted, strict=False)
    ]


class BatchedBody(NamedTuple):
    """The graph of a program for all entries, and which of its outputs are batched."""

    inputs: Keys
    outputs: Keys
    batched: Sequence[bool]
    emitter: KeyEmitter
    size: Dim
    mask: CotangentMask | None

    def program(self, wanted: Sequence[bool] = ()) -> ExecProgram:
        """The program, whose outputs are repeated where they are `wanted` batched and are not.

        It takes the mask first, if there is one.
        """
        valid = None if self.mask is None else self.mask.valid
        outputs = [
            masked_copies(self.emitter, key, valid, self.size) if want and not on else key
            for key, on, want in zip(
                self.outputs, self.batched, wanted or self.batched, strict=True
            )
        ]
        return program_of([*self.inputs] if valid is None else [valid, *self.inputs], outputs)


def batched_body(
    program: ExecProgram,
    flags: Sequence[bool],
    size: Dim,
    emitter: KeyEmitter,
    mask: CotangentMask | None = None,
) -> BatchedBody:
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
        replaced=None if mask is None else dict(zip(inputs, inputs, strict=True)),
        emitter=emitter,
        rule=None if mask is None else mask.batch,
    )
    keys, batched = [key for key, _ in results], [on for _, on in results]
    return BatchedBody(whole, keys, batched, emitter, size, mask)


def batched_iteration(
    body: ExecProgram, flags: list[bool], start: int, count: int, at: BatchSite[V], valid: V | None
) -> tuple[list[bool], BatchedBody]:
    """Which inputs of a body are batched in some iteration, and its graph for all entries.

    The first `count` outputs are the carry of the next iteration, whose inputs begin at `start`.
    """
    emitter = inner_emitter(at.emitter)
    mask = None if valid is None else CotangentMask.of_size(at.size)
    return in_all_iterations(
        flags,
        start,
        count,
        lambda flags: batched_body(body, flags, at.size, emitter, mask),
        lambda whole: whole.batched,
    )


def for_all_entries(
    program: ExecProgram, flags: Sequence[bool], size: Dim, emitter: KeyEmitter
) -> ExecProgram:
    """A program for all entries, of which some inputs are batched, and all outputs."""
    return batched_body(program, flags, size, emitter).program([True] * len(program.output_slots))


def batched_where(
    at: Emitter[V],
    valid: V,
    program: ExecProgram,
    operands: Sequence[V],
    flags: Sequence[bool],
    size: Dim,
) -> list[V]:
    """What a program computes for the entries that are valid; its results for others mean nothing.

    No cotangent flows to the others, and for them loops end at once. All results are batched.
    A program with ops on named axes reads what the others compute: cotangents flow there.
    """
    inner = inner_emitter(at)
    masks = not on_named_axes(program)
    values = [
        _masked(at, valid, value) if on and masks else value
        for value, on in zip(operands, flags, strict=True)
    ]
    if may_not_end(program):
        program, values, flags = with_guard(program, inner), [valid, *values], [True, *flags]
    mask = CotangentMask.of_size(size) if masks else None
    whole = batched_body(program, flags, size, inner, mask)
    passed = [valid, *values] if masks else values
    return inlined(at, whole.program([True] * len(whole.outputs)), passed)


def with_batch_axis(key: GlobalValKey, size: Dim) -> GlobalValKey:
    """A new input of a graph, for all entries of a value."""
    meta = type_of(key)
    return fresh_input(meta.with_extents([Exact(size), *meta.extents]), "batch")
