"""Triangular systems: by BLAS matrix by matrix, or row by row over a whole batch."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from tenferro.exec_ir import Array

_TRANS = {"n": 0, "t": 1, "c": 2}

_SMALL = 8
"""Up to this size a call of BLAS takes longer than what it computes."""

_MANY = 4
"""How many matrices for each of their rows make a step over the batch worth its calls."""


def substituted(
    a: Array,
    b: Array,
    *,
    left: bool = True,
    lower: bool = False,
    trans: str = "n",
    unit: bool = False,
) -> Array:
    """X of op(A) X = B, or X op(A) = B. A zero on the diagonal gives infinities or NaN."""
    size, count = a.shape[-1], int(np.prod(b.shape[:-2]))
    if not b.size:
        return np.empty_like(b)
    if size <= _SMALL and count >= _MANY * size:
        t = a if trans == "n" else np.swapaxes(a, -1, -2)
        t = np.conj(t) if trans == "c" else t
        below = lower == (trans == "n")
        if left:
            return _row_by_row(t, b, below, unit)
        turned = _row_by_row(np.swapaxes(t, -1, -2), np.swapaxes(b, -1, -2), not below, unit)
        return np.ascontiguousarray(np.swapaxes(turned, -1, -2))
    trsm = scipy.linalg.get_blas_funcs("trsm", (a, b))
    options = {"side": int(not left), "lower": int(lower), "trans_a": _TRANS[trans]}
    result = np.empty_like(b)
    for index in np.ndindex(*b.shape[:-2]):
        result[index] = trsm(1.0, a[index], b[index], diag=int(unit), **options)
    return result


def _row_by_row(t: Array, b: Array, lower: bool, unit: bool) -> Array:
    """The solution of t X = B; t has no other elements than on one side of its diagonal."""
    x = np.array(b, order="C")
    size = t.shape[-1]
    with np.errstate(all="ignore"):
        for row in range(size) if lower else reversed(range(size)):
            if not unit:
                x[..., row, :] /= t[..., row, row, None]
            others = slice(row + 1, size) if lower else slice(row)
            x[..., others, :] -= t[..., others, row, None] * x[..., row, None, :]
    return x
