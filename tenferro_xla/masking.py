"""Programs that give the same results when some of their sizes are rounded up.

An axis whose extent is such a size holds, after its true elements, elements that mean nothing: its
*padding*. A program is safe if nothing that is kept depends on the padding. Elementwise ops mix no
elements; sums, products and contractions over the axis do, so that the padding is replaced there
by what changes nothing; other ops that mix elements along the axis are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from tenferro.errors import PadSafetyError
from tenferro.exec_ir import Array, ExecBuilder, ExecInstruction, ExecOp, ExecProgram, with_last_use
from tenferro.ops import BroadcastInDim, Compare, Constant, Iota, Select
from tenferro.shape import INT64, DType, Exact, Leaf, TensorMeta, leaves, symbol

Axes = dict[int, Leaf]
"""The axes of a value that have padding, and the sizes they have without."""


@dataclass(frozen=True, slots=True)
class Masked:
    """A program that may be run at sizes larger than the true ones.

    Attributes:
        program: it takes, after the inputs of the original, the true size of each of `sizes` as a
            rank-0 int64.
        sizes: the symbols that may be rounded up, in the order of those inputs.
        inputs: for each input of the original, its axes with padding, which must be zeros.
        outputs: for each output, its axes with padding, which means nothing.
    """

    program: ExecProgram
    sizes: tuple[Leaf, ...]
    inputs: tuple[Axes, ...]
    outputs: tuple[Axes, ...]


class MaskWriter:
    """Writes the masked program, instruction by instruction, as the rules say.

    Attributes:
        step: the instruction of the original that is being written.
    """

    def __init__(self, program: ExecProgram, rounded: Collection[Leaf]) -> None:
        self.builder = ExecBuilder()
        self.rounded = frozenset(rounded)
        self._metas = dict(zip(program.input_slots, program.input_metas, strict=True))
        self.inputs = tuple(self.axes(meta, "input") for meta in program.input_metas)
        self._slots = {
            slot: self.builder.input(meta)
            for slot, meta in zip(program.input_slots, program.input_metas, strict=True)
        }
        self._zeros = set(program.input_slots)
        self.sizes = tuple(sorted(rounded, key=str))
        self._sizes = {leaf: self.builder.input(TensorMeta(INT64, ())) for leaf in self.sizes}
        self._within: dict[Leaf, int] = {}
        self.step: ExecInstruction

    # What rules ask.

    @property
    def op(self) -> ExecOp:
        """The op that is being written."""
        return self.step.op

    def meta(self, operand: int) -> TensorMeta:
        """The type of an operand."""
        return self._metas[self.step.input_slots[operand]]

    def padded(self, operand: int) -> Axes:
        """The axes of an operand that have padding."""
        return self.axes(self.meta(operand), self.op.name)

    def has_zeros(self, operand: int) -> bool:
        """Whether all padding of an operand is known to be zero."""
        return self.step.input_slots[operand] in self._zeros

    def axes(self, meta: TensorMeta, name: str) -> Axes:
        """The axes of a type that have padding.

        Raises:
            PadSafetyError: an extent is computed from a size that is rounded up.
        """
        found: Axes = {}
        for axis, extent in enumerate(meta.extents):
            dim = extent.dim if isinstance(extent, Exact) else None
            if dim is None:
                leaf = next(iter(self.rounded))
                raise PadSafetyError(name, str(leaf), f"data decide a size of {meta}")
            for leaf in leaves(dim) & self.rounded:
                if dim != symbol(leaf):
                    reason = f"axis {axis} of {meta} is computed from it"
                    raise PadSafetyError(name, str(leaf), reason)
                found[axis] = leaf
        return found

    def refuse(self, leaf: Leaf, reason: str) -> PadSafetyError:
        """The error that names the op."""
        return PadSafetyError(self.op.name, str(leaf), reason)

    # What rules write.

    def operand(self, number: int) -> int:
        """An operand, padding and all."""
        return self._slots[self.step.input_slots[number]]

    def operands(self) -> list[int]:
        """All operands."""
        return [self._slots[slot] for slot in self.step.input_slots]

    def masked(self, number: int, fill: Array) -> int:
        """An operand with `fill` for its padding."""
        meta, slot = self.meta(number), self.operand(number)
        shape = meta.exact_shape(self.op.name)
        repeated = self._add(BroadcastInDim(shape, ()), self._add(Constant(fill)))
        for axis, leaf in self.padded(number).items():
            within = self._add(BroadcastInDim(shape, (axis,)), self._is_within(leaf))
            slot = self._add(Select(), within, slot, repeated)
        return slot

    def zeroed(self, number: int) -> int:
        """An operand with zeros for its padding."""
        if self.has_zeros(number) or not self.padded(number):
            return self.operand(number)
        return self.masked(number, np.zeros((), self.meta(number).dtype))

    def true_size(self, leaf: Leaf) -> int:
        """The true size, as a rank-0 int64."""
        return self._sizes[leaf]

    def keep(self, *operands: int, zeros: bool = False) -> None:
        """The op itself, on these operands; `zeros` if the padding of its results is zero."""
        results = self.builder.add(self.op, operands, self.step.site)
        self.define(*results, zeros=zeros)

    def define(self, *results: int, zeros: bool = False) -> None:
        """Say what the results of the instruction are."""
        for slot, result, meta in zip(
            self.step.output_slots, results, self.step.output_metas, strict=True
        ):
            self._slots[slot] = result
            self._metas[slot] = meta
            self.axes(meta, self.op.name)
            if zeros:
                self._zeros.add(slot)

    # What the pass does.

    def is_touched(self) -> bool:
        """Whether the instruction has to do with a size that is rounded up."""
        metas = [*(self._metas[slot] for slot in self.step.input_slots), *self.step.output_metas]
        return bool(self.op.symbols() & self.rounded) or any(
            self.axes(meta, self.op.name) for meta in metas
        )

    def build(self, outputs: Sequence[int]) -> Masked:
        """The program, once every instruction has been written."""
        program = with_last_use(self.builder.build([self._slots[slot] for slot in outputs]))
        padded = tuple(self.axes(self._metas[slot], "output") for slot in outputs)
        return Masked(program, self.sizes, self.inputs, padded)

    def _is_within(self, leaf: Leaf) -> int:
        """For each place along an axis of that size whether it is one of the true elements."""
        if leaf not in self._within:
            size = symbol(leaf)
            end = self._add(BroadcastInDim((size,), ()), self._sizes[leaf])
            self._within[leaf] = self._add(Compare("LT"), self._add(Iota(INT64, size)), end)
        return self._within[leaf]

    def _add(self, op: ExecOp, *operands: int) -> int:
        return self.builder.add(op, operands)[0]


def lowest(dtype: DType) -> Array:
    """What is no larger than any number of the dtype."""
    return _end(dtype, -np.inf, "min")


def highest(dtype: DType) -> Array:
    """What is no smaller than any number of the dtype."""
    return _end(dtype, np.inf, "max")


def _end(dtype: DType, infinity: float, name: str) -> Array:
    if dtype.kind == "f":
        return np.asarray(infinity, dtype)
    if dtype.kind == "b":
        return np.asarray(name == "max")
    return np.asarray(getattr(np.iinfo(dtype), name), dtype)
