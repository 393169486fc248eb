"""Singular values, and what is computed from them."""

from __future__ import annotations

import numpy as np

from tenferro.exec_ir import Array
from tenferro.families.linalg.kernels.batches import stacked
from tenferro.families.linalg.pinv import Pinv
from tenferro.families.linalg.svd import Svd


def svd(op: Svd, a: Array) -> list[Array]:
    """Values and vectors, by LAPACK's gesdd."""
    (*batch, m, n), k = a.shape, min(a.shape[-2:])
    values = np.empty((*batch, k), np.finfo(a.dtype).dtype)
    if not op.vectors:
        return stacked(lambda x: (np.linalg.svd(x, compute_uv=False),), [a], [values])
    rows, columns = (m, n) if op.full_matrices else (k, k)
    left, right = np.empty((*batch, m, rows), a.dtype), np.empty((*batch, columns, n), a.dtype)

    def kernel(x: Array) -> tuple[Array, Array, Array]:
        u, s, vh = np.linalg.svd(x, full_matrices=op.full_matrices)
        return s, u, vh

    return stacked(kernel, [a], [values, left, right])


def pinv(op: Pinv, a: Array, *rtol: Array) -> list[Array]:
    """The pseudoinverse by singular values."""
    result = np.empty((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    if 0 in a.shape:
        return [result]

    def kernel(x: Array, *rtol: Array) -> tuple[Array]:
        u, s, vh = np.linalg.svd(x, full_matrices=False)
        cutoff = rtol[0][..., 0] if rtol else op.cutoff(x.shape[-2], x.shape[-1], s.dtype)
        kept = s > cutoff * s[..., :1]
        inverse = np.where(kept, 1 / np.where(kept, s, 1), 0)
        adjoint = np.conj(vh.swapaxes(-1, -2)) * inverse[..., None, :]
        return (adjoint @ np.conj(u.swapaxes(-1, -2)),)

    return stacked(kernel, [a, *[each[..., None, None] for each in rtol]], [result])
