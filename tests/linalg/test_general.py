"""Eigenvalues, functions and unitary forms of general matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
import scipy.linalg

import tenferro as tn
from tenferro import linalg
from tenferro.errors import ConfigError, DTypeError, ShapeError, UnsupportedADRuleError
from tests.in_jax import in_jax
from tests.linalg.differences import Array, assert_derivatives, random, weighted

EVERYWHERE = pytest.mark.parametrize(
    ("executor", "dtype"), [*[("numpy", dtype) for dtype in "fdFD"], ("xla", "f"), ("xla", "D")]
)
KINDS = pytest.mark.parametrize("dtype", ["d", "D"])
EXECUTORS = pytest.mark.parametrize("executor", ["numpy", "xla"])
N = 4


def general(dtype: str, *, seed: int = 0) -> Array:
    return random(np.random.default_rng(seed), (3, N, N), dtype)


def near_positive(dtype: str) -> Array:
    """Matrices with a principal logarithm and square root, not Hermitian."""
    a = general(dtype)
    product = a @ a.conj().swapaxes(-1, -2) + np.eye(N) + general(dtype, seed=1) / 4
    return product.astype(dtype)


def precision(dtype: str) -> float:
    return 1e-3 if dtype in "fF" else 1e-10


def functions(executor: str) -> dict[str, Callable[..., Any]]:
    jitted = {
        "eig": tn.jit(lambda a: linalg.eig(a), executor=executor),
        "eigvals": tn.jit(lambda a: linalg.eigvals(a), executor=executor),
        "expm": tn.jit(lambda a: linalg.expm(a), executor=executor),
        "logm": tn.jit(lambda a: linalg.logm(a), executor=executor),
        "sqrtm": tn.jit(lambda a: linalg.sqrtm(a), executor=executor),
        "schur": tn.jit(lambda a: linalg.schur(a), executor=executor),
        "hessenberg": tn.jit(lambda a: linalg.hessenberg(a, calc_q=True), executor=executor),
    }
    return dict(jitted)


COMPILED = {executor: functions(executor) for executor in ("numpy", "xla")}


def assert_close(actual: Any, expected: Array, dtype: str) -> None:
    tolerance = precision(dtype)
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=0, atol=tolerance * scale)


@pytest.mark.exhaustive(but=1)
@EVERYWHERE
def test_eig_diagonalizes_with_unit_columns_and_real_pivots(dtype: str, executor: str) -> None:
    a = general(dtype)
    values, vectors = map(np.asarray, COMPILED[executor]["eig"](a))
    assert values.dtype == vectors.dtype == np.result_type(dtype, np.complex64)
    assert_close(a @ vectors, vectors * values[:, None], dtype)
    assert_close(np.sum(np.abs(vectors) ** 2, axis=-2), np.ones((3, N)), dtype)
    place = np.argmax(np.abs(vectors), axis=-2)[:, None]
    pivots = np.take_along_axis(vectors, place, -2)
    assert (pivots.real > 0).all()
    assert (pivots.imag == 0).all()
    alone = np.asarray(COMPILED[executor]["eigvals"](a))
    assert_close(np.sort_complex(alone.round(4)), np.sort_complex(values.round(4)), dtype)


def test_of_entries_as_large_the_first_is_real() -> None:
    vectors = np.asarray(linalg.eig([[0.0, 1.0], [-1.0, 0.0]]).eigenvectors)
    np.testing.assert_allclose(vectors[0], [2**-0.5, 2**-0.5])
    np.testing.assert_allclose(np.sort(vectors[1].imag), [-(2**-0.5), 2**-0.5])


@KINDS
def test_eig_is_differentiable_with_fixed_phases(dtype: str) -> None:
    weights = random(np.random.default_rng(3), (3, N, N), "D")
    assert_derivatives(lambda a: weighted(linalg.eig(a).eigenvectors, weights), [general(dtype)])


@pytest.mark.exhaustive(but=1)
@KINDS
def test_eig_is_differentiable_in_a_loss_without_phases(dtype: str) -> None:
    def loss(a: Any) -> Any:
        values, vectors = linalg.eig(a)
        return tn.sum(tn.abs(vectors) ** 4) + tn.sum(tn.real(values * values * values))

    assert_derivatives(loss, [general(dtype)])


@KINDS
def test_gradient_of_eigenvalues_is_the_conjugate_of_that_of_jax(dtype: str) -> None:
    a = general(dtype)[0]
    ours = tn.grad(lambda x: tn.sum(tn.abs(linalg.eigvals(x)) ** 3))(a)
    theirs = in_jax(jax.grad(lambda x: jax.numpy.sum(abs(jax.numpy.linalg.eigvals(x)) ** 3)), a)
    assert_close(ours, np.conj(theirs), dtype)


JORDAN = np.array([[2.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
NILPOTENT = np.diag([1.0, 1.0], 1)
TURN = np.random.default_rng(5).normal(size=(3, 3))


@pytest.mark.parametrize("dtype", ["f", "d", "D"])
@pytest.mark.parametrize(
    "a",
    [np.eye(3), np.zeros((3, 3)), JORDAN, NILPOTENT]
    + [TURN @ form @ np.linalg.inv(TURN) for form in (JORDAN, NILPOTENT)],
    ids=["one", "zero", "jordan", "nilpotent", "turned jordan", "turned nilpotent"],
)
def test_gradient_of_eig_is_nan_where_eigenvalues_are_equal(a: Array, dtype: str) -> None:
    batch = np.stack([a, np.diag([1.0, 2.0, 4.0])]).astype(dtype)

    def loss(x: Any) -> Any:
        return tn.sum(tn.real(linalg.eigvals(x) ** 2))

    gradient = np.asarray(tn.grad(loss)(batch))
    assert np.isnan(gradient[0]).all()
    np.testing.assert_allclose(gradient[1], 2 * batch[1], atol=1e-6)


@pytest.mark.exhaustive
def test_no_gradient_of_nearly_defective_matrices_is_finite_and_wrong() -> None:
    """The sum of λ³ is the trace of A³; its gradient is known."""
    rng = np.random.default_rng(0)
    forms = [np.diag([1.0, 1.0, 2.0, 3.0]), np.diag([1.0, 1.0, 1.0], 1)]
    forms += [forms[0] + np.diag([1.0, 0, 0], 1), np.eye(4) + np.diag([1.0, 1.0, 0], 1)]
    matrices = []
    for number in range(400):
        turn = rng.normal(size=(4, 4))
        noise = 10.0 ** rng.uniform(-16, 0) * rng.normal(size=(4, 4))
        matrices.append(turn @ forms[number % 4] @ np.linalg.inv(turn) + noise)
    a = np.array(matrices)
    gradient = np.asarray(tn.grad(lambda x: tn.sum(tn.real(linalg.eigvals(x) ** 3)))(a))
    expected = 3 * np.swapaxes(a @ a, -1, -2)
    error = np.abs(gradient - expected).max((-2, -1)) / np.abs(a).max((-2, -1)) ** 2
    assert 0.1 < np.isnan(error).mean() < 0.6
    assert np.nanmax(error) < 1e-5


def test_derivatives_near_defective_matrices_are_right_or_nan_at_every_scale() -> None:
    """Those of Σλ³ = tr A³ along E to the third order, for Jordan forms with δ in a corner."""
    rng = np.random.default_rng(0)
    blocks = np.diag([1.0, 1.0, 2.0]) + np.diag([1.0, 0.0], 1), np.eye(3) + np.diag([1.0, 1.0], 1)
    a = np.array([form for form in (*blocks, np.diag([1.0, 1.0, 2.0])) for _ in range(60)])
    a[:, 1, 0] = a[:, 2, 0] = np.tile(10.0 ** np.linspace(-16, -1, 60), 3)
    turns = rng.normal(size=a.shape)
    a, e = turns @ a @ np.linalg.inv(turns), rng.normal(size=a.shape)
    s = np.resize([1.0, 2.0**-500, 2.0**500], (len(a), 1, 1))

    def loss(x: Any) -> Any:
        return tn.sum(tn.real((linalg.eigvals(x) / s[..., 0]) ** 3), axis=-1)

    def along(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: tn.jvp(function, (x,), (s * e,))[1]

    def back(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        gradient = tn.grad(lambda x: tn.sum(function(x)))
        return lambda x: tn.sum(gradient(x) * (s * e), axis=(-2, -1))

    exact = [np.trace(x, axis1=1, axis2=2) for x in (3 * a @ a @ e, 6 * a @ e @ e, 6 * e @ e @ e)]
    size = [np.linalg.norm(x, axis=(1, 2)) for x in (a, e)]
    first, second = along(loss), along(along(loss))
    orders = [(first, 1), (back(loss), 1), (second, 2), (back(first), 2), (along(second), 3)]
    for function, order in orders:
        found = np.asarray(tn.jit(function, executor="numpy")(s * a))
        error = np.abs(found - exact[order - 1]) / (size[0] ** (3 - order) * size[1] ** order)
        assert 0.2 < np.isnan(found).mean() < 0.9
        assert np.nanmax(error) < 1e-3


@pytest.mark.parametrize("exponent", [-548, 565])
def test_second_derivatives_of_eigenvectors_do_not_depend_on_the_scale(exponent: int) -> None:
    """Squares of gaps are too small, or too large, for the dtype."""
    a, e = general("d")[:2]
    weights = random(np.random.default_rng(3), (N, N), "D")

    def loss(x: Any) -> Any:
        return weighted(linalg.eig(x).eigenvectors, weights)

    def second(scale: float) -> list[float]:
        def forward(x: Any) -> Any:
            return tn.jvp(loss, (x,), (scale * e,))[1]

        def reverse(x: Any) -> Any:
            return tn.sum(tn.grad(loss)(x) * (scale * e))

        return [float(tn.jvp(f, (scale * a,), (scale * e,))[1]) for f in (forward, reverse)]

    np.testing.assert_allclose(second(2.0**exponent), second(1.0), rtol=1e-9)


# --------------------------------------------------------------------------------------- functions


@pytest.mark.exhaustive
@EVERYWHERE
def test_matrix_functions_are_those_of_scipy(dtype: str, executor: str) -> None:
    compiled = COMPILED[executor]
    a, p = general(dtype), near_positive(dtype)
    found = {name: compiled[name](x) for name, x in (("expm", a), ("logm", p), ("sqrtm", p))}
    wide = np.result_type(dtype, np.float64)
    assert_close(found["expm"], scipy.linalg.expm(a.astype(wide)), dtype)
    assert_close(found["logm"], scipy.linalg.logm(p.astype(wide)), dtype)
    assert_close(found["sqrtm"], scipy.linalg.sqrtm(p.astype(wide)), dtype)
    assert all(np.asarray(each).dtype == np.dtype(dtype) for each in found.values())


@pytest.mark.exhaustive
@KINDS
@pytest.mark.parametrize("name", ["expm", "logm", "sqrtm"])
def test_matrix_functions_are_differentiable(name: str, dtype: str) -> None:
    weights = random(np.random.default_rng(3), (3, N, N), dtype)
    a = general(dtype) if name == "expm" else near_positive(dtype)
    assert_derivatives(lambda x: weighted(getattr(linalg, name)(x), weights), [a])


@pytest.mark.exhaustive
@KINDS
def test_gradient_of_expm_is_the_conjugate_of_that_of_jax(dtype: str) -> None:
    a = general(dtype)[0]
    ours = tn.grad(lambda x: tn.sum(tn.abs(linalg.expm(x)) ** 2))(a)
    theirs = in_jax(jax.grad(lambda x: jax.numpy.sum(abs(jax.scipy.linalg.expm(x)) ** 2)), a)
    assert_close(ours, np.conj(theirs), dtype)


@pytest.mark.exhaustive
@KINDS
def test_expm_frechet_is_that_of_scipy_and_differentiable(dtype: str) -> None:
    a, e = general(dtype), general(dtype, seed=2)
    value, derivative = linalg.expm_frechet(a, e)
    expected = scipy.linalg.expm_frechet(a[0], e[0])
    assert_close(np.asarray(value)[0], expected[0], dtype)
    assert_close(np.asarray(derivative)[0], expected[1], dtype)
    weights = general(dtype, seed=3)
    assert_derivatives(
        lambda x, y: weighted(linalg.expm_frechet(x, y, compute_expm=False), weights), [a, e]
    )


@EXECUTORS
@pytest.mark.parametrize(
    ("a", "root"),
    [
        ([[0.0, 1.0], [0.0, 0.0]], None),
        ([[-1.0, 0.0], [0.0, 2.0]], None),
        ([[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]),
        ([[0.0, 0.0], [0.0, 4.0]], [[0.0, 0.0], [0.0, 2.0]]),
        ([[4.0, 4.0], [0.0, 4.0]], [[2.0, 1.0], [0.0, 2.0]]),
    ],
)
def test_square_root_where_there_is_one(a: Any, root: Any, executor: str) -> None:
    batch = np.stack([np.array(a), np.eye(2)])
    found = np.asarray(COMPILED[executor]["sqrtm"](batch))
    np.testing.assert_allclose(found[0], np.full((2, 2), np.nan) if root is None else root)
    np.testing.assert_array_equal(found[1], np.eye(2))


@pytest.mark.exhaustive
@EXECUTORS
def test_logarithm_of_singular_and_of_negative_matrices_is_nan(executor: str) -> None:
    batch = np.stack([np.diag([0.0, 2.0]), np.diag([-1.0, 2.0]), np.diag([1e-20, 1.0])])
    found = np.asarray(COMPILED[executor]["logm"](batch))
    assert np.isnan(found[:2]).all()
    np.testing.assert_allclose(found[2], [[np.log(1e-20), 0], [0, 0]])
    turned = np.asarray(COMPILED[executor]["logm"](batch[1:2].astype(complex)))
    np.testing.assert_allclose(turned[0], np.diag([np.pi * 1j, np.log(2)]), atol=1e-14)


# ----------------------------------------------------------------------------------- unitary forms


@pytest.mark.exhaustive
@EVERYWHERE
@pytest.mark.parametrize("name", ["schur", "hessenberg"])
def test_unitary_forms(name: str, dtype: str, executor: str) -> None:
    a = general(dtype)
    form, basis = map(np.asarray, COMPILED[executor][name](a))
    assert_close(basis @ form @ basis.conj().swapaxes(-1, -2), a, dtype)
    assert_close(basis @ basis.conj().swapaxes(-1, -2), np.array([np.eye(N)] * 3), dtype)
    assert (np.tril(form, -2) == 0).all()


def test_complex_schur_form_of_real_matrices_is_triangular() -> None:
    a = general("d")
    form, basis = map(np.asarray, linalg.schur(a, output="complex"))
    assert (np.tril(form, -1) == 0).all()
    assert_close(basis @ form @ basis.conj().swapaxes(-1, -2), a, "d")
    np.testing.assert_array_equal(linalg.hessenberg(a), linalg.hessenberg(a, calc_q=True).H)


@pytest.mark.parametrize("name", ["schur", "hessenberg"])
def test_unitary_forms_say_that_they_have_no_derivative(name: str) -> None:
    def loss(a: Any) -> Any:
        return tn.sum(getattr(linalg, name)(a)[0])

    text = rf"tenferro-linalg.{name}.v1: has no derivative; differentiate "
    with pytest.raises(UnsupportedADRuleError, match=text):
        tn.grad(loss)(np.eye(2))


# ------------------------------------------------------------------------------ batches and errors


@pytest.mark.exhaustive
@EXECUTORS
@pytest.mark.parametrize("name", list(COMPILED["numpy"]))
def test_a_matrix_that_is_not_finite_leaves_the_others_as_they_are(
    name: str, executor: str
) -> None:
    function = COMPILED[executor][name]
    for value in (np.nan, np.inf):
        good = near_positive("d")
        bad = good.copy()
        bad[1, 0, 0] = value
        for expected, found in zip(_several(function(good)), _several(function(bad)), strict=True):
            assert np.isnan(found[1]).any()
            np.testing.assert_array_equal(found[[0, 2]], expected[[0, 2]])


def _several(results: Any) -> list[Array]:
    return [np.asarray(each) for each in (results if isinstance(results, tuple) else (results,))]


@pytest.mark.exhaustive
@EXECUTORS
@pytest.mark.parametrize("name", list(COMPILED["numpy"]))
@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 0)])
def test_empty_batches_and_matrices(name: str, shape: tuple[int, ...], executor: str) -> None:
    for result in _several(COMPILED[executor][name](np.zeros(shape))):
        assert result.shape[:2] == shape[:2]
        assert result.size == 0


@pytest.mark.parametrize("name", ["eig", "eigvals", "expm", "logm", "sqrtm", "schur", "hessenberg"])
def test_operands_that_are_refused(name: str) -> None:
    function = getattr(linalg, name)
    with pytest.raises(ShapeError, match=rf"{name}: takes square matrices, got f64\[2,3\]"):
        function(np.ones((2, 3)))
    with pytest.raises(ShapeError, match=rf"{name}: takes matrices \[..., m, n\], got f64\[3\]"):
        function(np.ones(3))
    with pytest.raises(DTypeError, match=rf"{name}: takes single and double precision"):
        function(np.ones((2, 2), np.float16))


def test_options_that_are_refused() -> None:
    with pytest.raises(ConfigError, match="schur: output must be 'real' or 'complex', got 'x'"):
        linalg.schur(np.eye(2), output="x")
    text = r"expm_frechet: a f64\[2,2\] and e f64\[3,3\] differ in rows: 2 and 3"
    with pytest.raises(ShapeError, match=text):
        linalg.expm_frechet(np.eye(2), np.eye(3))


def test_integers_become_double_precision() -> None:
    assert linalg.expm([[0, 0], [0, 0]]).dtype == tn.float64
    assert linalg.eigvals([[1, 0], [0, 2]]).dtype == tn.complex128


def test_powers_of_integers_and_bools_are_of_their_dtype() -> None:
    a = np.array([[1, 1], [0, 1]])
    for matrix, n in ((a, 5), (a, 0), (a, -2), (a > 0, 2), (a > 0, 0)):
        expected = np.linalg.matrix_power(matrix, n)
        actual = linalg.matrix_power(matrix, n)
        assert actual.dtype == expected.dtype
        np.testing.assert_allclose(actual, expected)
