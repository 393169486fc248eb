"""Sizes rounded up to buckets, padding masked.

An axis whose extent is such a size holds, after its true elements, elements without a meaning: its
*padding*. A program is safe if no true element of its results depends on the padding. Each op says
how it is written then (`ExecOp.masked`). Elementwise ops do not mix elements. Sums, products and
contractions over the axis do, so their padding is replaced by the neutral element. A program with
an op that cannot be masked is refused.
"""

from __future__ import annotations

import bisect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tenferro.compiler.passes import Pass, run_passes
from tenferro.errors import BindingError, ConfigError, PadSafetyError
from tenferro.ir import (
    INT64,
    Exact,
    ExecInstruction,
    ExecOp,
    ExecProgram,
    Leaf,
    NumpyArray,
    Rewriter,
    SymDim,
    TensorMeta,
    leaves,
    symbol,
    with_last_use,
)
from tenferro.ops import BroadcastInDim, Compare, Constant, Iota, Select

__all__ = ["Axes", "Buckets", "MaskPadding", "PaddedProgram", "SizeRounding", "mask_program"]


# Rounding sizes up, so that one executable serves many sizes.

SizeRounding = Literal["powers_of_two"] | Sequence[int]


class Buckets:
    """For symbols, by name, the sizes to which theirs are rounded up.

    A rounding is "powers_of_two", or an increasing sequence of sizes.

    Raises:
        ConfigError: a rounding is neither of these, or `roundings` is not a mapping.

    >>> buckets = Buckets({"n": "powers_of_two", "m": (10, 100)})
    >>> [buckets.size(SymDim("n"), size) for size in (1, 5, 8)], buckets.size(SymDim("m"), 11)
    ([1, 8, 8], 100)
    """

    def __init__(self, roundings: Mapping[str, SizeRounding]) -> None:
        if not isinstance(roundings, Mapping):
            raise ConfigError(
                f"bucketing: takes a mapping from names of sizes, 'auto' or None, got "
                f'{roundings!r}; write bucketing={{"n": "powers_of_two"}}'
            )
        self._sizes: dict[str, tuple[int, ...] | None] = {}
        for name, rounding in roundings.items():
            if not isinstance(name, str):
                raise ConfigError(f"bucketing: {name!r} is not a name of a size")
            self._sizes[name] = None if rounding == "powers_of_two" else _increasing(name, rounding)

    def rounded(self, sizes: Mapping[Leaf, int]) -> frozenset[Leaf]:
        """The symbols whose sizes are rounded up."""
        return frozenset(
            leaf for leaf in sizes if isinstance(leaf, SymDim) and leaf.name in self._sizes
        )

    def size(self, leaf: Leaf, size: int) -> int:
        """The size that `size` is rounded up to.

        Raises:
            BindingError: the size is larger than the largest bucket.
        """
        known = self._sizes[str(leaf)]
        if known is None:
            return 1 << max(size - 1, 0).bit_length()
        place = bisect.bisect_left(known, size)
        if place == len(known):
            raise BindingError(
                f"run: {leaf} is {size}, more than its largest bucket {known[-1]}; add a larger one"
            )
        return known[place]

    def __bool__(self) -> bool:
        return bool(self._sizes)


def _increasing(name: str, rounding: object) -> tuple[int, ...]:
    sizes = tuple(rounding) if isinstance(rounding, Sequence) else ()
    whole = all(isinstance(size, int) and not isinstance(size, bool) for size in sizes)
    if not sizes or not whole or sizes[0] < 0 or list(sizes) != sorted(set(sizes)):
        raise ConfigError(
            f"bucketing: {name!r} is rounded to {rounding!r}; give 'powers_of_two', or sizes that "
            "increase, such as (64, 128)"
        )
    return sizes


# Programs that give the same results when some of their sizes are rounded up.

Axes = dict[int, Leaf]
"""The axes of a value that have padding, and their true sizes."""


@dataclass(frozen=True, slots=True)
class PaddedProgram:
    """A program that may be run at sizes larger than the true ones.

    Attributes:
        program: it takes, after the inputs of the original, the true size of each of `sizes` as a
            rank-0 int64.
        sizes: the symbols that may be rounded up, in the order of those inputs.
        inputs: for each input of the original, its axes with padding, which must be zeros.
        outputs: for each output, its axes with padding; the elements there have no meaning.
    """

    program: ExecProgram
    sizes: tuple[Leaf, ...]
    inputs: tuple[Axes, ...]
    outputs: tuple[Axes, ...]


def mask_program(program: ExecProgram, rounded: Collection[Leaf]) -> PaddedProgram:
    """The program with its padding masked where it would be read.

    Raises:
        PadSafetyError: an op would read padding, or cannot be shown not to.

    >>> from tenferro.compiler import parse
    >>> from tenferro.shape import SymDim
    >>> total = '''exec_program(%0: f64[n]) {
    ...   %1: f64[n] = cosine %0!
    ...   %2: f64[] = reduce_sum[axes=(0,)] %1!
    ...   return %2
    ... }'''
    >>> print(mask_program(parse(total), [SymDim("n")]).program)
    exec_program(%0: f64[n], %3: i64[]) {
      %1: f64[n] = cosine %0!
      %4: f64[] = constant[value=0.0, dtype=f64]
      %5: f64[n] = broadcast_in_dim[shape=(n,), dims=()] %4!
      %6: i64[n] = broadcast_in_dim[shape=(n,), dims=()] %3!
      %7: i64[n] = iota[dtype=i64, size=n]
      %8: bool[n] = compare[direction='LT'] %7!, %6!
      %9: bool[n] = broadcast_in_dim[shape=(n,), dims=(0,)] %8!
      %10: f64[n] = select %9!, %1!, %5!
      %2: f64[] = reduce_sum[axes=(0,)] %10!
      return %2
    }
    """
    masking = MaskPadding(tuple(sorted(rounded, key=str)))
    masked = with_last_use(run_passes(program, [masking]))
    inputs = tuple(padded_axes(meta, masking.sizes, "input") for meta in program.input_metas)
    outputs = tuple(padded_axes(meta, masking.sizes, "output") for meta in masked.output_metas)
    return PaddedProgram(masked, masking.sizes, inputs, outputs)


@dataclass(frozen=True)
class MaskPadding(Pass):
    """Replaces padding where an op would read it; the true sizes become inputs, in order.

    Attributes:
        sizes: the symbols whose sizes are rounded up.
    """

    sizes: tuple[Leaf, ...]

    refuses = True
    enters_bodies = False  # an op that holds programs says itself whether it is safe
    keeps_types = False

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with its padding masked.

        Raises:
            PadSafetyError: an op would read padding, or cannot be shown not to.
        """
        for meta in program.input_metas:
            padded_axes(meta, self.sizes, "input")
        masking = _Masking(program, self.sizes)
        return masking.rewriter.run(masking.rule)


def padded_axes(meta: TensorMeta, rounded: Collection[Leaf], name: str) -> Axes:
    """The axes of a type that have padding; `name` is for the error.

    Raises:
        PadSafetyError: an extent is computed from a size that is rounded up.
    """
    axes: Axes = {}
    for axis, extent in enumerate(meta.extents):
        if not isinstance(extent, Exact):
            raise PadSafetyError(name, str(min(rounded, key=str)), f"data decide a size of {meta}")
        for leaf in leaves(extent.dim) & set(rounded):
            if extent.dim != symbol(leaf):
                raise PadSafetyError(name, str(leaf), f"axis {axis} of {meta} is computed from it")
            axes[axis] = leaf
    return axes


class _Masking:
    """Writes the masked program, and is the `MaskSite` of each instruction in turn."""

    def __init__(self, program: ExecProgram, sizes: Sequence[Leaf]) -> None:
        self.rewriter = Rewriter(program)
        self.rounded = frozenset(sizes)
        self._sizes = {leaf: self.rewriter.input(TensorMeta(INT64, ())) for leaf in sizes}
        self._zeros: set[int] = set(program.input_slots)
        self._within: dict[Leaf, int] = {}
        self._step: ExecInstruction
        self._operands: tuple[int, ...] = ()
        self._results: tuple[int, ...] = ()

    def rule(self, step: ExecInstruction, operands: tuple[int, ...]) -> tuple[int, ...] | None:
        self._step, self._operands = step, operands
        metas = [*self.operand_metas, *self.result_metas]
        touched = [bool(self.padded_axes(meta)) for meta in metas]  # refuses computed sizes
        if not any(touched) and self.rounded.isdisjoint(step.op.symbols()):
            return None
        step.op.masked(self)
        return self._results

    # Questions of ops.

    @property
    def operand_metas(self) -> list[TensorMeta]:
        return [self.rewriter.ctx.meta(slot) for slot in self._operands]

    @property
    def result_metas(self) -> tuple[TensorMeta, ...]:
        return self._step.output_metas

    def padded(self, operand: int) -> Axes:
        """The axes of an operand that have padding."""
        return self.padded_axes(self.rewriter.ctx.meta(self._operands[operand]))

    def padded_axes(self, meta: TensorMeta) -> Axes:
        """The axes of a type that have padding."""
        return padded_axes(meta, self.rounded, self._step.op.name)

    def has_zeros(self, operand: int) -> bool:
        """Whether all padding of an operand is known to be zero."""
        return self._operands[operand] in self._zeros

    def refuse(self, reason: str, leaf: Leaf | None = None) -> PadSafetyError:
        """The error that names the op, and by default a size of the instruction."""
        if leaf is None:
            padded = (
                self.padded_axes(m).values() for m in (*self.operand_metas, *self.result_metas)
            )
            leaf = min((self._step.op.symbols() & self.rounded).union(*padded), key=str)
        return PadSafetyError(self._step.op.name, str(leaf), reason)

    # What ops write with.

    def operand(self, position: int) -> int:
        """An operand, padding included."""
        return self._operands[position]

    def filled(self, position: int, fill: NumpyArray) -> int:
        """An operand with `fill` for its padding."""
        value = self._operands[position]
        shape = self.rewriter.ctx.meta(value).exact_shape(self._step.op.name)
        repeated = self._add(BroadcastInDim(shape, ()), self._add(Constant(fill)))
        for axis, leaf in self.padded(position).items():
            within = self._add(BroadcastInDim(shape, (axis,)), self._is_within(leaf))
            value = self._add(Select(), within, value, repeated)
        return value

    def zeroed(self, position: int) -> int:
        """An operand with zeros for its padding."""
        if self.has_zeros(position) or not self.padded(position):
            return self.operand(position)
        dtype = self.operand_metas[position].dtype
        return self.filled(position, np.zeros((), dtype))

    def true_size(self, leaf: Leaf) -> int:
        """The true size, as a rank-0 int64."""
        return self._sizes[leaf]

    def keep(self, *operands: int, zeros: bool = False) -> None:
        """Write the op on these operands; `zeros` if the padding of its results is zero."""
        self.define(*self.rewriter.emit_all(self._step.op, *operands), zeros=zeros)

    def define(self, *results: int, zeros: bool = False) -> None:
        self._results = results
        if zeros:
            self._zeros.update(results)
            self._zeros.update(self._step.output_slots)

    def _is_within(self, leaf: Leaf) -> int:
        """For each place along an axis of that size whether it is one of the true elements."""
        if leaf not in self._within:
            size = symbol(leaf)
            end = self._add(BroadcastInDim((size,), ()), self._sizes[leaf])
            counter = self._add(Iota(INT64, size))
            self._within[leaf] = self._add(Compare("LT"), counter, end)
        return self._within[leaf]

    def _add(self, op: ExecOp, *operands: int) -> int:
        return self.rewriter.emit_all(op, *operands)[0]
