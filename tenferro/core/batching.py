"""From a graph for one entry to a graph for all entries of a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tenferro.core.emitters import KeyEmitter
from tenferro.core.graph import ResolvedView
from tenferro.core.keys import GlobalOpKey, GlobalValKey, SingleOutputNode
from tenferro.core.primitive import Batched, BatchSite, RuleContext
from tenferro.errors import BatchRuleError, counted

__all__ = ["batch"]

_Values = dict[GlobalValKey, tuple[GlobalValKey, bool]]


def batch(
    view: ResolvedView[Any],
    outputs: Sequence[GlobalValKey],
    batched: Mapping[GlobalValKey, GlobalValKey],
    size: Any,
    *,
    ctx: RuleContext,
    replaced: Mapping[GlobalValKey, GlobalValKey] | None = None,
    emitter: KeyEmitter | None = None,
    rule: Callable[[Any, BatchSite[GlobalValKey]], Batched[GlobalValKey]] | None = None,
) -> list[tuple[GlobalValKey, bool]]:
    """For each output its value for all entries, and whether it is batched.

    The batch is axis 0 of batched values. An output that is not batched is the same for all
    entries. What depends neither on a value of `batched` nor on one of `replaced` stays the same
    nodes.

    Args:
        view: the graph for one entry.
        outputs: values of the view.
        batched: for values of the view, the values for all entries.
        size: the number of entries, as the op set writes sizes.
        ctx: the metadata of values.
        replaced: for values of the view, others that are the same for all entries.
        emitter: what new ops are emitted with, a `KeyEmitter` by default.
        rule: what applies an op to the values of which some are replaced or batched, in place of
            the op's own batch rule.

    Raises:
        BatchRuleError: an op on the way has no batch rule, or its rule returns something else than
            one pair for each output.
    """
    emitter = KeyEmitter(ctx) if emitter is None else emitter
    values: _Values = {key: (value, False) for key, value in (replaced or {}).items()}
    values.update((key, (value, True)) for key, value in batched.items())
    oldest = min([key.serial for key in values], default=0)
    order, _ = view.topo_order(outputs, leaves=tuple(values), since=oldest)
    get = values.get
    for op in order:
        inputs: list[GlobalValKey] = []
        mask: list[bool] = []
        changed = False
        for key in op.inputs:
            value = get(key)
            changed |= value is not None
            inputs.append(key if value is None else value[0])
            mask.append(value is not None and value[1])
        if changed:
            emitter.site = op.site
            results = _applied(op, tuple(inputs), tuple(mask), size, emitter, rule)
            if type(op) is SingleOutputNode:  # nearly always; `update` takes longer
                values[op] = results[0]
            else:
                values.update(zip(op.outputs, results, strict=True))
    return [get(key) or (key, False) for key in outputs]


def _applied(
    op: GlobalOpKey,
    inputs: tuple[GlobalValKey, ...],
    mask: tuple[bool, ...],
    size: Any,
    emitter: KeyEmitter,
    rule: Callable[[Any, BatchSite[GlobalValKey]], Batched[GlobalValKey]] | None,
) -> Batched[GlobalValKey]:
    """The outputs of an op on other operands; `mask` says which are batched."""
    primitive: Any = op.primitive
    site = BatchSite(emitter, inputs, mask, size)
    if rule is not None:
        return _checked(primitive, rule(primitive, site), len(op.outputs))
    if True not in mask:
        return tuple([(value, False) for value in emitter.emit_all(primitive, *inputs)])
    own = getattr(primitive, "batch_rule", None)
    if own is None:
        raise BatchRuleError(f"{primitive}: has no batch rule")
    return _checked(primitive, own(site), len(op.outputs))


def _checked(op: Any, result: Any, count: int) -> Batched[GlobalValKey]:
    if type(result) is tuple and len(result) == count:
        for entry in result:
            if type(entry) is not tuple or len(entry) != 2 or type(entry[1]) is not bool:
                break
        else:
            return result
    got = (
        counted(len(result), "value")
        if isinstance(result, tuple)
        else f"one {type(result).__name__}"
    )
    raise BatchRuleError(
        f"{op}: its batch rule returns {got}; return a tuple of {counted(count, 'pair')}, for each "
        "output its value and whether it is batched"
    )
