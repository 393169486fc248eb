"""The family of Hermitian eigenvalue problems, and its derivative at simple and multiple values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tenferro.families.composite import FactorRule, KernelOp, LinearFormula
from tenferro.families.linalg.degeneracy import (
    SpectralFormula,
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
from tenferro.families.linalg.matrix_op import (
    REAL_OF,
    check_dtype,
    check_square,
    columns,
    diagonal,
    embedded,
    real_part,
    rows,
    skew,
    sym,
)
from tenferro.ir import Dim, DType, TensorMeta, is_complex
from tenferro.ops.extension import OutputMeta, family_id
from tenferro.ops.functions import Expression

__all__ = ["Eigh", "EighJvp", "EighVjp"]


@family_id(namespace="tenferro-linalg", name="eigh", version=1)
@dataclass(frozen=True)
class Eigh(KernelOp):
    """Eigenvalues w, ascending, and eigenvectors V, as columns, of (A + Aᴴ) / 2.

    Attributes:
        mode, width: what derivatives do at multiple eigenvalues; see `Degeneracy`.
        vectors: whether V is computed.
    """

    mode: str = "nan"
    width: float = 1e-12
    vectors: bool = True

    input_count = 1
    kernel = "tenferro.families.linalg.lapack:eigh"

    @property
    def output_count(self) -> int:
        """w and V, or w."""
        return 1 + self.vectors

    def infer_output_meta(
        self, input_dtypes: Sequence[DType], input_shapes: Sequence[tuple[Dim, ...]]
    ) -> Sequence[OutputMeta]:
        """The types of w, which is real, and V."""
        dtype = check_dtype("eigh", *input_dtypes)
        batch, n = check_square("eigh", dtype, input_shapes[0])
        types = [(REAL_OF[dtype], (*batch, n)), (dtype, (*batch, n, n))]
        return types[: self.output_count]

    def prune_outputs(self, live: tuple[bool, ...]) -> Eigh | None:
        """The op without vectors, if only w is read."""
        return Eigh(self.mode, self.width, vectors=False) if live == (True, False) else None


class _EighDerivative(SpectralFormula):
    """Of the fixed inputs w and V."""

    fixed = 2
    undefined = (
        "eigh: the derivative does not exist: the loss depends on the basis or the phases of "
        "eigenvectors, or on single ones of equal eigenvalues; tn.linalg.gauge_report says on "
        "which, and eigh_block and funm_hermitian are exact at equal eigenvalues"
    )


@family_id(namespace="tenferro-linalg", name="eigh_jvp", version=1)
@dataclass(frozen=True)
class EighJvp(_EighDerivative):
    """From w, V, dA to dw = diag E and dV = V (F∘E), with E = Vᴴ sym(dA) V and F = 1/(w_j − w_i).

    Where eigenvalues are equal, the tangents of single values and vectors exist only if E is a
    multiple of 1 within the cluster. They are NaN otherwise.
    """

    formula_outputs = 2

    def types(self, metas: Sequence[TensorMeta | None]) -> Sequence[TensorMeta]:
        """Those of w and V."""
        w, v, _ = metas
        assert w is not None
        assert v is not None
        return [w, v]

    def formula(self, *inputs: Any) -> Sequence[Expression]:
        """The tangents."""
        w, v, da = inputs
        degeneracy = self.degeneracy
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

    def adjoint(self, present: tuple[bool, ...]) -> LinearFormula:
        """The formula of cotangents."""
        return EighVjp(self.mode, self.width, present)


@family_id(namespace="tenferro-linalg", name="eigh_vjp", version=1)
@dataclass(frozen=True)
class EighVjp(_EighDerivative):
    """From w, V, w̄ and V̄ to Ā = V (diag w̄ + F∘X) Vᴴ with X = skew(VᴴV̄).

    NaN for a matrix where the loss depends on the phases of vectors, or on what is undefined where
    eigenvalues are equal.
    """

    present: tuple[bool, ...] = (True, True)

    formula_outputs = 1

    def types(self, metas: Sequence[TensorMeta | None]) -> Sequence[TensorMeta]:
        """That of V."""
        assert metas[1] is not None
        return [metas[1]]

    def formula(self, *inputs: Any) -> Sequence[Expression]:
        """The cotangent."""
        w, v, w_ct, v_ct = inputs
        degeneracy = self.degeneracy
        if v_ct is None:
            weights = columns(w_ct) * self._factor(w, w_ct, None, None)
            return ((v * weights) @ v.H,)
        turn = skew(v.H @ v_ct)
        same = single(w) if self.mode == "nan" else degeneracy.same(w)
        middle = degeneracy.inverse_gaps(w, same) * turn
        if w_ct is not None:
            middle = middle + embedded(w_ct).astype(v.dtype)
        return (v @ (middle * self._factor(w, w_ct, turn, v_ct)) @ v.H,)

    def _factor(
        self,
        w: Expression,
        w_ct: Any,
        turn: Expression | None,
        v_ct: Expression | None,
    ) -> Expression | float:
        """1 where the derivative exists, else NaN."""
        degeneracy = self.degeneracy
        if self.mode == "broaden":
            return 1.0
        chi = degeneracy.tolerance(w.dtype)
        tied = degeneracy.tied(w)
        multiple = exists(tied, -1)
        if v_ct is None or turn is None:
            spread = degeneracy.variation(tied, w_ct)
            allowed = spread <= absolute(w_ct).max(axis=-1) * chi
            return degeneracy.factor(allowed, w, multiple)
        size = largest_of(v_ct)
        if self.mode == "nan":
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

    def adjoint(self, present: tuple[bool, ...]) -> LinearFormula:
        """The formula of tangents."""
        return EighJvp(self.mode, self.width, present)


EIGH_RULE = FactorRule(
    Eigh,
    lambda op: EighJvp(op.mode, op.width),
    whole=lambda op: op if op.vectors else replace(op, vectors=True),
)
