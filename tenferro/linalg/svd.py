"""Singular value decompositions, and their derivative at simple, multiple and zero values.

For A = U S Vᴴ and E = UᴴdA V, dU = U(a + b) and dV = V(a − b) up to complements, with
a = sym(E)/(s_j − s_i) and b = skew(E)/(s_j + s_i): only a is singular where values are equal, and b
only where both are zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import and_
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from tenferro.errors import ConfigError
from tenferro.ir import AnyTensor, ArrayLike, NumpyArray, TensorMeta, is_complex, minimum
from tenferro.linalg.arguments import REAL_OF, check_dtype, check_matrix, matrix, square
from tenferro.linalg.gauge import (
    Degeneracy,
    SingularClusters,
    degeneracy,
    generic_bases,
    largest_of,
    largest_where,
    order_of,
    ties,
    with_zero,
)
from tenferro.linalg.matrix_op import (
    H,
    adjoint,
    columns,
    concatenated,
    diagonal,
    embedded,
    family,
    plus,
    rows,
    skew,
    stacked,
    sym,
)
from tenferro.ops.extension import (
    DTypes,
    Extension,
    ExtensionOp,
    FamilyOp,
    FormulaSite,
    OutputTypes,
    Shapes,
    Terms,
    differentiable,
    evaluate_standard,
)
from tenferro.ops.functions import array_function, emit_all
from tenferro.ops.functions.elementwise import where

__all__ = ["SVDResult", "svd", "svdvals"]


@differentiable(
    results=3,
    preserves=("mode", "width"),
    undefined="svd: the derivative does not exist: the loss depends on the basis or the phases of "
    "singular vectors, or on single ones of equal singular values; tn.linalg.gauge_report says "
    "on which, and svd_block, low_rank and polar are exact at equal singular values",
)
@family(name="svd")
@dataclass(frozen=True)
class Svd(FamilyOp):
    """Singular values s, descending, U and Vᴴ, with A = U diag(s) Vᴴ.

    A is m×n and k the smaller of both. U is m×k and Vᴴ k×n, or m×m and n×n.

    Attributes:
        full_matrices: whether U and V are square.
        mode, width: what derivatives do at multiple singular values; see `Degeneracy`.
        vectors: whether U and V are computed.
    """

    full_matrices: bool = False
    mode: str = "nan"
    width: float = 1e-12
    vectors: bool = True

    input_count = 1

    @property
    def output_count(self) -> int:
        """s, U and Vᴴ, or s."""
        return 3 if self.vectors else 1

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        dtype = check_dtype("svd", *input_dtypes)
        batch, m, n = check_matrix("svd", dtype, input_shapes[0])
        k = minimum(m, n)
        left, right = (m, n) if self.full_matrices else (k, k)
        types = [(REAL_OF[dtype], (*batch, k)), (dtype, (*batch, m, left))]
        return [*types, (dtype, (*batch, right, n))][: self.output_count]

    def prune_outputs(self, live: tuple[bool, ...]) -> Svd | None:
        """The op without vectors, if only s is read."""
        if live != (True, False, False):
            return None
        return Svd(False, self.mode, self.width, vectors=False)

    def whole(self) -> Svd:
        return self if self.vectors else replace(self, vectors=True)

    @staticmethod
    def operand_types(*results: TensorMeta) -> Sequence[TensorMeta]:
        _, u, vh = results
        return [u.with_extents((*u.extents[:-1], vh.extents[-1]))]

    def kernel(self, a: NumpyArray) -> list[NumpyArray]:
        """By LAPACK's gesdd."""
        (*batch, m, n), k = a.shape, min(a.shape[-2:])
        values = np.empty((*batch, k), np.finfo(a.dtype).dtype)
        if not self.vectors:
            return stacked(lambda x: (np.linalg.svd(x, compute_uv=False),), [a], [values])
        rows, columns = (m, n) if self.full_matrices else (k, k)
        left, right = np.empty((*batch, m, rows), a.dtype), np.empty((*batch, columns, n), a.dtype)

        def kernel(x: NumpyArray) -> tuple[NumpyArray, NumpyArray, NumpyArray]:
            u, s, vh = np.linalg.svd(x, full_matrices=self.full_matrices)
            return s, u, vh

        return stacked(kernel, [a], [values, left, right])

    def jvp(self, at: FormulaSite) -> Terms | None:
        """ds, dU and dVᴴ.

        Where singular values are equal, the tangents of single values and vectors exist only if
        sym(E) is a multiple of 1 within the cluster; where they are zero, only if E is 0. They are
        NaN otherwise.
        """
        (s, u, vh), (da,) = at.results, at.tangents
        sides = _sides(s, u, vh)
        if sides is None:
            return None
        left, right = sides
        degeneracy = Degeneracy(self.mode, self.width, at.final)
        clusters = SingularClusters.of(degeneracy, s)
        image, coimage = da @ right.vectors, H(da) @ left.vectors
        inner = H(left.vectors) @ image
        gaps = clusters.inverse_gaps(s) * sym(inner)
        sums = clusters.inverse_sums(s) * skew(inner)
        du, dv = left.vectors @ (gaps + sums), right.vectors @ (gaps - sums)
        spread = _spread(clusters, inner)
        if left.has_complement:
            rest = left.outside(image, inner)
            du = du + rest * clusters.inverse(s)
            spread = spread + largest_where(columns(clusters.zero), rest)
        if right.has_complement:
            rest = right.outside(coimage, H(inner))
            dv = dv + rest * clusters.inverse(s)
            spread = spread + largest_where(columns(clusters.zero), rest)
        values = diagonal(inner).real
        results = [values, left.with_others(du), H(right.with_others(dv))]
        if self.mode == "broaden":
            return results
        allowed = spread <= largest_of(da) * Degeneracy.tolerance(s.dtype)
        ones = degeneracy.factor(allowed, s, ties(degeneracy, s).any(axis=-1))
        return [values * ones[..., 0], results[1] * ones, results[2] * ones]

    def vjp(self, at: FormulaSite) -> Terms | None:
        """Ā = U(diag s̄ + P/(s_j − s_i) + Q/(s_j + s_i))Vᴴ, and what complements add.

        P and Q are the sum and the difference of skew(UᴴŪ) and skew(VᴴV̄). NaN for a matrix where
        the loss depends on the phases of vectors, or on what is undefined where singular values are
        equal or zero.
        """
        (s, u, vh), (s_ct, u_ct, vh_ct) = at.results, at.cts
        sides = _sides(s, u, vh)
        if sides is None:
            return None
        left, right = sides
        checks = _Checks(Degeneracy(self.mode, self.width, at.final), s)
        if u_ct is None and vh_ct is None:
            factor = checks.of_values(s_ct)
            if left.has_complement:  # the smaller matrix is scaled
                return [left.vectors @ (rows(s_ct) * factor * H(right.vectors))]
            return [(left.vectors * (columns(s_ct) * factor)) @ H(right.vectors)]
        left_ct, left_turn = left.parts(u_ct)
        right_ct, right_turn = right.parts(None if vh_ct is None else H(vh_ct))
        of_u, of_v = _turn(left, left_ct), _turn(right, right_ct)
        checks.measure([ct for ct in (u_ct, vh_ct) if ct is not None])
        checks.add_vectors(of_u, of_v, [left_turn, right_turn])
        checks.add_values(s_ct)
        checks.add_pairs(left_ct, right_ct)
        clusters = checks.clusters
        middle = clusters.inverse_gaps(s) * plus(of_u, of_v)
        middle = middle + clusters.inverse_sums(s) * plus(of_u, None if of_v is None else -of_v)
        if s_ct is not None:
            middle = middle + embedded(s_ct).astype(u.dtype)
        rest: AnyTensor | None = None
        for side, ct in ((left, left_ct), (right, right_ct)):
            if side.has_complement and ct is not None:
                inside = H(side.vectors) @ ct
                checks.add_rest(side, ct, inside)
                inside, rest = inside * clusters.inverse(s), ct * clusters.inverse(s)
                middle = middle - (inside if side is left else H(inside))
        middle = middle * checks.factor()
        if right.has_complement:
            rest = None if rest is None else H(rest)
            return [left.vectors @ plus(middle @ H(right.vectors), rest)]
        return [plus(left.vectors @ middle, rest) @ H(right.vectors)]


def _spread(clusters: SingularClusters, inner: AnyTensor) -> AnyTensor:
    """What in E must be zero for the tangents to exist."""
    values = diagonal(inner).real
    equal = clusters.equal
    off = largest_where(equal, sym(inner) - embedded(values).astype(inner.dtype))
    apart = largest_where(equal, columns(values) - rows(values))
    return off + apart + largest_where(clusters.zeros, inner)


@dataclass(frozen=True)
class _Side:
    """U or V: the vectors of singular values, and further ones if it is square.

    Attributes:
        vectors: of the singular values, of shape [..., m, k].
        others: a basis of their complement, of shape [..., m, m − k], if there is one.
        has_complement: whether m > k.
    """

    vectors: AnyTensor
    others: AnyTensor | None
    has_complement: bool

    @classmethod
    def of(cls, x: AnyTensor, k: Any, has_complement: bool) -> _Side:
        """The parts of U or V, the matrix x."""
        if not has_complement or order_of(x.shape[-1], k) == 0:
            return cls(x, None, has_complement)
        return cls(x[..., :k], x[..., k:], has_complement)

    def outside(self, x: AnyTensor, inside: AnyTensor) -> AnyTensor:
        """The part of x in the complement of the vectors; `inside` is vectorsᴴ x."""
        return x - self.vectors @ inside

    def with_others(self, tangent: AnyTensor) -> AnyTensor:
        """The tangents of all columns, from those of the vectors: the others move in parallel."""
        if self.others is None:
            return tangent
        parallel = -(self.vectors @ (H(tangent) @ self.others))
        return concatenated(tangent, parallel)

    def parts(self, ct: AnyTensor | None) -> tuple[AnyTensor | None, AnyTensor | None]:
        """The cotangent of the vectors alone, and the part that turns the others; the adjoint."""
        if ct is None or self.others is None:
            return ct, None
        k = self.vectors.shape[-1]
        first, second = ct[..., :k], ct[..., k:]
        turn = skew(H(self.others) @ second)
        return first - self.others @ (H(second) @ self.vectors), turn


def _sides(s: AnyTensor, u: AnyTensor, vh: AnyTensor) -> tuple[_Side, _Side] | None:
    """Both sides; None if it is not known which size of the matrix is larger."""
    k = s.shape[-1]
    order = order_of(u.shape[-2], vh.shape[-1])
    if order is None:
        return None
    return _Side.of(u, k, order > 0), _Side.of(H(vh), k, order < 0)


def _turn(side: _Side, ct: AnyTensor | None) -> AnyTensor | None:
    """What of a cotangent turns the vectors among themselves."""
    return None if ct is None else skew(H(side.vectors) @ ct)


class _Checks:
    """Collects for each matrix whether the derivative exists.

    Attributes:
        clusters: those of the singular values; in mode `"nan"`, those of values that all differ.

    Args:
        degeneracy: what a derivative does where values are equal.
        s: the singular values.
    """

    def __init__(self, degeneracy: Degeneracy, s: AnyTensor) -> None:
        self._degeneracy = degeneracy
        self._mode = degeneracy.mode
        self._s = s
        self._chi = Degeneracy.tolerance(s.dtype)
        self._size = s[..., :1].sum(axis=-1) * 0.0
        self._allowed: list[AnyTensor] = []

    @cached_property
    def clusters(self) -> SingularClusters:
        kind = SingularClusters.of if self._mode == "project" else SingularClusters.simple
        return kind(self._degeneracy, self._s)

    def _small(self, x: AnyTensor, size: AnyTensor) -> None:
        self._allowed.append(x <= size * self._chi)

    def of_values(self, s_ct: AnyTensor) -> AnyTensor | float:
        """The factor for a loss of values, whose cotangent is the same on clusters, 0 on zeros."""
        if self._mode == "broaden":
            return 1.0
        tied = ties(self._degeneracy, self._s)
        self._small(Degeneracy.variation(tied, with_zero(s_ct)), abs(s_ct).max(axis=-1))
        return self.factor()

    def measure(self, cts: Sequence[AnyTensor]) -> None:
        """Parts of cotangents of vectors count as zero if they are small compared with these."""
        if self._mode == "broaden":
            return
        for ct in cts:
            self._size = self._size + largest_of(ct)

    def add_values(self, s_ct: AnyTensor | None) -> None:
        """The cotangent of values is the same on a cluster, and none on zeros."""
        clusters, s = self.clusters, self._s
        if s_ct is None or clusters.zero is None:
            return
        slack = self._degeneracy.slack
        apart = abs(columns(s_ct) - rows(s_ct)) - slack(s, columns(s) - rows(s), self._size)
        at_zero = abs(columns(s_ct)) - slack(s, columns(s), self._size)
        spread = where(clusters.equal, apart, 0.0).max(axis=(-2, -1))
        self._small(spread, largest_of(rows(s_ct)))
        spread = where(columns(clusters.zero), at_zero, 0.0).max(axis=(-2, -1))
        self._small(spread, largest_of(rows(s_ct)))

    def add_vectors(
        self,
        of_u: AnyTensor | None,
        of_v: AnyTensor | None,
        others: Sequence[AnyTensor | None],
    ) -> None:
        """The loss depends neither on phases nor on the basis of a cluster or a complement."""
        if self._mode == "broaden":
            return
        for turn in others:
            if turn is not None:
                self._small(largest_of(turn), self._size)
        clusters, joint = self.clusters, plus(of_u, of_v)
        if clusters.zero is None:
            if is_complex(joint.dtype):  # the diagonal of a real one is zero
                self._small(abs(diagonal(joint)).max(axis=-1), self._size)
            self._allowed.append(~ties(self._degeneracy, self._s).any(axis=-1))
            return
        self._small(largest_where(clusters.equal, joint), self._size)
        for turn in (of_u, of_v):
            if turn is not None:
                self._small(largest_where(clusters.zeros, turn), self._size)

    def add_pairs(self, left_ct: AnyTensor | None, right_ct: AnyTensor | None) -> None:
        """The loss does not depend on both u and v of zeros: no cotangent shows if on u vᴴ.

        At a matrix that is special to the loss, as a diagonal one, u vᴴ has no effect in any basis,
        but has one nearby.
        """
        clusters = self.clusters
        if left_ct is None or right_ct is None or clusters.zero is None:
            return
        zero, limit = columns(clusters.zero), self._size * self._chi
        both = (largest_where(zero, left_ct) > limit) & (largest_where(zero, right_ct) > limit)
        self._allowed.append(~both)

    def add_rest(self, side: _Side, ct: AnyTensor, inside: AnyTensor) -> None:
        """The loss does not see where in the complement the vectors of zeros lie."""
        clusters = self.clusters
        if clusters.zero is not None:
            rest = side.outside(ct, inside)
            self._small(largest_where(columns(clusters.zero), rest), self._size)

    def factor(self) -> AnyTensor | float:
        """1 for a matrix where all checks hold, else NaN."""
        if not self._allowed:
            return 1.0
        multiple = ties(self._degeneracy, self._s).any(axis=-1)
        return self._degeneracy.factor(reduce(and_, self._allowed), self._s, multiple)


# Ops that read the singular values and vectors of an operand.


def by_triplets(
    op: ExtensionOp,
    a: NumpyArray,
    s: NumpyArray,
    u: NumpyArray,
    vh: NumpyArray,
    *others: NumpyArray,
) -> list[NumpyArray]:
    """The formula, with the factors of A if they are such, else with others."""
    if not _decompose(a, s, u, vh):
        s, u, vh = Svd().kernel(a)
    return evaluate_standard(op, [a, s, u, vh, *others])


def _decompose(a: NumpyArray, s: NumpyArray, u: NumpyArray, vh: NumpyArray) -> bool:
    """Whether A = U diag(s) Vᴴ, with isometries U and V, up to rounding."""
    tolerance = 100 * np.finfo(s.dtype).eps
    one = np.eye(s.shape[-1])
    left = np.abs(adjoint(u) @ u - one)
    right = np.abs(vh @ adjoint(vh) - one)
    error = np.abs((u * s[..., None, :]) @ vh - a)
    size = np.abs(s).max(axis=-1, initial=0.0)[..., None, None]
    close = np.all(left <= tolerance) and np.all(right <= tolerance)
    return bool(close and np.all(error <= tolerance * size))


class SVDResult(NamedTuple):
    """Of `svd`."""

    U: AnyTensor
    S: AnyTensor
    Vh: AnyTensor


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
    *,
    degenerate: str = "nan",
    width: float = 1e-12,
) -> SVDResult: ...


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[False],
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
    degenerate: str = "nan",
    width: float = 1e-12,
) -> AnyTensor: ...


@array_function(module="tenferro.linalg", results=SVDResult)
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
    *,
    degenerate: str = "nan",
    width: float = 1e-12,
) -> SVDResult | AnyTensor:
    """U, the singular values S, descending, and Vᴴ, with `a` = U diag(S) Vᴴ.

    Derivatives of losses that depend on the joint phases of columns of U and V are NaN. So are
    those of losses that depend on single values or vectors where singular values are equal or zero.

    Args:
        a: matrices, of shape [..., m, n]; k is the smaller of m and n.
        full_matrices: U is [..., m, m] and Vᴴ [..., n, n]; otherwise [..., m, k] and [..., k, n].
        compute_uv: otherwise return S alone, as `svdvals`.
        hermitian: read (a + aᴴ) / 2.
        subset_by_index: the first of the values and vectors to return, and the one after the last;
            all if None. It takes `full_matrices=False`.
        degenerate: the derivative where singular values are equal or zero. "nan" is NaN unless the
            loss depends only on S, equally on equal values and not on zeros. "project" takes as
            equal, or zero, what differs by less than the square root of the precision, and gives
            the derivative of a loss that does not depend on the bases of the vectors of equal
            values nor on single ones of these; else NaN. "broaden" is finite always, with 1/g
            written as g/(g² + width), and not exact.
        width: of "broaden".

    Raises:
        ShapeError: `a` has fewer than two axes.
        DTypeError: `a` is of half precision.
        ConfigError: there is no such `degenerate`, or `subset_by_index` with full matrices.

    >>> u, s, vh = tn.linalg.svd([[0.0, 2.0], [1.0, 0.0]])
    >>> s
    Tensor([2., 1.])
    """
    at_equal = degeneracy("svd", degenerate, width)
    part = slice(None)
    if subset_by_index is not None:
        if full_matrices and compute_uv:
            raise ConfigError("svd: subset_by_index takes full_matrices=False")
        part = slice(*subset_by_index)
    read = sym(square("svd", a)) if hermitian else matrix("svd", a)
    if not compute_uv:
        return svdvals(read)[..., part]
    op = Svd(full_matrices, at_equal.mode, at_equal.width)
    s, u, vh = emit_all(Extension(op), read)
    if degenerate == "project" and s.shape[-1] != 0:
        u, v = generic_bases(at_equal, s, u, H(vh))
        vh = H(v)
    if subset_by_index is not None:
        return SVDResult(u[..., part], s[..., part], vh[..., part, :])
    return SVDResult(u, s, vh)


@array_function(module="tenferro.linalg")
def svdvals(x: ArrayLike) -> AnyTensor:
    """Singular values, descending.

    The gradient is NaN for a loss that depends on single ones of equal values, or on a value that
    is 0, where it has no derivative.

    Args:
        x: matrices, of shape [..., m, n].

    Raises:
        ShapeError: x has fewer than two axes.
        DTypeError: x is of half precision.

    >>> tn.linalg.svdvals([[0.0, 2.0], [1.0, 0.0]])
    Tensor([2., 1.])
    """
    return emit_all(Extension(Svd()), matrix("svdvals", x))[0]
