"""Hermitian eigenvalue problems, and their derivative at simple and multiple values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tenferro.errors import ConfigError, DTypeError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, NumpyArray, TensorMeta, is_complex
from tenferro.linalg.arguments import REAL_OF, agreed, check_dtype, check_square, floating, square
from tenferro.linalg.gauge import (
    Degeneracy,
    degeneracy,
    factor,
    largest_of,
    largest_where,
    reflections,
    single,
)
from tenferro.linalg.matrix_op import (
    H,
    adjoint,
    columns,
    diagonal,
    embedded,
    family,
    hermitian,
    hermitian_part,
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
from tenferro.ops.functions import array_function, common_batch, emit_all, manipulation
from tenferro.ops.functions.elementwise import where

__all__ = ["EighResult", "EighTridiagonalResult", "eigh", "eigh_tridiagonal", "eigvalsh"]


@differentiable(
    results=2,
    preserves=("mode", "width"),
    undefined="eigh: the derivative does not exist: the loss depends on the basis or the phases of "
    "eigenvectors, or on single ones of equal eigenvalues; tn.linalg.gauge_report says on "
    "which, and eigh_block and funm_hermitian are exact at equal eigenvalues",
)
@family(name="eigh")
@dataclass(frozen=True)
class Eigh(FamilyOp):
    """Eigenvalues w, ascending, and eigenvectors V, as columns, of (A + Aᴴ) / 2.

    Attributes:
        mode, width: what derivatives do at multiple eigenvalues; see `Degeneracy`.
        vectors: whether V is computed.
    """

    mode: str = "nan"
    width: float = 1e-12
    vectors: bool = True

    input_count = 1

    @property
    def output_count(self) -> int:
        """w and V, or w."""
        return 1 + self.vectors

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        dtype = check_dtype("eigh", *input_dtypes)
        batch, n = check_square("eigh", dtype, input_shapes[0])
        types = [(REAL_OF[dtype], (*batch, n)), (dtype, (*batch, n, n))]
        return types[: self.output_count]

    def prune_outputs(self, live: tuple[bool, ...]) -> Eigh | None:
        """The op without vectors, if only w is read."""
        return Eigh(self.mode, self.width, vectors=False) if live == (True, False) else None

    def whole(self) -> Eigh:
        return self if self.vectors else replace(self, vectors=True)

    @staticmethod
    def operand_types(*results: TensorMeta) -> Sequence[TensorMeta]:
        return results[1:]

    def kernel(self, a: NumpyArray) -> list[NumpyArray]:
        """By LAPACK's syevd."""
        a = hermitian_part(a)
        values = np.empty(a.shape[:-1], np.finfo(a.dtype).dtype)
        if not self.vectors:
            return stacked(lambda x: (np.linalg.eigvalsh(x),), [a], [values])
        return stacked(lambda x: tuple(np.linalg.eigh(x)), [a], [values, np.empty_like(a)])

    def jvp(self, at: FormulaSite) -> Terms:
        """dw = diag E and dV = V (F∘E), with E = Vᴴ sym(dA) V and F = 1/(w_j − w_i).

        Where eigenvalues are equal, the tangents of single values and vectors exist only if E is a
        multiple of 1 within the cluster. They are NaN otherwise.
        """
        (w, v), (da,) = at.results, at.tangents
        degeneracy = Degeneracy(self.mode, self.width, at.final)
        inner = H(v) @ sym(da) @ v
        values = diagonal(inner).real
        same = degeneracy.same(w)
        turned = v @ (degeneracy.inverse_gaps(w, same) * inner)
        if self.mode == "broaden":
            return values, turned
        spread = largest_where(same, inner - embedded(diagonal(inner)))
        spread = spread + largest_where(same, columns(values) - rows(values))
        allowed = spread <= largest_of(inner) * degeneracy.tolerance(w.dtype)
        ones = degeneracy.factor(allowed, w, degeneracy.tied(w).any(axis=-1))
        return values * ones[..., 0], turned * ones

    def vjp(self, at: FormulaSite) -> Terms:
        """Ā = V (diag w̄ + F∘X) Vᴴ with X = skew(VᴴV̄).

        NaN for a matrix where the loss depends on the phases of vectors, or on what is undefined
        where eigenvalues are equal.
        """
        (w, v), (w_ct, v_ct) = at.results, at.cts
        degeneracy = Degeneracy(self.mode, self.width, at.final)
        if v_ct is None:
            weights = columns(w_ct) * _defined(degeneracy, w, w_ct, None, None)
            return [(v * weights) @ H(v)]
        turn = skew(H(v) @ v_ct)
        same = single(w) if self.mode == "nan" else degeneracy.same(w)
        middle = degeneracy.inverse_gaps(w, same) * turn
        if w_ct is not None:
            middle = middle + embedded(w_ct).astype(v.dtype)
        return [v @ (middle * _defined(degeneracy, w, w_ct, turn, v_ct)) @ H(v)]


def _defined(
    degeneracy: Degeneracy,
    w: AnyTensor,
    w_ct: Any,
    turn: AnyTensor | None,
    v_ct: AnyTensor | None,
) -> AnyTensor | float:
    """1 where the derivative exists, else NaN."""
    if degeneracy.mode == "broaden":
        return 1.0
    chi = degeneracy.tolerance(w.dtype)
    tied = degeneracy.tied(w)
    multiple = tied.any(axis=-1)
    if v_ct is None or turn is None:
        spread = degeneracy.variation(tied, w_ct)
        allowed = spread <= abs(w_ct).max(axis=-1) * chi
        return degeneracy.factor(allowed, w, multiple)
    size = largest_of(v_ct)
    if degeneracy.mode == "nan":
        allowed = ~multiple
        if is_complex(turn.dtype):  # the diagonal of a real one is zero
            phases = abs(diagonal(turn)).max(axis=-1)
            allowed = allowed & (phases <= size * chi)
        return factor(allowed, w.dtype)
    same = degeneracy.same(w)
    allowed = largest_where(same, turn) <= size * chi
    if w_ct is not None:
        slack = degeneracy.slack(w, columns(w) - rows(w), size)
        apart = abs(columns(w_ct) - rows(w_ct)) - slack
        spread = where(same, apart, 0.0).max(axis=(-2, -1))
        allowed = allowed & (spread <= largest_of(rows(w_ct)) * chi)
    return degeneracy.factor(allowed, w, multiple)


# Ops of a Hermitian matrix that are formulas of its eigenvalues and eigenvectors.


def by_eigenvectors(
    op: ExtensionOp, a: NumpyArray, w: NumpyArray, v: NumpyArray, *others: NumpyArray
) -> list[NumpyArray]:
    """The formula, with the factors of A if they are such, else with others."""
    if not _diagonalize(a, w, v):
        w, v = Eigh().kernel(a)
    return evaluate_standard(op, [a, w, v, *others])


def _diagonalize(a: NumpyArray, w: NumpyArray, v: NumpyArray) -> bool:
    """Whether (A + Aᴴ) / 2 = V diag(w) Vᴴ, and V is unitary, up to rounding."""
    tolerance = 100 * np.finfo(w.dtype).eps
    error = np.abs((v * w[..., None, :]) @ adjoint(v) - hermitian_part(a))
    turned = np.abs(adjoint(v) @ v - np.eye(v.shape[-1]))
    size = np.abs(w).max(axis=-1, initial=0.0)[..., None, None]
    return bool(np.all(error <= tolerance * size) and np.all(turned <= tolerance))


UpperLower: TypeAlias = str | np.str_ | None
"""Not a mere word to the dispatcher: `_triangle` refuses what is none of these."""


class EighResult(NamedTuple):
    """Of `eigh`."""

    eigenvalues: AnyTensor
    eigenvectors: AnyTensor


@array_function(module="tenferro.linalg", results=EighResult)
def eigh(
    a: ArrayLike,
    UPLO: UpperLower = None,  # noqa: N803  # NumPy's name
    symmetrize_input: bool = True,
    *,
    degenerate: str = "nan",
    width: float = 1e-12,
) -> EighResult:
    """Eigenvalues, ascending, and eigenvectors, as columns, of Hermitian matrices.

    Derivatives of losses that depend on the phase of an eigenvector are NaN. So are those of losses
    that depend on single values or vectors where eigenvalues are equal.

    Args:
        a: matrices, of shape [..., n, n].
        UPLO: read only the lower ("L") or upper ("U") triangle.
        symmetrize_input: read (a + aᴴ) / 2. Otherwise only the lower triangle is read.
        degenerate: the derivative where eigenvalues are equal. "nan" is NaN unless the loss depends
            only on eigenvalues, and equally on equal ones. "project" takes as equal what differs by
            less than the square root of the precision, and gives the derivative of a loss that does
            not depend on the basis of equal eigenvalues nor on single ones; else NaN. This check
            cannot see a loss in which these vectors have an effect at other matrices only.
            "broaden" is finite always, with 1/g written as g/(g² + width), and not exact.
        width: of "broaden".

    Raises:
        ShapeError: `a` is not square.
        DTypeError: `a` is of half precision.
        ConfigError: there is no such `degenerate` or `UPLO`.

    >>> tn.linalg.eigh([[2.0, 1.0], [1.0, 2.0]]).eigenvalues
    Tensor([1., 3.])
    """
    at_equal = degeneracy("eigh", degenerate, width)
    x = _triangle("eigh", a, UPLO, symmetrize_input)
    values, vectors = emit_all(Extension(Eigh(at_equal.mode, at_equal.width)), x)
    if degenerate == "project":
        vectors = vectors @ reflections(at_equal.same(values), vectors.dtype)
    return EighResult(values, vectors)


@array_function(module="tenferro.linalg")
def eigvalsh(
    a: ArrayLike,
    UPLO: UpperLower = None,  # noqa: N803
    *,
    symmetrize_input: bool = True,
) -> AnyTensor:
    """Eigenvalues, ascending, of Hermitian matrices; see `eigh`.

    >>> tn.linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]])
    Tensor([1., 3.])
    """
    x = _triangle("eigvalsh", a, UPLO, symmetrize_input)
    return emit_all(Extension(Eigh()), x)[0]


def _triangle(name: str, x: ArrayLike, triangle: object, symmetrize_input: bool) -> AnyTensor:
    """The Hermitian matrix whose eigenvalues are asked for, or one that stands for it."""
    if triangle is not None and (not isinstance(triangle, str) or triangle not in ("L", "U")):
        raise ConfigError(f"{name}: UPLO must be 'L' or 'U', got {triangle!r}")
    a = square(name, x)
    if triangle is None and symmetrize_input:
        return a
    return hermitian(H(a) if triangle == "U" else a)


class EighTridiagonalResult(NamedTuple):
    """Of `eigh_tridiagonal`."""

    eigenvalues: AnyTensor
    eigenvectors: AnyTensor


@array_function(operands=2, module="tenferro.linalg", results=EighTridiagonalResult)
def eigh_tridiagonal(
    d: ArrayLike, e: ArrayLike, *, eigvals_only: bool = False
) -> EighTridiagonalResult | AnyTensor:
    """Eigenvalues, ascending, and eigenvectors of real symmetric tridiagonal matrices; as `eigh`.

    Args:
        d: the diagonals, of shape [..., n].
        e: the diagonals next to them, of shape [..., n - 1].
        eigvals_only: return the eigenvalues alone.

    Raises:
        ShapeError: e is not shorter than d by one.
        DTypeError: an operand is complex or of half precision.

    >>> tn.linalg.eigh_tridiagonal([2.0, 2.0], [1.0], eigvals_only=True)
    Tensor([1., 3.])
    """
    name = "eigh_tridiagonal"
    main, off = floating(name, d, e)
    metas = (main.meta, off.meta)
    if is_complex(main.dtype):
        raise DTypeError(f"{name}: takes real d and e, got {metas[0]} and {metas[1]}")
    if 0 in (main.ndim, off.ndim):
        raise ShapeError(f"{name}: d and e must have an axis, got {metas[0]} and {metas[1]}")
    text = f"{name}: e must be shorter by one than d, got d {metas[0]}, e {metas[1]}"
    agreed(off.shape[-1] + 1, main.shape[-1], text)
    common_batch(name, [rows(x).meta for x in (main, off)], metas)
    widths = [*[(0, 0)] * (off.ndim - 1), (1, 0), (0, 1)]
    below = manipulation.pad(embedded(off), pad_width=widths)
    values, vectors = emit_all(Extension(Eigh()), embedded(main) + below + below.mT)
    return values if eigvals_only else EighTridiagonalResult(values, vectors)
