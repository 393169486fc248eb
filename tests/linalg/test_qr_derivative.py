"""The formulas of qr_jvp and qr_vjp."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tenferro.linalg.qr import Qr
from tests.linalg.matrices import Array, adjoint, difference, hermitian, inner, random

SHAPES = [(3, 3), (5, 3), (3, 5), (1, 1), (4, 1), (1, 4)]
CASES = list(product(SHAPES, ["reduced", "complete"], [float, complex]))
each_case = pytest.mark.parametrize(("shape", "mode", "dtype"), CASES)


def factored(a: Array, mode: str) -> list[Array]:
    return list(Qr(mode).eager_execute([a]))


@each_case
def test_tangents_are_differences(shape: tuple[int, int], mode: str, dtype: type) -> None:
    rng = np.random.default_rng(0)
    a, da = random(rng, *shape, dtype=dtype), random(rng, *shape, dtype=dtype)
    r, q = factored(a, mode)
    dr, dq = Qr.jvp_op().eager_execute([r, q, da])
    k = min(shape)
    np.testing.assert_allclose(dq @ r + q @ dr, da, atol=1e-12)
    turn = adjoint(q) @ dq
    np.testing.assert_allclose(turn + adjoint(turn), 0, atol=1e-12)
    np.testing.assert_allclose(dr, difference(lambda x: factored(x, mode)[0], a, da), atol=1e-8)
    slope = difference(lambda x: factored(x, mode)[1][:, :k], a, da)
    np.testing.assert_allclose(dq[:, :k], slope, atol=1e-8)
    np.testing.assert_allclose(turn[k:, k:], 0, atol=1e-12)


@each_case
def test_the_cotangent_is_the_adjoint(shape: tuple[int, int], mode: str, dtype: type) -> None:
    rng = np.random.default_rng(1)
    a, da = random(rng, *shape, dtype=dtype), random(rng, *shape, dtype=dtype)
    r, q = factored(a, mode)
    tangents = Qr.jvp_op().eager_execute([r, q, da])
    cts = [random(rng, *r.shape, dtype=dtype), random(rng, *q.shape, dtype=dtype)]
    k = min(shape)
    cts[1][:, k:] = (hermitian(rng, len(q), dtype) @ q)[:, k:]  # of a loss of their projector
    for present in ((True, True), (True, False), (False, True)):
        given = [ct for ct, on in zip(cts, present, strict=True) if on]
        (back,) = Qr.vjp_op(present).eager_execute([r, q, *given])
        forth = sum(inner(ct, t) for ct, t, on in zip(cts, tangents, present, strict=True) if on)
        assert abs(inner(back, da) - forth) < 1e-10


def test_a_loss_of_the_basis_of_the_complement_has_no_derivative() -> None:
    rng = np.random.default_rng(2)
    r, q = factored(random(rng, 5, 3), "complete")
    (back,) = Qr.vjp_op((False, True)).eager_execute([r, q, random(rng, 5, 5)])
    assert np.isnan(back).all()


DEPENDENT = [
    np.ones((3, 2)),
    np.array([[1.0, 1.0, 3.0], [2.0, 2.0, 5.0]]),
    np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]),
    np.zeros((2, 2)),
]


@pytest.mark.parametrize("a", DEPENDENT)
def test_dependent_columns_have_no_derivative(a: Array) -> None:
    r, q = factored(a, "reduced")
    for result in Qr.jvp_op().eager_execute([r, q, np.ones_like(a)]):
        assert np.isnan(result).all()
    (back,) = Qr.vjp_op().eager_execute([r, q, np.ones_like(r), np.ones_like(q)])
    assert np.isnan(back).all()


def test_the_scales_of_columns_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    a, da, scales = random(rng, 4, 3), random(rng, 4, 3), np.array([1e-14, 1.0, 1e9])
    r, q = factored(a, "reduced")
    dq = Qr.jvp_op().eager_execute([r, q, da])[1]
    scaled = Qr.jvp_op().eager_execute([r * scales, q, da * scales])[1]
    np.testing.assert_allclose(scaled, dq, rtol=1e-9)
