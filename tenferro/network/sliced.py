"""The sliced family: a network contracted slice by slice, and its derivatives, each one loop."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tenferro.compiler import expand_extensions, optimize
from tenferro.exec_ir import Array, ExecBuilder, ExecProgram
from tenferro.extension import (
    Extension,
    ExtensionCache,
    ExtensionCaches,
    ExtensionOp,
    OutputMeta,
    family_id,
)
from tenferro.network.derivative import NetworkDerivative, Transform
from tenferro.network.paths import Pairs
from tenferro.network.sizes import build_size_dict
from tenferro.network.subscripts import Labels, Subscripts
from tenferro.ops import Constant, DynamicSlice, Reshape
from tenferro.runtime import (
    Buffer,
    NumpyBackend,
    Segment,
    TensorBackend,
    run_segmented,
    segment_exec_program,
)
from tenferro.shape import INT64, Dim, DType, TensorMeta, make_meta

DIRECT = ExtensionCaches()
"""The compiled rounds of loops on NumPy arrays that no executor runs."""


@family_id(namespace="tenferro-einsum", name="sliced", version=1)
@dataclass(frozen=True)
class SlicedNetwork(ExtensionOp):
    """A network, or transforms of one, as a loop over the values of some labels.

    Each round takes operands at one value of every sliced label and adds what it computes to the
    outputs at that value. Differentiation commutes with that: a derivative is the loop whose round
    is the derivative of the round.

    Attributes:
        inputs, output: the network, as in `EinsumOp`.
        pairs: the order of its contractions.
        sliced: the labels that the loop runs over.
        transforms: what is taken of it, as in `NetworkDerivative`.
    """

    inputs: tuple[Labels, ...]
    output: Labels
    pairs: Pairs
    sliced: Labels
    transforms: tuple[Transform, ...] = ()

    @property
    def whole(self) -> NetworkDerivative:
        """The same without slicing."""
        return NetworkDerivative(self.inputs, self.output, self._plan, self.transforms)

    @property
    def slice(self) -> NetworkDerivative:
        """What one round computes, of operands without the sliced labels."""
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
        """The labels of all operands, and of all outputs."""
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
        """Only the outputs that are read."""
        return replace(self, transforms=(*self.transforms, ("select", live)))

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """The loop on NumPy arrays."""
        return run_slices(self, NumpyBackend(), inputs, DIRECT.of(self.family_id))

    def counts(self, shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """How many values each sliced label has, for operands of these shapes."""
        network = Subscripts(self.inputs, self.output)
        sizes = build_size_dict(network, shapes[: len(self.inputs)])
        found = tuple(size for label in self.sliced if isinstance(size := sizes[label], int))
        assert len(found) == len(self.sliced), "a network is sliced once its sizes are known"
        return found

    @property
    def _plan(self) -> tuple[object, ...]:
        return ("pairs", self.pairs)

    def _others(self, labels: Labels) -> Labels:
        return tuple(label for label in labels if label not in self.sliced)


@dataclass(frozen=True)
class Round:
    """One round of a loop: the operands and one number for each sliced label give additions.

    Attributes:
        program: an addition to each output, without the axes of sliced labels.
        segments: its parts on native backends.
        counts: how many values each sliced label has.
        places: for each axis of each output the position of its label among those sliced, or None.
        metas: types of the outputs.
    """

    program: ExecProgram
    segments: tuple[Segment, ...]
    counts: tuple[int, ...]
    places: tuple[tuple[int | None, ...], ...]
    metas: tuple[TensorMeta, ...]


def make_round(op: SlicedNetwork, metas: Sequence[TensorMeta]) -> Round:
    """The round of a loop over operands of these types.

    >>> op = SlicedNetwork(((0, 1), (1, 2)), (0, 2), ((0, 1),), sliced=(0,))
    >>> found = make_round(op, [make_meta(np.dtype("f8"), shape) for shape in ((4, 2), (2, 3))])
    >>> found.counts, found.places, [str(meta) for meta in found.program.output_metas]
    ((4,), ((0, None),), ['f64[3]'])
    """
    term_labels, output_labels = op.term_labels
    builder = ExecBuilder()
    operands = [
        builder.input(_of_one_value(meta, labels, op.sliced))
        for meta, labels in zip(metas, term_labels, strict=True)
    ]
    numbers = {label: builder.input(make_meta(INT64, ())) for label in op.sliced}
    taken = [
        _taken(builder, slot, labels, numbers)
        for slot, labels in zip(operands, term_labels, strict=True)
    ]
    program = optimize(expand_extensions(builder.build(builder.add(Extension(op.slice), taken))))
    return Round(
        program,
        segment_exec_program(program),
        op.counts([_static(meta) for meta in metas]),
        tuple(
            tuple(op.sliced.index(label) if label in op.sliced else None for label in labels)
            for labels in output_labels
        ),
        Extension(op).infer_all(metas),
    )


def run_slices(
    op: SlicedNetwork, backend: TensorBackend, inputs: Sequence[Buffer], cache: ExtensionCache
) -> list[Buffer]:
    """The loop on a native backend; results are added up on the host."""
    metas = tuple([make_meta(buffer.dtype, tuple(buffer.shape)) for buffer in inputs])
    key = (op.payload_identity(), metas)
    found: Round = cache.get_or_make(key, lambda: make_round(op, metas))
    sums = [np.zeros(_static(meta), meta.dtype) for meta in found.metas]
    for numbers in itertools.product(*map(range, found.counts)):
        scalars = [backend.upload_host_tensor(np.asarray(number, np.int64)) for number in numbers]
        added = run_segmented(found.program, found.segments, backend, [*inputs, *scalars])
        for total, addition, places in zip(sums, added, found.places, strict=True):
            window: list[Any] = [
                slice(None) if place is None else min(numbers[place], size - 1)
                for place, size in zip(places, total.shape, strict=True)
            ]
            total[tuple(window)] += backend.download_to_host(addition)
    return [backend.upload_host_tensor(total) for total in sums]


def _taken(builder: ExecBuilder, slot: int, labels: Labels, numbers: dict[int, int]) -> int:
    """An operand at one value of each sliced label; a size of 1 stands for all values."""
    shape = _static(builder.metas[slot])
    if not any(label in numbers for label in labels):
        return slot
    (zero,) = builder.add(Constant(np.asarray(0, np.int64)), ())
    starts = [numbers.get(label, zero) for label in labels]
    kept = [(1 if label in numbers else size) for label, size in zip(labels, shape, strict=True)]
    (window,) = builder.add(DynamicSlice(tuple(kept)), (slot, *starts))
    others = [size for label, size in zip(labels, kept, strict=True) if label not in numbers]
    (result,) = builder.add(Reshape(tuple(others)), (window,))
    return result


def _of_one_value(meta: TensorMeta, labels: Labels, sliced: Labels) -> TensorMeta:
    """The type with at least one value of each sliced label: without one there are no rounds."""
    shape = zip(labels, _static(meta), strict=True)
    sizes = [max(size, 1) if label in sliced else size for label, size in shape]
    return make_meta(meta.dtype, tuple(sizes))


def _static(meta: TensorMeta) -> tuple[int, ...]:
    assert meta.static_shape is not None, "a network is sliced once its sizes are known"
    return meta.static_shape
