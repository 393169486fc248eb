"""Every composed function against NumPy and JAX: values, types, derivatives; traced and batched."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro import composed
from tests.composed.calls import CALLS, GROUPS
from tests.namespace.calls import Call
from tests.namespace.test_functions import (
    assert_gradients_are_jaxs,
    assert_results,
    call_id,
    listed,
    numpys,
)

NEEDS_NUMBERS = {"bincount", "choose", "ravel_multi_index", "roots", "trim_zeros"}
"""Functions that refuse traced values, because these decide the size of the result."""
OF_ANY_SIZE = {
    *("argwhere", "extract", "flatnonzero", "intersect1d", "ix_", "nonzero", "setdiff1d"),
    *("setxor1d", "union1d", "unique", "unique_all", "unique_counts", "unique_inverse"),
    "unique_values",
}
"""Functions whose results have a size that data decide, so that it differs within a batch."""


@pytest.mark.parametrize("call", CALLS, ids=call_id)
def test_values_and_types_are_numpys(call: Call) -> None:
    assert_results(listed(call.on(getattr(tn, call.name), call.operands)), numpys(call))


@pytest.mark.parametrize("name", GROUPS)
def test_gradients_are_those_of_jax(name: str) -> None:
    assert_gradients_are_jaxs(GROUPS[name])


def test_traced_functions_give_the_same() -> None:
    traced = [call for call in CALLS if call.operands and call.name not in NEEDS_NUMBERS]
    results = every(traced, lambda f: f)
    for call, found in zip(traced, results, strict=True):
        assert_results(found, numpys(call), call_id(call))


def test_batched_functions_give_the_same() -> None:
    refusing = NEEDS_NUMBERS | OF_ANY_SIZE
    once = {call.name: call for call in CALLS if call.operands and call.name not in refusing}
    batched = list(once.values())
    results = every(batched, lambda f: lambda *xs: tn.vmap(f)(*[tn.stack([x, x]) for x in xs]))
    for call, found in zip(batched, results, strict=True):
        assert_results([np.asarray(each)[1] for each in found], numpys(call), call_id(call))


def every(calls: list[Call], transform: Any) -> Any:
    """The results of calls, all in one compiled function."""

    def together(operands: list[Any]) -> list[Any]:
        return [
            transform(lambda *xs, call=call: listed(call.on(getattr(tn, call.name), list(xs))))(*xs)
            for call, xs in zip(calls, operands, strict=True)
        ]

    return tn.jit(together, executor="numpy")([call.operands for call in calls])


def test_the_docs_list_every_function() -> None:
    page = Path(__file__).parents[2] / "docs" / "functions.md"
    listed = set(re.findall(r"`(\w+)`", page.read_text("utf-8")))
    assert [name for name in composed.__all__ if name not in listed] == []
