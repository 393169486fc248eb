"""Loops of small values, which XLA on the CPU compiles as one function.

XLA runs a loop as a sequence of kernels, and to start one takes a tenth of a microsecond and more.
A call with the attribute `xla_cpu_small_call` becomes one function of machine code instead, with
the loop in it. XLA itself marks loops of a few hundred bytes so.

The function runs on one thread and calls no library. So only loops of small values are marked; and
since the attribute is not documented, `compiled.stablehlo` compiles a program without marks if XLA
refuses it with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from math import prod
from typing import Any, cast

import jax
from jax import Array, lax
from jax.experimental.xla_metadata import set_xla_metadata

from tenferro.ir import ExecInstruction, ExecOp, ExecProgram, TensorMeta, dtype_kind
from tenferro.ops import DotGeneral, Scatter, ScatterReduce, Sort
from tenferro.ops.control_flow import ControlOp, Scan, Switch, While
from tenferro.ops.extension import Extension

__all__ = ["as_one_function", "is_small"]

MOST_NUMBERS = 512
"""Numbers that an instruction computes. Of more, kernels take as long as one function."""
MOST_OPERATIONS = 1000
"""Multiplications and additions of a product."""
MOST_OF_VECTORS = 2048
"""Those of a matrix with a vector. With larger ones the library is faster."""
LIBRARY = 8
"""The longest side from which XLA has a library compute a product of real matrices."""

VECTOR = 32
"""Numbers from which one kernel in each iteration is not slower than one function."""


def is_small(op: ControlOp) -> bool:
    """Whether all that a loop, or a branch in one, computes fits one function."""
    if not isinstance(op, Scan | While | Switch):
        return False
    if op.is_loop and not op.iterations:
        return False
    if isinstance(op, Scan) and _is_one_kernel(op.body):
        return False
    return all(_is_small(cast(ExecProgram, body)) for body in op.bodies.values())


def _is_small(program: ExecProgram) -> bool:
    metas = program.slot_metas()
    if any(meta is not None and _is_empty(meta) for meta in metas):
        return False
    for step, work in zip(program.steps_of(ExecOp), program.work_of(), strict=True):
        if isinstance(step.op, ControlOp):
            fits = is_small(step.op)
        else:
            operands = [meta for slot in step.input_slots if (meta := metas[slot]) is not None]
            fits = _fits(step, operands, work)
        if not fits:
            return False
    return True


def _is_one_kernel(program: ExecProgram) -> bool:
    """Whether an iteration is one kernel anyway, which has the better code for long vectors."""
    if len({*program.output_slots}) != 1 or program.output_metas[0].known_size < VECTOR:
        return False
    return all(op.pointwise or op.source or op.moves or op.repeats for op in program.ops())


def _is_empty(meta: TensorMeta) -> bool:
    """Whether a value has no elements; at such a one in a function XLA ends the process."""
    return 0 in (meta.static_shape or ())


def _fits(step: ExecInstruction, operands: Sequence[TensorMeta], work: int) -> bool:
    """Whether an instruction that takes so much work can be part of a function."""
    op = step.op
    if isinstance(op, DotGeneral):
        sides = _sides(op, operands)
        if min(sides) == 1 and not op.lhs_batch:
            return work <= MOST_OF_VECTORS
        by_library = dtype_kind(step.dtype) == "f" and min(sides) > 1 and max(sides) >= LIBRARY
        return work <= MOST_OPERATIONS and not by_library
    if isinstance(op, Extension | Sort):
        return False  # a call of a library
    if isinstance(op, Scatter | ScatterReduce) and _windows(op, operands[1]) > 1:
        return False  # which XLA refuses
    return work <= MOST_NUMBERS


def _sides(op: DotGeneral, operands: Sequence[TensorMeta]) -> tuple[int, int, int]:
    """The rows, columns and terms of a product."""
    lhs, rhs = (meta.static_shape or () for meta in operands)
    rows = prod(lhs[axis] for axis in op.lhs_free(len(lhs)))
    columns = prod(rhs[axis] for axis in op.rhs_free(len(rhs)))
    return rows, columns, prod(lhs[axis] for axis in op.lhs_contract)


def _windows(op: Scatter | ScatterReduce, indices: TensorMeta) -> int:
    """How many windows are scattered."""
    shape = indices.static_shape or ()
    return prod(size for axis, size in enumerate(shape) if axis != op.index_vector_dim)


# The mark.

MARK = {"xla_cpu_small_call": "true", "inlineable": "false"}
"""The attributes of the call. Without the second one, XLA writes out the call."""
NO_MARK = {"xla_cpu_small_call": "false", "inlineable": "true"}
"""Those of what is within it: JAX hands down the attributes of a call to what has none."""


def as_one_function(
    function: Callable[[Sequence[Any]], tuple[Array, ...]], operands: Sequence[Any]
) -> tuple[Array, ...]:
    """What a function makes of its operands, in a call that XLA compiles as one function.

    Operands that are known now stay constants in it. The others are results of the call as well,
    which takes no time: at a parameter that nothing reads any more XLA ends the process. A barrier
    keeps it from moving constants into the function, which would leave such parameters too.
    """
    traced = [isinstance(x, jax.core.Tracer) for x in operands]

    def tenferro_loop(*arrays: Array) -> tuple[Array, ...]:
        passed = iter(arrays)
        values = [next(passed) if on else x for x, on in zip(operands, traced, strict=True)]
        with set_xla_metadata(**NO_MARK):  # type: ignore[no-untyped-call]  # JAX has no types there
            return (*function(values), *arrays)

    arrays: tuple[Array, ...] = tuple(compress(operands, traced))
    arrays = lax.optimization_barrier(arrays)  # type: ignore[no-untyped-call]
    with set_xla_metadata(**MARK):  # type: ignore[no-untyped-call]
        results = jax.jit(tenferro_loop)(*arrays)
    # Without a barrier, JAX leaves out results that nothing reads.
    results = lax.optimization_barrier(results)  # type: ignore[no-untyped-call]
    return tuple(results[: len(results) - len(arrays)])
