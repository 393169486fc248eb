"""Slices and memory limits: what is asked for, met by slicing, or refused with advice."""

from typing import Any

import numpy as np
import pytest

import tenferro as tn
import tenferro_xla as txla
from tenferro.errors import MemoryLimitError, PathError
from tenferro.network import ContractionOptimizerOptions

GENERATOR = np.random.default_rng(0)
RING = "ab,bc,cd,de,ea->"
RING_SHAPES = [(3, 4), (4, 5), (5, 2), (2, 3), (3, 3)]


def test_a_number_asks_for_that_many_slices() -> None:
    specs = [tn.TensorSpec(shape) for shape in RING_SHAPES]
    assert tn.einsum_plan(RING, *specs, slices=4).slice_count >= 4
    assert tn.einsum_plan(RING, *specs, slices=1).slices == ()
    with pytest.raises(PathError, match="cannot be cut into 10000 slices"):
        tn.einsum_plan("ij,jk->ik", *specs[:2], slices=10000)


def test_an_automatic_plan_meets_a_limit_by_slicing() -> None:
    text, specs = "abx,bcx,cdx,dax->", [tn.TensorSpec((16, 16, 8))] * 4
    whole = tn.einsum_plan(text, *specs)
    limit = whole.peak_bytes // 4
    options = ContractionOptimizerOptions(memory_limit=limit)
    plan = tn.einsum_plan(text, *specs, optimize=options)
    assert plan.slices != ()
    assert plan.peak_bytes <= limit < whole.peak_bytes
    memory = txla.XlaExecutor().lower(plan.program).memory()
    assert memory.temporaries + memory.outputs <= 1.3 * limit
    operands = [GENERATOR.normal(size=spec.shape) for spec in specs]
    np.testing.assert_allclose(
        tn.einsum(text, *operands, optimize=options), np.einsum(text, *operands), rtol=1e-11
    )
    assert tn.einsum_plan(text, *specs, memory_limit=limit).slices == plan.slices


def test_a_plan_over_the_limit_is_refused_with_the_slices_that_would_fit() -> None:
    text, specs = "abx,bcx,cdx,dax->", [tn.TensorSpec((16, 16, 8))] * 4
    order = tn.einsum_plan(text, *specs).path
    arguments: dict[str, Any] = {"optimize": order, "memory_limit": 10_000}
    message = r"but 10000 are allowed; .* slices='\w+' would fit: \d+ slices, .* times the flops"
    with pytest.raises(MemoryLimitError, match=message) as caught:
        tn.einsum_plan(text, *specs, **arguments)
    advised = str(caught.value).split("slices='")[1].split("'")[0]
    assert tn.einsum_plan(text, *specs, **arguments, slices=advised).peak_bytes <= 10_000
    assert tn.einsum_plan(text, *specs, **arguments, slices=True).peak_bytes <= 10_000
    with pytest.raises(MemoryLimitError, match="would fit"):
        tn.einsum_plan(text, *specs, memory_limit=10_000, slices=False)
    with pytest.raises(MemoryLimitError, match="no slicing fits"):
        tn.einsum_plan("i,j->ij", tn.TensorSpec((99,)), tn.TensorSpec((99,)), memory_limit=999)


@pytest.mark.parametrize(
    ("slices", "message"),
    [
        ("z", "names label 'z', which ij,jk->ik does not have"),
        (0, "invalid slices=0: the number of slices is at least 1"),
        (1.5, "invalid slices=1.5: pass labels, a number of slices, or True"),
        ([0.5], "holds 0.5, which is not a label"),
    ],
)
def test_what_cannot_be_sliced_is_refused(slices: Any, message: str) -> None:
    with pytest.raises(PathError, match=message):
        tn.einsum("ij,jk->ik", np.ones((2, 3)), np.ones((3, 4)), slices=slices)


def test_a_label_of_one_operand_alone_is_not_sliced() -> None:
    with pytest.raises(PathError, match="label 'i', which only one operand has"):
        tn.einsum("ij,jk->k", np.ones((2, 3)), np.ones((3, 4)), slices="i")


def test_a_plan_over_its_budget_is_refused_with_figures() -> None:
    big = [tn.TensorSpec((64, 64)), tn.TensorSpec((64, 64))]
    with pytest.raises(MemoryLimitError, match="need 32768 bytes at once, but 1024") as caught:
        tn.einsum_plan("ij,jk->ik", *big, optimize=ContractionOptimizerOptions(memory_limit=1024))
    assert (caught.value.needed, caught.value.limit) == (64 * 64 * 8, 1024)
