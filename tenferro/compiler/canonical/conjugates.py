"""A pass that moves conjugates toward the outputs of a program, where they cancel."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tenferro.compiler.passes import Pass
from tenferro.ir import (
    Conjugation,
    ExecInstruction,
    ExecOp,
    ExecProgram,
    Rewriter,
    TensorMeta,
    dtype_kind,
)
from tenferro.ops import CONJ, NEG, Conj

__all__ = ["ConjugateSinking"]

DYNAMIC = 1 << 20
"""Number of elements assumed for a value whose size data decide."""

CHEAP = 4
"""How many times smaller an operand must be to be conjugated instead of the other operand."""

GROWTH = 32
"""How many times larger than its operands a result may be to be conjugated instead of them."""


@dataclass(frozen=True)
class ConjugateSinking(Pass):
    """Computes `conj(f(x, y))` in the place of `f(conj(x), conj(y))`, and cancels `Conj` of `Conj`.

    `ExecOp.conjugation` says how an op acts on conjugates. A contraction of conjugates is the
    conjugate of the contraction. So the gradient of a complex network, each step of which contracts
    with the conjugate of an operand, needs only the conjugates of its results. Where only one
    operand is a conjugate, the other one is conjugated if it is much smaller, or a constant.

    This may change the sign of a zero, which functions with a branch cut show. So a conjugate that
    may do that is moved only where its readers are outputs, real parts, absolute values and ops
    that pass conjugates on to such readers.
    """

    looks_for = (Conj,)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with fewer conjugates."""
        sinking = _ConjugateSinking(program)
        rewritten = sinking.rewriter.run(sinking.rule)
        return rewritten if sinking.moved else program


class _ConjugateSinking:
    """The rule of one run.

    Attributes:
        sources: for each value that is a conjugate not yet written, the value to conjugate.
        written: the conjugates that were written, by the value that they conjugate.
        moved: whether an op computes on other operands than before; else conjugates are only
            written again, before their first readers.
    """

    def __init__(self, program: ExecProgram) -> None:
        self.rewriter = Rewriter(program)
        self.outputs = set(program.output_slots)
        self.sensitive = _sign_sensitive_slots(program)
        self.sources: dict[int, int] = {}
        self.written: dict[int, int] = {}
        self.moved = False

    def rule(
        self, step: ExecInstruction, operands: tuple[int, ...]
    ) -> int | tuple[int, ...] | None:
        is_conjugate = [slot in self.sources for slot in step.input_slots]
        if isinstance(step.op, Conj) and dtype_kind(step.dtype) == "c":
            if is_conjugate[0]:
                self.moved = True
                return self.sources[step.input_slots[0]]
            return self._put_off(step, operands[0])
        if any(is_conjugate):
            return self._on_conjugates(step, operands)
        return None

    def _on_conjugates(
        self, step: ExecInstruction, operands: tuple[int, ...]
    ) -> int | tuple[int, ...]:
        """What replaces an instruction that reads conjugates."""
        op, conjugation = step.op, step.op.conjugation
        if conjugation in (Conjugation.SAME, Conjugation.NEGATED):
            value = self._on_sources(step, operands)
            return value if conjugation is Conjugation.SAME else self.rewriter.emit(NEG, value)
        if _passes(op) and len(step.output_slots) == 1 and self._pays(step, operands):
            return self._put_off(step, self._on_sources(step, operands))
        return self.rewriter.emit_all(op, *self._read(step, operands))

    def _on_sources(self, step: ExecInstruction, operands: tuple[int, ...]) -> int:
        """The op on the conjugates of its operands."""
        self.moved = True
        conjugates = [self._source(step, i, operand) for i, operand in enumerate(operands)]
        return self.rewriter.emit(step.op, *conjugates)  # type: ignore[arg-type]  # of the vocabulary

    def _put_off(self, step: ExecInstruction, source: int) -> tuple[int, ...]:
        """Record that the step's value is the conjugate of `source`."""
        (slot,) = step.output_slots
        self.sources[slot] = source
        return self.rewriter.emit_all(CONJ, source) if slot in self.outputs else ()

    def _source(self, step: ExecInstruction, position: int, operand: int) -> int:
        slot = step.input_slots[position]
        return self.sources[slot] if slot in self.sources else self._conj(operand)

    def _pays(self, step: ExecInstruction, operands: tuple[int, ...]) -> bool:
        """Whether to conjugate the operands that are not conjugates, and not those that are."""
        may_change = step.op.conjugation is Conjugation.ZERO_SIGNS
        if may_change and step.output_slots[0] in self.sensitive:
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
        """How many numbers a kernel would conjugate; 0 for a real value or a constant."""
        meta = self.rewriter.ctx.meta(value)
        maker = self.rewriter.producer(value)
        while maker is not None and maker[0].repeats:
            maker = self.rewriter.producer(maker[1][0])
        is_constant = maker is not None and maker[0].source
        return 0 if is_constant or dtype_kind(meta.dtype) != "c" else _elements(meta)

    def _read(self, step: ExecInstruction, operands: tuple[int, ...]) -> list[int]:
        """The operands; conjugates that were put off are written."""
        return [
            self._conj(self.sources[slot])
            if slot in self.sources and slot not in self.outputs
            else operand
            for slot, operand in zip(step.input_slots, operands, strict=True)
        ]

    def _conj(self, value: int) -> int:
        if dtype_kind(self.rewriter.ctx.meta(value).dtype) != "c":
            return value
        if value not in self.written:
            self.written[value] = self.rewriter.emit(CONJ, value)
        return self.written[value]


def _passes(op: ExecOp) -> bool:
    return op.conjugation in (Conjugation.EXACT, Conjugation.ZERO_SIGNS)


def _elements(meta: TensorMeta) -> int:
    shape = meta.static_shape
    return DYNAMIC if shape is None else math.prod(shape)


def _sign_sensitive_slots(program: ExecProgram) -> set[int]:
    """The values whose readers may depend on the sign of a zero imaginary part."""
    sensitive: set[int] = set()
    for step in reversed(program.instructions):
        harmless = step.op.conjugation is Conjugation.SAME or (
            (isinstance(step.op, Conj) or _passes(step.op))
            and sensitive.isdisjoint(step.output_slots)
        )
        if not harmless:
            sensitive.update(step.input_slots)
    return sensitive
