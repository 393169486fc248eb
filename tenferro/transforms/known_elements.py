"""The elements of traced values, where the arguments of an un-jitted transform are known.

A transform such as `grad` traces its function at each call, on arguments that have elements. Where
the function asks for elements, as Python's `if` and `float` do, the ops that they depend on run on
the host, each once, and the recorded graph is the one for these elements. Values that depend on
other inputs, those of `jit`, of `vmap` or of the body of a loop, have no elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np

from tenferro.core import Derived, GlobalValKey, Input
from tenferro.ir import BOOL, NumpyArray, TensorMeta, fresh_input, is_inexact, quiet, type_of
from tenferro.ops import STOP_GRADIENT, Argument
from tenferro.runtime import RunEmitter, Tensor, outside_traces

__all__ = ["carries_derivative", "declare_elements", "elements_of", "hidden_elements"]


@dataclass(frozen=True, slots=True)
class Known:
    """Where the elements of an input, or of an argument, come from.

    Attributes:
        source: an array or number; or a graph value, which has elements or not.
        is_active: whether a derivative by it is taken.
        has_rule: whether it is an argument of a function that a rule by hand differentiates.
    """

    source: Any
    is_active: bool
    has_rule: bool


_known: WeakKeyDictionary[GlobalValKey, Known] = WeakKeyDictionary()
_elements: WeakKeyDictionary[GlobalValKey, NumpyArray] = WeakKeyDictionary()
_hidden: ContextVar[int] = ContextVar("tenferro_hidden_elements", default=-1)
"""Inputs with a serial up to this one have no elements in this thread or task."""
_SCALAR = TensorMeta(BOOL, ())


def declare_elements(
    key: GlobalValKey, source: Any, is_active: bool = False, has_rule: bool = False
) -> None:
    """Say that an input, or an argument, has the elements of `source`; see `Known`."""
    _known[key] = Known(source, is_active, has_rule)


@contextmanager
def hidden_elements() -> Iterator[None]:
    """A context in which older inputs have no elements, as in a function that is compiled."""
    token = _hidden.set(fresh_input(_SCALAR, "start").serial)
    try:
        yield
    finally:
        _hidden.reset(token)


def elements_of(key: GlobalValKey) -> NumpyArray | None:
    """The elements of a graph value; None if it has none."""
    order = _needed(key)
    if order is None:
        return None
    with outside_traces(), quiet():
        for each in order:
            if each not in _elements:  # an op has several outputs
                _compute(each)
    return _elements[key]


def _needed(key: GlobalValKey) -> list[GlobalValKey] | None:
    """The values to compute for a value, operands first; None if an input has no elements."""
    hidden = _hidden.get()
    order: dict[GlobalValKey, None] = {}
    stack = [key]
    while stack:
        value = stack[-1]
        operands = _operands(value, hidden)
        if operands is None:
            return None
        missing = [each for each in operands if each not in order]
        if missing:
            stack += missing
        else:
            order[value] = None
            stack.pop()
    return list(order)


def _operands(value: GlobalValKey, hidden: int) -> tuple[GlobalValKey, ...] | None:
    """The values from which a value is computed, none if it is known; None if it cannot be."""
    if value.serial > hidden and value in _elements:
        return ()
    if isinstance(value, Derived):
        return value.op.inputs
    if _captured(value) is not None:
        return ()
    known = _known.get(value)
    if known is None or value.serial <= hidden:
        return None
    return (known.source,) if isinstance(known.source, GlobalValKey) else ()


def _compute(value: GlobalValKey) -> None:
    """Store the elements of a value whose operands have theirs."""
    if isinstance(value, Derived):
        op, operands = value.op, [_elements[each] for each in value.op.inputs]
        if type(op.primitive) is Argument:
            _elements[value] = operands[0]
            return
        results = RunEmitter(None).emit_all(cast(Any, op.primitive), *operands)
        _elements.update(zip(op.outputs, map(np.asarray, results), strict=True))
        return
    captured = _captured(value)
    source = _known[value].source if captured is None else captured
    if isinstance(source, GlobalValKey):
        _elements[value] = _elements[source]
    else:
        tensor = source if isinstance(source, Tensor) else Tensor(source)
        _elements[value] = tensor.numpy()


def _captured(value: GlobalValKey) -> Tensor | None:
    """The array that a function closes over, if a value is one."""
    captured: Tensor | None = getattr(cast(Input, value).key, "tensor", None)
    return captured


def carries_derivative(key: GlobalValKey) -> bool:
    """Whether a derivative that is being taken goes through what a value was computed by."""
    visited: set[GlobalValKey] = set()
    stack = [key]
    while stack:
        value = stack.pop()
        if value in visited or not is_inexact(type_of(value).dtype):
            continue
        visited.add(value)
        known = _known.get(value)
        if known is not None and known.is_active:
            return True
        if isinstance(value, Derived):
            if value.op.primitive is not STOP_GRADIENT:
                stack += value.op.inputs
        elif known is not None and isinstance(known.source, GlobalValKey):
            if not known.has_rule:
                stack.append(known.source)
        elif (captured := _captured(value)) is not None and captured.tracked:
            return True
    return False
