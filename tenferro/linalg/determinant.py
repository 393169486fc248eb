"""Determinants and adjugates by LU factors; derivatives that hold at singular matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from tenferro.core import Emitter, V
from tenferro.errors import ConfigError
from tenferro.ir import AnyTensor, ArrayLike, NumpyArray, TensorMeta, dtype_kind
from tenferro.linalg.arguments import REAL_OF, check_equal_sizes, check_factored, square
from tenferro.linalg.gauge import factor
from tenferro.linalg.lu import inverse_of, lu_factors, packed_of
from tenferro.linalg.matrix_op import FactoredOp, H, adjoint, constant, family, rows, trace
from tenferro.linalg.solve import Inverse, inverse
from tenferro.linalg.svd import Svd
from tenferro.ops import STOP_GRADIENT, Constant, full
from tenferro.ops.extension import (
    DTypes,
    Extension,
    FormulaOp,
    FormulaSite,
    OutputTypes,
    Shapes,
    Terms,
    Transform,
)
from tenferro.ops.functions import (
    analytic,
    apply,
    array_function,
    creation,
    emit,
    emit_all,
    expressions,
    values_of,
)
from tenferro.ops.functions.elementwise import where

__all__ = ["SlogdetResult", "det", "slogdet"]


@family(name="determinant")
@dataclass(frozen=True)
class Determinant(FactoredOp):
    """det A, or its sign and the logarithm of its modulus, for A, its LU factors and permutation.

    Attributes:
        kind: `"det"` or `"slogdet"`.
    """

    kind: str = "det"

    input_count = 3

    @property
    def output_count(self) -> int:
        """One, or two for `"slogdet"`."""
        return 1 if self.kind == "det" else 2

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        dtype, batch, _ = check_factored(self.kind, input_dtypes, input_shapes)
        return [(dtype, batch), (REAL_OF[dtype], batch)][: self.output_count]

    def kernel(self, a: NumpyArray, *factors: NumpyArray) -> list[NumpyArray]:
        return self.by_factors(a, *packed_of(a))

    def by_factors(
        self, a: NumpyArray, packed: NumpyArray, permutation: NumpyArray
    ) -> list[NumpyArray]:
        diagonal = np.diagonal(packed, axis1=-2, axis2=-1)
        sign = parity(permutation).astype(a.dtype)
        with np.errstate(all="ignore"):
            if self.kind == "det":
                return [np.asarray(sign * diagonal.prod(-1))]
            sizes = np.abs(diagonal)
            phases = diagonal / np.where(sizes == 0, 1, sizes)
            return [np.asarray(sign * phases.prod(-1)), np.asarray(np.log(sizes).sum(-1))]

    def jvp(self, at: FormulaSite) -> Terms:
        """tr(adj(A) dA) for the determinant, tr(A⁻¹ dA) for its logarithm.

        A tangent turns the sign of a complex determinant only.
        """
        (a, packed, permutation), (sign, *_), da = at.operands, at.results, at.tangents[0]
        if da is None:
            return [None] * self.output_count
        of = Adjugate() if self.kind == "det" else Inverse()
        matrix = emit(Extension(of), a, packed, permutation)
        change = (matrix.mT * da).sum((-2, -1))
        if self.kind == "det":
            return [change]
        growth: AnyTensor = change.real
        if dtype_kind(a.dtype) != "c":
            return [None, growth]
        return [sign * (change - growth.astype(a.dtype)), growth]


def parity(permutation: NumpyArray) -> NumpyArray:
    """The sign of permutations, by the number of inversions: 1 or -1, as float64."""
    later = permutation[..., None, :] < permutation[..., :, None]
    inversions = np.triu(later, 1).sum((-2, -1))
    return np.asarray(1.0 - 2.0 * (inversions % 2))


def determinant(a: AnyTensor, kind: str) -> tuple[AnyTensor, ...]:
    """The outputs of `Determinant`, by the LU factors of A."""
    packed, _, permutation = lu_factors(a)
    return emit_all(Extension(Determinant(kind)), a, packed, permutation)


# Adjugates, by the inverse or by singular values.

FIRST_LIMIT, SECOND_LIMIT = 3 / 4, 1 / 3
"""Exponents of 1/ε: beyond these condition numbers (of Frobenius) the formulas with A⁻¹ for the
first and second derivative of det lose too many digits; see `Adjugate.by_factors`."""


@family(name="adjugate")
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
    linear_from = 3

    @property
    def input_count(self) -> int:
        """A, its factors, and E for order 1."""
        return 3 + self.order

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        dtype, batch, n = check_factored("det", input_dtypes[:3], input_shapes[:3])
        for direction in input_shapes[3:]:
            check_equal_sizes("det", "the sizes of A and E", (*batch, n, n), direction)
        return [(dtype, tuple(input_shapes[0]))]

    def kernel(self, a: NumpyArray, *rest: NumpyArray) -> list[NumpyArray]:
        """By the singular values of A: no division, for every A.

        A = U S Vᴴ has adj(A) = det(U Vᴴ) V adj(S) Uᴴ. Along F = Uᴴ E V, adj(S) changes by −P∘F off
        the diagonal, and by P diag(F) on it, where P_ij is the product of all s but s_i and s_j.
        """
        finite = np.isfinite(a).all((-2, -1), keepdims=True)
        u, s, vh = np.linalg.svd(np.where(finite, a, 0))
        phase = np.linalg.det(u @ vh)[..., None, None]
        v, uh = adjoint(vh), adjoint(u)
        if self.order == 0:
            inner = np.zeros_like(a)
            np.einsum("...ii->...i", inner)[...] = _leave_one_out(s)
        else:
            inner = _changed(s, uh @ rest[-1] @ v)
        return [np.where(finite, phase * (v @ inner @ uh), np.nan).astype(a.dtype)]

    def by_factors(self, a: NumpyArray, *rest: NumpyArray) -> list[NumpyArray]:
        """By the inverse, where the matrix is far enough from singular ones.

        det(A) A⁻¹ by LU is adj(A) of a matrix that is within rounding of A: no digits are lost
        until the inverse overflows. In its derivative det (tr(A⁻¹E) A⁻¹ − A⁻¹EA⁻¹), terms that are
        larger by the condition number cancel.
        """
        packed, permutation, *direction = rest
        if a.shape[-1] == 1:
            return [np.zeros_like(a) if direction else np.ones_like(a)]
        (det,) = Determinant().by_factors(a, packed, permutation)
        with np.errstate(all="ignore"):
            x = inverse_of(packed, permutation)
            result = _by_inverse(det[..., None, None], x, direction)
            condition = np.linalg.norm(a, axis=(-2, -1)) * np.linalg.norm(x, axis=(-2, -1))
        exponent = SECOND_LIMIT if self.order else FIRST_LIMIT
        near = ~(condition < float(np.finfo(a.dtype).eps) ** -exponent)
        if near.any():
            (exact,) = self.kernel(a[near], *[array[near] for array in rest])
            result[near] = exact
        return [result]

    def jvp(self, at: FormulaSite) -> Terms:
        """One order more along dA, and for order 1 the op along the change of the direction.

        From order 2 on they are derivatives of a polynomial, det A.
        """
        a, packed, permutation, *directions = at.operands
        da, *changes = at.tangents[0], *at.tangents[3:]
        first = Extension(Adjugate(1))
        terms = []
        if da is not None and directions:
            terms.append(second_change(a, directions[0], da))
        for along in (*([] if directions else [da]), *changes):
            if along is not None:
                terms += emit_all(first, a, packed, permutation, along)
        return [sum(terms[1:], terms[0]) if terms else None]

    def vjp(self, at: FormulaSite) -> Terms:
        """Ē = D adj(A)[ctᴴ]ᴴ, for tr(D adj(A)[E] F) is symmetric in E and F."""
        (a, *factors, _), (ct,) = at.operands, at.cts
        result = emit(Extension(self), a, *factors, H(ct))
        return [H(result)]


def _by_inverse(det: NumpyArray, x: NumpyArray, direction: Sequence[NumpyArray]) -> NumpyArray:
    if not direction:
        return np.asarray(det * x)
    product = x @ direction[0]
    total = np.trace(product, axis1=-2, axis2=-1)[..., None, None]
    return np.asarray(det * (total * x - product @ x))


def _leave_one_out(s: NumpyArray) -> NumpyArray:
    """The product of all elements along the last axis but one, for each of them."""
    one = np.ones_like(s[..., :1])
    before = np.cumprod(np.concatenate([one, s[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([one, s[..., :0:-1]], -1), -1)[..., ::-1]
    return np.asarray((before * after)[..., : s.shape[-1]])


def _changed(s: NumpyArray, f: NumpyArray) -> NumpyArray:
    """The change of the adjugate of diag(s) along F."""
    n = s.shape[-1]
    diagonal = np.eye(n, dtype=bool)
    without = np.where(diagonal, 1, s[..., None, :])
    pairs = np.where(diagonal, 0, _leave_one_out(without))
    on_it = (pairs * np.diagonal(f, axis1=-2, axis2=-1)[..., None, :]).sum(-1)
    return np.where(diagonal, on_it[..., None], -pairs * f)


# The determinant as a polynomial: its derivatives of all orders hold at singular matrices too.

WHOLE_ROWS, LAST_ROWS = 6, 4
"""The minors of all rows are written out for matrices of so many, and of so many rows of larger
ones, which may lack as many ranks."""


LEADING_LIMIT = 1 / 4
"""Exponent of ε: NaN where the singular values that come before are smaller than that part of the
largest one, for then the inverse of their block loses too many digits."""


@family(name="determinant_polynomial")
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


def second_change(a: AnyTensor, e: AnyTensor, g: AnyTensor) -> AnyTensor:
    """The second derivative of adj(A) along E and G, of the shape of A."""
    op = DeterminantPolynomial(
        (("vjp", (True,)), ("jvp", (True, False)), ("jvp", (True, False, False)))
    )
    one: AnyTensor = apply(creation.ones_like, trace(a))
    result = emit(Extension(op), a, one, e, g)
    return H(result)  # the gradient of det is adj(A)ᴴ


def _by_blocks(a: AnyTensor, n: int) -> AnyTensor:
    fixed = emit(STOP_GRADIENT, a)
    s, u, vh = emit_all(Extension(Svd()), fixed)
    (phase,) = determinant(u @ vh, "det")
    whole = H(u) @ a @ H(vh)
    lead = 0 if n <= WHOLE_ROWS else n - LAST_ROWS
    if not lead:
        return _by_minors(whole, phase)
    size = s[..., :lead].astype(a.dtype)
    top = whole[..., :lead, :] / rows(size)
    block, across = top[..., :lead], top[..., lead:]
    below = whole[..., lead:, :]
    rest = below[..., lead:] - below[..., :lead] @ inverse(block) @ across
    sign, growth = determinant(block, "slogdet")
    exponential = analytic.exp(growth)
    limit = float(np.finfo(a.dtype).eps) ** LEADING_LIMIT
    usable = factor(s[..., lead - 1] > s[..., 0] * limit, a.dtype)[..., 0, 0]
    constant = phase * usable * size.prod(axis=-1)
    return sign * exponential.astype(a.dtype) * _by_minors(rest, constant)


def _by_minors(x: AnyTensor, factor: AnyTensor) -> AnyTensor:
    """factor · det X from the minors of its first row, of its first two rows, and so on.

    Each row is divided by its largest element, so that small rows lose no digits.
    """
    n = x.shape[-1]
    assert isinstance(n, int)
    values = emit(STOP_GRADIENT, abs(x).max(axis=-1))
    size = where(values > 0, values, 1.0).astype(x.dtype)
    scales = rows(size)
    x = x / scales
    minors = x[..., 0, :] * rows(factor * size.prod(axis=-1))
    for row in range(1, n):
        products = rows(x[..., row, :]) * minors[..., None, :]
        flat = products.reshape((*products.shape[:-2], products.shape[-2] * products.shape[-1]))
        minors = flat @ constant(x, _expansion(row, n, x.dtype.name))
    return minors[..., 0]


def _expansion(row: int, n: int, dtype: str) -> Constant:
    """The signs by which minors of `row` rows, times elements of the next row, make larger minors.

    Minors are ordered by their columns. Of shape [n · minors, larger minors].
    """
    before = {columns: place for place, columns in enumerate(combinations(range(n), row))}
    after = list(combinations(range(n), row + 1))
    signs = np.zeros((n, len(before), len(after)), dtype)
    for place, chosen_columns in enumerate(after):
        for at, column in enumerate(chosen_columns):
            others = (*chosen_columns[:at], *chosen_columns[at + 1 :])
            signs[column, before[others], place] = (-1) ** (row - at)
    return Constant(signs.reshape(-1, len(after)))


class SlogdetResult(NamedTuple):
    """The sign of a determinant and the natural logarithm of its modulus."""

    sign: AnyTensor
    logabsdet: AnyTensor


@array_function(module="tenferro.linalg")
def det(a: ArrayLike) -> AnyTensor:
    """The determinant of square matrices.

    Its derivatives are right for singular matrices too. For n > 6 they are NaN from the third order
    on where `a` is near a matrix that lacks more than four ranks.

    Args:
        a: matrices, of shape [..., n, n].

    Raises:
        ShapeError: `a` is not square.
        DTypeError: `a` is of half precision.

    >>> tn.linalg.det([[2.0, 1.0], [1.0, 3.0]])
    Tensor(5.)
    >>> tn.grad(tn.linalg.det)(tn.asarray([[1.0, 2.0], [2.0, 4.0]]))
    Tensor([[ 4., -2.],
            [-2.,  1.]])
    """
    return determinant(square("det", a), "det")[0]


@array_function(module="tenferro.linalg", results=SlogdetResult)
def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """The sign of the determinant, and the logarithm of its modulus.

    The determinant is `sign * exp(logabsdet)`, also where it would overflow. Where `a` is singular
    they are 0 and -inf, and derivatives are infinite or NaN.

    Args:
        a: matrices, of shape [..., n, n].
        method: "lu" or "qr", which has no effect: LU factors are used.

    Raises:
        ShapeError: `a` is not square.
        DTypeError: `a` is of half precision.
        ConfigError: there is no such method.

    >>> sign, logabsdet = tn.linalg.slogdet([[0.0, 1.0], [1.0, 0.0]])
    >>> sign, logabsdet
    (Tensor(-1.), Tensor(0.))
    """
    if method not in (None, "lu", "qr"):
        raise ConfigError(f"slogdet: method must be 'lu' or 'qr', got {method!r}")
    sign, logabsdet = determinant(square("slogdet", a), "slogdet")
    return SlogdetResult(sign, logabsdet)
