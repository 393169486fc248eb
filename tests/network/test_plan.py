"""Plans as values: printed, saved and loaded."""

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import PathError
from tenferro.network import (
    EinsumPlan,
    MemoryNeed,
)
from tests.networks import random_array


def test_a_plan_prints_saves_and_loads() -> None:
    specs = [tn.TensorSpec((8, 8), "complex128")] * 3
    plan = tn.einsum_plan("ij,jk,kl->il", *specs)
    assert plan.flops == 4 * 2 * 2 * 8**3
    assert plan.peak_bytes == 2 * 64 * 16
    assert "1x8x8x8" in str(plan)
    loaded = EinsumPlan.from_json(plan.to_json())
    assert str(loaded) == str(plan)
    assert loaded.path == plan.path


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": "x", "version": 1}', "null"])
def test_text_that_is_not_a_plan_is_refused(text: str) -> None:
    with pytest.raises(PathError, match="einsum plan"):
        EinsumPlan.from_json(text)


def test_a_plan_has_its_figures_in_bytes() -> None:
    plan = tn.einsum_plan("ij,jk,kl->il", *[tn.TensorSpec((8, 8), "complex64")] * 3)
    assert plan.memory == MemoryNeed(arguments=3 * 512, outputs=512, temporaries=512)
    assert plan.peak_bytes == 1024


def test_a_sliced_plan_prints_what_one_round_of_its_loop_holds() -> None:
    specs = [tn.TensorSpec((8, 8), "complex128")] * 3
    plan = tn.einsum_plan("ij,jk,kl->il", *specs, slices="i", optimize=[(0, 1), (0, 1)])
    head, *rows = [line.split() for line in str(plan).splitlines()[-3:]]
    assert head[0] == "step"
    assert [(row[-3], row[-1]) for row in rows] == [("4.1e+03", "128")] * 2
    assert f"{plan.flops:.3g} flops" in str(plan)
    assert sum(float(row[-3]) for row in rows) == pytest.approx(plan.flops, rel=0.01)
    assert "largest intermediate 8 elements" in str(plan)


GENERATOR = np.random.default_rng(0)
RING = "ab,bc,cd,de,ea->"
RING_SHAPES = [(3, 4), (4, 5), (5, 2), (2, 3), (3, 3)]


def test_a_sliced_plan_saves_and_loads(tmp_path: Any) -> None:
    specs = [tn.TensorSpec(shape) for shape in RING_SHAPES]
    plan = tn.einsum_plan(RING, *specs, slices="bd")
    plan.save(tmp_path / "plan.json")
    loaded = EinsumPlan.load(tmp_path / "plan.json")
    assert loaded.slices == plan.slices == (ord("b"), ord("d"))
    assert str(loaded) == str(plan)
    operands = [random_array(GENERATOR, shape, "float64") for shape in RING_SHAPES]
    result = tn.einsum("xy,yz,zu,uv,vx->", *operands, optimize=loaded)
    np.testing.assert_allclose(result, np.einsum(RING, *operands), rtol=1e-12)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(PathError, match="not a plan"):
        EinsumPlan.load(tmp_path / "bytes")


A, B, C = (GENERATOR.normal(size=shape) for shape in ((2, 3), (3, 4), (4, 5)))
CHAIN = "ij,jk,kl->il"


def test_a_plan_of_other_letters_is_the_same_plan() -> None:
    plan = tn.einsum_plan(CHAIN, A, B, C, slices="k")
    result = tn.einsum("ab,bc,cd->ad", A, B, C, optimize=plan)
    np.testing.assert_allclose(result, A @ B @ C, rtol=1e-12)
