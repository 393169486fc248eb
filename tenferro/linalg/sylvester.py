"""Sylvester and Lyapunov equations."""

from __future__ import annotations

from typing import Any

from tenferro.errors import ShapeError
from tenferro.families.linalg import Sylvester, check_matrix, check_square
from tenferro.ir import AnyTensor, ArrayLike, TensorMeta, canonical
from tenferro.linalg.arguments import floating, same_batch
from tenferro.ops.extension import Extension
from tenferro.ops.functions import array_function, emit

__all__ = ["solve_continuous_lyapunov", "solve_discrete_lyapunov", "solve_sylvester"]


@array_function(operands=3, module="tenferro.linalg")
def solve_sylvester(a: ArrayLike, b: ArrayLike, q: ArrayLike) -> AnyTensor:
    """The solution x of a x + x b = q.

    It is NaN where an eigenvalue of a is the negative of one of b.

    Args:
        a: matrices, of shape [..., m, m].
        b: matrices, of shape [..., n, n].
        q: right sides, of shape [..., m, n].

    Raises:
        ShapeError: a or b is not square, or the sizes do not fit.
        DTypeError: an operand is of half precision.

    >>> tn.linalg.solve_sylvester([[1.0, 0.0], [0.0, 2.0]], [[1.0]], [[4.0], [6.0]])
    Tensor([[2.],
            [2.]])
    """
    name = "solve_sylvester"
    operands = floating(name, a, b, q)
    left, right, whole = (value.meta for value in operands)
    _, m = check_square(name, left.dtype, left.exact_shape(name, "a"))
    _, n = check_square(name, right.dtype, right.exact_shape(name, "b"))
    _, rows, columns = check_matrix(name, whole.dtype, whole.exact_shape(name, "q"))
    if canonical(m, rows) is None:
        raise ShapeError(f"{name}: a {left} and q {whole} differ in rows (axis -2: {m} and {rows})")
    if canonical(n, columns) is None:
        raise ShapeError(
            f"{name}: b {right} and q {whole} differ in columns (axis -1: {n} and {columns})"
        )
    return emit(Extension(Sylvester()), *same_batch(name, *operands))


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
    matrix, right = _lyapunov("solve_continuous_lyapunov", a, q)
    return emit(Extension(Sylvester()), matrix, matrix.H, right)


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
    matrix, right = _lyapunov("solve_discrete_lyapunov", a, q)
    operands = (matrix, matrix.H, right)
    return emit(Extension(Sylvester(discrete=True)), *operands)


def _lyapunov(name: str, a: Any, q: Any) -> tuple[Any, Any]:
    """The operands with common batch axes."""
    matrix, right = floating(name, a, q)
    metas: list[TensorMeta] = [value.meta for value in (matrix, right)]
    _, n = check_square(name, metas[0].dtype, metas[0].exact_shape(name, "a"))
    _, m = check_square(name, metas[1].dtype, metas[1].exact_shape(name, "q"))
    if canonical(n, m) is None:
        raise ShapeError(
            f"{name}: a {metas[0]} and q {metas[1]} differ in rows (axis -2: {n} and {m})"
        )
    matrix, right = same_batch(name, matrix, right)
    return matrix, right
