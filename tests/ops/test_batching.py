"""A batch is the stack of single runs: each check runs on every row of the table in `cases`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from tenferro.batching import batch
from tenferro.computegraph import input_key, op_key, resolve_keys
from tenferro.errors import BatchingError
from tenferro.shape import TensorInput
from tests.graphs import CTX, Array, bound, fits, metas_of, run
from tests.ops.cases import CASES
from tests.ops.rows import Case, row_id
from tests.tolerances import assert_close, rounding

VIEW: Any = resolve_keys()
Mask = tuple[bool, ...]


def combinations(cases: Sequence[Case]) -> list[tuple[Case, Mask]]:
    """Each row with each non-empty set of batched operands."""
    return [
        (case, mask)
        for case in cases
        for mask in itertools.product([False, True], repeat=len(case.operands))
        if any(mask)
    ]


def check(case: Case, mask: Mask, count: int, symbolic: bool = False) -> None:
    dtype = case.dtypes[-1]
    entries = [case.arrays(dtype, variant) for variant in range(max(count, 1))]
    op = case.op_for(dtype)
    single = [
        [entries[i if on else 0][k] for k, on in enumerate(mask)] for i in range(len(entries))
    ]
    keys = [input_key(TensorInput(f"x{k}", m)) for k, m in enumerate(metas_of(entries[0]))]
    stacks = [
        np.stack([entry[k] for entry in single])[:count] if on else single[0][k]
        for k, on in enumerate(mask)
    ]
    whole = [
        input_key(TensorInput(f"xs{k}", m)) if on else key
        for k, (m, on, key) in enumerate(zip(metas_of(stacks), mask, keys, strict=True))
    ]
    mapping = {key: value for key, value, on in zip(keys, whole, mask, strict=True) if on}
    outputs = op_key(op, tuple(keys)).outputs
    results = batch(VIEW, outputs, mapping, count, ctx=CTX)
    with np.errstate(all="ignore"):
        expected = [op.evaluate(arrays) for arrays in single]
    for slot, (key, is_batched) in enumerate(results):
        (value,) = run(VIEW, [key], dict(zip(whole, stacks, strict=True)))
        one = [result[slot] for result in expected]
        wanted = np.stack(one)[:count] if is_batched else one[0]
        assert value.dtype == wanted.dtype
        assert value.shape == wanted.shape
        assert_close(value, wanted, rounding(dtype))
        assert fits(CTX.meta(key), value)
        if not is_batched:
            assert all(np.array_equal(one[0], other) for other in one)


@pytest.mark.parametrize(("case", "mask"), combinations(CASES), ids=str)
def test_a_batch_is_the_stack_of_single_runs(case: Case, mask: Mask) -> None:
    check(case, mask, 3)
