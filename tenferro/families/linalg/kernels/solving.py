"""Solutions of systems of equations."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from tenferro.exec_ir import Array
from tenferro.families.linalg.triangular import TriangularSolve
from tenferro.families.linalg.tridiagonal import TridiagonalSolve

_TRANS = {"n": 0, "t": 1, "c": 2}


def triangular_solve(op: TriangularSolve, a: Array, b: Array) -> list[Array]:
    """The solution by BLAS's trsm. A zero on the diagonal gives infinities or NaN."""
    trsm = scipy.linalg.get_blas_funcs("trsm", (a, b))
    result = np.empty_like(b)
    for index in np.ndindex(*a.shape[:-2]):
        if b[index].size:
            result[index] = trsm(
                1.0,
                a[index],
                b[index],
                side=int(not op.left),
                lower=int(op.lower),
                trans_a=_TRANS[op.trans],
                diag=int(op.unit),
            )
    return [result]


def tridiagonal_solve(
    op: TridiagonalSolve, lower: Array, main: Array, upper: Array, b: Array
) -> list[Array]:
    """The solution by LAPACK's gtsv."""
    (gtsv,) = scipy.linalg.get_lapack_funcs(("gtsv",), (main, b))
    result = np.empty_like(b)
    for index in np.ndindex(*main.shape[:-1]):
        if not b[index].size:
            continue
        if len(main[index]) == 1:
            with np.errstate(all="ignore"):
                result[index] = b[index] / main[index]
            continue
        *_, x, info = gtsv(lower[index][1:], main[index], upper[index][:-1], b[index])
        result[index] = x if info == 0 else np.nan
    return [result]
