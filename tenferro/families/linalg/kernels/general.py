"""Eigenvalues, functions and unitary forms of general square matrices."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg

from tenferro.exec_ir import Array
from tenferro.families.linalg.eig import Eig, closeness
from tenferro.families.linalg.functions import MatrixFunction
from tenferro.families.linalg.kernels.batches import over_batch, stacked
from tenferro.families.linalg.schur import Hessenberg, Schur


def eig(op: Eig, a: Array) -> list[Array]:
    """Values, vectors and the inverse of these, by LAPACK's geev and gesv."""
    dtype = np.result_type(a.dtype, np.complex64)
    shapes = [a.shape[:-1], a.shape, a.shape][: op.results]
    outputs = [np.empty(shape, dtype) for shape in shapes]
    if op.results == 1:
        return stacked(lambda x: (np.linalg.eigvals(x),), [a], outputs)
    results = stacked(lambda x: tuple(np.linalg.eig(x)), [a], outputs[:2])
    with np.errstate(invalid="ignore"):
        results[1] = with_real_pivots(results[1])
    if op.results == 3:
        results += stacked(lambda x: (np.linalg.inv(x),), [results[1]], outputs[2:])
    return results


def with_real_pivots(vectors: Array) -> Array:
    """The columns turned so that the largest entry, the first of several, is real and positive."""
    if not vectors.size:
        return vectors
    size = np.abs(vectors)
    near = size >= size.max(axis=-2, keepdims=True) * (1 - closeness(vectors.dtype))
    place = np.argmax(near, axis=-2)[..., None, :]
    pivot = np.take_along_axis(vectors, place, -2)
    turned: Array = vectors * (np.conj(pivot) / np.abs(pivot))
    np.put_along_axis(turned, place, np.abs(pivot).astype(vectors.dtype), -2)
    return turned


def matrix_function(op: MatrixFunction, a: Array) -> list[Array]:
    """The function by SciPy; NaN for each matrix without a result in the dtype."""
    if not a.size:
        return [a]
    function = _FUNCTIONS[op.name]
    with warnings.catch_warnings(record=True), np.errstate(all="ignore"):
        warnings.simplefilter("always")
        return over_batch(lambda x: (function(x),), [a], [2], [np.empty_like(a)])


def _log(a: Array) -> Array:
    wide = a.astype(np.result_type(a.dtype, np.float64))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = scipy.linalg.logm(wide)
    if any("exactly singular" in str(each.message) for each in caught):
        raise np.linalg.LinAlgError("singular")
    return _in_dtype(result, a.dtype)


def _sqrt(a: Array) -> Array:
    wide = a.astype(np.result_type(a.dtype, np.float64))
    result = scipy.linalg.sqrtm(wide)
    error = np.abs(result @ result - wide).max(initial=0)
    bound = 1e3 * len(a) * np.finfo(wide.dtype).eps * np.sum(np.abs(result) ** 2)
    if not error <= bound:  # a singular matrix may have no square root
        raise np.linalg.LinAlgError("no square root")
    return _in_dtype(result, a.dtype)


def _in_dtype(result: Array, dtype: Any) -> Array:
    """The result in a dtype, without an imaginary part for a real one.

    Raises:
        LinAlgError: it has one.
    """
    if dtype.kind == "f" and result.dtype.kind == "c":
        size = np.abs(result).max(initial=0)
        if not np.abs(result.imag).max(initial=0) <= 1e-8 * size:
            raise np.linalg.LinAlgError("not real")
        result = result.real
    return np.asarray(result, dtype)


_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "exp": scipy.linalg.expm,
    "log": _log,
    "sqrt": _sqrt,
}


def unitary_form(op: Schur | Hessenberg, a: Array) -> list[Array]:
    """The form, and Q, by LAPACK's gees or gehrd."""
    kernel = _schur if isinstance(op, Schur) else _hessenberg
    outputs = [np.empty_like(a), np.empty_like(a)]
    return over_batch(kernel, [a], [2], outputs)[: op.output_count]


def _schur(a: Array) -> Sequence[Array]:
    return scipy.linalg.schur(a) if a.size else (a, a)


def _hessenberg(a: Array) -> Sequence[Array]:
    return scipy.linalg.hessenberg(a, calc_q=True) if a.size else (a, a)
