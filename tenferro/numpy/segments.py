"""Sums, products and extrema of the parts of an array that belong together: those of `jax.ops`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenferro.errors import ConfigError, DTypeError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, Number, dtype_kind
from tenferro.numpy.arguments import array, count, numbers
from tenferro.numpy.creation import full
from tenferro.ops.functions.elementwise import where

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]


def segment_sum(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | None = None,
) -> AnyTensor:
    """For each segment the sum of the parts of an array that belong to it; 0 if there are none.

    Args:
        data: the parts, along the first axis.
        segment_ids: integers, the segment of each part; those that are negative or too large belong
            to none.
        num_segments: how many segments there are; by default one more than the largest number,
            which must be known then.
        indices_are_sorted: changes nothing.
        unique_indices: promises that no segment has two parts.
        bucket_size: changes nothing.
        mode: what numbers out of range mean: "drop", the default, or "clip".

    Raises:
        ShapeError: `segment_ids` is not a vector of the size of the first axis of `data`.
        TracingError: `num_segments` is None where `segment_ids` is traced.

    >>> tn.ops.segment_sum(np.array([1.0, 2.0, 3.0]), np.array([0, 2, 0]))
    Tensor([4., 0., 2.])
    """
    return _combined("segment_sum", "add", 0, data, segment_ids, num_segments, unique_indices, mode)


def segment_prod(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | None = None,
) -> AnyTensor:
    """For each segment the product of its parts; 1 if there are none. See `segment_sum`.

    It has derivatives where `unique_indices` is true.

    >>> tn.ops.segment_prod(np.array([1.0, 2.0, 3.0]), np.array([0, 2, 0]))
    Tensor([3., 1., 2.])
    """
    return _combined(
        "segment_prod", "multiply", 1, data, segment_ids, num_segments, unique_indices, mode
    )


def segment_max(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | None = None,
) -> AnyTensor:
    """For each segment the largest of its parts; -inf, or the smallest integer, if it has none.

    See `segment_sum`.

    >>> tn.ops.segment_max(np.array([1.0, 2.0, 3.0]), np.array([0, 2, 0]))
    Tensor([  3., -inf,   2.])
    """
    return _combined(
        "segment_max", "max", None, data, segment_ids, num_segments, unique_indices, mode
    )


def segment_min(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | None = None,
) -> AnyTensor:
    """For each segment the smallest of its parts; inf, or the largest integer, if it has none.

    See `segment_sum`.

    >>> tn.ops.segment_min(np.array([1.0, 2.0, 3.0]), np.array([0, 2, 0]))
    Tensor([ 1., inf,  2.])
    """
    return _combined(
        "segment_min", "min", None, data, segment_ids, num_segments, unique_indices, mode
    )


def _combined(
    name: str,
    method: str,
    start: Number | None,
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None,
    unique: bool,
    mode: str | None,
) -> AnyTensor:
    parts, ids = array(name, data), array(name, segment_ids)
    if dtype_kind(ids.dtype) not in "iu":
        raise DTypeError(f"{name}: segment_ids must be integers, got {ids.meta}")
    if ids.ndim != 1 or parts.shape[:1] != ids.shape:
        raise ShapeError(
            f"{name}: segment_ids {ids.meta} must be a vector with a number for each part along "
            f"the first axis of {parts.meta}"
        )
    if num_segments is None:
        known = numbers(name, ids, "pass num_segments")
        num_segments = int(known.max()) + 1 if known.size else 0
    size = count(name, "num_segments", num_segments)
    if start is None:
        start = _extreme(parts.dtype, largest=method == "min")
    results = full((size, *parts.shape[1:]), start, parts.dtype)
    if not size:
        return results
    if mode in (None, "drop", "fill"):
        ids, mode = where(ids < 0, size, ids), "drop"
    elif mode == "clip":
        ids = where(ids < 0, 0, ids)
    elif mode == "wrap":
        raise ConfigError(f"{name}: mode 'wrap' is not there; pass segment_ids % num_segments")
    return getattr(results.at[ids], method)(parts, mode=mode, unique_indices=unique)  # type: ignore[no-any-return]


def _extreme(dtype: Any, largest: bool) -> Number:
    """What every number of a dtype is smaller, or larger, than."""
    if dtype_kind(dtype) == "b":
        return largest
    if dtype_kind(dtype) in "iu":
        bounds = np.iinfo(dtype)
        return int(bounds.max if largest else bounds.min)
    return float("inf") if largest else -float("inf")
