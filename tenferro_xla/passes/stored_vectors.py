"""Small values that a large one repeats, which XLA must compute once only."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tenferro.compiler import Pass
from tenferro.exec_ir import ExecInstruction, ExecProgram, Rewriter
from tenferro.ops import (
    Add,
    Analytic,
    BroadcastInDim,
    Conj,
    Convert,
    Div,
    EmbedDiag,
    Mul,
    Neg,
    Pow,
    Reduction,
    Reshape,
    Rsqrt,
    Select,
    Sqrt,
    Sub,
    Transpose,
)
from tenferro.shape import TensorMeta
from tenferro_xla.passes.parts import Stored

_CHEAP = (Add, Sub, Mul, Div, Neg, Conj, Convert, Select, Sqrt, Rsqrt, Reshape, Transpose)
_REPEATS = 16
_ELEMENTS = 4096


@dataclass(frozen=True)
class StoredVectors(Pass):
    """Prevents XLA from computing the elements of a vector for each row of a matrix.

    On a CPU XLA merges what computes a vector into the loop over a matrix that repeats it. For
    `x * cos(d)` with n rows it then computes each cosine n times, and for `x / x.sum(axis=0)` each
    sum, where nothing else reads the sums.
    """

    name = "stored_vectors"

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with a barrier in front of each such repetition."""
        if not (program.has_op(BroadcastInDim) or program.has_op(EmbedDiag)):
            return program
        makers, metas = program.makers(), program.slot_metas()

        def is_stored(step: ExecInstruction) -> bool:
            if not isinstance(step.op, BroadcastInDim | EmbedDiag):
                return False
            source = step.input_slots[0]
            few, many = _size(metas[source]), _size(metas[step.output_slots[0]])
            if few < 2 or many < max(few * _REPEATS, _ELEMENTS):
                return False
            return _is_costly(source, makers)

        if not any(map(is_stored, program.instructions)):
            return program
        rewriter = Rewriter(program)
        stored: dict[int, int] = {}

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> tuple[int, ...] | None:
            if not is_stored(step):
                return None
            slot = operands[0]
            if slot not in stored:
                (stored[slot],) = rewriter.emit_all(Stored(), slot)
            return rewriter.emit_all(step.op, stored[slot], *operands[1:])

        return rewriter.run(rule)


def _size(meta: TensorMeta | None) -> int:
    """The number of elements; 0 if it is not known."""
    shape = None if meta is None else meta.static_shape
    return 0 if shape is None else prod(shape)


def _is_costly(slot: int, makers: dict[int, ExecInstruction]) -> bool:
    """Whether a value is computed, up to cheap steps, by a sum or a function that takes long."""
    waiting, seen = [slot], {slot}
    while waiting:
        step = makers.get(waiting.pop())
        if step is None:
            continue
        if isinstance(step.op, _CHEAP):
            fresh = set(step.input_slots) - seen
            waiting += fresh
            seen |= fresh
        elif isinstance(step.op, Analytic | Pow | Reduction):
            return True
    return False
