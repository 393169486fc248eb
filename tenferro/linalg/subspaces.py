"""Invariant subspaces: eigh_block, svd_block, low_rank, polar."""

from __future__ import annotations

from typing import Any, NamedTuple

from tenferro.errors import ConfigError
from tenferro.families import linalg as families
from tenferro.ir import AnyTensor, ArrayLike, Dim, TensorMeta, minimum
from tenferro.linalg.arguments import integer, matrix, square
from tenferro.ops.functions import apply, array_function, named

__all__ = [
    "EighBlockResult",
    "PolarResult",
    "SVDBlockResult",
    "eigh_block",
    "low_rank",
    "polar",
    "svd_block",
]


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
    return EighBlockResult(*apply(_eigh_block, x, k=k, largest=which == "largest"))


@named("eigh_block")
def _eigh_block(x: Any, k: int, *, largest: bool = False) -> tuple[Any, Any]:
    """V and B; see `eigh_block`."""
    a = square("eigh_block", x)
    k = _count("eigh_block", k, a.meta.exact_shape("eigh_block", "x")[-1])
    vectors, block = families.eigh_block(a, k, largest)
    return vectors, block


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
    return SVDBlockResult(*apply(_svd_block, x, k=k))


@named("svd_block")
def _svd_block(x: Any, k: int | None = None) -> tuple[Any, Any, Any]:
    """U, B and Vᴴ; see `svd_block`."""
    u, b, v = _blocks("svd_block", x, k)
    return u, b, v.H


@array_function(module="tenferro.linalg")
def low_rank(x: ArrayLike, k: int) -> AnyTensor:
    """The nearest matrices of rank k in the Frobenius norm.

    Derivatives of all orders are exact where kept singular values are equal. They do not exist, and
    are NaN, where the singular values k and k + 1 are equal.

    Args:
        x: matrices, of shape [..., m, n].
        k: the rank.

    Raises:
        ConfigError: k is not an integer from 0 to min(m, n).

    >>> tn.linalg.low_rank([[3.0, 0.0], [0.0, 1.0]], 1)
    Tensor([[3., 0.],
            [0., 0.]])
    """
    u, b, v = _blocks("low_rank", x, k)
    return u @ b @ v.H


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
    return PolarResult(*apply(_polar, x, side=side))


@named("polar")
def _polar(x: Any, /, *, side: str = "right") -> tuple[Any, Any]:
    """The unitary and the positive factor; see `polar`."""
    if side not in ("left", "right"):
        raise ConfigError(f"polar: side must be 'left' or 'right', got {side!r}")
    u, b, v = _blocks("polar", x, None)
    isometry = u @ v.H
    positive = u @ b @ u.H if side == "left" else v @ b @ v.H
    return isometry, positive


def _blocks(name: str, x: Any, k: int | None) -> tuple[Any, ...]:
    a = matrix(name, x)
    meta: TensorMeta = a.meta
    m, n = meta.exact_shape(name, "x")[-2:]
    if k is not None:
        k = _count(name, k, minimum(m, n))
    return families.svd_block(a, k)


def _count(name: str, k: object, limit: Dim) -> int:
    """A number of values, of at most a limit that may be symbolic.

    Raises:
        ConfigError: k is none.
        TracingError: k is a traced array.
    """
    count = integer(name, "k", k)
    if count is None or count < 0 or (isinstance(limit, int) and count > limit):
        raise ConfigError(f"{name}: k must be an integer from 0 to {limit}, got {k!r}")
    return count
