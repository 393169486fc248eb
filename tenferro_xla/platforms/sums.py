"""Sums that a library of XLA on the CPU computes wrongly, and that this module keeps from it.

XLA hands a sum of many numbers to the library, with what the operand is made of. The library makes
two mistakes:

* Two paddings of one value, which it computes first, get one memory, and the one overwrites the
  other.
* A sum along several axes is divided among threads. If an operand is repeated along one of these
  axes, the threads add to one memory without waiting for one another. The result is wrong in some
  calls and right in others.

A value is *repeated* along an axis, or along a factor of its size, if nothing in it varies there:
`tile` repeats along the first factor of an axis, `repeat` along the second one.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tenferro.compiler import Pass
from tenferro.ir import ExecInstruction, ExecProgram, Rewriter, TensorMeta, dtype_kind, float_limits
from tenferro.ops import (
    ADD,
    MUL,
    BroadcastInDim,
    Concatenate,
    Pad,
    ReduceMax,
    ReduceMin,
    ReduceNorm,
    ReduceSum,
    Reshape,
    Reverse,
    Slice,
    Transpose,
    full,
)
from tenferro_xla.platforms.barriers import LIBRARY, Fuse, followed

__all__ = ["SeparatePaddings", "SingleSums", "sums_repeated"]


@dataclass(frozen=True)
class SeparatePaddings(Pass):
    """Keeps what is made of several paddings apart from a sum over it.

    The library does not read a value that is rounded, even to its own precision. So it reads the
    paddings from memory.
    """

    looks_for = (Pad,)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with a `Fuse` after what is summed of two paddings and more."""
        paddings: dict[int, int] = {}
        summed: set[int] = set()
        for step, meta in program.results():
            op, found = step.op, sum(paddings.get(slot, 0) for slot in step.input_slots)
            if isinstance(op, ReduceSum) and found > 1 and dtype_kind(meta.dtype) == "f":
                summed.update(step.input_slots)
            elif op.inlined and not isinstance(op, Fuse):
                paddings[step.output_slots[0]] = min(2, found + isinstance(op, Pad))
        return followed(program, summed, Fuse()) if summed else program


Factors = tuple[tuple[int, bool], ...]
"""The size of an axis as a product, and whether the value is repeated along each factor."""
Axes = tuple[Factors, ...]


@dataclass(frozen=True)
class SingleSums(Pass):
    """Sums one of the elements that are repeated along summed axes, times how often they are.

    The others are cut away before the sum, and nothing is computed for them. What is concatenated
    of values that are repeated along its axis is summed part by part, as XLA would sum it.
    """

    looks_for = (ReduceSum,)

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program without repeated elements in its sums, but for those of `sums_repeated`."""
        if not program.has_op(BroadcastInDim):
            return program
        sums = _Sums(program)
        if not any(sums.are_exact(step) for step in program.steps_of(ReduceSum)):
            return program
        rewriter = Rewriter(program)

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> int | None:
            if not isinstance(step.op, ReduceSum) or not sums.are_exact(step):
                return None
            parts = sums.parts(step)
            if len(parts) > 1:
                made = rewriter.producer(operands[0])
                assert made is not None, "a concatenation"
                operands = made[1]
            terms = [
                _summed_once(rewriter, step.op, operand, sums.factors.get(part))
                for operand, part in zip(operands, parts, strict=True)
            ]
            return functools.reduce(lambda one, other: rewriter.emit(ADD, one, other), terms)

        return rewriter.run(rule)


def sums_repeated(program: ExecProgram) -> bool:
    """Whether XLA may sum many numbers, or their squares, along axes that repeat them.

    The program is one behind `SingleSums`, which leaves norms, and sums of which the dtype may not
    have the number of times; others are not looked at again.
    """
    for each in program.walk():
        if not each.has_op(BroadcastInDim):
            continue
        metas = each.slot_metas()
        steps = each.steps_of(ReduceNorm)
        steps += [step for step in each.steps_of(ReduceSum) if _may_be_left(step, metas)]
        if steps and any(map(_Sums(each).are_repeated, steps)):
            return True
    return False


def _may_be_left(step: ExecInstruction, metas: Sequence[TensorMeta | None]) -> bool:
    """Whether a number may occur more often than the dtype of a sum has numbers in a row."""
    meta = metas[step.input_slots[0]]
    return (
        meta is not None and dtype_kind(meta.dtype) == "f" and meta.known_size > _most_times(meta)
    )


def _most_times(meta: TensorMeta) -> int:
    """Up to which number the floating-point dtype has all integers."""
    return 1 << (int(float_limits(meta.dtype).nmant) + 1)


class _Sums:
    """What the sums of a program add up.

    A `BroadcastInDim` repeats values. They stay repeated where they are the operands of elementwise
    ops, a `Transpose`, `Reshape`, `Reverse`, `Concatenate`, `Slice` or `Pad`, and, along the axes
    that are left, of a `ReduceSum`, `ReduceMax` or `ReduceMin`.

    Attributes:
        factors: the axes of each value that is repeated along one.
    """

    def __init__(self, program: ExecProgram) -> None:
        self.factors: dict[int, Axes] = {}
        self._metas = program.slot_metas()
        self._makers = program.makers()
        for step, meta in program.results():
            if meta.static_shape is None or len(step.output_slots) != 1:
                continue
            axes = self._result_axes(step, meta.static_shape)
            if axes is not None and any(many for axis in axes for _, many in axis):
                self.factors[step.output_slots[0]] = axes

    def parts(self, step: ExecInstruction) -> tuple[int, ...]:
        """What a sum adds up: its operand, or what that is concatenated of, if it is repeated."""
        (slot,) = step.input_slots
        maker = self._makers.get(slot)
        if maker is not None and isinstance(maker.op, Concatenate):
            axis = maker.op.axis
            summed = axis in _axes_of(step)
            if summed and any(self._is_repeated(part, axis) for part in maker.input_slots):
                return maker.input_slots
        return (slot,)

    def are_repeated(self, step: ExecInstruction) -> bool:
        """Whether a sum of many real numbers adds up the same ones several times."""
        return self._most(step) > 1

    def are_exact(self, step: ExecInstruction) -> bool:
        """Whether, in addition, the dtype has the number of times."""
        meta = self._metas[step.input_slots[0]]
        return meta is not None and 1 < self._most(step) <= _most_times(meta)

    def _most(self, step: ExecInstruction) -> int:
        meta = self._metas[step.input_slots[0]]
        if meta is None or dtype_kind(meta.dtype) != "f" or meta.known_size < LIBRARY:
            return 0
        found = [self.factors.get(part) for part in self.parts(step) if not self._is_number(part)]
        return max([_times(each, _axes_of(step)) for each in found], default=1)

    def _is_repeated(self, slot: int, axis: int) -> bool:
        axes = None if self._is_number(slot) else self.factors.get(slot)
        return axes is not None and any(many for _, many in axes[axis])

    def _is_number(self, slot: int) -> bool:
        """Whether a value repeats one number, of which XLA makes a product itself."""
        maker = self._makers.get(slot)
        return maker is not None and isinstance(maker.op, BroadcastInDim) and not maker.op.dims

    def _result_axes(self, step: ExecInstruction, shape: Sequence[int]) -> Axes | None:
        """The axes of a result; None if it is repeated along none."""
        op, operands = step.op, [self._operand_axes(slot) for slot in step.input_slots]
        if isinstance(op, BroadcastInDim):
            axes: list[Factors] = [((size, True),) for size in shape]
            for axis, factors in zip(op.dims, operands[0], strict=True):
                axes[axis] = factors if _size(factors) == shape[axis] else axes[axis]
            return tuple(axes)
        if not any(slot in self.factors for slot in step.input_slots):
            return None
        if isinstance(op, Transpose):
            return tuple(operands[0][axis] for axis in op.perm)
        if isinstance(op, Reshape):
            return _regrouped(operands[0], shape)
        if isinstance(op, ReduceSum | ReduceMax | ReduceMin):
            return tuple(axis for at, axis in enumerate(operands[0]) if at not in op.axes)
        if isinstance(op, Pad):
            operands = operands[:1]
            inside = zip(op.low, op.high, op.interior, strict=True)
            same = [each == (0, 0, 0) for each in inside]
        elif isinstance(op, Slice | Reverse):
            # what is cut out of an axis along which nothing varies does not vary
            same = [
                len(factors) == 1 or _size(factors) == size
                for factors, size in zip(operands[0], shape, strict=True)
            ]
        elif isinstance(op, Concatenate) or (
            op.pointwise and all(len(axes) == len(shape) for axes in operands)
        ):
            same = [not isinstance(op, Concatenate) or at != op.axis for at in range(len(shape))]
        else:
            return None
        merged = zip(*operands, strict=True)
        return tuple(
            _resized(_common(factors), size) if is_same else ((size, False),)
            for factors, size, is_same in zip(merged, shape, same, strict=True)
        )

    def _operand_axes(self, slot: int) -> Axes:
        known, meta = self.factors.get(slot), self._metas[slot]
        if known is not None or meta is None:
            return known or ()
        return tuple(((size, False),) for size in meta.static_shape or ())


def _axes_of(step: ExecInstruction) -> tuple[int, ...]:
    assert isinstance(step.op, ReduceSum | ReduceNorm)
    return step.op.axes


def _size(factors: Factors) -> int:
    return prod([size for size, _ in factors])


def _resized(factors: Factors, size: int) -> Factors:
    return factors if _size(factors) == size else ((size, factors[0][1]),)


def _times(axes: Axes | None, summed: Sequence[int]) -> int:
    """How often each number occurs along summed axes."""
    if axes is None:
        return 1
    return prod([size for axis in summed for size, many in axes[axis] if many])


def _common(axes: Sequence[Factors]) -> Factors:
    """The factors along which values are repeated together, of axes of one size."""
    size = _size(axes[0])
    cuts = {size} - {0, 1}
    for factors in axes:
        cut = 1
        for each, _ in factors:
            cut *= each
            cuts.add(cut)
    found: list[tuple[int, bool]] = []
    last = 1
    for cut in sorted(cuts - {0, 1}):
        if cut % last:
            return ((size, False),)
        many = all(_is_many(factors, last, cut) for factors in axes)
        found.append((cut // last, many))
        last = cut
    return tuple(found) if found and size else ((size, False),)


def _is_many(factors: Factors, start: int, end: int) -> bool:
    """Whether an axis is repeated along the factor between two products of its first factors."""
    cut = 1
    for size, many in factors:
        if cut <= start and end <= cut * size:
            return many
        cut *= size
    return False


def _regrouped(axes: Axes, shape: Sequence[int]) -> Axes | None:
    """The axes of a reshaped value; None if a factor lies across two of them."""
    waiting = [each for axis in axes for each in axis if each[0] != 1][::-1]
    found: list[Factors] = []
    for size in shape:
        left, factors = size, list[tuple[int, bool]]()
        while left > 1 and waiting:
            factor, many = waiting.pop()
            if left % factor == 0:
                factors.append((factor, many))
                left //= factor
            elif factor % left == 0:
                factors.append((left, many))
                waiting.append((factor // left, many))
                left = 1
            else:
                return None
        if left != 1:
            return None
        found.append(tuple(factors) or ((1, False),))
    return tuple(found)


def _summed_once(at: Rewriter, op: ReduceSum, slot: int, axes: Axes | None) -> int:
    """A sum of one of the elements that are repeated, times how often they are."""
    times = _times(axes, op.axes)
    if axes is None or times <= 1:
        return at.emit(op, slot)
    shape: list[int] = []
    limits: list[int] = []
    summed: list[int] = []
    for axis, factors in enumerate(axes):
        for size, many in factors if axis in op.axes else ((_size(factors), False),):
            summed += [len(shape)] if axis in op.axes else []
            shape.append(size)
            limits.append(1 if many else size)
    value = slot if len(shape) == len(axes) else at.emit(Reshape(tuple(shape)), slot)
    value = at.emit(Slice((0,) * len(shape), tuple(limits), (1,) * len(shape)), value)
    value = at.emit(ReduceSum(tuple(summed)), value)
    return at.emit(MUL, value, full(at, times, at.ctx.meta(value)))
