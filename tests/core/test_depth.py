"""Chains of any length: no stage recurses, and nothing is left behind."""

import gc
import sys

from tenferro.core import (
    CompiledProgram,
    compile_graph,
    differentiate,
    evaluate,
    input_key,
    interned_count,
    materialize_merge,
    pull_back,
    push_forward,
    resolve,
    to_dot,
    transpose,
)
from tests.toy import CTX, Toy, real
from tests.toy_graphs import long_chain

DEPTH = 20_000


def test_a_long_chain_passes_through_every_stage_and_is_freed() -> None:
    assert sys.getrecursionlimit() <= 1_000
    gc.collect()
    baseline = interned_count()

    primal = long_chain(DEPTH)
    x = primal.input_keys[0]
    linear = differentiate(resolve([primal]), primal.output_keys, [x], ctx=CTX)
    transposed = transpose(linear, ctx=CTX)
    (ct,) = transposed.output_keys
    assert ct is not None
    graph = materialize_merge(resolve([primal, transposed.fragment]), [*primal.output_keys, ct])
    program: CompiledProgram[Toy] = compile_graph(graph)
    assert len(program.instructions) == 2 * DEPTH
    assert evaluate(program, [2.0, 1.0, 3.0]) == [2.0, 3.0]
    for printed in (primal, linear, transposed, graph, program):
        assert str(printed).count("\n") >= DEPTH
    assert to_dot(graph).count("\n") >= 2 * DEPTH
    assert interned_count() >= baseline + 3 * DEPTH

    del primal, x, linear, transposed, ct, graph, program, printed
    assert interned_count() == baseline


def test_seeds_pass_through_a_long_chain() -> None:
    gc.collect()
    baseline = interned_count()

    primal = long_chain(DEPTH)
    view, x, seed = resolve([primal]), primal.input_keys[0], input_key(real("seed"))
    linear = differentiate(view, primal.output_keys, [x], ctx=CTX)
    pushed = push_forward(view, primal.output_keys, [x], [seed], ctx=CTX)
    pulled = pull_back(linear, [seed], ctx=CTX)
    assert [key is not None for key in (*pushed, *pulled)] == [True, True]

    del primal, view, x, seed, linear, pushed, pulled
    assert interned_count() == baseline
