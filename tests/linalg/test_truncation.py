"""Truncated singular value decompositions whose rank is data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import BatchingError, ConfigError, ShapeError, UnsupportedDynamicShapeError
from tests.linalg.derivative_checks import (
    ERROR,
    Array,
    direction,
    gaussian,
    invariant,
    slope,
    unitary,
)

VALUES = np.array([4.0, 2, 2, 1, 1])


def matrix(kind: str) -> Array:
    """6×5 with these singular values."""
    v = unitary(5, kind, 4)
    return (unitary(6, kind, 3)[:, :5] * VALUES) @ np.conj(v.T)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("rank", "options"),
    [
        (5, {}),
        (3, {"cutoff": 0.3}),
        (1, {"cutoff": 0.6}),
        (3, {"cutoff": 1.5, "cutoff_mode": "abs"}),
        (1, {"cutoff": 9.9, "cutoff_mode": "abs"}),
        (3, {"cutoff": 2.1, "cutoff_mode": "sum2"}),
        (3, {"cutoff": 1.1, "cutoff_mode": "sum2"}),
        (4, {"cutoff": 1.1, "cutoff_mode": "sum2", "multiplets": False}),
        (3, {"cutoff": 2.1 / 26, "cutoff_mode": "rsum2"}),
        (3, {"max_rank": 4}),
        (1, {"max_rank": 2}),
        (2, {"max_rank": 2, "multiplets": False}),
        (5, {"max_rank": 9}),
    ],
)
def test_the_rank_by_every_mode(rank: int, options: dict[str, Any]) -> None:
    x = matrix("c")
    u, s, vh = tn.linalg.svd_truncate(x, **options)
    np.testing.assert_allclose(s, VALUES[:rank])
    best = np.asarray((u * s) @ vh)
    np.testing.assert_allclose(np.linalg.norm(x - best) ** 2, sum(VALUES[rank:] ** 2), atol=1e-12)
    for absorb in ("left", "right", "both"):
        left, right = tn.linalg.svd_truncate(x, absorb=absorb, **options)
        assert left.shape == (6, rank)
        np.testing.assert_allclose(left @ right, best, atol=1e-13)


def test_a_first_multiplet_is_kept_whole_if_it_may_be() -> None:
    x = np.diag([2.0, 2.0, 2.0, 1.0])
    assert tn.linalg.svd_truncate(x, cutoff=1.0)[1].shape == (3,)
    assert tn.linalg.svd_truncate(x, cutoff=1.0, max_rank=2)[1].shape == (1,)
    assert tn.linalg.svd_truncate(x, cutoff=1.0, multiplets=False)[1].shape == (1,)


def test_zeros_are_not_kept() -> None:
    x = gaussian((5, 2), "f", 1) @ gaussian((2, 4), "f", 2)
    left, right = tn.linalg.svd_truncate(x, absorb="both")
    assert left.shape == (5, 2)
    np.testing.assert_allclose(left @ right, x, atol=1e-13)


@pytest.mark.parametrize("kind", [pytest.param("f", marks=pytest.mark.exhaustive), "c"])
@pytest.mark.parametrize(
    ("absorb", "renorm"),
    [
        pytest.param(
            *(absorb, renorm), marks=[] if renorm == (absorb != "left") else pytest.mark.exhaustive
        )
        for absorb in ("left", "right", "both")
        for renorm in (False, True)
    ],
)
def test_derivatives_at_a_degenerate_bond(absorb: str, renorm: bool, kind: str) -> None:
    def loss(x: Any) -> Any:
        left, right = tn.linalg.svd_truncate(x, cutoff=0.3, absorb=absorb, renorm=renorm)
        outer = left @ tn.conj(left).mT if absorb != "right" else tn.conj(right).mT @ right
        return invariant(left @ right, kind) + invariant(outer, kind) * 0.1

    x = matrix(kind)
    d = direction(x, kind)
    gradient = np.asarray(tn.grad(loss)(x))
    expected = float(slope(lambda y: np.asarray(loss(y)), x, d))
    along = float(np.sum(np.real(np.conj(gradient) * d)))
    assert abs(along - expected) <= ERROR["first"] * max(1, abs(expected))
    second = slope(lambda y: np.asarray(tn.grad(loss)(y)), x, d)
    np.testing.assert_allclose(tn.hvp(loss, x, d), second, rtol=0, atol=1e-9 * np.abs(second).max())


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_compiled_programs_truncate_too(executor: str) -> None:
    def loss(x: Any) -> Any:
        left, right = tn.linalg.svd_truncate(x, cutoff=0.3, absorb="right", renorm=True)
        return invariant(left @ right, "f")

    x = matrix("f")
    value, gradient = tn.jit(lambda x: (loss(x), tn.grad(loss)(x)), executor=executor)(x)
    np.testing.assert_allclose(value, loss(x), rtol=1e-12)
    np.testing.assert_allclose(gradient, tn.grad(loss)(x), atol=1e-11)


def test_a_cut_multiplet_has_no_derivative() -> None:
    def loss(x: Any) -> Any:
        left, right = tn.linalg.svd_truncate(x, max_rank=2, absorb="left", multiplets=False)
        return tn.sum(left @ right * gaussian((6, 5), "f", 1))

    assert np.isnan(tn.grad(loss)(matrix("f"))).all()


def test_errors_say_what_is_wrong() -> None:
    x = np.eye(3)
    with pytest.raises(ShapeError, match=r"svd_truncate: takes matrices .*, got f64\[3\]"):
        tn.linalg.svd_truncate(np.ones(3))
    with pytest.raises(ShapeError, match=r"the rank is at least 1, but f64\[0,3\] has no elements"):
        tn.linalg.svd_truncate(np.ones((0, 3)))
    with pytest.raises(ConfigError, match="max_rank must be an integer of at least 1, got 0"):
        tn.linalg.svd_truncate(x, max_rank=0)
    with pytest.raises(ConfigError, match="cutoff must be a number of at least 0, got -1"):
        tn.linalg.svd_truncate(x, cutoff=-1)
    with pytest.raises(ConfigError, match="cutoff_mode must be 'rel', 'abs', 'sum2' or 'rsum2'"):
        tn.linalg.svd_truncate(x, cutoff_mode="max")
    with pytest.raises(
        ConfigError, match="absorb must be None, 'left', 'right' or 'both', got 'U'"
    ):
        tn.linalg.svd_truncate(x, absorb="U")


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize(
    "use",
    [lambda left: left.reshape(-1), lambda left: tn.linalg.eigh(left.mT @ left)[0]],
)
@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_what_needs_the_rank_runs_in_compiled_functions(use: Any, executor: str) -> None:
    def loss(x: Any) -> Any:
        left, _ = tn.linalg.svd_truncate(x, cutoff=0.3, absorb="left")
        return tn.sum(use(left) ** 2)

    x = np.diag([3.0, 2.0, 0.1])
    value, slope = tn.jit(tn.value_and_grad(loss), executor=executor)(x)
    variable = tn.EagerRuntime().variable(x)
    expected = loss(variable)
    expected.backward()
    np.testing.assert_allclose(np.asarray(value), np.asarray(expected.detach()), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(slope), np.asarray(variable.grad), atol=1e-12)


def test_what_decides_a_rank_runs_on_a_rank_where_nothing_is_traced() -> None:
    def loss(x: Any) -> Any:
        left, _ = tn.linalg.svd_truncate(x, cutoff=0.3, absorb="left")
        return tn.sum(tn.linalg.svd_truncate(left)[1] ** 2)

    text = r"svd_truncate: .* must be exact, but is at most 3 .*: call the function without jit"
    with pytest.raises(UnsupportedDynamicShapeError, match=text):
        tn.jit(loss, executor="numpy")(np.diag([3.0, 2.0, 0.1]))
    x = tn.EagerRuntime().variable(np.diag([3.0, 2.0, 0.1]))
    loss(x).backward()
    assert np.isfinite(x.grad).all()


def test_single_values_have_derivatives_where_they_are_simple() -> None:
    def loss(x: Any) -> Any:
        return tn.sum(tn.linalg.svd_truncate(x, cutoff=0.3)[1] ** 2)

    x = np.diag([3.0, 2.0, 0.5])
    np.testing.assert_allclose(tn.grad(loss)(x), np.diag([6.0, 4.0, 0.0]), atol=1e-14)


BATCH = np.stack([np.eye(4, 3) * values for values in ([3.0, 2, 0.1], [5, 1, 1], [2, 2, 1.9])])
RANKS = [2, 1, 3]


@pytest.mark.parametrize("absorb", [None, "left", "right", "both"])
def test_matrices_of_a_batch_have_ranks_of_their_own(absorb: str | None) -> None:
    options: dict[str, Any] = {"cutoff": 0.3, "absorb": absorb, "renorm": True}
    together = tn.linalg.svd_truncate(BATCH.reshape(3, 1, 4, 3), **options)
    padded = tn.linalg.svd_truncate(BATCH, pad=True, max_rank=3, **options)
    mapped = tn.vmap(lambda x: tn.linalg.svd_truncate(x, pad=True, **options))(BATCH)
    for one, other, third in zip(together, padded, mapped, strict=True):
        np.testing.assert_array_equal(one.reshape(other.shape), other)
        np.testing.assert_array_equal(third, other)
    for at, rank in enumerate(RANKS):
        single = tn.linalg.svd_truncate(BATCH[at], **options)
        assert single[0].shape == (4, rank)
        np.testing.assert_allclose(padded[0][at, :, :rank], single[0], atol=1e-14)
        np.testing.assert_allclose(padded[-1][at, :rank], single[-1], atol=1e-14)
        assert not np.asarray(padded[0])[at, :, rank:].any()
        assert not np.asarray(padded[-1])[at, rank:].any()


@pytest.mark.parametrize("executor", ["numpy", pytest.param("xla", marks=pytest.mark.exhaustive)])
def test_derivatives_of_a_batch_are_those_of_its_matrices(executor: str) -> None:
    def loss(x: Any, pad: bool) -> Any:
        left, right = tn.linalg.svd_truncate(x, cutoff=0.3, absorb="both", renorm=True, pad=pad)
        return invariant(left @ right, "f") + tn.sum((left @ left.mT) ** 2, axis=(-2, -1)) * 0.1

    def everything(x: Any, d: Any) -> Any:
        total = lambda x, pad: tn.sum(loss(x, pad))  # noqa: E731
        each = lambda x, d: tn.hvp(lambda x: loss(x, True), x, d)  # noqa: E731
        hvp = tn.hvp(lambda x: total(x, False), x, d)
        return tn.grad(lambda x: total(x, False))(x), hvp, tn.vmap(each)(x, d)

    v = unitary(3, "f", 4)
    x = BATCH[:2] @ v.T
    d = direction(x, "f")
    gradient, product, mapped = tn.jit(everything, executor=executor)(x, d)
    for at in range(2):
        alone = lambda x: loss(x, False)  # noqa: E731
        np.testing.assert_allclose(gradient[at], tn.grad(alone)(x[at]), atol=1e-11)
        np.testing.assert_allclose(product[at], tn.hvp(alone, x[at], d[at]), atol=1e-9)
    np.testing.assert_allclose(mapped, product, atol=1e-9)


def test_a_matrix_with_nan_leaves_the_others_and_no_matrices_have_rank_one() -> None:
    bad = BATCH.copy()
    bad[1, 0, 0] = np.nan
    found = np.asarray(tn.linalg.svd_truncate(bad, cutoff=0.3, absorb="left")[0])
    expected = np.asarray(tn.linalg.svd_truncate(BATCH, cutoff=0.3, absorb="left")[0])
    assert np.isnan(found[1]).any()
    np.testing.assert_array_equal(found[::2], expected[::2])
    assert tn.linalg.svd_truncate(bad[1])[1].shape == (1,)
    assert [x.shape for x in tn.linalg.svd_truncate(BATCH[:0])] == [(0, 4, 1), (0, 1), (0, 1, 3)]


def test_under_vmap_the_size_is_fixed() -> None:
    text = "vmap: dynamic_truncate: .* keep the size, by pad=True or with tn.where"
    with pytest.raises(BatchingError, match=text):
        tn.vmap(lambda x: tn.linalg.svd_truncate(x, cutoff=0.3)[1])(BATCH)
