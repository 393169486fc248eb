"""Comparison of whole arrays."""

from __future__ import annotations

from typing import Any

from tenferro.namespace.creation import asarray
from tenferro.shape import canonical, minimum, same_size
from tenferro.typing import AnyTensor, ArrayLike


def array_equal(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """Whether x1 and x2 have equal shapes and equal elements.

    >>> tn.array_equal([1, 2], [1, 2])
    Tensor(True)
    """
    left: Any = asarray(x1)
    right: Any = asarray(x2)
    shape = left.meta.static_shape
    if shape is not None and shape == right.meta.static_shape:
        return (left == right).all()  # type: ignore[no-any-return]
    if left.ndim != right.ndim:
        return asarray(False)
    if all(map(same_size, left.meta.extents, right.meta.extents)):
        return (left == right).all()  # type: ignore[no-any-return]
    pairs = [*zip(left.shape, right.shape, strict=True)]
    if any(canonical(a, b) is None for a, b in pairs):
        return asarray(False)
    # Whether sizes with names are equal is a part of the result; common elements are compared.
    common = tuple(slice(minimum(a, b)) for a, b in pairs)
    equal = (left[common] == right[common]).all()
    for a, b in pairs:
        equal = equal & (asarray(a) == asarray(b))
    return equal  # type: ignore[no-any-return]
