"""Replacing values of a graph by others, and arguments by the passed values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from tenferro.chainrules import KeyEmitter
from tenferro.computegraph import GlobalOpKey, GlobalValKey, ResolvedView, resolve_keys
from tenferro.ops import Argument, StdTensorOp, shape_context
from tenferro.shape import ShapeGuardContext

_WITHOUT_RULES = shape_context()


def substitute(
    outputs: Sequence[GlobalValKey | None],
    replacement: Mapping[GlobalValKey, GlobalValKey],
    ctx: ShapeGuardContext,
) -> list[GlobalValKey | None]:
    """`outputs` with every value of `replacement` replaced in all ops. None stays None.

    New ops are simplified as they are emitted. Ops that do not depend on a replaced value stay the
    same nodes.
    """
    present = [key for key in outputs if key is not None]
    oldest = min([key.serial for key in replacement], default=0)
    ops = _needed(present, replacement, oldest)
    new = _rewritten(ops, replacement, ctx, lambda argument: False)
    return [None if key is None else new.get(key, key) for key in outputs]


def settled(outputs: Sequence[GlobalValKey]) -> list[GlobalValKey]:
    """The outputs with all arguments replaced by the passed values."""
    new = _rewritten(_needed(outputs), {}, _WITHOUT_RULES, lambda argument: True)
    return [new.get(key, key) for key in outputs]


def joined(outputs: Sequence[GlobalValKey], ops: Sequence[GlobalOpKey]) -> list[GlobalValKey]:
    """The outputs of a function; arguments are replaced if their values are also read elsewhere.

    Without the replacement, equal values could be in the graph twice, and would be differentiated
    twice. `ops` are those that the outputs need. Arguments of functions that are still being traced
    are not replaced.
    """
    passed = [key for op in ops if _stands_for_another(op) for key in op.inputs]
    if not passed:
        return list(outputs)
    read = {key for op in ops if not _stands_for_another(op) for key in op.inputs}
    if len(set(passed)) == len(passed) and read.isdisjoint(passed):
        return list(outputs)
    new = _rewritten(ops, {}, _WITHOUT_RULES, lambda argument: not argument.is_open)
    return [new.get(key, key) for key in outputs]


def _stands_for_another(op: GlobalOpKey) -> bool:
    return type(op.primitive) is Argument and not op.primitive.is_open


def _needed(
    outputs: Sequence[GlobalValKey], leaves: Iterable[GlobalValKey] = (), since: int = 0
) -> list[GlobalOpKey]:
    view: ResolvedView[StdTensorOp] = resolve_keys()
    ops, _ = view.topo_order(outputs, leaves, since)
    return ops


def _rewritten(
    ops: Iterable[GlobalOpKey],
    replacement: Mapping[GlobalValKey, GlobalValKey],
    ctx: ShapeGuardContext,
    settles: Callable[[Argument], bool],
) -> dict[GlobalValKey, GlobalValKey]:
    """The new value of each value that is replaced, or depends on one that is.

    `settles` tells whether to replace an argument by the passed value.
    """
    emitter = KeyEmitter(ctx)
    new = dict(replacement)
    for op in ops:
        primitive = cast(Any, op.primitive)
        if type(primitive) is Argument:
            (passed,) = op.inputs
            if settles(primitive) or (passed in new and not primitive.is_open):
                new[op.output(0)] = new.get(passed, passed)
            continue
        if new.keys().isdisjoint(op.inputs):
            continue
        operands = [new.get(key, key) for key in op.inputs]
        emitter.site = op.site
        new.update(zip(op.outputs, emitter.emit_all(primitive, *operands), strict=True))
    return new
