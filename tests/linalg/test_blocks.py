"""Blocks of eigenvectors and singular vectors: derivatives of losses that depend on no basis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ConfigError, ShapeError, TracingError
from tests.linalg.derivative_checks import (
    Array,
    Derivatives,
    assert_right,
    direction,
    gaussian,
    hermitian,
    invariant,
    unitary,
)
from tests.sampling import some

Loss = Callable[[Any, Any], Any]


def adjoint(x: Any) -> Any:
    return tn.conj(x).mT


def trace(x: Any) -> Any:
    return tn.sum(tn.diagonal(x, axis1=-2, axis2=-1), axis=-1)[..., None, None]


EIGEN: dict[str, Loss] = {
    "trace": lambda v, b: trace(tn.real(b)),
    "projector": lambda v, b: v @ adjoint(v),
    "part": lambda v, b: v @ b @ adjoint(v),
    "function": lambda v, b: v @ tn.linalg.funm_hermitian(b, "exp") @ adjoint(v),
}
VALUES = [
    [2, 2, 2, 3, 3, 3],
    [1, 1, 1, 2, 2, 4],
    [1, 1 + 1e-11, 1 - 1e-11, 2, 2 + 1e-11, 4],
    [-2, -2, 0, 1, 1, 1],
    [0.5, 1, 2, 2.7, 3, 4],
]


@pytest.mark.exhaustive(but=4)
@pytest.mark.parametrize("kind", ["f", "c"])
@pytest.mark.parametrize("which", ["smallest", "largest"])
@pytest.mark.parametrize("name", EIGEN)
def test_losses_of_a_block_of_eigenvectors(name: str, which: str, kind: str) -> None:
    def losses(x: Any) -> Any:
        return invariant(EIGEN[name](*tn.linalg.eigh_block(x, 3, which=which)), kind)

    x = np.stack([hermitian(values, kind) for values in VALUES])
    assert_right(Derivatives(losses).errors(x, direction(x, kind)))


@pytest.mark.parametrize("k", [0, 6])
def test_no_eigenvectors_or_all(k: int) -> None:
    def losses(x: Any) -> Any:
        v, b = tn.linalg.eigh_block(x, k)
        return invariant(v @ b @ adjoint(v), "f")

    x = np.stack([hermitian(values, "f") for values in VALUES])
    assert_right(Derivatives(losses).errors(x, direction(x, "f")))


SINGULAR: dict[str, Loss] = {
    "low_rank": lambda u, b, vh: u @ b @ vh,
    "polar": lambda u, b, vh: u @ vh,
    "nuclear": lambda u, b, vh: trace(tn.real(b)),
    "root": lambda u, b, vh: u @ tn.linalg.sqrtm(b, assume_a="her") @ adjoint(u),
    "other_root": lambda u, b, vh: adjoint(vh) @ tn.linalg.sqrtm(b, assume_a="her") @ vh,
    "pseudoinverse": lambda u, b, vh: (
        adjoint(vh) @ tn.linalg.funm_hermitian(b, "inverse") @ adjoint(u)
    ),
    "left_projector": lambda u, b, vh: u @ adjoint(u),
    "right_projector": lambda u, b, vh: adjoint(vh) @ vh,
}  # type: ignore[dict-item]
MATRICES: dict[str, tuple[int, int, int | None, list[list[float]]]] = {
    "square": (
        6,
        6,
        3,
        [[4, 2, 2, 1, 1, 1], [2, 2, 2, 0, 0, 0], [3, 3, 3, 2, 2, 2], [2, 2 + 1e-11, 2, 1, 1, 0]],
    ),
    "tall": (5, 3, 2, [[2, 2, 1], [3, 2, 0]]),
    "wide": (3, 5, 2, [[2, 2, 1], [3, 2, 0]]),
    "all of a tall one": (5, 3, None, [[2, 2, 1], [1, 1, 1]]),
    "all of a wide one": (3, 5, None, [[2, 2, 1], [1, 1, 1]]),
    "orthogonal": (3, 3, None, [[1, 1, 1]]),
}


def with_values(m: int, n: int, values: list[float], kind: str) -> Array:
    r = len(values)
    u, v = unitary(m, kind, 3)[:, :r], unitary(n, kind, 4)[:, :r]
    return (u * np.array(values, float)) @ np.conj(v.T)


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("kind", some(["c", "f"], 2))
@pytest.mark.parametrize("shape", MATRICES)
def test_losses_of_a_block_of_singular_vectors(shape: str, kind: str) -> None:
    m, n, k, batch = MATRICES[shape]

    def losses(x: Any) -> Any:
        block = tn.linalg.svd_block(x, k)
        return sum(invariant(loss(*block), kind) for loss in SINGULAR.values())

    x = np.stack([with_values(m, n, values, kind) for values in batch])
    assert_right(Derivatives(losses).errors(x, direction(x, kind)))


@pytest.mark.exhaustive(but=4)
@pytest.mark.parametrize("name", SINGULAR)
def test_each_loss_alone(name: str) -> None:
    def losses(x: Any) -> Any:
        return invariant(SINGULAR[name](*tn.linalg.svd_block(x, 2)), "c")

    x = np.stack([with_values(3, 4, values, "c") for values in ([2, 2, 1], [2, 2, 0])])
    assert_right(Derivatives(losses).errors(x, direction(x, "c")))


@pytest.mark.exhaustive
@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_a_cut_through_equal_values_is_nan_for_that_matrix_alone(executor: str) -> None:
    weights = gaussian((4, 4), "f", 1)

    def eigen(x: Any) -> Any:
        v, _ = tn.linalg.eigh_block(x, 2)
        return tn.sum(v @ adjoint(v) * weights)

    def singular(x: Any) -> Any:
        return tn.sum(tn.linalg.low_rank(x, 2) * weights)

    cut = np.stack([hermitian(each, "f") for each in ([1, 2, 3, 4], [1, 2, 2, 4], [1, 1, 3, 3])])
    whole = cut.copy()
    whole[1] = hermitian([1, 2, 3, 5], "f")
    everything = tn.jit(
        lambda x: [
            result
            for loss in (eigen, singular)
            for result in (tn.grad(loss)(x), tn.hvp(loss, x, x * x))
        ],
        executor=executor,
    )
    for of_cut, of_whole in zip(everything(cut), everything(whole), strict=True):
        assert np.isnan(of_cut[1]).all()
        np.testing.assert_array_equal(of_cut[0], of_whole[0])
        np.testing.assert_array_equal(of_cut[2], of_whole[2])
        assert np.isfinite(of_whole).all()


@pytest.mark.exhaustive
def test_executors_agree_on_what_depends_on_no_basis() -> None:
    def loss(x: Any) -> Any:
        u, b, vh = tn.linalg.svd_block(x, 2)
        left, middle = tn.linalg.polar(u @ b @ vh + 0.1 * x, side="left")
        v, c = tn.linalg.eigh_block(middle, 2, which="largest")
        return tn.sum(tn.real(left)) + tn.sum(tn.abs(v @ c @ adjoint(v)) ** 2)

    def everything(x: Any) -> Any:
        return loss(x), tn.grad(loss)(x), tn.hvp(loss, x, 1j * x + 1)

    x = np.stack([with_values(3, 4, [2, 2, 1], "c"), gaussian((3, 4), "c", 7)])
    results = [tn.jit(lambda x: everything(x), executor=name)(x) for name in ("numpy", "xla")]
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.exhaustive
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (0, 3), (2, 3, 3)])
def test_polar_factors(shape: tuple[int, ...]) -> None:
    x = gaussian(shape, "c", 3)
    u, p = tn.linalg.polar(x)
    np.testing.assert_allclose(u @ p, x, atol=1e-13)
    left, q = tn.linalg.polar(x, side="left")
    np.testing.assert_allclose(q @ left, x, atol=1e-13)
    np.testing.assert_allclose(u, left, atol=1e-13)
    for positive in (np.asarray(p), np.asarray(q)):
        np.testing.assert_allclose(positive, np.conj(positive.swapaxes(-1, -2)), atol=1e-13)


def test_sizes_may_be_named() -> None:
    loss = tn.jit(
        lambda x: tn.grad(lambda y: tn.sum(tn.linalg.low_rank(y, 1) ** 2))(x),
        symbolic={"x": ("m", "n")},
    )
    for shape in [(3, 2), (2, 3), (4, 1)]:
        x = gaussian(shape, "f", 1)
        np.testing.assert_allclose(loss(x), 2 * tn.linalg.low_rank(x, 1), atol=1e-12)


def test_errors_say_what_is_wrong() -> None:
    x = np.eye(3)
    with pytest.raises(ConfigError, match="eigh_block: k must be an integer from 0 to 3, got 4"):
        tn.linalg.eigh_block(x, 4)
    with pytest.raises(ConfigError, match="svd_block: k must be an integer from 0 to 2, got -1"):
        tn.linalg.svd_block(np.ones((2, 3)), -1)
    with pytest.raises(ConfigError, match=r"low_rank: k must be an integer from 0 to 3, got 1\.0"):
        tn.linalg.low_rank(x, 1.0)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="which must be 'smallest' or 'largest', got 'LA'"):
        tn.linalg.eigh_block(x, 1, which="LA")
    with pytest.raises(ConfigError, match="polar: side must be 'left' or 'right', got 'up'"):
        tn.linalg.polar(x, side="up")
    with pytest.raises(ShapeError, match=r"eigh_block: takes square matrices, got f64\[2,3\]"):
        tn.linalg.eigh_block(np.ones((2, 3)), 1)
    with pytest.raises(TracingError, match="svd_block: k must be known while tracing"):
        tn.jit(lambda x, k: tn.linalg.svd_block(x, k).B)(x, 2)
