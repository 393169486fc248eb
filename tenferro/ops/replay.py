"""Emit a graph again with other values for its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from tenferro.core import Emitter, GlobalValKey, KeyEmitter, ResolvedView, V, resolve_keys
from tenferro.errors import TracingError
from tenferro.ir import fresh_input
from tenferro.ops.annotations import Argument
from tenferro.ops.base import StdTensorOp

__all__ = ["emit_graph", "replay"]


def replay(
    at: Emitter[V],
    outputs: Sequence[GlobalValKey | None],
    known: Mapping[GlobalValKey, V],
    caller: str = "replay",
    keep_sites: bool = False,
) -> list[V | None]:
    """Emit the ops of a graph, with `known` as the values of its inputs. None stays None.

    Errors name the function `caller`. If `keep_sites`, a `KeyEmitter` records each op at the site
    that it has in the graph.

    Raises:
        TracingError: the graph has an input that is not among `known`.
    """
    view: ResolvedView[StdTensorOp] = resolve_keys()
    keys = [key for key in outputs if key is not None]
    ops, inputs = view.topo_order(keys, leaves=tuple(known))
    foreign = [key for key in inputs if key not in known]
    if foreign:
        raise TracingError(
            f"{caller}: the function reads {foreign[0]}, which is not among its arguments; "
            "pass it as a value"
        )
    values: dict[GlobalValKey, V] = dict(known)
    emitter: Any = at
    sited = emitter if keep_sites and isinstance(emitter, KeyEmitter) else None
    for op in ops:
        operands = [values[key] for key in op.inputs]
        if type(op.primitive) is Argument:
            (values[op.output(0)],) = operands
            continue
        if sited is not None:
            sited.site = op.site
        results = at.emit_all(cast(StdTensorOp, op.primitive), *operands)
        values.update(zip(op.outputs, results, strict=True))
    return [None if key is None else values[key] for key in outputs]


def emit_graph(
    at: Emitter[V],
    values: Sequence[V],
    make: Callable[[Sequence[GlobalValKey]], Sequence[GlobalValKey] | None],
) -> list[V] | None:
    """Emit on `values` the graph that `make` makes of inputs of their types; None if it is None."""
    keys = [fresh_input(at.ctx.meta(value), f"x{i}") for i, value in enumerate(values)]
    outputs = make(keys)
    if outputs is None:
        return None
    results = replay(at, outputs, dict(zip(keys, values, strict=True)))
    return [value for value in results if value is not None]
