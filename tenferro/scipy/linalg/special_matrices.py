"""Matrices with a name: of vectors, such as companion matrices, and of a size, such as Hilbert's.

Those of vectors take batches, `[..., n]`, and have derivatives. Those of a size are constants.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tenferro import numpy as tn
from tenferro.errors import ShapeError
from tenferro.ir import AnyTensor, ArrayLike, DTypeLike, NumpyArray, as_dtype
from tenferro.linalg import toeplitz
from tenferro.numpy.arguments import array, check_affordable, constant_size, count, option, promoted

__all__ = [
    "circulant",
    "companion",
    "convolution_matrix",
    "dft",
    "fiedler",
    "fiedler_companion",
    "hadamard",
    "hankel",
    "helmert",
    "hilbert",
    "invhilbert",
    "invpascal",
    "leslie",
    "pascal",
]


def _vector(name: str, label: str, operand: ArrayLike, least: int = 0) -> tuple[Any, int]:
    """An array of vectors, and their constant size."""
    x = array(name, operand)
    if not x.ndim:
        raise ShapeError(f"{name}: {label} must have an axis, got {x.meta}")
    size = constant_size(name, x, x.ndim - 1)
    if size < least:
        raise ShapeError(f"{name}: {label} must have at least {least} elements, got {x.meta}")
    return x, size


# Of vectors.


def circulant(c: ArrayLike) -> AnyTensor:
    """The matrices whose columns are c, each rotated by one more place.

    Args:
        c: first columns, of shape [..., n].

    >>> tn.scipy.linalg.circulant([1, 2, 3])
    Tensor([[1, 3, 2],
            [2, 1, 3],
            [3, 2, 1]])
    """
    x, n = _vector("circulant", "c", tn.atleast_1d(c))
    row = np.arange(n)
    return x[..., (row[:, None] - row) % max(n, 1)]  # type: ignore[no-any-return]


def companion(a: ArrayLike) -> AnyTensor:
    """The companion matrices of polynomials, whose eigenvalues are the roots.

    Args:
        a: coefficients, of shape [..., n], the highest power first, which is not 0.

    Raises:
        ShapeError: there are fewer than two coefficients.

    >>> tn.scipy.linalg.companion([1.0, -3.0, 2.0])
    Tensor([[ 3., -2.],
            [ 1.,  0.]])
    """
    x, n = _vector("companion", "a", a, 2)
    first = -x[..., 1:] / x[..., :1]
    below = tn.broadcast_to(tn.eye(n - 2, n - 1, dtype=first.dtype), (*x.shape[:-1], n - 2, n - 1))
    return tn.concat([first[..., None, :], below], axis=-2)


def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> AnyTensor:
    """The matrices whose product with a vector v of size n is `convolve(a, v, mode)`.

    Args:
        a: vectors, of shape [..., m].
        n: the number of columns.
        mode: "full", "same" or "valid".

    Raises:
        ShapeError: a is empty, or n is below 1.
        ConfigError: there is no such mode.

    >>> tn.scipy.linalg.convolution_matrix([1, 2], 2)
    Tensor([[1, 0],
            [2, 1],
            [0, 2]])
    """
    name = "convolution_matrix"
    x, m = _vector(name, "a", a, 1)
    n = count(name, "n", n, 1)
    option(name, "mode", mode, ("full", "same", "valid"))
    zeros = tn.zeros((*x.shape[:-1], n - 1), dtype=x.dtype)
    column = tn.concat([x, zeros], axis=-1)
    whole = toeplitz(column, tn.zeros((*x.shape[:-1], n), dtype=x.dtype))
    low, high = 0, m + n - 1
    if mode != "full":
        low = (min(m, n) - 1) // 2 if mode == "same" else min(m, n) - 1
        high = low + max(m, n) if mode == "same" else max(m, n)
    return whole[..., low:high, :]


def fiedler(a: ArrayLike) -> AnyTensor:
    """The matrices of the distances of the elements of a.

    Args:
        a: vectors, of shape [..., n].

    >>> tn.scipy.linalg.fiedler([1, 4, 6])
    Tensor([[0, 3, 5],
            [3, 0, 2],
            [5, 2, 0]])
    """
    x, _ = _vector("fiedler", "a", a)
    return tn.abs(x[..., :, None] - x[..., None, :])


def fiedler_companion(a: ArrayLike) -> AnyTensor:
    """Companion matrices of polynomials with five diagonals, whose eigenvalues are the roots.

    Args:
        a: coefficients, of shape [..., n], the highest power first, which is not 0.

    Raises:
        ShapeError: there are no coefficients.

    >>> tn.scipy.linalg.fiedler_companion([1.0, -3.0, 2.0])
    Tensor([[ 3., -2.],
            [ 1.,  0.]])
    """
    x, n = _vector("fiedler_companion", "a", a)
    if n == 0:
        raise ShapeError(f"fiedler_companion: a must have a coefficient, got {x.meta}")
    if n < 2:
        return tn.zeros((*x.shape[:-1], 0, 0), dtype=x.dtype)
    ratios = x / x[..., :1]
    zero = ratios[..., :1] * 0
    table = tn.concat([zero, zero + 1, -ratios[..., 1:]], axis=-1)
    return table[..., _fiedler_places(n - 1)]


def _fiedler_places(size: int) -> NumpyArray:
    """For each element which of 0, 1, −c₁, −c₂, … it is."""
    places = np.zeros((size, size), int)
    places[1:2, :1] = 1
    for k in range(size):  # the coefficient −c of the number k + 1, and the 1 beside it
        odd = k % 2
        row, column = (k - 1, k) if odd else (k, max(k - 1, 0))
        places[row, column] = k + 2
        if k + 2 < size:
            places[(k + 2, k) if odd else (k, k + 2)] = 1
    return places


def hankel(c: ArrayLike, r: ArrayLike | None = None) -> AnyTensor:
    """The matrices with constant antidiagonals, of which c is the first column and r the last row.

    Args:
        c: columns, of shape [..., n].
        r: rows, of shape [..., m], of which the first element is not read; by default zeros.

    >>> tn.scipy.linalg.hankel([1, 2, 3], [0, 4])
    Tensor([[1, 2],
            [2, 3],
            [3, 4]])
    """
    name = "hankel"
    column, n = _vector(name, "c", c)
    row, m = (column * 0, n) if r is None else _vector(name, "r", r)
    column, row = promoted(name, column, row)
    batch = tn.broadcast_shapes(column.shape[:-1], row.shape[:-1])
    parts = [tn.broadcast_to(x, (*batch, x.shape[-1])) for x in (column, row[..., 1:])]
    places = np.arange(n)[:, None] + np.arange(m)
    return tn.concat(parts, axis=-1)[..., places]


def leslie(f: ArrayLike, s: ArrayLike) -> AnyTensor:
    """The matrices of populations by age: births f in the first row, survivors s below.

    Args:
        f: births, of shape [..., n].
        s: the parts that survive, of shape [..., n - 1].

    Raises:
        ShapeError: s is not shorter than f by one.

    >>> tn.scipy.linalg.leslie([1.0, 2.0], [0.5])
    Tensor([[1. , 2. ],
            [0.5, 0. ]])
    """
    name = "leslie"
    births, n = _vector(name, "f", f, 2)
    part, m = _vector(name, "s", s, 1)
    if m != n - 1:
        raise ShapeError(
            f"{name}: s must be shorter by one than f, got f {births.meta}, s {part.meta}"
        )
    births, part = promoted(name, births, part)
    batch = tn.broadcast_shapes(births.shape[:-1], part.shape[:-1])
    survivors = part[..., None, :] * tn.eye(n - 1, dtype=part.dtype)
    below = tn.concat([survivors, tn.zeros((*survivors.shape[:-1], 1), part.dtype)], axis=-1)
    return tn.concat(
        [
            tn.broadcast_to(births, (*batch, n))[..., None, :],
            tn.broadcast_to(below, (*batch, m, n)),
        ],
        axis=-2,
    )


# Of a size.


def _size(name: str, n: Any, least: int = 0) -> int:
    size = count(name, "n", n, least)
    check_affordable(name, size, size)
    return size


def dft(n: int, scale: str | None = None, *, dtype: DTypeLike | None = None) -> AnyTensor:
    """The matrix of the discrete Fourier transform of n numbers.

    Args:
        n: the size.
        scale: None; "sqrtn" for a unitary matrix; "n" for the mean of the numbers as first result.
        dtype: complex128 by default.

    >>> tn.scipy.linalg.dft(2)
    Tensor([[ 1.+0.j,  1.+0.j],
            [ 1.+0.j, -1.+0.j]])
    """
    n = _size("dft", n)
    option("dft", "scale", scale, (None, "sqrtn", "n"))
    turns = np.outer(np.arange(n), np.arange(n)) % max(n, 1)
    quarter, rest = np.divmod(4 * turns, max(n, 1))  # exact at quarters of a turn
    powers = np.array([1, -1j, -1, 1j])[quarter] * np.exp(-0.5j * np.pi * rest / max(n, 1))
    matrix = powers + 0.0  # no negative zeros
    if scale is not None:
        matrix = matrix / (math.sqrt(n) if scale == "sqrtn" else n)
    return tn.asarray(matrix, dtype=as_dtype(complex if dtype is None else dtype))


def hadamard(n: int, dtype: DTypeLike = int) -> AnyTensor:
    """The matrix of orthogonal rows of ±1; n is a power of 2.

    >>> tn.scipy.linalg.hadamard(2)
    Tensor([[ 1,  1],
            [ 1, -1]])
    """
    n = _size("hadamard", n, 1)
    if n & (n - 1):
        raise ShapeError(f"hadamard: n must be a power of 2, got {n}")
    common = np.bitwise_count(np.arange(n)[:, None] & np.arange(n))
    return tn.asarray(1 - 2 * (common % 2).astype(int)).astype(as_dtype(dtype))


def helmert(n: int, full: bool = False) -> AnyTensor:
    """The matrix of contrasts: row k is orthogonal to the others, and has k elements and then one.

    Args:
        n: the number of columns.
        full: whether the first row, of equal numbers, is there.

    >>> tn.scipy.linalg.helmert(2)
    Tensor([[ 0.70710678, -0.70710678]])
    """
    n = _size("helmert", n, 1)
    k = np.arange(n)
    matrix = np.tril(np.ones((n, n)), -1) - np.diag(k)
    matrix[0] = 1.0
    lengths = np.sqrt(np.where(k == 0, n, k * (k + 1.0)))
    matrix /= lengths[:, None]
    return tn.asarray(matrix if full else matrix[1:], dtype=float)


def hilbert(n: int) -> AnyTensor:
    """The matrix of 1 / (i + j + 1).

    >>> tn.scipy.linalg.hilbert(2)
    Tensor([[1.        , 0.5       ],
            [0.5       , 0.33333333]])
    """
    places = np.arange(_size("hilbert", n))
    return tn.asarray(1.0 / (places[:, None] + places + 1), dtype=float)


def invhilbert(n: int) -> AnyTensor:
    """The inverse of `hilbert(n)`, of whole numbers.

    >>> tn.scipy.linalg.invhilbert(2)
    Tensor([[ 4., -6.],
            [-6., 12.]])
    """
    n = _size("invhilbert", n)
    rows = [
        [
            (-1) ** (i + j)
            * (i + j + 1)
            * math.comb(n + i, n - j - 1)
            * math.comb(n + j, n - i - 1)
            * math.comb(i + j, i) ** 2
            for j in range(n)
        ]
        for i in range(n)
    ]
    return _floats(rows, n)


def pascal(n: int, kind: str | None = None) -> AnyTensor:
    """The matrix of the numbers of Pascal's triangle.

    Args:
        n: the size.
        kind: "symmetric", the default; "lower" or "upper" for a triangular one.

    >>> tn.scipy.linalg.pascal(3)
    Tensor([[1., 1., 1.],
            [1., 2., 3.],
            [1., 3., 6.]])
    """
    n = _size("pascal", n)
    kind = option("pascal", "kind", kind, (None, "symmetric", "lower", "upper"))
    if kind in (None, "symmetric"):
        return _floats([[math.comb(i + j, i) for j in range(n)] for i in range(n)], n)
    lower = [[math.comb(i, j) for j in range(n)] for i in range(n)]
    return _floats(lower, n) if kind == "lower" else _floats(lower, n).mT


def invpascal(n: int, kind: str | None = None) -> AnyTensor:
    """The inverse of `pascal(n, kind)`, of whole numbers.

    >>> tn.scipy.linalg.invpascal(2)
    Tensor([[ 2., -1.],
            [-1.,  1.]])
    """
    n = _size("invpascal", n)
    kind = option("invpascal", "kind", kind, (None, "symmetric", "lower", "upper"))
    triangle = [[(-1) ** (i + j) * math.comb(i, j) for j in range(n)] for i in range(n)]
    if kind in ("lower", "upper"):
        lower = _floats(triangle, n)
        return lower if kind == "lower" else lower.mT
    columns = list(zip(*triangle, strict=True))
    products = [
        [sum(a * b for a, b in zip(left, right, strict=True)) for right in columns]
        for left in columns
    ]
    return _floats(products, n)


def _floats(rows: list[list[int]], n: int) -> AnyTensor:
    """A square matrix of whole numbers, rounded to the default float."""
    return tn.asarray(np.array(rows, dtype=float).reshape(n, n), dtype=float)
