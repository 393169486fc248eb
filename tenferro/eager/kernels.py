"""A program made ready to run on the executor of an eager runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import Context
from dataclasses import replace
from typing import Any

import numpy as np

from tenferro.contract import Extension
from tenferro.exec_ir import Array, ExecOp, ExecProgram, with_last_use
from tenferro.ops import BroadcastInDim, Constant
from tenferro.runtime import BoundaryDispatch, Buffer, Executor, GraphExecutor, NumpyBackend

Kernel = Callable[[list[Buffer]], list[Buffer]]
"""From the buffers of the operands to those of the slots that are kept."""

Call = Callable[..., Any]


class Kernels:
    """Makes kernels for one executor.

    `boundary` runs extension ops on a native backend, by the runtimes that are registered with it;
    an executor without such a backend runs them its own way, and it is None.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        backend = executor.backend if isinstance(executor, GraphExecutor) else None
        self._on_host = type(backend) is NumpyBackend
        self.boundary = None if backend is None else BoundaryDispatch(backend)

    def make(self, program: ExecProgram, kept: Sequence[int], results: Sequence[int]) -> Kernel:
        """The kernel of a program that has one instruction, or `is_plain`.

        `kept` are slots that instructions write; those in `results` are handed to the user.
        """
        if not kept:
            return _nothing
        if not is_plain(program):
            return self._of_op(program.instructions[0].op, kept, len(program.input_slots))
        if not self._on_host:
            executable = self._executor.compile_exec(
                with_last_use(replace(program, output_slots=tuple(kept)))
            )
            return lambda buffers: list(executable(*buffers))
        step = program.instructions[0]
        whole = step.input_slots == program.input_slots and len(step.output_slots) == 1
        if whole and len(program.instructions) == 1:
            return _of_call(_call(step.op))
        return HostKernel(program, kept, results)

    def _of_op(self, op: ExecOp, kept: Sequence[int], first: int) -> Kernel:
        """The kernel of an op that the executor, or an extension's runtime, is asked to run."""
        boundary = self.boundary if isinstance(op, Extension) else None
        seal = _sealed if self._on_host else _unchanged

        def run(buffers: list[Buffer]) -> list[Buffer]:
            if boundary is None:
                made = self._executor.run_op(op, *buffers)
            else:
                made = boundary(op, buffers)
            return [seal(made[slot - first]) for slot in kept]

        return run


class HostKernel:
    """Runs NumPy's meaning of one op after the other, without floating-point warnings.

    Constants are made once. Values that are handed out are compact, read-only and keep alive no
    array larger than themselves.
    """

    def __init__(self, program: ExecProgram, kept: Sequence[int], results: Sequence[int]) -> None:
        first = len(program.input_slots)
        self._blank: list[Any] = [None] * (program.n_slots - first)
        self._kept = tuple(kept)
        self._results = tuple(slot for slot in kept if slot in set(results))
        self._steps: list[tuple[Call, tuple[int, ...], tuple[int, ...]]] = []
        for step in program.instructions:
            known = [self._blank[slot - first] for slot in step.input_slots if slot >= first]
            settled = len(known) == len(step.input_slots) and all(v is not None for v in known)
            if settled and isinstance(step.op, Constant | BroadcastInDim):
                self._blank[step.output_slots[0] - first] = step.op.evaluate(known)[0]
            else:
                self._steps.append((_call(step.op), step.input_slots, step.output_slots))

    def __call__(self, buffers: list[Buffer]) -> list[Buffer]:
        """The kept values."""
        values = _QUIET.copy().run(self._run, buffers + self._blank)
        for slot in self._results:
            values[slot] = _sealed(values[slot])
        return [values[slot] for slot in self._kept]

    def _run(self, values: list[Any]) -> list[Any]:
        for call, inputs, outputs in self._steps:
            made = call(*[values[slot] for slot in inputs])
            if len(outputs) == 1:
                values[outputs[0]] = made
            else:
                for slot, value in zip(outputs, made, strict=True):
                    values[slot] = value
        return values


_QUIET = Context()
_QUIET.run(np.seterr, all="ignore")
"""A context in which NumPy does not warn. Entering a copy is far cheaper than `numpy.errstate`."""


def is_plain(program: ExecProgram) -> bool:
    """Whether all extents are integers, and no op needs the runtime of an extension."""
    metas = program.slot_metas()
    return all(meta is not None and meta.static_shape is not None for meta in metas) and not any(
        isinstance(step.op, Extension) for step in program.instructions
    )


def _call(op: ExecOp) -> Call:
    """NumPy's meaning of an op as a function of arrays; the only output, or a tuple of several."""
    if type(op).evaluate is ExecOp.evaluate:
        return op.numpy
    if op.n_outputs == 1:
        return lambda *arrays: op.evaluate(arrays)[0]
    return lambda *arrays: op.evaluate(arrays)


def _of_call(call: Call) -> Kernel:
    """The kernel of one op that takes all operands in their order and makes one value."""

    def run(buffers: list[Buffer]) -> list[Buffer]:
        return [_sealed(_QUIET.copy().run(call, *buffers))]

    return run


def _sealed(value: Any) -> Array:
    if type(value) is not np.ndarray:
        value = np.asarray(value)  # NumPy makes numbers of rank-0 arrays
    flags, base = value.flags, value.base
    if not flags.c_contiguous or (base is not None and getattr(base, "nbytes", 0) != value.nbytes):
        value = value.copy(order="C")
        flags = value.flags
    flags.writeable = False
    return value  # type: ignore[no-any-return]


def _unchanged(value: Buffer) -> Buffer:
    return value


def _nothing(buffers: list[Buffer]) -> list[Buffer]:
    return []
