"""The tape: recorded ops, and derivatives forward along it and back over it.

A `Derivative` is what one op does to tangents and cotangents at operands of given types. It is
built once, from the fragment that `differentiate` makes of the one invocation and from its
transpose, and is used for every invocation on operands of these types. A `Record` combines it with
the values of one invocation. Records refer to the records of their operands. So a value keeps alive
the records that it was computed by, and nothing else keeps them alive.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, cast

from tenferro.core.autodiff import LinearFragment, differentiate, pull_back
from tenferro.core.emitters import Cotangent, fresh_pass_id
from tenferro.core.graph import MaterializedGraph, ResolvedView, resolve_keys
from tenferro.core.keys import Derived, GlobalValKey, Input, input_key, op_key
from tenferro.core.primitive import RuleContext, Slots
from tenferro.core.program import CompiledProgram, compile_graph
from tenferro.errors import ADRuleError, TenferroError

__all__ = [
    "Applier",
    "Derivative",
    "LeafOrigin",
    "LocalProgram",
    "Mask",
    "Origin",
    "Output",
    "Record",
    "pull_records",
    "push_records",
]


# Recording what is computed: each invocation of an op is a fragment of its own.

Mask = tuple[bool, ...]
_serials = itertools.count()


class Origin:
    """The origin of a recorded value: a `LeafOrigin`, a `Record` (its output 0) or an `Output`."""

    __slots__ = ()


class LeafOrigin(Origin):
    """A value that derivatives can be taken by; `grad` is the sum of the gradients so far."""

    __slots__ = ("__weakref__", "grad")

    def __init__(self) -> None:
        self.grad: Any = None


class Record(Origin):
    """One invocation that depends on a leaf.

    Attributes:
        derivative: the derivative of the op at operands of these types.
        sources: the origin of each operand; None for an operand that is not recorded.
        saved: the values that the derivative reads, in the order of its `reads`.
        serial: grows with each record, so that an operand's is less.
    """

    __slots__ = ("derivative", "saved", "serial", "sources")

    def __init__(
        self, derivative: Derivative, sources: tuple[Origin | None, ...], saved: tuple[Any, ...]
    ) -> None:
        self.derivative = derivative
        self.sources = sources
        self.saved = saved
        self.serial = next(_serials)

    def output(self, slot: int) -> Origin:
        """The origin of output number `slot`."""
        return self if slot == 0 else Output(self, slot)

    @property
    def outputs(self) -> tuple[Origin, ...]:
        """The origins of all outputs."""
        count = self.derivative.op.n_outputs
        return (self,) if count == 1 else tuple([self.output(slot) for slot in range(count)])


@dataclass(frozen=True, slots=True)
class Output(Origin):
    """Output number `slot`, not 0, of a record."""

    record: Record
    slot: int


@dataclass(frozen=True, slots=True, eq=False)
class LocalProgram:
    """A derivative of one invocation as a program.

    Attributes:
        program: its inputs are the values read, in the order of `reads`, and then the seeds.
        reads: which of (operands, then outputs) it reads.
        saved: where these stand among the saved values of a record.
        results: for each tangent or cotangent its number among the program's outputs; None is a
            symbolic zero.
        lasting: whether later invocations have the same derivative.
    """

    program: CompiledProgram[Any]
    reads: tuple[int, ...]
    saved: tuple[int, ...]
    results: tuple[int | None, ...]
    lasting: bool = True


class Derivative:
    """The derivative of an op at operands of given types, as programs of the same op set.

    An op without a rule has a `Derivative` too, which raises an error when a derivative is asked
    for.

    Args:
        op: the op.
        operands: distinct inputs, with the metadata of the operands; or constants, which
            derivatives compute again and do not read.
        active: which operands may move.
        ctx: the metadata of values.
        lasting: whether later invocations have the same derivative.

    Attributes:
        reads: which of (operands, then outputs) have to be saved.
        reaches: which outputs move when the operands do.
    """

    def __init__(
        self,
        op: Any,
        operands: Sequence[GlobalValKey],
        active: Mask,
        ctx: RuleContext,
        lasting: bool = True,
    ) -> None:
        self.op = op
        self.active = active
        self.lasting = lasting
        self._ctx = ctx
        self._operands = tuple(operands)
        self._outputs = op_key(op, self._operands).outputs
        self._linear: dict[Mask, LinearFragment[Any]] = {}
        self._push: dict[Mask, LocalProgram] = {}
        self._pull: dict[tuple[Mask, Mask], LocalProgram] = {}
        self.reads: tuple[int, ...] = ()
        self.reaches: Mask = (True,) * len(self._outputs)
        self._prepare()

    def push(self, moving: Mask) -> LocalProgram:
        """Tangents of the outputs from those of the `moving` operands.

        Raises:
            ADRuleError: the op has no linearize rule, or the rule breaks its contract.
        """
        program = self._push.get(moving)
        if program is None:
            linear = self._linearized(moving)
            unchecked = self._program(linear.output_keys, linear.input_keys)
            program = self._push[moving] = self._checked(unchecked, "linearize")
        return program

    def pull(self, wanted: Mask, arriving: Mask) -> LocalProgram:
        """Cotangents of the `wanted` operands from the `arriving` ones of the outputs.

        Raises:
            ADRuleError: an op on the way has no rule, or a rule breaks its contract.
        """
        program = self._pull.get((wanted, arriving))
        if program is None:
            unchecked = self._transposed(wanted, arriving)
            program = self._pull[wanted, arriving] = self._checked(unchecked, "transpose")
        return program

    def _prepare(self) -> None:
        """Compute what both derivatives read. An error is raised again when one is asked for."""
        every = tuple(range(len(self._operands) + len(self._outputs)))
        reads: set[int] = set()
        self.reads = every
        try:
            self.reaches = tuple(
                [key is not None for key in self._linearized(self.active).output_keys]
            )
            reads.update(self.push(self.active).reads)
            if any(self.reaches):
                reads.update(self.pull(self.active, self.reaches).reads)
        except TenferroError:
            reads.update(every)  # fewer active operands may have a derivative
        self.reads = tuple(sorted(reads))
        self._push.clear()  # their `saved` refers to `every`
        self._pull.clear()

    def _linearized(self, moving: Mask) -> LinearFragment[Any]:
        linear = self._linear.get(moving)
        if linear is None:
            view: ResolvedView[Any] = resolve_keys()
            wrt = [key for key, moves in zip(self._operands, moving, strict=True) if moves]
            linear = self._linear[moving] = differentiate(view, self._outputs, wrt, ctx=self._ctx)
        return linear

    def _transposed(self, operands: Mask, outputs: Mask) -> LocalProgram:
        """Cotangents of the operands of one mask from those of the outputs of the other."""
        linear = self._linearized(operands)
        pass_id = fresh_pass_id()
        seeds: list[GlobalValKey | None] = []
        for slot, (output, present) in enumerate(zip(self._outputs, outputs, strict=True)):
            seed = input_key(Cotangent(slot, pass_id)) if present else None
            if seed is not None:
                self._ctx.declare_like(seed, output)
            seeds.append(seed)
        cts = iter(pull_back(linear, seeds, ctx=self._ctx))
        results = [next(cts) if active else None for active in operands]
        return self._program(results, [seed for seed in seeds if seed is not None])

    def _program(
        self, outputs: Sequence[GlobalValKey | None], seeds: Sequence[GlobalValKey]
    ) -> LocalProgram:
        """The program from values and seeds to `outputs`; no value is computed twice."""
        values = (*self._operands, *self._outputs)
        outputs = _flowing(outputs, seeds)
        live = [key for key in outputs if key is not None]
        view: ResolvedView[Any] = resolve_keys()
        known = {key for key in self._operands if isinstance(key, Derived)}
        read = [key for key in values if key not in known]
        ops, _ = view.topo_order(live, leaves=(*read, *seeds))
        used: set[GlobalValKey] = {*live, *(key for op in ops for key in op.inputs)} - known
        reads = tuple([place for place, key in enumerate(values) if key in used])
        # The outputs of the invocation are inputs here: they have been computed.
        inputs = cast("tuple[Input, ...]", (*(values[place] for place in reads), *seeds))
        program: CompiledProgram[Any] = compile_graph(
            MaterializedGraph(tuple(ops), inputs, tuple(live))
        )
        count = itertools.count()
        results = tuple([None if key is None else next(count) for key in outputs])
        return LocalProgram(program, reads, (), results, self.lasting)

    def _checked(self, program: LocalProgram, rule: str) -> LocalProgram:
        """The program, with the places where a record has saved the values that it reads."""
        place = {read: number for number, read in enumerate(self.reads)}
        if any(read not in place for read in program.reads):
            raise ADRuleError(
                f"{self.op}: its {rule} rule reads more where fewer operands are active; "
                "read the same values whatever is active"
            )
        saved = tuple([place[read] for read in program.reads])
        return replace(program, saved=saved)


def _flowing(
    outputs: Sequence[GlobalValKey | None], seeds: Sequence[GlobalValKey]
) -> list[GlobalValKey | None]:
    """The outputs; None for those that do not read a seed: these are zero, by linearity."""
    view: ResolvedView[Any] = resolve_keys()
    ops, _ = view.topo_order([key for key in outputs if key is not None], leaves=seeds)
    flowing: set[GlobalValKey] = set(seeds)
    for op in ops:
        if any(key in flowing for key in op.inputs):
            flowing.update(op.outputs)
    return [key if key in flowing else None for key in outputs]


def owner(origin: Origin) -> Origin:
    """The leaf or record that an origin belongs to."""
    return origin.record if isinstance(origin, Output) else origin


def ancestors(outputs: Iterable[Origin], stops: set[Origin]) -> list[Record]:
    """The records that `outputs` were computed by, oldest first; none behind `stops`."""
    records: set[Record] = set()
    stack = [owner(output) for output in outputs if output not in stops]
    while stack:
        record = stack.pop()
        if not isinstance(record, Record) or record in records:
            continue
        records.add(record)
        stack += [
            owner(source) for source in record.sources if source is not None and source not in stops
        ]
    return sorted(records, key=lambda record: record.serial)


# Derivatives of recorded values: along the records, or back over them.

V = TypeVar("V")


class Pusher(Protocol[V]):
    """Pushes values of some kind forward through the derivative of one record."""

    def push(self, record: Record, tangents: Slots[V]) -> Slots[V]:
        """Tangents of the record's outputs from those of its operands."""


class Applier(Pusher[V], Protocol[V]):
    """Applies the derivatives of one record to values of some kind."""

    def pull(self, record: Record, cts: Slots[V], wanted: Mask) -> Slots[V]:
        """Cotangents of the `wanted` operands from those of the record's outputs."""

    def add(self, a: V, b: V) -> V:
        """The sum of two cotangents."""


def pull_records(
    seeds: Iterable[tuple[Origin, V]], wrt: Iterable[Origin] | None, apply: Applier[V]
) -> dict[Origin, V]:
    """Cotangents of `wrt` (None: of all leaves) for the cotangents in `seeds`.

    Nothing behind a value of `wrt` is differentiated. Values that no cotangent reaches are not in
    the result.

    Raises:
        ADRuleError: an op on the way has no rule.
    """
    seeds = list(seeds)
    stops = set() if wrt is None else set(wrt)
    records = ancestors([origin for origin, _ in seeds], stops)
    masks = None if wrt is None else _masks_towards(records, stops)
    total: dict[Origin, V] = {}
    for origin, ct in seeds:
        _accumulate(total, origin, ct, apply)
    while records:
        record = records.pop()
        mask = record.derivative.active if masks is None else masks.get(record)
        cts = tuple([None if o in stops else total.pop(o, None) for o in record.outputs])
        if mask is None or all(ct is None for ct in cts):
            continue
        terms = apply.pull(record, cts, mask)
        for source, term in zip(record.sources, terms, strict=True):
            if source is not None and term is not None:
                _accumulate(total, source, term, apply)
    return total if wrt is None else {origin: total[origin] for origin in stops & total.keys()}


def push_records(
    outputs: Sequence[Origin | None], tangents: Mapping[Origin, V], apply: Pusher[V]
) -> list[V | None]:
    """Tangents of `outputs` for given tangents; None where no tangent arrives.

    Nothing behind a value that has a tangent is differentiated.

    Raises:
        ADRuleError: an op on the way has no rule.
    """
    known: dict[Origin, V] = dict(tangents)
    for record in ancestors([o for o in outputs if o is not None], set(tangents)):
        incoming = tuple([None if o is None else known.get(o) for o in record.sources])
        if all(tangent is None for tangent in incoming):
            continue
        results = zip(record.outputs, apply.push(record, incoming), strict=True)
        known |= {o: t for o, t in results if t is not None and o not in tangents}
    return [None if origin is None else known.get(origin) for origin in outputs]


def _masks_towards(records: Sequence[Record], stops: set[Origin]) -> dict[Record, Mask]:
    """For each record on a path to `stops`, which of its operands are on such a path."""
    on_path: set[Origin] = set(stops)
    masks: dict[Record, Mask] = {}
    for record in records:
        mask = tuple([source in on_path for source in record.sources])
        if any(mask):
            masks[record] = mask
            on_path.update(record.outputs)
    return masks


def _accumulate(total: dict[Origin, V], origin: Origin, term: V, apply: Applier[V]) -> None:
    ct = total.get(origin)
    total[origin] = term if ct is None else apply.add(ct, term)
