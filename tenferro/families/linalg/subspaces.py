"""Families of linear systems whose coefficients are matrices that are diagonal in value.

They are diagonal because they hold eigenvalues or singular values, but their tangents are whole
matrices. The solution is a division, and its derivative the same system with another right side.
That makes derivatives of blocks right to all orders.

A block of eigenvalues is a matrix, not a list of numbers: VᴴAV is smooth where single eigenvalues
and vectors are not. Only differences between kept and discarded values appear in derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tenferro.core import JvpSite, Slots, TransposeSite, V
from tenferro.errors import ShapeError
from tenferro.families.linalg.degeneracy import absolute, exists, factor
from tenferro.families.linalg.divided_differences import small_gap
from tenferro.families.linalg.eigh import Eigh
from tenferro.families.linalg.matrix_op import (
    ExpandedOp,
    check_dtype,
    check_matrix,
    check_same,
    check_square,
    columns,
    diagonal,
    embedded,
    real_part,
    rows,
    skew,
    sym,
)
from tenferro.families.linalg.svd import Svd
from tenferro.ir import Dim, DType, minimum
from tenferro.ops import Slice, full
from tenferro.ops.extension import Extension, ExtensionAdRule, ExtensionOp, OutputMeta, family_id
from tenferro.ops.functions import Expression, expressions, values_of

__all__ = ["BlockCoupled", "BlockSylvester", "EighBlock", "SvdBlock", "eigh_block", "svd_block"]


# Families of linear systems whose coefficients are matrices that are diagonal in value.


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
    kernel = "tenferro.families.linalg.lapack:block_sylvester"

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
    kernel = "tenferro.families.linalg.lapack:coupled"

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


# The families of blocks of eigenvectors and singular vectors.


@family_id(namespace="tenferro-linalg", name="eigh_block", version=1)
@dataclass(frozen=True)
class EighBlock(ExpandedOp):
    """V, B = VᴴAV, W and C = WᴴAW for k kept eigenvectors V and the others W of (A + Aᴴ) / 2.

    The inputs are A, its eigenvalues and its eigenvectors, which only save a factorization: the
    reference implementation does not read them. B and C are diagonal in value.

    Attributes:
        count: k.
        largest: whether the k largest eigenvalues are kept, else the smallest.
    """

    count: int
    largest: bool = False

    input_count = 3
    output_count = 4
    kernel = "tenferro.families.linalg.lapack:of_eigenvectors"

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The types of V, B, W and C."""
        dtype = check_dtype("eigh_block", input_dtypes[0], input_dtypes[2])
        batch, n = check_square("eigh_block", dtype, input_shapes[0])
        _check_count("eigh_block", self.count, n)
        k, rest = self.count, n - self.count
        shapes = [(n, k), (k, k), (n, rest), (rest, rest)]
        return [(dtype, (*batch, *shape)) for shape in shapes]

    def formula(self, *inputs: Any) -> Sequence[Expression]:
        """Slices."""
        _, w, v = inputs
        n, k = w.shape[-1], self.count
        cut = n - k if self.largest else k
        low, high = [(part(v, *ends), part(w, *ends)) for ends in ((0, cut), (cut, n))]
        kept, rest = (high, low) if self.largest else (low, high)
        return [kept[0], _block(kept[1], v), rest[0], _block(rest[1], v)]


def _check_count(name: str, count: int | None, limit: Dim) -> None:
    """Raise ShapeError if the matrices certainly have fewer values."""
    if count is not None and isinstance(limit, int) and count > limit:
        raise ShapeError(f"{name}: k must be an integer from 0 to {limit}, got {count}")


def part(x: Expression, start: Dim, stop: Dim) -> Expression:
    """The elements from start to stop along the last axis, whose size may be symbolic."""
    none, sizes = (0,) * (x.ndim - 1), x.shape
    (result,) = x.emit_all(Slice((*none, start), (*sizes[:-1], stop), (1,) * x.ndim))
    return result


def _block(values: Expression, like: Expression) -> Expression:
    """The diagonal matrix of values, in the dtype of `like`."""
    return embedded(values).astype(like.dtype)


class EighBlockRule(ExtensionAdRule):
    """dV = W X, dB = VᴴEV, dW = −V Xᴴ, dC = WᴴEW with E = sym(dA) and C X − X B = −WᴴEV."""

    family_id = EighBlock.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The tangents; the factors carry none."""
        v, b, w, c, da = expressions(at.emitter, (*at.out, at.tangent[0]))
        if da is None:
            return (None,) * 4
        right, left = sym(da) @ v, sym(da) @ w
        x = sylvester(c, b, -(w.H @ right), -1)
        return values_of([w @ x, v.H @ right, -(v @ x.H), w.H @ left])


@family_id(namespace="tenferro-linalg", name="svd_block", version=1)
@dataclass(frozen=True)
class SvdBlock(ExpandedOp):
    """U, B and V for the k largest singular values of A, with A ≈ U B Vᴴ.

    The inputs are A and its thin decomposition, which only saves a factorization: the reference
    implementation does not read it. B is diagonal in value, and Hermitian in its tangents.

    Attributes:
        count: k; None is min(m, n).
    """

    count: int | None = None

    input_count = 4
    output_count = 3
    kernel = "tenferro.families.linalg.lapack:of_factors"

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The types of U, B and V."""
        dtype = check_dtype("svd_block", input_dtypes[0], *input_dtypes[2:])
        batch, m, n = check_matrix("svd_block", dtype, input_shapes[0])
        check_same("svd_block", "the numbers of values", minimum(m, n), input_shapes[1][-1])
        _check_count("svd_block", self.count, minimum(m, n))
        k = input_shapes[1][-1] if self.count is None else self.count
        return [(dtype, (*batch, *shape)) for shape in [(m, k), (k, k), (n, k)]]

    def formula(self, *inputs: Any) -> Sequence[Expression]:
        """Slices."""
        _, s, u, vh = inputs
        k = s.shape[-1] if self.count is None else self.count
        return [part(u, 0, k), _block(part(s, 0, k), u), part(vh.H, 0, k)]


class SvdBlockRule(ExtensionAdRule):
    """dU = U W + X, dB = sym(E), dV = −V W + Y with E = UᴴdA V.

    W B + B W = skew(E), and with D = A − U B Vᴴ, the discarded part of A,

        X B − D Y = (1 − UUᴴ) dA V,    Y B − Dᴴ X = (1 − VVᴴ) dAᴴ U.

    (Francuz, Schuch and Vanhecke, arXiv:2311.11894, for single vectors.)
    """

    family_id = SvdBlock.FAMILY_ID

    def linearize(self, op: ExtensionOp, at: JvpSite[V]) -> Slots[V]:
        """The tangents; the factors carry none."""
        assert isinstance(op, SvdBlock)
        a, s, left, right = expressions(at.emitter, at.primal)
        u, b, v, da = expressions(at.emitter, (*at.out, at.tangent[0]))
        if da is None:
            return (None,) * 3
        forward, backward = da @ v, da.H @ u
        inner = u.H @ forward
        turn = sylvester(b, b, skew(inner), 1)
        k = s.shape[-1] if op.count is None else op.count
        discarded = [part(x, k, s.shape[-1]) for x in (left, s, right.H)]
        x, y = coupled(
            b,
            a - u @ b @ v.H,
            forward - u @ inner,
            backward - v @ inner.H,
            discarded,
        )
        return values_of([u @ turn + x, sym(inner), y - v @ turn])


def eigh_block(a: Expression, count: int, largest: bool = False) -> tuple[Expression, Expression]:
    """V and B of `EighBlock`."""
    factors = a.emit_all(Extension(Eigh()))
    v, b, _, _ = a.emit_all(Extension(EighBlock(count, largest)), *factors)
    return v, b


def svd_block(a: Expression, count: int | None = None) -> tuple[Expression, ...]:
    """U, B and V of `SvdBlock`."""
    return a.emit_all(Extension(SvdBlock(count)), *a.emit_all(Extension(Svd())))
