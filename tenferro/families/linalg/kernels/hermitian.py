"""Ops of a Hermitian matrix that are formulas of its eigenvalues and eigenvectors."""

from __future__ import annotations

import numpy as np

from tenferro.exec_ir import Array
from tenferro.families.linalg.eigh import Eigh
from tenferro.families.reference import evaluate_standard
from tenferro.family import ExtensionOp


def of_eigenvectors(op: ExtensionOp, a: Array, w: Array, v: Array, *others: Array) -> list[Array]:
    """The formula, with the given factors of A if they are such, else with others."""
    if not _diagonalize(a, w, v):
        w, v = Eigh().eager_execute([a])
    return evaluate_standard(op, [a, w, v, *others])


def _diagonalize(a: Array, w: Array, v: Array) -> bool:
    """Whether (A + Aᴴ) / 2 = V diag(w) Vᴴ, and V is unitary, up to rounding."""
    tolerance = 100 * np.finfo(w.dtype).eps
    adjoint = np.conj(v.swapaxes(-1, -2))
    error = np.abs((v * w[..., None, :]) @ adjoint - (a + np.conj(a.swapaxes(-1, -2))) / 2)
    turned = np.abs(adjoint @ v - np.eye(v.shape[-1]))
    size = np.abs(w).max(axis=-1, initial=0.0)[..., None, None]
    return bool(np.all(error <= tolerance * size) and np.all(turned <= tolerance))
