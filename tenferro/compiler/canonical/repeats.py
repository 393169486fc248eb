"""Elementwise ops on repeated values are computed before the values are repeated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tenferro.compiler.passes import Needs, Pass
from tenferro.ir import Category, DType, ExecInstruction, ExecProgram, Rewriter, product
from tenferro.ops import (
    MUL,
    BroadcastInDim,
    ReduceSum,
    Reshape,
    StdTensorOp,
    full,
    scalar_source,
)

__all__ = ["BroadcastSinking"]


@dataclass(frozen=True)
class BroadcastSinking(Pass):
    """Moves repetitions behind elementwise ops, and makes products of sums over repeated axes.

    The operands of such an op are repeated in the same way, as by `repeat` and `tile`, or are
    repeated numbers. A derivative adds up what was repeated: if nothing else came in between, the
    sum is a product by a number.
    """

    needs = Needs.EXACT_EXTENTS
    looks_for = (BroadcastInDim,)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with fewer elements computed; unused repetitions are left to `DeadCode`."""
        if not any(each.dims for each in program.ops_of(BroadcastInDim)):
            return program  # only numbers are repeated
        rewriter = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> int | None:
            op = step.op
            if not isinstance(op, StdTensorOp) or len(step.output_slots) != 1:
                return None
            value: int | None = None
            if isinstance(op, ReduceSum):
                value = _product(rewriter, op, operands[0])
            elif isinstance(op, Reshape):
                value = op.fold(rewriter, operands)  # a reshape there and back
            elif op.pointwise and not (op.view or op.bodies or op.category is Category.BOUNDARY):
                value = _before_repetition(rewriter, op, operands)
            if value is None or rewriter.ctx.meta(value) != step.output_metas[0]:
                return None
            return value

        return rewriter.run(rule)


@dataclass(frozen=True, slots=True)
class _Repetition:
    """How a value is repeated: along new axes, which may be merged with others."""

    broadcast: BroadcastInDim
    reshape: Reshape | None


def _repetition(at: Rewriter, slot: int) -> tuple[int, _Repetition] | None:
    """What is repeated, and how; None for other values, and for a repeated number."""
    producer, reshape = at.producer(slot), None
    if producer is not None and isinstance(producer[0], Reshape):
        reshape = producer[0]
        producer = at.producer(producer[1][0])
    if producer is None or type(producer[0]) is not BroadcastInDim or not producer[0].dims:
        return None
    broadcast, (source,) = producer
    dims = at.ctx.meta(source).dims
    if dims is None or product(dims) == product(broadcast.shape):
        return None  # only axes of size 1 are new
    return source, _Repetition(broadcast, reshape)


def _before_repetition(at: Rewriter, op: StdTensorOp, operands: tuple[int, ...]) -> int | None:
    """The op on what its operands repeat, then repeated; None unless they do it alike."""
    sources: list[int | None] = []
    repetition: _Repetition | None = None
    like: int | None = None
    for slot in operands:
        found = _repetition(at, slot)
        if found is None:
            if scalar_source(at, slot) is None:
                return None
            sources.append(None)
            continue
        source, how = found
        if like is None:
            like, repetition = source, how
        if how != repetition or at.ctx.meta(source).dims != at.ctx.meta(like).dims:
            return None
        sources.append(source)
    if like is None or repetition is None:
        return None
    dims = at.ctx.meta(like).dims
    assert dims is not None
    small: list[int] = []
    for slot, known in zip(operands, sources, strict=True):
        number = scalar_source(at, slot) if known is None else None
        spread = None if number is None else at.emit(BroadcastInDim(dims, ()), number)
        small += [each for each in (known, spread) if each is not None]
    value = at.emit(repetition.broadcast, at.emit(op, *small))
    return value if repetition.reshape is None else at.emit(repetition.reshape, value)


def _product(at: Rewriter, op: ReduceSum, slot: int) -> int | None:
    """A sum over repeated axes as a product by how often they repeat; None for other sums."""
    producer = at.producer(slot)
    if producer is None or type(producer[0]) is not BroadcastInDim or not producer[0].dims:
        return None
    broadcast, (source,) = producer
    new = [axis for axis in op.axes if axis not in broadcast.dims]
    times = product([broadcast.shape[axis] for axis in new])
    if not new or not isinstance(times, int) or not _is_held(times, at.ctx.meta(slot).dtype):
        return None
    left = [axis for axis in range(len(broadcast.shape)) if axis not in new]
    shape = tuple(broadcast.shape[axis] for axis in left)
    value = at.emit(BroadcastInDim(shape, tuple(map(left.index, broadcast.dims))), source)
    value = at.emit(
        ReduceSum(tuple(left.index(axis) for axis in op.axes if axis not in new)), value
    )
    return at.emit(MUL, value, full(at, times, at.ctx.meta(value)))


def _is_held(number: int, dtype: DType) -> bool:
    """Whether a positive number is exact in a dtype; a sum of no numbers is left alone."""
    if dtype.kind in "iu":
        return 0 < number <= np.iinfo(dtype).max
    return dtype.kind in "fc" and 0 < number <= 1 << (np.finfo(dtype).nmant + 1)
