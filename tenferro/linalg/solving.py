"""Systems of equations, over an emitter."""

from __future__ import annotations

from tenferro.arrays import Expression, Operand
from tenferro.chainrules import Emitter, V
from tenferro.errors import ConfigError
from tenferro.families.linalg import triangular_solve
from tenferro.linalg.operands import systems

_TRANS = {0: "n", 1: "t", 2: "c", "N": "n", "T": "t", "C": "c"}


def solve_triangular(
    at: Emitter[V],
    a: Operand[V],
    b: Operand[V],
    *,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
) -> V:
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
    if trans not in _TRANS:
        raise ConfigError(
            f"solve_triangular: trans must be 0, 1, 2, 'N', 'T' or 'C', got {trans!r}"
        )
    matrix, right, restore = systems(at, "solve_triangular", a, b)
    result = triangular_solve(
        Expression(at, matrix),
        Expression(at, right),
        lower=lower,
        trans=_TRANS[trans],
        unit=unit_diagonal,
    )
    return restore(result.value)
