"""Solutions and inverses by LU or Cholesky factors."""

from __future__ import annotations

from tenferro.exec_ir import Array
from tenferro.families.linalg.cholesky import Cholesky
from tenferro.families.linalg.kernels.factors import cholesky
from tenferro.families.linalg.kernels.lu import inverse_of, packed_of, solved
from tenferro.families.linalg.kernels.solving import triangular_solve
from tenferro.families.linalg.lu_solve import Inverse, LuSolve
from tenferro.families.linalg.triangular import TriangularSolve

_FORWARD, _BACKWARD = TriangularSolve(), TriangularSolve(trans="c")


def lu_solve(op: LuSolve, a: Array, *rest: Array) -> list[Array]:
    """The solution, by factors of A that are computed here."""
    factors = packed_of(a) if op.kind == "gen" else cholesky(Cholesky(), a)
    return lu_solve_by_factors(op, a, *factors, rest[-1])


def lu_solve_by_factors(op: LuSolve, a: Array, *rest: Array) -> list[Array]:
    """The solution by the given factors."""
    *factors, b = rest
    if op.kind == "gen":
        packed, permutation = factors
        return [solved(packed, permutation, b, op.trans)]
    (lower,) = factors
    return triangular_solve(_BACKWARD, lower, *triangular_solve(_FORWARD, lower, b))


def inverse(op: Inverse, a: Array, *factors: Array) -> list[Array]:
    """The inverse, by factors of A that are computed here."""
    return inverse_by_factors(op, a, *packed_of(a))


def inverse_by_factors(op: Inverse, a: Array, packed: Array, permutation: Array) -> list[Array]:
    """The inverse by the given factors."""
    return [inverse_of(packed, permutation)]
