"""Functions of which data decide the size of the result."""

from __future__ import annotations

from typing import Any

from tenferro.arrays import dynamic
from tenferro.dispatch import apply


def shape_of(x: Any, axis: int = 0) -> Any:
    """The size of an axis as a value, where `x.shape` is not known while tracing.

    >>> shape_of([[1, 2, 3], [4, 5, 6]], axis=1)
    Tensor(3)
    """
    return apply(dynamic.shape_of, x, axis=axis)


def dynamic_truncate(x: Any, size: Any, axis: int = 0) -> Any:
    """The first `size` elements along an axis; `size` may be computed.

    It is rounded, half away from zero, and held between 0 and the size of the axis. While tracing,
    the result has an upper bound for a size, unless `size` is known. Derivatives take `size` to be
    constant.

    Raises:
        RuntimeSizeError: the size is NaN or infinite.

    >>> scores = [0.9, 0.7, 0.2, 0.1]
    >>> import tenferro as tn
    >>> dynamic_truncate(scores, tn.sum(tn.array(scores) > 0.5))
    Tensor([0.9, 0.7])
    """
    return apply(dynamic.dynamic_truncate, x, size, axis=axis)


def pad_to_match(x: Any, reference: Any, axis: int = 0) -> Any:
    """x with zeros after it along an axis, up to the size that `reference` has there.

    What has more elements is left alone; `reference` is read for its shape only.

    >>> pad_to_match([1, 2], [0, 0, 0, 0])
    Tensor([1, 2, 0, 0])
    """
    return apply(dynamic.pad_to_match, x, reference, axis=axis)
