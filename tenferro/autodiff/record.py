"""Recording what is computed: each invocation of an op is a fragment of its own.

A `Derivative` is what one op does to tangents and cotangents at operands of given types. It is
built once, from the fragment that `differentiate` makes of the one invocation and from its
transpose, and serves every invocation on operands of these types. A `Record` joins it to the values
of one invocation. Records refer to the records of their operands, and so a value holds what it was
computed from, and nothing else does.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from tenferro.autodiff.differentiate import differentiate
from tenferro.autodiff.linear_fragment import LinearFragment
from tenferro.autodiff.transpose import pull_back
from tenferro.chainrules import Cotangent, RuleContext, fresh_pass_id
from tenferro.computegraph import (
    CompiledProgram,
    GlobalValKey,
    Input,
    MaterializedGraph,
    ResolvedView,
    compile_graph,
    input_key,
    op_key,
    resolve_keys,
)
from tenferro.errors import ADRuleError, TenferroError

Mask = tuple[bool, ...]
_serials = itertools.count()


class Origin:
    """What a recorded value comes from: a `Leaf`, a `Record` (its output 0), or an `Output`."""

    __slots__ = ()


class Leaf(Origin):
    """A value that derivatives can be taken by; `grad` is the sum of those taken so far."""

    __slots__ = ("__weakref__", "grad")

    def __init__(self) -> None:
        self.grad: Any = None


class Record(Origin):
    """One invocation that depends on a leaf.

    Attributes:
        derivative: what it does to tangents and cotangents.
        sources: the origin of each operand; None where nothing is recorded of it.
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
    """

    program: CompiledProgram[Any]
    reads: tuple[int, ...]
    saved: tuple[int, ...]
    results: tuple[int | None, ...]


class Derivative:
    """The derivative of an op at operands of given types, as programs of the same op set.

    An op without a rule has a `Derivative` too: it may be computed with, and raises when a
    derivative is asked for.

    Args:
        op: the op.
        operands: distinct inputs, with the metadata of the operands.
        active: which operands may move.
        ctx: the metadata of values.

    Attributes:
        reads: which of (operands, then outputs) have to be saved.
        reaches: which outputs move when the operands do.
    """

    def __init__(
        self, op: Any, operands: Sequence[GlobalValKey], active: Mask, ctx: RuleContext
    ) -> None:
        self.op = op
        self.active = active
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
        found = self._push.get(moving)
        if found is None:
            linear = self._linearized(moving)
            made = self._program(linear.output_keys, linear.input_keys)
            found = self._push[moving] = self._checked(made, "linearize")
        return found

    def pull(self, wanted: Mask, given: Mask) -> LocalProgram:
        """Cotangents of the `wanted` operands from the `given` ones of the outputs.

        Raises:
            ADRuleError: an op on the way has no rule, or a rule breaks its contract.
        """
        found = self._pull.get((wanted, given))
        if found is None:
            made = self._transposed(wanted, given)
            found = self._pull[wanted, given] = self._checked(made, "transpose")
        return found

    def _prepare(self) -> None:
        """Find out what both derivatives read. What fails fails again when it is asked for."""
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
            pass
        self.reads = tuple(sorted(reads))
        self._push.clear()  # they say where the values were in `every`
        self._pull.clear()

    def _linearized(self, moving: Mask) -> LinearFragment[Any]:
        found = self._linear.get(moving)
        if found is None:
            view: ResolvedView[Any] = resolve_keys()
            wrt = [key for key, moves in zip(self._operands, moving, strict=True) if moves]
            found = self._linear[moving] = differentiate(view, self._outputs, wrt, ctx=self._ctx)
        return found

    def _transposed(self, wanted: Mask, given: Mask) -> LocalProgram:
        linear = self._linearized(wanted)
        pass_id = fresh_pass_id()
        seeds: list[GlobalValKey | None] = []
        for slot, (output, present) in enumerate(zip(self._outputs, given, strict=True)):
            seed = input_key(Cotangent(slot, pass_id)) if present else None
            if seed is not None:
                self._ctx.declare_like(seed, output)
            seeds.append(seed)
        cts = iter(pull_back(linear, seeds, ctx=self._ctx))
        results = [next(cts) if wants else None for wants in wanted]
        return self._program(results, [seed for seed in seeds if seed is not None])

    def _program(
        self, outputs: Sequence[GlobalValKey | None], seeds: Sequence[GlobalValKey]
    ) -> LocalProgram:
        """The straight line from values and seeds to `outputs`; nothing is computed twice."""
        values = (*self._operands, *self._outputs)
        outputs = _flowing(outputs, seeds)
        live = [key for key in outputs if key is not None]
        view: ResolvedView[Any] = resolve_keys()
        ops, _ = view.topo_order(live, leaves=(*values, *seeds))
        used: set[GlobalValKey] = {*live, *(key for op in ops for key in op.inputs)}
        reads = tuple([place for place, key in enumerate(values) if key in used])
        # The outputs of the invocation are inputs here: they have been computed.
        inputs = cast("tuple[Input, ...]", (*(values[place] for place in reads), *seeds))
        program: CompiledProgram[Any] = compile_graph(
            MaterializedGraph(tuple(ops), inputs, tuple(live))
        )
        count = itertools.count()
        results = tuple([None if key is None else next(count) for key in outputs])
        return LocalProgram(program, reads, (), results)

    def _checked(self, made: LocalProgram, rule: str) -> LocalProgram:
        """The program, told where a record has saved what it reads."""
        place = {read: number for number, read in enumerate(self.reads)}
        if any(read not in place for read in made.reads):
            raise ADRuleError(
                f"{self.op}: its {rule} rule reads more where fewer operands are active; "
                "read the same values whatever is active"
            )
        saved = tuple([place[read] for read in made.reads])
        return LocalProgram(made.program, made.reads, saved, made.results)


def _flowing(
    outputs: Sequence[GlobalValKey | None], seeds: Sequence[GlobalValKey]
) -> list[GlobalValKey | None]:
    """The outputs, with None for those that read no seed: being linear in them, they are zero."""
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
    found: set[Record] = set()
    stack = [owner(output) for output in outputs if output not in stops]
    while stack:
        record = stack.pop()
        if not isinstance(record, Record) or record in found:
            continue
        found.add(record)
        stack += [
            owner(source) for source in record.sources if source is not None and source not in stops
        ]
    return sorted(found, key=lambda record: record.serial)
