"""General eigenvalue problems, and their derivative at simple eigenvalues."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tenferro.ir import AnyTensor, ArrayLike, DType, NumpyArray
from tenferro.linalg.arguments import COMPLEX_OF, check_dtype, check_square, square
from tenferro.linalg.gauge import factor, largest_of, off_diagonal
from tenferro.linalg.matrix_op import columns, diagonal, family, real, rows, stacked
from tenferro.ops import StopGradient
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
from tenferro.ops.functions import array_function, emit, emit_all, reductions
from tenferro.ops.functions.elementwise import where

__all__ = ["EigResult", "eig", "eigvals"]


def closeness(dtype: DType) -> float:
    """τ: moduli, and eigenvalues, that differ by less than this factor count as equal."""
    return float(np.finfo(dtype).eps ** 0.75)


@differentiable(
    results=3,
    undefined="eig: the derivative does not exist: eigenvalues are equal, or too close for their "
    "vectors to be known; differentiate a function of the matrix itself",
)
@family(name="eig")
@dataclass(frozen=True)
class Eig(FamilyOp):
    """Eigenvalues w, eigenvectors V as columns, and V⁻¹; complex for real matrices too.

    Columns of V have norm 1, and the largest entry of each is real and positive; the first one, if
    several are as large. V⁻¹ is what derivatives need. It is NaN where V is singular.

    Attributes:
        results: how many of w, V and V⁻¹ are computed.
    """

    results: int = 3

    input_count = 1

    @property
    def output_count(self) -> int:
        """The number of results."""
        return self.results

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        dtype = COMPLEX_OF[check_dtype("eig", *input_dtypes)]
        batch, n = check_square("eig", input_dtypes[0], input_shapes[0])
        types = [(dtype, (*batch, n)), (dtype, (*batch, n, n)), (dtype, (*batch, n, n))]
        return types[: self.results]

    def prune_outputs(self, live: tuple[bool, ...]) -> Eig | None:
        """The op with the first results only, if the others are not read."""
        count = sum(live)
        first = count > 0 and all(live[:count]) and count < self.results
        return Eig(count) if first else None

    def whole(self) -> Eig:
        return self if self.results == 3 else replace(self, results=3)

    def kernel(self, a: NumpyArray) -> list[NumpyArray]:
        """By LAPACK's geev and gesv."""
        dtype = np.result_type(a.dtype, np.complex64)
        shapes = [a.shape[:-1], a.shape, a.shape][: self.results]
        outputs = [np.empty(shape, dtype) for shape in shapes]
        if self.results == 1:
            return stacked(lambda x: (np.linalg.eigvals(x),), [a], outputs)
        results = stacked(lambda x: tuple(np.linalg.eig(x)), [a], outputs[:2])
        with np.errstate(invalid="ignore"):
            results[1] = _with_real_pivots(results[1])
        if self.results == 3:
            results += stacked(lambda x: (np.linalg.inv(x),), [results[1]], outputs[2:])
        return results

    def jvp(self, at: FormulaSite) -> Terms:
        """With P = V⁻¹ dA V and F = 1/(w_j − w_i): dw = diag P, dV = U + V diag c, −V⁻¹ dV V⁻¹.

        U = V (F∘P), and c_j = −Re(v_jᴴu_j) − i Im(u_kj / v_kj) keeps the norm of column j, and its
        largest entry, k, real.

        NaN for a matrix with eigenvalues that are equal, or so close that their vectors cannot be
        known: the gap is at most τ times the conditions κ = |y||x| of the two eigenvalues, with y a
        row of V⁻¹ and x a column of V, times the norm of A. Derivatives of orders 2 to 4 divide by
        further powers of gaps, and are NaN at larger ones; see `_known`.
        """
        (w, v, inverse), (da,) = at.results, at.tangents
        inner = inverse @ da.astype(v.dtype) @ v
        gaps = columns(w) - rows(w)
        unit = _unit(gaps)
        gaps = gaps / unit
        different = _different_places(gaps)
        parts = where(different, inner / unit, 0.0) / where(different, gaps, 1.0)  # F∘P
        turned = v @ parts
        turned = turned + v * columns(_multiples(v, turned))
        scale = rows(rows(largest_of((v * columns(w)) @ inverse))) / unit
        ones = _known(w, gaps, inverse, scale)
        moved = -(inverse @ turned @ inverse)
        return [diagonal(inner) * ones[..., 0], turned * ones, moved * ones]


def _with_real_pivots(vectors: NumpyArray) -> NumpyArray:
    """The columns turned so that the largest entry, the first of several, is real and positive."""
    if not vectors.size:
        return vectors
    size = np.abs(vectors)
    near = size >= size.max(axis=-2, keepdims=True) * (1 - closeness(vectors.dtype))
    place = np.argmax(near, axis=-2)[..., None, :]
    pivot = np.take_along_axis(vectors, place, -2)
    turned: NumpyArray = vectors * (np.conj(pivot) / np.abs(pivot))
    np.put_along_axis(turned, place, np.abs(pivot).astype(vectors.dtype), -2)
    return turned


def _known(w: AnyTensor, gaps: AnyTensor, inverse: AnyTensor, scale: AnyTensor) -> AnyTensor:
    """1 for each matrix whose derivative is known, else NaN, also in derivatives: [..., 1, 1].

    With r = √(κ_i κ_j) |A| / |w_j − w_i|, a derivative of order m has an error of about ε r^m.
    """
    eps = float(np.finfo(w.dtype).eps)
    conditions = abs(inverse * inverse.conj()).sum(axis=-1) ** 0.5
    products = rows(conditions) * columns(conditions)
    ones = factor(_are_apart(gaps, products * scale * closeness(w.dtype)), w.dtype)
    for order in (2, 3, 4):
        apart = _are_apart(gaps, products**0.5 * scale * eps ** (0.75 / order))
        near: AnyTensor = ~apart
        ones = ones + rows(rows(_smooth_kink(w, near, order - 2))).astype(w.dtype)
    return ones


def _smooth_kink(w: AnyTensor, condition: AnyTensor, order: int) -> AnyTensor:
    """Zeros, with zero derivatives up to `order`, and then NaN where the condition holds."""
    x = w[..., :1].sum(axis=-1).real
    power = where(condition, x * 0.0, 1.0) ** (order + 0.5)
    return where(condition, power, 0.0)


def _different_places(x: AnyTensor) -> AnyTensor:
    """Whether an element of square matrices is not on the diagonal."""
    known = x == x
    return off_diagonal(known == known)


def _unit(gaps: AnyTensor) -> AnyTensor:
    """The largest gap of each matrix, or 1, as a constant: [..., 1, 1].

    Further derivatives divide by squares of gaps, which may be too small or large for the dtype.
    """
    largest = rows(rows(largest_of(gaps)))
    return emit(StopGradient(), where(largest > 0, largest, 1.0))


def _multiples(v: AnyTensor, u: AnyTensor) -> AnyTensor:
    """c: the multiples of the columns of v by which u keeps their norms and phases."""
    size = abs(v)
    near = (size >= size.max(axis=-2, keepdims=True) * (1 - closeness(v.dtype))).astype("int64")
    counted = reductions.cumsum(near, axis=-2)
    first = (near == 1) & (counted == 1)
    ratio = where(first, u, 0.0).sum(axis=-2) / where(first, v, 0.0).sum(axis=-2)
    norms = real((v.conj() * u).sum(axis=-2))
    return -norms - (ratio - ratio.conj()) * 0.5


def _are_apart(gaps: AnyTensor, errors: AnyTensor) -> AnyTensor:
    """Whether all gaps between eigenvalues of a matrix are larger than errors, of shape [...].

    Not if a number here is NaN, as of V⁻¹ where V is singular.
    """
    apart = where(_different_places(gaps), (abs(gaps) > errors).astype("int64"), 1)
    return apart.min(axis=(-2, -1)) == 1


class EigResult(NamedTuple):
    """Of `eig`."""

    eigenvalues: AnyTensor
    eigenvectors: AnyTensor


@array_function(module="tenferro.linalg", results=EigResult)
def eig(a: ArrayLike) -> EigResult:
    """Eigenvalues, in no particular order, and eigenvectors, as columns, of square matrices.

    Both are complex always. Each eigenvector has norm 1, and its largest entry is real and
    positive; the first one, if several are as large. The derivative of any loss is NaN for a matrix
    with eigenvalues that are equal, or too close for the derivative to be known in spite of
    rounding, or without as many eigenvectors as rows. Higher derivatives need larger gaps. XLA has
    it on the CPU and on GPUs, where some versions compute it on the host.

    Args:
        a: matrices, of shape [..., n, n].

    Raises:
        ShapeError: `a` is not square.
        DTypeError: `a` is of half precision.

    >>> tn.linalg.eig([[0.0, 1.0], [0.0, 2.0]]).eigenvalues
    Tensor([0.+0.j, 2.+0.j])
    """
    values, vectors, _ = emit_all(Extension(Eig()), square("eig", a))
    return EigResult(values, vectors)


@array_function(module="tenferro.linalg")
def eigvals(a: ArrayLike) -> AnyTensor:
    """The eigenvalues of square matrices, complex always, in no particular order.

    The derivative is NaN for a matrix with equal eigenvalues, or nearly equal ones; see `eig`.

    Args:
        a: matrices, of shape [..., n, n].

    Raises:
        ShapeError: `a` is not square.
        DTypeError: `a` is of half precision.

    >>> tn.linalg.eigvals([[0.0, 1.0], [-1.0, 0.0]])
    Tensor([0.+1.j, 0.-1.j])
    """
    return emit_all(Extension(Eig()), square("eigvals", a))[0]
