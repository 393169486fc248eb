"""Factorizations: Cholesky, LU, QR, Schur and Hessenberg."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, cast, overload

from tenferro import dispatch
from tenferro.arrays import Expression, Operand, apply, convert, creation, named, sorting
from tenferro.chainrules import Emitter, V
from tenferro.errors import ConfigError
from tenferro.families import linalg as families
from tenferro.families.linalg import (
    COMPLEX_OF,
    Cholesky,
    Hessenberg,
    Qr,
    Schur,
    columns,
    identity,
    picked_rows,
    real_part,
    rows,
    signs,
    tril,
    triu,
)
from tenferro.family import Extension
from tenferro.linalg.operands import hermitian, matrix, square
from tenferro.shape import minimum
from tenferro.typing import AnyTensor, ArrayLike


def cholesky(
    at: Emitter[V], x: Operand[V], /, *, upper: bool = False, symmetrize_input: bool = True
) -> V:
    """The lower triangular L with L Lᴴ = x, for Hermitian positive definite x.

    The result is NaN for each matrix that is not positive definite.

    Args:
        x: matrices, of shape [..., n, n].
        upper: return the upper triangular U = Lᴴ instead.
        symmetrize_input: read (x + xᴴ) / 2, so that gradients are Hermitian. Otherwise only one
            triangle is read, the lower one, or the upper one if `upper`.

    Raises:
        ShapeError: x is not square.
        DTypeError: x is of half precision.

    >>> tn.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
    Tensor([[2., 0.],
            [1., 2.]])
    """
    a = Expression(at, square(at, "cholesky", x))
    if not symmetrize_input:
        read = a.H if upper else a
        a = hermitian(read)
    (lower,) = a.emit_all(Extension(Cholesky()))
    return (lower.H if upper else lower).value  # type: ignore[no-any-return]


class LUResult(NamedTuple):
    """a = p l u, for a permutation matrix p, which is real."""

    p: AnyTensor
    l: AnyTensor  # noqa: E741  # SciPy's name
    u: AnyTensor


class PermutedLUResult(NamedTuple):
    """a = pl u, where pl is p l."""

    pl: AnyTensor
    u: AnyTensor


def lu(a: ArrayLike, permute_l: bool = False) -> LUResult | PermutedLUResult:
    """The factors of a = p l u by partial pivoting: l has a unit diagonal, u is upper triangular.

    Args:
        a: matrices, of shape [..., m, n]; with k = min(m, n), l is [..., m, k] and u [..., k, n].
        permute_l: return (p l, u) instead of (p, l, u).

    Raises:
        ShapeError: a has fewer than two axes.
        DTypeError: a is of half precision.

    >>> p, l, u = tn.linalg.lu([[1.0, 2.0], [2.0, 0.0]])
    >>> l, u
    (Tensor([[1. , 0. ],
            [0.5, 1. ]]), Tensor([[2., 0.],
            [0., 2.]]))
    """
    p, lower, upper = cast(tuple[Any, Any, Any], dispatch.apply(_lu, a, permute_l=permute_l))
    return PermutedLUResult(lower, upper) if permute_l else LUResult(p, lower, upper)


@named("lu")
def _lu(at: Emitter[V], a: Operand[V], permute_l: bool) -> tuple[V, V, V]:
    packed, _, permutation = families.lu(Expression(at, matrix(at, "lu", a)))
    m, n = packed.shape[-2:]
    k = minimum(m, n)
    left = packed if k == n else packed[..., :, :k]
    ones = Expression(at, creation.eye(at, 1, shape=(m, k), dtype=packed.dtype))
    lower = tril(left, -1) + ones
    upper = triu(packed if k == m else packed[..., :k, :])
    places: Expression = apply(sorting.argsort, permutation)
    if permute_l:
        return places.value, picked_rows(lower, places).value, upper.value
    swapped = picked_rows(identity(real_part(packed)), places)
    return swapped.value, lower.value, upper.value


class QRResult(NamedTuple):
    """Of `qr`."""

    Q: AnyTensor
    R: AnyTensor


_MODES = ("reduced", "complete", "r")


@overload
def qr(
    x: ArrayLike, /, *, mode: Literal["reduced", "complete"] = "reduced", positive: bool = False
) -> QRResult: ...


@overload
def qr(x: ArrayLike, /, *, mode: Literal["r"], positive: bool = False) -> AnyTensor: ...


def qr(x: ArrayLike, /, *, mode: str = "reduced", positive: bool = False) -> QRResult | AnyTensor:
    """Q with orthonormal columns and the upper triangular R, with x = Q R.

    Derivatives are NaN where a column, of the first m, depends linearly on those before it. So are
    those of losses that depend on the basis of the columns that a complete Q has in addition.

    Args:
        x: matrices, of shape [..., m, n]; k is the smaller of m and n.
        mode: "reduced": Q is [..., m, k] and R [..., k, n]. "complete": Q is [..., m, m] and R
            [..., m, n]. "r": R alone, of shape [..., k, n].
        positive: make the diagonal of R at least 0, which makes the factors unique.

    Raises:
        ShapeError: x has fewer than two axes.
        DTypeError: x is of half precision.
        ConfigError: there is no such mode.

    >>> tn.linalg.qr([[3.0, 1.0], [4.0, 2.0]], positive=True).R
    Tensor([[5. , 2.2],
            [0. , 0.4]])
    """
    if isinstance(mode, str) and mode == "r":
        return dispatch.apply(_qr_r, x, positive=positive)
    q, r = dispatch.apply(_qr, x, mode=mode, positive=positive)
    return QRResult(q, r)


@named("qr")
def _qr(
    at: Emitter[V], x: Operand[V], /, *, mode: str = "reduced", positive: bool = False
) -> tuple[V, V]:
    """Q and R; see `qr`."""
    if mode not in _MODES:
        raise ConfigError(f"qr: mode must be 'reduced', 'complete' or 'r', got {mode!r}")
    a = Expression(at, matrix(at, "qr", x))
    r, q = a.emit_all(Extension(Qr("reduced" if mode == "r" else mode)))
    if positive:
        sign = signs(r)
        q, r = q * columns(sign), r * rows(sign)
    return q.value, r.value


@named("qr")
def _qr_r(at: Emitter[V], x: Operand[V], /, *, positive: bool = False) -> V:
    """R alone; see `qr`."""
    return _qr(at, x, mode="r", positive=positive)[1]


class SchurResult(NamedTuple):
    """Of `schur`: x = Z T Zᴴ."""

    T: AnyTensor
    Z: AnyTensor


def schur(a: ArrayLike, output: str = "real") -> SchurResult:
    """The Schur form T and the unitary Z of square matrices a = Z T Zᴴ.

    T is upper triangular; for real a with 2×2 blocks for pairs of complex eigenvalues. It has no
    derivative. XLA has it on the CPU only.

    Args:
        a: matrices, of shape [..., n, n].
        output: "complex" makes T triangular, and complex for real a too.

    Raises:
        ShapeError: a is not square.
        DTypeError: a is of half precision.
        ConfigError: there is no such output.

    >>> tn.linalg.schur([[1.0, 2.0], [0.0, 3.0]]).T
    Tensor([[1., 2.],
            [0., 3.]])
    """
    return SchurResult(*dispatch.apply(_schur, a, output=output))


@named("schur")
def _schur(at: Emitter[V], a: Operand[V], *, output: str = "real") -> tuple[V, V]:
    """The Schur form and vectors; see `schur`."""
    if output not in ("real", "complex"):
        raise ConfigError(f"schur: output must be 'real' or 'complex', got {output!r}")
    value = square(at, "schur", a)
    if output == "complex":
        value = convert(at, value, COMPLEX_OF[at.ctx.meta(value).dtype])
    form, vectors = at.emit_all(Extension(Schur()), value)
    return form, vectors


class HessenbergResult(NamedTuple):
    """Of `hessenberg`: x = Q H Qᴴ."""

    H: AnyTensor
    Q: AnyTensor


def hessenberg(a: ArrayLike, calc_q: bool = False) -> HessenbergResult | AnyTensor:
    """The Hessenberg form H of square matrices a = Q H Qᴴ, zero below its first subdiagonal.

    It has no derivative. XLA has it on the CPU only.

    Args:
        a: matrices, of shape [..., n, n].
        calc_q: whether the unitary Q is returned too.

    Raises:
        ShapeError: a is not square.
        DTypeError: a is of half precision.

    >>> tn.linalg.hessenberg([[1.0, 2.0], [3.0, 4.0]])
    Tensor([[1., 2.],
            [3., 4.]])
    """
    whole = HessenbergResult(*dispatch.apply(_hessenberg, a))
    return whole if calc_q else whole.H


@named("hessenberg")
def _hessenberg(at: Emitter[V], a: Operand[V]) -> tuple[V, V]:
    """The Hessenberg form and vectors; see `hessenberg`."""
    form, vectors = at.emit_all(Extension(Hessenberg()), square(at, "hessenberg", a))
    return form, vectors
