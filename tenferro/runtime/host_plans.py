"""Plans of array functions on the host: the ops that the first call ran.

For operands of equal types and equal numbers and options an array function emits the same ops. So
the second call runs the ops that the first one noted, without the body and its checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import Context
from types import EllipsisType, FunctionType
from typing import Any, Literal

import numpy as np

from tenferro.config import config
from tenferro.core import Capacity
from tenferro.ir import (
    ExecInstruction,
    ExecOp,
    ExecProgram,
    NumpyArray,
    Steps,
    TensorMeta,
    as_dtype,
    encode,
    quiet,
)
from tenferro.runtime.host_arrays import buffer_meta, sealed

__all__ = ["HOST_PLANS", "QUIET", "HostPlans", "lasts", "number_key", "option_key", "with_options"]

QUIET = Context()
QUIET.run(np.seterr, all="ignore")
"""A context without NumPy warnings. Running in a copy is cheaper than `quiet`, by 0.3 µs an op."""


class HostPlan:
    """The ops of one call, to run often; `several` says whether they give a tuple.

    One op that takes the operands in order is called directly. Other plans are prepared by the
    first call that uses them: a function that is called once for its types does not pay for it.
    """

    __slots__ = ("_calls_users", "_first", "_only", "_program", "_shared", "_steps", "several")

    def __init__(self, program: ExecProgram, several: bool) -> None:
        self.several = several
        self._program = program
        self._steps: Steps | None = None
        self._only: Callable[..., Any] | None = None
        if len(program.instructions) == 1 and len(program.output_slots) == 1:
            (step,) = program.instructions
            simple = type(step.op).evaluate is ExecOp.evaluate and bool(step.input_slots)
            whole = step.input_slots == program.input_slots
            if simple and whole and step.output_slots == program.output_slots:
                self._only = step.op.numpy

    def __call__(self, operands: list[NumpyArray]) -> list[NumpyArray]:
        """The results, which are read-only."""
        if self._only is not None:
            return [sealed(QUIET.copy().run(self._only, *operands), True)]
        steps = self._steps or self._prepared()
        values = steps.start() if self._first is None else self._first.copy()
        values[: len(operands)] = operands
        if self._calls_users:
            with quiet():  # code of users has the context of the caller
                steps.run(values)
        else:
            QUIET.copy().run(steps.run, values)
        return [
            sealed(values[slot].copy() if slot in self._shared else values[slot], True)
            for slot in self._program.output_slots
        ]

    def _prepared(self) -> Steps:
        steps = Steps(self._program)
        first = steps.start()
        made = [first[slot] for step in steps.once if step.op.source for slot in step.output_slots]
        is_small = sum(array.nbytes for array in made) <= config.literal_bytes
        self._first: list[Any] | None = first if is_small else None
        self._shared = {slot for step in steps.once for slot in step.output_slots}
        self._calls_users = any(
            step.op.family is not None or step.op.bodies for step in self._program.instructions
        )
        self._steps = steps  # last, since other threads read the rest after it
        return steps


_LARGE = 1 << 20
"""Bytes of a result, of which a plan would save nothing that one could measure."""


class Recording:
    """What a call runs, op by op: its plan, if types alone decide which ops these are."""

    def __init__(self, operands: Sequence[Any]) -> None:
        self._count = len(operands)
        self._values = list(operands)  # referenced, so that no other array gets the id of one
        self._numbers = {id(value): number for number, value in enumerate(operands)}
        self._steps: list[ExecInstruction] = []
        self._is_fixed = True
        self._is_whole = True

    def add(
        self,
        op: ExecOp,
        operands: Sequence[Any],
        outputs: Sequence[Any],
        metas: tuple[TensorMeta, ...],
    ) -> None:
        """Note an op and what follows from the types of its operands: those of its outputs."""
        read = tuple([self._numbers.get(id(operand), -1) for operand in operands])
        self._is_whole = self._is_whole and -1 not in read
        self._is_fixed = self._is_fixed and all(meta.dims is not None for meta in metas)
        if sum(getattr(output, "nbytes", 0) for output in outputs) > _LARGE:
            self._is_whole = False
        if not self._is_whole:  # nothing is planned, so nothing has to stay in memory
            self._values.clear()
            return
        first = len(self._values)
        for number, output in enumerate(outputs, first):
            self._numbers[id(output)] = number
        self._values += outputs
        written = tuple(range(first, len(self._values)))
        self._steps.append(ExecInstruction(op, read, written, metas))

    def plan(self, results: Sequence[Any], several: bool) -> HostPlan | None:
        """The plan of calls that return the same results; None if there is none."""
        found = tuple([self._numbers.get(id(result), -1) for result in results])
        if not self._is_whole or -1 in found or not (self._is_fixed or len(self._steps) == 1):
            return None
        if any(step.op.family is not None and not step.input_slots for step in self._steps):
            return None  # such as a callback without operands, which may give another value
        inputs = tuple(range(self._count))
        metas = tuple([buffer_meta(value) for value in self._values[: self._count]])
        program = ExecProgram(tuple(self._steps), inputs, metas, found, len(self._values))
        return HostPlan(program, several)


# The cache of plans, and its keys.


class HostPlans:
    """Plans of array functions on arrays of the host and numbers, by function and types."""

    def __init__(self) -> None:
        self.capacity = Capacity(config.cache_entries)
        self._plans: dict[Any, HostPlan | Literal[False]] = {}
        self.get = self._plans.get

    def __len__(self) -> int:
        """The number of functions and types that were met."""
        return len(self._plans)

    def clear(self) -> None:
        """Forget the plans."""
        self._plans.clear()

    def put(self, key: Any, plan: HostPlan | Literal[False]) -> None:
        """Store the plan of a key, False if there is none; forget all others if they are many."""
        if len(self._plans) >= self.capacity.entries:
            self.clear()
        self._plans[key] = plan


HOST_PLANS = HostPlans()


def lasts(function: Callable[..., Any]) -> bool:
    """Whether all calls pass the same object: a function of a module, or a callable value."""
    return not isinstance(function, FunctionType) or "<" not in function.__qualname__


def number_key(number: bool | int | float | complex) -> object:
    """A key that distinguishes Python numbers by kind and by bits.

    >>> number_key(1) == number_key(1.0), number_key(0.0) == number_key(-0.0)
    (False, False)
    """
    if type(number) is int or (type(number) is float and number * number > 0):
        return type(number), number  # the fast path, where `==` suffices
    return encode(number)


_INTS = frozenset([int])


def option_key(value: object) -> object:
    """A key that distinguishes the options of an array function.

    Raises:
        TypeError: there is no cheap key: the value is a large array, or of unknown type.

    >>> option_key(True) == option_key(1)
    False
    """
    kind = type(value)
    if kind is int or kind is str:
        return kind, value
    if value is None or kind is bool:
        return None if value is None else (bool, value)
    if isinstance(value, tuple) and _INTS.issuperset(map(type, value)):
        return kind, value  # sizes and axes
    if isinstance(value, np.dtype | type):
        return as_dtype(value)
    match value:
        case slice():
            return slice, option_key((value.start, value.stop, value.step))
        case EllipsisType():
            return value
        case tuple() | list():
            return type(value), tuple([option_key(item) for item in value])
        case np.generic():
            return np.generic, encode(np.asarray(value))
        case np.ndarray() if value.nbytes > config.literal_bytes:
            raise TypeError("a large array")
        case _:
            return encode(value)


def with_options(parts: list[Any], options: dict[str, Any]) -> tuple[Any, ...] | None:
    """The key, with the options of an array function added; None if an option has no key."""
    try:
        for name, value in options.items():
            parts += (name, option_key(value))
    except TypeError:
        return None
    return tuple(parts)
