"""Pseudoinverses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tenferro.errors import ConfigError, DTypeError
from tenferro.ir import AnyTensor, ArrayLike, DType, NumpyArray, is_complex
from tenferro.linalg.arguments import (
    REAL_OF,
    check_dtype,
    check_equal_sizes,
    check_matrix,
    floating,
    known,
    matrix,
    number,
    rows_of,
    same_batch,
    shown_type,
    square,
)
from tenferro.linalg.matrix_op import H, adjoint, family, rows, stacked, sym
from tenferro.linalg.svd import Svd
from tenferro.ops.extension import (
    DTypes,
    Extension,
    FamilyOp,
    FormulaSite,
    OutputTypes,
    Shapes,
    Terms,
)
from tenferro.ops.functions import (
    apply,
    common_batch,
    convert,
    emit,
    manipulation,
    named,
    promote,
)

__all__ = ["LstsqResult", "lstsq", "matrix_rank", "pinv"]


@family(name="pinv")
@dataclass(frozen=True)
class Pinv(FamilyOp):
    """The pseudoinverse A⁺ of A.

    Attributes:
        rtol: singular values up to this, relative to the largest, count as zero; None is the
            rounding error of the dtype times the larger size.
        given: whether a second input, real and with one number for each matrix, is read as `rtol`.
    """

    rtol: float | None = None
    given: bool = False

    output_count = 1

    @property
    def input_count(self) -> int:
        """A, and its tolerance."""
        return 1 + self.given

    def cutoff(self, m: int, n: int, dtype: DType) -> float:
        """The largest value, relative to the largest, that counts as zero."""
        return max(m, n) * float(np.finfo(dtype).eps) if self.rtol is None else self.rtol

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        dtype = check_dtype("pinv", input_dtypes[0])
        batch, m, n = check_matrix("pinv", dtype, input_shapes[0])
        if self.given:
            check_dtype("pinv", REAL_OF[dtype], input_dtypes[1])
            check_equal_sizes("pinv", "the batch sizes of A and rtol", batch, input_shapes[1])
        return [(dtype, (*batch, n, m))]

    def kernel(self, a: NumpyArray, *rtol: NumpyArray) -> list[NumpyArray]:
        """By singular values."""
        result = np.empty((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
        if 0 in a.shape:
            return [result]

        def kernel(x: NumpyArray, *rtol: NumpyArray) -> tuple[NumpyArray]:
            u, s, vh = np.linalg.svd(x, full_matrices=False)
            cutoff = rtol[0][..., 0] if rtol else self.cutoff(x.shape[-2], x.shape[-1], s.dtype)
            nonzero = s > cutoff * s[..., :1]
            inverse = np.where(nonzero, 1 / np.where(nonzero, s, 1), 0)
            return ((adjoint(vh) * inverse[..., None, :]) @ adjoint(u),)

        return stacked(kernel, [a, *[each[..., None, None] for each in rtol]], [result])

    def jvp(self, at: FormulaSite) -> Terms:
        """dA⁺ = −A⁺dA A⁺ + A⁺A⁺ᴴdAᴴ(1 − A A⁺) + (1 − A⁺A)dAᴴA⁺ᴴA⁺, along matrices of equal rank.

        No difference of singular values occurs (Golub and Pereyra 1973).
        """
        a, (p,), da = at.operands[0], at.results, at.tangents[0]
        if da is None:
            return [None]
        left = p @ (H(p) @ H(da))
        right = (H(da) @ H(p)) @ p
        return [left - (left @ a) @ p + right - p @ (a @ right) - p @ da @ p]


def pinv(
    a: ArrayLike,
    rtol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rcond: ArrayLike | None = None,
) -> AnyTensor:
    """The pseudoinverse of `a`, for matrices of any rank.

    Its derivatives are those along matrices of equal rank, and exact where singular values are
    equal.

    Args:
        a: matrices, of shape [..., m, n].
        rtol: singular values up to this, relative to the largest, count as zero; a number, or one
            for each matrix. By default the rounding error of the dtype times the larger of m and n.
        hermitian: read (a + aᴴ) / 2.
        rcond: another name of `rtol`.

    Raises:
        ShapeError: `a` has fewer than two axes, or is hermitian but not square.
        DTypeError: `a` is of half precision.
        ConfigError: rtol is negative, or both `rtol` and `rcond` are passed.

    >>> tn.linalg.pinv([[2.0, 0.0], [0.0, 0.0], [0.0, 4.0]])
    Tensor([[0.5 , 0.  , 0.  ],
            [0.  , 0.  , 0.25]])
    """
    if rcond is not None:
        if rtol is not None:
            raise ConfigError("pinv: takes rtol or rcond, not both")
        rtol = rcond
    if rtol is None or isinstance(rtol, int | float):
        return apply(_pinv, a, rtol=rtol, hermitian=hermitian)
    return apply(_pinv, a, rtol, hermitian=hermitian)


@named("pinv")
def _pinv(
    x: AnyTensor, *limits: AnyTensor, rtol: float | None = None, hermitian: bool = False
) -> AnyTensor:
    a = _read("pinv", x, hermitian)
    if not limits:
        return emit(Extension(Pinv(None if rtol is None else number("pinv", "rtol", rtol))), a)
    limit = _threshold("pinv", "rtol", limits[0], a.dtype)
    matrices, limit = same_batch("pinv", a, rows(rows(limit)), types=(a.meta, limit.meta))
    return emit(Extension(Pinv(given=True)), matrices, limit[..., 0, 0])


class LstsqResult(NamedTuple):
    """Of `lstsq`."""

    x: AnyTensor
    residuals: AnyTensor
    rank: AnyTensor
    singular_values: AnyTensor


def lstsq(
    a: ArrayLike, b: ArrayLike, rcond: float | None = None, *, numpy_resid: bool = False
) -> LstsqResult:
    """The x of least |a x − b|, and of least |x| among these, for matrices of any rank.

    x is a⁺ b. Its derivatives are those along matrices of equal rank.

    Args:
        a: matrices, of shape [..., m, n].
        b: right sides, of shape [..., m, k], or one vector of shape [m].
        rcond: singular values up to this, relative to the largest, count as zero; by default the
            rounding error of the dtype times the larger of m and n.
        numpy_resid: whether there are no sums of squares if the rank of a is less than n, or m is
            at most n, as in NumPy; the rank must be known.

    Returns:
        x; the sums of squares of b − a x, for each right side, whatever the rank; the rank of a;
        the singular values of a.

    Raises:
        ShapeError: a has fewer than two axes, or b does not have its number of rows.
        DTypeError: an operand is of half precision.
        TracingError: a is traced, and `numpy_resid` is true.

    >>> tn.linalg.lstsq([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]], [1.0, 3.0, 5.0]).x
    Tensor([1., 2.])
    """
    rcond = None if rcond is None else number("lstsq", "rcond", rcond)
    found = LstsqResult(*apply(_lstsq, a, b, rcond=rcond))
    if not numpy_resid:
        return found
    m, n = shown_type(a).exact_shape("lstsq", "a")[-2:]
    deficient = bool((known("lstsq", "the rank of a, for numpy_resid,", found.rank) < n).any())
    return found._replace(residuals=found.residuals[:0]) if deficient or m <= n else found


@named("lstsq")
def _lstsq(a: AnyTensor, b: AnyTensor, rcond: float | None) -> tuple[AnyTensor, ...]:
    lhs, rhs = floating("lstsq", a, b)
    _, m, _ = check_matrix("lstsq", lhs.dtype, lhs.meta.exact_shape("lstsq", "a"))
    rows_of("lstsq", lhs.meta, rhs.meta, m)
    s = emit(Extension(Svd(vectors=False)), lhs)
    rank = _rank(lhs, s, rcond)
    vector = rhs.ndim == 1
    matrices, sides = same_batch("lstsq", lhs, rows(rhs) if vector else rhs)
    x = emit(Extension(Pinv(rcond)), matrices) @ sides
    rest = sides - matrices @ x
    residuals = (rest.conj() * rest).real.sum(axis=-2)
    return manipulation.squeeze(x, axis=-1) if vector else x, residuals, rank, s


def matrix_rank(
    M: ArrayLike,  # noqa: N803  # JAX's name
    tol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rtol: ArrayLike | None = None,
) -> AnyTensor:
    """The number of singular values above a threshold, as int64.

    Args:
        M: matrices, of shape [..., m, n]. The rank of a vector is 1 unless it is zero.
        tol: the threshold, a number or one for each matrix.
        hermitian: read (M + Mᴴ) / 2.
        rtol: the threshold relative to the largest singular value; by default the rounding error
            of the dtype times the larger of m and n.

    Raises:
        ShapeError: `M` has fewer than two axes, or is hermitian but not square.
        DTypeError: `M` is of half precision.
        ConfigError: both `tol` and `rtol` are given.

    >>> tn.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]])
    Tensor(1)
    """
    if tol is not None and rtol is not None:
        raise ConfigError("matrix_rank: takes tol or rtol, not both")
    limits = [limit for limit in (tol, rtol) if limit is not None]
    return apply(_matrix_rank, M, *limits, relative=tol is None, hermitian=hermitian)


@named("matrix_rank")
def _matrix_rank(x: AnyTensor, *limits: AnyTensor, relative: bool, hermitian: bool) -> AnyTensor:
    name = "matrix_rank"
    (value,) = promote((x,))
    if value.ndim < 2:  # of a vector or a number, as in NumPy
        return (value != 0).any().astype("int64")
    a = _read(name, x, hermitian)
    s = emit(Extension(Svd(vectors=False)), a)
    if not limits:
        return _rank(a, s, None)
    limit = _threshold(name, "rtol" if relative else "tol", limits[0], a.dtype)
    common_batch(name, [a.meta, rows(rows(limit)).meta], (a.meta, limit.meta))
    limit = rows(limit)
    if relative and s.shape[-1] != 0:
        limit = limit * s.max(axis=-1, keepdims=True)
    return (s > limit).astype("int64").sum(axis=-1)


def _rank(a: AnyTensor, s: AnyTensor, rtol: float | None) -> AnyTensor:
    """How many singular values of a are above the threshold."""
    if s.shape[-1] == 0:
        return s.astype("int64").sum(axis=-1)
    largest = s.max(axis=-1, keepdims=True)
    if rtol is not None:
        return (s > largest * rtol).astype("int64").sum(axis=-1)
    eps = float(np.finfo(s.dtype).eps)
    m, n = a.shape[-2:]
    above = (s > largest * eps * m) & (s > largest * eps * n)
    return above.astype("int64").sum(axis=-1)


def _read(name: str, x: ArrayLike, hermitian: bool) -> AnyTensor:
    return sym(square(name, x)) if hermitian else matrix(name, x)


def _threshold(name: str, what: str, value: Any, dtype: DType) -> AnyTensor:
    """A tolerance as a value of the real dtype that belongs to a dtype.

    Raises:
        DTypeError: it is complex.
    """
    (limit,) = floating(name, value)
    if is_complex(limit.dtype):
        raise DTypeError(f"{name}: {what} must be real, got {limit.meta}")
    return convert(limit, REAL_OF[dtype])
