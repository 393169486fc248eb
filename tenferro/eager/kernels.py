"""Kernels: programs compiled for the executor of an eager runtime."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextvars import Context
from dataclasses import replace
from typing import Any

import numpy as np

from tenferro.compiler import without_rules
from tenferro.control import ControlOp
from tenferro.exec_ir import ExecInstruction, ExecOp, ExecProgram, run, with_last_use
from tenferro.family import Package
from tenferro.runtime import (
    Boundary,
    BoundaryDispatch,
    Buffer,
    Executor,
    GraphExecutor,
    NumpyBackend,
    PreparedProgram,
)
from tenferro.values import sealed

Kernel = Callable[[list[Buffer]], list[Buffer]]
"""A function from the buffers of the operands to those of the returned slots."""

OpCall = Callable[..., Any]


class Kernels:
    """Makes kernels for one executor.

    `boundary` runs ops of extension families on a native backend, with the runtimes of `packages`
    and those that are registered later. It is None for executors without a native backend, which
    run such ops in their own way, and for values that belong to none: they have no runtimes.
    """

    def __init__(
        self, executor: Executor, packages: Sequence[Package], has_runtimes: bool = True
    ) -> None:
        self._executor = executor
        backend = executor.backend if isinstance(executor, GraphExecutor) else None
        self._on_host = type(backend) is NumpyBackend
        self.boundary = (
            BoundaryDispatch(backend, packages, "runtime")
            if backend is not None and has_runtimes
            else None
        )

    def make(self, program: ExecProgram, slots: Sequence[int], results: Sequence[int]) -> Kernel:
        """The kernel of a program that has one instruction, or constant sizes.

        It returns `slots`, which instructions write. Those in `results` are returned to the user.
        """
        if not slots:
            return _nothing
        if self._on_host:
            (step, *others) = program.instructions
            whole = step.input_slots == program.input_slots and len(step.output_slots) == 1
            if whole and not others:
                return _of_call(self._call(step.op))
            return _of_program(program, slots, results, self.boundary)
        compiled = with_last_use(without_rules(replace(program, output_slots=tuple(slots))))
        by_runtimes = self.boundary is not None and any(
            op.family is not None for op in compiled.ops()
        )
        if by_runtimes or not is_static(compiled):
            return lambda buffers: run(compiled, buffers, self._step)
        executable = self._executor.compile_exec(compiled)
        return lambda buffers: list(executable(*buffers))

    def _step(self, step: ExecInstruction, operands: list[Buffer]) -> Sequence[Buffer]:
        """The results of one instruction."""
        if step.op.family is None or self.boundary is None:
            return self._executor.run_op(step.op, *operands)
        return self.boundary(step.op, operands)

    def _call(self, op: ExecOp) -> OpCall:
        """An op as a function of NumPy arrays; returns one array, or a tuple of several."""
        evaluate: Callable[[Sequence[Any]], tuple[Any, ...]] = op.evaluate
        by_boundary = op.family is not None or isinstance(op, ControlOp)
        if by_boundary and self.boundary is not None:
            evaluate = functools.partial(self.boundary, op)
        elif type(op).evaluate is ExecOp.evaluate:
            return op.numpy
        if op.n_outputs == 1:
            return lambda *arrays: evaluate(arrays)[0]
        return lambda *arrays: evaluate(arrays)


_QUIET = Context()
_QUIET.run(np.seterr, all="ignore")
"""A context without NumPy warnings. Running in a copy is cheaper than `quiet`, by 0.3 µs an op."""


def is_static(program: ExecProgram) -> bool:
    """Whether all extents are integers."""
    return all(meta is not None and meta.static_shape is not None for meta in program.slot_metas())


def _of_call(call: OpCall) -> Kernel:
    """The kernel of one op that takes all operands in order and has one output."""

    def run(buffers: list[Buffer]) -> list[Buffer]:
        return [sealed(_QUIET.copy().run(call, *buffers), True)]

    return run


def _of_program(
    program: ExecProgram, slots: Sequence[int], results: Sequence[int], boundary: Boundary | None
) -> Kernel:
    """The kernel of a program, whose `slots` are returned, those in `results` to the user."""
    prepared = PreparedProgram(replace(program, output_slots=tuple(slots)), boundary).results
    own = [place for place, slot in enumerate(slots) if slot in results]

    def run(buffers: list[Buffer]) -> list[Buffer]:
        values = _QUIET.copy().run(prepared, buffers)
        for place in own:
            values[place] = sealed(values[place], True)
        return values

    return run


def _nothing(buffers: list[Buffer]) -> list[Buffer]:
    return []
