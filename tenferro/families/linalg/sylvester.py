"""Linear matrix equations with a matrix on either side of the unknown one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from tenferro.families.linalg.lapack import over_batch, scipy_linalg
from tenferro.families.linalg.matrix_op import (
    check_dtype,
    check_matrix,
    check_same,
    check_sizes,
    check_square,
    family,
)
from tenferro.ir import NumpyArray
from tenferro.ops.extension import (
    DTypes,
    Extension,
    FamilyOp,
    FormulaSite,
    OutputTypes,
    Shapes,
    Terms,
)
from tenferro.ops.functions import Expression

__all__ = ["Sylvester", "sylvester"]


@family(name="sylvester")
@dataclass(frozen=True)
class Sylvester(FamilyOp):
    """X with A X + X B = C, or X − A X B = C. Inputs A, B and C have equal batch sizes.

    NaN where the equation is singular, or so close to it that the precision does not suffice.

    Attributes:
        discrete: whether it is X − A X B = C, also called Stein's equation.
    """

    discrete: bool = False

    input_count = 3
    output_count = 1
    linear_from = 2

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        name = "solve_sylvester"
        dtype = check_dtype(name, *input_dtypes)
        batch, m = check_square(name, dtype, input_shapes[0])
        batch_b, n = check_square(name, dtype, input_shapes[1])
        batch_c, rows, columns = check_matrix(name, dtype, input_shapes[2])
        for others in (batch_b, batch_c):
            check_same(name, "the batch axes", len(batch), len(others))
            check_sizes(name, "batch sizes", batch, others)
        check_same(name, "the rows of A and C", m, rows)
        check_same(name, "the columns of B and C", n, columns)
        return [(dtype, tuple(input_shapes[2]))]

    def kernel(self, a: NumpyArray, b: NumpyArray, c: NumpyArray) -> list[NumpyArray]:
        """By Schur forms (Bartels and Stewart, 1972)."""
        one = _stein if self.discrete else _sylvester
        with np.errstate(all="ignore"):
            arrays, outputs = [a, b, c], [np.empty_like(c)]
            return over_batch(lambda x, y, z: (one(x, y, z),), arrays, [2, 2, 2], outputs)

    def jvp(self, at: FormulaSite) -> Terms:
        """The same equation for dC − dA X − X dB, or for dC + dA X B + A X dB."""
        (a, b, _), (x,), (da, db, dc) = at.operands, at.results, at.tangents
        terms = [] if dc is None else [dc]
        if da is not None:
            terms.append(da @ x @ b if self.discrete else -(da @ x))
        if db is not None:
            terms.append(a @ x @ db if self.discrete else -(x @ db))
        return a.emit_all(Extension(self), b, reduce(add, terms))

    def vjp(self, at: FormulaSite) -> Terms:
        """C̄: the same equation with Aᴴ and Bᴴ."""
        (a, b, _), (ct,) = at.operands, at.cts
        return a.H.emit_all(Extension(self), b.H, ct)


def _sylvester(a: NumpyArray, b: NumpyArray, c: NumpyArray) -> NumpyArray:
    """X with a X + X b = c, by LAPACK's trsyl."""
    if not c.size:
        return c
    r, u = scipy_linalg().schur(a)
    s, v = scipy_linalg().schur(b.conj().T)
    right = u.conj().T @ c @ v
    trsyl = scipy_linalg().get_lapack_funcs("trsyl", (r, s, right))
    y, scale, info = trsyl(r, s, right, tranb="C")
    if info:  # common eigenvalues, which trsyl moves apart
        raise np.linalg.LinAlgError("singular")
    return np.asarray(u @ (y / scale) @ v.conj().T)


def _stein(a: NumpyArray, b: NumpyArray, c: NumpyArray) -> NumpyArray:
    """X with X − a X b = c, column by column of the complex Schur forms."""
    if not c.size:
        return c
    r, u = scipy_linalg().schur(a, output="complex")
    s, v = scipy_linalg().schur(b, output="complex")
    right = u.conj().T @ c @ v
    y = np.zeros_like(right)
    eps = np.finfo(c.dtype).eps
    for k in range(len(s)):
        matrix = np.eye(len(r)) - s[k, k] * r
        size = max(1.0, float(np.abs(r).max() * np.abs(s).max()))
        if np.abs(np.diag(matrix)).min() <= eps * size:
            raise np.linalg.LinAlgError("singular")
        column = right[:, k] + r @ (y @ s[:, k])
        y[:, k] = scipy_linalg().solve_triangular(matrix, column)
    x = u @ y @ v.conj().T
    return np.asarray(x if c.dtype.kind == "c" else x.real)


def sylvester(a: Expression, b: Expression, c: Expression, *, discrete: bool = False) -> Expression:
    """The solution of a matrix equation; see `Sylvester`."""
    (x,) = a.emit_all(Extension(Sylvester(discrete)), b, c)
    return x
