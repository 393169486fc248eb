"""Triangular and tridiagonal systems of equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tenferro.errors import ConfigError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, NumpyArray, TensorMeta, canonical, dtype_kind
from tenferro.linalg.arguments import (
    check_dtype,
    check_equal_sizes,
    check_matrix,
    check_same,
    check_square,
    floating,
    same_batch,
    systems,
)
from tenferro.linalg.matrix_op import H, SystemOp, family, minus, padded, rows, scipy_linalg
from tenferro.ops.extension import DTypes, Extension, FormulaSite, OutputTypes, Shapes, Terms
from tenferro.ops.functions import array_function, emit, emit_all, manipulation
from tenferro.ops.functions.manipulation import tril, triu

__all__ = ["solve_triangular", "tridiagonal_solve"]

# The kernel: by BLAS matrix by matrix, or row by row over a whole batch.

_TRANS = {"n": 0, "t": 1, "c": 2}


_SMALL = 8
"""Up to this size a call of BLAS takes longer than what it computes."""


_MANY = 4
"""How many matrices for each of their rows make a step over the batch worth its calls."""


def substituted(
    a: NumpyArray,
    b: NumpyArray,
    *,
    left: bool = True,
    lower: bool = False,
    trans: str = "n",
    unit: bool = False,
) -> NumpyArray:
    """X of op(A) X = B, or X op(A) = B. A zero on the diagonal gives infinities or NaN."""
    size, count = a.shape[-1], int(np.prod(b.shape[:-2]))
    if not b.size:
        return np.empty_like(b)
    if size <= _SMALL and count >= _MANY * size:
        t = a if trans == "n" else np.swapaxes(a, -1, -2)
        t = np.conj(t) if trans == "c" else t
        below = lower == (trans == "n")
        if left:
            return _row_by_row(t, b, below, unit)
        turned = _row_by_row(np.swapaxes(t, -1, -2), np.swapaxes(b, -1, -2), not below, unit)
        return np.ascontiguousarray(np.swapaxes(turned, -1, -2))
    trsm = scipy_linalg().get_blas_funcs("trsm", (a, b))
    options = {"side": int(not left), "lower": int(lower), "trans_a": _TRANS[trans]}
    result = np.empty_like(b)
    for index in np.ndindex(*b.shape[:-2]):
        result[index] = trsm(1.0, a[index], b[index], diag=int(unit), **options)
    return result


def _row_by_row(t: NumpyArray, b: NumpyArray, lower: bool, unit: bool) -> NumpyArray:
    """The solution of t X = B; t has no other elements than on one side of its diagonal."""
    x = np.array(b, order="C")
    size = t.shape[-1]
    with np.errstate(all="ignore"):
        for row in range(size) if lower else reversed(range(size)):
            if not unit:
                x[..., row, :] /= t[..., row, row, None]
            others = slice(row + 1, size) if lower else slice(row)
            x[..., others, :] -= t[..., others, row, None] * x[..., row, None, :]
    return x


# The op.


@family(name="triangular_solve")
@dataclass(frozen=True)
class TriangularSolve(SystemOp):
    """X with op(A) X = B, or X op(A) = B, for triangular A. Inputs A and B have equal batch sizes.

    Attributes:
        left: whether A stands on the left of X.
        lower: whether the lower triangle of A is read; the other one is not.
        trans: op(A) is A for `"n"`, Aᵀ for `"t"`, Aᴴ for `"c"`.
        unit: whether the diagonal of A is taken as ones.
    """

    left: bool = True
    lower: bool = True
    trans: str = "n"
    unit: bool = False

    input_count = 2
    output_count = 1
    linear_from = 1

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        name = "solve_triangular"
        dtype = check_dtype(name, *input_dtypes)
        a, b = input_shapes
        batch, n = check_square(name, dtype, a)
        batch_b, rows, columns = check_matrix(name, dtype, b)
        check_same(name, "the batch axes", len(batch), len(batch_b))
        check_equal_sizes(name, "batch sizes", batch, batch_b)
        check_same(name, "the sizes of A and B", n, rows if self.left else columns)
        return [(dtype, tuple(b))]

    def kernel(self, a: NumpyArray, b: NumpyArray) -> list[NumpyArray]:
        """The solution. A zero on the diagonal gives infinities or NaN."""
        options = {"left": self.left, "lower": self.lower, "unit": self.unit}
        return [substituted(a, b, trans=self.trans, **options)]

    def jvp(self, at: FormulaSite) -> Terms:
        """op(A)⁻¹(dB − op(dA) X)."""
        (a, _), (x,), (da, right) = at.operands, at.results, at.tangents
        if da is not None:
            triangle = tril(da, -int(self.unit)) if self.lower else triu(da, int(self.unit))
            moved = transposed(triangle, self.trans)
            right = minus(right, moved @ x if self.left else x @ moved)
        return emit_all(Extension(self), a, right)

    def vjp(self, at: FormulaSite) -> Terms:
        """B̄ = op(A)⁻ᴴ X̄."""
        return adjoint_solved(self, self.trans, at)


def adjoint_solved(op: Any, trans: str, at: FormulaSite) -> Terms:
    """The op that solves with op(A), of the last operand, applied to the cotangent for op(A)ᴴ."""
    (*factors, _), (ct,) = at.operands, at.cts
    adjoint = "t" if dtype_kind(factors[0].dtype) != "c" else "c"
    back = Extension(replace(op, trans=adjoint if trans == "n" else "n"))
    if trans == "t" and adjoint == "c":  # the adjoint of Aᵀ is the conjugate of A
        return [emit(back, *factors, ct.conj()).conj()]
    return emit_all(back, *factors, ct)


def transposed(x: AnyTensor, trans: str) -> AnyTensor:
    """op(x)."""
    if trans == "n":
        return x
    return H(x) if trans == "c" else x.mT


def triangular_solve(
    a: AnyTensor,
    b: AnyTensor,
    *,
    left: bool = True,
    lower: bool = True,
    trans: str = "n",
    unit: bool = False,
) -> AnyTensor:
    """The solution of a triangular system; see `TriangularSolve`."""
    trans = "t" if trans == "c" and dtype_kind(a.dtype) != "c" else trans
    return emit(Extension(TriangularSolve(left, lower, trans, unit)), a, b)


# Tridiagonal systems.


@family(name="tridiagonal_solve")
@dataclass(frozen=True)
class TridiagonalSolve(SystemOp):
    """X with T X = B; NaN where elimination meets a zero pivot.

    The inputs are the lower, main and upper diagonal of T, each of shape [..., n], and B. Row i of
    T has lower[i], main[i] and upper[i]; lower[0] and upper[n - 1] are not read.
    """

    input_count = 4
    output_count = 1
    linear_from = 3

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        name = "tridiagonal_solve"
        dtype = check_dtype(name, *input_dtypes)
        *diagonals, b = input_shapes
        batch, n, _ = check_matrix(name, dtype, b)
        for diagonal in diagonals:
            check_same(name, "the axes of a diagonal", len(batch) + 1, len(diagonal))
            check_equal_sizes(name, "the sizes of a diagonal and of B", (*batch, n), diagonal)
        return [(dtype, tuple(b))]

    def kernel(
        self, lower: NumpyArray, main: NumpyArray, upper: NumpyArray, b: NumpyArray
    ) -> list[NumpyArray]:
        """By LAPACK's gtsv."""
        (gtsv,) = scipy_linalg().get_lapack_funcs(("gtsv",), (main, b))
        result = np.empty_like(b)
        for index in np.ndindex(*main.shape[:-1]):
            if not b[index].size:
                continue
            if len(main[index]) == 1:
                with np.errstate(all="ignore"):
                    result[index] = b[index] / main[index]
                continue
            *_, x, info = gtsv(lower[index][1:], main[index], upper[index][:-1], b[index])
            result[index] = x if info == 0 else np.nan
        return [result]

    def jvp(self, at: FormulaSite) -> Terms:
        """T⁻¹(dB − dT X)."""
        (lower, main, upper, _), (x,) = at.operands, at.results
        *changes, right = at.tangents
        for change, by in zip(changes, (1, 0, -1), strict=True):
            if change is not None:
                term = -(rows(change) * moved(x, by, -2))
                right = term if right is None else right + term
        return emit_all(Extension(self), lower, main, upper, right)

    def vjp(self, at: FormulaSite) -> Terms:
        """B̄ = T⁻ᴴ X̄."""
        (lower, main, upper, _), (ct,) = at.operands, at.cts
        turned = moved(upper.conj(), 1, -1)
        return emit_all(Extension(self), turned, main.conj(), moved(lower.conj(), -1, -1), ct)


def moved(x: AnyTensor, by: int, axis: int) -> AnyTensor:
    """x moved along an axis towards its end, with zeros for what comes in."""
    return padded(x, axis, by, -by) if by else x


TRANS = {0: "n", 1: "t", 2: "c", "N": "n", "T": "t", "C": "c"}
"""The names of op(A) = A, Aᵀ, Aᴴ, as users write them."""


def transposition(name: str, trans: object) -> str:
    """The name of op(A) in families.

    Raises:
        ConfigError: there is no such `trans`.
    """
    if not isinstance(trans, int | str) or trans not in TRANS:
        raise ConfigError(f"{name}: trans must be 0, 1, 2, 'N', 'T' or 'C', got {trans!r}")
    return TRANS[trans]


@array_function(operands=2, module="tenferro.linalg")
def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    *,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
) -> AnyTensor:
    """The solution x of op(a) x = b for triangular a.

    Args:
        a: matrices, of shape [..., n, n]; the other triangle is not read.
        b: right sides, of shape [..., n, k], or one vector of shape [n].
        trans: op(a) is a for 0 or "N", aᵀ for 1 or "T", aᴴ for 2 or "C".
        lower: whether a is lower triangular.
        unit_diagonal: take the diagonal as ones.

    Raises:
        ShapeError: a is not square, or b does not have its number of rows.
        DTypeError: an operand is of half precision.
        ConfigError: `trans` is none of these.

    >>> tn.linalg.solve_triangular([[2.0, 1.0], [0.0, 4.0]], [4.0, 8.0])
    Tensor([1., 2.])
    """
    matrix, right, restore = systems("solve_triangular", a, b)
    result = triangular_solve(
        matrix,
        right,
        lower=lower,
        trans=transposition("solve_triangular", trans),
        unit=unit_diagonal,
    )
    return restore(result)


@array_function(operands=4, module="tenferro.linalg")
def tridiagonal_solve(dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike) -> AnyTensor:
    """The solution x of t x = b for tridiagonal t; NaN where elimination meets a zero pivot.

    Row i of t has dl[i], d[i] and du[i]; dl[0] and du[n - 1] are not read.

    Args:
        dl: the diagonals below the main one, of shape [..., n].
        d: the main diagonals, of shape [..., n].
        du: the diagonals above the main one, of shape [..., n].
        b: right sides, of shape [..., n, k], or one vector of shape [n].

    Raises:
        ShapeError: the sizes differ.
        DTypeError: an operand is of half precision.

    >>> tn.linalg.tridiagonal_solve([0.0, 1.0], [2.0, 2.0], [1.0, 0.0], [3.0, 3.0])
    Tensor([1., 1.])
    """
    name = "tridiagonal_solve"
    *diagonals, right = floating(name, dl, d, du, b)
    metas = [value.meta for value in (*diagonals, right)]
    if not all(meta.rank for meta in metas):
        raise ShapeError(f"{name}: takes vectors [..., n] and right sides, got {_listed(metas)}")
    is_vector = metas[-1].rank == 1
    sizes = [meta.exact_shape(name, "operand")[-1] for meta in metas[:3]]
    sizes.append(metas[-1].exact_shape(name, "b")[-1 if is_vector else -2])
    if any(canonical(sizes[0], size) is None for size in sizes):
        raise ShapeError(f"{name}: diagonals and right side {_listed(metas)} differ in rows")
    if is_vector:
        right = manipulation.expand_dims(right, -1)
    columns = [manipulation.expand_dims(diagonal, -1) for diagonal in diagonals]
    *columns, right = same_batch(name, *columns, right, types=metas)
    diagonals = [manipulation.squeeze(column, -1) for column in columns]
    x = emit(Extension(TridiagonalSolve()), *diagonals, right)
    return manipulation.squeeze(x, -1) if is_vector else x


def _listed(metas: Sequence[TensorMeta]) -> str:
    return ", ".join(map(str, metas))
