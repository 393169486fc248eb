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
from tenferro.exec_ir import (
    KEPT_ELEMENTS,
    Array,
    ExecInstruction,
    ExecOp,
    ExecProgram,
    elements,
    run,
    with_last_use,
)
from tenferro.family import Package
from tenferro.runtime import BoundaryDispatch, Buffer, Executor, GraphExecutor, NumpyBackend

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
            return HostKernel(program, slots, results, self._call)
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


class HostKernel:
    """Runs ops one after the other with NumPy, without floating-point warnings.

    Small constants are computed once. Returned results are contiguous and read-only, and they are
    not views of larger arrays.
    """

    def __init__(
        self,
        program: ExecProgram,
        returned: Sequence[int],
        results: Sequence[int],
        call_of: Callable[[ExecOp], OpCall],
    ) -> None:
        first = len(program.input_slots)
        self._blank: list[Any] = [None] * (program.n_slots - first)
        self._returned = tuple(returned)
        self._results = tuple(slot for slot in returned if slot in set(results))
        self._steps: list[tuple[OpCall, tuple[int, ...], tuple[int, ...]]] = []
        for step in program.instructions:
            constants = [self._blank[slot - first] for slot in step.input_slots if slot >= first]
            is_constant = len(constants) == len(step.input_slots) and all(
                constant is not None for constant in constants
            )
            is_small = step.op.source and elements(step.output_metas) <= KEPT_ELEMENTS
            if is_constant and (is_small or step.op.repeats):
                self._blank[step.output_slots[0] - first] = step.op.evaluate(constants)[0]
            else:
                self._steps.append((call_of(step.op), step.input_slots, step.output_slots))

    def __call__(self, buffers: list[Buffer]) -> list[Buffer]:
        """The values of the returned slots."""
        values = _QUIET.copy().run(self._run, buffers + self._blank)
        for slot in self._results:
            values[slot] = _sealed(values[slot])
        return [values[slot] for slot in self._returned]

    def _run(self, values: list[Any]) -> list[Any]:
        for call, inputs, outputs in self._steps:
            result = call(*[values[slot] for slot in inputs])
            if len(outputs) == 1:
                values[outputs[0]] = result
            else:
                for slot, value in zip(outputs, result, strict=True):
                    values[slot] = value
        return values


_QUIET = Context()
_QUIET.run(np.seterr, all="ignore")
"""A context without NumPy warnings. Entering a copy is much cheaper than `numpy.errstate`."""


def is_static(program: ExecProgram) -> bool:
    """Whether all extents are integers."""
    return all(meta is not None and meta.static_shape is not None for meta in program.slot_metas())


def _of_call(call: OpCall) -> Kernel:
    """The kernel of one op that takes all operands in order and has one output."""

    def run(buffers: list[Buffer]) -> list[Buffer]:
        return [_sealed(_QUIET.copy().run(call, *buffers))]

    return run


def _sealed(value: Any) -> Array:
    if type(value) is not np.ndarray:
        value = np.asarray(value)  # NumPy returns scalars instead of rank-0 arrays
    flags, base = value.flags, value.base
    if not flags.c_contiguous or (base is not None and getattr(base, "nbytes", 0) != value.nbytes):
        value = value.copy(order="C")
        flags = value.flags
    flags.writeable = False
    return value  # type: ignore[no-any-return]


def _nothing(buffers: list[Buffer]) -> list[Buffer]:
    return []
