"""Eigenvalues, functions and unitary forms of general square matrices, over an emitter."""

from __future__ import annotations

from tenferro.arrays import Expression, Operand, convert, expressions
from tenferro.chainrules import Emitter, V
from tenferro.errors import ConfigError, ShapeError
from tenferro.families.linalg import (
    COMPLEX_OF,
    Eig,
    Frechet,
    Hessenberg,
    MatrixFunction,
    Schur,
    hermitian_derivative,
    hermitian_function,
)
from tenferro.family import Extension, sizes_differ
from tenferro.linalg.operands import floating, same_batch, square
from tenferro.shape import TensorMeta


def eig(at: Emitter[V], x: Operand[V], /) -> tuple[V, V]:
    """Eigenvalues and eigenvectors; see `tn.linalg.eig`."""
    values, vectors, _ = at.emit_all(Extension(Eig()), square(at, "eig", x))
    return values, vectors


def eigvals(at: Emitter[V], x: Operand[V], /) -> V:
    """The eigenvalues of square matrices, complex always, in no particular order.

    The derivative is NaN for a matrix with equal eigenvalues.

    Args:
        x: matrices, of shape [..., n, n].

    Raises:
        ShapeError: x is not square.
        DTypeError: x is of half precision.

    >>> tn.linalg.eigvals([[0.0, 1.0], [-1.0, 0.0]])
    Tensor([0.+1.j, 0.-1.j])
    """
    return at.emit_all(Extension(Eig()), square(at, "eigvals", x))[0]


def expm(at: Emitter[V], a: Operand[V], *, assume_a: str = "gen") -> V:
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
    return _function(at, "expm", "exp", a, assume_a)


def logm(at: Emitter[V], a: Operand[V], *, assume_a: str = "gen") -> V:
    """The principal logarithm of square matrices.

    The dtype is kept: the result is NaN for a real matrix with a negative eigenvalue. Convert it to
    a complex one for the complex result. It is NaN for a singular matrix too.

    Args:
        a: matrices, of shape [..., n, n].
        assume_a: "gen", or "her" for Hermitian ones, of which (a + aᴴ) / 2 is read; see
            `funm_hermitian`.

    Raises:
        ShapeError: a is not square.
        DTypeError: a is of half precision.
        ConfigError: `assume_a` is neither.

    >>> tn.linalg.logm([[1.0, 3.0], [0.0, 1.0]])
    Tensor([[0., 3.],
            [0., 0.]])
    """
    return _function(at, "logm", "log", a, assume_a)


def sqrtm(at: Emitter[V], a: Operand[V], *, assume_a: str = "gen") -> V:
    """The principal square root of square matrices.

    The dtype is kept: the result is NaN for a real matrix with a negative eigenvalue. Convert it to
    a complex one for the complex result. It is NaN for a matrix without a square root too.

    Args:
        a: matrices, of shape [..., n, n].
        assume_a: "gen", or "her" for Hermitian ones, of which (a + aᴴ) / 2 is read; see
            `funm_hermitian`.

    Raises:
        ShapeError: a is not square.
        DTypeError: a is of half precision.
        ConfigError: `assume_a` is neither.

    >>> tn.linalg.sqrtm([[4.0, 1.0], [0.0, 4.0]])
    Tensor([[2.  , 0.25],
            [0.  , 2.  ]])
    """
    return _function(at, "sqrtm", "sqrt", a, assume_a)


def _check_assumption(name: str, assume_a: str) -> None:
    if assume_a not in ("gen", "her"):
        raise ConfigError(f"{name}: assume_a must be 'gen' or 'her', got {assume_a!r}")


def _function(at: Emitter[V], name: str, function: str, a: Operand[V], assume_a: str) -> V:
    _check_assumption(name, assume_a)
    value = square(at, name, a)
    if assume_a == "her":
        result: V = hermitian_function(Expression(at, value), function).value
        return result
    return at.emit(Extension(MatrixFunction(function)), value)


def expm_frechet(
    at: Emitter[V], a: Operand[V], e: Operand[V], *, assume_a: str = "gen"
) -> tuple[V, V]:
    """The exponential and its derivative; see `tn.linalg.expm_frechet`."""
    _check_assumption("expm_frechet", assume_a)
    lhs, rhs = floating(at, "expm_frechet", a, e)
    lhs, rhs = square(at, "expm_frechet", lhs), square(at, "expm_frechet", rhs)
    metas: list[TensorMeta] = [at.ctx.meta(value) for value in (lhs, rhs)]
    n, m = (meta.exact_shape("expm_frechet")[-1] for meta in metas)
    if sizes_differ(n, m):
        raise ShapeError(f"expm_frechet: a {metas[0]} and e {metas[1]} differ in rows: {n} and {m}")
    lhs, rhs = same_batch(at, "expm_frechet", lhs, rhs)
    if assume_a == "her":
        x, y = expressions(at, (lhs, rhs))
        return hermitian_function(x, "exp").value, hermitian_derivative(x, y, "exp").value
    tangent = at.emit(Extension(Frechet("exp")), lhs, rhs)
    return at.emit(Extension(MatrixFunction("exp")), lhs), tangent


def schur(at: Emitter[V], a: Operand[V], *, output: str = "real") -> tuple[V, V]:
    """The Schur form and vectors; see `tn.linalg.schur`."""
    if output not in ("real", "complex"):
        raise ConfigError(f"schur: output must be 'real' or 'complex', got {output!r}")
    value = square(at, "schur", a)
    if output == "complex":
        value = convert(at, value, COMPLEX_OF[at.ctx.meta(value).dtype])
    form, vectors = at.emit_all(Extension(Schur()), value)
    return form, vectors


def hessenberg(at: Emitter[V], a: Operand[V]) -> tuple[V, V]:
    """The Hessenberg form and vectors; see `tn.linalg.hessenberg`."""
    form, vectors = at.emit_all(Extension(Hessenberg()), square(at, "hessenberg", a))
    return form, vectors
