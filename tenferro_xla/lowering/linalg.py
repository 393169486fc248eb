"""The lowerings of linear algebra, by LAPACK's or the device's own library; one table of them.

Large batches of tiny matrices go another way, see `small_matrices`. JAX has Schur and Hessenberg
forms on the CPU alone, and general eigenvectors on the CPU and on GPUs: `refuse_absent` refuses
them elsewhere before XLA runs. Where the platform is chosen later, as by the user of `to_jax`, they
are refused when JAX lowers for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from jax import Array, lax
from jax import numpy as jnp
from jax import scipy as jsp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from tenferro.errors import BackendFailureError, UnsupportedExtensionError
from tenferro.ir import dtype_kind
from tenferro.linalg.cholesky import Cholesky
from tenferro.linalg.determinant import FIRST_LIMIT, SECOND_LIMIT, Adjugate, Determinant
from tenferro.linalg.eig import Eig, closeness
from tenferro.linalg.eigh import Eigh
from tenferro.linalg.lu import Lu, PivotsToPermutation
from tenferro.linalg.matrix_functions import MatrixFunction
from tenferro.linalg.pinv import Pinv
from tenferro.linalg.qr import Qr, QrPivots
from tenferro.linalg.schur import Hessenberg, Schur
from tenferro.linalg.solve import Inverse, LuSolve
from tenferro.linalg.svd import Svd
from tenferro.linalg.sylvester import Sylvester
from tenferro.linalg.triangular_solve import TriangularSolve, TridiagonalSolve
from tenferro.ops.extension import ExtensionOp, Lowering, for_platform
from tenferro_xla.lowering import schur as lowering_schur
from tenferro_xla.lowering import small_matrices
from tenferro_xla.lowering.extents import known, number
from tenferro_xla.lowering.schur import adjoint, nan_unless, zeros_unless_finite

# Cholesky and triangular systems.


def cholesky(op: Cholesky, a: Array) -> Array:
    """The lower factor; NaN where it does not exist."""
    if small_matrices.pays(a, 5):
        return small_matrices.cholesky(a)
    return lax.linalg.cholesky(a, symmetrize_input=True)


def triangular_solve(op: TriangularSolve, a: Array, b: Array) -> Array:
    return solve_triangle(a, b, left=op.left, lower=op.lower, trans=op.trans, unit=op.unit)


def solve_triangle(
    a: Array, b: Array, *, left: bool = True, lower: bool, trans: str = "n", unit: bool = False
) -> Array:
    """x with op(a) x = b, or x op(a) = b, for triangular a."""
    if left and small_matrices.pays(a, 4):
        if trans != "n":
            a, lower = adjoint(a) if trans == "c" else a.mT, not lower
        return small_matrices.triangular_solve(a, b, lower=lower, unit=unit)
    return lax.linalg.triangular_solve(
        a,
        b,
        left_side=left,
        lower=lower,
        transpose_a=trans != "n",
        conjugate_a=trans == "c",
        unit_diagonal=unit,
    )


# Eigenvalues of Hermitian matrices, singular values, QR factors and what is computed so.


def eigh(op: Eigh, a: Array, *, platform: str | None = None) -> tuple[Array, ...]:
    """Values and vectors; NaN for a matrix that is not finite.

    GPUs rotate tiny matrices of 32 bits in 32 bits: most take many times as long for 64.
    """
    if small_matrices.pays(a, 4) and dtype_kind(a.dtype) == "f":
        rotated = small_matrices.eigh if platform == "cuda" else small_matrices.wide_eigh
        values, vectors = rotated(a)
    else:
        vectors, values = lax.linalg.eigh(a, symmetrize_input=True, sort_eigenvalues=True)
    return nan_unless_finite(a, values, vectors)[: op.output_count]


def nan_unless_finite(a: Array, *results: Array) -> tuple[Array, ...]:
    """The results of a factorization of a, NaN for each matrix of a that is not finite."""
    finite = jnp.isfinite(jnp.sum(jnp.abs(a), axis=(-2, -1)))
    return tuple(
        jnp.where(
            finite.reshape(finite.shape + (1,) * (result.ndim - finite.ndim)), result, jnp.nan
        )
        for result in results
    )


def svd(op: Svd, a: Array) -> tuple[Array, ...]:
    """Values and vectors; NaN for a matrix that is not finite."""
    if not op.vectors:
        values = lax.linalg.svd(a, full_matrices=False, compute_uv=False)
        return nan_unless_finite(a, values)
    u, s, vh = lax.linalg.svd(a, full_matrices=op.full_matrices, compute_uv=True)
    return nan_unless_finite(a, s, u, vh)


def qr(op: Qr, a: Array) -> tuple[Array, ...]:
    m, n = a.shape[-2:]
    if any(not isinstance(size, int) for size in (m, n)) and m != n:
        raise UnsupportedExtensionError(
            op.family_id,
            f"{op.family_id}: JAX must know which of the sizes {m} and {n} is smaller; "
            "give the inputs constant sizes",
        )
    q, r = lax.linalg.qr(a, full_matrices=op.mode == "complete")
    return nan_unless_finite(a, r, q)[: op.output_count]


def qr_pivots(op: QrPivots, a: Array) -> Array:
    """The order of the columns; those of a matrix that is not finite keep theirs."""
    if not known(a.shape):
        reason = "is not lowered for named sizes; give the inputs constant sizes"
        raise UnsupportedExtensionError(op.family_id, reason)
    clean, finite = zeros_unless_finite(a)
    _, _, order = lax.linalg.qr(clean, pivoting=True, full_matrices=False)
    return jnp.where(finite[..., 0], order, jnp.arange(a.shape[-1], dtype=order.dtype))


def pinv(op: Pinv, a: Array, *rtol: Array) -> Array:
    """The pseudoinverse by singular values; NaN for a matrix that is not finite."""
    u, s, vh = lax.linalg.svd(a, full_matrices=False, compute_uv=True)
    m, n = a.shape[-2:]
    cutoff: Array | float
    if rtol:
        cutoff = rtol[0][..., None]
    elif op.rtol is not None or known([m, n]):
        cutoff = op.cutoff(m, n, s.dtype)
    else:
        cutoff = jnp.maximum(number(m), number(n)).astype(s.dtype) * op.cutoff(1, 1, s.dtype)
    nonzero = s > cutoff * s[..., :1]
    inverse = jnp.where(nonzero, 1 / jnp.where(nonzero, s, 1), 0)
    (result,) = nan_unless_finite(a, (adjoint(vh) * inverse[..., None, :]) @ adjoint(u))
    return result


# LU factorizations and what they solve.


def lu(op: Lu, a: Array) -> tuple[Array, Array, Array]:
    """The packed factors, the pivots and the permutation."""
    if small_matrices.pays(a, 4):
        return small_matrices.lu(a)
    packed, pivots, permutation = lax.linalg.lu(a)
    return packed, pivots, permutation


def pivots_to_permutation(op: PivotsToPermutation, pivots: Array) -> Array:
    n = pivots.shape[-1]
    return lax.linalg.lu_pivots_to_permutation(jnp.clip(pivots, 0, n - 1), n)


def lu_solve(op: LuSolve, a: Array, *rest: Array) -> Array:
    *factors, b = rest
    if op.kind == "gen":
        packed, permutation = factors
        return _solved(packed, permutation, b, op.trans)
    (lower,) = factors
    half = solve_triangle(lower, b, lower=True)
    return solve_triangle(lower, half, lower=True, trans="c")


def tridiagonal_solve(
    op: TridiagonalSolve, lower: Array, main: Array, upper: Array, b: Array
) -> Array:
    if main.shape[-1] == 1:
        return b / main[..., None]
    return lax.linalg.tridiagonal_solve(lower, main, upper, b)


def inverse(op: Inverse, a: Array, packed: Array, permutation: Array) -> Array:
    return _inverse(packed, permutation)


def determinant(
    op: Determinant, a: Array, packed: Array, permutation: Array
) -> Array | tuple[Array, Array]:
    if op.kind == "det" and small_matrices.pays(a, 3):
        return small_matrices.determinant(a)
    diagonal = jnp.diagonal(packed, axis1=-2, axis2=-1)
    sign = _parity(permutation).astype(a.dtype)
    if op.kind == "det":
        return sign * jnp.prod(diagonal, -1)
    sizes = jnp.abs(diagonal)
    phases = diagonal / jnp.where(sizes == 0, 1, sizes).astype(a.dtype)
    return sign * jnp.prod(phases, -1), jnp.sum(jnp.log(sizes), -1)


def adjugate(op: Adjugate, a: Array, packed: Array, permutation: Array, *direction: Array) -> Array:
    """The adjugate by the inverse; by singular values for a batch with a matrix near singular."""
    if a.shape[-1] == 1:
        return jnp.zeros_like(a) if direction else jnp.ones_like(a)
    det = determinant(Determinant(), a, packed, permutation)
    assert not isinstance(det, tuple)
    x = _inverse(packed, permutation)
    fast = _by_inverse(det[..., None, None], x, direction)
    exponent = SECOND_LIMIT if op.order else FIRST_LIMIT
    limit = float(np.finfo(a.dtype).eps) ** -exponent
    near = ~(_norm(a) * _norm(x) < limit)[..., None, None]
    # The transposes change no layout: LAPACK's is that of the transposed matrices.
    turned = [x.mT for x in (a, *direction)]
    some = near[0, 0] if a.ndim == 2 else jnp.any(near)
    exact: Array = lax.cond(some, _by_singular_values, lambda *_: fast.mT, *turned).mT
    return exact if a.ndim == 2 else jnp.where(near, exact, fast)


def _by_inverse(det: Array, x: Array, direction: Sequence[Array]) -> Array:
    if not direction:
        return det * x
    product = x @ direction[0]
    total = jnp.trace(product, axis1=-2, axis2=-1)[..., None, None]
    return det * (total * x - product @ x)


def _by_singular_values(a: Array, *direction: Array) -> Array:
    """adj(A) = det(U Vᴴ) V adj(S) Uᴴ; see the kernel of the family."""
    finite = jnp.all(jnp.isfinite(a), (-2, -1), keepdims=True)
    u, s, vh = jnp.linalg.svd(jnp.where(finite, a, 0))
    phase = jnp.linalg.det(u @ vh)[..., None, None]
    v, uh = adjoint(vh), adjoint(u)
    diagonal = jnp.eye(a.shape[-1], dtype=bool)
    if not direction:
        result = phase * ((v * _leave_one_out(s).astype(a.dtype)[..., None, :]) @ uh)
    else:
        f = uh @ direction[0] @ v
        without = jnp.where(diagonal, 1, s[..., None, :])
        pairs = jnp.where(diagonal, 0, _leave_one_out(without)).astype(a.dtype)
        on_it = jnp.sum(pairs * jnp.diagonal(f, axis1=-2, axis2=-1)[..., None, :], -1)
        result = phase * (v @ jnp.where(diagonal, on_it[..., None], -pairs * f) @ uh)
    return jnp.where(finite, result, jnp.nan)


def _leave_one_out(s: Array) -> Array:
    """The product of all elements along the last axis but one, for each of them."""
    one = jnp.ones_like(s[..., :1])
    before = jnp.cumprod(jnp.concatenate([one, s[..., :-1]], -1), -1)
    after = jnp.cumprod(jnp.concatenate([one, s[..., :0:-1]], -1), -1)[..., ::-1]
    return before * after


def _norm(x: Array) -> Array:
    return jnp.sqrt(jnp.sum(jnp.abs(x) ** 2, (-2, -1)))


def _parity(permutation: Array) -> Array:
    """The sign of permutations, by the number of inversions."""
    later = permutation[..., None, :] < permutation[..., :, None]
    odd = jnp.sum(jnp.triu(later, 1), -2, dtype=jnp.int32) & 1
    return 1 - 2 * (jnp.sum(odd, -1) & 1)  # two sums: XLA sums one axis faster than two


def _solved(packed: Array, permutation: Array, b: Array, trans: str) -> Array:
    if trans == "n":
        half = solve_triangle(packed, _rows(b, permutation), lower=True, unit=True)
        return solve_triangle(packed, half, lower=False)
    half = solve_triangle(packed, b, lower=False, trans=trans)
    half = solve_triangle(packed, half, lower=True, unit=True, trans=trans)
    return _rows(half, jnp.argsort(permutation, -1))


def _inverse(packed: Array, permutation: Array) -> Array:
    n = packed.shape[-1]
    places: Any = permutation[..., :, None] == jnp.arange(n, dtype=permutation.dtype)
    half = solve_triangle(packed, places.astype(packed.dtype), lower=True, unit=True)
    return solve_triangle(packed, half, lower=False)


def _rows(x: Array, places: Array) -> Array:
    """The rows of x at some places."""
    if x.ndim == 2:
        return x[places]
    if x.shape[-2] <= 4:
        return small_matrices.permuted(x, places)
    return jnp.take_along_axis(x, places[..., None], -2)


# General eigenvalue problems, matrix functions and matrix equations.


def platforms_of(op: ExtensionOp) -> tuple[str, ...] | None:
    """The platforms on which JAX has what an op is lowered to; None for all of them.

    On a GPU, eigenvectors of general matrices are computed by cuSOLVER from version 11.7.1 on, and
    else by LAPACK on the host; JAX chooses.

    >>> platforms_of(Eig())
    ('cpu', 'cuda', 'rocm')
    """
    match op:
        case Eig():
            return ("cpu", "cuda", "rocm")
        case MatrixFunction() if op.name == "exp":
            return None
        case MatrixFunction() | Sylvester() | Schur() | Hessenberg() | QrPivots():
            return ("cpu",)
        case _:
            return None


def refuse_absent(op: ExtensionOp, *platforms: str) -> None:
    """Refuse an op that JAX does not have on one of some platforms.

    Raises:
        BackendFailureError: the platform is not among those of the op.
    """
    known = platforms_of(op)
    absent = [platform for platform in platforms if known is not None and platform not in known]
    if known is None or not absent:
        return
    where = "the CPU" if known == ("cpu",) else " and ".join(known)
    raise BackendFailureError(
        op.family_id,
        f"{op.family_id}: XLA has it on {where} only, not on {' and '.join(absent)}; {ELSEWHERE}",
    )


ELSEWHERE = "use the device 'cpu', or executor='numpy'"
"""What a user does about an op that is absent."""

OPERAND: Any = Primitive("operand_of")  # Any: JAX has no types there
"""An operand of an op, which refuses the op where JAX lowers for a platform that does not have it.

It is the operand itself, and leaves no trace in what is lowered."""


def _same(x: Any, *, op: ExtensionOp) -> Any:
    return x


def _lower_operand(context: mlir.LoweringRuleContext, x: Any, *, op: ExtensionOp) -> list[Any]:
    refuse_absent(op, *(context.platforms or context.module_context.platforms))
    return [x]


OPERAND.def_impl(_same)
OPERAND.def_abstract_eval(_same)
mlir.register_lowering(OPERAND, _lower_operand)
batching.defvectorized(OPERAND)  # type: ignore[no-untyped-call]
ad.deflinear2(OPERAND, lambda ct, _, *, op: [ct])  # type: ignore[no-untyped-call]


def eig(op: Eig, a: Array) -> tuple[Array, ...]:
    """Values, vectors with real pivots, and the inverse of these."""
    clean, finite = zeros_unless_finite(a)
    results = lax.linalg.eig(
        clean,
        compute_left_eigenvectors=False,
        compute_right_eigenvectors=op.results > 1,
        enable_eigvec_derivs=op.results > 1,
    )
    values = nan_unless(finite[..., 0], results[0])
    if op.results == 1:
        return (values,)
    vectors = nan_unless(finite, _with_real_pivots(results[1]))
    return (values, vectors, jnp.linalg.inv(vectors))[: op.results]


def _with_real_pivots(vectors: Array) -> Array:
    size = jnp.abs(vectors)
    near = size >= size.max(axis=-2, keepdims=True) * (1 - closeness(vectors.dtype))
    first = near & (jnp.cumsum(near, axis=-2) == 1)
    pivot = jnp.sum(jnp.where(first, vectors, 0), axis=-2, keepdims=True)
    turned = vectors * (jnp.conj(pivot) / jnp.abs(pivot))
    return jnp.where(first, jnp.abs(pivot).astype(vectors.dtype), turned)


def matrix_function(op: MatrixFunction, a: Array) -> Array:
    """The exponential by scaling and squaring; the others by the complex Schur form."""
    if op.name == "exp":
        result: Array = jsp.linalg.expm(a)
        return result
    return lowering_schur.sqrtm(a) if op.name == "sqrt" else lowering_schur.logm(a)


def sylvester(op: Sylvester, a: Array, b: Array, c: Array) -> Array:
    return lowering_schur.sylvester(a, b, c, op.discrete)


def schur(op: Schur, a: Array) -> tuple[Array, ...]:
    clean, finite = zeros_unless_finite(a)
    form, basis = lax.linalg.schur(clean)
    return (nan_unless(finite, form), nan_unless(finite, basis))[: op.output_count]


def hessenberg(op: Hessenberg, a: Array) -> tuple[Array, ...]:
    if not all(isinstance(size, int) for size in a.shape):
        reason = "is not lowered for named sizes; give the inputs constant sizes"
        raise UnsupportedExtensionError(op.family_id, reason)
    clean, finite = zeros_unless_finite(a)
    form, basis = jsp.linalg.hessenberg(clean, calc_q=True)
    return (nan_unless(finite, form), nan_unless(finite, basis))[: op.output_count]


# The table.


def unless_empty(
    lowering: Lowering, op: ExtensionOp, *operands: Array, platform: str | None = None
) -> Any:
    """The lowering, unless an operand has no elements: LAPACK does not take such operands.

    Then the results are constants, by the kernel of the op; for a named size besides the 0, zeros.
    `platform` is None where it is not known yet, or there are several.
    """
    sizes = [size for operand in operands for size in operand.shape]
    if not any(isinstance(size, int) and size == 0 for size in sizes):
        if platform is not None:
            refuse_absent(op, platform)
        elif platforms_of(op) is not None:
            operands = tuple([OPERAND.bind(operand, op=op) for operand in operands])
        return for_platform(lowering, platform)(op, *operands)
    if known(sizes):
        results = op.eager_execute([np.zeros(x.shape, x.dtype) for x in operands])
        return tuple(map(jnp.asarray, results))
    types = op.infer_output_meta([x.dtype for x in operands], [x.shape for x in operands])
    return tuple([jnp.zeros(shape, dtype) for dtype, shape in types])


_OF_MATRICES: Mapping[type[ExtensionOp], Lowering] = {
    Cholesky: cholesky,
    TriangularSolve: triangular_solve,
    Eigh: eigh,
    Svd: svd,
    Qr: qr,
    QrPivots: qr_pivots,
    Pinv: pinv,
    Lu: lu,
    PivotsToPermutation: pivots_to_permutation,
    LuSolve: lu_solve,
    Inverse: inverse,
    Determinant: determinant,
    Adjugate: adjugate,
    TridiagonalSolve: tridiagonal_solve,
    Eig: eig,
    MatrixFunction: matrix_function,
    Sylvester: sylvester,
    Schur: schur,
    Hessenberg: hessenberg,
}
LOWERINGS: Mapping[type[ExtensionOp], Lowering] = {
    op: partial(unless_empty, lowering) for op, lowering in _OF_MATRICES.items()
}
"""Lowerings by op class."""
