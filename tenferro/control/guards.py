"""Programs that run for all entries of a batch, also for those that do not need them.

A loop that a condition ends need not end for an entry that it was not written for. It gets a
further condition, which is false for such entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from tenferro.chainrules import KeyEmitter
from tenferro.computegraph import GlobalValKey
from tenferro.control.checks import ControlOp
from tenferro.control.graphs import Keys, graph_of, program_of
from tenferro.exec_ir import ExecInstruction, ExecProgram, run
from tenferro.ops import AND, StdTensorOp
from tenferro.shape import BOOL, TensorMeta, fresh_input


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
