"""Where eigenvalues or singular values are equal or zero, a derivative is right or NaN."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tenferro as tn
from tests.linalg.matrices import (
    Array,
    adjoint,
    difference,
    hermitian,
    inner,
    kink,
    random,
    unitary,
    with_singular_values,
)

DTYPES = ("float64", "complex128", "float32", "complex64")
TOLERANCE = {"float64": 1e-3, "complex128": 1e-3, "float32": 5e-2, "complex64": 5e-2}
VANISHING: tuple[Callable[[Any], Any], ...] = (lambda s: s, lambda s: s * s, lambda s: s**3)
FUNCTIONS = (*VANISHING, tn.exp, tn.cos, lambda s: 1 / (1 + s * s))
Loss = Callable[[Any], Any]


def transposed(x: Any) -> Any:
    return tn.conj(tn.matrix_transpose(x))


def expectation(operator: Array, vectors: Any, weights: Any) -> Any:
    """Re tr(operator V diag(weights) Vᴴ)."""
    return tn.real(tn.sum((vectors * weights) @ transposed(vectors) * operator.conj()))


@dataclass
class Case:
    """A matrix with multiple values, and a loss of its factors that may have a derivative."""

    rng: np.random.Generator
    values: Array
    matrix: Array
    mode: str
    diagonal: bool = False

    @property
    def dtype(self) -> Any:
        return self.matrix.dtype

    def operator(self, n: int) -> Array:
        """A Hermitian operator, now and then with an empty diagonal."""
        x = hermitian(self.rng, n, self.dtype)
        return x - np.diag(np.diag(x)) if self.rng.random() < 0.4 else x

    def part(self) -> Array:
        """Weights of 0 and 1 that cut no cluster."""
        return (self.values > self.rng.choice([-1, 0.5, 1.5, 2.5])).astype(float)

    def eigh_loss(self) -> Loss:
        n, mode, h = len(self.values), self.mode, FUNCTIONS[self.rng.integers(len(FUNCTIONS))]
        operator, part, place = self.operator(n), self.part(), int(self.rng.integers(n))

        def eigh(x: Any) -> Any:
            return tn.linalg.eigh(x, degenerate=mode)

        losses: list[Loss] = [
            lambda x: tn.sum(h(tn.linalg.eigvalsh(x))),
            lambda x: tn.linalg.eigvalsh(x)[place],
            lambda x: expectation(operator, eigh(x)[1], h(eigh(x)[0])),
            lambda x: expectation(operator, eigh(x)[1], part),
        ]
        return losses[self.rng.integers(len(losses))]

    def svd_loss(self) -> Loss:
        rng, k, mode, full = self.rng, len(self.values), self.mode, bool(self.rng.integers(2))
        m, n = self.matrix.shape
        # Of zeros, a loss of u vᴴ is not a function of the matrix. Cotangents show that, except at
        # matrices that are special to the loss.
        functions = VANISHING if self.diagonal else FUNCTIONS
        h, part = functions[rng.integers(len(functions))], self.part() * (self.values > 0)
        left, right, place = self.operator(m), self.operator(n), int(rng.integers(k))
        mixed = self.mixed()

        def svd(x: Any) -> tuple[Any, Any, Any]:
            u, s, vh = tn.linalg.svd(x, full, degenerate=mode)
            return u[:, :k], s, transposed(vh[:k])

        def across(x: Any, weights: Callable[[Any], Any]) -> Any:
            u, s, v = svd(x)
            return tn.real(tn.trace((u * weights(s)) @ transposed(v) @ mixed))

        losses: list[Loss] = [
            lambda x: tn.sum(h(tn.linalg.svdvals(x))),
            lambda x: tn.linalg.svdvals(x)[place],
            lambda x: expectation(left, svd(x)[0], h(svd(x)[1])),
            lambda x: expectation(right, svd(x)[2], h(svd(x)[1])),
            lambda x: across(x, h),
            lambda x: across(x, lambda _: part),
            lambda x: expectation(left, svd(x)[0], part),
            lambda x: expectation(left, tn.linalg.svd(x, degenerate=mode).U[:, k:], 1.0),
        ]
        return losses[rng.integers(len(losses))]

    def mixed(self) -> Array:
        """An n×m matrix, now and then of a kind that hides a derivative from single values."""
        rng, (m, n) = self.rng, self.matrix.shape
        x = random(rng, n, m, dtype=self.dtype)
        kind = rng.integers(4)
        if kind == 1:
            return x - np.eye(n, m) * x
        if kind == 2:
            single = np.zeros_like(x)
            single[rng.integers(n), rng.integers(m)] = (
                rng.choice([1, 1j]).astype(x.dtype) if (x.dtype.kind == "c") else 1
            )
            return single
        return x - x.T if kind == 3 and m == n else x

    def check(self, loss: Loss, direction: Array) -> None:
        """The gradient is NaN, or the slope of the loss, which is then smooth."""
        gradient = np.asarray(tn.grad(loss)(tn.Tensor(self.matrix)))
        if np.isnan(gradient).any():
            return
        exact = self.matrix.astype(np.result_type(self.dtype, "float64"))
        tolerance = TOLERANCE[self.dtype.name] * (1 + np.abs(gradient).max())

        def value(x: Array) -> Any:
            return loss(tn.Tensor(x))

        slope = difference(value, exact, direction)
        assert abs(slope - inner(gradient, direction)) < tolerance
        assert kink(value, exact, direction) < 10 * tolerance


def make_eigh_case(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dtype, n = rng.choice(DTYPES), int(rng.integers(1, 6))
    values = np.sort(rng.choice([-2.0, 1.0, 1.0, 2.0, 2.0, 4.0], size=n))
    vectors = np.eye(n) if rng.random() < 0.3 else unitary(rng, n, dtype)
    a = ((vectors * values) @ adjoint(vectors)).astype(dtype)
    case = Case(rng, values, (a + adjoint(a)) / 2, rng.choice(["nan", "project"]))
    case.check(case.eigh_loss(), hermitian(rng, n, dtype))


def make_svd_case(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dtype, (m, n) = rng.choice(DTYPES), rng.integers(1, 6, 2)
    values = np.sort(rng.choice([0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.5], size=min(m, n)))[::-1]
    a = with_singular_values(rng, m, n, values, dtype).astype(dtype)
    diagonal = rng.random() < 0.3
    if diagonal:
        a = np.zeros((m, n), dtype)
        np.fill_diagonal(a, values)
    case = Case(rng, values, a, rng.choice(["nan", "project"]), diagonal)
    case.check(case.svd_loss(), random(rng, m, n, dtype=dtype))


@pytest.mark.exhaustive
@pytest.mark.parametrize("check", [make_eigh_case, make_svd_case])
def test_no_gradient_is_finite_and_wrong(check: Callable[[int], None], programs: int) -> None:
    settings(max_examples=programs // 2)(given(st.integers(0, 2**32 - 1))(check))()


POINTS = {
    "equal": np.eye(4),
    "Kronecker": np.kron(np.diag([1.0, 2.0]), np.eye(2)),
    "(1,1,1,2,2,4)": with_singular_values(
        np.random.default_rng(5), 6, 6, [4, 2, 2, 1, 1, 1], float
    ),
    "tall": np.eye(5, 3) * 2,
    "rank-deficient": with_singular_values(np.random.default_rng(6), 4, 3, [2, 2, 0]),
}
each_point = pytest.mark.parametrize("name", POINTS)


def assert_gradient(loss: Loss, a: Array) -> None:
    rng = np.random.default_rng(0)
    gradient = np.asarray(tn.grad(loss)(tn.Tensor(a)))
    direction = random(rng, *a.shape, dtype=a.dtype)
    slope = difference(lambda x: loss(tn.Tensor(x)), a, direction)
    assert abs(inner(gradient, direction) - slope) < 1e-6 * (1 + abs(slope))


@each_point
@pytest.mark.parametrize("dtype", [float, complex])
def test_project_gives_the_derivative_of_losses_of_whole_clusters(name: str, dtype: type) -> None:
    a = POINTS[name].astype(dtype)
    rng = np.random.default_rng(1)
    operator = hermitian(rng, len(a), dtype)

    def energies(x: Any) -> Any:
        return tn.sum(tn.linalg.svd(x, degenerate="project").S ** 2)

    def projector(x: Any) -> Any:
        s = np.linalg.svd(a, compute_uv=False)
        top = (s > s[0] - 1e-9).astype(float)
        u = tn.linalg.svd(x, False, degenerate="project").U
        return expectation(operator, u, top)

    assert_gradient(energies, a)
    assert_gradient(projector, a)


@each_point
@pytest.mark.parametrize("mode", ["nan", "project"])
def test_a_function_of_the_matrix_is_not_a_function_of_single_vectors(name: str, mode: str) -> None:
    a = POINTS[name]
    operator = hermitian(np.random.default_rng(2), len(a))
    operator -= np.diag(np.diag(operator))

    def loss(x: Any) -> Any:
        u, s, _ = tn.linalg.svd(x, False, degenerate=mode)
        return expectation(operator, u, tn.sqrt(1 + s))

    assert np.isnan(np.asarray(tn.grad(loss)(tn.Tensor(a)))).all()


HERMITIAN = [np.eye(4), np.kron(np.diag([1.0, 2.0]), np.eye(2)), np.diag([1.0, 1, 1, 2, 2, 4])]


@pytest.mark.exhaustive(but=3)
@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("dtype", [float, complex])
def test_eigh_is_right_or_nan_for_each_kind_of_loss(place: int, dtype: type) -> None:
    rng = np.random.default_rng(9)
    n = len(HERMITIAN[place])
    turn, operator = unitary(rng, n, dtype), hermitian(rng, n, dtype)
    a = turn @ HERMITIAN[place] @ adjoint(turn)
    a = (a + adjoint(a)) / 2
    low = (np.linalg.eigvalsh(a) < 1.5).astype(float)
    assert_gradient(lambda x: tn.sum(tn.linalg.eigvalsh(x) ** 3), a)
    assert_gradient(
        lambda x: expectation(operator, tn.linalg.eigh(x, degenerate="project")[1], low), a
    )

    def entropy(x: Any, mode: str) -> Any:
        w, v = tn.linalg.eigh(x, degenerate=mode)
        return expectation(operator, v, tn.log(w))

    def hessian(x: Any) -> Any:
        gradient = tn.grad(lambda y: tn.sum(tn.linalg.eigvalsh(y) ** 3))(x)
        return tn.real(tn.sum(gradient * operator.conj()))

    for loss in (lambda x: entropy(x, "nan"), lambda x: entropy(x, "project"), hessian):
        assert np.isnan(np.asarray(tn.grad(loss)(tn.Tensor(a)))).all()


@each_point
def test_broaden_is_finite_always(name: str) -> None:
    a = POINTS[name]
    ct = random(np.random.default_rng(3), len(a), min(a.shape))

    def loss(x: Any) -> Any:
        return tn.sum(tn.linalg.svd(x, False, degenerate="broaden").U * ct)

    assert np.isfinite(np.asarray(tn.grad(loss)(tn.Tensor(a)))).all()
    if a.shape[0] == a.shape[1]:
        gradient = tn.grad(lambda x: tn.sum(tn.linalg.eigh(x, degenerate="broaden")[1] * ct))
        assert np.isfinite(np.asarray(gradient(tn.Tensor(a)))).all()


def test_broaden_is_close_to_the_derivative_at_simple_values() -> None:
    rng = np.random.default_rng(4)
    a, operator = random(rng, 4, 3), hermitian(rng, 4)

    def gradient(mode: str) -> Array:
        def loss(x: Any) -> Any:
            return expectation(operator, tn.linalg.svd(x, degenerate=mode).U[:, :2], 1.0)

        return np.asarray(tn.grad(loss)(tn.Tensor(a)))

    np.testing.assert_allclose(gradient("broaden"), gradient("nan"), rtol=1e-8, atol=1e-9)


def test_a_batch_keeps_the_gradients_of_its_regular_matrices() -> None:
    rng = np.random.default_rng(7)
    batch = np.stack([random(rng, 3, 3), np.eye(3), random(rng, 3, 3), np.full((3, 3), np.nan)])
    operator = hermitian(rng, 3)

    def loss(x: Any) -> Any:
        return tn.sum((tn.linalg.svd(x).U[..., :1] * operator[:, :1]) ** 2)

    gradient = np.asarray(tn.grad(loss)(tn.Tensor(batch)))
    assert np.isnan(gradient[[1, 3]]).all()
    alone = np.asarray(tn.grad(loss)(tn.Tensor(batch[[0, 2]])))
    np.testing.assert_array_equal(gradient[[0, 2]], alone)


def test_tangents_through_a_cluster_exist_only_if_it_is_not_split() -> None:
    a = np.diag([3.0, 1.0, 1.0])
    split, moved = np.zeros((3, 3)), np.diag([0.5, 2.0, 2.0])
    split[1, 2] = split[2, 1] = 1.0
    moved[0, 1] = 1.0
    for f in (tn.linalg.svdvals, tn.linalg.eigvalsh):
        assert np.isnan(np.asarray(tn.jvp(f, (a,), (split,))[1])).all()
    tangent = np.asarray(tn.jvp(tn.linalg.svdvals, (a,), (moved,))[1])
    np.testing.assert_allclose(tangent, [0.5, 2.0, 2.0])


def test_second_derivatives_at_simple_values_are_differences_of_gradients() -> None:
    rng = np.random.default_rng(8)
    for dtype in (float, complex):
        a, d = random(rng, 4, 3, dtype=dtype), random(rng, 4, 3, dtype=dtype)
        operator = hermitian(rng, 4, dtype)

        def loss(x: Any, operator: Array = operator) -> Any:
            u, s, _ = tn.linalg.svd(x, False)
            return expectation(operator, u, tn.exp(s))

        gradient = tn.grad(loss)
        slope = difference(lambda x: gradient(tn.Tensor(x)), a, d)  # noqa: B023  # used at once
        forward = tn.jvp(gradient, (tn.Tensor(a),), (tn.Tensor(d),))[1]
        reverse = tn.grad(lambda x: tn.real(tn.sum(tn.conj(d) * gradient(x))))(tn.Tensor(a))  # noqa: B023
        scale = np.abs(slope).max()
        np.testing.assert_allclose(np.asarray(forward), slope, atol=1e-7 * scale)
        np.testing.assert_allclose(np.asarray(reverse), slope, atol=1e-7 * scale)


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("shape", [(5, 2), (2, 2), (2, 4)])
def test_a_slope_at_zero_is_seen_in_every_basis(shape: tuple[int, int], dtype: type) -> None:
    a = np.zeros(shape, dtype)
    for place, size in ((0, shape[0]), (2, shape[1])):
        operator = np.ones((size, size), dtype) - np.eye(size)

        def loss(x: Any, place: int = place, operator: Array = operator) -> Any:
            factors: Any = tn.linalg.svd(x, False, degenerate="project")
            vectors = factors[place] if place == 0 else transposed(factors[place])
            return expectation(operator, vectors, tn.exp(factors.S))

        assert np.isnan(np.asarray(tn.grad(loss)(tn.Tensor(a)))).all()
