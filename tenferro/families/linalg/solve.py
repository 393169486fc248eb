"""Systems of equations solved by factors, and inverses."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tenferro.families.linalg.cholesky import Cholesky
from tenferro.families.linalg.lu import inverse_of, lu, packed_of, solved
from tenferro.families.linalg.matrix_op import (
    FactoredOp,
    SystemOp,
    check_dtype,
    check_factored,
    check_matrix,
    check_same,
    check_sizes,
    family,
    sym,
)
from tenferro.families.linalg.triangular_solve import substituted, transposed
from tenferro.ir import NumpyArray
from tenferro.ops.extension import DTypes, Extension, FormulaSite, OutputTypes, Shapes, Terms
from tenferro.ops.functions import Expression

__all__ = ["Inverse", "LuSolve", "inverse", "lu_solve"]


@family(name="lu_solve")
@dataclass(frozen=True)
class LuSolve(FactoredOp, SystemOp):
    """X with op(A) X = B; infinities or NaN where A is singular.

    The inputs are A, its packed LU factors, its permutation, and B; for the kind `"pos"`, A, its
    Cholesky factor and B, and A stands for its Hermitian part.

    Attributes:
        trans: op(A) is A for `"n"`, Aᵀ for `"t"`, Aᴴ for `"c"`.
        kind: `"gen"`, or `"pos"` for positive definite A, with `trans="n"`.
    """

    trans: str = "n"
    kind: str = "gen"

    output_count = 1

    @property
    def input_count(self) -> int:
        """A, its factors, and B."""
        return 4 if self.kind == "gen" else 3

    @property
    def linear_from(self) -> int:  # type: ignore[override]  # it depends on the kind
        """B."""
        return self.input_count - 1

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        dtype, batch, n = check_factored("solve", input_dtypes[:-1], input_shapes[:-1])
        check_dtype("solve", dtype, input_dtypes[-1])
        batch_b, rows, _ = check_matrix("solve", dtype, input_shapes[-1])
        check_same("solve", "the batch axes", len(batch), len(batch_b))
        check_sizes("solve", "the sizes of A and B", (*batch, n), (*batch_b, rows))
        return [(dtype, tuple(input_shapes[-1]))]

    def kernel(self, a: NumpyArray, *rest: NumpyArray) -> list[NumpyArray]:
        factors = packed_of(a) if self.kind == "gen" else Cholesky().kernel(a)
        return self.by_factors(a, *factors, rest[-1])

    def by_factors(self, a: NumpyArray, *rest: NumpyArray) -> list[NumpyArray]:
        *factors, b = rest
        if self.kind == "gen":
            packed, permutation = factors
            return [solved(packed, permutation, b, self.trans)]
        (lower,) = factors
        half = substituted(lower, b, lower=True)
        return [substituted(lower, half, lower=True, trans="c")]

    def jvp(self, at: FormulaSite) -> Terms:
        """op(A)⁻¹(dB − op(dA) X), by the same factors."""
        (a, *factors, _), (x,) = at.operands, at.results
        da, right = at.tangents[0], at.tangents[-1]
        if da is None and right is None:
            return [None]
        if da is not None:
            product = (sym(da) if self.kind == "pos" else transposed(da, self.trans)) @ x
            right = -product if right is None else right - product
        return a.emit_all(Extension(self), *factors, right)

    def vjp(self, at: FormulaSite) -> Terms:
        """B̄ = op(A)⁻ᴴ X̄."""
        (a, *factors, _), (ct,) = at.operands, at.cts
        if self.kind == "pos":
            return a.emit_all(Extension(self), *factors, ct)
        if a.dtype.kind != "c":
            adjoint = replace(self, trans="t" if self.trans == "n" else "n")
            return a.emit_all(Extension(adjoint), *factors, ct)
        adjoint = replace(self, trans="c" if self.trans == "n" else "n")
        if self.trans != "t":
            return a.emit_all(Extension(adjoint), *factors, ct)
        (result,) = a.emit_all(Extension(adjoint), *factors, ct.conj())
        return [result.conj()]  # the adjoint of Aᵀ is the conjugate of A


def lu_solve(a: Expression, b: Expression, *, trans: str = "n") -> Expression:
    """The solution of op(A) X = B, by the LU factors of A."""
    packed, _, permutation = lu(a)
    trans = "t" if trans == "c" and a.dtype.kind != "c" else trans
    (x,) = a.emit_all(Extension(LuSolve(trans)), packed, permutation, b)
    return x


@family(name="inverse")
@dataclass(frozen=True)
class Inverse(FactoredOp):
    """A⁻¹, of A, its packed LU factors and its permutation; infinities or NaN if A is singular."""

    input_count = 3
    output_count = 1

    def infer_output_meta(self, input_dtypes: DTypes, input_shapes: Shapes) -> OutputTypes:
        dtype, _, _ = check_factored("inv", input_dtypes, input_shapes)
        return [(dtype, tuple(input_shapes[0]))]

    def kernel(self, a: NumpyArray, *factors: NumpyArray) -> list[NumpyArray]:
        return [inverse_of(*packed_of(a))]

    def by_factors(
        self, a: NumpyArray, packed: NumpyArray, permutation: NumpyArray
    ) -> list[NumpyArray]:
        return [inverse_of(packed, permutation)]

    def jvp(self, at: FormulaSite) -> Terms:
        """−A⁻¹ dA A⁻¹: two products, which no further solution can be cheaper than."""
        (x,), da = at.results, at.tangents[0]
        return [None if da is None else -(x @ da @ x)]


def inverse(a: Expression) -> Expression:
    """A⁻¹, by the LU factors of A."""
    packed, _, permutation = lu(a)
    (x,) = a.emit_all(Extension(Inverse()), packed, permutation)
    return x
