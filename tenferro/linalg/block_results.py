"""Blocks of eigenvectors and singular vectors, with named results."""

from __future__ import annotations

from typing import NamedTuple

from tenferro.dispatch import apply
from tenferro.errors import ConfigError
from tenferro.linalg import blocks, truncation
from tenferro.typing import AnyTensor, ArrayLike


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

    In a traced function the rank is a late size, which products and sums of the factors take, but
    not functions that need exact sizes, such as `reshape` and `eigh`. Computed by a
    `tn.EagerRuntime`, with derivatives, all functions take them.

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


def polar(x: ArrayLike, /, side: str = "right") -> PolarResult:
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
