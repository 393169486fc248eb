"""Solutions of systems of equations."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from tenferro.exec_ir import Array
from tenferro.families.linalg.triangular import TriangularSolve

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
