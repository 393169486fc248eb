"""Hermitian eigenvalue problems, and their derivative at simple and multiple values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tenferro.families.linalg.degeneracy import (
    Degeneracy,
    absolute,
    both,
    chosen,
    exists,
    factor,
    largest_of,
    largest_where,
    negated,
    single,
)
from tenferro.families.linalg.lapack import adjoint, hermitian_part, stacked
from tenferro.families.linalg.matrix_op import (
    REAL_OF,
    check_dtype,
    check_square,
    columns,
    diagonal,
    embedded,
    family,
    real_part,
    rows,
    skew,
    sym,
)
from tenferro.ir import NumpyArray, TensorMeta, is_complex
from tenferro.ops.extension import (
    DTypes,
    ExtensionOp,
    FamilyOp,
    FormulaSite,
    OutputTypes,
    Shapes,
    Terms,
    differentiable,
    evaluate_standard,
)
from tenferro.ops.functions import Expression

__all__ = ["Eigh"]


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
        inner = v.H @ sym(da) @ v
        values = real_part(diagonal(inner))
        same = degeneracy.same(w)
        turned = v @ (degeneracy.inverse_gaps(w, same) * inner)
        if self.mode == "broaden":
            return values, turned
        spread = largest_where(same, inner - embedded(diagonal(inner)))
        spread = spread + largest_where(same, columns(values) - rows(values))
        allowed = spread <= largest_of(inner) * degeneracy.tolerance(w.dtype)
        ones = degeneracy.factor(allowed, w, exists(degeneracy.tied(w), -1))
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
            return [(v * weights) @ v.H]
        turn = skew(v.H @ v_ct)
        same = single(w) if self.mode == "nan" else degeneracy.same(w)
        middle = degeneracy.inverse_gaps(w, same) * turn
        if w_ct is not None:
            middle = middle + embedded(w_ct).astype(v.dtype)
        return [v @ (middle * _defined(degeneracy, w, w_ct, turn, v_ct)) @ v.H]


def _defined(
    degeneracy: Degeneracy,
    w: Expression,
    w_ct: Any,
    turn: Expression | None,
    v_ct: Expression | None,
) -> Expression | float:
    """1 where the derivative exists, else NaN."""
    if degeneracy.mode == "broaden":
        return 1.0
    chi = degeneracy.tolerance(w.dtype)
    tied = degeneracy.tied(w)
    multiple = exists(tied, -1)
    if v_ct is None or turn is None:
        spread = degeneracy.variation(tied, w_ct)
        allowed = spread <= absolute(w_ct).max(axis=-1) * chi
        return degeneracy.factor(allowed, w, multiple)
    size = largest_of(v_ct)
    if degeneracy.mode == "nan":
        allowed = negated(multiple)
        if is_complex(turn.dtype):  # the diagonal of a real one is zero
            phases = absolute(diagonal(turn)).max(axis=-1)
            allowed = both(allowed, phases <= size * chi)
        return factor(allowed, w.dtype)
    same = degeneracy.same(w)
    allowed = largest_where(same, turn) <= size * chi
    if w_ct is not None:
        slack = degeneracy.slack(w, columns(w) - rows(w), size)
        apart = absolute(columns(w_ct) - rows(w_ct)) - slack
        spread = chosen(same, apart, 0.0).max(axis=(-2, -1))
        allowed = both(allowed, spread <= largest_of(rows(w_ct)) * chi)
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
