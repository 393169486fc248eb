"""Products of matrices and vectors.

`matmul`, `dot`, `tensordot`, `kron` and the like: `tenferro.ops.functions.products`; `einsum`,
`einsum_path`: `tenferro.network.einsum`.
"""

from __future__ import annotations

from tenferro.errors import ShapeError
from tenferro.ir import AnyTensor, ArrayLike
from tenferro.numpy.arguments import promoted
from tenferro.ops.functions.elementwise import conj
from tenferro.ops.functions.products import matmul

__all__ = ["matvec", "vecmat"]


def matvec(x1: ArrayLike, x2: ArrayLike, /) -> AnyTensor:
    """The products of matrices [..., m, n] with vectors [..., n].

    >>> tn.matvec([[1, 2], [3, 4]], [1, 1])
    Tensor([3, 7])
    """
    a, v = promoted("matvec", x1, x2)
    if a.ndim < 2 or v.ndim < 1:
        raise ShapeError(f"matvec: takes matrices and vectors, got {a.meta} and {v.meta}")
    return matmul(a, v[..., None])[..., 0]


def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> AnyTensor:
    """The products of the conjugates of vectors [..., m] with matrices [..., m, n].

    >>> tn.vecmat([1, 1], [[1, 2], [3, 4]])
    Tensor([4, 6])
    """
    v, a = promoted("vecmat", x1, x2)
    if a.ndim < 2 or v.ndim < 1:
        raise ShapeError(f"vecmat: takes vectors and matrices, got {v.meta} and {a.meta}")
    return matmul(conj(v)[..., None, :], a)[..., 0, :]
