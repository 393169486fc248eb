"""Loop-invariant code motion; dots pushed out of scans."""

from __future__ import annotations

import math
from collections.abc import Container, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import cast

from tenferro.compiler.passes import Pass
from tenferro.ir import ExecInstruction, ExecProgram, Rewriter, TensorMeta, restricted
from tenferro.ops import ADD, Add, BroadcastInDim, DotGeneral, Transpose
from tenferro.ops.control_flow import ControlOp, Scan

__all__ = ["LoopInvariantCodeMotion", "ScanPushoutDot"]


# Loop invariants: what is the same in all iterations is computed once; constants stand inside.

LARGE = 1024
"""The least number of elements for which an op without operands is moved out of a loop."""


@dataclass(frozen=True)
class LoopInvariantCodeMotion(Pass):
    """Moves what reads consts alone out of loops, and scalar constants into programs inside ops.

    In a body, a constant can be folded. A carried value that no iteration changes becomes a const,
    and so does an entry of xs that is the same in all of them. An instruction is moved out if it
    computes something. What only moves or repeats elements is done where it is read, and so is what
    an op without operands makes, unless it is large; but a large transpose is moved out if no
    product reads it, since each iteration would read its operand in another order. A loop
    may have no iteration, in which an op that may fail, or take long, would not have run: ops of
    extension families and ops that hold programs are moved out only if it certainly has one. A
    const that is repeated before the loop is repeated in it, where elementwise ops alone read it.
    Works for any extents.
    """

    looks_for = (ControlOp,)
    enters_bodies = False  # constants go inwards, what is computed goes outwards

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program in which bodies have their constants and none of their invariants."""
        program = _with_equal_entries(program.map_bodies(_with_equal_entries))
        program = _ConstantSinking().run(program).map_bodies(_without_invariants)
        return _with_repeats_inside(_without_invariants(program)).map_bodies(_with_repeats_inside)


def _with_equal_entries(program: ExecProgram) -> ExecProgram:
    """The program whose scans have consts in place of stacks of equal entries."""
    if not program.has_op(Scan):
        return program
    at = Rewriter(program)

    def entry(slot: int) -> int | None:
        """The entry that is stacked, if one value is repeated."""
        producer = at.producer(slot)
        if producer is None or not isinstance(producer[0], BroadcastInDim):
            return None
        op, (source,) = producer
        if 0 in op.dims:
            return None
        return at.emit(BroadcastInDim(op.shape[1:], tuple([axis - 1 for axis in op.dims])), source)

    def rule(step: ExecInstruction, operands: Sequence[int]) -> Sequence[int] | None:
        op = step.op
        if not isinstance(op, Scan):
            return None
        start = op.consts + op.carry
        entries = {place: entry(operands[place]) for place in range(start, len(operands))}
        equal = [place for place, value in entries.items() if value is not None]
        if not equal:
            return None
        order = [*range(op.consts), *equal]
        order += [place for place in range(op.consts, len(operands)) if place not in equal]
        body = restricted(op.body, order, range(len(op.body.output_slots)))
        slots = [operands[place] if (x := entries.get(place)) is None else x for place in order]
        return at.emit_all(replace(op, body=body, consts=op.consts + len(equal)), *slots)

    return at.run(rule)


class _ConstantSinking:
    """Puts constants into the programs that read them, the outermost first."""

    def __init__(self) -> None:
        # Each program with what it becomes: the key has its id, so that it must not be freed.
        self._filled: dict[tuple[object, ...], tuple[ExecProgram, ExecProgram]] = {}
        self._done: dict[int, tuple[ExecProgram, ExecProgram]] = {}

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with constants in the programs inside its ops, at any depth."""
        stack = [(program, self._inside(program))]
        while stack:
            current, inner = stack[-1]
            try:
                body = next(inner)
            except StopIteration as finished:
                stack.pop()
                self._done[id(current)] = (current, finished.value)
            else:
                if id(body) not in self._done:
                    stack.append((body, self._inside(body)))
        return self._done[id(program)][1]

    def _inside(self, program: ExecProgram) -> Generator[ExecProgram, None, ExecProgram]:
        """Yields the programs inside, with their constants; then returns the whole program."""
        if not program.has_op(ControlOp):
            return program
        makers, at = program.makers(), Rewriter(program)
        replaced: dict[ExecInstruction, tuple[ControlOp, list[int]]] = {}
        for step in program.steps_of(ControlOp):
            op = cast(ControlOp, step.op)
            known: dict[int, tuple[ExecInstruction, ...]] = {}
            bodies: dict[str, ExecProgram] = {}
            counts: dict[str, int] = {}
            changed = False
            for label, places in op.const_places.items():
                inner = {}
                for position, place in enumerate(places):
                    recipe = _recipe(step.input_slots[place], makers)
                    if recipe is not None:
                        known[place] = inner[position] = recipe
                body = cast(ExecProgram, op.bodies[label])
                if inner:
                    key = (id(body), *((i, *(s.op for s in steps)) for i, steps in inner.items()))
                    filled = self._filled.setdefault(key, (body, _filled(body, inner)))[1]
                else:
                    filled = body
                yield filled
                bodies[label] = self._done[id(filled)][1]
                counts[label] = len(places) - len(inner)
                changed |= bodies[label] is not body
            if changed:
                rest = [slot for i, slot in enumerate(step.input_slots) if i not in known]
                replaced[step] = op.with_consts(bodies, counts), rest

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> Sequence[int] | None:
            if step not in replaced:
                return None
            op, slots = replaced[step]
            return at.emit_all(op, *at.now(slots))

        return at.run(rule) if replaced else program


def _recipe(slot: int, makers: Mapping[int, ExecInstruction]) -> tuple[ExecInstruction, ...] | None:
    """The instructions that make a scalar constant, or one that is repeated; None for others."""
    step = makers.get(slot)
    if step is None or step.op.family is not None:
        return None
    if step.op.source:
        return (step,) if step.output_metas[0].rank == 0 else None
    if step.op.repeats and len(step.input_slots) == 1:
        inner = makers.get(step.input_slots[0])
        if inner is not None and inner.op.source and inner.output_metas[0].rank == 0:
            return (inner, step)
    return None


def _filled(body: ExecProgram, inner: Mapping[int, tuple[ExecInstruction, ...]]) -> ExecProgram:
    """The body with instructions in place of the inputs at some positions."""
    steps: list[ExecInstruction] = []
    n_slots = body.n_slots
    for position, recipe in inner.items():
        operands: tuple[int, ...] = ()
        for step in recipe:
            slot = body.input_slots[position] if step is recipe[-1] else n_slots
            n_slots += step is not recipe[-1]
            steps.append(replace(step, input_slots=operands, output_slots=(slot,), last_use=()))
            operands = (slot,)
    rest = [position for position in range(len(body.input_slots)) if position not in inner]
    return replace(
        body,
        instructions=(*steps, *body.instructions),
        input_slots=tuple([body.input_slots[position] for position in rest]),
        input_metas=tuple([body.input_metas[position] for position in rest]),
        n_slots=n_slots,
    )


def _without_invariants(program: ExecProgram) -> ExecProgram:
    """The program whose loops carry and compute only what iterations change."""
    if not program.has_op(ControlOp):
        return program
    at = Rewriter(program)

    def rule(step: ExecInstruction, operands: tuple[int, ...]) -> Sequence[int] | None:
        op = step.op
        if not isinstance(op, ControlOp) or not op.is_loop:
            return None
        fixed = op.without_fixed()
        loop, slots = op, list(operands)
        if fixed is not None:
            loop, slots = cast(ControlOp, fixed.op), [operands[place] for place in fixed.operands]
        places, bodies = loop.const_places, dict(loop.bodies)
        consts: dict[str, list[int]] = {}
        for label, of_body in places.items():
            consts[label] = [slots[place] for place in of_body]
            body = cast(ExecProgram, bodies[label])
            before, after = _split(body, len(of_body), loop.surely_runs(label))
            if before.output_slots:
                consts[label] += at.inline(before, consts[label])
                bodies[label] = after
        counts = {label: len(values) for label, values in consts.items()}
        if sum(counts.values()) > sum(map(len, places.values())):
            rest = slots[sum(map(len, places.values())) :]
            loop = loop.with_consts(bodies, counts)
            slots = [*(slot for values in consts.values() for slot in values), *rest]
        elif fixed is None:
            return None
        if fixed is None:
            return at.emit_all(loop, *slots)
        results = at.emit_all(loop, *slots) if fixed.outputs else ()
        made, start = dict(zip(fixed.outputs, results, strict=True)), op.overwrites
        return [
            made[place] if place in made else operands[start[place]]
            for place in range(len(step.output_slots))
        ]

    return at.run(rule)


def _split(body: ExecProgram, consts: int, surely_runs: bool) -> tuple[ExecProgram, ExecProgram]:
    """The part of a body that goes before the loop, from its consts, and the body without it.

    The body takes the outputs of that part after its consts.
    """
    known = set(body.input_slots[:consts])
    of_products = {slot for step in body.steps_of(DotGeneral) for slot in step.input_slots}
    invariant: list[ExecInstruction] = []
    work: list[ExecInstruction] = []
    rest: list[ExecInstruction] = []
    for step in body.instructions:
        is_harmless = not (step.op.family or step.op.body_fields)
        is_invariant = known.issuperset(step.input_slots) and (surely_runs or is_harmless)
        if is_invariant:
            known.update(step.output_slots)
            invariant.append(step)
        (work if is_invariant and _is_worth_it(step, of_products) else rest).append(step)
    read = {slot for step in rest for slot in step.input_slots}.union(body.output_slots)
    metas = body.slot_metas()
    passed = [slot for step in work for slot in step.output_slots if slot in read]
    types = [meta for slot in passed if (meta := metas[slot]) is not None]
    needed = replace(body, instructions=tuple(invariant)).needed_by(passed)
    before = replace(
        body,
        instructions=tuple([s for s in invariant if not needed.isdisjoint(s.output_slots)]),
        input_slots=body.input_slots[:consts],
        input_metas=body.input_metas[:consts],
        output_slots=tuple(passed),
    )
    smaller = replace(
        body,
        instructions=tuple(rest),
        input_slots=(*body.input_slots[:consts], *passed, *body.input_slots[consts:]),
        input_metas=(*body.input_metas[:consts], *types, *body.input_metas[consts:]),
    )
    return before, smaller


def _is_worth_it(step: ExecInstruction, of_products: Container[int]) -> bool:
    """Whether an instruction computes something, or stores something large in another order."""
    if step.op.source or isinstance(step.op, Transpose):
        is_large = math.prod(step.output_metas[0].static_shape or ()) >= LARGE
        return is_large and step.output_slots[0] not in of_products
    return not (step.op.moves or step.op.repeats or step.op.for_derivatives)


def _with_repeats_inside(program: ExecProgram) -> ExecProgram:
    """The program whose loops repeat large consts themselves, so that none is stored repeated."""
    if not (program.has_op(ControlOp) and program.has_op(BroadcastInDim)):
        return program
    at, metas = Rewriter(program), program.slot_metas()

    def rule(step: ExecInstruction, operands: tuple[int, ...]) -> Sequence[int] | None:
        op = step.op
        if not isinstance(op, ControlOp) or not op.is_loop:
            return None
        places, bodies, slots = op.const_places, dict(op.bodies), list(operands)
        for label, of_body in places.items():
            for position, place in enumerate(of_body):
                producer = at.producer(operands[place])
                if producer is None or not isinstance(producer[0], BroadcastInDim):
                    continue
                repeat, (source, *sizes) = producer
                meta = metas[source] if source < len(metas) else None
                body = cast(ExecProgram, bodies[label])
                if meta is not None and not sizes and _is_better_repeated(body, position, meta):
                    bodies[label] = _repeating(body, position, repeat, meta)
                    slots[place] = source
        if slots == list(operands):
            return None
        counts = {label: len(of_body) for label, of_body in places.items()}
        return at.emit_all(op.with_consts(bodies, counts), *slots)

    return at.run(rule)


def _is_better_repeated(body: ExecProgram, position: int, source: TensorMeta) -> bool:
    """Whether an input is large, of a smaller source, and read by elementwise ops alone."""
    size, own = body.input_metas[position].static_shape, source.static_shape
    if size is None or own is None or prod(size) < max(LARGE, 2 * prod(own)):
        return False
    slot = body.input_slots[position]
    readers = [step.op for step in body.instructions if slot in step.input_slots]
    return slot not in body.output_slots and all(op.pointwise for op in readers)


def _repeating(
    body: ExecProgram, position: int, repeat: BroadcastInDim, source: TensorMeta
) -> ExecProgram:
    """The body that takes the source of an input, and repeats it."""
    slots, metas = list(body.input_slots), list(body.input_metas)
    slots[position], metas[position] = body.n_slots, source
    step = ExecInstruction(
        repeat, (body.n_slots,), (body.input_slots[position],), (body.input_metas[position],)
    )
    return replace(
        body,
        instructions=(step, *body.instructions),
        input_slots=tuple(slots),
        input_metas=tuple(metas),
        n_slots=body.n_slots + 1,
    )


# Loop products: products that a loop adds up become one product after it.

Slots = tuple[int, ...]


@dataclass(frozen=True)
class ScanPushoutDot(Pass):
    """Moves products out of sums that a `Scan` carries.

    A leaf of the carry to which each iteration adds `dot_general(u, v)`, and which nothing else
    reads, is the product of the stacks of u and v, contracted over the iterations too. So the
    cotangent of a weight is one matrix product, and not one product with a column and one addition
    to a matrix in each iteration. This is done where u and v together are not larger than the
    product, so that the stacks take no more memory traffic than the additions; and not in a loop
    with checkpoints, which is there to store less.

    Source: the rewrite "scan pushout dot" of Theano and PyTensor.
    """

    looks_for = (Scan,)
    keeps_more = True

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with such products after its loops."""
        at = Rewriter(program)

        def rule(step: ExecInstruction, operands: Slots) -> Sequence[int] | None:
            if type(step.op) is not Scan:
                return None
            sums = list(_sums(step.op))
            return _moved(at, step.op, operands, sums) if sums else None

        return at.run(rule)


@dataclass(frozen=True, slots=True)
class _Sum:
    """A leaf of the carry that products are added to.

    Attributes:
        leaf: its number.
        products: the instructions of the body that compute the products.
        rest: the slots of the other values that an iteration adds.
    """

    leaf: int
    products: tuple[ExecInstruction, ...]
    rest: tuple[int, ...]


def _sums(op: Scan) -> Iterator[_Sum]:
    """The leaves of the carry whose products can be moved."""
    body, makers, reads = op.body, op.body.makers(), op.body.read_counts()
    metas, fixed = body.slot_metas(), set(body.input_slots[: op.consts])
    for leaf in range(op.carry):
        start, end = body.input_slots[op.consts + leaf], body.output_slots[leaf]
        addends = _addends(end, makers, reads)
        if addends.count(start) != 1 or reads[start] != 1 or reads[end] != 1:
            continue
        products = [
            step
            for slot in addends
            if (step := makers.get(slot)) is not None
            and reads[slot] == 1
            and _pays(op, step, metas, fixed)
        ]
        if products:
            moved = {step.output_slots[0] for step in products}
            yield _Sum(
                leaf,
                tuple(products),
                tuple(slot for slot in addends if slot != start and slot not in moved),
            )


def _addends(end: int, makers: dict[int, ExecInstruction], reads: dict[int, int]) -> list[int]:
    """The values whose sum a slot is; sums that something else reads are not taken apart."""
    addends: list[int] = []
    stack = [end]
    while stack:
        slot = stack.pop()
        step = makers.get(slot)
        if step is not None and isinstance(step.op, Add) and reads[slot] == 1:
            stack += reversed(step.input_slots)
        else:
            addends.append(slot)
    return addends


def _pays(
    op: Scan, step: ExecInstruction, metas: Sequence[TensorMeta | None], fixed: set[int]
) -> bool:
    """Whether an instruction is a product of values of an iteration that are not larger than it."""
    if not isinstance(step.op, DotGeneral) or step.op.lhs_batch:
        return False
    if not fixed.isdisjoint(step.input_slots):
        return False
    size = _size(step.output_metas[0])
    entries = op.body.input_slots[op.consts + op.carry :]
    stacked = {*entries, *op.body.output_slots[op.carry :]}
    sizes = [_size(metas[slot]) for slot in {*step.input_slots} - stacked]
    return None not in (size, *sizes) and sum(filter(None, sizes)) <= (size or 0)


def _size(meta: TensorMeta | None) -> int | None:
    if meta is None or meta.static_shape is None:
        return None
    return prod(meta.static_shape)


def _moved(at: Rewriter, op: Scan, operands: Slots, sums: Sequence[_Sum]) -> list[int]:
    """The results of the loop, with the products computed after it."""
    body = op.body
    entries = dict(
        zip(body.input_slots[op.consts + op.carry :], operands[op.consts + op.carry :], strict=True)
    )
    factors = dict.fromkeys(
        slot
        for each in sums
        for step in each.products
        for slot in step.input_slots
        if slot not in entries and slot not in body.output_slots[op.carry :]
    )
    loop = replace(op, body=_without_products(body, op, sums, tuple(factors)))
    results = at.emit_all(loop, *operands)
    stacked = [*body.output_slots[op.carry :], *factors]
    stacks = entries | dict(zip(stacked, results[op.carry :], strict=True))
    outputs = list(results[: len(body.output_slots)])
    for each in sums:
        for step in each.products:
            assert isinstance(step.op, DotGeneral)
            over_iterations = DotGeneral(
                (0, *(axis + 1 for axis in step.op.lhs_contract)),
                (0, *(axis + 1 for axis in step.op.rhs_contract)),
            )
            product = at.emit(over_iterations, *(stacks[slot] for slot in step.input_slots))
            outputs[each.leaf] = at.emit(ADD, outputs[each.leaf], product)
    return outputs


def _without_products(
    body: ExecProgram, op: Scan, sums: Sequence[_Sum], factors: Slots
) -> ExecProgram:
    """The body, which adds only the rest, and returns the factors after its other results."""
    at = Rewriter(body)

    def outputs() -> list[int]:
        returned = list(body.output_slots)
        for each in sums:
            total = body.input_slots[op.consts + each.leaf]
            for slot in each.rest:
                total = at.emit(ADD, total, slot)
            returned[each.leaf] = total
        return [*returned, *factors]

    return at.run(lambda step, operands: None, outputs)
