"""A batch is the stack of single runs: each check runs on every row of the table in `cases`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tenferro.autodiff import differentiate, pull_back
from tenferro.batching import batch
from tenferro.computegraph import GlobalValKey, input_key, op_key, resolve_keys
from tenferro.errors import BatchingError
from tenferro.shape import Dim, TensorInput, TensorMeta, dim
from tests.graphs import CTX, Array, fits, metas_of, run
from tests.ops.cases import CASES
from tests.ops.rows import Case, row_id
from tests.tolerances import assert_close, rounding

VIEW: Any = resolve_keys()
Mask = tuple[bool, ...]
Entries = Sequence[Sequence[Array]]
EVERY = [case for case in CASES if case.operands]
DIFFERENTIABLE = [case for case in EVERY if case.differentiable(case.dtypes[-1])]
SAMPLE = list({type(case.op_for(case.dtypes[-1])): case for case in EVERY}.values())

every_row = pytest.mark.parametrize("case", EVERY, ids=row_id)


@every_row
def test_a_batch_is_the_stack_of_single_runs(case: Case) -> None:
    for mask in masks(len(case.operands)):
        check(case, mask, 3)


@pytest.mark.parametrize("case", SAMPLE, ids=row_id)
def test_batches_of_one_and_of_none_are_ordinary(case: Case) -> None:
    for mask in masks(len(case.operands)):
        check(case, mask, 1)
        check(case, mask, 0)


@pytest.mark.parametrize("case", SAMPLE, ids=row_id)
def test_the_size_of_the_batch_may_be_a_name(case: Case) -> None:
    for mask in masks(len(case.operands)):
        check(case, mask, 3, dim("n"))


@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=row_id)
def test_the_gradient_of_a_batch_is_the_batch_of_gradients(case: Case) -> None:
    mask = tuple([True] * len(case.operands))
    if ragged(case, mask):
        mask = (True, False)
    dtype = case.dtypes[-1]
    wrt = case.differentiable(dtype)
    rows, keys = single_runs(case, mask, 3), Keys.of(case, mask, 3)
    (value,) = keys.single([case.output])
    seed = input_key(TensorInput("seed", CTX.meta(value)))
    sources = [keys.inputs[k] for k in wrt]
    linear = differentiate(VIEW, [value], sources, ctx=CTX)
    if linear.output_keys == (None,):
        return
    gradients = pull_back(linear, [seed], ctx=CTX)
    present = [key for key in gradients if key is not None]
    results = [np.asarray(case.op_for(dtype).evaluate(row)[case.output]) for row in rows]
    seeds = [seed_like(result, i) for i, result in enumerate(results)]
    stacked = np.stack(seeds)
    whole_seed = input_key(TensorInput("seeds", metas_of([stacked])[0]))
    expected = [
        run(VIEW, present, {**dict(zip(keys.inputs, row, strict=True)), seed: ct})
        for row, ct in zip(rows, seeds, strict=True)
    ]
    given = {**dict(zip(keys.whole, stacks(rows, mask), strict=True)), whole_seed: stacked}

    of_batch = batch(VIEW, present, {**keys.mapping, seed: whole_seed}, 3, ctx=CTX)
    ((batched, is_batched),) = batch(VIEW, [value], keys.mapping, 3, ctx=CTX)
    assert is_batched
    again = differentiate(VIEW, [batched], [keys.whole[k] for k in wrt], ctx=CTX)
    pulled = pull_back(again, [whole_seed], ctx=CTX)
    for slot, key in enumerate(gradients):
        if key is None:
            assert pulled[slot] is None
            continue
        place = present.index(key)
        wanted = np.stack([row[place] for row in expected])
        (first,) = run(VIEW, [of_batch[place][0]], given)
        other = pulled[slot]
        assert other is not None
        (second,) = run(VIEW, [other], given)
        assert_close(np.broadcast_to(first, wanted.shape), wanted, rounding(dtype))
        assert_close(second, wanted, rounding(dtype))


# ------------------------------------------------------------------------------------ the checks


@dataclass(frozen=True)
class Keys:
    """The op of a row on inputs of one entry, and the inputs for all entries."""

    op: Any
    inputs: list[GlobalValKey]
    whole: list[GlobalValKey]
    mapping: dict[GlobalValKey, GlobalValKey]

    @classmethod
    def of(cls, case: Case, mask: Mask, size: Dim) -> Keys:
        metas = metas_of(case.arrays(case.dtypes[-1]))
        inputs = [input_key(TensorInput(f"x{k}", meta)) for k, meta in enumerate(metas)]
        whole = [
            input_key(TensorInput(f"xs{k}", wider(meta, size))) if on else key
            for k, (meta, on, key) in enumerate(zip(metas, mask, inputs, strict=True))
        ]
        mapping = {key: new for key, new, on in zip(inputs, whole, mask, strict=True) if on}
        return cls(case.op_for(case.dtypes[-1]), inputs, whole, mapping)

    def single(self, slots: Sequence[int]) -> list[GlobalValKey]:
        outputs = op_key(self.op, tuple(self.inputs)).outputs
        return [outputs[slot] for slot in slots]


def masks(count: int) -> Iterator[Mask]:
    """Every non-empty set of operands."""
    return (mask for mask in itertools.product([False, True], repeat=count) if any(mask))


def wider(meta: TensorMeta, size: Dim) -> TensorMeta:
    return TensorMeta.of(meta.dtype, (size, *(meta.dims or ())))


def ragged(case: Case, mask: Mask) -> bool:
    """Whether the sizes of entries would differ."""
    return case.op_for(case.dtypes[-1]).size_operand == 1 and mask[1]


def single_runs(case: Case, mask: Mask, count: int) -> list[list[Array]]:
    """The operands of each entry; those that are not batched are the same for all."""
    entries = [case.arrays(case.dtypes[-1], variant) for variant in range(count)]
    return [[row[k] if on else entries[0][k] for k, on in enumerate(mask)] for row in entries]


def stacks(rows: Entries, mask: Mask) -> list[Array]:
    return [np.stack([row[k] for row in rows]) if on else rows[0][k] for k, on in enumerate(mask)]


def check(case: Case, mask: Mask, count: int, size: Dim | None = None) -> None:
    """The batch of `count` entries is the stack of their results; ragged results are refused."""
    size = count if size is None else size
    keys = Keys.of(case, mask, size)
    slots = range(keys.op.n_outputs)
    if ragged(case, mask):
        with pytest.raises(BatchingError, match="the size differs from entry to entry"):
            batch(VIEW, keys.single(slots), keys.mapping, size, ctx=CTX)
        return
    rows = single_runs(case, mask, max(count, 1))
    results = batch(VIEW, keys.single(slots), keys.mapping, size, ctx=CTX)
    with np.errstate(all="ignore"):
        expected = [keys.op.evaluate(row) for row in rows]
    arrays = [a[:count] if on else a for a, on in zip(stacks(rows, mask), mask, strict=True)]
    for slot, (key, is_batched) in enumerate(results):
        (value,) = run(VIEW, [key], dict(zip(keys.whole, arrays, strict=True)))
        alone = [result[slot] for result in expected]
        wanted = np.stack(alone)[:count] if is_batched else alone[0]
        assert (value.dtype, value.shape) == (wanted.dtype, wanted.shape)
        assert_close(value, wanted, rounding(case.dtypes[-1]))
        assert size != count or fits(CTX.meta(key), value)


def seed_like(result: Array, number: int) -> Array:
    rng = np.random.default_rng(number)
    values: Any = rng.uniform(-1, 1, result.shape)
    if result.dtype.kind == "c":
        values = values + 1j * rng.uniform(-1, 1, result.shape)
    return np.asarray(values).astype(result.dtype)
