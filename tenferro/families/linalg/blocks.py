"""The families of blocks of eigenvectors and singular vectors.

A block of eigenvalues is a matrix, not a list of numbers: VᴴAV is smooth where single eigenvalues
and vectors are not. Only differences between kept and discarded values appear in derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tenferro.arrays import Expression, expressions, values_of
from tenferro.chainrules import JvpSite, Slots, V
from tenferro.errors import ShapeError
from tenferro.families.linalg.block_solves import coupled, sylvester
from tenferro.families.linalg.eigh import Eigh
from tenferro.families.linalg.expanded import ExpandedOp
from tenferro.families.linalg.pieces import embedded, skew, sym
from tenferro.families.linalg.svd import Svd
from tenferro.families.linalg.types import check_dtype, check_matrix, check_same, check_square
from tenferro.family import Extension, ExtensionAdRule, ExtensionOp, OutputMeta, family_id
from tenferro.ops import Slice
from tenferro.shape import Dim, DType, minimum


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
    kernel = "tenferro.families.linalg.kernels.hermitian:of_eigenvectors"

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
    kernel = "tenferro.families.linalg.kernels.triplets:of_factors"

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
