"""Public factorizations: cholesky, lu, qr, schur, and systems of held factors.

Derivatives go through the factors. `solve`, `det` and `inv` share one factorization by themselves,
and their derivatives are cheaper.
"""

from __future__ import annotations

from math import nan
from typing import Any, Literal, NamedTuple, cast, overload

import numpy as np

from tenferro.errors import ConfigError, ShapeError
from tenferro.families import linalg as families
from tenferro.families.linalg import (
    COMPLEX_OF,
    Cholesky,
    Hessenberg,
    PivotsToPermutation,
    Qr,
    Schur,
    columns,
    identity,
    picked_rows,
    real_part,
    rows,
    signs,
    triangular_solve,
    tril,
    triu,
)
from tenferro.ir import AnyTensor, ArrayLike, TensorMeta, assume_equal, canonical, minimum
from tenferro.linalg.arguments import hermitian, matrix, same_batch, square, systems, type_of
from tenferro.linalg.solve import transposition
from tenferro.ops.extension import Extension
from tenferro.ops.functions import (
    apply,
    array_function,
    convert,
    creation,
    elementwise,
    emit,
    emit_all,
    manipulation,
    named,
    promote,
    reductions,
)
from tenferro.runtime import Tensor
from tenferro.transforms import TracedTensor

__all__ = [
    "CholeskyFactorResult",
    "HessenbergResult",
    "LUFactorResult",
    "LUResult",
    "PermutedLUResult",
    "QRResult",
    "SchurResult",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "hessenberg",
    "lu",
    "lu_factor",
    "lu_solve",
    "qr",
    "schur",
]


# Factorizations: Cholesky, LU, QR, Schur and Hessenberg.


@array_function(module="tenferro.linalg")
def cholesky(x: ArrayLike, /, *, upper: bool = False, symmetrize_input: bool = True) -> AnyTensor:
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
    a = square("cholesky", x)
    if not symmetrize_input:
        read = a.H if upper else a
        a = hermitian(read)
    lower: Any = emit(Extension(Cholesky()), a)
    return lower.H if upper else lower


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
    p, lower, upper = cast(tuple[Any, Any, Any], apply(_lu, a, permute_l=permute_l))
    return PermutedLUResult(lower, upper) if permute_l else LUResult(p, lower, upper)


@named("lu")
def _lu(a: Any, permute_l: bool) -> tuple[Any, Any, Any]:
    packed, _, permutation = families.lu(matrix("lu", a))
    m, n = packed.shape[-2:]
    k = minimum(m, n)
    left = packed if k == n else packed[..., :, :k]
    ones = creation.eye(1, shape=(m, k), dtype=packed.dtype)
    lower = tril(left, -1) + ones
    upper = triu(packed if k == m else packed[..., :k, :])
    places: Any = reductions.argsort(permutation)
    if permute_l:
        return places, picked_rows(lower, places), upper
    swapped = picked_rows(identity(real_part(packed)), places)
    return swapped, lower, upper


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
        return apply(_qr_r, x, positive=positive)
    results: tuple[Any, ...] = apply(_qr, x, mode=mode, positive=positive)
    q, r = results
    return QRResult(q, r)


@named("qr")
def _qr(x: Any, /, *, mode: str = "reduced", positive: bool = False) -> tuple[Any, Any]:
    """Q and R; see `qr`."""
    if mode not in _MODES:
        raise ConfigError(f"qr: mode must be 'reduced', 'complete' or 'r', got {mode!r}")
    a = matrix("qr", x)
    factors: Any = emit_all(Extension(Qr("reduced" if mode == "r" else mode)), a)
    r, q = factors
    if positive:
        sign = signs(r)
        q, r = q * columns(sign), r * rows(sign)
    return q, r


@named("qr")
def _qr_r(x: Any, /, *, positive: bool = False) -> Any:
    """R alone; see `qr`."""
    return _qr(x, mode="r", positive=positive)[1]


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
    return SchurResult(*apply(_schur, a, output=output))


@named("schur")
def _schur(a: Any, *, output: str = "real") -> tuple[Any, Any]:
    """The Schur form and vectors; see `schur`."""
    if output not in ("real", "complex"):
        raise ConfigError(f"schur: output must be 'real' or 'complex', got {output!r}")
    value = square("schur", a)
    if output == "complex":
        value = convert(value, COMPLEX_OF[value.meta.dtype])
    form, vectors = emit_all(Extension(Schur()), value)
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
    whole = HessenbergResult(*apply(_hessenberg, a))
    return whole if calc_q else whole.H


@named("hessenberg")
def _hessenberg(a: Any) -> tuple[Any, Any]:
    """The Hessenberg form and vectors; see `hessenberg`."""
    form, vectors = emit_all(Extension(Hessenberg()), square("hessenberg", a))
    return form, vectors


# Systems solved by factors that users hold: `lu_factor`, `lu_solve` and the like.


class LUFactorResult(NamedTuple):
    """L below the diagonal and U on and above it, and LAPACK's pivots."""

    lu: AnyTensor
    piv: AnyTensor


def lu_factor(a: ArrayLike) -> LUFactorResult:
    """The packed LU factors of square matrices and LAPACK's pivots, for `lu_solve`.

    Row i was exchanged with row piv[i], in order of i.

    Args:
        a: matrices, of shape [..., m, n].

    Raises:
        ShapeError: a has fewer than two axes.
        DTypeError: a is of half precision.

    >>> tn.linalg.lu_solve(tn.linalg.lu_factor([[2.0, 1.0], [1.0, 3.0]]), [3.0, 4.0])
    Tensor([1., 1.])
    """
    return LUFactorResult(*cast(tuple[Any, Any], apply(_lu_factor, a)))


@named("lu_factor")
def _lu_factor(a: Any) -> tuple[Any, Any]:
    packed, pivots, _ = families.lu(matrix("lu_factor", a))
    return packed, pivots


def lu_solve(
    lu_and_piv: tuple[ArrayLike, ArrayLike], b: ArrayLike, trans: int | str = 0
) -> AnyTensor:
    """The solution x of op(a) x = b, by the factors of a.

    Args:
        lu_and_piv: what `lu_factor` returns for square a.
        b: right sides, of shape [..., n, k], or one vector of shape [n].
        trans: op(a) is a for 0 or "N", aᵀ for 1 or "T", aᴴ for 2 or "C".

    Pivots outside of 0 … n - 1 raise an error. Where they are traced, and so not known, the
    solution is NaN for each matrix with such a pivot.

    Raises:
        ShapeError: a is not square, b does not have its number of rows, or there are not as many
            pivots.
        DTypeError: an operand is of half precision, or pivots are not int32.
        ConfigError: `trans` is none of these, or a pivot is out of range.

    >>> tn.linalg.lu_solve(tn.linalg.lu_factor([[0.0, 2.0], [1.0, 0.0]]), [3.0, 4.0], trans=1)
    Tensor([2., 3.])
    """
    op = transposition("lu_solve", trans)
    packed, pivots = _pair("lu_solve", "lu_and_piv", lu_and_piv)
    known = not isinstance(pivots, TracedTensor)
    if known:
        _check_pivots(packed, pivots)
    return apply(_lu_solve, packed, pivots, b, trans=op, in_range=known)


def _check_pivots(packed: Any, pivots: Any) -> None:
    """Raise ConfigError if a pivot is no row. Other mistakes are found when the op is emitted."""
    places = pivots.numpy() if isinstance(pivots, Tensor) else np.asarray(pivots)
    if places.dtype.kind not in "iu" or not places.size or not places.ndim:
        return
    wrong = places[(places < 0) | (places >= places.shape[-1])]
    if wrong.size:
        raise ConfigError(
            f"lu_solve: pivots {type_of(pivots)} of {type_of(packed)} must be from 0 to "
            f"{places.shape[-1] - 1}, got {wrong[0]}; pass what lu_factor returns"
        )


def _pair(name: str, what: str, value: Any) -> Any:
    """The two parts of a factorization that a user holds.

    Raises:
        ConfigError: the value is no such pair.
    """
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ConfigError(f"{name}: {what} must be a pair, got {type(value).__name__}")
    return value


@named("lu_solve")
def _lu_solve(
    packed: Any,
    pivots: Any,
    b: Any,
    trans: str,
    in_range: bool,
) -> Any:
    left, right, restore = systems("lu_solve", packed, b, repeat=False)
    (exchanges,) = promote((pivots,))
    (permutation,) = emit_all(Extension(PivotsToPermutation()), exchanges)
    _check_count(left, exchanges)
    column = manipulation.expand_dims(permutation, -1)
    given = [value.meta for value in (left, right, exchanges)]
    left, right, column = same_batch("lu_solve", left, right, column, given=given)
    a, x = left, right
    places: Any = manipulation.squeeze(column, -1)
    if trans == "n":
        half = triangular_solve(a, picked_rows(x, places), unit=True)
        result = triangular_solve(a, half, lower=False)
    else:
        order: Any = reductions.argsort(places)
        half = triangular_solve(a, x, lower=False, trans=trans)
        half = triangular_solve(a, half, unit=True, trans=trans)
        result = picked_rows(half, order)
    if not in_range:
        result = result * _nan_outside(exchanges).astype(result.dtype)
    return restore(result)


def _check_count(packed: Any, pivots: Any) -> None:
    """Raise ShapeError if there are certainly not as many pivots as rows."""
    left: TensorMeta = packed.meta
    right: TensorMeta = pivots.meta
    n, count = (meta.exact_shape("lu_solve")[-1] for meta in (left, right))
    if canonical(n, count) is None:
        raise ShapeError(f"lu_solve: lu {left} has {n} rows, but piv {right} has {count} pivots")
    assume_equal(n, count, f"lu_solve: lu {left} and piv {right}")


def _nan_outside(pivots: Any) -> Any:
    """1 for each matrix whose pivots are all in range, else NaN: [..., 1, 1]."""
    inside = (pivots >= 0) & (pivots < pivots.shape[-1])
    ones: Any = elementwise.where(inside.all(axis=-1), 1.0, nan)
    return rows(rows(ones))


class CholeskyFactorResult(NamedTuple):
    """A Cholesky factor, and whether it is the lower one."""

    c: AnyTensor
    lower: bool


def cho_factor(a: ArrayLike, lower: bool = False) -> CholeskyFactorResult:
    """The Cholesky factor of Hermitian positive definite matrices, for `cho_solve`.

    Args:
        a: matrices, of shape [..., n, n]; (a + aᴴ) / 2 is read.
        lower: the factor is L with L Lᴴ = a, else U with Uᴴ U = a.

    Raises:
        ShapeError: a is not square.
        DTypeError: a is of half precision.

    >>> tn.linalg.cho_solve(tn.linalg.cho_factor([[2.0, 1.0], [1.0, 3.0]]), [3.0, 4.0])
    Tensor([1., 1.])
    """
    return CholeskyFactorResult(apply(_cho_factor, a, upper=not lower), bool(lower))


@named("cho_factor")
def _cho_factor(a: Any, upper: bool) -> Any:
    return cholesky(square("cho_factor", a), upper=upper)


def cho_solve(c_and_lower: tuple[ArrayLike, bool], b: ArrayLike) -> AnyTensor:
    """The solution x of a x = b, by the Cholesky factor of a.

    Args:
        c_and_lower: what `cho_factor` returns for a.
        b: right sides, of shape [..., n, k], or one vector of shape [n].

    Raises:
        ShapeError: the factor is not square, or b does not have its number of rows.
        DTypeError: an operand is of half precision.

    >>> lower = tn.linalg.cholesky([[4.0, 0.0], [0.0, 1.0]])
    >>> tn.linalg.cho_solve((lower, True), [4.0, 1.0])
    Tensor([1., 1.])
    """
    factor, lower = _pair("cho_solve", "c_and_lower", c_and_lower)
    return apply(_cho_solve, factor, b, lower=_is_lower("cho_solve", lower))


def _is_lower(name: str, lower: object) -> bool:
    if getattr(lower, "ndim", 0):
        raise ConfigError(f"{name}: whether the factor is the lower one must be True or False")
    return bool(lower)


@named("cho_solve")
def _cho_solve(factor: Any, b: Any, lower: bool) -> Any:
    left, right, restore = systems("cho_solve", factor, b)
    a, x = left, right
    half = triangular_solve(a, x, lower=lower, trans="n" if lower else "c")
    return restore(triangular_solve(a, half, lower=lower, trans="c" if lower else "n"))
