"""Matrix and tensor products, under the names of the Python array API standard."""

from __future__ import annotations

from typing import Any

from tenferro.arrays import products
from tenferro.dispatch import apply, apply_to_array


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


def vecdot(x1: Any, x2: Any, axis: int = -1) -> Any:
    """The sums of conj(x1)·x2 along `axis`, the other axes broadcast.

    >>> vecdot([[1, 2], [3, 4]], [1, 1])
    Tensor([3, 7])
    """
    return apply(products.vecdot, x1, x2, axis=axis)


def vdot(x1: Any, x2: Any) -> Any:
    """The sum of conj(x1)·x2 over all elements.

    >>> vdot([[1, 2], [3, 4]], [[1, 1], [1, 1]])
    Tensor(10)
    """
    return apply(products.vdot, x1, x2)


def inner(x1: Any, x2: Any) -> Any:
    """The sums of x1·x2 over the last axis of each.

    >>> inner([[1, 2], [3, 4]], [1, 1])
    Tensor([3, 7])
    """
    return apply(products.inner, x1, x2)


def outer(x1: Any, x2: Any) -> Any:
    """All products of an element of x1 with one of x2, each flattened.

    >>> outer([1, 2], [3, 4])
    Tensor([[3, 4],
            [6, 8]])
    """
    return apply(products.outer, x1, x2)


def kron(x1: Any, x2: Any) -> Any:
    """Kronecker product: each element of x1 times all of x2, in its place.

    >>> kron([1, 2], [1, 10])
    Tensor([ 1, 10,  2, 20])
    """
    return apply(products.kron, x1, x2)


def cross(x1: Any, x2: Any, axis: int = -1) -> Any:
    """Vector product along an axis of size 3, the other axes broadcast.

    >>> cross([1, 0, 0], [0, 1, 0])
    Tensor([0, 0, 1])
    """
    return apply(products.cross, x1, x2, axis=axis)


def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The sum along a diagonal of two axes.

    >>> trace([[1, 2], [3, 4]])
    Tensor(5)
    """
    return apply_to_array(products.trace, x, offset=offset, axis1=axis1, axis2=axis2)
