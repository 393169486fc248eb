"""Sparsity: which results depend on which arguments."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from tenferro.core import GlobalOpKey, GlobalValKey, ResolvedView, active_operands, resolve_keys
from tenferro.ir import (
    ExecInstruction,
    ExecOp,
    ExecProgram,
    Known,
    NumpyArray,
    Reach,
    ShapeGuardContext,
    TensorMeta,
    dtype_kind,
    run,
)
from tenferro.ops import StdTensorOp
from tenferro.ops.control_flow import ControlOp
from tenferro.transforms.linear_part import LinearGraph
from tenferro.transforms.traced_tensor import CapturedArray

# Sparse patterns: which elements of a value depend on which elements of the arguments.

MOST_ENTRIES = 1 << 25
"""The largest number of entries of a pattern; one with more counts as dense."""


class TooDenseError(Exception):
    """A pattern has more entries than it may have. It does not leave this package."""


class Pattern:
    """Places in a matrix that may differ from zero.

    Args:
        entries: row · columns + column of each place, increasing.
        rows: number of rows.
        columns: number of columns.
        most: the largest number of places, also of patterns that are made of this one.
    """

    __slots__ = ("columns", "entries", "most", "rows")

    def __init__(
        self, entries: NumpyArray, rows: int, columns: int, most: int = MOST_ENTRIES
    ) -> None:
        if entries.size > most:
            raise TooDenseError
        self.entries, self.rows, self.columns, self.most = entries, rows, columns, most

    @classmethod
    def units(cls, count: int, first: int, columns: int, most: int = MOST_ENTRIES) -> Pattern:
        """Row i has its only place in column `first` + i."""
        numbers = np.arange(count)
        return cls(numbers * columns + first + numbers, count, columns, most)

    @classmethod
    def dense(cls, rows: int, columns: int) -> Pattern:
        """All places."""
        if rows * columns > MOST_ENTRIES:
            raise TooDenseError
        return cls(np.arange(rows * columns), rows, columns)

    @classmethod
    def union(cls, patterns: Sequence[Pattern], rows: int, columns: int) -> Pattern:
        """The places of any of the patterns, which have one shape."""
        first, *others = patterns or [cls(np.zeros(0, np.int64), rows, columns)]
        if all(other is first for other in others):
            return first  # as of pointwise ops one after another
        entries = np.unique(np.concatenate([pattern.entries for pattern in patterns]))
        return cls(entries, rows, columns, first.most)

    @classmethod
    def stacked(cls, patterns: Sequence[Pattern], columns: int) -> Pattern:
        """The rows of all patterns, one pattern after the other."""
        starts = np.cumsum([0, *(pattern.rows for pattern in patterns)])
        entries = [
            pattern.entries + start * columns
            for pattern, start in zip(patterns, starts[:-1], strict=True)
        ]
        joined = np.concatenate(entries) if entries else np.zeros(0, np.int64)
        return cls(joined, int(starts[-1]), columns)

    @property
    def is_identity(self) -> bool:
        """Whether the places are those of the identity matrix."""
        places = self.columns + 1
        return self.rows == self.columns and np.array_equal(
            self.entries, np.arange(self.rows) * places
        )

    @property
    def row_numbers(self) -> NumpyArray:
        """The row of each place."""
        return self.entries // max(self.columns, 1)

    @property
    def column_numbers(self) -> NumpyArray:
        """The column of each place."""
        return self.entries % max(self.columns, 1)

    @property
    def transposed(self) -> Pattern:
        """The pattern of the transposed matrix."""
        entries = np.sort(self.column_numbers * self.rows + self.row_numbers)
        return Pattern(entries, self.columns, self.rows)

    def blocks(self, inputs: Sequence[TensorMeta], outputs: Sequence[TensorMeta]) -> Blocks:
        """For each output and each input the places of that block, and its pattern.

        The first are positions among the places of the whole pattern.
        """
        rows, columns = self.row_numbers, self.column_numbers
        row_ends = np.cumsum([0, *(meta.known_size for meta in outputs)])
        column_ends = np.cumsum([0, *(meta.known_size for meta in inputs)])
        blocks: Blocks = []
        for top, bottom in itertools.pairwise(row_ends.tolist()):
            blocks.append([])
            for left, right in itertools.pairwise(column_ends.tolist()):
                inside = (top <= rows) & (rows < bottom) & (left <= columns) & (columns < right)
                chosen = np.flatnonzero(inside)
                entries = (rows[chosen] - top) * (right - left) + columns[chosen] - left
                blocks[-1].append((chosen, Pattern(entries, bottom - top, right - left)))
        return blocks

    def starts(self) -> NumpyArray:
        """For each row the position of its first place, and at the end the number of places."""
        return np.searchsorted(self.entries, np.arange(self.rows + 1) * self.columns)

    def through(self, reach: Reach | None, rows: int) -> Pattern:
        """The pattern of a value of `rows` elements that depends on this one as `reach` says."""
        if reach is None:
            return self._everywhere(rows)
        grouped = self
        if reach.groups is not None:
            count = rows if reach.read is None else int(reach.groups.max(initial=-1)) + 1
            grouped = self._grouped(reach.groups, count)
        return grouped if reach.read is None else grouped._rows(reach.read)

    def _everywhere(self, rows: int) -> Pattern:
        columns = np.unique(self.column_numbers)
        if rows * columns.size > self.most:
            raise TooDenseError
        entries = np.arange(rows)[:, None] * self.columns + columns
        return Pattern(entries.reshape(-1), rows, self.columns, self.most)

    def _grouped(self, groups: NumpyArray, count: int) -> Pattern:
        """For each of `count` groups the places of its rows."""
        target = groups[self.row_numbers]
        grouped = target >= 0
        entries = np.unique(target[grouped] * self.columns + self.column_numbers[grouped])
        return Pattern(entries, count, self.columns, self.most)

    def _rows(self, read: NumpyArray) -> Pattern:
        """For each number in `read` that row; an empty one for -1 and numbers of no row."""
        starts = self.starts()
        inside = (read >= 0) & (read < self.rows)
        rows = np.where(inside, read, 0)
        starts = starts if self.rows else np.zeros(2, np.int64)
        counts = np.where(inside, (starts[1:] - starts[:-1])[rows], 0)
        if counts.sum() > self.most:
            raise TooDenseError
        first = np.repeat(starts[rows] - np.cumsum(counts) + counts, counts)
        columns = self.column_numbers[first + np.arange(int(counts.sum()))]
        row = np.repeat(np.arange(read.size), counts)
        return Pattern(row * self.columns + columns, read.size, self.columns, self.most)


Blocks = list[list[tuple[NumpyArray, Pattern]]]
"""For each output and each input the positions of its places in a pattern, and its own pattern."""


# The pattern of a linear part, from what each of its ops reads.

MOST_STEPS = 10_000
"""The largest number of instructions that the iterations of a loop run which is followed; each
element of another loop depends on all."""

MOST_PROGRAMS = 16
"""The largest number of programs inside an op that is followed iteration by iteration."""

Key = GlobalValKey
Metas = Sequence[TensorMeta]


def pattern_of(
    linear: LinearGraph,
    inputs: Metas,
    outputs: Metas,
    ctx: ShapeGuardContext,
    most: int = MOST_ENTRIES,
    steps: int = MOST_STEPS,
) -> Pattern:
    """Which elements of the outputs depend on which of the inputs, all numbered one after another.

    An op that does not say what it reads makes each element depend on all, and so does an index
    that is not known while tracing.

    A loop of a known number of iterations is followed one by one, up to so many `steps`.
    """
    return _Propagation(linear, inputs, outputs, ctx, most, steps).run()


@dataclass(frozen=True, slots=True)
class Depending:
    """A value by its type and what it depends on.

    Attributes:
        pattern: None if it depends on nothing.
        value: the value, if it is an integer or bool that is known.
    """

    meta: TensorMeta
    pattern: Pattern | None
    value: NumpyArray | None = None


class PatternInterpreter:
    """Runs programs on patterns, for ops that hold programs."""

    def __init__(self, columns: int, steps: int) -> None:
        self._columns, self._most_steps = columns, steps

    def results(
        self, op: ExecOp, operands: Sequence[Depending], metas: Metas, known: Known
    ) -> list[Depending]:
        """The results of an op, of types `metas`."""
        if any(meta.static_shape is None for meta in (*metas, *(each.meta for each in operands))):
            raise TooDenseError  # rows are elements, whose number is not known
        if all(operand.pattern is None for operand in operands):
            return [Depending(meta, None) for meta in metas]
        if isinstance(op, ControlOp) and _steps(op) <= self._most_steps:
            results = op.interpreted(operands, self)
            if results is not None:
                return results
        types = [operand.meta for operand in operands]
        return [
            Depending(meta, self._union(operands, meta, op, types, known, len(metas)))
            for meta in metas
        ]

    def run(self, program: ExecProgram, values: Sequence[Depending]) -> list[Depending]:
        """The outputs of a program."""

        def handled(step: ExecInstruction, operands: Sequence[Depending]) -> list[Depending]:
            known = [operand.value for operand in operands if operand.value is not None]
            is_index = all(dtype_kind(meta.dtype) in "iub" for meta in step.output_metas)
            if is_index and len(known) == len(operands):
                results = zip(step.output_metas, step.op.evaluate(known), strict=True)
                return [Depending(meta, None, value) for meta, value in results]
            return self.results(
                step.op, operands, step.output_metas, lambda place: operands[place].value
            )

        return run(program, values, handled)

    def entry(self, value: Depending, number: int) -> Depending:
        """An entry along the first axis."""
        meta = value.meta.with_extents(value.meta.extents[1:])
        if value.pattern is None:
            return Depending(meta, None)
        size = meta.known_size
        read = np.arange(number * size, (number + 1) * size)
        return Depending(meta, value.pattern.through(Reach(read=read), size))

    def stacked(self, values: Sequence[Depending]) -> Depending:
        """The values along a new first axis."""
        inner = values[0].meta
        meta = TensorMeta.of(inner.dtype, (len(values), *(inner.static_shape or ())))
        if all(value.pattern is None for value in values):
            return Depending(meta, None)
        nothing = np.zeros(0, np.int64)
        empty = Pattern(nothing, inner.known_size, self._columns)
        rows = [empty if value.pattern is None else value.pattern for value in values]
        return Depending(meta, Pattern.stacked(rows, self._columns))

    def either(self, values: Sequence[Depending]) -> Depending:
        """What may be any of the values."""
        meta = values[0].meta
        patterns = [value.pattern for value in values if value.pattern is not None]
        if not patterns:
            return Depending(meta, None)
        return Depending(meta, Pattern.union(patterns, meta.known_size, self._columns))

    def _union(
        self,
        operands: Sequence[Depending],
        meta: TensorMeta,
        op: ExecOp,
        types: Metas,
        known: Known,
        count: int,
    ) -> Pattern:
        """What a result depends on through any of the operands."""
        reached = [
            operand.pattern.through(
                op.reach(place, types, known) if count == 1 else None, meta.known_size
            )
            for place, operand in enumerate(operands)
            if operand.pattern is not None
        ]
        return Pattern.union(reached, meta.known_size, self._columns)


class _Propagation:
    def __init__(
        self,
        linear: LinearGraph,
        inputs: Metas,
        outputs: Metas,
        ctx: ShapeGuardContext,
        most: int,
        steps: int,
    ) -> None:
        self._linear, self._outputs, self._ctx = linear, outputs, ctx
        self._known: dict[Key, NumpyArray | None] = {}
        sizes = [meta.known_size for meta in inputs]
        self._columns = sum(sizes)
        self._interpreter = PatternInterpreter(self._columns, steps)
        starts = np.cumsum([0, *sizes]).tolist()
        self._patterns: dict[Key, Pattern | None] = {
            key: Pattern.units(size, start, self._columns, most)
            for key, size, start in zip(linear.input_keys, sizes, starts, strict=False)
        }

    def run(self) -> Pattern:
        """The pattern of all outputs."""
        for node in self._linear.live_nodes():
            self._visit(node)
        nothing = np.zeros(0, np.int64)
        rows: list[Pattern] = []
        for key, meta in zip(self._linear.output_keys, self._outputs, strict=True):
            pattern = None if key is None else self._patterns[key]
            empty = Pattern(nothing, meta.known_size, self._columns)
            rows.append(empty if pattern is None else pattern)
        return Pattern.stacked(rows, self._columns)

    def _visit(self, node: GlobalOpKey) -> None:
        op: StdTensorOp = node.primitive  # type: ignore[assignment]  # the fragment holds no others
        active = set(active_operands(node))
        operands = [
            Depending(self._ctx.meta(key), self._patterns[key] if key in active else None)
            for key in node.inputs
        ]
        metas = [self._ctx.meta(key) for key in node.outputs]
        results = self._interpreter.results(
            op, operands, metas, lambda i: self._value(node.inputs[i])
        )
        for key, result in zip(node.outputs, results, strict=True):
            self._patterns[key] = result.pattern

    def _value(self, key: Key) -> NumpyArray | None:
        """The value, if it is made of constants and captured arrays; None if it is not known."""
        if key not in self._known:
            view: ResolvedView[StdTensorOp] = resolve_keys()
            ops, met = view.topo_order([key], leaves=tuple(self._known))
            for source in met:
                captured = source.key if isinstance(source.key, CapturedArray) else None
                self._known[source] = None if captured is None else captured.tensor.numpy()
            for op in ops:
                operands = [self._known[operand] for operand in op.inputs]
                known = [operand for operand in operands if operand is not None]
                whole = len(known) == len(operands)
                results = op.primitive.evaluate(known) if whole else [None] * len(op.outputs)
                self._known.update(zip(op.outputs, results, strict=True))
        return self._known[key]


def _steps(op: ControlOp) -> int:
    """How many instructions its iterations run, those of loops inside included.

    Programs that are deep inside of others are not followed.
    """
    programs = [cast(ExecProgram, body) for body in op.bodies.values()]
    if sum(len(program.walk()) for program in programs) > MOST_PROGRAMS:
        return MOST_STEPS + 1
    inside = sum(_steps(inner) for program in programs for inner in program.ops_of(ControlOp))
    return op.iterations * (sum(len(program.instructions) for program in programs) + inside)
