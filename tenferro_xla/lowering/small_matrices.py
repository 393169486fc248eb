"""Large batches of tiny matrices, with the loops over rows and columns unrolled.

LAPACK takes one matrix after the other, and a call costs more than the arithmetic of a tiny matrix.
Here each element is a vector over the batch, and XLA fuses the arithmetic. Results are as exact as
LAPACK's, though not bit for bit the same. Pivots are chosen by comparing, as LAPACK does.
"""

from __future__ import annotations

import math

import numpy as np
from jax import Array, lax
from jax import numpy as jnp

from tenferro.ir import dtype_kind

LARGE_BATCH = 64
"""From this many matrices on, the unrolled forms are faster."""

Entries = list[list[Array]]
"""The elements of matrices, by row and column, each a vector over the batch."""


def pays(a: Array, largest: int) -> bool:
    """Whether matrices of at most `largest` rows are in a batch that is large enough."""
    *batch, rows, columns = a.shape
    if not all(isinstance(size, int) for size in a.shape):
        return False
    return 0 < rows == columns <= largest and math.prod(batch) >= LARGE_BATCH


def entries(a: Array) -> Entries:
    flat = a.reshape(-1, *a.shape[-2:])
    return [[flat[:, i, j] for j in range(a.shape[-1])] for i in range(a.shape[-2])]


def matrices(rows: Entries, like: Array) -> Array:
    stacked = jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)
    return stacked.reshape(*like.shape[:-2], *stacked.shape[-2:])


def cholesky(a: Array) -> Array:
    """The lower factor of the Hermitian part; NaN where it is not positive definite."""
    x = entries(a)
    n = len(x)
    zero = jnp.zeros_like(x[0][0])
    lower: Entries = [[zero] * n for _ in range(n)]
    positive = jnp.ones(zero.shape, bool)
    for j in range(n):
        rest = jnp.real(x[j][j])
        for k in range(j):
            rest = rest - _square(lower[j][k])
        positive &= (rest > 0) & (rest < jnp.inf)
        root = jnp.sqrt(rest)
        lower[j][j] = root.astype(a.dtype)
        for i in range(j + 1, n):
            value = (x[i][j] + jnp.conj(x[j][i])) * 0.5
            for k in range(j):
                value = value - lower[i][k] * jnp.conj(lower[j][k])
            lower[i][j] = value / root
    checked = [
        [jnp.where(positive, value, jnp.nan) for value in row[: i + 1]]
        for i, row in enumerate(lower)
    ]
    return matrices([[*row, *[zero] * (n - len(row))] for row in checked], a)


def determinant(a: Array) -> Array:
    """The determinants of matrices of at most three rows, by expansion along the first row."""
    return _expanded(entries(a)).reshape(a.shape[:-2])


def _expanded(x: Entries) -> Array:
    if len(x) == 1:
        return x[0][0]
    first, *others = x
    minors = [_expanded([[*row[:j], *row[j + 1 :]] for row in others]) for j in range(len(x))]
    terms = [value * minor for value, minor in zip(first, minors, strict=True)]
    total = terms[0]
    for place, term in enumerate(terms[1:], 1):
        total = total - term if place % 2 else total + term
    return total


def lu(a: Array) -> tuple[Array, Array, Array]:
    """The packed factors, the pivots and the permutation, as LAPACK's getrf."""
    x = entries(a)
    n = len(x)
    places = [jnp.full(x[0][0].shape, i, jnp.int32) for i in range(n)]
    pivots = []
    for k in range(n):
        pivot = _largest_in_column(x, k)
        pivots.append(pivot)
        for i in range(k + 1, n):
            chosen = pivot == i
            x[k], x[i] = _exchanged(chosen, x[k], x[i])
            (places[k],), (places[i],) = _exchanged(chosen, [places[k]], [places[i]])
        divisor = jnp.where(x[k][k] == 0, jnp.ones_like(x[k][k]), x[k][k])
        for i in range(k + 1, n):
            x[i][k] = x[i][k] / divisor
            for j in range(k + 1, n):
                x[i][j] = x[i][j] - x[i][k] * x[k][j]
    vectors = [jnp.stack(rows, axis=-1).reshape(a.shape[:-1]) for rows in (pivots, places)]
    return matrices(x, a), vectors[0], vectors[1]


def _largest_in_column(x: Entries, k: int) -> Array:
    """The row, from k on, of the largest element of column k."""
    largest, place = _size(x[k][k]), jnp.full(x[k][k].shape, k, jnp.int32)
    for i in range(k + 1, len(x)):
        size = _size(x[i][k])
        place = jnp.where(size > largest, i, place)
        largest = jnp.maximum(size, largest)
    return place


def triangular_solve(a: Array, b: Array, *, lower: bool, unit: bool) -> Array:
    """x with a x = b for triangular a, of which the other triangle is not read."""
    x, right = entries(a), _rows(b)
    n = len(x)
    solved: dict[int, Array] = {}
    for i in range(n) if lower else range(n - 1, -1, -1):
        row = right[i]
        for j, known in solved.items():
            row = row - x[i][j][:, None] * known
        solved[i] = row if unit else row / x[i][i][:, None]
    return jnp.stack([solved[i] for i in range(n)], axis=-2).reshape(b.shape)


def permuted(b: Array, permutation: Array) -> Array:
    """The rows of b in the order of the permutation."""
    rows = _rows(b)
    flat = permutation.reshape(-1, permutation.shape[-1])
    result = []
    for i in range(flat.shape[-1]):
        row = rows[0]
        for j in range(1, len(rows)):
            row = jnp.where((flat[:, i] == j)[:, None], rows[j], row)
        result.append(row)
    return jnp.stack(result, axis=-2).reshape(b.shape)


def _rows(b: Array) -> list[Array]:
    flat = b.reshape(-1, *b.shape[-2:])
    return [flat[:, i] for i in range(b.shape[-2])]


SWEEPS = {1: 0, 2: 1, 3: 6, 4: 8}
"""Sweeps of rotations over all pairs after which double precision is reached."""


def wide_eigh(a: Array) -> tuple[Array, Array]:
    """As `eigh`, in double precision whatever the dtype is.

    The errors of 32-bit matrices are a third of those of `eigh` then, and as small as LAPACK's.
    """
    values, vectors = eigh(a.astype(jnp.float64))
    return values.astype(a.dtype), vectors.astype(a.dtype)


def eigh(a: Array) -> tuple[Array, Array]:
    """Ascending eigenvalues and eigenvectors of real symmetric matrices, by Jacobi rotations.

    The matrices are scaled by their largest element.
    """
    n = a.shape[-1]
    symmetric = (a + a.mT) * 0.5
    scale = jnp.max(jnp.abs(symmetric), axis=(-2, -1), keepdims=True)
    scale = jnp.where(scale > 0, scale, 1.0)
    x = entries(symmetric / scale)
    zero, one = jnp.zeros_like(x[0][0]), jnp.ones_like(x[0][0])
    v = [[one if i == j else zero for j in range(n)] for i in range(n)]
    x, v = lax.fori_loop(0, SWEEPS[n], lambda _, state: _sweep(*state), (x, v))
    values = [x[i][i] for i in range(n)]
    columns = [[v[i][j] for i in range(n)] for j in range(n)]
    for last in range(n - 1, 0, -1):
        for i in range(last):
            larger = values[i] > values[i + 1]
            (values[i],), (values[i + 1],) = _exchanged(larger, [values[i]], [values[i + 1]])
            columns[i], columns[i + 1] = _exchanged(larger, columns[i], columns[i + 1])
    vectors = matrices([[column[i] for column in columns] for i in range(n)], a)
    stacked = jnp.stack(values, axis=-1).reshape(a.shape[:-1]) * scale[..., 0]
    return stacked, vectors


def _sweep(x: Entries, v: Entries) -> tuple[Entries, Entries]:
    """One rotation for each pair of rows, which makes the element of the pair zero."""
    n = len(x)
    x, v = [list(row) for row in x], [list(row) for row in v]
    for p in range(n - 1):
        for q in range(p + 1, n):
            zero = jnp.abs(x[p][q]) < float(np.finfo(x[p][q].dtype).tiny)
            theta = (x[q][q] - x[p][p]) / jnp.where(zero, 1.0, 2.0 * x[p][q])
            unit = jnp.ones_like(theta)
            sign = jnp.where(theta >= 0, unit, -unit)  # numbers of Python would be of 64 bits
            t = jnp.where(zero, 0.0, sign / (jnp.abs(theta) + jnp.sqrt(theta * theta + 1.0)))
            c = lax.rsqrt(t * t + 1.0)
            s = t * c
            moved = t * x[p][q]
            x[p][p], x[q][q] = x[p][p] - moved, x[q][q] + moved
            x[p][q] = x[q][p] = jnp.zeros_like(t)
            for k in range(n):
                if k not in (p, q):
                    one, other = x[p][k], x[q][k]
                    x[p][k] = x[k][p] = c * one - s * other
                    x[q][k] = x[k][q] = s * one + c * other
                first, second = v[k][p], v[k][q]
                v[k][p], v[k][q] = c * first - s * second, s * first + c * second
    return x, v


def _exchanged(
    condition: Array, one: list[Array], other: list[Array]
) -> tuple[list[Array], list[Array]]:
    """The two rows, exchanged where the condition holds."""
    return (
        [jnp.where(condition, b, a) for a, b in zip(one, other, strict=True)],
        [jnp.where(condition, a, b) for a, b in zip(one, other, strict=True)],
    )


def _square(x: Array) -> Array:
    """|x|²."""
    return jnp.real(x * jnp.conj(x))


def _size(x: Array) -> Array:
    """The size by which LAPACK compares pivots: |x|, or |re| + |im|."""
    return jnp.abs(x) if dtype_kind(x.dtype) == "f" else jnp.abs(jnp.real(x)) + jnp.abs(jnp.imag(x))
