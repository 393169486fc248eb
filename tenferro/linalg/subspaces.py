"""Blocks of eigenvectors and singular vectors, whose derivatives hold at equal values.

A block of eigenvalues is a matrix, not a list of numbers: VᴴAV is smooth where single eigenvalues
and vectors are not. Only differences between values inside and outside of a block appear in
derivatives. These solve systems whose coefficients hold eigenvalues: they are diagonal in value,
but their tangents are whole matrices. A solution is a division, and its derivative the same system
with another right side. That makes derivatives of blocks right to all orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tenferro.errors import ConfigError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, Dim, NumpyArray, TensorMeta, minimum
from tenferro.linalg.arguments import (
    check_dtype,
    check_matrix,
    check_same,
    check_square,
    integer,
    matrix,
    square,
)
from tenferro.linalg.divided_differences import small_gap
from tenferro.linalg.eigh import Eigh, by_eigenvectors
from tenferro.linalg.gauge import factor
from tenferro.linalg.matrix_op import (
    ExpandedOp,
    H,
    columns,
    diagonal,
    embedded,
    family,
    minus,
    over_batch,
    rows,
    skew,
    sym,
    zeros_like,
)
from tenferro.linalg.svd import Svd, by_triplets
from tenferro.ops import Slice
from tenferro.ops.extension import DTypes, Extension, FormulaSite, OutputTypes, Shapes, Terms
from tenferro.ops.functions import array_function, emit, emit_all

__all__ = [
    "EighBlockResult",
    "PolarResult",
    "SVDBlockResult",
    "eigh_block",
    "low_rank",
    "polar",
    "svd_block",
]

# Linear systems whose coefficients are matrices that are diagonal in value.


@family(name="block_sylvester")
@dataclass(frozen=True)
class BlockSylvester(ExpandedOp):
    """X with C X + sign · X B = R, X_ai = R_ai / (c_a + sign · b_i).

    C and B are diagonal in value. NaN for a matrix with a divisor that is zero up to rounding. The
    kernel takes any C and B.

    Attributes:
        sign: 1 or −1.
    """

    sign: int = -1

    input_count = 3
    output_count = 1
    linear_from = 2

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        dtype = check_dtype("block_sylvester", *input_dtypes)
        c, b, r = input_shapes
        _, height = check_square("block_sylvester", dtype, c)
        _, width = check_square("block_sylvester", dtype, b)
        _, m, n = check_matrix("block_sylvester", dtype, r)
        check_same("block_sylvester", "the rows of C and R", height, m)
        check_same("block_sylvester", "the columns of B and R", width, n)
        return [(dtype, tuple(r))]

    def kernel(self, c: NumpyArray, b: NumpyArray, right: NumpyArray) -> list[NumpyArray]:
        """As one system of all entries of X."""

        def one(c: NumpyArray, b: NumpyArray, right: NumpyArray) -> tuple[NumpyArray]:
            left = np.kron(c, np.eye(len(b))) + self.sign * np.kron(np.eye(len(c)), b.T)
            return (np.linalg.solve(left, right.reshape(-1, 1)).reshape(right.shape),)

        return over_batch(one, [c, b, right], [np.empty_like(right)])

    def formula(self, *inputs: Any) -> Sequence[AnyTensor]:
        c, b, right = inputs
        heights, widths = rows(diagonal(c).real), columns(diagonal(b).real)
        return [_divided(right, heights + self.sign * widths, _size(heights, widths))]

    def jvp(self, at: FormulaSite) -> Terms:
        """The same system with the right side dR − dC X − sign · X dB."""
        (c, b, _), (x,), (dc, db, right) = at.operands, at.results, at.tangents
        if dc is not None:
            right = minus(right, dc @ x)
        if db is not None:
            right = minus(right, (x @ db) * float(self.sign))
        return emit_all(Extension(self), c, b, right)

    def vjp(self, at: FormulaSite) -> Terms:
        """R̄: the same system with Cᴴ and Bᴴ."""
        (c, b, _), (ct,) = at.operands, at.cts
        return emit_all(Extension(self), H(c), H(b), ct)


def _size(heights: AnyTensor, widths: AnyTensor) -> AnyTensor:
    """The largest modulus of all coefficients: [..., 1, 1]."""
    return abs(heights).max(axis=(-2, -1), keepdims=True) + abs(widths).max(
        axis=(-2, -1), keepdims=True
    )


def _divided(right: AnyTensor, divisors: AnyTensor, size: AnyTensor) -> AnyTensor:
    """The quotient; NaN for a matrix with a divisor that is small compared with `size`."""
    vanishes = (abs(divisors) <= size * small_gap(divisors)).any(axis=(-2, -1))
    return right / divisors * factor(~vanishes, divisors.dtype)


def sylvester(c: AnyTensor, b: AnyTensor, right: AnyTensor, sign: int) -> AnyTensor:
    """The solution of C X + sign · X B = R."""
    return emit(Extension(BlockSylvester(sign)), c, b, right)


@family(name="block_coupled")
@dataclass(frozen=True)
class BlockCoupled(ExpandedOp):
    """X and Y with X B − D Y = R and Y B − Dᴴ X = S.

    The inputs are B, D, R, S and the singular value decomposition D = P diag(d) Qᴴ without some of
    the zeros. B is diagonal in value. With e = PᴴR and f = QᴴS,

        X = P (b e + d f) / (b² − d²) + (R − P e) / b,    Y = Q (b f + d e) / (b² − d²) + (S − Q f) / b.

    NaN for a matrix with b² − d² = 0 or b = 0 up to rounding. P, d and Q only save a factorization:
    the kernel does not read them, and takes any B.
    """  # noqa: E501  # a formula

    input_count = 7
    output_count = 2
    linear_from = 2

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        dtype = check_dtype("block_coupled", *input_dtypes[:5], input_dtypes[6])
        for shape in (*input_shapes[:5], input_shapes[6]):
            check_matrix("block_coupled", dtype, shape)
        check_square("block_coupled", dtype, input_shapes[0])
        return [(dtype, tuple(input_shapes[2])), (dtype, tuple(input_shapes[3]))]

    def kernel(
        self, b: NumpyArray, d: NumpyArray, right: NumpyArray, other: NumpyArray, *_: NumpyArray
    ) -> list[NumpyArray]:
        """As one system of all entries of X and Y."""

        def one(
            b: NumpyArray, d: NumpyArray, right: NumpyArray, other: NumpyArray
        ) -> tuple[NumpyArray, NumpyArray]:
            m, n = d.shape
            middle = np.block([[np.zeros((m, m)), d], [np.conj(d.T), np.zeros((n, n))]])
            left = np.kron(np.eye(m + n), b.T) - np.kron(middle, np.eye(len(b)))
            both = np.concatenate([right, other])
            solution = np.linalg.solve(left, both.reshape(-1, 1)).reshape(both.shape)
            return solution[:m], solution[m:]

        outputs = [np.empty_like(right), np.empty_like(other)]
        return over_batch(one, [b, d, right, other], outputs)

    def formula(self, *inputs: Any) -> Sequence[AnyTensor]:
        b, _, r, s, p, d, q = inputs
        values = columns(diagonal(b).real)
        size = abs(values).max(axis=(-2, -1), keepdims=True)
        if 0 in d.shape:
            return [_divided(x, values, size) for x in (r, s)]
        rest = rows(d)
        e, f = H(p) @ r, H(q) @ s
        plus = values + rest
        x = _divided((values * e + rest * f) / plus, values - rest, size)
        y = _divided((values * f + rest * e) / plus, values - rest, size)
        return [
            p @ x + _divided(r - p @ e, values, size),
            q @ y + _divided(s - q @ f, values, size),
        ]

    def jvp(self, at: FormulaSite) -> Terms:
        """The same system with the right sides dR − X dB + dD Y and dS − Y dB + dDᴴ X."""
        (b, d, *rest), (x, y), (db, dd, right, other, *_) = at.operands, at.results, at.tangents
        if db is not None:
            right, other = minus(right, x @ db), minus(other, y @ db)
        if dd is not None:
            right, other = minus(right, -(dd @ y)), minus(other, -(H(dd) @ x))
        if right is None and other is None:
            return [None, None]
        return coupled(b, d, _or_zeros(right, rest[0]), _or_zeros(other, rest[1]), rest[2:])

    def vjp(self, at: FormulaSite) -> Terms:
        """R̄ and S̄: the same system with Bᴴ."""
        b, d, *rest = at.operands
        right, other = at.cts
        cts = coupled(H(b), d, _or_zeros(right, rest[0]), _or_zeros(other, rest[1]), rest[2:])
        return [*cts, None, None, None]


def _or_zeros(x: AnyTensor | None, like: AnyTensor) -> AnyTensor:
    """x, or zeros of a type."""
    return zeros_like(like) if x is None else x


def coupled(
    b: AnyTensor,
    d: AnyTensor,
    right: AnyTensor,
    other: AnyTensor,
    factors: Sequence[AnyTensor],
) -> tuple[AnyTensor, ...]:
    """X and Y of `BlockCoupled`; `factors` are P, d and Q."""
    return emit_all(Extension(BlockCoupled()), b, d, right, other, *factors)


# Blocks of eigenvectors and singular vectors.


@family(name="eigh_block")
@dataclass(frozen=True)
class EighBlock(ExpandedOp):
    """V, B = VᴴAV, W and C = WᴴAW for k eigenvectors V, the others W, of (A + Aᴴ) / 2.

    The inputs are A, its eigenvalues and its eigenvectors, which only save a factorization. B and C
    are diagonal in value.

    Attributes:
        count: k.
        largest: whether the k largest eigenvalues are chosen, else the smallest.
    """

    count: int
    largest: bool = False

    input_count = 3
    output_count = 4

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        dtype = check_dtype("eigh_block", input_dtypes[0], input_dtypes[2])
        batch, n = check_square("eigh_block", dtype, input_shapes[0])
        _check_count("eigh_block", self.count, n)
        k, rest = self.count, n - self.count
        shapes = [(n, k), (k, k), (n, rest), (rest, rest)]
        return [(dtype, (*batch, *shape)) for shape in shapes]

    def kernel(self, *arrays: NumpyArray) -> list[NumpyArray]:
        return by_eigenvectors(self, *arrays)

    def formula(self, *inputs: Any) -> Sequence[AnyTensor]:
        _, w, v = inputs
        n, k = w.shape[-1], self.count
        cut = n - k if self.largest else k
        low, high = [(part(v, *ends), part(w, *ends)) for ends in ((0, cut), (cut, n))]
        inner, rest = (high, low) if self.largest else (low, high)
        return [inner[0], _block(inner[1], v), rest[0], _block(rest[1], v)]

    def jvp(self, at: FormulaSite) -> Terms:
        """dV = W X, dB = VᴴEV, dW = −V Xᴴ, dC = WᴴEW with E = sym(dA) and C X − X B = −WᴴEV."""
        (v, b, w, c), da = at.results, at.tangents[0]
        if da is None:
            return [None] * 4
        right, left = sym(da) @ v, sym(da) @ w
        x = sylvester(c, b, -(H(w) @ right), -1)
        return [w @ x, H(v) @ right, -(v @ H(x)), H(w) @ left]


def _check_count(name: str, count: int | None, limit: Dim) -> None:
    """Raise ShapeError if the matrices certainly have fewer values."""
    if count is not None and isinstance(limit, int) and count > limit:
        raise ShapeError(f"{name}: k must be an integer from 0 to {limit}, got {count}")


def part(x: AnyTensor, start: Dim, stop: Dim) -> AnyTensor:
    """The elements from start to stop along the last axis, whose size may be symbolic."""
    none, sizes = (0,) * (x.ndim - 1), x.shape
    return emit(Slice((*none, start), (*sizes[:-1], stop), (1,) * x.ndim), x)


def _block(values: AnyTensor, like: AnyTensor) -> AnyTensor:
    """The diagonal matrix of values, in the dtype of `like`."""
    return embedded(values).astype(like.dtype)


@family(name="svd_block")
@dataclass(frozen=True)
class SvdBlock(ExpandedOp):
    """U, B and V for the k largest singular values of A, with A ≈ U B Vᴴ.

    The inputs are A and its thin decomposition, which only saves a factorization. B is diagonal in
    value, and Hermitian in its tangents.

    Attributes:
        count: k; None is min(m, n).
    """

    count: int | None = None

    input_count = 4
    output_count = 3

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        dtype = check_dtype("svd_block", input_dtypes[0], *input_dtypes[2:])
        batch, m, n = check_matrix("svd_block", dtype, input_shapes[0])
        check_same("svd_block", "the numbers of values", minimum(m, n), input_shapes[1][-1])
        _check_count("svd_block", self.count, minimum(m, n))
        k = input_shapes[1][-1] if self.count is None else self.count
        return [(dtype, (*batch, *shape)) for shape in [(m, k), (k, k), (n, k)]]

    def kernel(self, *arrays: NumpyArray) -> list[NumpyArray]:
        return by_triplets(self, *arrays)

    def formula(self, *inputs: Any) -> Sequence[AnyTensor]:
        _, s, u, vh = inputs
        k = s.shape[-1] if self.count is None else self.count
        return [part(u, 0, k), _block(part(s, 0, k), u), part(H(vh), 0, k)]

    def jvp(self, at: FormulaSite) -> Terms:
        """As of `block_tangents`, with the values beyond the block for D."""
        (_, s, left, right), da = at.operands, at.tangents[0]
        if da is None:
            return [None] * 3
        k = s.shape[-1] if self.count is None else self.count
        outside = [part(x, k, s.shape[-1]) for x in (left, s, H(right))]
        return block_tangents(at, at.results[1], outside)


def block_tangents(at: FormulaSite, regular: AnyTensor, outside: Sequence[AnyTensor]) -> Terms:
    """dU = U W + X, dB = sym(E), dV = −V W + Y with E = UᴴdA V.

    W B + B W = skew(E), and with D = A − U B Vᴴ, the part of A outside of the block,

        X B − D Y = (1 − UUᴴ) dA V,    Y B − Dᴴ X = (1 − VVᴴ) dAᴴ U.

    (Francuz, Schuch and Vanhecke, arXiv:2311.11894, for single vectors.)

    Args:
        at: A first among the operands; U, B and V.
        regular: B, without zeros.
        outside: D by its singular vectors and values.
    """
    a, (u, b, v), da = at.operands[0], at.results, at.tangents[0]
    forward, backward = da @ v, H(da) @ u
    inner = H(u) @ forward
    turn = sylvester(regular, regular, skew(inner), 1)
    rest = a - u @ b @ H(v)
    x, y = coupled(regular, rest, forward - u @ inner, backward - v @ H(inner), outside)
    return [u @ turn + x, sym(inner), y - v @ turn]


def singular_blocks(a: AnyTensor, count: int | None = None) -> tuple[AnyTensor, ...]:
    """U, B and V of `SvdBlock`."""
    return emit_all(Extension(SvdBlock(count)), a, *emit_all(Extension(Svd()), a))


class EighBlockResult(NamedTuple):
    """Of `eigh_block`."""

    V: AnyTensor
    B: AnyTensor


@array_function(module="tenferro.linalg", results=EighBlockResult)
def eigh_block(x: ArrayLike, k: int, *, which: str = "smallest") -> EighBlockResult:
    """A basis of the space of k eigenvectors of Hermitian matrices, and the matrices on it.

    V, of shape [..., n, k], has orthonormal columns, and B = VᴴxV, of shape [..., k, k], is a
    diagonal matrix in value. A loss that does not depend on the basis, f(V Q, QᴴB Q) = f(V, B) for
    unitary Q, has exact derivatives of all orders, also where kept eigenvalues are equal: tr B, the
    projector V Vᴴ, V B Vᴴ, and V h(B) Vᴴ with h from `funm_hermitian`. For other losses they depend
    on the choice of the basis. Where a kept and a discarded eigenvalue are equal they are NaN.

    With W the other eigenvectors, C = WᴴxW and E the tangent of x, dV = W X, dB = VᴴEV, where
    C X − X B = −WᴴEV.

    Args:
        x: matrices, of shape [..., n, n]; (x + xᴴ) / 2 is read.
        k: how many, from 0 to n.
        which: "smallest" or "largest" eigenvalues.

    Raises:
        ShapeError: x is not square.
        ConfigError: k or `which` is none of these.

    >>> v, b = tn.linalg.eigh_block([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 4.0]], 2)
    >>> v @ v.mT
    Tensor([[1., 0., 0.],
            [0., 1., 0.],
            [0., 0., 0.]])
    """
    if which not in ("smallest", "largest"):
        raise ConfigError(f"eigh_block: which must be 'smallest' or 'largest', got {which!r}")
    a = square("eigh_block", x)
    op = EighBlock(_count("eigh_block", k, a.shape[-1]), which == "largest")
    v, b, _, _ = emit_all(Extension(op), a, *emit_all(Extension(Eigh()), a))
    return EighBlockResult(v, b)


class SVDBlockResult(NamedTuple):
    """Of `svd_block`."""

    U: AnyTensor
    B: AnyTensor
    Vh: AnyTensor


@array_function(module="tenferro.linalg", results=SVDBlockResult)
def svd_block(x: ArrayLike, k: int | None = None) -> SVDBlockResult:
    """Bases of the spaces of the k largest singular values, and the matrices between them.

    x ≈ U B Vh, the nearest matrix of rank k. U, of shape [..., m, k], and Vhᴴ have orthonormal
    columns. B, of shape [..., k, k], is diagonal in value. A loss that does not depend on the
    bases, f(U Q, QᴴB Q, QᴴVh) = f(U, B, Vh) for unitary Q, has exact derivatives of all orders,
    also where kept singular values are equal: U B Vh, U Vh, tr B, U h(B) Vh with h from
    `funm_hermitian`. For other losses they depend on the choice of the bases. They are NaN where
    the singular values k and k + 1 are equal, and where the k-th is zero.

    Args:
        x: matrices, of shape [..., m, n].
        k: how many, from 0 to min(m, n); all, if it is None.

    Raises:
        ConfigError: k is not such an integer.

    Source: Francuz, Schuch and Vanhecke, arXiv:2311.11894, on the part of the discarded space.

    >>> u, b, vh = tn.linalg.svd_block([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]], 1)
    >>> u @ b @ vh
    Tensor([[2., 0.],
            [0., 0.],
            [0., 0.]])
    """
    u, b, v = _blocks("svd_block", x, k)
    return SVDBlockResult(u, b, H(v))


@array_function(module="tenferro.linalg")
def low_rank(x: ArrayLike, k: int) -> AnyTensor:
    """The nearest matrices of rank k in the Frobenius norm.

    Derivatives of all orders are exact where kept singular values are equal. They do not exist, and
    are NaN, where the singular values k and k + 1 are equal.

    Args:
        x: matrices, of shape [..., m, n].
        k: the rank.

    Raises:
        ConfigError: k is not an integer from 0 to min(m, n).

    >>> tn.linalg.low_rank([[3.0, 0.0], [0.0, 1.0]], 1)
    Tensor([[3., 0.],
            [0., 0.]])
    """
    u, b, v = _blocks("low_rank", x, k)
    return u @ b @ H(v)


class PolarResult(NamedTuple):
    """Of `polar`."""

    U: AnyTensor
    P: AnyTensor


@array_function(module="tenferro.linalg", results=PolarResult)
def polar(a: ArrayLike, side: str = "right") -> PolarResult:
    """The polar decomposition `a` = U P, or `a` = P U for the left side.

    U, of shape [..., m, n], has orthonormal columns or rows, and P is Hermitian and positive
    semidefinite. Derivatives of all orders are exact where singular values are equal, and NaN where
    `a` does not have full rank.

    Args:
        a: matrices, of shape [..., m, n].
        side: "right" or "left": where P stands.

    Raises:
        ConfigError: `side` is neither.

    >>> tn.linalg.polar([[2.0, 0.0], [0.0, -3.0]]).P
    Tensor([[2., 0.],
            [0., 3.]])
    """
    if side not in ("left", "right"):
        raise ConfigError(f"polar: side must be 'left' or 'right', got {side!r}")
    u, b, v = _blocks("polar", a, None)
    return PolarResult(u @ H(v), u @ b @ H(u) if side == "left" else v @ b @ H(v))


def _blocks(name: str, x: ArrayLike, k: int | None) -> tuple[AnyTensor, ...]:
    a = matrix(name, x)
    meta: TensorMeta = a.meta
    m, n = meta.exact_shape(name, "x")[-2:]
    if k is not None:
        k = _count(name, k, minimum(m, n))
    return singular_blocks(a, k)


def _count(name: str, k: object, limit: Dim) -> int:
    """A number of values, of at most a limit that may be symbolic.

    Raises:
        ConfigError: k is none.
        TracingError: k is a traced array.
    """
    count = integer(name, "k", k)
    if count is None or count < 0 or (isinstance(limit, int) and count > limit):
        raise ConfigError(f"{name}: k must be an integer from 0 to {limit}, got {k!r}")
    return count
