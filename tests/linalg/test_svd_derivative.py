"""The formulas of svd_jvp and svd_vjp at simple spectra."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tenferro.linalg.svd import Svd
from tests.linalg.matrices import Array, adjoint, difference, hermitian, inner, random

SHAPES = [(3, 3), (5, 3), (3, 5), (1, 1), (4, 1), (1, 4)]
each_case = pytest.mark.parametrize(
    ("shape", "full", "dtype"), list(product(SHAPES, [False, True], [float, complex]))
)


def decomposed(a: Array, full: bool) -> list[Array]:
    return list(Svd(full).eager_execute([a]))


@each_case
def test_tangents_satisfy_the_differentiated_equations(
    shape: tuple[int, int], full: bool, dtype: type
) -> None:
    rng = np.random.default_rng(0)
    a, da = random(rng, *shape, dtype=dtype), random(rng, *shape, dtype=dtype)
    s, u, vh = decomposed(a, full)
    ds, du, dvh = Svd.jvp_op().eager_execute([s, u, vh, da])
    k = len(s)
    u1, v1h = u[:, :k], vh[:k]
    moved = (du[:, :k] * s) @ v1h + (u1 * ds) @ v1h + (u1 * s) @ dvh[:k]
    np.testing.assert_allclose(moved, da, atol=1e-12)
    for turn in (adjoint(u) @ du, vh @ adjoint(dvh)):
        np.testing.assert_allclose(turn + adjoint(turn), 0, atol=1e-12)
    slope = difference(lambda x: np.linalg.svd(x, compute_uv=False), a, da)
    np.testing.assert_allclose(ds, slope, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_complements_move_as_their_projectors_do(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    a, da = random(rng, *shape, dtype=complex), random(rng, *shape, dtype=complex)
    s, u, vh = decomposed(a, True)
    _, du, dvh = Svd.jvp_op().eager_execute([s, u, vh, da])
    k = len(s)
    for place, x, dx in ((1, u, du), (2, adjoint(vh), adjoint(dvh))):

        def projector(y: Array, place: int = place) -> Array:
            z = decomposed(y, True)[place]
            z = z[:, k:] if place == 1 else adjoint(z)[:, k:]
            return z @ adjoint(z)

        moved = dx[:, k:] @ adjoint(x[:, k:])
        slope = difference(projector, a, da)
        np.testing.assert_allclose(moved + adjoint(moved), slope, atol=1e-8)


@each_case
def test_the_cotangent_is_the_adjoint(shape: tuple[int, int], full: bool, dtype: type) -> None:
    rng = np.random.default_rng(2)
    a, da = random(rng, *shape, dtype=dtype), random(rng, *shape, dtype=dtype)
    s, u, vh = decomposed(a, full)
    tangents = Svd.jvp_op().eager_execute([s, u, vh, da])
    cts = invariant_cotangents(rng, s, u, vh, dtype)
    for present in product([True, False], repeat=3):
        if not any(present):
            continue
        given = [ct for ct, on in zip(cts, present, strict=True) if on]
        (back,) = Svd.vjp_op(present=present).eager_execute([s, u, vh, *given])
        forth = sum(inner(ct, t) for ct, t, on in zip(cts, tangents, present, strict=True) if on)
        assert abs(inner(back, da) - forth) < 1e-10


def invariant_cotangents(
    rng: np.random.Generator, s: Array, u: Array, vh: Array, dtype: type
) -> list[Array]:
    """Of losses of the projectors on single vectors and on complements."""
    k = len(s)
    weights = np.ones(u.shape[1]), np.ones(vh.shape[0])
    for weight in weights:
        weight[:k] = rng.normal(size=k)
    left, right = hermitian(rng, len(u), dtype), hermitian(rng, vh.shape[1], dtype)
    return [rng.normal(size=k), left @ u * weights[0], weights[1][:, None] * vh @ right]


def test_a_loss_of_phases_has_no_derivative() -> None:
    rng = np.random.default_rng(3)
    s, u, vh = decomposed(random(rng, 4, 3, dtype=complex), False)
    for cts in ([u * 1j, 0 * vh], [random(rng, 4, 3, dtype=complex), 0 * vh]):
        (back,) = Svd.vjp_op(present=(False, True, True)).eager_execute([s, u, vh, *cts])
        assert np.isnan(back).all()


def test_a_loss_of_the_basis_of_the_complement_has_no_derivative() -> None:
    rng = np.random.default_rng(4)
    s, u, vh = decomposed(random(rng, 5, 3), True)
    ct = random(rng, 5, 5)
    (back,) = Svd.vjp_op(present=(False, True, False)).eager_execute([s, u, vh, ct])
    assert np.isnan(back).all()
