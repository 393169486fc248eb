"""Residuals: what the linear part of a graph reads of the rest of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tenferro.computegraph import GlobalValKey, ResolvedView, resolve_keys


def residuals(outputs: Sequence[GlobalValKey], seeds: Iterable[GlobalValKey]) -> list[GlobalValKey]:
    """The values that ops which depend on `seeds` read of the other ops, and outputs of the latter.

    Values that depend on no input, such as constants, are left out: they are computed again.
    """
    view: ResolvedView[Any] = resolve_keys()
    ops, inputs = view.topo_order(outputs)
    active: set[GlobalValKey] = set(seeds)
    variable: set[GlobalValKey] = set(inputs)
    found: dict[GlobalValKey, None] = {}
    for op in ops:
        if any(key in active for key in op.inputs):
            active.update(op.outputs)
            found.update((key, None) for key in op.inputs if key not in active and key in variable)
        elif any(key in variable for key in op.inputs):
            variable.update(op.outputs)
    found.update((key, None) for key in outputs if key not in active and key in variable)
    return list(found)
