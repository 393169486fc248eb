"""Replacing values of a graph by others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from tenferro.chainrules import KeyEmitter, PrimitiveOp
from tenferro.computegraph import GlobalValKey, ResolvedView, resolve_keys
from tenferro.ops import StdTensorOp
from tenferro.shape import ShapeGuardContext


def substitute(
    outputs: Sequence[GlobalValKey | None],
    replacement: Mapping[GlobalValKey, GlobalValKey],
    ctx: ShapeGuardContext,
) -> list[GlobalValKey | None]:
    """`outputs` with every value of `replacement` replaced, wherever it is read. None stays None.

    What is made anew is simplified as it is emitted; what reads no replaced value stays the same
    node.
    """
    view: ResolvedView[StdTensorOp] = resolve_keys()
    ops, _ = view.topo_order([key for key in outputs if key is not None], leaves=tuple(replacement))
    emitter = KeyEmitter(ctx)
    new: dict[GlobalValKey, GlobalValKey] = dict(replacement)
    for op in ops:
        operands = [new.get(key, key) for key in op.inputs]
        if any(a is not b for a, b in zip(operands, op.inputs, strict=True)):
            emitter.site = op.site
            results: tuple[Any, ...] = emitter.emit_all(cast(PrimitiveOp, op.primitive), *operands)
            new.update(zip(op.outputs, results, strict=True))
    return [None if key is None else new.get(key, key) for key in outputs]
