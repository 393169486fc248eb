"""Functions of Hermitian matrices, over an emitter."""

from __future__ import annotations

from tenferro.arrays import Expression, Operand
from tenferro.chainrules import Emitter, V
from tenferro.families.linalg import hermitian_function
from tenferro.linalg.operands import integer, known, square


def funm_hermitian(
    at: Emitter[V], x: Operand[V], /, name: str, parameter: float | None = None
) -> V:
    """V h(w) Vᴴ for Hermitian matrices V diag(w) Vᴴ, with derivatives at equal eigenvalues too.

    Reads (x + xᴴ) / 2. Derivatives of all orders are exact where eigenvalues are equal, and use one
    factorization with the value. The derivative in the direction E is V (h[w_i, w_j] ∘ VᴴEV) Vᴴ,
    with h[a, b] = (h(a) − h(b)) / (a − b), or h'(a) where a = b.

    The names are "exp", "log", "sqrt", "rsqrt" (w^(−1/2)), "power" (w^parameter), "inverse", "abs",
    "sign", "xlogx" (w log w, 0 at 0), "step" (1 for the `parameter` smallest eigenvalues, the
    projector on their space) and "keep" (w for these and 0 for others). A negative parameter of
    "step" and "keep" takes the largest ones. Where h is not defined the matrix is NaN, and where
    it has no derivative the derivative is infinite or NaN.

    Args:
        x: matrices, of shape [..., n, n].
        name: h.
        parameter: the exponent of "power", and the number of eigenvalues of "step" and "keep".

    Raises:
        ShapeError: x is not square.
        ConfigError: there is no function of this name, or it takes another parameter.

    Source: Higham, Functions of Matrices, chapter 3; Daleckii and Krein 1965.

    >>> tn.linalg.funm_hermitian([[2.0, 0.0], [0.0, 3.0]], "power", 2)
    Tensor([[4., 0.],
            [0., 9.]])
    """
    known("funm_hermitian", "parameter", parameter)
    if name in ("step", "keep"):
        count = integer("funm_hermitian", "parameter", parameter)
        parameter = parameter if count is None else count
    a = Expression(at, square(at, "funm_hermitian", x))
    return hermitian_function(a, name, parameter).value  # type: ignore[no-any-return]
