"""Every family of tenferro's own, and of a package of a third party, on batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.fft.op import Fft
from tenferro.linalg.cholesky import Cholesky
from tenferro.linalg.eigh import Eigh
from tenferro.linalg.solve import LuSolve
from tenferro.linalg.svd import Svd
from tenferro.network.einsum_op import EinsumOp
from tenferro.runtime import builtin_packages
from tests.ops.extension.cases import Array, Case
from tests.ops.extension.cube import CUBE, Cube
from tests.ops.extension.test_surfaces import CASES, IDS

SIZE = 3
Mask = tuple[bool, ...]


def named(*ops: type) -> list[Any]:
    """The first case of each op class."""
    first = {type(case.op): case for case in reversed(CASES)}
    return [pytest.param(first[op], id=op.__name__) for op in ops]


def entries(case: Case, mask: Mask) -> list[list[Array]]:
    """Inputs of all entries; those that are not batched are the same for all."""
    arrays = case.arrays
    return [
        [
            array * array.dtype.type(1 + number / 16) if on and array.dtype != bool else array
            for array, on in zip(arrays, mask, strict=True)
        ]
        for number in range(SIZE)
    ]


def masks(case: Case) -> list[Mask]:
    """All inputs, and each one alone."""
    count = len(case.shapes)
    ones = [tuple(i == place for i in range(count)) for place in range(count)]
    return ones if count == 1 else [(True,) * count, *ones]


def stacked(rows: Sequence[Sequence[Array]], mask: Mask) -> list[Array]:
    return [
        np.stack(column) if on else column[0]
        for column, on in zip(zip(*rows, strict=True), mask, strict=True)
    ]


def batched(case: Case, function: Callable[..., Any], mask: Mask) -> Callable[..., Any]:
    in_axes = tuple(0 if on else None for on in mask)
    return tn.vmap(function, in_axes=in_axes, packages=case.packages)


def assert_close(result: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-9, atol=1e-11)


def test_every_family_has_a_batch_rule_of_its_own() -> None:
    for package in builtin_packages():
        assert [rule.family_id for rule in package.batch_rules] == list(package.families)


@pytest.mark.exhaustive(but=11)
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_a_batch_is_the_stack_of_single_runs(case: Case) -> None:
    for mask in masks(case):
        rows = entries(case, mask)
        function = tn.jit(
            batched(case, case.function, mask), executor="numpy", packages=case.packages
        )
        result = np.asarray(function(*stacked(rows, mask)))
        expected = [case.reference(row) for row in rows]
        if result.ndim == expected[0].ndim:  # the source of a length does not make a batch
            expected = [expected[0]]
            result = result[None]
        assert_close(result, np.stack(expected))


SAMPLE = named(EinsumOp, Cholesky, Eigh, LuSolve, Svd, Fft, Cube)


@pytest.mark.parametrize("case", SAMPLE)
def test_gradients_of_batches_are_batches_of_gradients(case: Case) -> None:
    mask = (True,) * len(case.shapes)
    rows = entries(case, mask)
    gradient = tn.grad(case.total, case.places, ad_context=case.context)

    def total(*inputs: Any) -> Any:
        return tn.sum(tn.real(batched(case, case.function, mask)(*inputs)))

    of_batch = tn.grad(total, case.places, ad_context=case.context)
    options: Any = {"executor": "numpy", "packages": case.packages}
    arrays = stacked(rows, mask)
    first = tn.jit(batched(case, gradient, mask), **options)(*arrays)
    second = tn.jit(of_batch, **options)(*arrays)
    singles = [tn.jit(gradient, **options)(*row) for row in rows]
    for place in range(len(case.places)):
        expected = np.stack([np.asarray(single[place]) for single in singles])
        assert_close(first[place], expected)
        assert_close(second[place], expected)


def test_xla_computes_the_same() -> None:
    cases = [param.values[0] for param in SAMPLE]
    packages = (CUBE,)

    def all_of(*groups: Any) -> Any:
        return [
            batched(case, case.function, masks(case)[-1])(*group)
            for case, group in zip(cases, groups, strict=True)
        ]

    groups = [stacked(entries(case, masks(case)[-1]), masks(case)[-1]) for case in cases]
    on_numpy = tn.jit(all_of, executor="numpy", packages=packages)(*groups)
    on_xla = tn.jit(all_of, packages=packages)(*groups)
    for one, other in zip(on_xla, on_numpy, strict=True):
        assert_close(one, np.asarray(other))
