"""What the carrier does with batch rules, and without: families that have none are batched too.

A family without a rule is batched by the ops by which it is replaced. If there are none, or the
executor that the batch is traced for runs the family by its own runtime, its op is called for one
entry after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from tenferro.batching import batch
from tenferro.chainrules import Batched, BatchSite, KeyEmitter, V
from tenferro.computegraph import GlobalValKey, ResolvedView, resolve_keys
from tenferro.control import Scan
from tenferro.errors import BatchRuleError, UnsupportedDynamicShapeError
from tenferro.exec_ir import ExecBuilder
from tenferro.family.rules import runtime_name
from tenferro.ops import StdTensorOp, entry_meta
from tenferro.shape import Exact, ShapeExtent, TensorMeta, fresh_input


def without_rule(op: Any, at: BatchSite[V]) -> Batched[V]:
    """The outputs for all entries of an op whose family has no batch rule.

    Args:
        op: the carrier of the op.
        at: the operands for all entries.

    Raises:
        BatchRuleError: there are no ops that replace it, and no loop can call it.
    """
    by_runtime = at.ctx.registered_rule(runtime_name(op.family_id)) is not None
    results = None if by_runtime else by_expansion(op, at)
    if results is not None:
        return results
    try:
        return one_by_one(op, at)
    except UnsupportedDynamicShapeError as error:
        raise BatchRuleError(
            f"{op.family_id}: has no batch rule, no standard ops and no single-call form; "
            "register an ExtensionBatchRule"
        ) from error


def by_expansion(op: Any, at: BatchSite[V]) -> Batched[V] | None:
    """The ops that replace one application of an op, batched; None if there are no such ops."""
    emitter = cast(KeyEmitter, at.emitter)
    single = KeyEmitter(at.ctx)
    single.site = emitter.site
    entries = [
        fresh_input(entry_meta(at, place), f"entry{place}") for place in range(len(at.inputs))
    ]
    try:
        outputs = op.expanded(single, entries)
    except UnsupportedDynamicShapeError:
        return None
    if outputs is None:
        return None
    given = list(zip(entries, cast(Sequence[GlobalValKey], at.inputs), at.batched, strict=True))
    view: ResolvedView[Any] = resolve_keys()
    results = batch(
        view,
        outputs,
        {entry: value for entry, value, on in given if on},
        at.size,
        ctx=at.ctx,
        replaced={entry: value for entry, value, on in given if not on},
        emitter=emitter,
    )
    return cast(Batched[V], tuple(results))


def one_by_one(op: StdTensorOp, at: BatchSite[V]) -> Batched[V]:
    """A loop that applies an op to one entry after the other; see `called_one_by_one`.

    Raises:
        UnsupportedDynamicShapeError: data decide a size of an operand or of the batch.
    """
    places = range(len(at.inputs))
    order = sorted(places, key=lambda place: at.batched[place])  # what all rounds read comes first
    builder = ExecBuilder()
    slots = {place: builder.input(entry_meta(at, place)) for place in order}
    site = cast(KeyEmitter, at.emitter).site
    body = builder.build(builder.add(op, [slots[place] for place in places], site))
    scan = Scan(body, consts=at.batched.count(False), carry=0, length=at.size)
    stacks = at.emitter.emit_all(scan, *[at.inputs[place] for place in order])
    return tuple([(stack, True) for stack in stacks])


def called_one_by_one(op: object) -> str | None:
    """The family whose op a loop calls once for each entry of a batch; None for any other op."""
    if isinstance(op, Scan) and not op.carry and len(op.body.instructions) == 1:
        return cast(StdTensorOp, op.body.instructions[0].op).family
    return None


def mistyped(results: Batched[V], entries: Sequence[TensorMeta], at: BatchSite[V]) -> str | None:
    """A description of what is wrong with the types of batched results, given those of entries.

    The form of the results is not judged here; `batch` does so.
    """
    pairs = isinstance(results, tuple) and all(isinstance(each, tuple) for each in results)
    if not pairs or len(results) != len(entries) or any(len(each) != 2 for each in results):
        return None
    for number, ((value, is_batched), entry) in enumerate(zip(results, entries, strict=True)):
        extents = (Exact(at.size), *entry.extents) if is_batched else entry.extents
        try:
            meta: TensorMeta = at.ctx.meta(value)
        except (AttributeError, TypeError):
            return f"for output {number} a {type(value).__name__}, which is no value of the site"
        fits = meta.dtype == entry.dtype and meta.rank == len(extents)
        if not fits or any(map(differ, meta.extents, extents)):
            expected = entry.with_extents(extents)
            return f"for output {number} {meta}, which must be {expected}"
    return None


def differ(a: ShapeExtent, b: ShapeExtent) -> bool:
    """Whether two sizes certainly differ."""
    if not isinstance(a, Exact) or not isinstance(b, Exact):
        return False
    gap = a.dim - b.dim
    return isinstance(gap, int) and gap != 0
