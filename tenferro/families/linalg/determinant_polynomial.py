"""The determinant as a polynomial: its derivatives of all orders hold at singular matrices too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from tenferro.arrays import Expression, analytic, apply, expressions, filling, values_of
from tenferro.chainrules import Emitter, V
from tenferro.families.formula import FormulaOp, Transform
from tenferro.families.linalg.clusters import absolute, chosen, factor
from tenferro.families.linalg.determinant import determinant
from tenferro.families.linalg.lu_solve import inverse
from tenferro.families.linalg.pieces import rows, trace
from tenferro.families.linalg.rules import RULES
from tenferro.families.linalg.svd import Svd
from tenferro.family import Extension, ExtensionRuleSet, family_id
from tenferro.ops import STOP_GRADIENT, Constant, full
from tenferro.shape import TensorMeta

WHOLE_ROWS, LAST_ROWS = 6, 4
"""The minors of all rows are written out for matrices of so many, and of so many rows of larger
ones, which may lack as many ranks."""

LEADING_LIMIT = 1 / 4
"""Exponent of ε: NaN where the singular values that come before are smaller than that part of the
largest one, for then the inverse of their block loses too many digits."""


@family_id(namespace="tenferro-linalg", name="determinant_polynomial", version=1)
@dataclass(frozen=True)
class DeterminantPolynomial(FormulaOp):
    """det A for derivatives: they exist, and are right, where A is singular.

    With the singular vectors of A as constants, S = UᴴAV is diagonal in value, but its tangents are
    whole matrices. Let T be all of its rows and columns up to six, the last four of more, which
    hold the least singular values, and L the ones before. Then

        det A = det(UVᴴ) det(L) det(T − S_TL L⁻¹ S_LT).

    The last factor is written as a polynomial of the elements, by minors, without a division. So
    singular values of T may vanish. If those of L do, derivatives are NaN. Without transforms it is
    the determinant, but dearer than `Determinant`.

    Attributes:
        transforms: see `FormulaOp`.
    """

    transforms: tuple[Transform, ...] = ()

    formula_inputs = 1
    formula_outputs = 1
    formula_rules: ClassVar[ExtensionRuleSet] = RULES

    def formula_types(self, metas: Sequence[TensorMeta]) -> Sequence[TensorMeta]:
        """One number for each matrix."""
        return [metas[0].with_extents(metas[0].extents[:-2])]

    def emit_formula(self, at: Emitter[V], inputs: Sequence[V]) -> Sequence[V] | None:
        """The formula, once the number of rows is known."""
        (a,) = expressions(at, inputs)
        n = a.shape[-1]
        if not isinstance(n, int):
            return None
        if 0 in a.shape:
            return [full(at, 1 if n == 0 else 0, self.formula_types([a.meta])[0])]
        return values_of([_by_blocks(a, n)])


def second_change(a: Expression, e: Expression, g: Expression) -> Expression:
    """The second derivative of adj(A) along E and G, of the shape of A."""
    op = DeterminantPolynomial(
        (("vjp", (True,)), ("jvp", (True, False)), ("jvp", (True, False, False)))
    )
    one: Expression = apply(filling.ones_like, trace(a))
    (result,) = a.emit_all(Extension(op), one, e, g)
    return result.H  # the gradient of det is adj(A)ᴴ


def _by_blocks(a: Expression, n: int) -> Expression:
    (fixed,) = a.emit_all(STOP_GRADIENT)
    s, u, vh = fixed.emit_all(Extension(Svd()))
    (phase,) = determinant(u @ vh, "det")
    whole = u.H @ a @ vh.H
    lead = 0 if n <= WHOLE_ROWS else n - LAST_ROWS
    if not lead:
        return _by_minors(whole, phase)
    size = s[..., :lead].astype(a.dtype)
    top = whole[..., :lead, :] / rows(size)
    block, across = top[..., :lead], top[..., lead:]
    below = whole[..., lead:, :]
    rest = below[..., lead:] - below[..., :lead] @ inverse(block) @ across
    sign, growth = determinant(block, "slogdet")
    exponential: Expression = apply(analytic.exp, growth)
    limit = float(np.finfo(a.dtype).eps) ** LEADING_LIMIT
    usable = factor(s[..., lead - 1] > s[..., 0] * limit, a.dtype)[..., 0, 0]
    constant = phase * usable * size.prod(axis=-1)
    return sign * exponential.astype(a.dtype) * _by_minors(rest, constant)


def _by_minors(x: Expression, constant: Expression) -> Expression:
    """constant · det X from the minors of its first row, of its first two rows, and so on.

    Each row is divided by its largest element, so that small rows lose no digits.
    """
    n = x.shape[-1]
    assert isinstance(n, int)
    (values,) = absolute(x).max(axis=-1).emit_all(STOP_GRADIENT)
    size = chosen(values > 0, values, 1.0).astype(x.dtype)
    scales = rows(size)
    x = x / scales
    minors = x[..., 0, :] * rows(constant * size.prod(axis=-1))
    for row in range(1, n):
        products = rows(x[..., row, :]) * minors[..., None, :]
        flat = products.reshape((*products.shape[:-2], products.shape[-2] * products.shape[-1]))
        minors = flat @ Expression(x.emitter, x.emitter.emit(_expansion(row, n, x.dtype.name)))
    return minors[..., 0]


def _expansion(row: int, n: int, dtype: str) -> Constant:
    """The signs by which minors of `row` rows, times elements of the next row, make larger minors.

    Minors are ordered by their columns. Of shape [n · minors, larger minors].
    """
    before = {chosen: place for place, chosen in enumerate(combinations(range(n), row))}
    after = list(combinations(range(n), row + 1))
    signs = np.zeros((n, len(before), len(after)), dtype)
    for place, chosen_columns in enumerate(after):
        for at, column in enumerate(chosen_columns):
            others = (*chosen_columns[:at], *chosen_columns[at + 1 :])
            signs[column, before[others], place] = (-1) ** (row - at)
    return Constant(signs.reshape(-1, len(after)))
