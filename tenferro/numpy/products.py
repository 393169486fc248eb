"""Products of matrices and vectors, and orders of contractions.

`matmul`, `dot`, `tensordot`, `kron` and the like: `tenferro.ops.functions.products`.
"""

from __future__ import annotations

from typing import Any

from tenferro.errors import ShapeError
from tenferro.ir import AnyTensor, ArrayLike
from tenferro.network import EinsumPlan, einsum_plan
from tenferro.numpy.arguments import promoted
from tenferro.ops.functions.elementwise import conj
from tenferro.ops.functions.products import matmul

__all__ = ["einsum_path", "matvec", "vecmat"]


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


def einsum_path(
    subscripts: Any, /, *operands: Any, optimize: Any = True
) -> tuple[list[tuple[int, ...]], EinsumPlan]:
    """The order in which `tn.einsum` contracts a network, and the plan, which prints its costs.

    >>> import numpy as np
    >>> tn.einsum_path("ij,jk,k->i", np.ones((2, 9)), np.ones((9, 9)), np.ones(9))[0]
    [(1, 2), (0, 1)]
    """
    plan = einsum_plan(subscripts, *operands, optimize=True if optimize == "auto" else optimize)
    return [tuple(pair) for pair in plan.path], plan
