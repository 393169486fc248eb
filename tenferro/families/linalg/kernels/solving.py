"""Solutions of systems of equations."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from tenferro.exec_ir import Array
from tenferro.families.linalg.kernels.substitution import substituted
from tenferro.families.linalg.triangular import TriangularSolve
from tenferro.families.linalg.tridiagonal import TridiagonalSolve


def triangular_solve(op: TriangularSolve, a: Array, b: Array) -> list[Array]:
    """The solution. A zero on the diagonal gives infinities or NaN."""
    return [substituted(a, b, left=op.left, lower=op.lower, trans=op.trans, unit=op.unit)]


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
