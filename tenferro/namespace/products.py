"""Matrix and tensor products, under the names of the Python array API standard."""

from __future__ import annotations

from typing import Any

from tenferro.arrays import products
from tenferro.dispatch import apply


def matmul(x1: Any, x2: Any) -> Any:
    """Matrix product over the last two axes, leading axes broadcast; vectors as in NumPy.

    >>> matmul([[1, 2], [3, 4]], [1, 1])
    Tensor([3, 7])
    """
    return apply(products.matmul, x1, x2)


def tensordot(x1: Any, x2: Any, axes: Any = 2) -> Any:
    """Contraction of the last `axes` axes of x1 with the first of x2, or of a pair of lists.

    >>> tensordot([[1, 2], [3, 4]], [[1, 0], [0, 1]])
    Tensor(5)
    """
    return apply(products.tensordot, x1, x2, axes=axes)


def dot(x1: Any, x2: Any) -> Any:
    """NumPy's dot: the last axis of x1 with the last but one of x2.

    >>> dot([1, 2], [3, 4])
    Tensor(11)
    """
    return apply(products.dot, x1, x2)


def outer(x1: Any, x2: Any) -> Any:
    """All products of an element of x1 with one of x2, both with one axis.

    >>> outer([1, 2], [3, 4])
    Tensor([[3, 4],
            [6, 8]])
    """
    return apply(products.outer, x1, x2)
