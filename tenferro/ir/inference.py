"""The one surface through which rules and builders read metadata, and record assumptions.

This module alone writes the `analysis` slot of tensor values: what an op infers, what the key of an
input says, or what is declared of an input. A value has one type for as long as it lives, whoever
asks.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from tenferro.core import (
    PRIMAL,
    Adder,
    Derived,
    GlobalOpKey,
    GlobalValKey,
    Input,
    SingleOutputNode,
    input_key,
    name_of,
)
from tenferro.errors import GuardViolationError, ShapeError
from tenferro.ir.dims import Dim, Leaf, bind, canonical, maximum, minimum
from tenferro.ir.types import Source, TensorMeta, name_sizes

__all__ = [
    "ASSUMED",
    "Guard",
    "ShapeGuardContext",
    "TensorInput",
    "annotate",
    "assume_equal",
    "assume_not_one",
    "assume_positive",
    "bring_guards",
    "collecting_guards",
    "declare",
    "fresh_input",
    "type_of",
]

_uids = itertools.count()
_ANALYSIS = operator.attrgetter("analysis")
ASSUMED: ContextVar[dict[tuple[str, str], Guard] | None] = ContextVar(
    "tenferro_guards", default=None
)
"""What the function that is traced now assumes of sizes, by the texts of both; None outside."""


@dataclass(frozen=True, slots=True)
class TensorInput:
    """Key of an input of a tensor graph.

    Its metadata is part of it; `uid` tells inputs of one name apart.
    """

    name: str
    meta: TensorMeta
    uid: int | None = None

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Guard:
    """An equality of sizes, assumed while building, to be checked when the sizes are known."""

    left: Dim
    right: Dim
    reason: str

    def check(self, sizes: Mapping[Leaf, Dim]) -> None:
        """Raise GuardViolationError unless the two sides are equal for `sizes`."""
        if bind(self.left, sizes) != bind(self.right, sizes):
            raise self.violation(sizes)

    def violation(self, sizes: Mapping[Leaf, Dim]) -> GuardViolationError:
        """The error where the two sides are not equal for `sizes`."""
        return GuardViolationError(
            f"{self.reason}: assumed {self.left} == {self.right}, "
            f"but {bind(self.left, sizes)} != {bind(self.right, sizes)}"
        )

    @property
    def sides(self) -> tuple[str, str]:
        """The texts of the two sizes, sorted: what is assumed, whoever assumes it."""
        left, right = sorted((str(self.left), str(self.right)))
        return left, right

    def bind(self, sizes: Mapping[Leaf, Dim]) -> Guard | None:
        """The assumption about the sizes that symbols are bound to; None if it certainly holds.

        Raises:
            GuardViolationError: it certainly does not hold.
        """
        left, right = bind(self.left, sizes), bind(self.right, sizes)
        if canonical(left, right) is None:
            raise self.violation(sizes)
        return None if left == right else Guard(left, right, self.reason)


@contextmanager
def collecting_guards() -> Iterator[dict[tuple[str, str], Guard]]:
    """Collect what is assumed of sizes within the block: what a function assumes while traced.

    An assumption belongs to the program of the function, also where no result of the program reads
    the value that it was made for.
    """
    guards: dict[tuple[str, str], Guard] = {}
    token = ASSUMED.set(guards)
    try:
        yield guards
    finally:
        ASSUMED.reset(token)


def bring_guards(guards: Iterable[Guard]) -> None:
    """Hand assumptions to the enclosing trace, if there is one; its program must check them."""
    collected = ASSUMED.get()
    if collected is not None:
        for guard in guards:
            collected.setdefault(guard.sides, guard)


def assume_equal(left: Dim, right: Dim, reason: str) -> None:
    """Assume in the enclosing trace that two sizes are equal; `reason` says what needs it.

    Raises:
        GuardViolationError: they certainly differ.
    """
    guard = Guard(left, right, reason)
    if canonical(left, right) is None:
        raise guard.violation({})
    if left != right:
        bring_guards([guard])


def assume_positive(size: Dim, reason: str) -> None:
    """Assume in the enclosing trace that a size is not 0; see `assume_equal`."""
    assume_equal(minimum(size, 1), 1, reason)


def assume_not_one(size: Dim, reason: str) -> None:
    """Assume in the enclosing trace that a size is not 1; see `assume_equal`."""
    assume_equal(minimum(size, 1), minimum(maximum(size - 1, 0), 1), reason)


def fresh_input(meta: TensorMeta, name: str) -> Input:
    """A new input of a graph, different from every other."""
    key = input_key(TensorInput(name, meta, next(_uids)))
    key.analysis = meta if meta.dims is not None else _named_input(key, meta)
    return key


class ShapeGuardContext:
    """Metadata of graph values, inferred on demand and stored at the value's key; and the guards.

    `adder` is the op set's addition; `rules` finds derivative rules registered under a name.
    """

    def __init__(self, adder: Adder, rules: Callable[[str], object | None] | None = None) -> None:
        self._adder = adder
        self._rules = rules
        self._guards: dict[Guard, None] = {}

    @property
    def adder(self) -> Adder:
        """The addition of the op set."""
        return self._adder

    @property
    def guards(self) -> tuple[Guard, ...]:
        """What has been assumed, each once, in order.

        The specification has derivative rules record here which sizes they compare. The trace that
        the rule is applied in gets them too; see `collecting_guards`.
        """
        return tuple(self._guards)

    def meta(self, value: GlobalValKey) -> TensorMeta:
        """Metadata of a value.

        Raises:
            ShapeError: an input on the way carries no metadata.
        """
        return type_of(value)

    def declare_like(self, value: GlobalValKey, like: GlobalValKey) -> None:
        """Say that `value` has the type of `like`: an input, or what is made of active inputs.

        Raises:
            ShapeError: `value` is an input of another type.
        """
        if isinstance(value, Input):
            declare(value, type_of(like))
        elif value.analysis is None:
            value.analysis = type_of(like)

    def registered_rule(self, name: str) -> object | None:
        """The rules registered under a name, or None."""
        return None if self._rules is None else self._rules(name)

    def require_equal(self, left: Dim, right: Dim, reason: str) -> None:
        """Assume two sizes equal: at once if that can be decided, else as a guard.

        Raises:
            GuardViolationError: both are known and differ.
        """
        if left == right:
            return
        guard = Guard(left, right, reason)
        if canonical(left, right) is None:
            raise guard.violation({})
        self._guards[guard] = None
        bring_guards([guard])

    def resolve_and_guard(self, left: Dim, right: Dim, reason: str) -> Dim:
        """The size that stands for both of two sizes, which are assumed equal if need be.

        Raises:
            GuardViolationError: they are certainly different.
        """
        self.require_equal(left, right, reason)
        size = canonical(left, right)
        assert size is not None, "require_equal refuses sizes that differ"
        return size


def type_of(value: GlobalValKey) -> TensorMeta:
    """Metadata of a value.

    Raises:
        ShapeError: an input on the way carries no metadata.
    """
    known: Any = value.analysis
    if known is None:
        _infer(value)
        known = value.analysis
    return known  # type: ignore[no-any-return]  # only this module writes the slot


def declare(value: GlobalValKey, meta: TensorMeta) -> None:
    """Say of which type a value is that does not say so itself, such as a cotangent.

    Raises:
        ShapeError: the value has another type.
    """
    if value.analysis is None:
        value.analysis = meta
    elif value.analysis != meta:
        raise ShapeError(
            f"meta: {name_of(value)} is {value.analysis}, and cannot be {meta} as well"
        )


def annotate(op: GlobalOpKey) -> tuple[GlobalValKey, ...]:
    """Infer the metadata of an op's outputs from that of its inputs, and return the outputs."""
    _write(op, [type_of(key) for key in op.inputs])
    return op.outputs


def _infer(value: GlobalValKey) -> None:
    """Work out the metadata of a value, and of all that it is made of and that is not known yet."""
    stack: list[Any] = [value]
    while stack:
        top = stack[-1]
        if top.analysis is not None:
            stack.pop()
        elif isinstance(top, Input):
            meta = getattr(top.key, "meta", None)
            if not isinstance(meta, TensorMeta):
                raise ShapeError(
                    f"meta: input {top.key} carries no metadata; make it with "
                    "TensorInput(name, meta)"
                )
            top.analysis = meta if meta.dims is not None else _named_input(top, meta)
        else:
            op = top if type(top) is SingleOutputNode else top.op
            metas = list(map(_ANALYSIS, op.inputs))
            if all(metas):
                _write(op, metas)
            else:
                stack += [key for key in op.inputs if key.analysis is None]


def _write(op: GlobalOpKey, metas: list[Any]) -> None:
    """Infer the metadata of an op's outputs from that of its inputs."""
    primitive: Any = op.primitive
    inferred = primitive.infer_all(metas)
    if type(op) is SingleOutputNode and inferred[0].dims is not None:
        (op.analysis,) = inferred
        return
    for key, meta in zip(op.outputs, inferred, strict=True):
        key.analysis = meta if meta.dims is not None else _named(op, key, meta)


def _named(op: GlobalOpKey, key: Derived, meta: TensorMeta) -> TensorMeta:
    """The metadata of an output with sizes that data decide named by the graph's values."""

    def source(axis: int) -> Source | None:
        # Another value cannot take its shape from a tangent.
        return Source.of(key, axis) if op.mode is PRIMAL else None

    return name_sizes(meta, key.serial, [operand.serial for operand in op.inputs], source)


def _named_input(value: Input, meta: TensorMeta) -> TensorMeta:
    """The metadata of an input with sizes that data decide named by the graph's values."""
    return name_sizes(meta, value.serial, (), lambda axis: Source.of(value, axis))
