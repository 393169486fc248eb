"""Options of `tn.linalg`: what they mean, and typed errors for wrong ones before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ConfigError, DTypeError, ShapeError, TenferroError, TracingError
from tests.linalg.matrices import hermitian, random
from tests.tolerances import assert_close

RNG = np.random.default_rng(0)
A = RNG.normal(size=(3, 3))

WRONG: list[tuple[Callable[[], Any], type[TenferroError], str]] = [
    (lambda: tn.linalg.eigvalsh(A[:2]), ShapeError, r"eigvalsh: takes square matrices, got f64"),
    (lambda: tn.linalg.eigh(A, width="x"), ConfigError, "eigh: width must be a number"),  # type: ignore[arg-type]
    (lambda: tn.linalg.svd(A, width=-1.0), ConfigError, "svd: width must be a number"),
    (lambda: tn.linalg.pinv(A, rtol=-1.0), ConfigError, "pinv: rtol must be a number"),
    (lambda: tn.linalg.pinv(A, rtol=A * 1j), DTypeError, "pinv: rtol must be real"),
    (lambda: tn.linalg.lstsq(A, A, "x"), ConfigError, "lstsq: rcond must be a number"),  # type: ignore[arg-type]
    (lambda: tn.linalg.matrix_rank(A, 1, rtol=1), ConfigError, "takes tol or rtol, not both"),
    (lambda: tn.linalg.trace(A, offset=0.5), ConfigError, "trace: offset must be an integer"),  # type: ignore[arg-type]
    (lambda: tn.linalg.solve_triangular(A, A, trans=[1]), ConfigError, "trans must be"),  # type: ignore[arg-type]
    (lambda: tn.linalg.lu_solve(A, A), ConfigError, "lu_solve: lu_and_piv must be a pair"),  # type: ignore[arg-type]
    (lambda: tn.linalg.cho_solve(A, A), ConfigError, "cho_solve: c_and_lower must be a pair"),  # type: ignore[arg-type]
    (lambda: tn.linalg.multi_dot([A, A[:2]]), ShapeError, "multi_dot: operand 0 .* 3 columns"),
    (lambda: tn.linalg.multi_dot(3), DTypeError, "multi_dot: takes a sequence of arrays, got int"),  # type: ignore[arg-type]
    (lambda: tn.linalg.multi_dot("ab"), DTypeError, "multi_dot: takes a sequence of .*, got str"),  # type: ignore[arg-type]
    (lambda: tn.linalg.expm_frechet(A, A, assume_a="x"), ConfigError, "expm_frechet: assume_a"),
]


@pytest.mark.parametrize(("call", "error", "text"), WRONG)
def test_a_wrong_option_is_a_typed_error(
    call: Callable[[], Any], error: type[TenferroError], text: str
) -> None:
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda x, k: tn.linalg.eigh_block(x, k)[0],
        lambda x, k: tn.linalg.svd_truncate(x, max_rank=k),
        lambda x, k: tn.linalg.svd_truncate(x, cutoff=k),
        lambda x, k: tn.linalg.funm_hermitian(x, "power", k),
        lambda x, k: tn.linalg.tensorinv(x, k),
        lambda x, k: tn.linalg.trace(x, offset=k),
        lambda x, k: tn.linalg.eigh(x, width=k)[0],
    ],
)
def test_a_traced_option_is_a_tracing_error(call: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(TracingError, match="static_argnames"):
        tn.jit(call, executor="numpy")(A, tn.asarray(1))


def test_tolerances_may_be_arrays() -> None:
    a = random(RNG, 2, 3, 3)
    a[0, :, 2] = a[0, :, 1] * (1 + 1e-9)
    limits = np.array([1e-6, 1e-12])
    expected = np.linalg.pinv(a, rcond=limits)
    compiled = tn.jit(lambda x, t: tn.linalg.pinv(x, rtol=t))
    assert_close(tn.linalg.pinv(a, rtol=limits), expected, 1e-6)
    assert_close(compiled(a, limits), expected, 1e-6)
    assert np.array_equal(np.asarray(tn.linalg.matrix_rank(a, rtol=limits)), [2, 3])
    assert int(tn.linalg.matrix_rank(np.diag([1.0, 1e-3]), 1e-2, hermitian=True)) == 1


def test_norms_of_no_elements_and_products_of_integers() -> None:
    for order in (1, np.inf):
        assert float(tn.linalg.matrix_norm(np.ones((3, 0)), ord=order)) == 0
    assert np.array_equal(np.asarray(tn.linalg.norm(np.ones((0, 2)), np.inf, axis=0)), [0, 0])
    product = tn.linalg.multi_dot([np.ones((1, 2), int), np.ones((2, 1), int)])
    assert product.dtype == np.dtype("int64")
    assert tn.linalg.trace(np.eye(2), dtype="float32").dtype == np.dtype("float32")
    assert tn.linalg.lu(A * 1j)[0].dtype == np.dtype("float64")


def test_the_derivative_of_the_exponential_by_eigenvalues() -> None:
    a, e = hermitian(RNG, 3, complex), hermitian(RNG, 3, complex)
    for one, other in zip(
        tn.linalg.expm_frechet(a, e, assume_a="her"), tn.linalg.expm_frechet(a, e), strict=True
    ):
        assert_close(one, np.asarray(other), 1e-10)


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("gap", [0.0, 1e-8])
def test_second_derivatives_at_equal_and_nearly_equal_values_are_nan(gap: float) -> None:
    """They divide by the square of the gap."""
    a, operator = np.diag([1.0, 1.0 + gap, 2.0]), hermitian(RNG, 3)
    hollow = operator - np.diag(np.diag(operator))

    def eigh_loss(x: Any) -> Any:
        w, v = tn.linalg.eigh(x, degenerate="project")
        return tn.sum(w**2) + tn.sum((v[:, 2:] @ v[:, 2:].mT) * operator)

    def svd_loss(x: Any) -> Any:
        u, s, _ = tn.linalg.svd(x, degenerate="project")
        return tn.sum(s**2) + tn.sum((u[:, :1] @ u[:, :1].mT) * operator)

    for loss in (eigh_loss, svd_loss):
        gradient = tn.grad(loss)
        assert np.isfinite(np.asarray(gradient(tn.Tensor(a)))).all()
        for along in (hollow, np.eye(3)):
            forward = tn.jvp(gradient, (tn.Tensor(a),), (tn.Tensor(along),))[1]
            reverse = tn.grad(lambda x: tn.sum(along * gradient(x)))(tn.Tensor(a))  # noqa: B023
            assert np.isnan(np.asarray(forward)).all()
            assert np.isnan(np.asarray(reverse)).all()


def test_a_loss_of_both_vectors_of_a_zero_is_nan_at_special_matrices_too() -> None:
    def loss(x: Any) -> Any:
        u, _, vh = tn.linalg.svd(x, degenerate="project")
        return tn.real(tn.sum((u @ vh) * np.array([[0.0, 1.0], [1.0, 0.0]])))

    a = np.diag([1.0, 0.0])
    for dtype in (float, complex):
        assert np.isnan(np.asarray(tn.grad(loss)(tn.Tensor(a.astype(dtype))))).all()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda a: tn.linalg.eigh(a, a), "eigh: UPLO must be 'L' or 'U', got array"),
        (lambda a: tn.linalg.eigvalsh(a, a), "eigvalsh: UPLO must be 'L' or 'U', got array"),
        (lambda a: tn.linalg.cholesky(a, upper=a), "cholesky: upper is an array of shape"),
        (lambda a: tn.linalg.qr(a, mode=a), "qr: mode is an array of shape"),
        (lambda a: tn.linalg.norm(a, keepdims=a), "norm: keepdims is an array of shape"),
        (lambda a: tn.linalg.pinv(a, hermitian=a), "pinv: hermitian is an array of shape"),
        (lambda a: tn.linalg.matrix_rank(a, hermitian=a), "matrix_rank: hermitian is an array"),
        (lambda a: tn.linalg.cho_solve((a, a), a), "cho_solve: whether the factor is the lower"),
        (lambda a: tn.sum(a, keepdims=a), "sum: keepdims is an array of shape"),
        (lambda a: tn.sum(a, keepdims=np.array([True])), "sum: keepdims is an array of shape"),
    ],
)
def test_an_array_in_place_of_an_option_is_refused(call: Any, text: str) -> None:
    for run in (call, tn.jit(lambda x: call(np.eye(2)) + x, executor="numpy")):
        with pytest.raises(ConfigError, match=text):
            run(np.eye(2))
