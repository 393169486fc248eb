"""A planned network as core ops."""

from __future__ import annotations

from collections.abc import Sequence

from tenferro.chainrules import Emitter, V
from tenferro.families.einsum.contraction import (
    Labeled,
    Sizes,
    broadcast_new,
    contract_pair,
    diagonalize_repeated,
    embed_repeated,
    squeeze_ones,
    sum_over_others,
    transpose_to_labels,
)
from tenferro.planning import Pairs, Step, Subscripts, entering_labels, steps_of


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
    return [
        _entered(at, Labeled(operand, labels), remaining, sizes)
        for operand, labels, remaining in zip(operands, subscripts.inputs, entering, strict=True)
    ]


def contract_step(
    at: Emitter[V], left: Labeled[V], right: Labeled[V], step: Step, sizes: Sizes
) -> Labeled[V]:
    """The result of one step. An operand may lack labels along which it is broadcast."""
    common = set(left.labels) & set(right.labels)
    both = [label for label in step.contracted if label in common]
    left = sum_over_others(at, left, (*step.labels, *both))
    right = sum_over_others(at, right, (*step.labels, *both))
    return contract_pair(at, left, right, both, sizes)


def _entered(at: Emitter[V], x: Labeled[V], remaining: Sequence[int], sizes: Sizes) -> Labeled[V]:
    return sum_over_others(at, diagonalize_repeated(at, squeeze_ones(at, x, sizes)), remaining)


def finished(at: Emitter[V], x: Labeled[V], subscripts: Subscripts, sizes: Sizes) -> Labeled[V]:
    """The last value, with its axes arranged as the labels of the output."""
    once = tuple(dict.fromkeys(subscripts.output))
    if set(x.labels) == set(once):
        ordered = transpose_to_labels(at, x, once)
    else:
        ordered = broadcast_new(at, x, once, sizes)
    return embed_repeated(at, ordered, subscripts.output)
