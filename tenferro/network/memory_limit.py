"""Slice a plan to a memory limit, or refuse it and name slices that fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tenferro.compiler import MemoryLimit
from tenferro.errors import MemoryLimitError, PathError
from tenferro.network.plan import EinsumPlan
from tenferro.network.slicing import SlicedTree, find_slices
from tenferro.network.subscripts import Label, Labels, Subscripts, is_lettered, labels_text
from tenferro.runtime import planned_free_bytes

EXACT_LABELS = 12
"""Most labels that are sliced in addition while the predicted peak is over the limit."""


_STEPS = 4
"""How many bits of a number of free bytes a plan heeds, so that equal calls share plans."""


def bytes_of(limit: MemoryLimit, holder: object) -> int:
    """A limit as a number of bytes; rounded down if it is what the device of `holder` has free."""
    known = limit.known(lambda: planned_free_bytes(holder)).bytes
    if not limit.of_device:
        return known
    unit = 1 << max(known.bit_length() - _STEPS, 0)
    return known // unit * unit


@dataclass(frozen=True, slots=True)
class Slices:
    """The meaning of the argument `slices=`.

    Attributes:
        kind: `"labels"` slices `labels`; `"count"` makes at least `count` slices; `"limit"` slices
            as much as the memory limit needs; `"none"` never slices.
        labels: the labels to slice.
        count: the least number of slices.
    """

    kind: Literal["labels", "count", "limit", "none"]
    labels: Labels = ()
    count: int = 1


def read_slices(value: Any, subscripts: Subscripts, automatic: bool) -> Slices:
    """The meaning of `slices=`; None means True for an automatic order and False for others.

    Raises:
        PathError: the value is invalid, or names a label that the network does not have or whose
            slicing saves nothing.
    """
    if value is None:
        return Slices("limit" if automatic else "none")
    if isinstance(value, bool):
        return Slices("limit" if value else "none")
    if isinstance(value, int):
        if value < 1:
            raise PathError(f"einsum: invalid slices={value}: the number of slices is at least 1")
        return Slices("count", count=value)
    if not isinstance(value, str | Sequence):
        raise PathError(
            f"einsum: invalid slices={value!r}: pass labels, a number of slices, or True"
        )
    labels = tuple(dict.fromkeys(_label(item) for item in value))
    for label in labels:
        _check_label(label, subscripts)
    return Slices("labels", labels)


def _label(value: Any) -> Label:
    if isinstance(value, str) and len(value) == 1:
        return ord(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise PathError(
        f"einsum: slices= holds {value!r}, which is not a label; a label is a letter or an integer"
    )


def _check_label(label: Label, subscripts: Subscripts) -> None:
    owners = [term for term in subscripts.inputs if label in term]
    name = labels_text((label,), is_lettered([label]))
    if not owners:
        raise PathError(f"einsum: slices= names label {name!r}, which {subscripts} does not have")
    if len(owners) == 1 and label not in subscripts.output:
        raise PathError(
            f"einsum: slices= names label {name!r}, which only one operand has; it is summed over "
            "first, so slicing it saves nothing; leave it out"
        )


def within(plan: EinsumPlan, slices: Slices, limit: int | None) -> EinsumPlan:
    """The plan with the slices that `slices` asks for.

    Raises:
        MemoryLimitError: the plan needs more than `limit` bytes; the text names slices that fit.
    """
    match slices.kind:
        case "labels":
            plan = replace(plan, slices=slices.labels)
        case "count":
            sliced = find_slices(plan.tree, lambda tree: tree.count >= slices.count)
            if sliced is None:
                raise PathError(
                    f"einsum: {plan.subscripts} cannot be cut into {slices.count} slices; pass a "
                    "smaller number"
                )
            plan = replace(plan, slices=sliced.labels)
        case "limit" | "none":
            pass
    if limit is None or _fits(plan, limit):
        return plan
    fitting = fitting_slices(plan, limit)
    if fitting is not None and slices.kind == "limit":
        return fitting
    raise _refusal(plan, fitting, limit)


def fitting_slices(plan: EinsumPlan, limit: int) -> EinsumPlan | None:
    """The plan with slices that keep it within `limit` bytes, or None if no slices do."""
    itemsize = plan.dtype.itemsize
    checked = 0

    def enough(tree: SlicedTree) -> bool:
        nonlocal checked
        if tree.peak * itemsize > limit or checked > EXACT_LABELS:
            return False
        checked += 1
        return _fits(replace(plan, slices=tree.labels), limit)

    sliced = find_slices(plan.tree, enough)
    if sliced is None:
        return None
    fitting = replace(plan, slices=sliced.labels)
    for label in sliced.labels:  # an earlier one may be unnecessary with a later one
        fewer = replace(
            plan, slices=tuple(candidate for candidate in fitting.slices if candidate != label)
        )
        if _fits(fewer, limit):
            fitting = fewer
    return fitting


def _fits(plan: EinsumPlan, limit: int) -> bool:
    if not plan.slices and plan.tree.largest * plan.dtype.itemsize > limit:
        return False
    return plan.peak_bytes <= limit


def _refusal(plan: EinsumPlan, fitting: EinsumPlan | None, limit: int) -> MemoryLimitError:
    needed = plan.peak_bytes
    if fitting is None:
        advice = "no slicing fits"
    else:
        lettered = is_lettered(plan.tree.sizes)
        labels = labels_text(fitting.slices, lettered)
        factor = fitting.flops / max(plan.flops, 1)
        advice = (
            f"slices={repr(labels) if lettered else labels} would fit: {fitting.slice_count} "
            f"slices, {factor:.3g} times the flops, {fitting.peak_bytes} bytes"
        )
    return MemoryLimitError(
        f"einsum: intermediates need {needed} bytes at once, but {limit} are allowed; the "
        f"largest has {plan.tree.largest} elements; {advice}",
        needed,
        limit,
    )
