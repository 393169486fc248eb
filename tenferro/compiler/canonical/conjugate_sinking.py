"""Conjugates moved towards the outputs, where they meet and cancel."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tenferro.compiler.passing import Pass
from tenferro.exec_ir import Conjugation, ExecInstruction, ExecOp, ExecProgram, Rewriter
from tenferro.ops import CONJ, NEG, Conj
from tenferro.shape import TensorMeta

LATE = 1 << 20
"""Number of elements that a value of late size is taken to have."""

CHEAP = 4
"""How many times smaller an operand must be to be conjugated in the place of the other one."""

GROWTH = 32
"""How many times larger than its operands a result may be to be conjugated in their place."""


@dataclass(frozen=True)
class ConjugateSinking(Pass):
    """Computes `conj(f(x, y))` in the place of `f(conj(x), conj(y))`, and cancels `Conj` of `Conj`.

    Each op says what it makes of conjugates (`ExecOp.conjugation`). A contraction of conjugates is
    the conjugate of the contraction: the gradient of a complex network, whose every step contracts
    with the conjugate of an operand, needs none but those of its results. Where only one operand is
    a conjugate the other is made one if it is much smaller, or a constant.

    A sum that is zero has another sign then, and functions with a branch cut show it: such a
    conjugate is moved only where what becomes of it are further ops that pass conjugates on, real
    parts, absolute values and outputs.
    """

    name = "conjugate_sinking"

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with fewer conjugates."""
        if not program.has_op(Conj):
            return program
        sinking = _Sinking(program)
        return sinking.rewriter.run(sinking.rule)


class _Sinking:
    """The rule of one run.

    Attributes:
        sources: for each value that is a conjugate not yet written, what it is the conjugate of.
        written: conjugates that were written, by what they are of.
    """

    def __init__(self, program: ExecProgram) -> None:
        self.rewriter = Rewriter(program)
        self.outputs = set(program.output_slots)
        self.sensitive = _sign_sensitive_slots(program)
        self.sources: dict[int, int] = {}
        self.written: dict[int, int] = {}

    def rule(
        self, step: ExecInstruction, operands: tuple[int, ...]
    ) -> int | tuple[int, ...] | None:
        """What stands for the instruction."""
        is_conjugate = [slot in self.sources for slot in step.input_slots]
        if isinstance(step.op, Conj) and step.dtype.kind == "c":
            if is_conjugate[0]:
                return self.sources[step.input_slots[0]]
            return self._put_off(step, operands[0])
        if any(is_conjugate):
            return self._on_conjugates(step, operands)
        return None

    def _on_conjugates(
        self, step: ExecInstruction, operands: tuple[int, ...]
    ) -> int | tuple[int, ...]:
        """What stands for an instruction that reads conjugates."""
        op, conjugation = step.op, step.op.conjugation
        if conjugation in (Conjugation.SAME, Conjugation.NEGATED):
            value = self._emit(op, [self._source(step, i, x) for i, x in enumerate(operands)])
            return value if conjugation is Conjugation.SAME else self.rewriter.emit(NEG, value)
        if _passes(op) and len(step.output_slots) == 1 and self._pays(step, operands):
            value = self._emit(op, [self._source(step, i, x) for i, x in enumerate(operands)])
            return self._put_off(step, value)
        return self.rewriter.emit_all(op, *self._read(step, operands))

    def _emit(self, op: ExecOp, operands: list[int]) -> int:
        return self.rewriter.emit(op, *operands)  # type: ignore[arg-type]  # ops of a canonical program

    def _put_off(self, step: ExecInstruction, source: int) -> tuple[int, ...]:
        """Take note that the step's value is the conjugate of `source`."""
        (slot,) = step.output_slots
        self.sources[slot] = source
        return self.rewriter.emit_all(CONJ, source) if slot in self.outputs else ()

    def _source(self, step: ExecInstruction, position: int, operand: int) -> int:
        """What an operand is the conjugate of."""
        slot = step.input_slots[position]
        return self.sources[slot] if slot in self.sources else self._conj(operand)

    def _pays(self, step: ExecInstruction, operands: tuple[int, ...]) -> bool:
        """Whether to conjugate the operands that are not conjugates, and not those that are."""
        rounds = step.op.conjugation is Conjugation.ZERO_SIGNS
        if rounds and step.output_slots[0] in self.sensitive:
            return False
        conjugates = others = 0
        for slot, operand in zip(step.input_slots, operands, strict=True):
            if slot in self.sources:
                conjugates += self._size(self.sources[slot])
            else:
                others += self._size(operand)
        growth = _elements(step.output_metas[0])
        return CHEAP * others <= conjugates and growth <= GROWTH * conjugates

    def _size(self, value: int) -> int:
        """How many numbers a kernel would conjugate; none of a real value or a constant."""
        meta = self.rewriter.ctx.meta(value)
        maker = self.rewriter.producer(value)
        while maker is not None and maker[0].repeats:
            maker = self.rewriter.producer(maker[1][0])
        is_constant = maker is not None and maker[0].source
        return 0 if is_constant or meta.dtype.kind != "c" else _elements(meta)

    def _read(self, step: ExecInstruction, operands: tuple[int, ...]) -> list[int]:
        """The operands, conjugated where that has been put off."""
        return [
            self._conj(self.sources[slot])
            if slot in self.sources and slot not in self.outputs
            else operand
            for slot, operand in zip(step.input_slots, operands, strict=True)
        ]

    def _conj(self, value: int) -> int:
        if self.rewriter.ctx.meta(value).dtype.kind != "c":
            return value
        if value not in self.written:
            self.written[value] = self.rewriter.emit(CONJ, value)
        return self.written[value]


def _passes(op: ExecOp) -> bool:
    """Whether the op of conjugates is the conjugate of the op."""
    return op.conjugation in (Conjugation.EXACT, Conjugation.ZERO_SIGNS)


def _elements(meta: TensorMeta) -> int:
    shape = meta.static_shape
    return LATE if shape is None else math.prod(shape)


def _sign_sensitive_slots(program: ExecProgram) -> set[int]:
    """Values of which some reader may show the sign of a zero imaginary part."""
    sensitive: set[int] = set()
    for step in reversed(program.instructions):
        harmless = step.op.conjugation is Conjugation.SAME or (
            (isinstance(step.op, Conj) or _passes(step.op))
            and sensitive.isdisjoint(step.output_slots)
        )
        if not harmless:
            sensitive.update(step.input_slots)
    return sensitive
