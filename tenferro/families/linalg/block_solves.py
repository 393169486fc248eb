"""Families of linear systems whose coefficients are matrices that are diagonal in value.

They are diagonal because they hold eigenvalues or singular values, but their tangents are whole
matrices. The solution is a division, and its derivative the same system with another right side.
That makes derivatives of blocks right to all orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tenferro.arrays import Expression, expressions, values_of
from tenferro.chainrules import JvpSite, Slots, TransposeSite, V
from tenferro.families.linalg.clusters import absolute, exists, factor
from tenferro.families.linalg.divided import small_gap
from tenferro.families.linalg.expanded import ExpandedOp
from tenferro.families.linalg.pieces import columns, diagonal, real_part, rows
from tenferro.families.linalg.types import check_dtype, check_matrix, check_same, check_square
from tenferro.family import Extension, ExtensionAdRule, ExtensionOp, OutputMeta, family_id
from tenferro.ops import full
from tenferro.shape import Dim, DType


@family_id(namespace="tenferro-linalg", name="block_sylvester", version=1)
@dataclass(frozen=True)
class BlockSylvester(ExpandedOp):
    """X with C X + sign · X B = R, X_ai = R_ai / (c_a + sign · b_i).

    C and B are diagonal in value. NaN for a matrix with a divisor that is zero up to rounding. The
    reference implementation takes any C and B.

    Attributes:
        sign: 1 or −1.
    """

    sign: int = -1

    input_count = 3
    output_count = 1
    kernel = "tenferro.families.linalg.kernels.block_solves:sylvester"

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The type of R."""
        dtype = check_dtype("block_sylvester", *input_dtypes)
        c, b, r = input_shapes
        _, height = check_square("block_sylvester", dtype, c)
        _, width = check_square("block_sylvester", dtype, b)
        _, m, n = check_matrix("block_sylvester", dtype, r)
        check_same("block_sylvester", "the rows of C and R", height, m)
        check_same("block_sylvester", "the columns of B and R", width, n)
        return [(dtype, tuple(r))]

    def formula(self, *inputs: Any) -> Sequence[Expression]:
        """The division."""
        c, b, right = inputs
        heights, widths = rows(real_part(diagonal(c))), columns(real_part(diagonal(b)))
        return [_divided(right, heights + self.sign * widths, _size(heights, widths))]


def _size(heights: Expression, widths: Expression) -> Expression:
    """The largest modulus of all coefficients: [..., 1, 1]."""
    return absolute(heights).max(axis=(-2, -1), keepdims=True) + absolute(widths).max(
        axis=(-2, -1), keepdims=True
    )


def _divided(right: Expression, divisors: Expression, size: Expression) -> Expression:
    """The quotient; NaN for a matrix with a divisor that is small beside `size`."""
    vanishes = exists(absolute(divisors) <= size * small_gap(divisors))
    return right / divisors * factor(vanishes == False, divisors.dtype)  # noqa: E712  # an array


class BlockSylvesterRule(ExtensionAdRule):
    """The same system with the right side dR − dC X − sign · X dB; the adjoint has Cᴴ and Bᴴ."""

    family_id = BlockSylvester.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The solution of the same system."""
        assert isinstance(op, BlockSylvester)
        c, b, _, x, dc, db, right = expressions(at.emitter, (*at.primal, *at.out, *at.tangent))
        if dc is not None:
            right = _less(right, dc @ x)
        if db is not None:
            right = _less(right, (x @ db) * float(op.sign))
        return (sylvester(c, b, right, op.sign).value,)

    def transpose_rule(self, op: ExtensionOp, at: TransposeSite[V]) -> Slots[V]:
        """The cotangent of R."""
        assert isinstance(op, BlockSylvester)
        if at.active[0] or at.active[1]:
            return super().transpose_rule(op, at)
        c, b, ct = expressions(at.emitter, (*at.inputs[:2], at.ct[0]))
        return (None, None, sylvester(c.H, b.H, ct, op.sign).value)


def _less(x: Expression | None, y: Expression) -> Expression:
    """x − y; a sum without x is −y."""
    return -y if x is None else x - y


def sylvester(c: Expression, b: Expression, right: Expression, sign: int) -> Expression:
    """The solution of C X + sign · X B = R."""
    (x,) = c.emit_all(Extension(BlockSylvester(sign)), b, right)
    return x


@family_id(namespace="tenferro-linalg", name="block_coupled", version=1)
@dataclass(frozen=True)
class BlockCoupled(ExpandedOp):
    """X and Y with X B − D Y = R and Y B − Dᴴ X = S.

    The inputs are B, D, R, S and the singular value decomposition D = P diag(d) Qᴴ without some of
    the zeros. B is diagonal in value. With e = PᴴR and f = QᴴS,

        X = P (b e + d f) / (b² − d²) + (R − P e) / b,    Y = Q (b f + d e) / (b² − d²) + (S − Q f) / b.

    NaN for a matrix with b² − d² = 0 or b = 0 up to rounding. P, d and Q only save a factorization:
    the reference implementation does not read them, and takes any B.
    """  # noqa: E501  # a formula

    input_count = 7
    output_count = 2
    kernel = "tenferro.families.linalg.kernels.block_solves:coupled"

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The types of R and S."""
        dtype = check_dtype("block_coupled", *input_dtypes[:5], input_dtypes[6])
        for shape in (*input_shapes[:5], input_shapes[6]):
            check_matrix("block_coupled", dtype, shape)
        check_square("block_coupled", dtype, input_shapes[0])
        return [(dtype, tuple(input_shapes[2])), (dtype, tuple(input_shapes[3]))]

    def formula(self, *inputs: Any) -> Sequence[Expression]:
        """The formula."""
        b, _, r, s, p, d, q = inputs
        kept = columns(real_part(diagonal(b)))
        size = absolute(kept).max(axis=(-2, -1), keepdims=True)
        if 0 in d.shape:
            return [_divided(x, kept, size) for x in (r, s)]
        rest = rows(d)
        e, f = p.H @ r, q.H @ s
        plus = kept + rest
        x = _divided((kept * e + rest * f) / plus, kept - rest, size)
        y = _divided((kept * f + rest * e) / plus, kept - rest, size)
        return [p @ x + _divided(r - p @ e, kept, size), q @ y + _divided(s - q @ f, kept, size)]


class BlockCoupledRule(ExtensionAdRule):
    """The same system with the right sides dR − X dB + dD Y and dS − Y dB + dDᴴ X."""

    family_id = BlockCoupled.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The solution of the same system."""
        b, d, *_ = primal = expressions(at.emitter, at.primal)
        x, y = expressions(at.emitter, at.out)
        db, dd, right, other = expressions(at.emitter, at.tangent[:4])
        if db is not None:
            right, other = _less(right, x @ db), _less(other, y @ db)
        if dd is not None:
            right, other = _less(right, -(dd @ y)), _less(other, -(dd.H @ x))
        if right is None and other is None:
            return (None, None)
        return values_of(_coupled(b, d, right, other, primal))

    def transpose_rule(self, op: ExtensionOp, at: TransposeSite[V]) -> Slots[V]:
        """The cotangents of R and S: the same system with Bᴴ."""
        if any(at.active[:2]):
            return super().transpose_rule(op, at)
        b, d, *_ = inputs = expressions(at.emitter, at.inputs)
        right, other = expressions(at.emitter, at.ct)
        cts = values_of(_coupled(b.H, d, right, other, inputs))
        slots = [ct if on else None for ct, on in zip(cts, at.active[2:4], strict=True)]
        return (None, None, *slots, None, None, None)


def _coupled(
    b: Expression,
    d: Expression,
    right: Expression | None,
    other: Expression | None,
    inputs: Sequence[Expression],
) -> tuple[Expression, ...]:
    right = _zeros(inputs[2]) if right is None else right
    other = _zeros(inputs[3]) if other is None else other
    return coupled(b, d, right, other, inputs[4:])


def _zeros(like: Expression) -> Expression:
    """Zeros of a type; the value, which may be a tangent, is not read."""
    return Expression(like.emitter, full(like.emitter, 0, like.meta))


def coupled(
    b: Expression,
    d: Expression,
    right: Expression,
    other: Expression,
    factors: Sequence[Expression],
) -> tuple[Expression, ...]:
    """X and Y of `BlockCoupled`; `factors` are P, d and Q."""
    return b.emit_all(Extension(BlockCoupled()), d, right, other, *factors)
