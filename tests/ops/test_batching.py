"""A batch is the stack of single runs: each check runs on every row of the table in `cases`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tenferro.core import (
    GlobalValKey,
    batch,
    differentiate,
    input_key,
    op_key,
    pull_back,
    resolve_keys,
)
from tenferro.errors import BatchingError
from tenferro.ops import StdTensorOp
from tenferro.runtime import Tensor, executor_named, place
from tenferro.shape import Dim, TensorInput, TensorMeta, dim
from tenferro.transforms import GraphCompiler
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
    check_gradient(case, (True, False) if ragged(case, mask) else mask)


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", DIFFERENTIABLE, ids=row_id)
def test_gradients_by_operands_of_which_some_are_batched(case: Case) -> None:
    for mask in masks(len(case.operands)):
        if not ragged(case, mask):
            check_gradient(case, mask)


@pytest.mark.exhaustive
def test_xla_computes_the_same_where_an_op_has_a_rule_of_its_own() -> None:
    rules = [case for case in EVERY if has_own_rule(case)]
    checks = [
        (case, mask, Keys.of(case, mask, 3, uid))
        for uid, case in enumerate(rules)
        for mask in masks(len(case.operands))
        if not ragged(case, mask)
    ]
    xla = executor_named("xla")
    for start in range(0, len(checks), 60):  # one compilation for many
        part = checks[start : start + 60]
        outputs: list[GlobalValKey] = []
        given: dict[GlobalValKey, Array] = {}
        for case, mask, keys in part:
            (result,) = batch(VIEW, keys.single([case.output]), keys.mapping, 3, ctx=CTX)
            outputs.append(result[0])
            given |= zip(keys.whole, stacks(single_runs(case, mask, 3), mask), strict=True)
        program = GraphCompiler(capacity=0).compile_keys(outputs, list(given))
        execute = xla.compile_exec(program.exec_program, options=program.options)
        results = execute(*[place("xla", Tensor(array), xla) for array in given.values()])
        for (case, _, _), key, value in zip(part, outputs, results, strict=True):
            (expected,) = run(VIEW, [key], given)
            assert_close(np.asarray(value), expected, 50 * rounding(case.dtypes[-1]), case.name)


# ------------------------------------------------------------------------------------ the checks


def check_gradient(case: Case, mask: Mask) -> None:
    """The pullback of each entry, batched; and the pullback of the batch."""
    dtype = case.dtypes[-1]
    wrt = case.differentiable(dtype)
    rows, keys = single_runs(case, mask, 3), Keys.of(case, mask, 3)
    (value,) = keys.single([case.output])
    seed = input_key(TensorInput("seed", CTX.meta(value)))
    pulled = gradients(value, [keys.inputs[k] for k in wrt], seed)
    results = [np.asarray(case.op_for(dtype).evaluate(row)[case.output]) for row in rows]
    seeds = [seed_like(result, i) for i, result in enumerate(results)]
    seed_for_all = input_key(TensorInput("seeds", metas_of([np.stack(seeds)])[0]))
    given = dict(zip(keys.whole, stacks(rows, mask), strict=True)) | {seed_for_all: np.stack(seeds)}

    ((batched, is_batched),) = batch(VIEW, [value], keys.mapping, 3, ctx=CTX)
    if not is_batched:  # only the size of an operand is read
        return
    of_batch = gradients(batched, [keys.whole[k] for k in wrt], seed_for_all)
    mapping = keys.mapping | {seed: seed_for_all}
    for k, gradient, other in zip(wrt, pulled, of_batch, strict=True):
        assert (gradient is None) == (other is None)
        if gradient is None or other is None:
            continue
        alone = [
            run(VIEW, [gradient], dict(zip(keys.inputs, row, strict=True)) | {seed: ct})[0]
            for row, ct in zip(rows, seeds, strict=True)
        ]
        ((entries, _),) = batch(VIEW, [gradient], mapping, 3, ctx=CTX)
        wanted = np.stack(alone)
        first, second = run(VIEW, [entries, other], given)
        assert_close(np.broadcast_to(first, wanted.shape), wanted, rounding(dtype))
        assert_close(second, wanted if mask[k] else wanted.sum(0), 10 * rounding(dtype))


def gradients(
    output: GlobalValKey, wrt: Sequence[GlobalValKey], seed: GlobalValKey
) -> list[GlobalValKey | None]:
    linear = differentiate(VIEW, [output], wrt, ctx=CTX)
    return pull_back(linear, [seed], ctx=CTX)


@dataclass(frozen=True)
class Keys:
    """The op of a row on inputs of one entry, and the inputs for all entries."""

    op: Any
    inputs: list[GlobalValKey]
    whole: list[GlobalValKey]
    mapping: dict[GlobalValKey, GlobalValKey]

    @classmethod
    def of(cls, case: Case, mask: Mask, size: Dim, uid: int | None = None) -> Keys:
        metas = metas_of(case.arrays(case.dtypes[-1]))
        inputs = [input_key(TensorInput(f"x{k}", meta, uid)) for k, meta in enumerate(metas)]
        whole = [
            input_key(TensorInput(f"xs{k}", wider(meta, size), uid)) if on else key
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


def has_own_rule(case: Case) -> bool:
    return type(case.op_for(case.dtypes[-1])).batch_rule is not StdTensorOp.batch_rule


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
