"""Plans: the ops that a function emits for operands of given types, ready to run.

For operands of equal types and equal numbers and options an array function emits the same ops. So
its first call writes them as a program, and all calls run that, without the body and its checks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextvars import Context
from dataclasses import fields
from types import EllipsisType, FunctionType, MethodType
from typing import Any, Literal

import numpy as np

from tenferro.config import config
from tenferro.core import Adder, Capacity, Emitter, PrimitiveOp, only_output
from tenferro.errors import TenferroError, UnsupportedDynamicShapeError
from tenferro.ir import (
    ExecBuilder,
    ExecOp,
    ExecProgram,
    Handle,
    NumpyArray,
    RuntimeOf,
    Steps,
    TensorMeta,
    as_dtype,
    check_size,
    encode,
    quiet,
    restricted,
)
from tenferro.ops import ADD
from tenferro.ops.extension import Extension
from tenferro.ops.functions import Expression, OnValues, is_number, run_body
from tenferro.runtime.packages import builtin_package

__all__ = [
    "HOST_PLANS",
    "HostPlans",
    "Kernel",
    "ValueContext",
    "is_worth_caching",
    "number_key",
    "option_key",
    "prepared",
    "program_of_function",
    "with_options",
]


# The program of a function: what it emits for operands of given types.


class ValueContext:
    """The metadata of values that have a type and no derivative rules; `meta` returns the type."""

    adder: Adder = ADD

    def __init__(self, meta: Callable[[Any], TensorMeta]) -> None:
        self.meta = meta

    def declare_like(self, value: object, like: object) -> None:
        """Does nothing: a value has its type."""

    def registered_rule(self, name: str) -> None:
        """None: nobody takes derivatives."""


def checked_types(op: ExecOp, metas: Sequence[TensorMeta]) -> tuple[TensorMeta, ...]:
    """The types of an op's results, once its shape rule has accepted the operands.

    Raises:
        UnsupportedDynamicShapeError: a size of a result is a name.
        ExtentError: a result is too large.
    """
    results = op.infer_all(metas)
    for meta in results:
        if meta.symbols():
            raise UnsupportedDynamicShapeError(op.name, "result", f"symbolic: {meta}")
        check_size(meta, op.name, config.max_bytes)
    return results


class _DataDecidesError(Exception):
    """Data decide a size that a later op reads, so the ops are known only with the data."""


class ProgramEmitter(Emitter[int]):
    """Writes each op into a program; values are slots. Ops are not simplified."""

    def __init__(self) -> None:
        self._builder = ExecBuilder()
        self.input = self._builder.input
        self._ctx = ValueContext(self._builder.metas.__getitem__)
        self._makers: dict[int, tuple[ExecOp, tuple[int, ...]]] = {}
        self.is_open = False  # whether data decide the size of a result

    @property
    def ctx(self) -> ValueContext:
        """The types of slots."""
        return self._ctx

    def emit(self, op: PrimitiveOp, *operands: int) -> int:
        """The output of a single-output op."""
        return only_output(op, self.emit_all(op, *operands))

    def emit_all(self, op: Any, *operands: int) -> tuple[int, ...]:
        """All outputs of the op, after its shape rule has accepted the operands."""
        if self.is_open:
            raise _DataDecidesError
        metas = self._builder.metas
        results = checked_types(op, [metas[operand] for operand in operands])
        self.is_open = any(meta.dims is None for meta in results)
        outputs = self._builder.add(op, operands, None, results)
        if len(outputs) == 1:
            self._makers[outputs[0]] = op, operands
        return outputs

    def producer(self, value: int) -> tuple[Any, tuple[int, ...]] | None:
        """The op and operands of a single-output op."""
        return self._makers.get(value)

    def program(self, outputs: Sequence[int]) -> ExecProgram:
        """The program that returns these values, without ops that these do not need."""
        program = self._builder.build(outputs)
        read = {*program.read_slots(), *outputs}
        if all(not read.isdisjoint(step.output_slots) for step in program.instructions):
            return program
        return restricted(program, range(len(program.input_slots)), range(len(outputs)))


def program_of_function(
    function: Callable[..., Any], operands: Sequence[Any], options: dict[str, Any]
) -> tuple[ExecProgram, bool] | None:
    """What a function of expressions emits for operands of these types, and for numbers.

    Also returns whether it has one result, and not a tuple. None if data decide a size on the way.

    Raises:
        TenferroError: the function does not take these operands.
    """
    at = ProgramEmitter()
    expressions = [o if is_number(o) else Expression(at, at.input(o)) for o in operands]
    try:
        result = run_body(Expression(at, None), function, expressions, options)
    except (_DataDecidesError, TenferroError):
        if not at.is_open:
            raise
        return None
    single = not isinstance(result, tuple)
    results = (result,) if single else result
    return at.program([each.value for each in results]), single


# Programs that run often on NumPy arrays.

Kernel = Callable[[Sequence[Any]], list[Any]]
"""The results of a program on the buffers of its operands."""

_QUIET = Context()
_QUIET.run(np.seterr, all="ignore")
"""A context without NumPy warnings. Running in a copy is cheaper than `quiet`, by 0.3 µs an op."""


def prepared(
    program: ExecProgram, runtime: RuntimeOf | None = None, stored: int = config.literal_bytes
) -> Kernel:
    """A program as a function of NumPy arrays, by the NumPy meaning of its ops.

    Some results may be operands, or views. `runtime` runs ops of extension families, and ops that
    hold programs, since these may hold such ops. What depends on no operand is computed once if it
    takes at most `stored` bytes, and else in each run.
    """
    if len(program.instructions) == 1:
        (step,) = program.instructions
        simple = type(step.op).evaluate is ExecOp.evaluate and bool(step.input_slots)
        whole = step.input_slots == program.input_slots
        if simple and whole and step.output_slots == program.output_slots:
            call = step.op.kernel([meta.dtype for meta in program.input_metas])
            return lambda operands: [_QUIET.copy().run(call, *operands)]
    return _Prepared(program, runtime, stored).results


class _Prepared(Steps):
    """The steps of a program, with the values before its first step."""

    def __init__(self, program: ExecProgram, runtime: RuntimeOf | None, stored: int) -> None:
        super().__init__(program, runtime=runtime)
        self._are_first = self._inputs == tuple(range(len(self._inputs)))
        self._copied = [at for at, slot in enumerate(self._outputs) if slot in self.retained]
        self._calls_users = any(
            step.op.family is not None or step.op.bodies for step in program.instructions
        )
        made = [meta for step in self.once if step.op.source for meta in step.output_metas]
        size = sum(math.prod(meta.static_shape or ()) * meta.dtype.itemsize for meta in made)
        self._first: list[Any] | None = self.start() if size <= stored else None

    def results(self, operands: Sequence[NumpyArray]) -> list[NumpyArray]:
        """The results of one run."""
        assert len(operands) == len(self._inputs), "as many operands as the program takes"
        values = self.start() if self._first is None else self._first.copy()
        if self._are_first:
            values[: len(operands)] = operands  # faster than one after another
        else:
            for slot, value in zip(self._inputs, operands, strict=True):
                values[slot] = value
        if self._calls_users:
            with quiet():  # code of users has the context of the caller
                self.run(values)
        else:
            _QUIET.copy().run(self.run, values)
        outputs = [np.asarray(values[slot]) for slot in self._outputs]
        for place in self._copied:
            outputs[place] = outputs[place].copy()
        return outputs


# Plans of calls on the host, and the keys of plans.

HostPlan = tuple[Kernel, bool]
"""A kernel, and whether it has one result, and not a tuple."""


class HostPlans:
    """Plans of array functions on arrays of the host and numbers, by function and types."""

    def __init__(self) -> None:
        self.capacity = Capacity(config.cache_entries)
        self._plans: dict[Any, HostPlan | Literal[False]] = {}
        self.get = self._plans.get

    def __len__(self) -> int:
        """The number of functions and types that have an entry."""
        return len(self._plans)

    def clear(self) -> None:
        """Forget the plans."""
        self._plans.clear()

    def make(
        self,
        key: Any,
        function: Callable[..., Any],
        operands: Sequence[Any],
        options: dict[str, Any],
    ) -> HostPlan | Literal[False]:
        """Make the plan of a key, False if there is none; forget all others if they are many.

        Raises:
            TenferroError: the function does not take these operands.
        """
        plan: HostPlan | Literal[False] = False
        if not isinstance(function, OnValues | MethodType):  # which may run a program as a whole
            made = program_of_function(function, operands, options)
            if made is not None and not any(
                runs_users_code(op) for part in made[0].walk() for op in part.ops()
            ):
                plan = prepared(made[0]), made[1]
        if len(self._plans) >= self.capacity.entries:
            self.clear()
        self._plans[key] = plan
        return plan


HOST_PLANS = HostPlans()


def runs_users_code(op: object) -> bool:
    """Whether an op is of a family of users, or calls a function of theirs.

    A plan would retain what such a function closes over, and run it without NumPy's settings of
    the caller.
    """
    if not isinstance(op, Extension):
        return False
    own: Any = op.op
    if builtin_package(own.family_id) is None:
        return True
    return any(isinstance(getattr(own, field.name), Handle) for field in fields(own))


def is_worth_caching(function: Callable[..., Any]) -> bool:
    """Whether all calls pass the same object: a function of a module, or an op of tenferro's."""
    if isinstance(function, OnValues):
        function = function.function
    if runs_users_code(getattr(function, "op", None)):
        return False
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
