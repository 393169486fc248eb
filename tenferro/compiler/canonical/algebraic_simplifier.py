"""Algebraic simplification, mainly of what differentiation produces."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tenferro.compiler.passing import Needs, Pass
from tenferro.config import config
from tenferro.exec_ir import Array, Category, ExecInstruction, ExecOp, ExecProgram, Rewriter
from tenferro.ops import Constant, StdTensorOp, full


@dataclass(frozen=True)
class AlgebraicSimplifier(Pass):
    """Applies each op's own `fold`, and computes what depends on constants alone.

    Results are kept up to rounding and the sign of zero; NaN and infinity survive, so that neither
    `x * 0` nor `x - x` is 0. A value is replaced only by one of the same type, guarantees included.
    """

    name = "algebraic_simplifier"
    needs = Needs.EXACT_EXTENTS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with each instruction simplified."""
        rewriter = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> int | None:
            if len(step.output_slots) != 1:
                return None
            value = _simplified(rewriter, step.op, operands)
            if value is None or rewriter.ctx.meta(value) != step.output_metas[0]:
                return None
            return value

        return rewriter.run(rule)


def _simplified(at: Rewriter, op: ExecOp, operands: tuple[int, ...]) -> int | None:
    """A simpler value than `op` on `operands`, or None."""
    if isinstance(op, Constant):
        return _spread(at, op)
    value = op.fold(at, operands) if isinstance(op, StdTensorOp) else None
    return value if value is not None else _computed(at, op, operands)


def _spread(at: Rewriter, constant: Constant) -> int | None:
    """A literal whose elements are all equal, as one number that is repeated."""
    array = constant.numpy()
    if array.size < 2 or array.tobytes() != array.flat[0].tobytes() * array.size:
        return None
    return full(at, array.flat[0], constant.infer())


def _computed(at: Rewriter, op: ExecOp, operands: tuple[int, ...]) -> int | None:
    """The constant that `op` gives on constant operands, if it is small."""
    for operand in operands:
        producer = at.producer(operand)
        if producer is None or not (producer[0].repeats or isinstance(producer[0], Constant)):
            return None
    if not operands or op.category is Category.BOUNDARY or op.repeats:
        return None
    values: list[Array] = []
    for operand in operands:
        value = _literal(at, operand)
        if value is None:
            return None
        values.append(value)
    (meta,) = op.infer_all([at.ctx.meta(operand) for operand in operands])
    if not _is_small(meta.static_shape, meta.dtype.itemsize) or op.symbols():
        return None  # the elements may depend on sizes, though their number does not
    with np.errstate(all="ignore"):
        (result,) = op.evaluate(values)
    return at.emit(Constant(np.asarray(result)))


def _literal(at: Rewriter, slot: int) -> Array | None:
    """The constant that a slot holds, if it is small."""
    producer = at.producer(slot)
    if producer is None:
        return None
    op, operands = producer
    if isinstance(op, Constant):
        return op.numpy()
    if not op.repeats:
        return None
    source = at.producer(operands[0])
    meta = at.ctx.meta(slot)
    if source is None or not isinstance(source[0], Constant):
        return None
    if not _is_small(meta.static_shape, meta.dtype.itemsize):
        return None
    return op.evaluate([source[0].numpy()])[0]  # type: ignore[no-any-return]


def _is_small(shape: tuple[int, ...] | None, itemsize: int) -> bool:
    return shape is not None and math.prod(shape) * itemsize <= config.literal_bytes
