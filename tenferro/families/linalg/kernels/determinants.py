"""Determinants by LU factors, and adjugates by the inverse or by singular values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tenferro.exec_ir import Array
from tenferro.families.linalg.determinant import (
    FIRST_LIMIT,
    SECOND_LIMIT,
    Adjugate,
    Determinant,
)
from tenferro.families.linalg.kernels.lu import inverse_of, packed_of, parity


def determinant(op: Determinant, a: Array, *factors: Array) -> list[Array]:
    """The determinant, by factors of A that are computed here."""
    return determinant_by_factors(op, a, *packed_of(a))


def determinant_by_factors(
    op: Determinant, a: Array, packed: Array, permutation: Array
) -> list[Array]:
    """The determinant by the given factors."""
    diagonal = np.diagonal(packed, axis1=-2, axis2=-1)
    sign = parity(permutation).astype(a.dtype)
    with np.errstate(all="ignore"):
        if op.kind == "det":
            return [np.asarray(sign * diagonal.prod(-1))]
        sizes = np.abs(diagonal)
        phases = diagonal / np.where(sizes == 0, 1, sizes)
        return [np.asarray(sign * phases.prod(-1)), np.asarray(np.log(sizes).sum(-1))]


def adjugate(op: Adjugate, a: Array, *rest: Array) -> list[Array]:
    """The adjugate, or its derivative, by the singular values of A: no division, for every A.

    A = U S Vᴴ has adj(A) = det(U Vᴴ) V adj(S) Uᴴ. Along F = Uᴴ E V, adj(S) changes by −P∘F off the
    diagonal, and by P diag(F) on it, where P_ij is the product of all s but s_i and s_j.
    """
    finite = np.isfinite(a).all((-2, -1), keepdims=True)
    u, s, vh = np.linalg.svd(np.where(finite, a, 0))
    phase = np.linalg.det(u @ vh)[..., None, None]
    v, uh = _adjoint(vh), _adjoint(u)
    if op.order == 0:
        inner = np.zeros_like(a)
        np.einsum("...ii->...i", inner)[...] = _leave_one_out(s)
    else:
        inner = _changed(s, uh @ rest[-1] @ v)
    result = np.where(finite, phase * (v @ inner @ uh), np.nan)
    return [result.astype(a.dtype)]


def adjugate_by_factors(op: Adjugate, a: Array, *rest: Array) -> list[Array]:
    """The same by the factors where the matrix is far enough from singular ones.

    det(A) A⁻¹ by LU is adj(A) of a matrix that is within rounding of A: no digits are lost until
    the inverse overflows. In its derivative det (tr(A⁻¹E) A⁻¹ − A⁻¹EA⁻¹), terms that are larger by
    the condition number cancel.
    """
    packed, permutation, *direction = rest
    if a.shape[-1] == 1:
        return [np.zeros_like(a) if direction else np.ones_like(a)]
    (det,) = determinant_by_factors(Determinant(), a, packed, permutation)
    with np.errstate(all="ignore"):
        x = inverse_of(packed, permutation)
        result = _by_inverse(det[..., None, None], x, direction)
        condition = np.linalg.norm(a, axis=(-2, -1)) * np.linalg.norm(x, axis=(-2, -1))
    exponent = SECOND_LIMIT if op.order else FIRST_LIMIT
    near = ~(condition < float(np.finfo(a.dtype).eps) ** -exponent)
    if near.any():
        (exact,) = adjugate(op, a[near], *[array[near] for array in rest])
        result[near] = exact
    return [result]


def _by_inverse(det: Array, x: Array, direction: Sequence[Array]) -> Array:
    if not direction:
        return np.asarray(det * x)
    product = x @ direction[0]
    total = np.trace(product, axis1=-2, axis2=-1)[..., None, None]
    return np.asarray(det * (total * x - product @ x))


def _adjoint(x: Array) -> Array:
    return np.asarray(x.swapaxes(-1, -2).conj())


def _leave_one_out(s: Array) -> Array:
    """The product of all elements along the last axis but one, for each of them."""
    one = np.ones_like(s[..., :1])
    before = np.cumprod(np.concatenate([one, s[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([one, s[..., :0:-1]], -1), -1)[..., ::-1]
    return np.asarray((before * after)[..., : s.shape[-1]])


def _changed(s: Array, f: Array) -> Array:
    """The change of the adjugate of diag(s) along F."""
    n = s.shape[-1]
    diagonal = np.eye(n, dtype=bool)
    without = np.where(diagonal, 1, s[..., None, :])
    pairs = np.where(diagonal, 0, _leave_one_out(without))
    on_it = (pairs * np.diagonal(f, axis1=-2, axis2=-1)[..., None, :]).sum(-1)
    return np.where(diagonal, on_it[..., None], -pairs * f)
