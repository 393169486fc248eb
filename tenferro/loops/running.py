"""Applying an op that holds programs: recorded, in an eager runtime, or run at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tenferro.compiler import tighter
from tenferro.computegraph import PRIMAL, GlobalValKey, Input, op_key
from tenferro.dispatch import OpFunction, apply
from tenferro.eager import EagerTensor
from tenferro.loops.bodies import Bodies
from tenferro.ops import StdTensorOp
from tenferro.shape import annotate, fresh_input
from tenferro.traced import (
    CapturedArray,
    Results,
    TracedTensor,
    TrackedTensor,
    as_key,
    capture,
    compiled_within,
    is_tracing,
    leaf_meta,
    user_site,
)


def is_recorded(operands: Sequence[Any]) -> bool:
    """Whether an op on values of users is recorded, and not computed at once."""
    if any(isinstance(operand, TracedTensor) for operand in operands):
        return True
    return is_tracing() and not any(isinstance(operand, EagerTensor) for operand in operands)


def operands_of(consts: Sequence[GlobalValKey]) -> list[Any]:
    """What bodies close over, as operands: captured arrays stay graph values."""
    operands: list[Any] = []
    for key in consts:
        source = key.key if isinstance(key, Input) else None
        if isinstance(source, TrackedTensor):
            operands.append(source.tensor)
        else:
            operands.append(key if isinstance(source, CapturedArray) else TracedTensor(key))
    return operands


def run(op: StdTensorOp, operands: Sequence[Any], bodies: Bodies) -> list[Any]:
    """The results of an op on values of users and on captured arrays.

    Raises:
        ADError: in a trace, a body reads a tensor that an eager runtime tracks.
    """
    if not op.n_outputs:
        return []
    if is_recorded(operands):
        keys = tuple([_key_of(operand) for operand in operands])
        made = annotate(op_key(op, keys, PRIMAL, user_site()))
        scope = bodies.scope_of(operands)
        return [TracedTensor(key, None, scope) for key in made]
    if any(isinstance(operand, EagerTensor) for operand in operands):
        result: Any = apply(OpFunction(op), *map(_array_of, operands))
        return list(result) if op.n_outputs > 1 else [result]
    inputs = [_input_of(operand) for operand in operands]
    passed = [number for number, key in enumerate(inputs) if key is not operands[number]]
    results = Results(
        [inputs[number] for number in passed],
        [operands[number] for number in passed],
        False,
        next(filter(compiled_within, bodies.functions), None),
        bodies.packages,
        tighter(bodies.limits),
    )
    return results.of(op_key(op, tuple(inputs), PRIMAL, user_site()).outputs)


def _key_of(operand: Any) -> GlobalValKey:
    if isinstance(operand, GlobalValKey):
        return operand
    return capture(operand) if isinstance(operand, np.ndarray) else as_key(operand)


def _input_of(operand: Any) -> GlobalValKey:
    """A captured array, or a new input of a graph for an operand."""
    if isinstance(operand, GlobalValKey):
        return operand
    return fresh_input(leaf_meta(operand, "operand"), "operand")


def _array_of(operand: Any) -> Any:
    """An operand as an array for an eager runtime, which moves those on the host to its device."""
    if not isinstance(operand, Input):
        return operand
    captured: Any = operand.key
    return captured.tensor
