"""`jax.lax.linalg`: factorizations and systems, with names and signatures of JAX.

They are those of `tn.linalg`, whose errors they have. What chooses among algorithms of JAX, such as
`implementation=`, changes nothing.

>>> v, w = tn.lax.linalg.eigh(np.array([[2.0, 0.0], [0.0, 1.0]]))
>>> w
Tensor([1., 2.])
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tenferro import linalg
from tenferro import numpy as tn
from tenferro.errors import ConfigError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, dtype_kind
from tenferro.linalg.arguments import matrix as matrix_operand
from tenferro.linalg.arguments import square as square_operand
from tenferro.linalg.lu import lu_factors
from tenferro.linalg.qr import pivots as pivots_of
from tenferro.linalg.triangular_solve import triangular_solve as solve_triangle
from tenferro.missing_names import attributes
from tenferro.numpy.arguments import Named, count, promoted
from tenferro.ops.functions import apply
from tenferro.transforms import fori_loop

__all__ = [
    "EigImplementation",
    "EighImplementation",
    "SvdAlgorithm",
    "cholesky",
    "cholesky_update",
    "eig",
    "eigh",
    "hessenberg",
    "householder_product",
    "lu",
    "lu_pivots_to_permutation",
    "ormqr",
    "qr",
    "schur",
    "svd",
    "symmetric_product",
    "triangular_solve",
    "tridiagonal",
    "tridiagonal_solve",
]


class EigImplementation(enum.Enum):
    """The libraries among which JAX chooses for `eig`."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class EighImplementation(enum.Enum):
    """The algorithms among which JAX chooses for `eigh`."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


class SvdAlgorithm(enum.Enum):
    """The algorithms among which JAX chooses for `svd`."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


# Factorizations.


def _check_flags(name: str, **flags: object) -> None:
    """Raise ConfigError if an option that is True or False is an array or a text."""
    for option, value in flags.items():
        shape = getattr(value, "shape", None)
        if shape or isinstance(value, str):
            got = f"an array {shape}" if shape else repr(value)
            raise ConfigError(f"{name}: {option} must be True or False, got {got}")


def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> AnyTensor:
    """The lower triangular factor of positive definite matrices.

    Args:
        x: matrices, of shape [..., n, n].
        symmetrize_input: read (x + xᴴ) / 2; else the lower triangle.

    >>> tn.lax.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    Tensor([[2., 0.],
            [1., 2.]])
    """
    return linalg.cholesky(x, symmetrize_input=symmetrize_input)


def cholesky_update(r_matrix: ArrayLike, w_vector: ArrayLike) -> AnyTensor:
    """The upper triangular R' with R'ᵀ R' = Rᵀ R + w wᵀ, by rotations.

    Args:
        r_matrix: an upper triangular matrix of real numbers, of shape [n, n].
        w_vector: of shape [n].

    Raises:
        ShapeError: the shapes are not these.

    >>> tn.lax.linalg.cholesky_update(np.array([[3.0]]), np.array([4.0]))
    Tensor([[5.]])
    """
    name = "cholesky_update"
    upper, w = promoted(name, r_matrix, w_vector, inexact=True)
    n = upper.shape[-1] if upper.ndim else 0
    if upper.shape != (n, n) or w.shape != (n,):
        raise ShapeError(
            f"{name}: takes a matrix [n, n] and a vector [n], got {upper.meta}, {w.meta}"
        )

    def rotated(k: Any, both: tuple[Any, Any]) -> tuple[Any, Any]:
        r, w = both
        row, pivot, other = r[k], r[k, k], w[k]
        length = tn.hypot(pivot, other)
        none = length == 0
        length = tn.where(none, 1.0, length)
        c, s = tn.where(none, 1.0, pivot / length), tn.where(none, 0.0, other / length)
        return r.at[k].set(c * row + s * w), c * w - s * row

    return fori_loop(0, n, rotated, (upper, w))[0]  # type: ignore[no-any-return]


def lu(x: ArrayLike) -> tuple[AnyTensor, AnyTensor, AnyTensor]:
    """The packed factors, LAPACK's pivots and the permutation of matrices of shape [..., m, n].

    L, without its diagonal of ones, is below the diagonal, and U on and above it; `x[perm]` is L U.

    >>> packed, pivots, perm = tn.lax.linalg.lu(np.array([[1.0, 2.0], [2.0, 0.0]]))
    >>> perm
    Tensor([1, 0], dtype=int32)
    """
    results: tuple[AnyTensor, ...] = apply(_lu, x)
    packed, exchanges, permutation = results
    return packed, exchanges, permutation.astype("int32")


def _lu(x: AnyTensor) -> tuple[AnyTensor, ...]:
    return tuple(lu_factors(matrix_operand("lu", x)))


_lu.__name__ = "lu"


def lu_pivots_to_permutation(pivots: ArrayLike, permutation_size: int) -> AnyTensor:
    """The permutation that LAPACK's pivots mean: row i was exchanged with row `pivots[i]`.

    Args:
        pivots: integers, of shape [..., k].
        permutation_size: the number of rows, at least k.

    Raises:
        ShapeError: there are more pivots than rows.

    >>> tn.lax.linalg.lu_pivots_to_permutation(np.array([1, 1], "int32"), 3)
    Tensor([1, 0, 2], dtype=int32)
    """
    name = "lu_pivots_to_permutation"
    exchanges = tn.asarray(pivots)
    size = count(name, "permutation_size", permutation_size)
    if not exchanges.ndim or dtype_kind(exchanges.dtype) not in "iu":
        raise ShapeError(f"{name}: takes integers [..., k], got {exchanges.meta}")
    k = exchanges.shape[-1]
    if isinstance(k, int) and k > size:
        raise ShapeError(f"{name}: {exchanges.meta} has more pivots than rows, {size}")
    exchanges = exchanges.astype("int32")
    start = tn.broadcast_to(tn.arange(size, dtype="int32"), (*exchanges.shape[:-1], size))
    places = tn.arange(size, dtype="int32")

    def exchanged(i: Any, order: Any) -> Any:
        j = tn.take(exchanges, i, axis=-1, mode="clip")[..., None]
        first = tn.take(order, i, axis=-1, mode="clip")[..., None]
        second = tn.take_along_axis(order, j.astype("int64"), axis=-1)
        at_i, at_j = places == i.astype("int32"), places == j
        return tn.where(at_i, second, tn.where(at_j, first, order))

    return fori_loop(0, k, exchanged, start)  # type: ignore[no-any-return]


def qr(
    x: ArrayLike,
    *,
    pivoting: bool = False,
    full_matrices: bool = True,
    use_magma: bool | None = None,
) -> tuple[AnyTensor, ...]:
    """Q and R of matrices of shape [..., m, n], with k = min(m, n).

    Args:
        x: the matrices.
        pivoting: also return the order p of the columns, of `x[..., p] = Q R`. XLA has it on the
            CPU only.
        full_matrices: Q is [..., m, m] and R [..., m, n]; else [..., m, k] and [..., k, n].
        use_magma: changes nothing.

    >>> q, r = tn.lax.linalg.qr(np.ones((3, 2)), full_matrices=False)
    >>> q.shape, r.shape
    ((3, 2), (2, 2))
    """
    _check_flags("qr", pivoting=pivoting, full_matrices=full_matrices)
    value: AnyTensor = apply(Named("qr", matrix_operand), x)
    mode: Any = "complete" if full_matrices else "reduced"
    if not pivoting:
        return tuple(linalg.qr(value, mode=mode))
    order: AnyTensor = apply(Named("qr", _pivots), value)
    moved = tn.take_along_axis(value, order[..., None, :].astype("int64"), axis=-1)
    return (*linalg.qr(moved, mode=mode), order)


def _pivots(name: str, x: AnyTensor) -> AnyTensor:
    return pivots_of(x)


def householder_product(a: ArrayLike, taus: ArrayLike) -> AnyTensor:
    """The first n columns of the product of reflections 1 − tau v vᴴ, as LAPACK stores them.

    Args:
        a: matrices, of shape [..., m, n] with m ≥ n: v of reflection i is column i below the
            diagonal, with a 1 on it and zeros above.
        taus: of shape [..., k], with k ≤ n.

    Raises:
        ShapeError: the shapes are not these.

    >>> tn.lax.linalg.householder_product(np.array([[0.0], [1.0]]), np.array([1.0]))
    Tensor([[ 0.],
            [-1.]])
    """
    name = "householder_product"
    columns, scales = promoted(name, a, taus, inexact=True)
    _check_reflections(name, columns, scales)
    m, n = columns.shape[-2:]
    eye = tn.eye(m, n, dtype=columns.dtype)
    start = tn.broadcast_to(eye, columns.shape)
    return _reflected(columns, scales, start, adjoint=False)


def ormqr(
    a: ArrayLike, taus: ArrayLike, c: ArrayLike, *, left: bool = True, transpose: bool = False
) -> AnyTensor:
    """The product of a matrix with the unitary Q of all reflections, see `householder_product`.

    Args:
        a: reflections, of shape [..., m, n].
        taus: of shape [..., k].
        c: matrices, of shape [..., m, p]; [..., p, m] for `left=False`.
        left: Q c; else c Q.
        transpose: Qᴴ in place of Q.

    >>> tn.lax.linalg.ormqr(np.array([[0.0], [1.0]]), np.array([1.0]), np.eye(2))
    Tensor([[ 0., -1.],
            [-1.,  0.]])
    """
    name = "ormqr"
    _check_flags(name, left=left, transpose=transpose)
    columns, scales, value = promoted(name, a, taus, c, inexact=True)
    _check_reflections(name, columns, scales)
    if not left:  # c Q is the adjoint of Qᴴ cᴴ
        value = value.conj().mT
    if value.ndim != columns.ndim or value.shape[-2] != columns.shape[-2]:
        raise ShapeError(
            f"{name}: a {columns.meta} and c {value.meta} do not have one number of rows"
        )
    result = _reflected(columns, scales, value, adjoint=transpose == left)
    return result if left else result.conj().mT


def _check_reflections(name: str, columns: AnyTensor, scales: AnyTensor) -> None:
    if columns.ndim < 2 or scales.ndim != columns.ndim - 1:
        raise ShapeError(
            f"{name}: takes a [..., m, n] and taus [..., k], got {columns.meta}, {scales.meta}"
        )
    m, n, k = (*columns.shape[-2:], scales.shape[-1])
    if all(isinstance(size, int) for size in (m, n, k)) and not m >= n >= k:
        raise ShapeError(f"{name}: a {columns.meta} and taus {scales.meta} must have m ≥ n ≥ k")


def _reflected(columns: AnyTensor, scales: AnyTensor, x: AnyTensor, adjoint: bool) -> AnyTensor:
    """Q x, or Qᴴ x, reflection by reflection."""
    m, k = columns.shape[-2], scales.shape[-1]
    rows = tn.arange(m)

    def reflected(step: Any, x: Any) -> Any:
        i = step if adjoint else k - 1 - step
        column = tn.take(columns, i, axis=-1, mode="clip")
        v = tn.where(rows == i, 1.0, tn.where(rows > i, column, 0.0))[..., None]
        tau = tn.take(scales, i, axis=-1, mode="clip")[..., None, None]
        return x - (tau.conj() if adjoint else tau) * (v @ (v.conj().mT @ x))

    return fori_loop(0, k, reflected, x)  # type: ignore[no-any-return]


def hessenberg(a: ArrayLike) -> tuple[AnyTensor, AnyTensor]:
    """The Hessenberg form of square matrices and the reflections that make it, packed as by LAPACK.

    Args:
        a: matrices, of shape [..., n, n].

    Returns:
        Matrices, of which the upper triangle and the first subdiagonal are the form, and what is
        below holds the reflections; and their factors, of shape [..., n - 1]. The unitary Q of
        a = Q H Qᴴ is 1, and behind it `householder_product(packed[..., 1:, :-1], taus)`.
        `tn.linalg.hessenberg` returns H and Q.

    Raises:
        ShapeError: the matrices are not square.

    >>> packed, taus = tn.lax.linalg.hessenberg(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> packed, taus
    (Tensor([[1., 2.],
            [3., 4.]]), Tensor([0.]))
    """
    form, reflections, taus = _reduced(apply(Named("hessenberg", square_operand), a))
    return tn.triu(form, -1) + reflections, taus


def tridiagonal(
    a: ArrayLike, *, lower: bool = True
) -> tuple[AnyTensor, AnyTensor, AnyTensor, AnyTensor]:
    """The tridiagonal form of Hermitian matrices, and the reflections that make it, as LAPACK does.

    Args:
        a: matrices, of shape [..., n, n].
        lower: which triangle is read; the other one is returned as it is.

    Returns:
        Packed matrices, in whose triangle the form stands next to the diagonal and the reflections
        beyond; the diagonal d; the real off-diagonal e; and the factors of the reflections.

    Raises:
        ShapeError: the matrices are not square.

    >>> a = np.array([[2.0, 3.0, 4.0], [3.0, 1.0, 0.0], [4.0, 0.0, 5.0]])
    >>> tn.round(tn.lax.linalg.tridiagonal(a)[2], 6)
    Tensor([-5.  , -1.92])
    """
    value: AnyTensor = apply(Named("tridiagonal", square_operand), a)
    both = (-2, -1)
    triangle = value if lower else tn.flip(value, axis=both)  # the last reflection first
    below = tn.tril(triangle, -1)
    main = tn.linalg.diagonal(triangle).real[..., None] * tn.eye(value.shape[-1], dtype=value.dtype)
    form, reflections, taus = _reduced(below + main + below.conj().mT)
    d, e = tn.linalg.diagonal(form).real, tn.linalg.diagonal(form, offset=-1).real
    packed = tn.tril(tn.triu(form, -1) + reflections) + tn.triu(triangle, 1)
    if lower:
        return packed, d, e, taus
    d, e, taus = (tn.flip(each, axis=-1) for each in (d, e, taus))
    return tn.flip(packed, axis=both), d, e, taus


def _reduced(a: AnyTensor) -> tuple[AnyTensor, AnyTensor, AnyTensor]:
    """Q* a Q, zero below its first subdiagonal; the reflections in Q, in columns; their factors."""
    n = a.shape[-1]
    rows = tn.arange(n)
    steps = max(n - 1, 0)

    def reduced(k: Any, state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        form, reflections, taus = state
        column = tn.take(form, k, axis=-1, mode="clip")
        first = tn.take(column, k + 1, axis=-1, mode="clip")
        rest = tn.where(rows > k + 1, column, 0.0)
        length = tn.sqrt(tn.sum((rest.conj() * rest).real, axis=-1) + (first.conj() * first).real)
        done = tn.all(rest == 0, axis=-1) & (tn.imag(first) == 0)
        end = tn.where(first.real < 0, length, -length).astype(form.dtype)
        safe, step = (tn.where(done, 1.0, each) for each in (end, first - end))
        tau = tn.where(done, 0.0, (end - first) / safe)
        stored = rest / step[..., None]
        v = (stored + (rows == k + 1))[..., None]
        factor = tau[..., None, None]
        form = form - factor.conj() * (v @ (v.conj().mT @ form))
        form = form - factor * ((form @ v) @ v.conj().mT)
        reflections = tn.where(rows == k, stored[..., None], reflections)
        return form, reflections, tn.where(rows[:steps] == k, tau[..., None], taus)

    start = (a, tn.zeros_like(a), tn.zeros_like(a[..., :steps, 0]))
    return fori_loop(0, steps, reduced, start)  # type: ignore[no-any-return]


# Eigenvalues and singular values.


def eig(
    x: ArrayLike,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[AnyTensor]:
    """Eigenvalues, and left and right eigenvectors as asked for, of square matrices.

    The left eigenvectors u have uᴴ x = w uᴴ. All are columns of length 1 and have derivatives, as
    those of `tn.linalg.eig`.

    >>> tn.lax.linalg.eig(np.array([[2.0]]), compute_left_eigenvectors=False)[0]
    Tensor([2.+0.j])
    """
    _check_flags("eig", compute_left_eigenvectors=compute_left_eigenvectors)
    _check_flags("eig", compute_right_eigenvectors=compute_right_eigenvectors)
    if not (compute_left_eigenvectors or compute_right_eigenvectors):
        return [linalg.eigvals(x)]
    values, right = linalg.eig(x)
    results = [values]
    if compute_left_eigenvectors:
        left = linalg.inv(right).conj().mT
        results.append(left / tn.linalg.norm(left, axis=-2, keepdims=True))
    return [*results, right] if compute_right_eigenvectors else results


def eigh(
    x: ArrayLike,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[AnyTensor, AnyTensor]:
    """Eigenvectors, and ascending eigenvalues, of Hermitian matrices: in this order.

    Args:
        x: matrices, of shape [..., n, n].
        lower: which triangle is read, unless `symmetrize_input`.
        symmetrize_input: read (x + xᴴ) / 2.
        sort_eigenvalues: changes nothing.
        subset_by_index: from which number up to which, without it; by default all.
        implementation: changes nothing.

    >>> tn.lax.linalg.eigh(np.array([[2.0, 0.0], [0.0, 1.0]]), subset_by_index=(1, 2))[1]
    Tensor([2.])
    """
    _check_flags("eigh", lower=lower, symmetrize_input=symmetrize_input)
    triangle: Any = "L" if lower else "U"
    if symmetrize_input:
        values, vectors = linalg.eigh(x)
    else:
        values, vectors = linalg.eigh(x, triangle)
    part = _subset("eigh", subset_by_index)
    return vectors[..., part], values[..., part]


def _subset(name: str, subset: tuple[int, int] | None) -> slice:
    if subset is None:
        return slice(None)
    low, high = (count(name, "subset_by_index", number) for number in subset)
    if high < low:
        raise ConfigError(f"{name}: subset_by_index must ascend, got {subset}")
    return slice(low, high)


def svd(
    x: ArrayLike,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    """U, the singular values, descending, and Vᴴ; or the values alone.

    Args:
        x: matrices, of shape [..., m, n].
        full_matrices: whether U and Vᴴ are square.
        compute_uv: whether they are returned.
        subset_by_index: from which number up to which, without it; not with `full_matrices`.
        algorithm: changes nothing.

    >>> tn.lax.linalg.svd(np.diag([3.0, 4.0]), compute_uv=False)
    Tensor([4., 3.])
    """
    _check_flags("svd", full_matrices=full_matrices, compute_uv=compute_uv)
    part = _subset("svd", subset_by_index)
    if not compute_uv:
        return linalg.svdvals(x)[..., part]
    if subset_by_index is not None and full_matrices:
        raise ConfigError("svd: subset_by_index selects vectors; pass full_matrices=False")
    u, s, vh = linalg.svd(x, full_matrices=full_matrices)
    if subset_by_index is None:
        return u, s, vh
    return u[..., part], s[..., part], vh[..., part, :]


def schur(
    x: ArrayLike,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> list[AnyTensor]:
    """The Schur form T, and the unitary Z of x = Z T Zᴴ; without derivatives.

    Raises:
        ConfigError: `sort_eig_vals` or `select_callable` is set: eigenvalues are not sorted.

    >>> tn.lax.linalg.schur(np.array([[1.0, 2.0], [0.0, 3.0]]))[0]
    Tensor([[1., 2.],
            [0., 3.]])
    """
    _check_flags("schur", compute_schur_vectors=compute_schur_vectors, sort_eig_vals=sort_eig_vals)
    if sort_eig_vals or select_callable is not None:
        raise ConfigError("schur: eigenvalues are not sorted; leave sort_eig_vals False")
    form, vectors = linalg.schur(x)
    return [form, vectors] if compute_schur_vectors else [form]


# Systems and products.


def triangular_solve(
    a: ArrayLike,
    b: ArrayLike,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> AnyTensor:
    """The solution x of op(a) x = b, or of x op(a) = b, for triangular a.

    Args:
        a: matrices, of shape [..., n, n].
        b: right sides, of shape [..., n, k], or [..., k, n] for `left_side=False`; with one axis
            less than a, vectors [..., n].
        left_side: whether op(a) stands on the left of x.
        lower: which triangle of a is read.
        transpose_a: whether op(a) is aᵀ.
        conjugate_a: whether a is conjugated in it.
        unit_diagonal: take the diagonal as ones.

    >>> a = np.array([[2.0, 0.0], [1.0, 4.0]])
    >>> tn.lax.linalg.triangular_solve(a, np.array([4.0, 6.0]), left_side=True, lower=True)
    Tensor([2., 1.])
    """
    name = "triangular_solve"
    _check_flags(name, left_side=left_side, lower=lower, transpose_a=transpose_a)
    _check_flags(name, conjugate_a=conjugate_a, unit_diagonal=unit_diagonal)
    matrix, right = promoted(name, a, b, inexact=True)
    if matrix.ndim < 2:
        raise ShapeError(f"{name}: takes matrices [..., n, n], got {matrix.meta}")
    vector = right.ndim == matrix.ndim - 1
    if vector:
        right = right[..., None] if left_side else right[..., None, :]
    if conjugate_a and not transpose_a:
        matrix = matrix.conj()
    trans = ("c" if conjugate_a else "t") if transpose_a else "n"
    flags = {"left": left_side, "lower": lower, "unit": unit_diagonal}
    options = {"trans": trans, **{option: bool(value) for option, value in flags.items()}}
    body = Named(name, _solve_triangle, tuple(options.items()))
    result: AnyTensor = apply(body, matrix, right)
    if vector:
        return tn.squeeze(result, -1 if left_side else -2)
    return result


def _solve_triangle(name: str, *operands: Any) -> AnyTensor:
    *options, a, b = operands
    return solve_triangle(a, b, **dict(options))


def tridiagonal_solve(
    dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, perturb_singular: bool = False
) -> AnyTensor:
    """The solution of tridiagonal systems, as `tn.linalg.tridiagonal_solve`.

    Raises:
        ConfigError: `perturb_singular` is true.

    >>> tn.lax.linalg.tridiagonal_solve([0.0, 1.0], [2.0, 2.0], [1.0, 0.0], [[3.0], [3.0]])
    Tensor([[1.],
            [1.]])
    """
    if perturb_singular:
        raise ConfigError("tridiagonal_solve: pivots are not perturbed; add to the main diagonal")
    return linalg.tridiagonal_solve(dl, d, du, b)


def symmetric_product(
    a_matrix: ArrayLike,
    c_matrix: ArrayLike,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> AnyTensor:
    """alpha a aᵀ + beta c, for symmetric c.

    Args:
        a_matrix: of shape [..., n, k].
        c_matrix: of shape [..., n, n].
        alpha: a number.
        beta: a number.
        symmetrize_output: changes nothing; the result is symmetric if c is.

    >>> tn.lax.linalg.symmetric_product(np.array([[1.0], [2.0]]), np.eye(2), beta=1.0)
    Tensor([[2., 2.],
            [2., 5.]])
    """
    a, c = promoted("symmetric_product", a_matrix, c_matrix, inexact=True)
    return (a @ a.mT) * alpha + c * beta  # type: ignore[no-any-return]


MISSING: dict[str, str] = {"qdwh": "it is how JAX computes tn.linalg.polar"}
"""Names of `jax.lax.linalg`, and what to do instead."""


if not TYPE_CHECKING:  # where a type checker is to refuse unknown names
    __getattr__, __dir__ = attributes("tenferro.lax.linalg", __all__, MISSING)
