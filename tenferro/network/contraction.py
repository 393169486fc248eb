"""A planned network as core ops: pairwise contractions of values with labeled axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from tenferro.core import Emitter, V
from tenferro.network.contraction_tree import Pairs, Step, entering_labels, steps_of
from tenferro.network.subscripts import Label, Labels, Sizes, Subscripts
from tenferro.ops import (
    MUL,
    BroadcastInDim,
    DotGeneral,
    EmbedDiag,
    ExtractDiag,
    ReduceSum,
    Reshape,
    Transpose,
)

__all__ = ["Labeled", "contract_step", "emit_network", "entered", "finished"]


@dataclass(frozen=True, slots=True)
class Labeled(Generic[V]):
    """A value, and the label of each of its axes."""

    value: V
    labels: Labels


def squeeze_ones(at: Emitter[V], x: Labeled[V], sizes: Sizes) -> Labeled[V]:
    """Remove axes of size 1 whose label has another size in other operands (broadcasting)."""
    shape = at.ctx.meta(x.value).exact_shape("einsum", "operand")
    axes = [
        axis
        for axis, (label, size) in enumerate(zip(x.labels, shape, strict=True))
        if size != 1 or sizes[label] == 1
    ]
    if len(axes) == len(shape):
        return x
    value = at.emit(Reshape(tuple(shape[axis] for axis in axes)), x.value)
    return Labeled(value, tuple(x.labels[axis] for axis in axes))


def diagonalize_repeated(at: Emitter[V], x: Labeled[V]) -> Labeled[V]:
    """The diagonal over each label that occurs more than once: `iij` becomes `ij`."""
    value, labels = x.value, list(x.labels)
    second = _repeat(labels)
    while second is not None:
        first = labels.index(labels[second])
        value = at.emit(ExtractDiag(first, second), value)
        del labels[second]
        second = _repeat(labels)
    return Labeled(value, tuple(labels))


def sum_over_others(at: Emitter[V], x: Labeled[V], labels: Sequence[Label]) -> Labeled[V]:
    """The sum over all labels that are not in `labels`."""
    axes = tuple(axis for axis, label in enumerate(x.labels) if label not in labels)
    if not axes:
        return x
    value = at.emit(ReduceSum(axes), x.value)
    return Labeled(value, tuple(label for label in x.labels if label in labels))


def transpose_to_labels(at: Emitter[V], x: Labeled[V], labels: Labels) -> Labeled[V]:
    """Transpose the axes into the order of `labels`."""
    if labels == x.labels:
        return x
    perm = tuple(x.labels.index(label) for label in labels)
    return Labeled(at.emit(Transpose(perm), x.value), labels)


def embed_repeated(at: Emitter[V], x: Labeled[V], labels: Labels) -> Labeled[V]:
    """Embed `x`, which has each of `labels` once, on the diagonal of repeated labels."""
    value, present = x.value, list(x.labels)
    for axis, label in enumerate(labels):
        if axis >= len(present) or present[axis] != label:
            value = at.emit(EmbedDiag(present.index(label), axis), value)
            present.insert(axis, label)
    return Labeled(value, labels)


def broadcast_new(at: Emitter[V], x: Labeled[V], labels: Labels, sizes: Sizes) -> Labeled[V]:
    """Broadcast the value along those of `labels` that it does not have."""
    if set(labels) == set(x.labels):
        return transpose_to_labels(at, x, labels)
    ordered = transpose_to_labels(at, x, tuple(label for label in labels if label in x.labels))
    dims = tuple(labels.index(label) for label in ordered.labels)
    shape = tuple(sizes[label] for label in labels)
    return Labeled(at.emit(BroadcastInDim(shape, dims), ordered.value), labels)


def contract_pair(
    at: Emitter[V], a: Labeled[V], b: Labeled[V], contracted: Sequence[Label], sizes: Sizes
) -> Labeled[V]:
    """The product of two values, summed over `contracted`, which both have.

    The result's labels are the common ones that are not summed, then those of `a` only, then those
    of `b` only. If `contracted` is empty, the result is an elementwise product, which XLA can fuse
    with its readers.
    """
    batch = tuple(label for label in a.labels if label in b.labels and label not in contracted)
    free_a = tuple(label for label in a.labels if label not in b.labels)
    free_b = tuple(label for label in b.labels if label not in a.labels)
    labels = (*batch, *free_a, *free_b)
    if not contracted:
        left = broadcast_new(at, a, labels, sizes)
        right = broadcast_new(at, b, labels, sizes)
        return Labeled(at.emit(MUL, left.value, right.value), labels)
    dot = DotGeneral(
        tuple(a.labels.index(label) for label in contracted),
        tuple(b.labels.index(label) for label in contracted),
        tuple(a.labels.index(label) for label in batch),
        tuple(b.labels.index(label) for label in batch),
    )
    return Labeled(at.emit(dot, a.value, b.value), labels)


def _repeat(labels: Sequence[Label]) -> int | None:
    """The first axis whose label is also that of an earlier axis."""
    for axis, label in enumerate(labels):
        if label in labels[:axis]:
            return axis
    return None


# A planned network as core ops.


def emit_network(
    at: Emitter[V], subscripts: Subscripts, sizes: Sizes, pairs: Pairs, operands: Sequence[V]
) -> V:
    """The result of a network, contracted pair by pair.

    All operands have the same dtype, which must support products and sums.
    """
    values = entered(at, subscripts, sizes, operands)
    for step in steps_of(subscripts, pairs):
        values.append(contract_step(at, values[step.left], values[step.right], step, sizes))
    return finished(at, values[-1], subscripts, sizes).value


def entered(
    at: Emitter[V], subscripts: Subscripts, sizes: Sizes, operands: Sequence[V]
) -> list[Labeled[V]]:
    """The operands after taking diagonals and summing labels that no other term has."""
    entering = entering_labels(subscripts)
    values = []
    for operand, labels, remaining in zip(operands, subscripts.inputs, entering, strict=True):
        value = squeeze_ones(at, Labeled(operand, labels), sizes)
        values.append(sum_over_others(at, diagonalize_repeated(at, value), remaining))
    return values


def contract_step(
    at: Emitter[V], left: Labeled[V], right: Labeled[V], step: Step, sizes: Sizes
) -> Labeled[V]:
    """The result of one step. An operand may lack labels along which it is broadcast."""
    common = set(left.labels) & set(right.labels)
    both = [label for label in step.contracted if label in common]
    left = sum_over_others(at, left, (*step.labels, *both))
    right = sum_over_others(at, right, (*step.labels, *both))
    return contract_pair(at, left, right, both, sizes)


def finished(at: Emitter[V], x: Labeled[V], subscripts: Subscripts, sizes: Sizes) -> Labeled[V]:
    """The last value, with its axes arranged as the labels of the output."""
    once = tuple(dict.fromkeys(subscripts.output))
    if set(x.labels) == set(once):
        ordered = transpose_to_labels(at, x, once)
    else:
        ordered = broadcast_new(at, x, once, sizes)
    return embed_repeated(at, ordered, subscripts.output)
