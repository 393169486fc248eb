"""Ops that take the singular values and vectors of an operand as hints."""

from __future__ import annotations

import numpy as np

from tenferro.exec_ir import Array
from tenferro.families.linalg.svd import Svd
from tenferro.families.reference import evaluate_standard
from tenferro.family import ExtensionOp


def of_factors(
    op: ExtensionOp, a: Array, s: Array, u: Array, vh: Array, *others: Array
) -> list[Array]:
    """The formula, with the given factors of A if they are such, else with others."""
    if not _decompose(a, s, u, vh):
        s, u, vh = Svd().eager_execute([a])
    return evaluate_standard(op, [a, s, u, vh, *others])


def _decompose(a: Array, s: Array, u: Array, vh: Array) -> bool:
    """Whether A = U diag(s) Vᴴ, with isometries U and V, up to rounding."""
    tolerance = 100 * np.finfo(s.dtype).eps
    one = np.eye(s.shape[-1])
    left = np.abs(np.conj(u.swapaxes(-1, -2)) @ u - one)
    right = np.abs(vh @ np.conj(vh.swapaxes(-1, -2)) - one)
    error = np.abs((u * s[..., None, :]) @ vh - a)
    size = np.abs(s).max(axis=-1, initial=0.0)[..., None, None]
    close = np.all(left <= tolerance) and np.all(right <= tolerance)
    return bool(close and np.all(error <= tolerance * size))
