"""Matrix functions and matrix equations by the complex Schur form, which XLA has on the CPU alone.

They have derivatives in JAX, for programs that become JAX functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import Array, lax
from jax import numpy as jnp

from tenferro.ir import dtype_kind

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(7)
_RADIUS = 0.264
"""The norm of X below which 7 nodes give log(1 + X) to double precision (Higham, table 11.1)."""


def zeros_unless_finite(a: Array) -> tuple[Array, Array]:
    """The matrices, zeros where one is not finite, and whether each is finite: [..., 1, 1]."""
    finite = jnp.all(jnp.isfinite(a), axis=(-2, -1), keepdims=True)
    return jnp.where(finite, a, 0), finite


def nan_unless(allowed: Array, x: Array) -> Array:
    """x, or NaN where it is not allowed."""
    return jnp.where(allowed, x, jnp.nan)


def adjoint(x: Array) -> Array:
    return jnp.conj(x.mT)


@jax.custom_jvp
def sqrtm(a: Array) -> Array:
    """The principal square root in the dtype of a; NaN where there is none."""
    clean, allowed = zeros_unless_finite(a)
    result = _by_schur(_sqrt_of_triangular, clean)
    error = jnp.max(jnp.abs(result @ result - clean), axis=(-2, -1), keepdims=True)
    size = jnp.sum(jnp.abs(result) ** 2, axis=(-2, -1), keepdims=True)
    exists = error <= 1e3 * a.shape[-1] * float(np.finfo(np.float64).eps) * size
    return _in_dtype(result, allowed & exists, a)


@sqrtm.defjvp
def _sqrtm_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    x = sqrtm(*primals)
    return x, sylvester(x, x, tangents[0])


@jax.custom_vjp
def logm(a: Array) -> Array:
    """The principal logarithm in the dtype of a; NaN where there is none."""
    clean, allowed = zeros_unless_finite(a)
    return _in_dtype(_by_schur(_log_of_triangular, clean), allowed, a)


def _logm_backward(a: Array, ct: Array) -> tuple[Array]:
    """The derivative at the transpose: the upper right block of log([[Aᵀ, ct], [0, Aᵀ]])."""
    at, n = a.mT, a.shape[-1]
    above = jnp.concatenate([at, ct], axis=-1)
    below = jnp.concatenate([jnp.zeros_like(at), at], axis=-1)
    return (logm(jnp.concatenate([above, below], axis=-2))[..., :n, n:],)


logm.defvjp(lambda a: (logm(a), a), _logm_backward)


def _by_schur(of_triangular: Callable[[Array], Array], a: Array) -> Array:
    """A function of matrices by one of triangular matrices; in double precision."""
    form, basis = lax.linalg.schur(a.astype(jnp.complex128))
    inner = jnp.vectorize(of_triangular, signature="(n,n)->(n,n)")(form)
    result: Array = basis @ inner @ adjoint(basis)
    return result


def _in_dtype(result: Array, allowed: Array, like: Array) -> Array:
    """The result in the dtype of another; NaN where it is not allowed, or real and should be."""
    if dtype_kind(like.dtype) != "c":
        size = jnp.max(jnp.abs(result), axis=(-2, -1), keepdims=True)
        imaginary = jnp.max(jnp.abs(result.imag), axis=(-2, -1), keepdims=True)
        allowed, result = allowed & (imaginary <= 1e-8 * size), result.real
    return nan_unless(allowed, result).astype(like.dtype)


def _sqrt_of_triangular(t: Array) -> Array:
    """The square root column by column (Björck and Hammarling, 1983).

    Where two diagonal entries of it are zero, it exists only if a right side is zero too. It is
    solved with 1 instead, and the caller checks the result.
    """
    n = t.shape[-1]
    place = jnp.arange(n)
    roots = jnp.sqrt(jnp.diagonal(t))

    def with_column(j: Any, x: Array) -> Array:
        above = place < j
        pivots = jnp.where(above, roots + roots[j], 1)
        pivots = jnp.where(pivots == 0, 1, pivots)
        matrix = jnp.triu(x, 1) + jnp.diag(pivots)
        right = jnp.where(above, t[:, j], 0)
        column = lax.linalg.triangular_solve(matrix, right[:, None], left_side=True, lower=False)
        return x.at[:, j].set(jnp.where(place == j, roots[j], column[:, 0]))

    result: Array = lax.fori_loop(0, n, with_column, jnp.zeros_like(t))
    return result


def _log_of_triangular(t: Array) -> Array:
    """The logarithm by inverse scaling and squaring (Higham, Functions of Matrices, section 11.5).

    Square roots are taken until the matrix is close to 1. There the Padé approximant is the sum of
    w X (1 + x X)⁻¹ over the nodes x and weights w of the Gauss-Legendre rule on [0, 1].
    """
    one = jnp.eye(t.shape[-1], dtype=t.dtype)

    def is_far(state: tuple[Any, Array]) -> Any:
        count, x = state
        return (jnp.max(jnp.sum(jnp.abs(x - one), axis=0)) > _RADIUS) & (count < 64)

    def halved(state: tuple[Any, Array]) -> tuple[Any, Array]:
        return state[0] + 1, _sqrt_of_triangular(state[1])

    count, near = lax.while_loop(is_far, halved, (0, t))
    rest = near - one
    nodes = jnp.asarray((_NODES + 1) / 2)[:, None, None]
    parts = lax.linalg.triangular_solve(
        one + nodes * rest, jnp.broadcast_to(rest, (7, *rest.shape)), left_side=True, lower=False
    )
    total = jnp.tensordot(jnp.asarray(_WEIGHTS / 2, t.dtype), parts, 1)
    singular = jnp.any(jnp.diagonal(t) == 0)
    return jnp.where(singular, jnp.nan, total * 2.0**count)


def sylvester(a: Array, b: Array, c: Array, discrete: bool = False) -> Array:
    """X with a X + X b = c, or X − a X b = c, column by column of the complex Schur forms.

    NaN where it is singular to the precision (Bartels and Stewart, 1972).
    """

    def product(x: Array) -> Array:
        return x - a @ x @ b if discrete else a @ x + x @ b

    def solution(_: Any, right: Array) -> Array:
        return _solution(a, b, right, discrete)

    def transposed_solution(_: Any, right: Array) -> Array:
        return _solution(a.mT, b.mT, right, discrete)

    result: Array = lax.custom_linear_solve(product, c, solution, transposed_solution)
    return result


def _solution(a: Array, b: Array, c: Array, discrete: bool) -> Array:
    (a, ok_a), (b, ok_b), (c, ok_c) = map(zeros_unless_finite, (a, b, c))
    dtype = jnp.result_type(c.dtype, jnp.complex64)
    r, u = lax.linalg.schur(a.astype(dtype))
    s, v = lax.linalg.schur(b.astype(dtype))
    solve = _stein_columns if discrete else _sylvester_columns
    y = jnp.vectorize(solve, signature="(m,m),(n,n),(m,n)->(m,n)")(r, s, adjoint(u) @ c @ v)
    x = u @ y @ adjoint(v)
    return nan_unless(ok_a & ok_b & ok_c, x if dtype_kind(c.dtype) == "c" else x.real)


def _sylvester_columns(r: Array, s: Array, right: Array) -> Array:
    """Y with r Y + Y s = right."""
    one = jnp.eye(r.shape[-1], dtype=r.dtype)

    def with_column(k: Any, y: Array) -> Array:
        column = right[:, k] - y @ s[:, k]
        return y.at[:, k].set(_upper_solve(r + s[k, k] * one, column))

    sums = jnp.diagonal(r)[:, None] + jnp.diagonal(s)
    size = jnp.maximum(jnp.max(jnp.abs(r)), jnp.max(jnp.abs(s)))
    return _solved(with_column, sums, size, right)


def _stein_columns(r: Array, s: Array, right: Array) -> Array:
    """Y with Y − r Y s = right."""
    one = jnp.eye(r.shape[-1], dtype=r.dtype)

    def with_column(k: Any, y: Array) -> Array:
        column = right[:, k] + r @ (y @ s[:, k])
        return y.at[:, k].set(_upper_solve(one - s[k, k] * r, column))

    pivots = 1 - jnp.diagonal(r)[:, None] * jnp.diagonal(s)
    size = jnp.maximum(1, jnp.max(jnp.abs(r)) * jnp.max(jnp.abs(s)))
    return _solved(with_column, pivots, size, right)


def _upper_solve(a: Array, b: Array) -> Array:
    return lax.linalg.triangular_solve(a, b[:, None], left_side=True, lower=False)[:, 0]


def _solved(
    with_column: Callable[[Any, Array], Array], pivots: Array, size: Array, right: Array
) -> Array:
    """All columns; NaN if a pivot is zero to the precision."""
    result = lax.fori_loop(0, right.shape[-1], with_column, jnp.zeros_like(right))
    eps = float(np.finfo(right.dtype).eps)
    return nan_unless(jnp.all(jnp.abs(pivots) > eps * size), result)
