"""Attention by dot products."""

from __future__ import annotations

import math
from typing import Any

from tenferro import numpy as tn
from tenferro.config import flag
from tenferro.errors import ConfigError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, float_limits
from tenferro.network import einsum

__all__ = ["dot_product_attention"]


def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> AnyTensor | tuple[AnyTensor, AnyTensor]:
    """softmax(scale · query · keyᵀ + bias) · value, for each head, as in `jax.nn`.

    Args:
        query: [..., t, n, h] with one batch axis or none: t positions, n heads of h numbers.
        key: [..., s, k, h]; n is a multiple of k, and so many heads in a row share one.
        value: [..., s, k, h].
        bias: is added before the softmax; broadcasts to [..., n, t, s].
        mask: bool, which broadcasts to [..., n, t, s]; what is False does not take part.
        scale: by default 1/√h.
        is_causal: whether position i sees positions up to i only.
        query_seq_lengths: for each batch entry, after how many positions the result is 0.
        key_value_seq_lengths: for each batch entry, after how many positions keys do not take part.
        local_window_size: how many positions before and after are seen; one number for both.
        implementation: None or "xla"; the program is the same.
        return_residual: also return the logarithm of the sum of exponentials, [..., t, n].

    Raises:
        ShapeError: the shapes do not fit.
        ConfigError: there is no such implementation.

    >>> x = tn.ones((2, 1, 4))
    >>> tn.nn.dot_product_attention(x, x, x).shape
    (2, 1, 4)
    """
    if implementation not in (None, "xla"):
        raise ConfigError(
            f"dot_product_attention: implementation must be 'xla' or None, got {implementation!r}"
        )
    arrays: list[Any] = [tn.asarray(each) for each in (query, key, value)]
    batched = arrays[0].ndim == 4
    if not batched:
        arrays = [each[None] for each in arrays]
    _check(arrays)
    q, k, v = arrays
    shared = q.shape[2] // k.shape[2]
    k, v = (each if shared == 1 else tn.repeat(each, shared, axis=2) for each in (k, v))
    logits: Any = einsum("btnh,bsnh->bnts", q, k)
    logits = logits * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if bias is not None:
        logits = logits + bias
    visible = _mask(logits, mask, is_causal, local_window_size, key_value_seq_lengths)
    if visible is not None:
        logits = tn.where(visible, logits, float(-0.7 * float_limits(logits.dtype).max))
    result: Any = einsum("bnts,bsnh->btnh", tn.softmax(logits, axis=-1), v)
    if query_seq_lengths is not None:
        inside = tn.arange(q.shape[1]) < tn.asarray(query_seq_lengths)[:, None]
        result = tn.where(inside[:, :, None, None], result, 0.0)
    residual: Any = tn.permute_dims(tn.logsumexp(logits, axis=-1), (0, 2, 1))
    results = (result, residual) if batched else (result[0], residual[0])
    return results if return_residual else results[0]


def _check(arrays: list[Any]) -> None:
    """Raise ShapeError unless these are a query, keys and values."""
    q, k, v = arrays
    fit = all(each.ndim == 4 for each in arrays) and k.shape == v.shape
    if not fit or (q.shape[0], q.shape[3]) != (k.shape[0], k.shape[3]) or q.shape[2] % k.shape[2]:
        types = ", ".join(str(each.meta) for each in arrays)
        raise ShapeError(
            "dot_product_attention: takes a query [b, t, n, h], and keys and values [b, s, k, h] "
            f"with n a multiple of k, got {types}"
        )


def _mask(
    logits: Any,
    mask: ArrayLike | None,
    is_causal: bool,
    window: int | tuple[int, int] | None,
    lengths: ArrayLike | None,
) -> Any:
    """Which keys each query sees, or None if all."""
    rows, columns = tn.arange(logits.shape[2])[:, None], tn.arange(logits.shape[3])
    parts: list[Any] = [] if mask is None else [tn.asarray(mask)]
    if flag("dot_product_attention: is_causal", is_causal):
        parts.append(columns <= rows)
    if window is not None:
        before, after = (window, window) if isinstance(window, int) else window
        parts.append((columns >= rows - before) & (columns <= rows + after))
    if lengths is not None:
        parts.append(columns < tn.asarray(lengths)[:, None, None, None])
    visible = parts[0] if parts else None
    for part in parts[1:]:
        visible = visible & part
    return visible
