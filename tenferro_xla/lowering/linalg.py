"""The lowerings of the families of linear algebra, by LAPACK's or the device's own library."""

from __future__ import annotations

from collections.abc import Mapping

from jax import Array, lax

from tenferro.families.linalg import Cholesky, TriangularSolve
from tenferro.family import ExtensionOp, Lowering


def is_empty(x: Array) -> bool:
    """Whether an operand certainly has no elements. LAPACK does not take such operands."""
    return any(isinstance(size, int) and size == 0 for size in x.shape)


def cholesky(op: Cholesky, a: Array) -> Array:
    """The lower factor; NaN where it does not exist."""
    return a if is_empty(a) else lax.linalg.cholesky(a, symmetrize_input=True)


def triangular_solve(op: TriangularSolve, a: Array, b: Array) -> Array:
    """The solution."""
    if is_empty(b):
        return b
    return lax.linalg.triangular_solve(
        a,
        b,
        left_side=op.left,
        lower=op.lower,
        transpose_a=op.trans != "n",
        conjugate_a=op.trans == "c",
        unit_diagonal=op.unit,
    )


LOWERINGS: Mapping[type[ExtensionOp], Lowering] = {
    Cholesky: cholesky,
    TriangularSolve: triangular_solve,
}
"""Lowerings by op class."""
