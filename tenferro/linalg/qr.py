"""QR factorizations, and their derivative for tall, wide and complete factors.

For m ≥ n, with C = QᴴdA R⁻¹ and π(C) its upper triangle with tril₋₁(C)ᴴ added and a real diagonal:
dR = π(C) R and dQ = dA R⁻¹ − Q π(C). The first m columns of a wide matrix are square.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from tenferro.errors import ConfigError
from tenferro.ir import (
    INT32,
    INT64,
    AnyTensor,
    ArrayLike,
    Dim,
    NumpyArray,
    TensorMeta,
    is_complex,
    minimum,
)
from tenferro.linalg.arguments import check_dtype, check_matrix, matrix
from tenferro.linalg.gauge import Degeneracy, factor, largest_of, order_of
from tenferro.linalg.matrix_op import (
    H,
    columns,
    concatenated,
    diagonal,
    embedded,
    family,
    minus,
    mirrored,
    places,
    plus,
    real,
    rows,
    scipy_linalg,
    skew,
    stacked,
)
from tenferro.linalg.triangular_solve import triangular_solve
from tenferro.ops.extension import (
    DTypes,
    Extension,
    FamilyOp,
    FormulaSite,
    OutputTypes,
    Shapes,
    Terms,
    differentiable,
)
from tenferro.ops.functions import array_function, emit, emit_all
from tenferro.ops.functions.elementwise import where
from tenferro.ops.functions.manipulation import tril, triu

__all__ = ["QRResult", "qr"]


@differentiable(results=2)
@family(name="qr")
@dataclass(frozen=True)
class Qr(FamilyOp):
    """R, upper triangular with a real diagonal, and Q with orthonormal columns; A = Q R.

    A is m×n and k the smaller of both.

    Attributes:
        mode: `"reduced"`: Q is m×k and R k×n. `"complete"`: Q is m×m and R m×n. `"r"`: only
            R, k×n.
    """

    mode: str = "reduced"

    input_count = 1

    @property
    def output_count(self) -> int:
        """R and Q, or R."""
        return 1 if self.mode == "r" else 2

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        dtype = check_dtype("qr", *input_dtypes)
        batch, m, n = check_matrix("qr", dtype, input_shapes[0])
        k = m if self.mode == "complete" else minimum(m, n)
        return [(dtype, (*batch, k, n)), (dtype, (*batch, m, k))][: self.output_count]

    def prune_outputs(self, live: tuple[bool, ...]) -> Qr | None:
        """The op without Q, if only R is read and it is not larger than needed."""
        return Qr("r") if live == (True, False) and self.mode == "reduced" else None

    def whole(self) -> Qr:
        return replace(self, mode="reduced") if self.mode == "r" else self

    @staticmethod
    def operand_types(*results: TensorMeta) -> Sequence[TensorMeta]:
        r, q = results
        return [q.with_extents((*q.extents[:-1], r.extents[-1]))]

    def kernel(self, a: NumpyArray) -> list[NumpyArray]:
        """By LAPACK's geqrf."""
        *batch, m, n = a.shape
        k = m if self.mode == "complete" else min(m, n)
        upper, columns = np.empty((*batch, k, n), a.dtype), np.empty((*batch, m, k), a.dtype)
        if self.mode == "r":
            return stacked(lambda x: (np.linalg.qr(x, mode="r"),), [a], [upper])
        mode: Any = self.mode
        return stacked(lambda x: np.linalg.qr(x, mode)[::-1], [a], [upper, columns])

    def jvp(self, at: FormulaSite) -> Terms | None:
        """dR and dQ; NaN where the first columns of A are linearly dependent."""
        (r, q), (da,) = at.results, at.tangents
        parts = _Parts.of(r, q)
        if parts is None:
            return None
        k = parts.k
        ratio = triangular_solve(parts.r1, da[..., :k], left=False, lower=False)
        inner = _upper(H(parts.q1) @ ratio)
        dr, dq = inner @ parts.r1, ratio - parts.q1 @ inner
        if parts.r2 is not None:
            dr = concatenated(dr, H(parts.q1) @ (da[..., k:] - dq @ parts.r2), -1)
        if parts.q2 is not None:
            dq = concatenated(dq, -(parts.q1 @ (H(dq) @ parts.q2)), -1)
            dr = concatenated(dr, 0.0 * r[..., k:, :], -2)
        ones = factor(parts.regular(), r.dtype)
        return [dr * ones, dq * ones]

    def vjp(self, at: FormulaSite) -> Terms | None:
        """Ā = (Q̄ + Q N) R⁻ᴴ, N Hermitian with the upper part of R̄Rᴴ − QᴴQ̄.

        NaN where the first columns of A are linearly dependent, and where the loss depends on the
        basis of the further columns of a complete Q.
        """
        (r, q), (r_ct, q_ct) = at.results, at.cts
        parts = _Parts.of(r, q)
        if parts is None:
            return None
        k, allowed = parts.k, parts.regular()
        of_r = None if r_ct is None else r_ct[..., :k, :k]
        of_q: Any = None if q_ct is None else q_ct[..., :k]
        if parts.q2 is not None and q_ct is not None:
            second = q_ct[..., k:]
            turn = largest_of(skew(H(parts.q2) @ second))
            allowed = allowed & (turn <= largest_of(second) * Degeneracy.tolerance(r.dtype))
            of_q = of_q - parts.q2 @ (H(second) @ parts.q1)
        further = None
        if parts.r2 is not None and r_ct is not None:
            further = parts.q1 @ r_ct[..., k:]
            moved = parts.q1 @ (parts.r2 @ H(r_ct[..., k:]))
            of_q = plus(of_q, moved)
        result = parts.pulled(of_r, of_q)
        if parts.r2 is not None:
            further = 0.0 * H(parts.q1) @ parts.r2 if further is None else further
            result = concatenated(result, further, -1)
        return [result * factor(allowed, r.dtype)]


@dataclass(frozen=True)
class _Parts:
    """R = [r1 r2], or r1 over zeros, and Q = [q1 q2], with square r1 of size k."""

    k: Dim
    r1: AnyTensor
    q1: AnyTensor
    r2: AnyTensor | None
    q2: AnyTensor | None

    @classmethod
    def of(cls, r: AnyTensor, q: AnyTensor) -> _Parts | None:
        """The parts; None if it is not known which size of the matrix is larger."""
        m, n = q.shape[-2], r.shape[-1]
        order = order_of(m, n)
        if order is None:
            return None
        k = minimum(m, n)
        complete = order > 0 and order_of(q.shape[-1], m) == 0
        return cls(
            k,
            r[..., :k, :k] if order else r,
            q[..., :k] if complete else q,
            r[..., k:] if order < 0 else None,
            q[..., k:] if complete else None,
        )

    def regular(self) -> AnyTensor:
        """Whether no column depends on the ones before it, of shape [...].

        A column is compared with its own size, so that the scales of columns do not matter.
        """
        size = abs(self.r1).max(axis=-2)
        smallest = size * float(np.finfo(self.r1.dtype).eps ** 0.75)
        return (abs(diagonal(self.r1)) > smallest).all(axis=-1)

    def pulled(self, r_ct: AnyTensor | None, q_ct: AnyTensor | None) -> AnyTensor:
        """The cotangent of the first k columns."""
        total = None if r_ct is None else r_ct @ H(self.r1)
        if q_ct is not None:
            total = minus(total, H(self.q1) @ q_ct)
        assert total is not None
        left = plus(q_ct, self.q1 @ mirrored(total))
        return triangular_solve(self.r1, left, left=False, lower=False, trans="c")


def _upper(c: AnyTensor) -> AnyTensor:
    """π(C)."""
    if not is_complex(c.dtype):
        return triu(c) + H(tril(c, -1))
    return triu(c, 1) + H(tril(c, -1)) + embedded(real(diagonal(c)))


def signs(r: AnyTensor) -> AnyTensor:
    """1 or −1 for each row of R: the sign of its entry on the diagonal, which is real; else 1."""
    m, n = (places(r, size, INT64) for size in r.shape[-2:])
    negative = (r.real < 0) & (rows(m) == columns(n))
    return (where(negative, -2.0, 0.0).sum(axis=-1) + 1.0).astype(r.dtype)


@family(name="qr_pivots")
@dataclass(frozen=True)
class QrPivots(FamilyOp):
    """The order of the columns of A in a QR factorization with column pivoting, as int32.

    Each column is the longest one after those before it are projected out.
    """

    input_count = 1
    output_count = 1

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        dtype = check_dtype("qr", *input_dtypes)
        batch, _, n = check_matrix("qr", dtype, input_shapes[0])
        return [(INT32, (*batch, n))]

    def kernel(self, a: NumpyArray) -> list[NumpyArray]:
        """By LAPACK's geqp3; the columns of a matrix that is not finite keep their order."""
        order = np.empty((*a.shape[:-2], a.shape[-1]), np.int32)
        order[...] = np.arange(a.shape[-1])
        for index in np.ndindex(*a.shape[:-2]):
            if a[index].size and np.isfinite(a[index]).all():
                order[index] = scipy_linalg().qr(a[index], mode="r", pivoting=True)[1]
        return [order]

    def jvp(self, at: FormulaSite) -> Terms:
        """Integers have no tangents."""
        return [None]


class QRResult(NamedTuple):
    """Of `qr`."""

    Q: AnyTensor
    R: AnyTensor


@overload
def qr(
    a: ArrayLike, mode: Literal["reduced", "complete"] = "reduced", *, positive: bool = False
) -> QRResult: ...


@overload
def qr(a: ArrayLike, mode: Literal["r"], *, positive: bool = False) -> AnyTensor: ...


@array_function(module="tenferro.linalg", results=QRResult)
def qr(a: ArrayLike, mode: str = "reduced", *, positive: bool = False) -> QRResult | AnyTensor:
    """Q with orthonormal columns and the upper triangular R, with `a` = Q R.

    Derivatives are NaN where a column, of the first m, depends linearly on those before it. So are
    those of losses that depend on the basis of the columns that a complete Q has in addition.

    Args:
        a: matrices, of shape [..., m, n]; k is the smaller of m and n.
        mode: "reduced": Q is [..., m, k] and R [..., k, n]. "complete": Q is [..., m, m] and R
            [..., m, n]. "r": R alone, of shape [..., k, n].
        positive: make the diagonal of R at least 0, which makes the factors unique.

    Raises:
        ShapeError: `a` has fewer than two axes.
        DTypeError: `a` is of half precision.
        ConfigError: there is no such mode.

    >>> tn.linalg.qr([[3.0, 1.0], [4.0, 2.0]], positive=True).R
    Tensor([[5. , 2.2],
            [0. , 0.4]])
    """
    if mode not in ("reduced", "complete", "r"):
        raise ConfigError(f"qr: mode must be 'reduced', 'complete' or 'r', got {mode!r}")
    op = Qr("reduced" if mode == "r" else mode)
    r, q = emit_all(Extension(op), matrix("qr", a))
    if positive:
        sign = signs(r)
        q, r = q * columns(sign), r * rows(sign)
    return r if mode == "r" else QRResult(q, r)


def pivots(x: AnyTensor) -> AnyTensor:
    """The order of the columns of matrices in a factorization with pivoting; see `QrPivots`."""
    return emit(Extension(QrPivots()), x)
