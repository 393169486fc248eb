"""Emitting a planned network, whole or as a loop over slices; and its program, for known types."""

from __future__ import annotations

from collections.abc import Sequence

from tenferro.arrays import convert, result_dtype
from tenferro.chainrules import Emitter, V
from tenferro.computegraph import BoundedCache, Capacity
from tenferro.config import config
from tenferro.extension import Extension
from tenferro.network.contraction import Labeled, Sizes
from tenferro.network.lowering import contract_step, emit_network, entered, finished
from tenferro.network.paths import Pairs
from tenferro.network.sliced import SlicedNetwork
from tenferro.network.slicing import cut_loop, depends
from tenferro.network.subscripts import Labels, Subscripts
from tenferro.network.tree import steps_of
from tenferro.runtime import (
    NUMPY_EXECUTOR,
    Buffer,
    Executable,
    Executor,
    GraphProgram,
    RunEmitter,
)
from tenferro.shape import BOOL, INT64, TensorMeta
from tenferro.traced import GraphCompiler, TracedTensor, fresh_input, record

COMPILER = GraphCompiler(capacity=0)
"""Compiles networks. Whoever asks keeps the program."""

RUNS: BoundedCache[tuple[int, int], tuple[Executor, GraphProgram, Executable]] = BoundedCache(
    Capacity(config.cache_entries)
)
"""What runs un-jitted calls, by the ids of executor and program, which an entry keeps alive."""


def emit_contraction(
    at: Emitter[V],
    operands: Sequence[V],
    subscripts: Subscripts,
    sizes: Sizes,
    pairs: Pairs,
    sliced: Labels = (),
) -> V:
    """The result of a network of operands of any dtypes, in their common one."""
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
    """The result of a network as one loop; what is the same in all rounds is computed before."""
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


def run_on(executor: Executor | None, program: GraphProgram, buffers: Sequence[Buffer]) -> Buffer:
    """The result where the operands are, as one program that their executor compiles once.

    None is NumPy arrays.
    """
    found = NUMPY_EXECUTOR if executor is None else executor
    at = RunEmitter(executor)
    metas = [declared.meta for declared in program.inputs]
    values = [convert(at, each, meta.dtype) for each, meta in zip(buffers, metas, strict=True)]
    key = (id(found), id(program))
    _, _, run = RUNS.get_or_make(
        key, lambda: (found, program, found.compile_exec(program.exec_program))
    )
    return run(*values)[0]


def _flat(subscripts: Subscripts) -> list[int]:
    return [label for term in (*subscripts.inputs, subscripts.output) for label in term]
