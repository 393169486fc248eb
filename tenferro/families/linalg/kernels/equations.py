"""Solutions of matrix equations."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from tenferro.exec_ir import Array
from tenferro.families.linalg.kernels.batches import over_batch
from tenferro.families.linalg.sylvester import Sylvester


def sylvester(op: Sylvester, a: Array, b: Array, c: Array) -> list[Array]:
    """The solution by Schur forms (Bartels and Stewart, 1972)."""
    kernel = _stein if op.discrete else _sylvester
    with np.errstate(all="ignore"):
        return over_batch(
            lambda x, y, z: (kernel(x, y, z),), [a, b, c], [2, 2, 2], [np.empty_like(c)]
        )


def _sylvester(a: Array, b: Array, c: Array) -> Array:
    """X with a X + X b = c, by LAPACK's trsyl."""
    if not c.size:
        return c
    r, u = scipy.linalg.schur(a)
    s, v = scipy.linalg.schur(b.conj().T)
    right = u.conj().T @ c @ v
    trsyl = scipy.linalg.get_lapack_funcs("trsyl", (r, s, right))
    y, scale, info = trsyl(r, s, right, tranb="C")
    if info:  # common eigenvalues, which trsyl moves apart
        raise np.linalg.LinAlgError("singular")
    return np.asarray(u @ (y / scale) @ v.conj().T)


def _stein(a: Array, b: Array, c: Array) -> Array:
    """X with X − a X b = c, column by column of the complex Schur forms."""
    if not c.size:
        return c
    r, u = scipy.linalg.schur(a, output="complex")
    s, v = scipy.linalg.schur(b, output="complex")
    right = u.conj().T @ c @ v
    y = np.zeros_like(right)
    eps = np.finfo(c.dtype).eps
    for k in range(len(s)):
        matrix = np.eye(len(r)) - s[k, k] * r
        size = max(1.0, float(np.abs(r).max() * np.abs(s).max()))
        if np.abs(np.diag(matrix)).min() <= eps * size:
            raise np.linalg.LinAlgError("singular")
        column = right[:, k] + r @ (y @ s[:, k])
        y[:, k] = scipy.linalg.solve_triangular(matrix, column)
    x = u @ y @ v.conj().T
    return np.asarray(x if c.dtype.kind == "c" else x.real)


def _quotient(b: Array, d: Array) -> Array:
    return b / d if d[0] != 0 else np.full_like(b, np.nan)
