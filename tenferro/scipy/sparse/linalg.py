"""Linear systems of equations, solved by products with the matrix alone.

The iterations are not differentiated: derivatives are solutions of the same system.

>>> x, _ = tn.scipy.sparse.linalg.cg(lambda x: 2.0 * x, np.array([2.0, 4.0]))
>>> x
Tensor([1., 2.])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tenferro import numpy as tn
from tenferro.errors import ConfigError, DTypeError, ShapeError
from tenferro.ir import Number, PyTree, dtype_kind, in_single
from tenferro.linalg import lstsq, norm
from tenferro.missing_names import attributes
from tenferro.numpy.arguments import count, number_or_array, option
from tenferro.transforms import custom_linear_solve, flatten, fori_loop, unflatten, while_loop

__all__ = ["bicgstab", "cg", "gmres"]

Map = Callable[[Any], Any]


def cg(
    A: Any,  # noqa: N803  # SciPy's names
    b: PyTree,
    x0: PyTree | None = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,  # noqa: N803
) -> tuple[PyTree, None]:
    """The solution of A x = b for Hermitian positive definite A, by conjugate gradients.

    Args:
        A: a matrix, or a function of x, linear, that returns a tree like b.
        b: a tree of arrays.
        x0: where to start, a tree like b; by default 0.
        tol: the iterations stop when |A x − b| is at most max(tol·|b|, atol).
        atol: see `tol`.
        maxiter: the largest number of iterations; by default ten times that of the unknowns.
        M: a matrix or a function near the inverse of A, positive definite.

    Returns:
        x, and None, as in JAX.

    Raises:
        ShapeError: A does not return what b is.

    >>> a = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> tn.grad(lambda b: tn.sum(tn.scipy.sparse.linalg.cg(a, b)[0]))(np.array([3.0, 4.0]))
    Tensor([0.4, 0.2])
    """
    return _solved("cg", _conjugate_gradients, A, b, x0, tol, atol, maxiter, M, symmetric=True)


def bicgstab(
    A: Any,  # noqa: N803  # SciPy's names
    b: PyTree,
    x0: PyTree | None = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,  # noqa: N803
) -> tuple[PyTree, None]:
    """The solution of A x = b for any A, by stabilized biconjugate gradients; see `cg`.

    >>> a = np.array([[2.0, 1.0], [0.0, 3.0]])
    >>> tn.scipy.sparse.linalg.bicgstab(a, np.array([3.0, 3.0]))[0]
    Tensor([1., 1.])
    """
    return _solved("bicgstab", _stabilized, A, b, x0, tol, atol, maxiter, M, symmetric=False)


def gmres(
    A: Any,  # noqa: N803  # SciPy's names
    b: PyTree,
    x0: PyTree | None = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,  # noqa: N803
    solve_method: str = "batched",
) -> tuple[PyTree, None]:
    """The solution of A x = b for any A, by the method of generalized minimal residuals.

    Args:
        A: as in `cg`, like `b`, `x0`, `tol`, `atol` and `M`.
        restart: how many vectors are stored; then the iterations start anew.
        maxiter: the largest number of restarts.
        solve_method: "batched" or "incremental", as in JAX; it changes nothing.

    >>> a = np.array([[0.0, 1.0], [1.0, 1.0]])
    >>> tn.scipy.sparse.linalg.gmres(a, np.array([1.0, 2.0]))[0]
    Tensor([1., 1.])
    """
    option("gmres", "solve_method", solve_method, ("batched", "incremental"))
    steps = count("gmres", "restart", restart, 1)

    def minimal_residuals(*arguments: Any) -> Any:
        return _minimal_residuals(steps, *arguments)

    return _solved("gmres", minimal_residuals, A, b, x0, tol, atol, maxiter, M, symmetric=False)


def _solved(
    name: str,
    method: Callable[..., Any],
    matrix: Any,
    b: PyTree,
    x0: PyTree | None,
    tol: Number,
    atol: Number,
    maxiter: int | None,
    preconditioner: Any,
    symmetric: bool,
) -> tuple[PyTree, None]:
    """The solution as a tree, from a method for vectors."""
    leaves, tree = flatten(b)
    parts = [tn.asarray(leaf) for leaf in leaves]
    if not parts:
        raise ShapeError(f"{name}: b has no arrays")
    dtype = tn.result_type(*parts)
    if dtype_kind(dtype) not in "fc":
        dtype = (
            tn.result_type(dtype, 0.0) if dtype_kind(dtype) == "b" else tn.result_type(dtype, 1.0)
        )
    if in_single(dtype) != dtype:
        raise DTypeError(f"{name}: takes single and double precision, got {parts[0].meta}")
    shapes = [part.shape for part in parts]
    sizes = [part.size for part in parts]

    def as_vector(value: PyTree, what: str) -> Any:
        found, structure = flatten(value)
        arrays = [tn.asarray(each) for each in found]
        if structure != tree or [each.shape for each in arrays] != shapes:
            types = ", ".join(str(each.meta) for each in arrays)
            wanted = ", ".join(str(part.meta) for part in parts)
            raise ShapeError(f"{name}: {what} must be a tree like b, {wanted}, got {types}")
        return tn.concat([each.ravel().astype(dtype) for each in arrays])

    def as_tree(vector: Any) -> PyTree:
        places, start = [], 0
        for shape, size in zip(shapes, sizes, strict=True):
            places.append(vector[start : start + size].reshape(shape))
            start = start + size
        return unflatten(tree, places)

    def on_vectors(linear: Any, what: str) -> Map:
        apply = linear if callable(linear) else _product(name, what, linear)
        return lambda vector: as_vector(apply(as_tree(vector)), f"the result of {what}")

    right = as_vector(b, "b")
    start = tn.zeros(right.shape, dtype=dtype) if x0 is None else as_vector(x0, "x0")
    tol, atol = number_or_array(f"{name}: tol", tol), number_or_array(f"{name}: atol", atol)
    close = (lambda vector: vector) if preconditioner is None else on_vectors(preconditioner, "M")
    most = 10 * right.size if maxiter is None else count(name, "maxiter", maxiter)

    def solve(matvec: Map, b: Any) -> Any:
        return method(matvec, b, start, tol, atol, most, close)

    result = custom_linear_solve(on_vectors(matrix, "A"), right, solve, solve, symmetric=symmetric)
    return as_tree(result), None


def _product(name: str, what: str, linear: Any) -> Map:
    if not hasattr(linear, "shape") and hasattr(type(linear), "__matmul__"):
        return lambda x: linear @ x
    matrix = tn.asarray(linear)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ConfigError(
            f"{name}: {what} must be a square matrix or a function, got {matrix.meta}"
        )
    return lambda x: matrix @ x


def _dot(x: Any, y: Any) -> Any:
    return tn.vecdot(x, y)


def _limit(b: Any, tol: Number, atol: Number) -> Any:
    """The largest square of the residual with which iterations stop."""
    return tn.maximum(tol * tol * _dot(b, b).real, atol * atol)


def _conjugate_gradients(
    matvec: Map, b: Any, x: Any, tol: Number, atol: Number, most: Any, close: Map
) -> Any:
    limit = _limit(b, tol, atol)

    def goes_on(state: tuple[Any, ...]) -> Any:
        _, r, _, _, k = state
        return (_dot(r, r).real > limit) & (k < most)

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        x, r, p, gamma, k = state
        image = matvec(p)
        alpha = gamma / _dot(p, image).real.astype(r.dtype)
        x, r = x + alpha * p, r - alpha * image
        z = close(r)
        after = _dot(r, z)
        return x, r, z + after / gamma * p, after, k + 1

    r = b - matvec(x)
    z = close(r)
    result: tuple[Any, ...] = while_loop(goes_on, step, (x, r, z, _dot(r, z), 0))
    return result[0]


def _stabilized(
    matvec: Map, b: Any, x: Any, tol: Number, atol: Number, most: Any, close: Map
) -> Any:
    limit = _limit(b, tol, atol)

    def goes_on(state: tuple[Any, ...]) -> Any:
        r, broken, k = state[1], state[-2], state[-1]
        return (_dot(r, r).real > limit) & (k < most) & ~broken

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        x, r, first, alpha, omega, rho, p, q, _, k = state
        after = _dot(first, r)
        p = r + after / rho * alpha / omega * (p - omega * q)
        near = close(p)
        q = matvec(near)
        alpha = after / _dot(first, q)
        s = r - alpha * q
        done = _dot(s, s).real < limit
        nearer = close(s)
        t = matvec(nearer)
        size = _dot(t, t)
        omega = _dot(t, s) / tn.where(size == 0, 1, size)
        x = tn.where(done, x + alpha * near, x + alpha * near + omega * nearer)
        r = tn.where(done, s, s - omega * t)
        broken = (omega == 0) | (alpha == 0) | (after == 0)
        return x, r, first, alpha, omega, after, p, q, broken & ~done, k + 1

    r = b - matvec(x)
    one, none = tn.ones((), dtype=r.dtype), tn.zeros_like(r)
    start = (x, r, r, one, one, one, none, none, tn.asarray(False), 0)
    result: tuple[Any, ...] = while_loop(goes_on, step, start)
    return result[0]


def _minimal_residuals(
    restart: int, matvec: Map, b: Any, x: Any, tol: Number, atol: Number, most: Any, close: Map
) -> Any:
    size = b.shape[0]
    steps = min(restart, size) if isinstance(size, int) else restart
    if steps == 0:
        return x
    eps = float(tn.finfo(b.real.dtype).eps)
    limit = _limit(b, tol, atol)
    near_b = norm(close(b))
    size_b = tn.sqrt(_dot(b, b).real)
    allowed = near_b * tn.minimum(1.0, tn.sqrt(limit) / tn.where(size_b == 0, 1.0, size_b))

    def goes_on(state: tuple[Any, ...]) -> Any:
        _, r, k = state
        return (norm(r) > allowed) & (k < most)

    def step(state: tuple[Any, ...]) -> tuple[Any, ...]:
        x, r, k = state
        length = norm(r)
        vectors = tn.zeros((size, steps + 1), dtype=b.dtype).at[:, 0].set(_unit(r, length, 0.0))
        images = tn.zeros((steps + 1, steps), dtype=b.dtype)

        def orthogonal(j: Any, both: tuple[Any, Any]) -> tuple[Any, Any]:
            vectors, images = both
            w = close(matvec(vectors[:, j]))
            before = norm(w)
            total: Any = 0
            for _ in range(2):  # the second pass takes away what the first one left by rounding
                parts = vectors.conj().mT @ w
                w, total = w - vectors @ parts, total + parts
            rest = norm(w)
            rest = tn.where(rest > eps * before, rest, 0.0)
            vectors = vectors.at[:, j + 1].set(_unit(w, rest, 0.0))
            column = total.at[j + 1].add(rest.astype(b.dtype))
            return vectors, images.at[:, j].set(column)

        vectors, images = fori_loop(0, steps, orthogonal, (vectors, images))
        goal = tn.zeros(steps + 1, dtype=b.dtype).at[0].set(length.astype(b.dtype))
        x = x + vectors[:, :-1] @ lstsq(images, goal)[0]
        return x, close(b - matvec(x)), k + 1

    result: tuple[Any, ...] = while_loop(goes_on, step, (x, close(b - matvec(x)), 0))
    return result[0]


def _unit(x: Any, length: Any, otherwise: float) -> Any:
    safe = tn.where(length == 0, 1.0, length)
    return tn.where(length == 0, otherwise, x / safe).astype(x.dtype)


_DENSE: Sequence[str] = ("spsolve", "svds", "eigsh", "eigs")
MISSING = dict.fromkeys(_DENSE, "there are no sparse arrays; use tn.linalg, or cg, gmres, bicgstab")
"""Names of `scipy.sparse.linalg`, and what to do instead."""


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__, __dir__ = attributes("tenferro.scipy.sparse.linalg", __all__, MISSING)
