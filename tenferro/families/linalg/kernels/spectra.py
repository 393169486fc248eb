"""Eigenvalues and singular values."""

from __future__ import annotations

import numpy as np

from tenferro.exec_ir import Array
from tenferro.families.linalg.eigh import Eigh
from tenferro.families.linalg.kernels.batches import stacked


def eigh(op: Eigh, a: Array) -> list[Array]:
    """Values and vectors, by LAPACK's syevd."""
    hermitian = (a + np.conj(a.swapaxes(-1, -2))) / 2
    values = np.empty(a.shape[:-1], np.finfo(a.dtype).dtype)
    if not op.vectors:
        return stacked(lambda x: (np.linalg.eigvalsh(x),), [hermitian], [values])
    return stacked(lambda x: tuple(np.linalg.eigh(x)), [hermitian], [values, np.empty_like(a)])
