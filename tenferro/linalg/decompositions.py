"""Decompositions whose results are named tuples."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

from tenferro.dispatch import apply
from tenferro.errors import ConfigError
from tenferro.linalg import factors, pseudoinverse
from tenferro.linalg.operands import degeneracy
from tenferro.typing import AnyTensor, ArrayLike


class SVDResult(NamedTuple):
    """Of `svd`."""

    U: AnyTensor
    S: AnyTensor
    Vh: AnyTensor


class QRResult(NamedTuple):
    """Of `qr`."""

    Q: AnyTensor
    R: AnyTensor


class LstsqResult(NamedTuple):
    """Of `lstsq`."""

    x: AnyTensor
    residuals: AnyTensor
    rank: AnyTensor
    singular_values: AnyTensor


@overload
def svd(
    x: ArrayLike,
    /,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    *,
    degenerate: str = "nan",
    width: float = 1e-12,
) -> SVDResult: ...


@overload
def svd(
    x: ArrayLike,
    /,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[False],
    degenerate: str = "nan",
    width: float = 1e-12,
) -> AnyTensor: ...


def svd(
    x: ArrayLike,
    /,
    full_matrices: bool = True,
    compute_uv: bool = True,
    *,
    degenerate: str = "nan",
    width: float = 1e-12,
) -> SVDResult | AnyTensor:
    """U, the singular values S, descending, and Vᴴ, with x = U diag(S) Vᴴ.

    Derivatives of losses that depend on the joint phases of columns of U and V are NaN. So are
    those of losses that depend on single values or vectors where singular values are equal or zero.

    Args:
        x: matrices, of shape [..., m, n]; k is the smaller of m and n.
        full_matrices: U is [..., m, m] and Vᴴ [..., n, n]; otherwise [..., m, k] and [..., k, n].
        compute_uv: otherwise return S alone, as `svdvals`.
        degenerate: the derivative where singular values are equal or zero. "nan" is NaN unless the
            loss depends only on S, equally on equal values and not on zeros. "project" takes as
            equal, or zero, what differs by less than the square root of the precision, and gives
            the derivative of a loss that does not depend on the bases of the vectors of equal
            values nor on single ones of these; else NaN. "broaden" is finite always, with 1/g
            written as g/(g² + width), and not exact.
        width: of "broaden".

    Raises:
        ShapeError: x has fewer than two axes.
        DTypeError: x is of half precision.
        ConfigError: there is no such `degenerate`.

    >>> u, s, vh = tn.linalg.svd([[0.0, 2.0], [1.0, 0.0]])
    >>> s
    Tensor([2., 1.])
    """
    if not compute_uv:
        degeneracy("svd", degenerate, width)
        return apply(factors.svdvals, x)
    u, s, vh = apply(
        factors.svd, x, full_matrices=full_matrices, degeneracy=degeneracy("svd", degenerate, width)
    )
    return SVDResult(u, s, vh)


@overload
def qr(
    x: ArrayLike,
    /,
    *,
    mode: Literal["reduced", "complete"] = "reduced",
    positive: bool = False,
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
    if mode == "r":
        return apply(factors.qr_r, x, positive=positive)
    q, r = apply(factors.qr, x, mode=mode, positive=positive)
    return QRResult(q, r)


def lstsq(a: ArrayLike, b: ArrayLike, /, rcond: float | None = None) -> LstsqResult:
    """The x of least |a x − b|, and of least |x| among these, for matrices of any rank.

    x is a⁺ b. Its derivatives are those along matrices of equal rank.

    Args:
        a: matrices, of shape [..., m, n].
        b: right sides, of shape [..., m, k], or one vector of shape [m].
        rcond: singular values up to this, relative to the largest, count as zero; by default the
            rounding error of the dtype times the larger of m and n.

    Returns:
        x; the sums of squares of b − a x, for each right side, whatever the rank; the rank of a;
        the singular values of a.

    Raises:
        ShapeError: a has fewer than two axes, or b does not have its number of rows.
        DTypeError: an operand is of half precision.

    >>> tn.linalg.lstsq([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1.0, 3.0, 5.0]).x
    Tensor([1., 2.])
    """
    return LstsqResult(*apply(pseudoinverse.lstsq, a, b, rcond=rcond))


def pinv(x: ArrayLike, /, *, rtol: ArrayLike | None = None, hermitian: bool = False) -> AnyTensor:
    """The pseudoinverse of x, for matrices of any rank.

    Its derivatives are those along matrices of equal rank, and exact where singular values are
    equal.

    Args:
        x: matrices, of shape [..., m, n].
        rtol: singular values up to this, relative to the largest, count as zero; a number, or one
            for each matrix. By default the rounding error of the dtype times the larger of m and n.
        hermitian: read (x + xᴴ) / 2.

    Raises:
        ShapeError: x has fewer than two axes, or is hermitian but not square.
        DTypeError: x is of half precision.
        ConfigError: rtol is negative.

    >>> tn.linalg.pinv([[2.0, 0.0], [0.0, 0.0], [0.0, 4.0]])
    Tensor([[0.5 , 0.  , 0.  ],
            [0.  , 0.  , 0.25]])
    """
    if rtol is None or isinstance(rtol, int | float):
        return apply(pseudoinverse.pinv, x, rtol=rtol, hermitian=hermitian)
    return apply(pseudoinverse.pinv_up_to, x, rtol, hermitian=hermitian)


def matrix_rank(
    x: ArrayLike,
    /,
    tol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rtol: ArrayLike | None = None,
) -> AnyTensor:
    """The number of singular values above a threshold, as int64.

    Args:
        x: matrices, of shape [..., m, n].
        tol: the threshold, a number or one for each matrix.
        hermitian: read (x + xᴴ) / 2.
        rtol: the threshold relative to the largest singular value; by default the rounding error
            of the dtype times the larger of m and n.

    Raises:
        ShapeError: x has fewer than two axes, or is hermitian but not square.
        DTypeError: x is of half precision.
        ConfigError: both `tol` and `rtol` are given.

    >>> tn.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]])
    Tensor(1)
    """
    if tol is None and rtol is None:
        return apply(pseudoinverse.matrix_rank, x, hermitian=hermitian)
    if tol is not None and rtol is not None:
        raise ConfigError("matrix_rank: takes tol or rtol, not both")
    relative = tol is None
    limit: Any = rtol if relative else tol
    return apply(pseudoinverse.matrix_rank_above, x, limit, relative=relative, hermitian=hermitian)
