"""Sparse Jacobians: the pattern of a linear part, and one unit vector for each colour of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tenferro.autodiff import active_operands
from tenferro.chainrules import Emitter, V
from tenferro.compiler import JACOBIAN
from tenferro.computegraph import GlobalOpKey, GlobalValKey, ResolvedView, resolve_keys
from tenferro.derivatives.basis import Basis, one_hot
from tenferro.derivatives.colours import Colouring, coloured, star_coloured
from tenferro.derivatives.linear_part import Linear
from tenferro.derivatives.pattern import MOST_ENTRIES, Pattern, TooDenseError
from tenferro.exec_ir import Array
from tenferro.ops import (
    Constant,
    StdTensorOp,
)  # fmt: skip
from tenferro.shape import ShapeGuardContext, TensorMeta
from tenferro.traced import CapturedArray

Key = GlobalValKey
Metas = Sequence[TensorMeta]


def pattern_of(
    linear: Linear,
    inputs: Metas,
    outputs: Metas,
    ctx: ShapeGuardContext,
    most: int = MOST_ENTRIES,
) -> Pattern:
    """Which elements of the outputs depend on which of the inputs, all numbered one after another.

    An op that does not say what it reads makes each element depend on all, and so does an index
    that is not known while tracing.

    Raises:
        TooDenseError: the pattern, or one on the way, has more than `most` places.
    """
    return _Propagation(linear, inputs, outputs, ctx, most).run()


class _Propagation:
    """The patterns of the values of a linear part."""

    def __init__(
        self,
        linear: Linear,
        inputs: Metas,
        outputs: Metas,
        ctx: ShapeGuardContext,
        most: int,
    ) -> None:
        self._linear, self._outputs, self._ctx = linear, outputs, ctx
        self._known: dict[Key, Array | None] = {}
        sizes = [meta.known_size for meta in inputs]
        self._columns = sum(sizes)
        starts = np.cumsum([0, *sizes]).tolist()
        self._patterns = {
            key: Pattern.units(size, start, self._columns, most)
            for key, size, start in zip(linear.input_keys, sizes, starts, strict=False)
        }

    def run(self) -> Pattern:
        """The pattern of all outputs."""
        for node in self._linear.live_nodes():
            self._visit(node)
        nothing = np.zeros(0, np.int64)
        rows = [
            Pattern(nothing, meta.known_size, self._columns) if key is None else self._patterns[key]
            for key, meta in zip(self._linear.output_keys, self._outputs, strict=True)
        ]
        return Pattern.stacked(rows, self._columns)

    def _visit(self, node: GlobalOpKey) -> None:
        """The patterns of the outputs of an op."""
        op: StdTensorOp = node.primitive  # type: ignore[assignment]  # the fragment holds no others
        metas = [self._ctx.meta(key) for key in node.inputs]
        results = [self._ctx.meta(key) for key in node.outputs]
        if any(meta.static_shape is None for meta in (*metas, *results)):
            raise TooDenseError  # rows are elements, whose number is not known
        active = set(active_operands(node))
        for key, meta in zip(node.outputs, results, strict=True):
            reached = [
                self._patterns[operand].through(
                    op.reach(place, metas, lambda i: self._value(node.inputs[i]))
                    if len(results) == 1
                    else None,
                    meta.known_size,
                )
                for place, operand in enumerate(node.inputs)
                if operand in active
            ]
            self._patterns[key] = Pattern.union(reached, meta.known_size, self._columns)

    def _value(self, key: Key) -> Array | None:
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
                found = op.primitive.evaluate(known) if whole else [None] * len(op.outputs)
                self._known.update(zip(op.outputs, found, strict=True))
        return self._known[key]


@dataclass(frozen=True, slots=True)
class SparsePlan:
    """How a sparse Jacobian is computed.

    Attributes:
        forward: whether unit vectors are those of the arguments.
        pattern: its pattern.
        colouring: the colours of its columns; if not `forward`, of its rows.
    """

    forward: bool
    pattern: Pattern
    colouring: Colouring

    def __str__(self) -> str:
        mode = "forward" if self.forward else "reverse"
        return f"{mode} {self.colouring.count}"

    def in_words(self) -> str:
        """What a report says of it."""
        total = self.pattern.rows * self.pattern.columns
        return f"{JACOBIAN}{self} by colours ({self.pattern.entries.size} of {total} entries)"


def sparse_plans(
    pattern: Pattern, forward: bool, reverse: bool, symmetric: bool
) -> list[SparsePlan]:
    """Plans of the directions that are possible, those of few colours first."""
    plans: list[SparsePlan] = []
    if forward:
        plans.append(SparsePlan(True, pattern, coloured(pattern)))
    if reverse:
        by_row = coloured(pattern.transposed)
        rows, columns = pattern.row_numbers, pattern.column_numbers
        compressed = Colouring(by_row.colours, by_row.count, columns, by_row.colours[rows])
        plans.append(SparsePlan(False, pattern, compressed))
    if symmetric:
        both = Pattern.union([pattern, pattern.transposed], pattern.rows, pattern.columns)
        plans.append(SparsePlan(True, both, star_coloured(both)))
    return sorted(plans, key=lambda plan: plan.colouring.count)


class ColourBasis(Basis):
    """For each colour the sum of the unit vectors of that colour."""

    def __init__(self, metas: Metas, read: Sequence[bool], colouring: Colouring) -> None:
        super().__init__(metas, read)
        self.size = colouring.count
        ends = np.cumsum([meta.known_size for meta in metas])
        self._colours = np.split(colouring.colours, ends[:-1])

    def rows(self, at: Emitter[V], first: V | int, count: int) -> list[V | None]:
        """For each leaf the sums of `count` colours from number `first` on, `[count, *shape]`."""
        number = self.numbers(at, first, count)
        return [
            one_hot(at, number, at.emit(Constant(colours)), meta) if on else None
            for colours, meta, on in zip(self._colours, self._metas, self._read, strict=True)
        ]

    def identity(self, rows: Sequence[V | None]) -> V | None:
        """None: a colour may have several elements."""
        return None
