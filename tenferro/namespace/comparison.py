"""Comparison of whole arrays."""

from __future__ import annotations

from tenferro.namespace.creation import asarray
from tenferro.typing import AnyTensor, ArrayLike


def array_equal(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """Whether x1 and x2 have equal shapes and equal elements.

    >>> tn.array_equal([1, 2], [1, 2])
    Tensor(True)
    """
    left, right = asarray(x1), asarray(x2)
    if left.meta.extents != right.meta.extents:
        return asarray(False)
    return (left == right).all()
