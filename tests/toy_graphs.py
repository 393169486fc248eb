"""Functions as graphs of toy ops: built, differentiated, run, and printed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tenferro.core import (
    Fragment,
    FragmentBuilder,
    GlobalValKey,
    ResolvedView,
    compile_graph,
    differentiate,
    evaluate,
    materialize_merge,
    resolve,
    transpose,
)
from tests.toy import CTX, MUL, Toy, Var, real


def one_output(function: Callable[..., GlobalValKey], *inputs: Var) -> Fragment[Toy]:
    """The fragment of a function of a builder and of its inputs."""
    builder: FragmentBuilder[Toy] = FragmentBuilder()
    return builder.build([function(builder, *[builder.input(variable) for variable in inputs])])


def long_chain(length: int) -> Fragment[Toy]:
    """The fragment of `mul(… mul(mul(x, a), a) …, a)`."""

    def function(builder: FragmentBuilder[Toy], x: GlobalValKey, a: GlobalValKey) -> GlobalValKey:
        for _ in range(length):
            (x,) = builder.add(MUL, [x, a])
        return x

    return one_output(function, real("x"), real("a"))


def run(
    view: ResolvedView[Any],
    outputs: Sequence[GlobalValKey | None],
    values: Mapping[Any, Any],
    seed: Any = 1.0,
) -> list[Any]:
    """Materialize, compile, and evaluate; an input that has no value in `values` has `seed`."""
    graph = materialize_merge(view, [output for output in outputs if output is not None])
    return evaluate(compile_graph(graph), [values.get(key.key, seed) for key in graph.inputs])


def forward(
    view: ResolvedView[Toy], outputs: Sequence[GlobalValKey | None], wrt: Sequence[Var]
) -> tuple[ResolvedView[Toy], tuple[GlobalValKey | None, ...]]:
    """The tangents of the outputs, and a view that holds them."""
    reached = [output for output in outputs if output is not None]
    linear = differentiate(view, reached, wrt, ctx=CTX)
    return resolve([*view.roots, linear.fragment]), linear.output_keys


def reverse(
    view: ResolvedView[Toy], outputs: Sequence[GlobalValKey | None], wrt: Sequence[Var]
) -> tuple[ResolvedView[Toy], tuple[GlobalValKey | None, ...]]:
    """The cotangents of `wrt`, and a view that holds them."""
    reached = [output for output in outputs if output is not None]
    transposed = transpose(differentiate(view, reached, wrt, ctx=CTX), ctx=CTX)
    return resolve([*view.roots, transposed.fragment]), transposed.output_keys


def inner(a: Any, b: Any) -> float:
    """The real inner product Re(conj(a) · b) of numbers or vectors."""
    pairs = zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)]
    return math.fsum((x.conjugate() * y).real for x, y in pairs)


def text_of(printed: object) -> str:
    """The text of something printed, without the numbers of its AD passes."""
    return re.sub(r"\b(d|ct)\d+(?=[(\[])", r"\1", str(printed))
