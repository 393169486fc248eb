"""The lowerings of general eigenvalue problems, matrix functions and matrix equations.

All but the exponential and tridiagonal systems need a Schur form or eigenvectors, which XLA has on
the CPU alone. On other devices they are refused before XLA runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np
from jax import Array, lax
from jax import numpy as jnp
from jax import scipy as jsp

from tenferro.errors import BackendFailureError
from tenferro.families.linalg import (
    Eig,
    Hessenberg,
    MatrixFunction,
    Schur,
    Sylvester,
    TridiagonalSolve,
    closeness,
)
from tenferro.family import ExtensionOp, Lowering

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(7)
_RADIUS = 0.264
"""The norm of X below which 7 nodes give log(1 + X) to double precision (Higham, table 11.1)."""


def is_empty(x: Array) -> bool:
    """Whether an operand certainly has no elements. LAPACK does not take such operands."""
    return any(isinstance(size, int) and size == 0 for size in x.shape)


def needs_cpu(op: ExtensionOp) -> None:
    """Refuse an op that XLA has on the CPU alone.

    Raises:
        BackendFailureError: the program is compiled for another device.
    """
    device: Any = jax.config.jax_default_device
    platform = "cpu" if device is None else getattr(device, "platform", device)
    if platform != "cpu":
        raise BackendFailureError(
            op.family_id,
            f"{op.family_id}: XLA has it on the CPU only, not on {platform}; "
            "use the device 'cpu', or executor='numpy'",
        )


def _finite(a: Array) -> tuple[Array, Array]:
    """The matrices, zeros where one is not finite, and whether each is finite: [..., 1, 1]."""
    finite = jnp.all(jnp.isfinite(a), axis=(-2, -1), keepdims=True)
    return jnp.where(finite, a, 0), finite


def _where(allowed: Array, x: Array) -> Array:
    return jnp.where(allowed, x, jnp.nan)


def eig(op: Eig, a: Array) -> tuple[Array, ...]:
    """Values, vectors with real pivots, and the inverse of these."""
    needs_cpu(op)
    dtype = jnp.result_type(a.dtype, jnp.complex64)
    if is_empty(a):
        empty = a.astype(dtype)
        return (jnp.zeros(a.shape[:-1], dtype), empty, empty)[: op.results]
    clean, finite = _finite(a)
    found = lax.linalg.eig(
        clean, compute_left_eigenvectors=False, compute_right_eigenvectors=op.results > 1
    )
    values = _where(finite[..., 0], found[0])
    if op.results == 1:
        return (values,)
    vectors = _where(finite, _with_real_pivots(found[1]))
    return (values, vectors, jnp.linalg.inv(vectors))[: op.results]


def _with_real_pivots(vectors: Array) -> Array:
    size = jnp.abs(vectors)
    near = size >= size.max(axis=-2, keepdims=True) * (1 - closeness(vectors.dtype))
    first = near & (jnp.cumsum(near, axis=-2) == 1)
    pivot = jnp.sum(jnp.where(first, vectors, 0), axis=-2, keepdims=True)
    turned = vectors * (jnp.conj(pivot) / jnp.abs(pivot))
    return jnp.where(first, jnp.abs(pivot).astype(vectors.dtype), turned)


def matrix_function(op: MatrixFunction, a: Array) -> Array:
    """The exponential by scaling and squaring; the others by the complex Schur form."""
    if is_empty(a):
        return a
    if op.name == "exp":
        return jsp.linalg.expm(a)
    needs_cpu(op)
    clean, finite = _finite(a)
    form, basis = lax.linalg.schur(clean.astype(jnp.complex128))
    of_triangular = _SQRT if op.name == "sqrt" else _LOG
    result = basis @ of_triangular(form) @ _adjoint(basis)
    if op.name == "sqrt":
        finite = finite & _is_square_root(result, clean)
    if a.dtype.kind != "c":
        size = jnp.max(jnp.abs(result), axis=(-2, -1), keepdims=True)
        imaginary = jnp.max(jnp.abs(result.imag), axis=(-2, -1), keepdims=True)
        finite, result = finite & (imaginary <= 1e-8 * size), result.real
    return _where(finite, result).astype(a.dtype)


def _adjoint(x: Array) -> Array:
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def _is_square_root(x: Array, a: Array) -> Array:
    error = jnp.max(jnp.abs(x @ x - a), axis=(-2, -1), keepdims=True)
    size = jnp.sum(jnp.abs(x) ** 2, axis=(-2, -1), keepdims=True)
    return error <= 1e3 * a.shape[-1] * float(np.finfo(np.float64).eps) * size


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

    return lax.fori_loop(0, n, with_column, jnp.zeros_like(t))


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
    total = jnp.zeros_like(t)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        total = total + (weight / 2) * lax.linalg.triangular_solve(
            one + ((node + 1) / 2) * rest, rest, left_side=True, lower=False
        )
    singular = jnp.any(jnp.diagonal(t) == 0)
    return jnp.where(singular, jnp.nan, total * 2.0**count)


_SQRT: Callable[[Array], Array] = jnp.vectorize(_sqrt_of_triangular, signature="(n,n)->(n,n)")
_LOG: Callable[[Array], Array] = jnp.vectorize(_log_of_triangular, signature="(n,n)->(n,n)")


def sylvester(op: Sylvester, a: Array, b: Array, c: Array) -> Array:
    """The solution, column by column of the complex Schur forms (Bartels and Stewart, 1972)."""
    if is_empty(c):
        return c
    needs_cpu(op)
    (a, ok_a), (b, ok_b), (c, ok_c) = _finite(a), _finite(b), _finite(c)
    dtype = jnp.result_type(c.dtype, jnp.complex64)
    r, u = lax.linalg.schur(a.astype(dtype))
    s, v = lax.linalg.schur(b.astype(dtype))
    solve = _stein_columns if op.discrete else _sylvester_columns
    y = jnp.vectorize(solve, signature="(m,m),(n,n),(m,n)->(m,n)")(r, s, _adjoint(u) @ c @ v)
    x = u @ y @ _adjoint(v)
    return _where(ok_a & ok_b & ok_c, x if c.dtype.kind == "c" else x.real)


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
    return _where(jnp.all(jnp.abs(pivots) > eps * size), result)


def tridiagonal_solve(op: TridiagonalSolve, dl: Array, d: Array, du: Array, b: Array) -> Array:
    """The solution."""
    return b if is_empty(b) else lax.linalg.tridiagonal_solve(dl, d, du, b)


def schur(op: Schur, a: Array) -> tuple[Array, ...]:
    """T and Q."""
    if is_empty(a):
        return (a, a)[: op.output_count]
    needs_cpu(op)
    clean, finite = _finite(a)
    form, basis = lax.linalg.schur(clean)
    return (_where(finite, form), _where(finite, basis))[: op.output_count]


def hessenberg(op: Hessenberg, a: Array) -> tuple[Array, ...]:
    """H and Q."""
    if is_empty(a):
        return (a, a)[: op.output_count]
    needs_cpu(op)
    clean, finite = _finite(a)
    form, basis = jsp.linalg.hessenberg(clean, calc_q=True)
    return (_where(finite, form), _where(finite, basis))[: op.output_count]


LOWERINGS: Mapping[type[ExtensionOp], Lowering] = {
    Eig: eig,
    Hessenberg: hessenberg,
    MatrixFunction: matrix_function,
    Schur: schur,
    Sylvester: sylvester,
    TridiagonalSolve: tridiagonal_solve,
}
"""Lowerings by op class."""
