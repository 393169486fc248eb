"""The sliced family: a network contracted slice by slice in a loop, and its derivatives."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tenferro.chainrules import Emitter, PrimitiveOp, V
from tenferro.control import LaneSum, lane_count
from tenferro.exec_ir import Array, ExecProgram, Rewriter
from tenferro.families.einsum.derivative import NetworkDerivative
from tenferro.families.formula import Transform
from tenferro.families.reference import evaluate_standard
from tenferro.family import ExtensionOp, OutputMeta, family_id
from tenferro.ops import (
    ADD,
    DIV,
    REM,
    Constant,
    DynamicSlice,
    DynamicUpdateSlice,
    Reshape,
    full,
    scalar,
)
from tenferro.planning import Labels, Pairs, Subscripts, build_size_dict
from tenferro.shape import INT64, Dim, DType, TensorMeta, make_meta


@family_id(namespace="tenferro-einsum", name="sliced", version=1)
@dataclass(frozen=True)
class SlicedNetwork(ExtensionOp):
    """A network, or transforms of one, as a loop over the values of some labels.

    Each round slices the operands at one value of every sliced label, and adds its result to the
    outputs at that value. Differentiation commutes with slicing: the derivative is a loop whose
    round is the derivative of the round.

    Attributes:
        inputs, output: the network, as in `EinsumOp`.
        pairs: the order of its contractions.
        sliced: the labels that the loop runs over.
        transforms: as in `NetworkDerivative`.
    """

    inputs: tuple[Labels, ...]
    output: Labels
    pairs: Pairs
    sliced: Labels
    transforms: tuple[Transform, ...] = ()

    @property
    def whole(self) -> NetworkDerivative:
        """The same op without slicing."""
        return NetworkDerivative(self.inputs, self.output, self._plan, self.transforms)

    @property
    def slice(self) -> NetworkDerivative:
        """The op of one round, whose operands do not have the sliced labels."""
        inputs = tuple(self._others(term) for term in self.inputs)
        return NetworkDerivative(inputs, self._others(self.output), self._plan, self.transforms)

    @property
    def input_count(self) -> int:
        """As without slicing."""
        return self.whole.input_count

    @property
    def output_count(self) -> int:
        """As without slicing."""
        return self.whole.output_count

    @property
    def term_labels(self) -> tuple[list[Labels], list[Labels]]:
        """The labels of all operands, and those of all outputs."""
        inputs, outputs = list(self.inputs), [self.output]
        for kind, mask in self.transforms:
            chosen = outputs if kind == "select" else inputs
            active = [labels for labels, on in zip(chosen, mask, strict=True) if on]
            if kind == "jvp":
                inputs = inputs + active
            elif kind == "vjp":
                inputs, outputs = inputs + outputs, active
            else:
                outputs = active
        return inputs, outputs

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """As without slicing."""
        return self.whole.infer_output_meta(input_dtypes, input_shapes)

    def prune_outputs(self, live: tuple[bool, ...]) -> SlicedNetwork:
        """The op with only the live outputs."""
        return replace(self, transforms=(*self.transforms, ("select", live)))

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """Run the loop on NumPy arrays."""
        return evaluate_standard(self, inputs)

    def lower_to_standard_ops(
        self,
        builder: Emitter[V],
        inputs: Sequence[V],
        input_dtypes: Sequence[DType],
        input_shapes: Sequence[tuple[Dim, ...]],
    ) -> Sequence[V] | None:
        """One `LaneSum`, whose body is one round; None if sizes are not known."""
        metas = [
            make_meta(dtype, tuple(shape))
            for dtype, shape in zip(input_dtypes, input_shapes, strict=True)
        ]
        if any(meta.static_shape is None for meta in metas):
            return None
        outputs = [
            make_meta(dtype, tuple(shape))
            for dtype, shape in self.infer_output_meta(input_dtypes, input_shapes)
        ]
        counts = self.counts([meta.static_shape or () for meta in metas])
        total = math.prod(counts)
        if not total:
            return [full(builder, 0, meta) for meta in outputs]
        sources = [_source(builder, value) for value in inputs]
        consts = [value for value, source in zip(inputs, sources, strict=True) if source is None]
        loop = LaneSum(
            _round(self, metas, outputs, counts, sources),
            len(consts),
            total,
            lane_count(total),
            self._apart(outputs, counts),
        )
        return builder.emit_all(loop, *consts)

    def _apart(self, outputs: Sequence[TensorMeta], counts: Sequence[int]) -> tuple[bool, ...]:
        """For each output, whether each round adds to a window of its own."""
        rounds = {(label, count) for label, count in zip(self.sliced, counts, strict=True)}
        _, output_labels = self.term_labels
        return tuple(
            [
                rounds.issubset(zip(labels, _static(meta), strict=True))
                for labels, meta in zip(output_labels, outputs, strict=True)
            ]
        )

    def counts(self, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """The sizes of the sliced labels, for operands of these shapes."""
        network = Subscripts(self.inputs, self.output)
        sizes = build_size_dict(network, shapes[: len(self.inputs)])
        counts = tuple(size for label in self.sliced if isinstance(size := sizes[label], int))
        assert len(counts) == len(self.sliced), "a network is sliced once its sizes are known"
        return counts

    @property
    def _plan(self) -> tuple[object, ...]:
        return ("pairs", self.pairs)

    def _others(self, labels: Labels) -> Labels:
        return tuple(label for label in labels if label not in self.sliced)


def _round(
    op: SlicedNetwork,
    metas: Sequence[TensorMeta],
    outputs: Sequence[TensorMeta],
    counts: tuple[int, ...],
    sources: Sequence[PrimitiveOp | None],
) -> ExecProgram:
    """One round: from operands, partial sums and number of the round to the next partial sums.

    An operand with an op in `sources` is computed in the round, by that op.

    >>> op = SlicedNetwork(((0, 1), (1, 2)), (0, 2), ((0, 1),), sliced=(0,))
    >>> a, b, c = (make_meta(np.dtype("f8"), shape) for shape in ((4, 2), (2, 3), (4, 3)))
    >>> body = _round(op, [a, b], [c], (4,), [None, None])
    >>> [str(meta) for meta in body.input_metas], [str(meta) for meta in body.output_metas]
    (['f64[4,2]', 'f64[2,3]', 'f64[4,3]', 'i64[]'], ['f64[4,3]'])
    """
    at = Rewriter(ExecProgram((), (), (), (), 0))
    term_labels, output_labels = op.term_labels
    consts = [at.input(meta) for meta, source in zip(metas, sources, strict=True) if source is None]
    sums = [at.input(meta) for meta in outputs]
    round_number = at.input(make_meta(INT64, ()))

    def results() -> list[int]:
        numbers = _label_values(at, round_number, dict(zip(op.sliced, counts, strict=True)))
        passed = iter(consts)
        operands = [
            next(passed) if source is None else at.emit_all(source)[0] for source in sources
        ]
        slices = [
            _sliced_operand(at, operand, labels, numbers)
            for operand, labels in zip(operands, term_labels, strict=True)
        ]
        types = [at.ctx.meta(value) for value in slices]
        additions = op.slice.expanded(
            at, slices, [meta.dtype for meta in types], [meta.exact_shape() for meta in types]
        )
        assert additions is not None, "the order of the contractions is fixed, so no size is needed"
        return [
            _added(at, total, addition, labels, numbers)
            for total, addition, labels in zip(sums, additions, output_labels, strict=True)
        ]

    return at.run(lambda step, operands: None, results)


def _source(at: Emitter[V], value: V) -> PrimitiveOp | None:
    """The op that computes a value, if the op has no operands."""
    producer = at.producer(value)
    return producer[0] if producer is not None and not producer[1] else None


def _label_values(at: Rewriter, number: int, counts: Mapping[int, int]) -> dict[int, int]:
    """The value of each sliced label in a round; that of the last label changes fastest."""
    first, *others = counts
    values: dict[int, int] = {}
    for label in reversed(others):
        size = at.emit(scalar(counts[label], INT64))
        values[label] = at.emit(REM, number, size)
        number = at.emit(DIV, number, size)
    return {**values, first: number}


def _sliced_operand(at: Rewriter, operand: int, labels: Labels, numbers: dict[int, int]) -> int:
    """An operand at one value of each sliced label."""
    shape = _static(at.ctx.meta(operand))
    if not any(label in numbers for label in labels):
        return operand
    window = _window(shape, labels, numbers)
    starts = _starts(at, shape, labels, numbers)
    slice_ = at.emit_all(DynamicSlice(window), operand, *starts)[0]
    others = [size for label, size in zip(labels, shape, strict=True) if label not in numbers]
    return at.emit(Reshape(tuple(others)), slice_)


def _added(at: Rewriter, total: int, addition: int, labels: Labels, numbers: dict[int, int]) -> int:
    """A partial sum after adding the result of one round to its window."""
    if not any(label in numbers for label in labels):
        return at.emit(ADD, total, addition)
    shape = _static(at.ctx.meta(total))
    window = _window(shape, labels, numbers)
    starts = _starts(at, shape, labels, numbers)
    old = at.emit_all(DynamicSlice(window), total, *starts)[0]
    new = at.emit(ADD, old, at.emit(Reshape(window), addition))
    return at.emit_all(DynamicUpdateSlice(), total, new, *starts)[0]


def _window(shape: Sequence[int], labels: Labels, numbers: dict[int, int]) -> tuple[int, ...]:
    """The sizes of an operand or result at one value of each sliced label."""
    return tuple(1 if label in numbers else n for label, n in zip(labels, shape, strict=True))


def _starts(
    at: Rewriter, shape: Sequence[int], labels: Labels, numbers: dict[int, int]
) -> list[int]:
    """The position of that window; always 0 on axes of size 1."""
    zero = at.emit_all(Constant(np.asarray(0, np.int64)))[0]
    return [
        numbers[label] if label in numbers and size != 1 else zero
        for label, size in zip(labels, shape, strict=True)
    ]


def _static(meta: TensorMeta) -> tuple[int, ...]:
    assert meta.static_shape is not None, "a network is sliced once its sizes are known"
    return meta.static_shape
