"""Loop invariants: what is the same in all rounds is computed once; constants stand inside."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from tenferro.compiler.canonical.repeated_consts import repetitions, with_repetitions
from tenferro.compiler.passing import Pass
from tenferro.control import ControlOp
from tenferro.exec_ir import ExecInstruction, ExecOp, ExecProgram, Rewriter

LARGE = 1024
"""The least number of elements for which an op without operands is moved out of a loop."""


@dataclass(frozen=True)
class LoopInvariants(Pass):
    """Moves what reads consts alone out of loops, and scalar constants into programs inside ops.

    In a body, a constant can be folded, and a contraction over a batch needs no copies of an
    operand: where only such instructions read an operand that is repeated, the body repeats it. A
    carried value that no round changes becomes a const. An instruction is moved out if it computes
    something. What only moves or repeats elements is done where it is read, and so is what an op
    without operands makes, unless it is large. A loop may have no round, in which an op that may
    fail, or take long, would not have run: ops of extension families and ops that hold programs are
    moved out only if it certainly has one. Works for any extents.
    """

    name = "loop_invariants"
    enters_bodies = False  # constants go inwards, what is computed goes outwards

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program in which bodies have their constants and none of their invariants."""
        if not program.has_op(ControlOp):
            return program
        return _without_invariants(_Sinking().run(program).map_bodies(_without_invariants))


class _Sinking:
    """Puts constants and repetitions into the programs that read them, the outermost first."""

    def __init__(self) -> None:
        # Each program with what it becomes: the key has its id, so that it must not be freed.
        self._filled: dict[tuple[int, tuple[object, ...]], tuple[ExecProgram, ExecProgram]] = {}
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
        makers, metas = program.makers(), program.slot_metas()
        replaced: dict[ExecInstruction, tuple[ExecOp, tuple[int, ...]]] = {}
        for step in program.steps_of(ControlOp):
            op = cast(ControlOp, step.op)
            known = {
                place: recipe
                for places in op.const_places.values()
                for place in places
                if (recipe := _recipe(step.input_slots[place], makers))
            }
            spread = repetitions(step, makers, metas)
            bodies: dict[str, ExecProgram] = {}
            counts: dict[str, int] = {}
            for label, places in op.const_places.items():
                body = with_repetitions(cast(ExecProgram, op.bodies[label]), places, spread)
                filled = self._with_constants(body, places, known)
                yield filled
                bodies[label] = self._done[id(filled)][1]
                counts[label] = len([place for place in places if place not in known])
            if known or any(bodies[label] is not body for label, body in op.bodies.items()):
                kept = [
                    spread[place].step.input_slots[0] if place in spread else slot
                    for place, slot in enumerate(step.input_slots)
                    if place not in known
                ]
                replaced[step] = op.with_consts(bodies, counts), tuple(kept)
        return _with_steps(program, replaced)

    def _with_constants(
        self, body: ExecProgram, places: range, known: Mapping[int, tuple[ExecInstruction, ...]]
    ) -> ExecProgram:
        """The body in which inputs are computed by the instructions that compute the operands."""
        inner = {place - places.start: known[place] for place in places if place in known}
        if not inner:
            return body
        key = (id(body), tuple([(at, *(s.op for s in steps)) for at, steps in inner.items()]))
        if key not in self._filled:
            self._filled[key] = (body, _filled(body, inner))
        return self._filled[key][1]


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


def _with_steps(
    program: ExecProgram, replaced: Mapping[ExecInstruction, tuple[ExecOp, tuple[int, ...]]]
) -> ExecProgram:
    """The program with other ops, on other values of it, for some instructions."""
    if not replaced:
        return program
    rewriter = Rewriter(program)

    def rule(step: ExecInstruction, operands: tuple[int, ...]) -> Sequence[int] | None:
        if step not in replaced:
            return None
        op, slots = replaced[step]
        return rewriter.emit_all(op, *rewriter.now(slots))

    return rewriter.run(rule)


def _without_invariants(program: ExecProgram) -> ExecProgram:
    """The program with what no round changes outside its loops."""
    return _hoisted(_without_fixed(program))


def _without_fixed(program: ExecProgram) -> ExecProgram:
    """The program whose loops carry only what rounds change."""
    replaced = {
        step: found
        for step in program.steps_of(ControlOp)
        if (found := cast(ControlOp, step.op).without_fixed()) is not None
    }
    if not replaced:
        return program
    rewriter = Rewriter(program)

    def rule(step: ExecInstruction, operands: tuple[int, ...]) -> Sequence[int] | None:
        if step not in replaced:
            return None
        op, places, outputs = replaced[step]
        given = [operands[place] for place in places]
        made = dict(zip(outputs, rewriter.emit_all(op, *given) if outputs else (), strict=True))
        start = step.op.overwrites
        return [
            made[place] if place in made else operands[start[place]]
            for place in range(len(step.output_slots))
        ]

    return rewriter.run(rule)


def _hoisted(program: ExecProgram) -> ExecProgram:
    """The program with the invariants of its loops before these."""
    if not any(op.is_loop for op in program.ops_of(ControlOp)):
        return program
    rewriter = Rewriter(program)

    def rule(step: ExecInstruction, operands: tuple[int, ...]) -> Sequence[int] | None:
        op = step.op
        if not isinstance(op, ControlOp) or not op.is_loop:
            return None
        places = op.const_places
        parts = {
            label: _split(cast(ExecProgram, op.bodies[label]), len(at), op.surely_runs(label))
            for label, at in places.items()
        }
        if not any(before.output_slots for before, _ in parts.values()):
            return None
        consts: dict[str, list[int]] = {}
        for label, (before, _) in parts.items():
            given = [operands[place] for place in places[label]]
            consts[label] = [*given, *rewriter.inline(before, given)]
        rest = operands[sum(map(len, places.values())) :]
        smaller = op.with_consts(
            {label: body for label, (_, body) in parts.items()},
            {label: len(values) for label, values in consts.items()},
        )
        return rewriter.emit_all(smaller, *[s for values in consts.values() for s in values], *rest)

    return rewriter.run(rule)


def _split(body: ExecProgram, consts: int, surely_runs: bool) -> tuple[ExecProgram, ExecProgram]:
    """The part of a body that goes before the loop, from its consts, and the body without it.

    The body takes the outputs of that part after its consts.
    """
    known = set(body.input_slots[:consts])
    invariant: list[ExecInstruction] = []
    work: list[ExecInstruction] = []
    rest: list[ExecInstruction] = []
    for step in body.instructions:
        is_invariant = known.issuperset(step.input_slots) and (surely_runs or _is_harmless(step))
        if is_invariant:
            known.update(step.output_slots)
            invariant.append(step)
        (work if is_invariant and _is_worth_it(step) else rest).append(step)
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


def _is_harmless(step: ExecInstruction) -> bool:
    """Whether an instruction may run where it would not have."""
    return not (step.op.family or step.op.body_fields)


def _is_worth_it(step: ExecInstruction) -> bool:
    """Whether an instruction computes something, or makes something large of nothing."""
    if step.op.source:
        return math.prod(step.output_metas[0].static_shape or ()) >= LARGE
    return not (step.op.moves or step.op.repeats)
