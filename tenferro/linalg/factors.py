"""Factorizations, over an emitter."""

from __future__ import annotations

from tenferro.arrays.notation import Expression
from tenferro.arrays.operands import Operand
from tenferro.chainrules import Emitter, V
from tenferro.families.linalg import Cholesky, tril
from tenferro.family import Extension
from tenferro.linalg.operands import square


def cholesky(
    at: Emitter[V], x: Operand[V], /, *, upper: bool = False, symmetrize_input: bool = True
) -> V:
    """The lower triangular L with L Lᴴ = x, for Hermitian positive definite x.

    The result is NaN for each matrix that is not positive definite.

    Args:
        x: matrices, of shape [..., n, n].
        upper: return the upper triangular U = Lᴴ instead.
        symmetrize_input: read (x + xᴴ) / 2, so that gradients are Hermitian. Otherwise only one
            triangle is read, the lower one, or the upper one if `upper`.

    Raises:
        ShapeError: x is not square.
        DTypeError: x is of half precision.

    >>> tn.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
    Tensor([[2., 0.],
            [1., 2.]])
    """
    a = Expression(at, square(at, "cholesky", x))
    if not symmetrize_input:
        read = a.H if upper else a
        a = tril(read) + tril(read, -1).H
    (lower,) = a.emit_all(Extension(Cholesky()))
    return (lower.H if upper else lower).value  # type: ignore[no-any-return]
