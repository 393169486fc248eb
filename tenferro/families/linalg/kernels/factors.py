"""Factorizations."""

from __future__ import annotations

import numpy as np

from tenferro.exec_ir import Array
from tenferro.families.linalg.cholesky import Cholesky
from tenferro.families.linalg.kernels.batches import stacked
from tenferro.families.linalg.qr import Qr


def cholesky(op: Cholesky, a: Array) -> list[Array]:
    """The lower factor, by LAPACK's potrf."""
    hermitian = (a + np.conj(a.swapaxes(-1, -2))) / 2
    return stacked(lambda x: (np.linalg.cholesky(x),), [hermitian], [np.empty_like(a)])


def qr(op: Qr, a: Array) -> list[Array]:
    """R and Q, by LAPACK's geqrf."""
    *batch, m, n = a.shape
    k = m if op.mode == "complete" else min(m, n)
    upper, columns = np.empty((*batch, k, n), a.dtype), np.empty((*batch, m, k), a.dtype)
    if op.mode == "r":
        return stacked(lambda x: (np.linalg.qr(x, mode="r"),), [a], [upper])

    def kernel(x: Array) -> tuple[Array, Array]:
        q, r = np.linalg.qr(x, mode="complete" if op.mode == "complete" else "reduced")
        return r, q

    return stacked(kernel, [a], [upper, columns])
