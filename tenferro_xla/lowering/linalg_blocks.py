"""The lowerings of the factorizations that blocks are computed from."""

from __future__ import annotations

from collections.abc import Mapping

from jax import Array, lax
from jax import numpy as jnp

from tenferro.families.linalg import SvdFactors
from tenferro.family import ExtensionOp, Lowering
from tenferro_xla.lowering.linalg import is_empty, nan_unless_finite


def svd_factors(op: SvdFactors, a: Array) -> tuple[Array, ...]:
    """s, U and Vᴴ; NaN for a matrix that is not finite."""
    if is_empty(a):
        *batch, m, n = a.shape
        r = min(m, n)
        real = jnp.abs(a).dtype
        shapes = [((*batch, r), real), ((*batch, m, r), a.dtype), ((*batch, r, n), a.dtype)]
        return tuple(jnp.zeros(shape, dtype) for shape, dtype in shapes)
    u, s, vh = lax.linalg.svd(a, full_matrices=False)
    return nan_unless_finite(a, s, u, vh)


LOWERINGS: Mapping[type[ExtensionOp], Lowering] = {SvdFactors: svd_factors}
"""Lowerings by op class."""
