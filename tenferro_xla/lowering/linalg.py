"""The lowerings of the families of linear algebra, by LAPACK's or the device's own library."""

from __future__ import annotations

from collections.abc import Mapping

from jax import Array, lax
from jax import numpy as jnp

from tenferro.families.linalg import Cholesky, Eigh, TriangularSolve
from tenferro.family import ExtensionOp, Lowering
from tenferro_xla.lowering import small_matrices


def is_empty(x: Array) -> bool:
    """Whether an operand certainly has no elements. LAPACK does not take such operands."""
    return any(isinstance(size, int) and size == 0 for size in x.shape)


def cholesky(op: Cholesky, a: Array) -> Array:
    """The lower factor; NaN where it does not exist."""
    if is_empty(a):
        return a
    if small_matrices.pays(a, 5):
        return small_matrices.cholesky(a)
    return lax.linalg.cholesky(a, symmetrize_input=True)


def triangular_solve(op: TriangularSolve, a: Array, b: Array) -> Array:
    """The solution."""
    if op.left:
        return solve_triangle(a, b, lower=op.lower, trans=op.trans, unit=op.unit)
    if is_empty(b):
        return b
    return lax.linalg.triangular_solve(
        a,
        b,
        lower=op.lower,
        transpose_a=op.trans != "n",
        conjugate_a=op.trans == "c",
        unit_diagonal=op.unit,
    )


def solve_triangle(
    a: Array, b: Array, *, lower: bool, trans: str = "n", unit: bool = False
) -> Array:
    """x with op(a) x = b for triangular a."""
    if is_empty(b):
        return b
    if small_matrices.pays(a, 4):
        if trans != "n":
            a, lower = jnp.conj(a.mT) if trans == "c" else a.mT, not lower
        return small_matrices.triangular_solve(a, b, lower=lower, unit=unit)
    return lax.linalg.triangular_solve(
        a,
        b,
        left_side=True,
        lower=lower,
        transpose_a=trans != "n",
        conjugate_a=trans == "c",
        unit_diagonal=unit,
    )


def eigh(op: Eigh, a: Array) -> tuple[Array, ...]:
    """Values and vectors; NaN for a matrix that is not finite."""
    real = jnp.abs(a).dtype
    if is_empty(a):
        return (jnp.zeros(a.shape[:-1], real), a)[: op.output_count]
    if small_matrices.pays(a, 4) and a.dtype.kind == "f":
        values, vectors = small_matrices.eigh(a)
    else:
        vectors, values = lax.linalg.eigh(a, symmetrize_input=True, sort_eigenvalues=True)
    return nan_unless_finite(a, values, vectors)[: op.output_count]


def nan_unless_finite(a: Array, *results: Array) -> tuple[Array, ...]:
    """The results of a factorization of a, NaN for each matrix of a that is not finite."""
    finite = jnp.isfinite(jnp.sum(jnp.abs(a), axis=(-2, -1)))
    return tuple(
        jnp.where(
            finite.reshape(finite.shape + (1,) * (result.ndim - finite.ndim)), result, jnp.nan
        )
        for result in results
    )


LOWERINGS: Mapping[type[ExtensionOp], Lowering] = {
    Cholesky: cholesky,
    Eigh: eigh,
    TriangularSolve: triangular_solve,
}
"""Lowerings by op class."""
