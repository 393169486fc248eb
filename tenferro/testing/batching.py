"""Batch rules, or what stands in for them: a batch is the stack of single runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from tenferro.core import KeyEmitter, batch
from tenferro.errors import BatchRuleError, UnsupportedADRuleError
from tenferro.ir import NumpyArray
from tenferro.ops import repeated
from tenferro.ops.extension import batch_rule_name, called_one_by_one
from tenferro.testing.reference import GraphFunction, difference, directions, everything, rounding
from tenferro.testing.report import Clause, Findings, NotCheckedError, Note
from tenferro.testing.subject import FamilySubject
from tenferro.transforms import TracedTensor

Mask = tuple[bool, ...]
Entries = list[tuple[NumpyArray, ...]]

MOST = 5
"""The inputs of which all sets are batched; of more inputs, one, all but one, or all are."""


def _batch(subject: FamilySubject) -> Findings:
    """For sets of batched inputs, with three entries; of one input or all, with one entry too."""
    if not subject.arrays:
        raise NotCheckedError("the op has no inputs")
    entries = _entries(subject)
    function = subject.applied(subject.metas)
    for mask in _masks(len(subject.arrays)):
        singles = [_mixed(entries[0], entry, mask) for entry in entries]
        expected = [subject.expected, *[_reference(subject, entry) for entry in singles[1:]]]
        for count in (3, 1) if mask.count(True) in (1, len(mask)) else (3,):
            try:
                yield from _compared(function, mask, singles[:count], expected[:count])
            except BatchRuleError as error:
                yield f"with {_named(mask)} batched: {error}"
    yield from _way(subject, function)


def _gradient(subject: FamilySubject) -> Findings:
    """The derivative of the batch, and the batch of the derivative, are those of the entries."""
    wrt = subject.wrt
    entries = _entries(subject)
    outputs = [subject.applied(subject.metas)(*entry) for entry in entries]
    smooth = [
        [array for array in row if array is not None and array.dtype.kind in "fc"]
        for row in outputs
    ]
    seeds = [directions(row, number) for number, row in enumerate(smooth)]
    rows = [(*entry, *seed) for entry, seed in zip(entries, seeds, strict=True)]
    function = subject.applied(subject.metas)
    whole = (True,) * len(entries[0])
    every = (True,) * len(rows[0])
    try:
        gradient = function.vjp(wrt)
        expected = [gradient(*row) for row in rows]
        found = {
            "the gradient of the batch": _batched(function, whole, 3).vjp(wrt),
            "the batch of gradients": _batched(gradient, every, 3),
        }
    except UnsupportedADRuleError as error:
        if error.family_id not in subject.terminal:
            raise
        raise NotCheckedError(f"derivatives end at {error.family_id}") from None
    stacks = _stacks(rows, every)
    for what, pulled in found.items():
        for place, (ct, i) in enumerate(zip(pulled(*stacks), wrt, strict=True)):
            text = difference(ct, _stack([row[place] for row in expected]), _tolerance(rows))
            if text:
                yield f"{what}: that of input {i} {text}"


def _way(subject: FamilySubject, function: GraphFunction) -> Iterator[Note]:
    """How the family is batched, if it has no rule."""
    family = subject.op.family_id
    if subject.ad.shapes.registered_rule(batch_rule_name(family)) is not None:
        return
    whole = _batched(function, (True,) * len(subject.arrays), 3)
    ops, _ = everything().topo_order([output.key for output in whole.live])
    looped = any(called_one_by_one(op.primitive) == family for op in ops)
    way = "its op is called for one entry after the other" if looped else "by standard ops"
    yield Note(f"there is no batch rule: {way}")


def _compared(
    function: GraphFunction,
    mask: Mask,
    entries: Sequence[tuple[NumpyArray, ...]],
    expected: Sequence[Sequence[NumpyArray | None]],
) -> Iterator[str]:
    """How a batch is different from the stack of single runs."""
    results = _batched(function, mask, len(entries))(*_stacks(entries, mask))
    for i, result in enumerate(results):
        wanted = _stack([row[i] for row in expected])
        if result is not None and wanted is not None and result.dtype != wanted.dtype:
            found: str | None = f"is of dtype {result.dtype}, expected {wanted.dtype}"
        else:
            found = difference(result, wanted, _tolerance(entries))
        if found:
            yield f"with {_named(mask)} batched, {len(entries)} entries: output {i} {found}"


def _batched(function: GraphFunction, mask: Mask, size: int) -> GraphFunction:
    """The function of stacks of those inputs that the mask marks; all outputs are stacks."""
    inputs = [
        TracedTensor.input((size, *old.meta.exact_shape()), old.dtype, name=f"batch{i}")
        if on
        else old
        for i, (old, on) in enumerate(zip(function.inputs, mask, strict=True))
    ]
    ctx = function.ad.shapes
    pairs = zip(function.inputs, inputs, mask, strict=True)
    stacks = {old.key: new.key for old, new, on in pairs if on}
    live = [output.key for output in function.live]
    emitter = KeyEmitter(ctx)
    results = iter(
        [
            TracedTensor(key if is_batched else repeated(emitter, key, size))
            for key, is_batched in batch(everything(), live, stacks, size, ctx=ctx)
        ]
    )
    outputs = [None if output is None else next(results) for output in function.outputs]
    return GraphFunction(tuple(inputs), tuple(outputs), function.ad)


def _entries(subject: FamilySubject) -> Entries:
    """Three sets of inputs: numbers are scaled a little, and integers in another order.

    Integers stay as they are if the op does not take them in another order.
    """
    first = subject.arrays
    entries = [first]
    for scale in (1.0625, 1.125):
        scaled = [x * x.dtype.type(scale) if x.dtype.kind in "fc" else x for x in first]
        turned = [np.flip(x) if x.dtype.kind in "iub" else x for x in scaled]
        entries.append(tuple(turned if _is_taken(subject, turned) else scaled))
    return entries


def _is_taken(subject: FamilySubject, arrays: Sequence[NumpyArray]) -> bool:
    """Whether the reference implementation takes these inputs."""
    try:
        _reference(subject, arrays)
    except Exception:  # the author's code may refuse them with any error
        return False
    return True


def _reference(subject: FamilySubject, arrays: Sequence[NumpyArray]) -> list[NumpyArray]:
    with np.errstate(all="ignore"):
        return [np.asarray(result) for result in subject.carrier.evaluate(arrays)]


def _masks(count: int) -> list[Mask]:
    """Sets of inputs to batch."""
    if count <= MOST:
        return [mask for mask in product((True, False), repeat=count) if any(mask)]
    ones = [tuple([i == at for i in range(count)]) for at in range(count)]
    return [(True,) * count, *ones, *[tuple([not on for on in mask]) for mask in ones]]


def _mixed(
    first: Sequence[NumpyArray], entry: Sequence[NumpyArray], mask: Mask
) -> tuple[NumpyArray, ...]:
    """The inputs of an entry; those that are not batched are the same for all."""
    return tuple([new if on else old for old, new, on in zip(first, entry, mask, strict=True)])


def _stacks(entries: Sequence[Sequence[NumpyArray]], mask: Mask) -> list[NumpyArray]:
    """The batched inputs as stacks."""
    columns = zip(*entries, strict=True)
    return [np.stack(each) if on else each[0] for each, on in zip(columns, mask, strict=True)]


def _stack(values: Sequence[NumpyArray | None]) -> NumpyArray | None:
    """The values as one array; None is zeros, and None if all are."""
    like = next((value for value in values if value is not None), None)
    if like is None:
        return None
    return np.stack([np.zeros_like(like) if value is None else value for value in values])


def _named(mask: Mask) -> str:
    places = [str(i) for i, on in enumerate(mask) if on]
    return f"input{'s' if len(places) > 1 else ''} {', '.join(places)}"


def _tolerance(entries: Sequence[Sequence[NumpyArray]]) -> float:
    return 100 * rounding(*entries[0])


BATCHES = (
    Clause(8, "batch", "a batch is the stack of single runs", _batch, ("reference",)),
    Clause(
        10,
        "batch of gradients",
        "the gradient of a batch is the batch of gradients",
        _gradient,
        ("batch", "adjoint", "derivative types"),
    ),
)
