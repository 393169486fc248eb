"""The lowerings of general eigenvalue problems, matrix functions and matrix equations.

All but the exponential need a Schur form or eigenvectors, which XLA has on
the CPU alone. On other devices they are refused before XLA runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
from jax import Array, lax
from jax import numpy as jnp
from jax import scipy as jsp

from tenferro.errors import BackendFailureError, UnsupportedExtensionError
from tenferro.families.linalg import (
    Eig,
    Hessenberg,
    MatrixFunction,
    Schur,
    Sylvester,
    closeness,
)
from tenferro.family import ExtensionOp, Lowering
from tenferro_xla.lowering import linalg_schur
from tenferro_xla.lowering.linalg import is_empty
from tenferro_xla.lowering.linalg_schur import nan_unless, zeros_unless_finite


def needs_cpu(op: ExtensionOp) -> None:
    """Refuse an op that XLA has on the CPU alone.

    Raises:
        BackendFailureError: the program is compiled for another device.
    """
    settings: Any = jax.config
    device = settings.jax_default_device
    platform = "cpu" if device is None else getattr(device, "platform", device)
    if platform != "cpu":
        raise BackendFailureError(
            op.family_id,
            f"{op.family_id}: XLA has it on the CPU only, not on {platform}; "
            "use the device 'cpu', or executor='numpy'",
        )


def eig(op: Eig, a: Array) -> tuple[Array, ...]:
    """Values, vectors with real pivots, and the inverse of these."""
    needs_cpu(op)
    dtype = jnp.result_type(a.dtype, jnp.complex64)
    if is_empty(a):
        empty = a.astype(dtype)
        return (jnp.zeros(a.shape[:-1], dtype), empty, empty)[: op.results]
    clean, finite = zeros_unless_finite(a)
    found = lax.linalg.eig(
        clean,
        compute_left_eigenvectors=False,
        compute_right_eigenvectors=op.results > 1,
        enable_eigvec_derivs=op.results > 1,
    )
    values = nan_unless(finite[..., 0], found[0])
    if op.results == 1:
        return (values,)
    vectors = nan_unless(finite, _with_real_pivots(found[1]))
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
    if is_empty(a):
        return a
    if op.name == "exp":
        result: Array = jsp.linalg.expm(a)
        return result
    needs_cpu(op)
    return linalg_schur.sqrtm(a) if op.name == "sqrt" else linalg_schur.logm(a)


def sylvester(op: Sylvester, a: Array, b: Array, c: Array) -> Array:
    """The solution."""
    if is_empty(c):
        return c
    needs_cpu(op)
    return linalg_schur.sylvester(a, b, c, op.discrete)


def schur(op: Schur, a: Array) -> tuple[Array, ...]:
    """T and Q."""
    if is_empty(a):
        return (a, a)[: op.output_count]
    needs_cpu(op)
    clean, finite = zeros_unless_finite(a)
    form, basis = lax.linalg.schur(clean)
    return (nan_unless(finite, form), nan_unless(finite, basis))[: op.output_count]


def hessenberg(op: Hessenberg, a: Array) -> tuple[Array, ...]:
    """H and Q."""
    if is_empty(a):
        return (a, a)[: op.output_count]
    needs_cpu(op)
    if not all(isinstance(size, int) for size in a.shape):
        reason = "is not lowered for named sizes; give the inputs constant sizes"
        raise UnsupportedExtensionError(op.family_id, reason)
    clean, finite = zeros_unless_finite(a)
    form, basis = jsp.linalg.hessenberg(clean, calc_q=True)
    return (nan_unless(finite, form), nan_unless(finite, basis))[: op.output_count]


LOWERINGS: Mapping[type[ExtensionOp], Lowering] = {
    Eig: eig,
    Hessenberg: hessenberg,
    MatrixFunction: matrix_function,
    Schur: schur,
    Sylvester: sylvester,
}
"""Lowerings by op class."""
