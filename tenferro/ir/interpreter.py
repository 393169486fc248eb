"""Run a program on any values, or on NumPy many times.

`Steps` is for a program that runs many times on NumPy arrays, as the body of a loop does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import Context, ContextVar
from typing import Any, TypeVar

import numpy as np

from tenferro.errors import BindingError, counted
from tenferro.ir.dtypes import DType
from tenferro.ir.op import ExecOp
from tenferro.ir.payloads import NumpyArray
from tenferro.ir.program import ExecInstruction, ExecProgram

__all__ = ["RuntimeOf", "Steps", "evaluate", "quiet", "run", "running_families"]


# Running a program: one walk over its instructions, whatever the values are.

T = TypeVar("T")
Handler = Callable[[ExecInstruction, list[T]], Sequence[T]]
"""The results of one instruction on its operands."""


def run(program: ExecProgram, inputs: Sequence[T], handler: Handler[T]) -> list[T]:
    """The outputs of a program whose instructions `handler` runs, in order.

    Values may be arrays of any kind, or objects that stand for them. A value is dropped after the
    last instruction that reads it, whether or not the program marks its last use.

    Raises:
        BindingError: the number of inputs is not the program's.
    """
    if len(inputs) != len(program.input_slots):
        raise BindingError(
            f"run: the program takes {counted(len(program.input_slots), 'input')}, got "
            f"{len(inputs)}"
        )
    values = dict(zip(program.input_slots, inputs, strict=True))
    for step, dropped in zip(program.instructions, _drops(program), strict=True):
        results = handler(step, [values[slot] for slot in step.input_slots])
        values.update(zip(step.output_slots, results, strict=True))
        for slot in dropped:
            del values[slot]
    return [values[slot] for slot in program.output_slots]


def evaluate(program: ExecProgram, arrays: Sequence[NumpyArray]) -> list[NumpyArray]:
    """The outputs of a program by the NumPy meaning of its ops; the reference for all executors."""
    return run(program, arrays, lambda step, operands: step.op.evaluate(operands))


RuntimeOf = Callable[[ExecOp, Sequence[NumpyArray]], Sequence[NumpyArray]]
"""Runs an op of an extension family, or one that holds programs, in place of its own meaning."""

_runtimes: ContextVar[RuntimeOf | None] = ContextVar("tenferro_runtimes", default=None)


@contextmanager
def running_families(runtime: RuntimeOf) -> Iterator[None]:
    """Within, `Steps` run ops of extension families by `runtime`, and not by their own meaning."""
    token = _runtimes.set(runtime)
    try:
        yield
    finally:
        _runtimes.reset(token)


def _by_runtime(op: ExecOp, operands: Sequence[NumpyArray]) -> Sequence[NumpyArray]:
    runtime = _runtimes.get()
    return op.evaluate(operands) if runtime is None else runtime(op, operands)


class Steps:
    """A program prepared to run often by the NumPy meaning of its ops.

    The values of a run are a list with a place for each slot: `values` makes it of the inputs,
    `run` computes the others, and `outputs` are among them. What a run does not need any more it
    drops, but for the inputs at the positions `reused` and what is made of no input by ops without
    operands, also repeated. `run` may then be called again, with other values for the other inputs.
    `runtime` runs ops of extension families and ops that hold programs. Without it those run by the
    runtime of `running_families`, and these by their own meaning.
    """

    def __init__(
        self, program: ExecProgram, reused: Collection[int] = (), runtime: RuntimeOf | None = None
    ) -> None:
        self._n_slots = program.n_slots
        self._inputs, self._outputs = program.input_slots, program.output_slots
        self.once: list[ExecInstruction] = []
        self._steps: list[tuple[int, Callable[..., Any], Any, Any, Any, Any, Any]] = []
        retained = {program.input_slots[position] for position in reused}
        once: set[int] = set()
        dtypes = [None if meta is None else meta.dtype for meta in program.slot_metas()]
        for step, drops in zip(program.instructions, _drops(program), strict=True):
            op, same = step.op, once.issuperset(step.input_slots)
            if same and op.family is None and (op.source or op.repeats):
                self.once.append(step)
                once.update(step.output_slots)
                continue
            dropped = [slot for slot in drops if slot not in retained and slot not in once]
            operands = [dtypes[slot] for slot in step.input_slots]
            self._steps.append(_prepared(step, operands, dropped, program.n_slots, runtime))
        self.retained = frozenset(retained | once)

    def start(self) -> list[Any]:
        """The values before a run, with those that are the same in all runs."""
        values: list[Any] = [None] * (self._n_slots + 1)
        for step in self.once:
            results = step.op.evaluate([values[slot] for slot in step.input_slots])
            for slot, value in zip(step.output_slots, results, strict=True):
                values[slot] = value
        return values

    def values(self, inputs: Sequence[NumpyArray]) -> list[Any]:
        """The values before a run on these first inputs; the caller fills in any others."""
        values = self.start()
        for slot, value in zip(self._inputs, inputs, strict=False):
            values[slot] = value
        return values

    def outputs(self, values: list[Any]) -> list[Any]:
        """The outputs among the values after a run."""
        return [values[slot] for slot in self._outputs]

    def run(self, values: list[Any]) -> None:
        """Compute all values from the inputs."""
        for kind, call, one, two, place, dropped, also in self._steps:
            if kind == 2:
                values[place] = call(values[one], values[two])
                values[dropped] = values[also] = None
            elif kind == 1:
                values[place] = call(values[one])
                values[dropped] = None
            else:
                for slot, value in zip(place, call([values[i] for i in one]), strict=True):
                    values[slot] = value
                for slot in dropped:
                    values[slot] = None


def _prepared(
    step: ExecInstruction,
    dtypes: Sequence[DType | None],
    dropped: Sequence[int],
    none: int,
    runtime: RuntimeOf | None,
) -> tuple[int, Callable[..., Any], Any, Any, Any, Any, Any]:
    """How `Steps` runs an instruction.

    An op of one or two operands and one result comes with its function, the slots of operands and
    result, and as many to drop; `none` is a slot that nothing uses. Any other op is evaluated.
    """
    op, slots, places = step.op, step.input_slots, step.output_slots
    if op.family is not None or (runtime is not None and op.bodies):
        call = functools.partial(runtime or _by_runtime, op)
        return 0, call, slots, None, places, tuple(dropped), None
    if type(op).evaluate is not ExecOp.evaluate or not slots or not len(dropped) <= len(slots) <= 2:
        return 0, op.evaluate, slots, None, places, tuple(dropped), None
    first, second = (*dropped, none, none)[:2]
    return len(slots), op.kernel(dtypes), slots[0], slots[-1], places[0], first, second


def _drops(program: ExecProgram) -> list[list[int]]:
    """For each instruction its operands and results that no later instruction reads."""
    alive = set(program.output_slots)
    drops: list[list[int]] = []
    for step in reversed(program.instructions):
        last = set(step.input_slots) - alive
        unread = [slot for slot in step.output_slots if slot not in alive]
        drops.append([*last, *unread])
        alive.update(last)
    drops.reverse()
    return drops


# NumPy without its warnings of floating-point errors, for a quarter of what its own way costs.


def quiet() -> AbstractContextManager[Any]:
    """What `numpy.errstate(all="ignore")` is, for ops that take a microsecond.

    >>> with quiet():
    ...     np.float64(1) / 0
    np.float64(inf)
    """
    return np.errstate(all="ignore") if _SETTING is None else _Quiet(*_SETTING)


class _Quiet:
    """Sets the context variable in which NumPy keeps what it does on errors."""

    __slots__ = ("_token", "_value", "_variable")

    def __init__(self, variable: ContextVar[Any], value: object) -> None:
        self._variable, self._value = variable, value

    def __enter__(self) -> None:
        self._token = self._variable.set(self._value)

    def __exit__(self, *raised: object) -> None:
        self._variable.reset(self._token)


def _setting() -> tuple[ContextVar[Any], object] | None:
    """The variable and its value, which NumPy sets in a context; None if it keeps them elsewhere.

    NumPy documents that the state belongs to the context, but not the variable.
    """
    context = Context()
    context.run(np.seterr, all="ignore")
    variables = [*context.items()]
    return variables[0] if len(variables) == 1 else None


_SETTING = _setting()
