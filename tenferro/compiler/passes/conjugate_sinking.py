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
from tenferro.shape import TensorMeta

PASSING = (Add, BroadcastInDim, DotGeneral, Mul, Neg, ReduceSum, Reshape, Sub, Transpose)
"""Ops of which the conjugate is the op of the conjugates."""

ARITHMETIC = (Add, DotGeneral, Mul, ReduceSum, Sub)
"""Those of them that may give a zero of another sign."""

LATE = 1 << 20
"""How many numbers a value of late size is taken to have."""

CHEAP = 4
"""How many times smaller an operand must be to be conjugated in the place of the other one."""

GROWTH = 32
"""How many times larger than its operands a result may be to be conjugated in their place."""


class ConjugateSinking:
    """Computes `conj(f(x, y))` in the place of `f(conj(x), conj(y))`.

    A contraction of conjugates is the conjugate of the contraction: the gradient of a complex
    network, whose every step contracts with the conjugate of an operand, needs none but those of
    its results. Where only one operand is a conjugate the other is made one if it is much smaller,
    or a constant.

    A sum that is zero has another sign then, and functions with a branch cut tell: conjugates are
    moved only where what becomes of them are linear combinations, products, real parts, absolute
    values and outputs.
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
        self.tells = _slots_whose_sign_tells(program)
        self.conjugates: dict[int, int] = {}  # values that are conjugates, and what of
        self.turned: dict[int, int] = {}  # conjugates that were emitted, by what they are of

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
                    self.conjugates[slot] if is_held else self._conj(operand)
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
            self.emitter.define(step, *self.emitter.emit_all(CONJ, source))
        else:
            self.emitter.omit()

    def _pays(self, step: ExecInstruction, operands: tuple[int, ...]) -> bool:
        """Whether to conjugate the operands that are not conjugates, and not those that are."""
        if step.output_slots[0] in self.tells and isinstance(step.op, ARITHMETIC):
            return False
        held = other = 0
        for slot, operand in zip(step.input_slots, operands, strict=True):
            if slot in self.conjugates:
                held += self._size(self.conjugates[slot])
            else:
                other += self._size(operand)
        return CHEAP * other <= held and _numbers(step.output_metas[0]) <= GROWTH * held

    def _size(self, value: int) -> int:
        """How many numbers a kernel would conjugate; none of a constant."""
        made = self.emitter.producer(value)
        while made is not None and isinstance(made[0], BroadcastInDim):
            (value,) = made[1]
            made = self.emitter.producer(value)
        if made is not None and isinstance(made[0], Constant):
            return 0
        return _numbers(self.emitter.ctx.meta(value))

    def _read(self, step: ExecInstruction, operands: tuple[int, ...]) -> tuple[int, ...]:
        """The operands, conjugated where that has been put off."""
        return tuple(
            self._conj(self.conjugates[slot])
            if slot in self.conjugates and slot not in self.outputs
            else operand
            for slot, operand in zip(step.input_slots, operands, strict=True)
        )

    def _conj(self, value: int) -> int:
        if value not in self.turned:
            self.turned[value] = self.emitter.emit(CONJ, value)
        return self.turned[value]


def _numbers(meta: TensorMeta) -> int:
    shape = meta.static_shape
    return LATE if shape is None else math.prod(shape)


def _slots_whose_sign_tells(program: ExecProgram) -> set[int]:
    """Values of which somebody may read the sign of a zero imaginary part."""
    tells: set[int] = set()
    for step in reversed(program.instructions):
        harmless = isinstance(step.op, (Abs, Real)) or (
            isinstance(step.op, (Conj, *PASSING)) and not tells.intersection(step.output_slots)
        )
        if not harmless:
            tells.update(step.input_slots)
    return tells
