"""The families of determinants and of adjugates, by LU factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from tenferro.core import Emitter, JvpSite, Slots, TransposeSite, V
from tenferro.families.composite import FormulaOp, Transform
from tenferro.families.linalg.degeneracy import RULES, absolute, chosen, factor
from tenferro.families.linalg.lu import lu
from tenferro.families.linalg.matrix_op import (
    REAL_OF,
    FactoredOp,
    check_factored,
    check_same,
    rows,
    trace,
)
from tenferro.families.linalg.solve import Inverse, inverse
from tenferro.families.linalg.svd import Svd
from tenferro.ir import Dim, DType, TensorMeta
from tenferro.ops import STOP_GRADIENT, Constant, full
from tenferro.ops.extension import (
    Extension,
    ExtensionAdRule,
    ExtensionOp,
    ExtensionRuleSet,
    OutputMeta,
    family_id,
)
from tenferro.ops.functions import (
    Expression,
    analytic,
    apply,
    creation,
    elementwise,
    expressions,
    values_of,
)

__all__ = [
    "FIRST_LIMIT",
    "SECOND_LIMIT",
    "Adjugate",
    "Determinant",
    "DeterminantPolynomial",
    "determinant",
]


# The families of determinants and of adjugates, by LU factors.


@family_id(namespace="tenferro-linalg", name="determinant", version=1)
@dataclass(frozen=True)
class Determinant(FactoredOp):
    """det A, or its sign and the logarithm of its modulus, for A, its LU factors and permutation.

    Attributes:
        kind: `"det"` or `"slogdet"`.
    """

    kind: str = "det"

    input_count = 3
    kernel = "tenferro.families.linalg.lapack:determinant"
    by_factors = "tenferro.families.linalg.lapack:determinant_by_factors"

    @property
    def output_count(self) -> int:
        """One, or two for `"slogdet"`."""
        return 1 if self.kind == "det" else 2

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """One number for each matrix."""
        dtype, batch, _ = check_factored(self.kind, input_dtypes, input_shapes)
        return [(dtype, batch), (REAL_OF[dtype], batch)][: self.output_count]


@family_id(namespace="tenferro-linalg", name="adjugate", version=1)
@dataclass(frozen=True)
class Adjugate(FactoredOp):
    """The adjugate of A, or its derivative along E; right for singular matrices too.

    The inputs are A, its packed LU factors, its permutation, and E for order 1. adj(A) is the
    matrix with A adj(A) = det(A), of rank one where A lacks one rank and zero where it lacks more.

    Attributes:
        order: 0, or 1 for the derivative.
    """

    order: int = 0

    output_count = 1
    kernel = "tenferro.families.linalg.lapack:adjugate"
    by_factors = "tenferro.families.linalg.lapack:adjugate_by_factors"

    @property
    def input_count(self) -> int:
        """A, its factors, and E for order 1."""
        return 3 + self.order

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The type of A."""
        dtype, batch, n = check_factored("det", input_dtypes[:3], input_shapes[:3])
        for direction in input_shapes[3:]:
            for ours, theirs in zip((*batch, n, n), direction, strict=True):
                check_same("det", "the sizes of A and E", ours, theirs)
        return [(dtype, tuple(input_shapes[0]))]


FIRST_LIMIT, SECOND_LIMIT = 3 / 4, 1 / 3
"""Exponents of 1/ε: beyond these condition numbers (of Frobenius) the formulas with A⁻¹ for the
first and second derivative of det lose too many digits; see the kernel of `adjugate`."""


def determinant(a: Expression, kind: str) -> tuple[Expression, ...]:
    """The outputs of `Determinant`, by the LU factors of A."""
    packed, _, permutation = lu(a)
    return a.emit_all(Extension(Determinant(kind)), packed, permutation)


# The determinant as a polynomial: its derivatives of all orders hold at singular matrices too.

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
    one: Expression = apply(creation.ones_like, trace(a))
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


# The derivatives of determinants: adjugates, then those of a polynomial.


class DeterminantRule(ExtensionAdRule):
    """tr(adj(A) dA) for the determinant, tr(A⁻¹ dA) for its logarithm."""

    family_id = Determinant.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The formulas. A tangent turns the sign of a complex determinant only."""
        assert isinstance(op, Determinant)
        if at.tangent[0] is None:
            return (None,) * op.output_count
        a, packed, permutation, da = expressions(at.emitter, (*at.primal, at.tangent[0]))
        family = Adjugate() if op.kind == "det" else Inverse()
        (matrix,) = a.emit_all(Extension(family), packed, permutation)
        change = (matrix.mT * da).sum((-2, -1))
        if op.kind == "det":
            return (change.value,)
        growth: Expression = apply(elementwise.real, change)
        if a.dtype.kind != "c":
            return (None, growth.value)
        sign = Expression(at.emitter, at.out[0])
        return values_of((sign * (change - growth.astype(a.dtype)), growth))


class AdjugateRule(ExtensionAdRule):
    """One order more. From order 2 on they are derivatives of a polynomial, det A."""

    family_id = Adjugate.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The derivative along dA; for order 1 also along the change of the direction."""
        assert isinstance(op, Adjugate)
        first = Extension(Adjugate(1))
        a, packed, permutation, *directions = expressions(at.emitter, at.primal)
        da, *changes = expressions(at.emitter, (at.tangent[0], *at.tangent[3:]))
        terms = []
        if da is not None:
            along = a.emit_all(first, packed, permutation, da)[0] if op.order == 0 else None
            terms.append(second_change(a, directions[0], da) if along is None else along)
        terms += [
            a.emit_all(first, packed, permutation, change)[0]
            for change in changes
            if change is not None
        ]
        return (sum(terms[1:], terms[0]).value if terms else None,)

    def transpose_rule(self, op: ExtensionOp, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent of E is D adj(A)[ctᴴ]ᴴ, for tr(D adj(A)[E] F) is symmetric in E and F."""
        if any(at.active[:3]):
            return super().transpose_rule(op, at)
        a, *factors, ct = expressions(at.emitter, (*at.inputs[:3], at.ct[0]))
        (result,) = a.emit_all(Extension(op), *factors, ct.H)
        return (None, None, None, result.H.value)
