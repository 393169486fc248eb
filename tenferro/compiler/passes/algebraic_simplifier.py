"""Algebraic simplification: what differentiation leaves behind."""

from __future__ import annotations

import math

import numpy as np

from tenferro.compiler.passes.protocol import Needs
from tenferro.compiler.slot_emitter import SlotEmitter
from tenferro.config import config
from tenferro.exec_ir import Array, Category, ExecOp, ExecProgram
from tenferro.ops import BroadcastInDim, Constant, StdTensorOp, full


class AlgebraicSimplifier:
    """Applies each op's own `fold`, and computes what depends on constants alone.

    Results are kept up to rounding and the sign of zero; NaN and infinity survive, so that neither
    `x * 0` nor `x - x` is 0. A value is replaced only by one of the same type, guarantees included.
    """

    name = "algebraic_simplifier"
    needs = Needs.EXACT_EXTENTS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with each instruction simplified."""
        emitter = SlotEmitter(program)
        for step in program.instructions:
            operands = emitter.begin(step)
            op = step.op
            value = None
            if len(step.output_slots) == 1:
                value = _simplified(emitter, op, operands)
            if value is not None and emitter.ctx.meta(value) == step.output_metas[0]:
                emitter.define(step, value)
            else:
                emitter.keep(step, operands)
        return emitter.build()


def _simplified(emitter: SlotEmitter, op: ExecOp, operands: tuple[int, ...]) -> int | None:
    """A simpler value than `op` on `operands`, or None."""
    if isinstance(op, Constant):
        return _spread(emitter, op)
    value = op.fold(emitter, operands) if isinstance(op, StdTensorOp) else None
    return value if value is not None else _computed(emitter, op, operands)


def _spread(emitter: SlotEmitter, constant: Constant) -> int | None:
    """A literal that is one number everywhere, as that number repeated."""
    array = constant.numpy()
    if array.size < 2 or array.tobytes() != array.flat[0].tobytes() * array.size:
        return None
    return full(emitter, array.flat[0], constant.infer())


def _computed(emitter: SlotEmitter, op: ExecOp, operands: tuple[int, ...]) -> int | None:
    """The constant that `op` gives on constant operands, if it is small."""
    if not operands or op.category is Category.BOUNDARY or isinstance(op, BroadcastInDim):
        return None
    values: list[Array] = []
    for operand in operands:
        value = _literal(emitter, operand)
        if value is None:
            return None
        values.append(value)
    (meta,) = op.infer_all([emitter.ctx.meta(operand) for operand in operands])
    if not _is_small(meta.static_shape, meta.dtype.itemsize):
        return None
    with np.errstate(all="ignore"):
        (result,) = op.evaluate(values)
    return emitter.emit(Constant(np.asarray(result)))


def _literal(emitter: SlotEmitter, slot: int) -> Array | None:
    """The constant that a slot holds, if it is small."""
    made = emitter.producer(slot)
    if made is None:
        return None
    op, operands = made
    if isinstance(op, Constant):
        return op.numpy()
    if not isinstance(op, BroadcastInDim):
        return None
    source = emitter.producer(operands[0])
    meta = emitter.ctx.meta(slot)
    if source is None or not isinstance(source[0], Constant):
        return None
    if not _is_small(meta.static_shape, meta.dtype.itemsize):
        return None
    return op.numpy(source[0].numpy())


def _is_small(shape: tuple[int, ...] | None, itemsize: int) -> bool:
    return shape is not None and math.prod(shape) * itemsize <= config.literal_bytes
