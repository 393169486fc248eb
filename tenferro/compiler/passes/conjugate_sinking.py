"""Conjugates moved towards the outputs, where they meet and cancel."""

from __future__ import annotations

import math

from tenferro.compiler.passes.protocol import Needs
from tenferro.compiler.slot_emitter import SlotEmitter
from tenferro.exec_ir import ExecInstruction, ExecProgram
from tenferro.ops import (
    CONJ,
    Abs,
    Add,
    BroadcastInDim,
    Conj,
    Constant,
    DotGeneral,
    Imag,
    Mul,
    Neg,
    Real,
    ReduceSum,
    Reshape,
    Sub,
    Transpose,
)

PASSING = (Add, BroadcastInDim, DotGeneral, Mul, Neg, ReduceSum, Reshape, Sub, Transpose)
"""Ops of which the conjugate is the op of the conjugates."""

CHEAP = 4
"""How many times smaller an operand must be to be conjugated in the place of the other one."""


class ConjugateSinking:
    """Computes `conj(f(x, y))` in the place of `f(conj(x), conj(y))`.

    A contraction of conjugates is the conjugate of the contraction: the gradient of a complex
    network, whose every step contracts with the conjugate of an operand, needs none but those of
    its results. Where only one operand is a conjugate the other is made one if it is much smaller,
    or a constant.
    """

    name = "conjugate_sinking"
    needs = Needs.RANKS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with fewer conjugates."""
        if not any(isinstance(step.op, Conj) for step in program.instructions):
            return program
        return _Sinking(program).run()


class _Sinking:
    def __init__(self, program: ExecProgram) -> None:
        self.program = program
        self.emitter = SlotEmitter(program)
        self.outputs = set(program.output_slots)
        self.conjugates: dict[int, int] = {}  # values that are conjugates, and what of
        self.whole: dict[int, int] = {}  # where those that somebody reads are themselves
        self.defined: set[int] = set()  # those that are themselves where they were

    def run(self) -> ExecProgram:
        for step in self.program.instructions:
            operands = self.emitter.begin(step)
            if not self._sinks(step, operands):
                self.emitter.keep(step, self._read(step, operands))
        return self.emitter.build()

    def _sinks(self, step: ExecInstruction, operands: tuple[int, ...]) -> bool:
        """Whether the step was written in another way."""
        held = [slot in self.conjugates for slot in step.input_slots]
        match step.op:
            case Conj() if step.dtype.kind == "c":
                if held[0]:
                    self.emitter.define(step, self.conjugates[step.input_slots[0]])
                else:
                    self._hold(step, operands[0])
            case Abs() | Real() if held[0]:
                value = self.emitter.emit(step.op, self.conjugates[step.input_slots[0]])
                self.emitter.define(step, value)
            case Imag() if held[0]:
                part = self.emitter.emit(step.op, self.conjugates[step.input_slots[0]])
                self.emitter.define(step, self.emitter.emit(Neg(), part))
            case op if isinstance(op, PASSING) and any(held) and self._pays(step, operands):
                sources = [
                    self.conjugates[slot] if is_held else self.emitter.emit(CONJ, operand)
                    for slot, is_held, operand in zip(step.input_slots, held, operands, strict=True)
                ]
                self._hold(step, self.emitter.emit(op, *sources))
            case _:
                return False
        return True

    def _hold(self, step: ExecInstruction, source: int) -> None:
        """Take note that the step's value is the conjugate of `source`."""
        (slot,) = step.output_slots
        self.conjugates[slot] = source
        if slot in self.outputs:
            self.defined.add(slot)
            self.emitter.define(step, *self.emitter.emit_all(CONJ, source))

    def _pays(self, step: ExecInstruction, operands: tuple[int, ...]) -> bool:
        """Whether to conjugate the operands that are not conjugates, and not those that are."""
        held = other = 0
        for slot, operand in zip(step.input_slots, operands, strict=True):
            if slot in self.conjugates:
                held += self._size(self.conjugates[slot])
            else:
                other += self._size(operand)
        return CHEAP * other <= held

    def _size(self, value: int) -> int:
        """How many numbers a kernel would conjugate; none of a constant."""
        made = self.emitter.producer(value)
        if made is not None and isinstance(made[0], Constant):
            return 0
        if made is not None and isinstance(made[0], BroadcastInDim):
            return self._size(made[1][0])
        shape = self.emitter.ctx.meta(value).static_shape
        return 1 << 20 if shape is None else math.prod(shape)

    def _read(self, step: ExecInstruction, operands: tuple[int, ...]) -> tuple[int, ...]:
        """The operands, conjugated where that has been put off."""
        return tuple(
            self._whole(slot) if slot in self.conjugates and slot not in self.defined else operand
            for slot, operand in zip(step.input_slots, operands, strict=True)
        )

    def _whole(self, slot: int) -> int:
        if slot not in self.whole:
            self.whole[slot] = self.emitter.emit_all(CONJ, self.conjugates[slot])[0]
        return self.whole[slot]
