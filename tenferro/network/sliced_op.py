"""A network contracted slice by slice, as an op; derivative and batch rules of all network ops."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from tenferro.core import Batched, BatchSite, Emitter, JvpSite, PrimitiveOp, Slots, TransposeSite, V
from tenferro.ir import INT64, Dim, DType, ExecProgram, NumpyArray, Rewriter, TensorMeta, make_meta
from tenferro.network.contraction_tree import Pairs
from tenferro.network.einsum_op import EinsumOp, NetworkDerivative
from tenferro.network.subscripts import Labels, Subscripts, build_size_dict
from tenferro.ops import (
    ADD,
    DIV,
    MUL,
    REM,
    Constant,
    DynamicSlice,
    DynamicUpdateSlice,
    Reshape,
    broadcast_like,
    full,
    full_like,
    scalar,
)
from tenferro.ops.control_flow import LaneSum, lane_count
from tenferro.ops.extension import (
    Extension,
    ExtensionAdRule,
    ExtensionBatchRule,
    ExtensionOp,
    OutputMeta,
    Package,
    Transform,
    TransformRule,
    evaluate_standard,
    family_id,
    pushed,
    transformed,
)
from tenferro.runtime import StandardRuntime

__all__ = ["SlicedNetwork"]


@family_id(namespace="tenferro-einsum", name="sliced", version=1)
@dataclass(frozen=True)
class SlicedNetwork(ExtensionOp):
    """A network, or transforms of one, as a loop over the values of some labels.

    Each iteration slices the operands at one value of every sliced label, and adds its result to
    the outputs at that value. Differentiation commutes with slicing: the derivative is a loop whose
    iteration is the derivative of the iteration.

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

    contracts: ClassVar[bool] = True

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
        return self.whole.input_count

    @property
    def output_count(self) -> int:
        return self.whole.output_count

    @property
    def term_labels(self) -> tuple[list[Labels], list[Labels]]:
        """The labels of all operands, and those of all outputs."""
        return transformed(self.transforms, self.inputs, [self.output])

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        return self.whole.infer_output_meta(input_dtypes, input_shapes)

    def prune_outputs(self, live: tuple[bool, ...]) -> SlicedNetwork:
        return replace(self, transforms=(*self.transforms, ("select", live)))

    def eager_execute(self, inputs: Sequence[NumpyArray]) -> Sequence[NumpyArray]:
        return evaluate_standard(self, inputs)

    def lower_to_standard_ops(
        self,
        builder: Emitter[V],
        inputs: Sequence[V],
        input_dtypes: Sequence[DType],
        input_shapes: Sequence[tuple[Dim, ...]],
    ) -> Sequence[V] | None:
        """One `LaneSum`, whose body is one iteration; None if sizes are not known."""
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
            _iteration(self, metas, outputs, counts, sources),
            len(consts),
            total,
            lane_count(total),
            self._apart(outputs, counts),
        )
        return builder.emit_all(loop, *consts)

    def _apart(self, outputs: Sequence[TensorMeta], counts: Sequence[int]) -> tuple[bool, ...]:
        """For each output, whether each iteration adds to a window of its own."""
        iterations = {(label, count) for label, count in zip(self.sliced, counts, strict=True)}
        _, output_labels = self.term_labels
        return tuple(
            [
                iterations.issubset(zip(labels, _static(meta), strict=True))
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


def _iteration(
    op: SlicedNetwork,
    metas: Sequence[TensorMeta],
    outputs: Sequence[TensorMeta],
    counts: tuple[int, ...],
    sources: Sequence[PrimitiveOp | None],
) -> ExecProgram:
    """One iteration: from operands, partial sums and its number to the next partial sums.

    An operand with an op in `sources` is computed in the round, by that op.

    >>> op = SlicedNetwork(((0, 1), (1, 2)), (0, 2), ((0, 1),), sliced=(0,))
    >>> a, b, c = (make_meta(np.dtype("f8"), shape) for shape in ((4, 2), (2, 3), (4, 3)))
    >>> body = _iteration(op, [a, b], [c], (4,), [None, None])
    >>> [str(meta) for meta in body.input_metas], [str(meta) for meta in body.output_metas]
    (['f64[4,2]', 'f64[2,3]', 'f64[4,3]', 'i64[]'], ['f64[4,3]'])
    """
    at = Rewriter(ExecProgram((), (), (), (), 0))
    term_labels, output_labels = op.term_labels
    consts = [at.input(meta) for meta, source in zip(metas, sources, strict=True) if source is None]
    sums = [at.input(meta) for meta in outputs]
    iteration = at.input(make_meta(INT64, ()))

    def results() -> list[int]:
        numbers = _label_values(at, iteration, dict(zip(op.sliced, counts, strict=True)))
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
    """The value of each sliced label in an iteration; that of the last label changes fastest."""
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
    """A partial sum after adding the result of one iteration to its window."""
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


# Derivative rules of the einsum families.


class EinsumRule(ExtensionAdRule):
    """Rules of a network, which is linear in each operand. Its derivative has the same plan."""

    family_id = EinsumOp.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """One op that computes the tangent from those of all operands."""
        assert isinstance(op, EinsumOp)
        return pushed(NetworkDerivative(op.inputs, op.output, op.plan, ()), at)


class SlicedRule(TransformRule):
    """Rules of a sliced network and its transforms."""

    def __init__(self) -> None:
        super().__init__(SlicedNetwork)

    def cotangents(
        self, op: ExtensionOp, at: TransposeSite[V], fixed: Sequence[V], cts: Sequence[V]
    ) -> tuple[V, ...]:
        """The cotangents by one loop.

        If the result is of rank 0, the loop is run with cotangent 1, and its results are then
        multiplied by the cotangent. The loop thus does not depend on the value, and can be joined
        with the loop that computes it.
        """
        emitter = at.emitter
        assert isinstance(op, SlicedNetwork)
        if not _scales(op, [emitter.ctx.meta(ct) for ct in cts]):
            return super().cotangents(op, at, fixed, cts)
        (ct,) = cts
        results = emitter.emit_all(Extension(op), *fixed, full_like(emitter, 1, ct))
        metas = [emitter.ctx.meta(result) for result in results]
        factors = [broadcast_like(emitter, ct, meta, (), op.family_id) for meta in metas]
        return tuple(
            emitter.emit(MUL, result, factor)
            for result, factor in zip(results, factors, strict=True)
        )


def _scales(op: SlicedNetwork, cts: Sequence[TensorMeta]) -> bool:
    """Whether all results are proportional to a single cotangent of rank 0.

    After an earlier reverse transform they may instead be proportional to its conjugate.
    """
    kinds = [kind for kind, _ in op.transforms]
    return len(cts) == 1 and not cts[0].rank and kinds.count("vjp") == 1


# Batch rules of the einsum families: the batch is a further label.

MOST_PARTS = 3
"""How many ops a derivative is parted into at most, so that terms need not be repeated."""

RESULT = -1
"""The owner of what has the type of the network's result."""


class NetworkBatchRule(ExtensionBatchRule):
    """A network with one more label, of the batched terms and of the result.

    The label leads, and the loop of a sliced network does not run over it. Terms that are the same
    for all entries do not get it, and are not repeated. A tangent or a cotangent has it if its term
    has it: then all inputs that belong to the term must be batched.
    """

    def __init__(self, family: type[ExtensionOp]) -> None:
        self.family = family

    def batch(self, op: ExtensionOp, at: BatchSite[V]) -> Batched[V]:
        """The network with the label; several ops, if that saves repeating terms."""
        if not isinstance(op, NetworkDerivative):
            return _applied(op, at)
        results: dict[int, tuple[V, bool]] = {}
        for part, places in parted(op, at.batched):
            results.update(zip(places, _applied(part, at), strict=True))
        return tuple([results[place] for place in sorted(results)])


def _applied(op: Any, at: BatchSite[V]) -> Batched[V]:
    """The op with the label, on inputs that are repeated where their owner is batched."""
    owners = Owners.of(len(op.inputs), getattr(op, "transforms", ()))
    batched = owners.batched(at.batched)
    inputs = [
        at.repeated(place) if owner in batched else value
        for place, (owner, value) in enumerate(zip(owners.inputs, at.inputs, strict=True))
    ]
    outputs = at.emitter.emit_all(Extension(labeled(op, batched)), *inputs)
    return tuple([(output, True) for output in outputs])


def parted(
    op: NetworkDerivative, given: Sequence[bool]
) -> list[tuple[NetworkDerivative, Sequence[int]]]:
    """Ops that together compute what `op` does, each with the places of its outputs among all.

    A cotangent of a term that is the same for all entries is computed alone: only its own term must
    be batched then, and it does not read that one. Ops that are planned apart may share nothing, so
    there are `MOST_PARTS` at most; one op of batched terms takes about three contractions of all.

    >>> chain = NetworkDerivative(((0, 1), (1, 2)), (0, 2), ("auto",), (("vjp", (True, True)),))
    >>> [(part.transforms, places) for part, places in parted(chain, (True, False, False))]
    [((('vjp', (True, False)),), [0]), ((('vjp', (False, True)),), [1])]
    """
    *before, last = op.transforms
    whole: list[tuple[NetworkDerivative, Sequence[int]]] = [(op, range(op.output_count))]
    if last[0] != "vjp" or any(kind == "vjp" for kind, _ in before):
        return whole
    terms = len(op.inputs)
    read = Owners.of(terms, op.transforms).of_batched(given)
    places = [place for place, on in enumerate(last[1]) if on]
    owner = Owners.of(terms, before).inputs
    alone = [[number] for number, place in enumerate(places) if owner[place] not in read]
    others = [number for number, place in enumerate(places) if owner[place] in read]
    groups = [others, *alone] if others else alone
    if not 1 < len(groups) <= MOST_PARTS:
        return whole
    parts: list[tuple[NetworkDerivative, Sequence[int]]] = []
    for group in groups:
        chosen = {places[number] for number in group}
        mask = tuple([place in chosen for place in range(len(last[1]))])
        parts.append((replace(op, transforms=(*before, ("vjp", mask))), group))
    return parts


@dataclass(frozen=True)
class Owners:
    """Which term each input of a network and of its transforms belongs to; `RESULT` for none.

    Attributes:
        inputs: the owner of each input.
        cotangents: the owners of all cotangents that transforms compute.
    """

    inputs: tuple[int, ...]
    cotangents: frozenset[int]

    @classmethod
    def of(cls, terms: int, transforms: Sequence[Transform]) -> Owners:
        """The owners.

        >>> Owners.of(2, (("vjp", (True, False)),)).inputs
        (0, 1, -1)
        """
        inputs, _ = transformed(transforms, range(terms), [RESULT])
        cotangents = [
            owner
            for count, (kind, _) in enumerate(transforms, 1)
            if kind == "vjp"
            for owner in transformed(transforms[:count], range(terms), [RESULT])[1]
        ]
        return cls(tuple(inputs), frozenset(cotangents))

    def batched(self, batched: Sequence[bool]) -> frozenset[int]:
        """The owners whose inputs must be batched, for a batch of some inputs.

        The result is among them, and each term of which there is a cotangent: it would otherwise be
        the sum over the batch.
        """
        return self.of_batched(batched) | self.cotangents | {RESULT}

    def of_batched(self, batched: Sequence[bool]) -> frozenset[int]:
        """The owners of the batched inputs."""
        return frozenset(owner for owner, on in zip(self.inputs, batched, strict=True) if on)


def labeled(op: Any, batched: frozenset[int]) -> Any:
    """The op with one more label on the batched terms and the result.

    Labels are numbered by first occurrence.

    >>> from tenferro.network import EinsumOp
    >>> chain = EinsumOp(((0, 1), (1, 2)), (0, 2), ("pairs", ((0, 1),)))
    >>> labeled(chain, frozenset({1, RESULT}))  # doctest: +NORMALIZE_WHITESPACE
    EinsumOp(inputs=((0, 1), (2, 1, 3)), output=(2, 0, 3), plan=('pairs', ((0, 1),)))
    """
    new = 1 + max([label for labels in (*op.inputs, op.output) for label in labels], default=-1)
    terms = [(new, *labels) if term in batched else labels for term, labels in enumerate(op.inputs)]
    numbers: dict[int, int] = {}
    for labels in (*terms, (new, *op.output)):
        for label in labels:
            numbers.setdefault(label, len(numbers))

    def renumbered(labels: Labels) -> Labels:
        return tuple([numbers[label] for label in labels])

    changes: dict[str, Any] = {
        "inputs": tuple([renumbered(labels) for labels in terms]),
        "output": renumbered((new, *op.output)),
    }
    if isinstance(op, SlicedNetwork):
        changes["sliced"] = renumbered(op.sliced)
    return replace(op, **changes)


_FAMILIES = (EinsumOp, NetworkDerivative, SlicedNetwork)

EINSUM = Package(
    name="tenferro-einsum",
    ops=_FAMILIES,
    rules=(EinsumRule(), TransformRule(NetworkDerivative), SlicedRule()),
    runtimes=tuple(StandardRuntime(op.FAMILY_ID) for op in _FAMILIES),
    batch_rules=tuple(NetworkBatchRule(op) for op in _FAMILIES),
)
