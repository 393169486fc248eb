"""Linear algebra: what each function promises of its result, and how long it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

import tenferro as tn
from tenferro_xla.checks.checking import (
    Checking,
    Function,
    apart,
    compared,
    epsilon,
    rated,
    seconds_of,
)
from tenferro_xla.executor import XlaExecutor

__all__ = ["linear_algebra"]

Matrix = Any
_linalg = tn.linalg

DTYPES = ("float64", "float32", "complex128", "complex64")
LARGE = 2048
"""Rows of the largest matrices, on which only what is fast is checked."""


def _hermitian(a: Any, m: Any) -> Any:
    """A positive matrix, made of any one; `m` is NumPy, tenferro or `jax.numpy`."""
    return a @ m.conj(m.swapaxes(a, -1, -2)) + m.eye(a.shape[-1], dtype=a.dtype)


def _adjoint(a: Matrix) -> Matrix:
    return np.conj(np.swapaxes(a, -1, -2))


def _largest(a: Matrix) -> float:
    """The largest norm of the matrices of a batch."""
    return float(np.max(np.linalg.norm(a, axis=(-2, -1))))


def _off(a: Matrix, b: Matrix) -> float:
    return _largest(a - b) / _largest(b)


def _not_unitary(q: Matrix) -> float:
    return _off(_adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), q.shape))


def _condition(a: Matrix) -> float:
    return float(np.max(np.linalg.cond(a)))


def _from_eigenvalues(values: Matrix, vectors: Matrix) -> Matrix:
    return vectors * values[..., None, :] @ _adjoint(vectors)


FUNCTIONS: dict[str, tuple[Function, Callable[..., float], Function | None]] = {
    "cholesky": (
        lambda a: _linalg.cholesky(_hermitian(a, tn)),
        lambda a, low: _off(low @ _adjoint(low), _hermitian(a, np)),
        lambda a: jnp.linalg.cholesky(_hermitian(a, jnp)),
    ),
    "solve": (
        lambda a: _linalg.solve(a, a[..., :1] + 1),
        lambda a, x: _largest(a @ x - a[..., :1] - 1) / (_largest(a) * _largest(x)),
        lambda a: jnp.linalg.solve(a, a[..., :1] + 1),
    ),
    "inv": (
        _linalg.inv,
        lambda a, b: _off(a @ b @ a, a) / _condition(a),
        jnp.linalg.inv,
    ),
    "slogdet": (
        lambda a: _linalg.slogdet(a)[1],
        lambda a, log: apart(log, np.linalg.slogdet(a)[1]),
        lambda a: jnp.linalg.slogdet(a)[1],
    ),
    "qr": (
        lambda a: tuple(_linalg.qr(a)),
        lambda a, q, r: max(_not_unitary(q), _off(q @ r, a)),
        lambda a: tuple(jnp.linalg.qr(a)),
    ),
    "eigvalsh": (
        lambda a: _linalg.eigvalsh(_hermitian(a, tn)),
        lambda a, e: apart(e, np.linalg.eigvalsh(_hermitian(a, np))),
        lambda a: jnp.linalg.eigvalsh(_hermitian(a, jnp)),
    ),
    "eigh": (
        lambda a: tuple(_linalg.eigh(_hermitian(a, tn))),
        lambda a, e, v: max(_not_unitary(v), _off(_from_eigenvalues(e, v), _hermitian(a, np))),
        lambda a: tuple(jnp.linalg.eigh(_hermitian(a, jnp))),
    ),
    "svdvals": (
        _linalg.svdvals,
        lambda a, s: apart(s, np.linalg.svd(a, compute_uv=False)),
        lambda a: jnp.linalg.svd(a, compute_uv=False),
    ),
    "svd": (
        lambda a: tuple(_linalg.svd(a, full_matrices=False)),
        lambda a, u, s, v: max(_not_unitary(u), _off(u * s[..., None, :] @ v, a)),
        lambda a: tuple(jnp.linalg.svd(a, full_matrices=False)),
    ),
    "pinv": (
        _linalg.pinv,
        lambda a, b: _off(a @ b @ a, a) / _condition(a),
        jnp.linalg.pinv,
    ),
    "expm": (
        lambda a: _linalg.expm(a / 4),
        lambda a, e: _off(e, scipy.linalg.expm(a / 4)),
        lambda a: jax.scipy.linalg.expm(a / 4),
    ),
    "eig": (
        lambda a: tuple(_linalg.eig(a)),
        lambda a, e, v: _off(a @ v, v * e[..., None, :]) / _condition(v),
        None,
    ),
}
"""What is called; how far its result is from what it promises; the same in JAX."""

ONLY_FAST = ("solve", "cholesky", "inv", "slogdet", "qr", "eigvalsh")
SMOOTH = ("solve", "cholesky", "slogdet", "inv", "eigvalsh", "svdvals", "expm")


def linear_algebra(check: Checking) -> None:
    """Residuals for batches of small matrices and for large ones, times, and gradients."""
    shapes = [(100, 3), (4, 24), (0, 96)] if check.small else [(10_000, 4), (256, 32), (0, 512)]
    values = [(name, dtype, *shape) for dtype in DTYPES for shape in shapes for name in FUNCTIONS]
    gradients = [(name, "float64", *shape) for shape in shapes for name in SMOOTH]
    large = [] if check.small else [(name, "float64", 0, LARGE) for name in ONLY_FAST]
    for case in check.cases(
        [*values[: len(values) // 4], *large, *values[len(values) // 4 :]], _text
    ):
        with check.attempt(_text(case)):
            _value(check, *case)
    for case in check.cases(gradients, _text):
        with check.attempt(f"gradient of {_text(case)}"):
            _gradient(check, *case)


def _text(case: tuple[str, str, int, int]) -> str:
    name, dtype, batch, n = case
    return f"{name} {dtype} {f'{batch} of ' if batch else ''}{n}x{n}"


def _matrices(dtype: str, batch: int, n: int) -> Matrix:
    """Matrices that are not Hermitian, and well conditioned."""
    rng = np.random.default_rng(n)
    shape = (batch, n, n) if batch else (n, n)
    values = rng.normal(size=shape) / n**0.5 + 2 * np.eye(n)
    if dtype.startswith("complex"):
        values = values + 1j * rng.normal(size=shape) / n**0.5
    return values.astype(dtype)


def _value(check: Checking, name: str, dtype: str, batch: int, n: int) -> None:
    """Check what a function promises, and compare its time with that of JAX."""
    function, promise, of_jax = FUNCTIONS[name]
    a = _matrices(dtype, batch, n)
    compiled, tensor = check.jit(function), check.put(a)
    results = [np.asarray(leaf) for leaf in tn.tree.leaves(compiled(tensor))]
    residual = promise(a, *results)
    slow = False
    if of_jax is None:
        times = {"ms": 1e3 * seconds_of(lambda: compiled(tensor), repeats=3)}
    else:
        reference, array = jax.jit(of_jax), check.put_jax(a)
        own, other = compared(lambda: compiled(tensor), lambda: reference(array))
        times = {"ms": own * 1e3, "jax_ms": other * 1e3, "ratio": own / other}
        slow = own > 1.5 * other + 5e-5
    outcome = rated(residual <= 200 * n**0.5 * epsilon(dtype), slow)
    check.note(_text((name, dtype, batch, n)), outcome, residual=residual, **times)


def _gradient(check: Checking, name: str, dtype: str, batch: int, n: int) -> None:
    """Compare a gradient with the one that is computed on the CPU."""
    function, _, _ = FUNCTIONS[name]
    gradient = tn.grad(lambda a: tn.sum(tn.sin(function(a))))
    a = _matrices(dtype, batch, n)
    compiled, tensor = check.jit(gradient), check.put(a)
    far = apart(compiled(tensor), tn.jit(gradient, executor=XlaExecutor("cpu"))(a))
    outcome = rated(far <= 1e4 * n * epsilon(dtype))
    ms = 1e3 * seconds_of(lambda: compiled(tensor), repeats=3)
    check.note(f"gradient of {_text((name, dtype, batch, n))}", outcome, apart=far, ms=ms)
