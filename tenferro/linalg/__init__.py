"""Linear algebra: `tn.linalg`, with the names of the Python array API, NumPy and SciPy.

A matrix is the last two axes of an array; all other axes are a batch. Float32, float64, complex64
and complex128 are kept; integers and bool become float64. Results of several arrays are named
tuples.

>>> lower = tn.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
>>> tn.linalg.solve_triangular(lower, [2.0, 5.0], lower=True)
Tensor([1., 2.])
"""

from functools import partial
from typing import NamedTuple

from tenferro.dispatch import apply, array_function
from tenferro.errors import ConfigError
from tenferro.families.linalg import Degeneracy
from tenferro.linalg import blocks, factors, functions, solving, truncation
from tenferro.typing import AnyTensor, ArrayLike

_public = partial(array_function, module="tenferro.linalg")

cholesky = _public(factors.cholesky)
expm = _public(functions.expm)
funm_hermitian = _public(functions.funm_hermitian)
logm = _public(functions.logm)
low_rank = _public(blocks.low_rank)
solve_triangular = _public(solving.solve_triangular)
sqrtm = _public(functions.sqrtm)


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
            not depend on the basis of equal eigenvalues nor on single ones; else NaN. "broaden" is
            finite always, with 1/g written as g/(g² + width), and not exact.
        width: of "broaden".

    Raises:
        ShapeError: x is not square.
        DTypeError: x is of half precision.
        ConfigError: there is no such `degenerate` or `UPLO`.

    >>> tn.linalg.eigh([[2.0, 1.0], [1.0, 2.0]]).eigenvalues
    Tensor([1., 3.])
    """
    values, vectors = apply(
        factors.eigh,
        x,
        triangle=UPLO,
        symmetrize_input=symmetrize_input,
        degeneracy=Degeneracy(degenerate, width),
    )
    return EighResult(values, vectors)


def eigvalsh(x: ArrayLike, /, UPLO: str | None = None) -> AnyTensor:  # noqa: N803
    """Eigenvalues, ascending, of Hermitian matrices; see `eigh`.

    >>> tn.linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]])
    Tensor([1., 3.])
    """
    return apply(factors.eigvalsh, x, triangle=UPLO)


class EighBlockResult(NamedTuple):
    """Of `eigh_block`."""

    V: AnyTensor
    B: AnyTensor


def eigh_block(x: ArrayLike, k: int, *, which: str = "smallest") -> EighBlockResult:
    """A basis of the space of k eigenvectors of Hermitian matrices, and the matrices on it.

    V, of shape [..., n, k], has orthonormal columns, and B = VᴴxV, of shape [..., k, k], is a
    diagonal matrix in value. A loss that does not depend on the basis, f(V Q, QᴴB Q) = f(V, B) for
    unitary Q, has exact derivatives of all orders, also where kept eigenvalues are equal: tr B, the
    projector V Vᴴ, V B Vᴴ, and V h(B) Vᴴ with h from `funm_hermitian`. For other losses they depend
    on the choice of the basis. Where a kept and a discarded eigenvalue are equal they are NaN.

    With W the other eigenvectors, C = WᴴxW and E the tangent of x, dV = W X, dB = VᴴEV, where
    C X − X B = −WᴴEV.

    Args:
        x: matrices, of shape [..., n, n]; (x + xᴴ) / 2 is read.
        k: how many, from 0 to n.
        which: "smallest" or "largest" eigenvalues.

    Raises:
        ShapeError: x is not square.
        ConfigError: k or `which` is none of these.

    >>> v, b = tn.linalg.eigh_block([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 4.0]], 2)
    >>> v @ v.mT
    Tensor([[1., 0., 0.],
            [0., 1., 0.],
            [0., 0., 0.]])
    """
    if which not in ("smallest", "largest"):
        raise ConfigError(f"eigh_block: which must be 'smallest' or 'largest', got {which!r}")
    return EighBlockResult(*apply(blocks.eigh_block, x, k=k, largest=which == "largest"))


class SVDBlockResult(NamedTuple):
    """Of `svd_block`."""

    U: AnyTensor
    B: AnyTensor
    Vh: AnyTensor


def svd_block(x: ArrayLike, k: int | None = None) -> SVDBlockResult:
    """Bases of the spaces of the k largest singular values, and the matrices between them.

    x ≈ U B Vh, the nearest matrix of rank k. U, of shape [..., m, k], and Vhᴴ have orthonormal
    columns. B, of shape [..., k, k], is diagonal in value. A loss that does not depend on the
    bases, f(U Q, QᴴB Q, QᴴVh) = f(U, B, Vh) for unitary Q, has exact derivatives of all orders,
    also where kept singular values are equal: U B Vh, U Vh, tr B, U h(B) Vh with h from
    `funm_hermitian`. For other losses they depend on the choice of the bases. They are NaN where
    the singular values k and k + 1 are equal, and where the k-th is zero.

    Args:
        x: matrices, of shape [..., m, n].
        k: how many, from 0 to min(m, n); all, if it is None.

    Raises:
        ConfigError: k is not such an integer.

    Source: Francuz, Schuch and Vanhecke, arXiv:2311.11894, on the part of the discarded space.

    >>> u, b, vh = tn.linalg.svd_block([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]], 1)
    >>> u @ b @ vh
    Tensor([[2., 0.],
            [0., 0.],
            [0., 0.]])
    """
    return SVDBlockResult(*apply(blocks.svd_block, x, k=k))


def svd_truncate(
    x: ArrayLike,
    /,
    *,
    max_rank: int | None = None,
    cutoff: float = 0.0,
    cutoff_mode: str = "rel",
    absorb: str | None = None,
    renorm: bool = False,
    multiplets: bool = True,
) -> tuple[AnyTensor, ...]:
    """Factors of a matrix of lower rank that is near x; the singular values give the rank.

    (U, s, Vh) without `absorb`, else two factors: (U B, Vh) for "left", (U, B Vh) for "right" and
    (U B^½, B^½ Vh) for "both", with the blocks of `svd_block`. Their derivatives are as there, with
    the rank as a constant; those of (U, s, Vh) are as of single singular vectors.

    Values s of s₁ ≥ s₂ ≥ … are kept by mode: "rel", s > cutoff · s₁; "abs", s > cutoff; "sum2",
    until the squares of the others sum to at most the cutoff; "rsum2", to at most cutoff · Σs².
    At least one is kept, at most max_rank, and none that is zero up to rounding.

    Args:
        x: one matrix, of shape [m, n].
        max_rank: the largest rank.
        cutoff: what is small.
        cutoff_mode: "rel", "abs", "sum2" or "rsum2".
        absorb: which factors take the singular values.
        renorm: scale the result to the Frobenius norm of x.
        multiplets: keep less, so that no two values are separated whose relative gap is at most
            1e-9; or more, where nothing else would be left, if max_rank allows it.

    Raises:
        ShapeError: x is not one matrix.
        ConfigError: an option is none of these.

    Source: the options are those of quimb and ITensor.

    >>> left, right = tn.linalg.svd_truncate(
    ...     [[4.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.1]], cutoff=0.1, absorb="both"
    ... )
    >>> left @ right
    Tensor([[4., 0., 0.],
            [0., 2., 0.],
            [0., 0., 0.]])
    """
    factors = apply(
        truncation.svd_truncate,
        x,
        max_rank=max_rank,
        cutoff=cutoff,
        cutoff_mode=cutoff_mode,
        absorb=absorb,
        renorm=renorm,
        multiplets=multiplets,
    )
    return tuple(factors)


class PolarResult(NamedTuple):
    """Of `polar`."""

    U: AnyTensor
    P: AnyTensor


def polar(x: ArrayLike, /, *, side: str = "right") -> PolarResult:
    """The polar decomposition x = U P, or x = P U for the left side.

    U, of shape [..., m, n], has orthonormal columns or rows, and P is Hermitian and positive
    semidefinite. Derivatives of all orders are exact where singular values are equal, and NaN where
    x does not have full rank.

    Args:
        x: matrices, of shape [..., m, n].
        side: "right" or "left": where P stands.

    Raises:
        ConfigError: `side` is neither.

    >>> tn.linalg.polar([[2.0, 0.0], [0.0, -3.0]]).P
    Tensor([[2., 0.],
            [0., 3.]])
    """
    return PolarResult(*apply(blocks.polar, x, side=side))


__all__ = [
    "EighBlockResult",
    "EighResult",
    "PolarResult",
    "SVDBlockResult",
    "cholesky",
    "eigh",
    "eigh_block",
    "eigvalsh",
    "expm",
    "funm_hermitian",
    "logm",
    "low_rank",
    "polar",
    "solve_triangular",
    "sqrtm",
    "svd_block",
    "svd_truncate",
]
