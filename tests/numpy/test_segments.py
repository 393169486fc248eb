"""`tn.ops.segment_sum` and its relatives are those of `jax.ops`."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import DTypeError, ShapeError, TracingError
from tests.in_jax import in_jax

rng = np.random.default_rng(0)
IDS = np.array([0, 2, -1, 5, 2, 0, 9, 2])
D = rng.normal(size=(8, 3))
NAMES = ("segment_sum", "segment_prod", "segment_max", "segment_min")
ops: Any = tn.ops


@pytest.mark.exhaustive(but=3)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [None, 6, 3])
def test_segments_are_those_of_jax(name: str, count: int | None) -> None:
    arrays = (D, D[:, 0], (D * 5).astype(int), D.astype("float32"))
    number = IDS.max() + 1 if count is None else count  # which JAX does not count in a program
    results = in_jax(lambda *of: [getattr(jax.ops, name)(d, IDS, int(number)) for d in of], *arrays)
    for data, expected in zip(arrays, results, strict=True):
        found = getattr(ops, name)(data, IDS, count)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found, expected, 1e-6)
    if count is not None:
        run = tn.jit(lambda arrays, i: [getattr(ops, name)(d, i, count) for d in arrays])
        for traced, expected in zip(run(arrays, IDS), results, strict=True):
            np.testing.assert_allclose(traced, expected, 1e-6)


@pytest.mark.parametrize("name", ["segment_sum", "segment_max", "segment_min"])
def test_gradients_are_those_of_jax(name: str) -> None:
    def loss(m: Any, xp: Any) -> Any:
        def of(d: Any) -> Any:
            parts = getattr(m, name)(d, IDS, 6)
            return xp.sum(xp.where(xp.isfinite(parts), parts, 0) ** 2)

        return of

    expected = in_jax(lambda: jax.grad(loss(jax.ops, jax.numpy))(D))
    np.testing.assert_allclose(tn.grad(loss(tn.ops, tn))(D), expected)


def test_batches_and_refusals() -> None:
    each = tn.vmap(lambda d: ops.segment_sum(d, IDS, 3))(D.T)
    np.testing.assert_allclose(each, ops.segment_sum(D, IDS, 3).numpy().T)
    assert ops.segment_sum is tn.segment_sum
    with pytest.raises(TracingError, match=r"segment_sum: .* pass num_segments"):
        tn.jit(lambda i: ops.segment_sum(D, i))(IDS)
    with pytest.raises(ShapeError, match="must be a vector with a number for each part"):
        ops.segment_max(D, IDS[:3])
    with pytest.raises(DTypeError, match="segment_ids must be integers"):
        ops.segment_max(D, D[:, 0])
    with pytest.raises(AttributeError, match=r"did you mean tenferro.ops.segment_sum\?"):
        ops.segment_summ  # noqa: B018
