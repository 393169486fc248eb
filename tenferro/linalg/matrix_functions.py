"""expm, logm, sqrtm, functions of Hermitian matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

from tenferro.errors import ConfigError, ShapeError
from tenferro.families.linalg import (
    Frechet,
    MatrixFunction,
    hermitian_derivative,
    hermitian_function,
)
from tenferro.ir import AnyTensor, ArrayLike, TensorMeta, assume_equal, canonical
from tenferro.linalg.arguments import floating, integer, known, same_batch, square
from tenferro.ops.extension import Extension
from tenferro.ops.functions import apply, array_function, emit, named

__all__ = ["ExpmFrechetResult", "expm", "expm_frechet", "funm_hermitian", "logm", "sqrtm"]


@array_function(module="tenferro.linalg")
def expm(a: ArrayLike, *, assume_a: str = "gen") -> AnyTensor:
    """The exponential of square matrices.

    Args:
        a: matrices, of shape [..., n, n].
        assume_a: "gen", or "her" for Hermitian ones, of which (a + aᴴ) / 2 is read; see
            `funm_hermitian`.

    Raises:
        ShapeError: a is not square.
        DTypeError: a is of half precision.
        ConfigError: `assume_a` is neither.

    >>> tn.linalg.expm([[0.0, 1.0], [0.0, 0.0]])
    Tensor([[1., 1.],
            [0., 1.]])
    """
    return _function("expm", "exp", a, assume_a)


@array_function(module="tenferro.linalg")
def logm(a: ArrayLike, *, assume_a: str = "gen") -> AnyTensor:
    """The principal logarithm of square matrices.

    The dtype is kept: the result is NaN for a real matrix with a negative eigenvalue. Convert it to
    a complex one for the complex result. It is NaN for a singular matrix too. Parameters are as in
    `expm`.

    >>> tn.linalg.logm([[1.0, 3.0], [0.0, 1.0]])
    Tensor([[0., 3.],
            [0., 0.]])
    """
    return _function("logm", "log", a, assume_a)


@array_function(module="tenferro.linalg")
def sqrtm(a: ArrayLike, *, assume_a: str = "gen") -> AnyTensor:
    """The principal square root of square matrices.

    The dtype is kept, with NaN for a real matrix with a negative eigenvalue, as in `logm`. The
    result is NaN for a matrix without a square root too. Parameters are as in `expm`.

    >>> tn.linalg.sqrtm([[4.0, 1.0], [0.0, 4.0]])
    Tensor([[2.  , 0.25],
            [0.  , 2.  ]])
    """
    return _function("sqrtm", "sqrt", a, assume_a)


def _check_assumption(name: str, assume_a: str) -> None:
    if assume_a not in ("gen", "her"):
        raise ConfigError(f"{name}: assume_a must be 'gen' or 'her', got {assume_a!r}")


def _function(name: str, function: str, a: Any, assume_a: str) -> Any:
    _check_assumption(name, assume_a)
    value = square(name, a)
    if assume_a == "her":
        result: Any = hermitian_function(value, function)
        return result
    return emit(Extension(MatrixFunction(function)), value)


class ExpmFrechetResult(NamedTuple):
    """Of `expm_frechet`."""

    expm: AnyTensor
    derivative: AnyTensor


def expm_frechet(
    a: ArrayLike, e: ArrayLike, *, compute_expm: bool = True, assume_a: str = "gen"
) -> ExpmFrechetResult | AnyTensor:
    """The exponential of square matrices, and its derivative along others.

    Args:
        a: matrices, of shape [..., n, n].
        e: the directions, of shape [..., n, n].
        compute_expm: whether both are returned, or the derivative alone.
        assume_a: "gen", or "her" for Hermitian a and e, of which (x + xᴴ) / 2 is read.

    Raises:
        ShapeError: an operand is not square, or the sizes differ.
        DTypeError: an operand is of half precision.
        ConfigError: `assume_a` is neither.

    >>> tn.linalg.expm_frechet([[0.0]], [[3.0]]).derivative
    Tensor([[3.]])
    """
    whole = ExpmFrechetResult(*apply(_expm_frechet, a, e, assume_a=assume_a))
    return whole if compute_expm else whole.derivative


@named("expm_frechet")
def _expm_frechet(a: Any, e: Any, *, assume_a: str = "gen") -> tuple[Any, Any]:
    """The exponential and its derivative; see `expm_frechet`."""
    _check_assumption("expm_frechet", assume_a)
    lhs, rhs = floating("expm_frechet", a, e)
    lhs, rhs = square("expm_frechet", lhs), square("expm_frechet", rhs)
    metas: list[TensorMeta] = [value.meta for value in (lhs, rhs)]
    n, m = (meta.exact_shape("expm_frechet")[-1] for meta in metas)
    if canonical(n, m) is None:
        raise ShapeError(f"expm_frechet: a {metas[0]} and e {metas[1]} differ in rows: {n} and {m}")
    assume_equal(n, m, f"expm_frechet: a {metas[0]} and e {metas[1]}")
    lhs, rhs = same_batch("expm_frechet", lhs, rhs)
    if assume_a == "her":
        return hermitian_function(lhs, "exp"), hermitian_derivative(lhs, rhs, "exp")
    tangent = emit(Extension(Frechet("exp")), lhs, rhs)
    return emit(Extension(MatrixFunction("exp")), lhs), tangent


@array_function(module="tenferro.linalg")
def funm_hermitian(x: ArrayLike, /, name: str, parameter: float | None = None) -> AnyTensor:
    """V h(w) Vᴴ for Hermitian matrices V diag(w) Vᴴ, with derivatives at equal eigenvalues too.

    Reads (x + xᴴ) / 2. Derivatives of all orders are exact where eigenvalues are equal, and use one
    factorization with the value. The derivative in the direction E is V (h[w_i, w_j] ∘ VᴴEV) Vᴴ,
    with h[a, b] = (h(a) − h(b)) / (a − b), or h'(a) where a = b.

    The names are "exp", "log", "sqrt", "rsqrt" (w^(−1/2)), "power" (w^parameter), "inverse", "abs",
    "sign", "xlogx" (w log w, 0 at 0), "step" (1 for the `parameter` smallest eigenvalues, the
    projector on their space) and "keep" (w for these and 0 for others). A negative parameter of
    "step" and "keep" takes the largest ones. Where h is not defined the matrix is NaN, and where
    it has no derivative the derivative is infinite or NaN.

    Args:
        x: matrices, of shape [..., n, n].
        name: h.
        parameter: the exponent of "power", and the number of eigenvalues of "step" and "keep".

    Raises:
        ShapeError: x is not square.
        ConfigError: there is no function of this name, or it takes another parameter.

    Source: Higham, Functions of Matrices, chapter 3; Daleckii and Krein 1965.

    >>> tn.linalg.funm_hermitian([[2.0, 0.0], [0.0, 3.0]], "power", 2)
    Tensor([[4., 0.],
            [0., 9.]])
    """
    known("funm_hermitian", "parameter", parameter)
    if name in ("step", "keep"):
        count = integer("funm_hermitian", "parameter", parameter)
        parameter = parameter if count is None else count
    a = square("funm_hermitian", x)
    result: Any = hermitian_function(a, name, parameter)
    return result
