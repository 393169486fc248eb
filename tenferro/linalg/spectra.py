"""Eigenvalues and singular values, with their vectors."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

from tenferro.errors import ConfigError, DTypeError, ShapeError
from tenferro.families.linalg import (
    Degeneracy,
    Eig,
    Eigh,
    Svd,
    embedded,
    generic_bases,
    reflections,
    rows,
)
from tenferro.ir import AnyTensor, ArrayLike, canonical, is_complex
from tenferro.linalg.arguments import degeneracy, floating, hermitian, matrix, square
from tenferro.ops.extension import Extension
from tenferro.ops.functions import (
    apply,
    array_function,
    common_batch,
    emit_all,
    manipulation,
    named,
)

__all__ = [
    "EigResult",
    "EighResult",
    "EighTridiagonalResult",
    "SVDResult",
    "eig",
    "eigh",
    "eigh_tridiagonal",
    "eigvals",
    "eigvalsh",
    "svd",
    "svdvals",
]


class EighResult(NamedTuple):
    """Of `eigh`."""

    eigenvalues: AnyTensor
    eigenvectors: AnyTensor


def eigh(
    x: ArrayLike,
    /,
    UPLO: str | None = None,  # noqa: N803  # NumPy's name
    symmetrize_input: bool = True,
    *,
    degenerate: str = "nan",
    width: float = 1e-12,
) -> EighResult:
    """Eigenvalues, ascending, and eigenvectors, as columns, of Hermitian matrices.

    Derivatives of losses that depend on the phase of an eigenvector are NaN. So are those of losses
    that depend on single values or vectors where eigenvalues are equal.

    Args:
        x: matrices, of shape [..., n, n].
        UPLO: read only the lower ("L") or upper ("U") triangle.
        symmetrize_input: read (x + xᴴ) / 2. Otherwise only the lower triangle is read.
        degenerate: the derivative where eigenvalues are equal. "nan" is NaN unless the loss depends
            only on eigenvalues, and equally on equal ones. "project" takes as equal what differs by
            less than the square root of the precision, and gives the derivative of a loss that does
            not depend on the basis of equal eigenvalues nor on single ones; else NaN. This check
            cannot see a loss in which these vectors have an effect at other matrices only.
            "broaden" is finite always, with 1/g written as g/(g² + width), and not exact.
        width: of "broaden".

    Raises:
        ShapeError: x is not square.
        DTypeError: x is of half precision.
        ConfigError: there is no such `degenerate` or `UPLO`.

    >>> tn.linalg.eigh([[2.0, 1.0], [1.0, 2.0]]).eigenvalues
    Tensor([1., 3.])
    """
    results: tuple[Any, ...] = apply(
        _eigh,
        x,
        triangle=UPLO,
        symmetrize_input=symmetrize_input,
        degeneracy=degeneracy("eigh", degenerate, width),
    )
    values, vectors = results
    return EighResult(values, vectors)


@named("eigh")
def _eigh(
    x: Any,
    /,
    *,
    triangle: object = None,
    symmetrize_input: bool = True,
    degeneracy: Degeneracy = Degeneracy(),  # noqa: B008  # immutable
) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors; see `eigh`."""
    a = _triangle("eigh", x, triangle, symmetrize_input)
    op = Extension(Eigh(degeneracy.mode, degeneracy.width))
    values, vectors = a.emit_all(op)
    if degeneracy.mode == "project":
        vectors = vectors @ reflections(degeneracy.same(values), vectors.dtype)
    return values, vectors


def eigvalsh(x: ArrayLike, /, UPLO: str | None = None) -> AnyTensor:  # noqa: N803
    """Eigenvalues, ascending, of Hermitian matrices; see `eigh`.

    >>> tn.linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]])
    Tensor([1., 3.])
    """
    return apply(_eigvalsh, x, triangle=UPLO)


@named("eigvalsh")
def _eigvalsh(x: Any, /, *, triangle: object = None) -> Any:
    """Eigenvalues; see `eigvalsh`."""
    a = _triangle("eigvalsh", x, triangle, symmetrize_input=True)
    return emit_all(Extension(Eigh()), a)[0]


def _triangle(name: str, x: Any, triangle: object, symmetrize_input: bool) -> Any:
    """The Hermitian matrix whose eigenvalues are asked for, or one that stands for it."""
    if triangle is not None and (not isinstance(triangle, str) or triangle not in ("L", "U")):
        raise ConfigError(f"{name}: UPLO must be 'L' or 'U', got {triangle!r}")
    a = square(name, x)
    if triangle is None and symmetrize_input:
        return a
    return hermitian(a.H if triangle == "U" else a)


class EighTridiagonalResult(NamedTuple):
    """Of `eigh_tridiagonal`."""

    eigenvalues: AnyTensor
    eigenvectors: AnyTensor


def eigh_tridiagonal(
    d: ArrayLike, e: ArrayLike, *, eigvals_only: bool = False
) -> EighTridiagonalResult | AnyTensor:
    """Eigenvalues, ascending, and eigenvectors of real symmetric tridiagonal matrices; as `eigh`.

    Args:
        d: the diagonals, of shape [..., n].
        e: the diagonals beside them, of shape [..., n - 1].
        eigvals_only: return the eigenvalues alone.

    Raises:
        ShapeError: e is not shorter than d by one.
        DTypeError: an operand is complex or of half precision.

    >>> tn.linalg.eigh_tridiagonal([2.0, 2.0], [1.0], eigvals_only=True)
    Tensor([1., 3.])
    """
    whole = EighTridiagonalResult(*apply(_eigh_tridiagonal, d, e))
    return whole.eigenvalues if eigvals_only else whole


@named("eigh_tridiagonal")
def _eigh_tridiagonal(d: Any, e: Any) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors; see `eigh_tridiagonal`."""
    name = "eigh_tridiagonal"
    main, off = floating(name, d, e)
    metas = (main.meta, off.meta)
    if is_complex(main.dtype):
        raise DTypeError(f"{name}: takes real d and e, got {metas[0]} and {metas[1]}")
    if 0 in (main.ndim, off.ndim):
        raise ShapeError(f"{name}: d and e must have an axis, got {metas[0]} and {metas[1]}")
    if canonical(off.shape[-1] + 1, main.shape[-1]) is None:
        raise ShapeError(f"{name}: e must be shorter by one than d, got d {metas[0]}, e {metas[1]}")
    common_batch(name, [rows(x).meta for x in (main, off)], metas)
    beside: Any = embedded(off)
    widths = [(0, 0)] * (off.ndim - 1)
    below = manipulation.pad(beside, pad_width=[*widths, (1, 0), (0, 1)])
    return _eigh(embedded(main) + below + below.mT)


class EigResult(NamedTuple):
    """Of `eig`."""

    eigenvalues: AnyTensor
    eigenvectors: AnyTensor


def eig(x: ArrayLike, /) -> EigResult:
    """Eigenvalues, in no particular order, and eigenvectors, as columns, of square matrices.

    Both are complex always. Each eigenvector has norm 1, and its largest entry is real and
    positive; the first one, if several are as large. The derivative of any loss is NaN for a matrix
    with eigenvalues that are equal, or too close for the derivative to be known in spite of
    rounding, or without as many eigenvectors as rows. Higher derivatives need larger gaps. XLA has
    it on the CPU only.

    Args:
        x: matrices, of shape [..., n, n].

    Raises:
        ShapeError: x is not square.
        DTypeError: x is of half precision.

    >>> tn.linalg.eig([[0.0, 1.0], [0.0, 2.0]]).eigenvalues
    Tensor([0.+0.j, 2.+0.j])
    """
    return EigResult(*apply(_eig, x))


@named("eig")
def _eig(x: Any, /) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors; see `eig`."""
    values, vectors, _ = emit_all(Extension(Eig()), square("eig", x))
    return values, vectors


@array_function(module="tenferro.linalg")
def eigvals(x: ArrayLike, /) -> AnyTensor:
    """The eigenvalues of square matrices, complex always, in no particular order.

    The derivative is NaN for a matrix with equal eigenvalues, or nearly equal ones; see `eig`.

    Args:
        x: matrices, of shape [..., n, n].

    Raises:
        ShapeError: x is not square.
        DTypeError: x is of half precision.

    >>> tn.linalg.eigvals([[0.0, 1.0], [-1.0, 0.0]])
    Tensor([0.+1.j, 0.-1.j])
    """
    return emit_all(Extension(Eig()), square("eigvals", x))[0]


class SVDResult(NamedTuple):
    """Of `svd`."""

    U: AnyTensor
    S: AnyTensor
    Vh: AnyTensor


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
        return apply(svdvals, x)
    results: tuple[Any, ...] = apply(
        _svd, x, full_matrices=full_matrices, degeneracy=degeneracy("svd", degenerate, width)
    )
    u, s, vh = results
    return SVDResult(u, s, vh)


@named("svd")
def _svd(
    x: Any,
    /,
    *,
    full_matrices: bool = True,
    degeneracy: Degeneracy = Degeneracy(),  # noqa: B008  # immutable
) -> tuple[Any, Any, Any]:
    """U, the singular values, and Vᴴ; see `svd`."""
    a = matrix("svd", x)
    op = Extension(Svd(full_matrices, degeneracy.mode, degeneracy.width))
    s, u, vh = a.emit_all(op)
    if degeneracy.mode == "project" and s.shape[-1] != 0:
        u, v = generic_bases(degeneracy, s, u, vh.H)
        vh = v.H
    return u, s, vh


@array_function(module="tenferro.linalg")
def svdvals(x: ArrayLike, /) -> AnyTensor:
    """Singular values, descending.

    The gradient is NaN for a loss that depends on single ones of equal values, or on a value that
    is 0, where it has no derivative.

    Args:
        x: matrices, of shape [..., m, n].

    Raises:
        ShapeError: x has fewer than two axes.
        DTypeError: x is of half precision.

    >>> tn.linalg.svdvals([[0.0, 2.0], [1.0, 0.0]])
    Tensor([2., 1.])
    """
    a = matrix("svdvals", x)
    return emit_all(Extension(Svd()), a)[0]
