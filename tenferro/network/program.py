"""Emit a planned network, as one contraction or as a loop over slices; compile it to a program."""

from __future__ import annotations

from collections.abc import Sequence

from tenferro.arrays import convert, result_dtype
from tenferro.chainrules import Emitter, V
from tenferro.extension import Extension
from tenferro.families import (
    Labeled,
    Sizes,
    SlicedNetwork,
    contract_step,
    emit_network,
    entered,
    finished,
)
from tenferro.planning import Labels, Pairs, Subscripts, cut_loop, depends, steps_of
from tenferro.shape import BOOL, INT64, TensorMeta, fresh_input
from tenferro.traced import GraphCompiler, TracedTensor, record
from tenferro.values import GraphProgram

COMPILER = GraphCompiler(capacity=0)
"""Compiles networks without caching them: the plan holds its program."""


def emit_contraction(
    at: Emitter[V],
    operands: Sequence[V],
    subscripts: Subscripts,
    sizes: Sizes,
    pairs: Pairs,
    sliced: Labels = (),
) -> V:
    """The result of a network in the common dtype of its operands."""
    dtype = result_dtype(at, list(operands))
    numbers = [convert(at, value, INT64 if dtype == BOOL else dtype) for value in operands]
    if sliced:
        result = emit_sliced(at, subscripts, sizes, pairs, numbers, sliced)
    else:
        result = emit_network(at, subscripts, sizes, pairs, numbers)
    return convert(at, result, dtype)


def emit_sliced(
    at: Emitter[V],
    subscripts: Subscripts,
    sizes: Sizes,
    pairs: Pairs,
    operands: Sequence[V],
    sliced: Labels,
) -> V:
    """The result of a network as a loop; values equal in all rounds are computed before it."""
    values: dict[int, Labeled[V]] = dict(enumerate(entered(at, subscripts, sizes, operands)))
    labels = [values[number].labels for number in range(len(operands))]
    sliced = tuple(label for label in sliced if sizes[label] not in (0, 1))
    dependent = depends(labels, pairs, sliced)
    if not dependent[-1]:
        return emit_network(at, subscripts, sizes, pairs, operands)
    for number, step in enumerate(steps_of(subscripts, pairs), len(operands)):
        if not dependent[number]:
            values[number] = contract_step(at, values[step.left], values[step.right], step, sizes)
    loop = cut_loop(subscripts, pairs, dependent)
    leaves = [values[number] for number in loop.leaves]
    known = {label for leaf in leaves for label in leaf.labels}
    output = tuple(label for label in dict.fromkeys(subscripts.output) if label in known)
    inner = Subscripts(tuple(leaf.labels for leaf in leaves), output)
    named = inner.canonical()
    names = dict(zip(_flat(inner), _flat(named), strict=True))
    op = SlicedNetwork(
        named.inputs,
        named.output,
        loop.pairs,
        tuple(names[label] for label in sliced if label in known),
    )
    result = at.emit(Extension(op), *[leaf.value for leaf in leaves])
    return finished(at, Labeled(result, output), subscripts, sizes).value


def network_program(
    subscripts: Subscripts,
    sizes: Sizes,
    pairs: Pairs,
    sliced: Labels,
    metas: Sequence[TensorMeta],
) -> GraphProgram:
    """The optimized program of a network of operands of these types."""
    keys = [fresh_input(meta, f"operand{position}") for position, meta in enumerate(metas)]
    traced = [TracedTensor(key) for key in keys]

    def contract(at: Emitter[V], *values: V) -> V:
        return emit_contraction(at, values, subscripts, sizes, pairs, sliced)

    result = record(contract, tuple(traced), {})
    return COMPILER.compile([result], inputs=traced)


def _flat(subscripts: Subscripts) -> list[int]:
    return [label for term in (*subscripts.inputs, subscripts.output) for label in term]
