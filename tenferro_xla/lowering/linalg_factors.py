"""The lowerings of singular value decompositions, QR factorizations and what is computed so."""

from __future__ import annotations

from collections.abc import Mapping

from jax import Array, lax
from jax import numpy as jnp

from tenferro.errors import UnsupportedExtensionError
from tenferro.families.linalg import Pinv, Qr, Svd
from tenferro.family import ExtensionOp, Lowering
from tenferro_xla.lowering.extents import known, number
from tenferro_xla.lowering.linalg import is_empty, nan_unless_finite


def svd(op: Svd, a: Array) -> tuple[Array, ...]:
    """Values and vectors; NaN for a matrix that is not finite."""
    real = jnp.abs(a).dtype
    *batch, m, n = a.shape
    if is_empty(a):
        k = min(m, n)
        left, right = (m, n) if op.full_matrices else (k, k)
        empty = (jnp.zeros((*batch, k), real), _eye(a, m, left), _eye(a, right, n))
        return empty[: op.output_count]
    if not op.vectors:
        values = lax.linalg.svd(a, full_matrices=False, compute_uv=False)
        return nan_unless_finite(a, values)
    u, s, vh = lax.linalg.svd(a, full_matrices=op.full_matrices, compute_uv=True)
    return nan_unless_finite(a, s, u, vh)


def qr(op: Qr, a: Array) -> tuple[Array, ...]:
    """R and Q."""
    *batch, m, n = a.shape
    if is_empty(a):
        k = m if op.mode == "complete" else min(m, n)
        return (jnp.zeros((*batch, k, n), a.dtype), _eye(a, m, k))[: op.output_count]
    if any(not isinstance(size, int) for size in (m, n)) and m != n:
        raise UnsupportedExtensionError(
            op.family_id,
            f"{op.family_id}: JAX must know which of the sizes {m} and {n} is smaller; "
            "give the inputs constant sizes",
        )
    q, r = lax.linalg.qr(a, full_matrices=op.mode == "complete")
    return nan_unless_finite(a, r, q)[: op.output_count]


def pinv(op: Pinv, a: Array, *rtol: Array) -> Array:
    """The pseudoinverse by singular values; NaN for a matrix that is not finite."""
    if is_empty(a):
        return jnp.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    u, s, vh = lax.linalg.svd(a, full_matrices=False, compute_uv=True)
    m, n = a.shape[-2:]
    cutoff: Array | float
    if rtol:
        cutoff = rtol[0][..., None]
    elif op.rtol is not None or known([m, n]):
        cutoff = op.cutoff(m, n, s.dtype)
    else:
        cutoff = jnp.maximum(number(m), number(n)).astype(s.dtype) * op.cutoff(1, 1, s.dtype)
    kept = s > cutoff * s[..., :1]
    inverse = jnp.where(kept, 1 / jnp.where(kept, s, 1), 0)
    adjoint = jnp.conj(vh.swapaxes(-1, -2)) * inverse[..., None, :]
    (result,) = nan_unless_finite(a, adjoint @ jnp.conj(u.swapaxes(-1, -2)))
    return result


def _eye(a: Array, rows: int, columns: int) -> Array:
    """The identity, for each matrix of a batch."""
    return jnp.broadcast_to(jnp.eye(rows, columns, dtype=a.dtype), (*a.shape[:-2], rows, columns))


LOWERINGS: Mapping[type[ExtensionOp], Lowering] = {Pinv: pinv, Qr: qr, Svd: svd}
"""Lowerings by op class."""
