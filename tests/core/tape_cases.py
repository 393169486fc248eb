"""An eager front end for the toy ops, as small as it can be: values with their origins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tenferro.core import (
    Derivative,
    LeafOrigin,
    LocalProgram,
    Mask,
    Origin,
    Record,
    Slots,
    input_key,
    pull_records,
    push_records,
)
from tests.toy import ADD, CTX, Meta, Var


@dataclass(frozen=True)
class Value:
    """A number or vector, and what it comes from; None: nothing is recorded of it."""

    value: Any
    origin: Origin | None = None

    def __add__(self, other: Value) -> Value:
        return apply(ADD, self, other)


def variable(value: Any) -> Value:
    return Value(value, LeafOrigin())


def apply(op: Any, *operands: Value) -> Value:
    """Output 0 of an op, recorded if an operand is."""
    return apply_all(op, *operands)[0]


def apply_all(op: Any, *operands: Value) -> tuple[Value, ...]:
    results = op.evaluate([operand.value for operand in operands])
    active = tuple(operand.origin is not None for operand in operands)
    if not any(active):
        return tuple(Value(result) for result in results)
    metas = [meta_of(operand.value) for operand in operands]
    keys = [input_key(Var(f"x{i}", meta)) for i, meta in enumerate(metas)]
    derivative = Derivative(op, keys, active, CTX)
    values = (*(operand.value for operand in operands), *results)
    saved = tuple(values[read] for read in derivative.reads)
    record = Record(derivative, tuple(operand.origin for operand in operands), saved)
    return tuple(
        Value(result, origin if reached else None)
        for result, origin, reached in zip(results, record.outputs, derivative.reaches, strict=True)
    )


def meta_of(value: Any) -> Meta:
    if isinstance(value, tuple):
        return Meta("complex" if isinstance(value[0], complex) else "real", len(value))
    return Meta("complex" if isinstance(value, complex) else "real")


class ToyApplier:
    """Applies derivatives by computing with values, recorded in their turn."""

    def push(self, record: Record, tangents: Slots[Value]) -> Slots[Value]:
        moving = tuple(tangent is not None for tangent in tangents)
        return self._run(record, record.derivative.push(moving), tangents)

    def pull(self, record: Record, cts: Slots[Value], wanted: Mask) -> Slots[Value]:
        given = tuple(ct is not None for ct in cts)
        return self._run(record, record.derivative.pull(wanted, given), cts)

    def add(self, a: Value, b: Value) -> Value:
        return a + b

    def _run(self, record: Record, local: LocalProgram, seeds: Slots[Value]) -> Slots[Value]:
        slots = [saved_value(record, number) for number in local.saved]
        slots += [seed for seed in seeds if seed is not None]
        for step in local.program.instructions:
            slots += apply_all(step.op, *[slots[slot] for slot in step.inputs])
        made = [slots[slot] for slot in local.program.output_slots]
        return tuple(None if place is None else made[place] for place in local.results)


def saved_value(record: Record, number: int) -> Value:
    read, count = record.derivative.reads[number], len(record.sources)
    origin = record.sources[read] if read < count else record.output(read - count)
    return Value(record.saved[number], origin)


def grads(y: Value, *wrt: Value, seed: Any = 1.0) -> list[Value | None]:
    """Cotangents of `wrt`, each named once; None where nothing reaches."""
    assert y.origin is not None
    origins = [value.origin for value in wrt if value.origin is not None]
    found = pull_records([(y.origin, Value(seed))], origins, ToyApplier())
    return [found.get(origin) for origin in origins]


def tangent(y: Value, *directions: tuple[Value, Any]) -> Value | None:
    """The tangent of `y` for pairs of a value and its tangent."""
    known = {
        value.origin: Value(tangent) for value, tangent in directions if value.origin is not None
    }
    return push_records([y.origin], known, ToyApplier())[0]
