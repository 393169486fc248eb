"""Scan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax import Array, lax
from jax import numpy as jnp

from tenferro.control import CheckpointedScan, Scan
from tenferro_xla.lowering.program import jax_function
from tenferro_xla.lowering.registry import LoweringOptions, lower


@lower.register
def _(op: Scan, *operands: Array, options: LoweringOptions) -> tuple[Array, ...]:
    return _scan(op, operands, options)


@lower.register
def _(op: CheckpointedScan, *operands: Array, options: LoweringOptions) -> tuple[Array, ...]:
    return _scan(op, operands, options)


def _scan(op: Scan, operands: Sequence[Array], options: LoweringOptions) -> tuple[Array, ...]:
    start = op.consts + op.carry
    consts = operands[: op.consts]
    body = jax_function(op.body, options)

    def step(carry: tuple[Array, ...], xs: tuple[Array, ...]) -> tuple[Any, Any]:
        outputs = [jnp.asarray(value) for value in body(*consts, *carry, *xs)]
        return tuple(outputs[: op.carry]), tuple(outputs[op.carry :])

    carry, ys = lax.scan(
        step,
        tuple(jnp.asarray(value) for value in operands[op.consts : start]),
        tuple(operands[start:]),
        length=int(op.length),
        reverse=op.reverse,
        unroll=op.unroll,
    )
    return (*carry, *ys)
