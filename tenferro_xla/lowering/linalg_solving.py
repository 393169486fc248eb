"""The lowerings of LU factorizations and of what they solve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from tenferro.families.linalg import (
    FIRST_LIMIT,
    SECOND_LIMIT,
    Adjugate,
    Determinant,
    Inverse,
    Lu,
    LuSolve,
    PivotsToPermutation,
    TridiagonalSolve,
)
from tenferro.family import ExtensionOp, Lowering
from tenferro_xla.lowering import small_matrices
from tenferro_xla.lowering.linalg import is_empty, solve_triangle


def lu(op: Lu, a: Array) -> tuple[Array, Array, Array]:
    """The packed factors, the pivots and the permutation."""
    if is_empty(a):
        *batch, m, n = a.shape
        pivots = jnp.zeros((*batch, 0 if 0 in (m, n) else min(m, n)), jnp.int32)
        return a, pivots, jnp.broadcast_to(jnp.arange(m, dtype=jnp.int32), (*batch, m))
    if small_matrices.pays(a, 4):
        return small_matrices.lu(a)
    packed, pivots, permutation = lax.linalg.lu(a)
    return packed, pivots, permutation


def pivots_to_permutation(op: PivotsToPermutation, pivots: Array) -> Array:
    """The permutations."""
    if is_empty(pivots):
        return pivots
    n = pivots.shape[-1]
    return lax.linalg.lu_pivots_to_permutation(jnp.clip(pivots, 0, n - 1), n)


def lu_solve(op: LuSolve, a: Array, *rest: Array) -> Array:
    """The solution."""
    *factors, b = rest
    if is_empty(b):
        return b
    if op.kind == "gen":
        packed, permutation = factors
        return _solved(packed, permutation, b, op.trans)
    (lower,) = factors
    half = solve_triangle(lower, b, lower=True)
    return solve_triangle(lower, half, lower=True, trans="c")


def tridiagonal_solve(
    op: TridiagonalSolve, lower: Array, main: Array, upper: Array, b: Array
) -> Array:
    """The solution."""
    if is_empty(b):
        return b
    if main.shape[-1] == 1:
        return b / main[..., None]
    return lax.linalg.tridiagonal_solve(lower, main, upper, b)


def inverse(op: Inverse, a: Array, packed: Array, permutation: Array) -> Array:
    """The inverse."""
    return a if is_empty(a) else _inverse(packed, permutation)


def determinant(
    op: Determinant, a: Array, packed: Array, permutation: Array
) -> Array | tuple[Array, Array]:
    """The determinant."""
    if op.kind == "det" and small_matrices.pays(a, 3):
        return small_matrices.determinant(a)
    diagonal = jnp.diagonal(packed, axis1=-2, axis2=-1)
    sign = _parity(permutation).astype(a.dtype)
    if op.kind == "det":
        return sign * jnp.prod(diagonal, -1)
    sizes = jnp.abs(diagonal)
    phases = diagonal / jnp.where(sizes == 0, 1, sizes).astype(a.dtype)
    return sign * jnp.prod(phases, -1), jnp.sum(jnp.log(sizes), -1)


def adjugate(op: Adjugate, a: Array, packed: Array, permutation: Array, *direction: Array) -> Array:
    """The adjugate by the inverse; by singular values for a batch with a matrix near singular."""
    if is_empty(a):
        return a
    if a.shape[-1] == 1:
        return jnp.zeros_like(a) if direction else jnp.ones_like(a)
    det = determinant(Determinant(), a, packed, permutation)
    assert not isinstance(det, tuple)
    x = _inverse(packed, permutation)
    fast = _by_inverse(det[..., None, None], x, direction)
    exponent = SECOND_LIMIT if op.order else FIRST_LIMIT
    limit = float(np.finfo(a.dtype).eps) ** -exponent
    near = ~(_norm(a) * _norm(x) < limit)[..., None, None]
    # The transposes change no layout: LAPACK's is that of the transposed matrices.
    turned = [x.mT for x in (a, *direction)]
    some = near[0, 0] if a.ndim == 2 else jnp.any(near)
    exact: Array = lax.cond(some, _by_singular_values, lambda *_: fast.mT, *turned).mT
    return exact if a.ndim == 2 else jnp.where(near, exact, fast)


def _by_inverse(det: Array, x: Array, direction: Sequence[Array]) -> Array:
    if not direction:
        return det * x
    product = x @ direction[0]
    total = jnp.trace(product, axis1=-2, axis2=-1)[..., None, None]
    return det * (total * x - product @ x)


def _by_singular_values(a: Array, *direction: Array) -> Array:
    """adj(A) = det(U Vᴴ) V adj(S) Uᴴ; see the kernel of the family."""
    finite = jnp.all(jnp.isfinite(a), (-2, -1), keepdims=True)
    u, s, vh = jnp.linalg.svd(jnp.where(finite, a, 0))
    phase = jnp.linalg.det(u @ vh)[..., None, None]
    v, uh = _adjoint(vh), _adjoint(u)
    diagonal = jnp.eye(a.shape[-1], dtype=bool)
    if not direction:
        result = phase * ((v * _leave_one_out(s).astype(a.dtype)[..., None, :]) @ uh)
    else:
        f = uh @ direction[0] @ v
        without = jnp.where(diagonal, 1, s[..., None, :])
        pairs = jnp.where(diagonal, 0, _leave_one_out(without)).astype(a.dtype)
        on_it = jnp.sum(pairs * jnp.diagonal(f, axis1=-2, axis2=-1)[..., None, :], -1)
        result = phase * (v @ jnp.where(diagonal, on_it[..., None], -pairs * f) @ uh)
    return jnp.where(finite, result, jnp.nan)


def _leave_one_out(s: Array) -> Array:
    """The product of all elements along the last axis but one, for each of them."""
    one = jnp.ones_like(s[..., :1])
    before = jnp.cumprod(jnp.concatenate([one, s[..., :-1]], -1), -1)
    after = jnp.cumprod(jnp.concatenate([one, s[..., :0:-1]], -1), -1)[..., ::-1]
    return before * after


def _adjoint(x: Array) -> Array:
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def _norm(x: Array) -> Array:
    return jnp.sqrt(jnp.sum(jnp.abs(x) ** 2, (-2, -1)))


def _parity(permutation: Array) -> Array:
    """The sign of permutations, by the number of inversions."""
    later = permutation[..., None, :] < permutation[..., :, None]
    odd = jnp.sum(jnp.triu(later, 1), -2, dtype=jnp.int32) & 1
    return 1 - 2 * (jnp.sum(odd, -1) & 1)  # two sums: XLA sums one axis faster than two


def _solved(packed: Array, permutation: Array, b: Array, trans: str) -> Array:
    if trans == "n":
        half = solve_triangle(packed, _rows(b, permutation), lower=True, unit=True)
        return solve_triangle(packed, half, lower=False)
    half = solve_triangle(packed, b, lower=False, trans=trans)
    half = solve_triangle(packed, half, lower=True, unit=True, trans=trans)
    return _rows(half, jnp.argsort(permutation, -1))


def _inverse(packed: Array, permutation: Array) -> Array:
    n = packed.shape[-1]
    places: Any = permutation[..., :, None] == jnp.arange(n, dtype=permutation.dtype)
    half = solve_triangle(packed, places.astype(packed.dtype), lower=True, unit=True)
    return solve_triangle(packed, half, lower=False)


def _rows(x: Array, places: Array) -> Array:
    """The rows of x at some places."""
    if x.ndim == 2:
        return x[places]
    if x.shape[-2] <= 4:
        return small_matrices.permuted(x, places)
    return jnp.take_along_axis(x, places[..., None], -2)


LOWERINGS: Mapping[type[ExtensionOp], Lowering] = {
    Lu: lu,
    PivotsToPermutation: pivots_to_permutation,
    LuSolve: lu_solve,
    Inverse: inverse,
    Determinant: determinant,
    Adjugate: adjugate,
    TridiagonalSolve: tridiagonal_solve,
}
"""Lowerings by op class."""
