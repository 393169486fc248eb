"""Linear matrix equations with a matrix on either side of the unknown one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from tenferro.ir import AnyTensor, ArrayLike, NumpyArray, dtype_kind
from tenferro.linalg.arguments import (
    agreed,
    check_dtype,
    check_equal_sizes,
    check_matrix,
    check_same,
    check_square,
    floating,
    same_batch,
)
from tenferro.linalg.matrix_op import H, family, over_batch, scipy_linalg
from tenferro.ops.extension import (
    DTypes,
    Extension,
    FamilyOp,
    FormulaSite,
    OutputTypes,
    Shapes,
    Terms,
)
from tenferro.ops.functions import array_function, emit, emit_all

__all__ = ["solve_continuous_lyapunov", "solve_discrete_lyapunov", "solve_sylvester"]


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
            check_equal_sizes(name, "batch sizes", batch, others)
        check_same(name, "the rows of A and C", m, rows)
        check_same(name, "the columns of B and C", n, columns)
        return [(dtype, tuple(input_shapes[2]))]

    def kernel(self, a: NumpyArray, b: NumpyArray, c: NumpyArray) -> list[NumpyArray]:
        """By Schur forms (Bartels and Stewart, 1972)."""
        one = _stein if self.discrete else _sylvester
        with np.errstate(all="ignore"):
            arrays, outputs = [a, b, c], [np.empty_like(c)]
            return over_batch(lambda x, y, z: (one(x, y, z),), arrays, outputs)

    def jvp(self, at: FormulaSite) -> Terms:
        """The same equation for dC − dA X − X dB, or for dC + dA X B + A X dB."""
        (a, b, _), (x,), (da, db, dc) = at.operands, at.results, at.tangents
        terms = [] if dc is None else [dc]
        if da is not None:
            terms.append(da @ x @ b if self.discrete else -(da @ x))
        if db is not None:
            terms.append(a @ x @ db if self.discrete else -(x @ db))
        return emit_all(Extension(self), a, b, reduce(add, terms))

    def vjp(self, at: FormulaSite) -> Terms:
        """C̄: the same equation with Aᴴ and Bᴴ."""
        (a, b, _), (ct,) = at.operands, at.cts
        return emit_all(Extension(self), H(a), H(b), ct)


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
    return np.asarray(x if dtype_kind(c.dtype) == "c" else x.real)


def sylvester(a: AnyTensor, b: AnyTensor, c: AnyTensor, *, discrete: bool = False) -> AnyTensor:
    """The solution of a matrix equation; see `Sylvester`."""
    return emit(Extension(Sylvester(discrete)), a, b, c)


@array_function(operands=3, module="tenferro.linalg")
def solve_sylvester(  # SciPy's names
    A: ArrayLike,  # noqa: N803
    B: ArrayLike,  # noqa: N803
    C: ArrayLike,  # noqa: N803
) -> AnyTensor:
    """The solution x of a x + x b = q.

    It is NaN where an eigenvalue of a is the negative of one of b.

    Args:
        A: matrices, of shape [..., m, m].
        B: matrices, of shape [..., n, n].
        C: right sides, of shape [..., m, n].

    Raises:
        ShapeError: a or b is not square, or the sizes do not fit.
        DTypeError: an operand is of half precision.

    >>> tn.linalg.solve_sylvester([[1.0, 0.0], [0.0, 2.0]], [[1.0]], [[4.0], [6.0]])
    Tensor([[2.],
            [2.]])
    """
    name = "solve_sylvester"
    operands = floating(name, A, B, C)
    left, right, whole = (value.meta for value in operands)
    _, m = check_square(name, left.dtype, left.exact_shape(name, "a"))
    _, n = check_square(name, right.dtype, right.exact_shape(name, "b"))
    _, rows, columns = check_matrix(name, whole.dtype, whole.exact_shape(name, "q"))
    agreed(m, rows, f"{name}: a {left} and q {whole} differ in rows (axis -2: {m} and {rows})")
    text = f"{name}: b {right} and q {whole} differ in columns (axis -1: {n} and {columns})"
    agreed(n, columns, text)
    return sylvester(*same_batch(name, *operands))


@array_function(operands=2, module="tenferro.linalg")
def solve_continuous_lyapunov(a: ArrayLike, q: ArrayLike) -> AnyTensor:
    """The solution x of a x + x aᴴ = q.

    Args:
        a: matrices, of shape [..., n, n].
        q: right sides, of shape [..., n, n].

    Raises:
        ShapeError: a is not square, or q is not of its size.
        DTypeError: an operand is of half precision.

    >>> tn.linalg.solve_continuous_lyapunov([[1.0, 0.0], [0.0, 2.0]], [[2.0, 3.0], [3.0, 4.0]])
    Tensor([[1., 1.],
            [1., 1.]])
    """
    return _lyapunov("solve_continuous_lyapunov", a, q, discrete=False)


@array_function(operands=2, module="tenferro.linalg")
def solve_discrete_lyapunov(a: ArrayLike, q: ArrayLike) -> AnyTensor:
    """The solution x of a x aᴴ − x + q = 0.

    Args:
        a: matrices, of shape [..., n, n].
        q: matrices, of shape [..., n, n].

    Raises:
        ShapeError: a is not square, or q is not of its size.
        DTypeError: an operand is of half precision.

    >>> tn.linalg.solve_discrete_lyapunov([[0.5, 0.0], [0.0, 0.0]], [[3.0, 1.0], [1.0, 2.0]])
    Tensor([[4., 1.],
            [1., 2.]])
    """
    return _lyapunov("solve_discrete_lyapunov", a, q, discrete=True)


def _lyapunov(name: str, a: ArrayLike, q: ArrayLike, discrete: bool) -> AnyTensor:
    matrix, right = floating(name, a, q)
    left, whole = matrix.meta, right.meta
    _, n = check_square(name, left.dtype, left.exact_shape(name, "a"))
    _, m = check_square(name, whole.dtype, whole.exact_shape(name, "q"))
    agreed(n, m, f"{name}: a {left} and q {whole} differ in rows (axis -2: {n} and {m})")
    matrix, right = same_batch(name, matrix, right)
    return sylvester(matrix, H(matrix), right, discrete=discrete)
