"""The functions of `tn.linalg` with the signatures of `jax.scipy.linalg`, and further ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenferro import linalg
from tenferro import numpy as tn
from tenferro.config import flag
from tenferro.errors import ConfigError, ShapeError
from tenferro.ir import COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, AnyTensor, ArrayLike, is_complex
from tenferro.linalg.arguments import matrix as matrix_operand
from tenferro.linalg.arguments import same_batch
from tenferro.linalg.arguments import square as square_operand
from tenferro.linalg.qr import pivots
from tenferro.numpy.arguments import Named, callable_of, option, promoted
from tenferro.ops.functions import apply
from tenferro.transforms import fori_loop, vmap

__all__ = [
    "cho_factor",
    "cho_solve",
    "cholesky",
    "det",
    "eigh",
    "eigh_tridiagonal",
    "expm",
    "expm_frechet",
    "funm",
    "hessenberg",
    "inv",
    "lu",
    "lu_factor",
    "lu_solve",
    "polar",
    "qr",
    "qr_multiply",
    "rsf2csf",
    "schur",
    "solve",
    "solve_banded",
    "solve_sylvester",
    "solve_triangular",
    "sqrtm",
    "svd",
]


def _operand(name: str, x: ArrayLike, kind: Callable[[str, Any], AnyTensor]) -> AnyTensor:
    return apply(Named(name, kind), x)


# Systems of equations.


def solve(
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> AnyTensor:
    """The solution x of a x = b, as `tn.linalg.solve`.

    Args:
        a: matrices, of shape [..., n, n].
        b: right sides, of shape [..., n, k], or one vector of shape [n].
        lower: which triangle of a is read where `assume_a` is "sym", "her" or "pos".
        overwrite_a: changes nothing, like `overwrite_b`, `debug` and `check_finite`.
        assume_a: what is known of a: "gen", "sym", "her", "pos", "upper triangular",
            "lower triangular".

    >>> tn.scipy.linalg.solve([[2.0, 1.0], [9.0, 3.0]], [3.0, 4.0], assume_a="pos")
    Tensor([1., 1.])
    """
    if assume_a in ("sym", "her", "pos"):
        a = _from_triangle(_operand("solve", a, square_operand), lower, assume_a == "sym")
    return linalg.solve(a, b, assume_a=assume_a)


def _from_triangle(a: AnyTensor, lower: bool, symmetric: bool = False) -> AnyTensor:
    """The Hermitian (or symmetric) matrix of one triangle of a."""
    strict = tn.tril(a, -1) if lower else tn.triu(a, 1)
    half, diagonal = strict.mT, tn.diagonal(a, axis1=-2, axis2=-1)
    if is_complex(a.dtype) and not symmetric:
        half, diagonal = half.conj(), diagonal.real.astype(a.dtype)
    return strict + half + diagonal[..., None] * tn.eye(a.shape[-1], dtype=a.dtype)


def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> AnyTensor:
    """The solution x of op(a) x = b for triangular a, as `tn.linalg.solve_triangular`.

    >>> tn.scipy.linalg.solve_triangular([[2.0, 1.0], [0.0, 4.0]], [4.0, 8.0])
    Tensor([1., 2.])
    """
    return linalg.solve_triangular(a, b, trans=trans, lower=lower, unit_diagonal=unit_diagonal)


def solve_banded(
    l_and_u: tuple[int, int],
    ab: ArrayLike,
    b: ArrayLike,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> AnyTensor:
    """The solution x of a x = b, where a has few diagonals.

    Args:
        l_and_u: the numbers of diagonals below and above the main one.
        ab: the diagonals, of shape [l + u + 1, n]: `ab[u + i - j, j]` is `a[i, j]`.
        b: right sides, of shape [n, k], or one vector of shape [n].
        overwrite_ab: changes nothing, like `overwrite_b` and `check_finite`.

    Tridiagonal systems are solved as such, others as full matrices.

    Raises:
        ShapeError: `ab` does not have l + u + 1 rows.

    >>> tn.scipy.linalg.solve_banded((1, 0), [[2.0, 4.0], [1.0, 0.0]], [2.0, 9.0])
    Tensor([1., 2.])
    """
    name = "solve_banded"
    diagonals, right = promoted(name, ab, b, inexact=True)
    below, above = (int(number) for number in l_and_u)
    if diagonals.ndim != 2 or diagonals.shape[0] != below + above + 1:
        raise ShapeError(
            f"{name}: ab must have {below + above + 1} rows, for {below} diagonals below the main "
            f"one and {above} above, got {diagonals.meta}"
        )
    if below == above == 1:
        upper = tn.concat([diagonals[0, 1:], tn.zeros(1, dtype=diagonals.dtype)])
        lower = tn.concat([tn.zeros(1, dtype=diagonals.dtype), diagonals[2, :-1]])
        return linalg.tridiagonal_solve(lower, diagonals[1], upper, right)
    n = diagonals.shape[1]
    whole = tn.zeros((n, n), dtype=diagonals.dtype)
    for row in range(below + above + 1):
        offset = above - row  # a[j - offset, j]
        if abs(offset) < n:
            part = diagonals[row, max(offset, 0) : n + min(offset, 0)]
            whole = whole + tn.diag(part, offset)
    return linalg.solve(whole, right)


def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> AnyTensor:
    """The inverse of square matrices, as `tn.linalg.inv`.

    >>> tn.scipy.linalg.inv([[2.0, 0.0], [0.0, 4.0]])
    Tensor([[0.5 , 0.  ],
            [0.  , 0.25]])
    """
    return linalg.inv(a)


def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> AnyTensor:
    """The determinant of square matrices, as `tn.linalg.det`.

    >>> tn.scipy.linalg.det([[2.0, 1.0], [1.0, 3.0]])
    Tensor(5.)
    """
    return linalg.det(a)


def solve_sylvester(
    A: ArrayLike,  # noqa: N803  # SciPy's names
    B: ArrayLike,  # noqa: N803
    C: ArrayLike,  # noqa: N803
    *,
    method: str = "schur",
    tol: float = 1e-8,
) -> AnyTensor:
    """The solution X of A X + X B = C, as `tn.linalg.solve_sylvester`.

    `method`, "schur" or "eigen", and `tol` choose how JAX computes it; they change nothing here.

    >>> tn.scipy.linalg.solve_sylvester([[1.0]], [[2.0]], [[6.0]])
    Tensor([[2.]])
    """
    option("solve_sylvester", "method", method, ("schur", "eigen"))
    return linalg.solve_sylvester(A, B, C)


# Factorizations.


def cholesky(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> AnyTensor:
    """The triangular factor of positive definite matrices, of shape [..., n, n]; the upper one.

    Args:
        a: matrices of shape [..., n, n].
        lower: whether to return the lower factor.
        overwrite_a: changes nothing, like `check_finite`.

    >>> cholesky([[4.0, 2.0], [2.0, 5.0]], lower=True)
    Tensor([[2., 0.],
            [1., 2.]])
    """
    return linalg.cholesky(a, upper=not flag("cholesky: lower", lower))


def cho_factor(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """The Cholesky factor and whether it is the lower one, as `tn.linalg.cho_factor`.

    >>> tn.scipy.linalg.cho_factor([[4.0]])[0]
    Tensor([[2.]])
    """
    return linalg.cho_factor(a, lower)


def cho_solve(
    c_and_lower: tuple[ArrayLike, bool],
    b: ArrayLike,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> AnyTensor:
    """The solution x of a x = b, by the Cholesky factor of a, as `tn.linalg.cho_solve`.

    >>> tn.scipy.linalg.cho_solve(([[2.0]], True), [8.0])
    Tensor([2.])
    """
    return linalg.cho_solve(c_and_lower, b)


def lu(
    a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """The factors of a = p l u, as `tn.linalg.lu`.

    >>> tn.scipy.linalg.lu([[4.0]])[2]
    Tensor([[4.]])
    """
    return linalg.lu(a, permute_l)


def lu_factor(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The packed LU factors and LAPACK's pivots, as `tn.linalg.lu_factor`.

    >>> tn.scipy.linalg.lu_factor([[4.0]])[0]
    Tensor([[4.]])
    """
    return linalg.lu_factor(a)


def lu_solve(
    lu_and_piv: tuple[ArrayLike, ArrayLike],
    b: ArrayLike,
    trans: int | str = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> AnyTensor:
    """The solution x of op(a) x = b, by the factors of a, as `tn.linalg.lu_solve`.

    >>> tn.scipy.linalg.lu_solve(tn.scipy.linalg.lu_factor([[4.0]]), [8.0])
    Tensor([2.])
    """
    return linalg.lu_solve(lu_and_piv, b, trans)


def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[AnyTensor, ...]:
    """Q and R of matrices of shape [..., m, n].

    Args:
        a: the matrices.
        overwrite_a: changes nothing, like `lwork` and `check_finite`.
        mode: `"full"`: Q is square; `"economic"`: it has min(m, n) columns; `"r"`: R of the
            full form alone, in a tuple.
        pivoting: also return the order p of the columns, so that `a[..., p] = Q R` and the diagonal
            of R does not grow. XLA has it on the CPU only.

    Raises:
        ConfigError: there is no such mode.

    >>> q, r = qr([[3.0], [4.0]], mode="economic")
    >>> q.shape, r.shape
    ((2, 1), (1, 1))
    >>> qr([[1.0, 2.0]], pivoting=True)[2]
    Tensor([1, 0], dtype=int32)
    """
    if mode not in ("full", "economic", "r"):
        raise ConfigError(f"qr: mode must be one of full, economic, r, got {mode!r}")
    value = _operand("qr", a, matrix_operand)
    order: tuple[AnyTensor, ...] = ()
    if pivoting:
        value, places = _pivoted(value)
        order = (places,)
    result = linalg.qr(value, mode="reduced" if mode == "economic" else "complete")
    if mode == "r":
        return (result.R, *order)
    return (result.Q, result.R, *order) if pivoting else result


def _order(name: str, x: AnyTensor) -> AnyTensor:
    return pivots(x)


def _pivoted(a: AnyTensor) -> tuple[AnyTensor, AnyTensor]:
    """The matrices with their columns in the order of pivoting, and the order."""
    order = _operand("qr", a, _order)
    return tn.take_along_axis(a, order[..., None, :].astype("int64"), axis=-1), order


def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[AnyTensor, ...]:
    """The product of the Q of a with c, and R.

    Args:
        a: matrices, of shape [..., m, n]; k is min(m, n), and Q is [..., m, k].
        c: matrices, or one vector.
        mode: "left" for Q c, "right" for c Q.
        pivoting: also return the order of the columns, see `qr`.
        conjugate: take the conjugate of Q.
        overwrite_a: changes nothing, like `overwrite_c`.

    Raises:
        ConfigError: there is no such mode.

    >>> tn.scipy.linalg.qr_multiply([[3.0], [4.0]], [[3.0, 4.0]])[1]
    Tensor([[-5.]])
    """
    name = "qr_multiply"
    option(name, "mode", mode, ("left", "right"))
    matrix, factor = promoted(name, a, c, inexact=True)
    columns, *rest = qr(matrix, mode="economic", pivoting=pivoting)
    if conjugate:
        columns = columns.conj()
    return (columns @ factor if mode == "left" else factor @ columns, *rest)


def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """U, the singular values and Vᴴ, or the values alone, as `tn.linalg.svd`.

    >>> tn.scipy.linalg.svd([[3.0, 0.0], [0.0, 4.0]], compute_uv=False)
    Tensor([4., 3.])
    """
    if not compute_uv:
        return linalg.svdvals(a)
    return linalg.svd(a, full_matrices=full_matrices)


def polar(
    a: ArrayLike,
    side: str = "right",
    *,
    method: str = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> Any:
    """The polar decomposition a = U P, or a = P U, as `tn.linalg.polar`.

    `method`, "qdwh" or "svd", and its options choose how JAX computes it; they change nothing here.

    >>> tn.scipy.linalg.polar([[-2.0]])[1]
    Tensor([[2.]])
    """
    option("polar", "method", method, ("qdwh", "svd"))
    return linalg.polar(a, side)


def schur(a: ArrayLike, output: str = "real") -> Any:
    """The Schur form T and the unitary Z of a = Z T Zᴴ, as `tn.linalg.schur`.

    >>> tn.scipy.linalg.schur([[1.0, 2.0], [0.0, 3.0]])[0]
    Tensor([[1., 2.],
            [0., 3.]])
    """
    return linalg.schur(a, output)


def rsf2csf(
    T: ArrayLike,  # noqa: N803  # SciPy's names
    Z: ArrayLike,  # noqa: N803
    check_finite: bool = True,
) -> tuple[AnyTensor, AnyTensor]:
    """The complex Schur form of a real one: T becomes triangular, and Z T Zᴴ stays.

    Args:
        T: matrices, of shape [..., n, n], with 2×2 blocks for pairs of complex eigenvalues.
        Z: unitary matrices, of shape [..., n, n].
        check_finite: changes nothing.

    Raises:
        ShapeError: the matrices are not square, or of two sizes, or batch axes do not fit.

    >>> t, z = tn.scipy.linalg.rsf2csf([[0.0, 1.0], [-1.0, 0.0]], tn.eye(2))
    >>> tn.linalg.diagonal(t).imag
    Tensor([ 1., -1.])
    """
    name = "rsf2csf"
    form, basis = (_complex(_operand(name, x, square_operand)) for x in (T, Z))
    form, basis = promoted(name, form, basis)
    n = form.shape[-1]
    if n != basis.shape[-1]:
        raise ShapeError(f"{name}: T {form.meta} and Z {basis.meta} must be n × n matrices")
    form, basis = apply(Named(name, _same_batch), form, basis)
    if form.ndim == 2:
        return _csf(form, basis, n)
    flat = (-1, n, n)
    t, z = vmap(lambda t, z: _csf(t, z, n))(form.reshape(flat), basis.reshape(flat))
    return t.reshape(form.shape), z.reshape(form.shape)


def _same_batch(name: str, *operands: AnyTensor) -> tuple[AnyTensor, ...]:
    return tuple(same_batch(name, *operands))


def _csf(form: AnyTensor, basis: AnyTensor, n: Any) -> tuple[AnyTensor, AnyTensor]:
    """The complex Schur form of one matrix, block by block from the last row on."""
    if n == 0:
        return form, basis

    def turned(step: Any, both: tuple[Any, Any]) -> tuple[Any, Any]:
        t, z = both
        low = n - 1 - step
        rows = tn.stack([low - 1, low])
        block = t[rows][:, rows]
        turn = _rotation(block)
        t = t.at[rows].set(turn @ t[rows])
        t = t.at[:, rows].set(t[:, rows] @ turn.conj().mT)
        z = z.at[:, rows].set(z[:, rows] @ turn.conj().mT)
        return t.at[low, low - 1].set(0), z

    return fori_loop(0, n - 1, turned, (form, basis))  # type: ignore[no-any-return]


def _rotation(block: AnyTensor) -> AnyTensor:
    """The unitary 2×2 matrix that makes a block triangular; the identity if it is."""
    a, b, c, d = block[0, 0], block[0, 1], block[1, 0], block[1, 1]
    half = (a - d) / 2
    root = tn.sqrt(half * half + b * c)
    first = half + tn.where(half.real < 0, -root, root)  # an eigenvalue, less d
    small = float(tn.finfo(block.real.dtype).eps) * (tn.abs(a) + tn.abs(d))
    is_block = tn.abs(c) > small
    length = tn.sqrt(tn.abs(first) ** 2 + tn.abs(c) ** 2)
    length = tn.where(is_block, length, 1.0)
    cosine = tn.where(is_block, first / length, 1.0)
    sine = tn.where(is_block, c / length, 0.0)
    return tn.stack([tn.stack([cosine.conj(), sine]), tn.stack([-sine, cosine])])


_COMPLEX = {FLOAT32: COMPLEX64, FLOAT64: COMPLEX128}


def _complex(x: AnyTensor) -> AnyTensor:
    return x.astype(_COMPLEX.get(x.dtype, x.dtype))


def hessenberg(
    a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """The Hessenberg form H of a = Q H Qᴴ, and Q if asked for, as `tn.linalg.hessenberg`.

    >>> tn.scipy.linalg.hessenberg([[1.0, 2.0], [3.0, 4.0]])
    Tensor([[1., 2.],
            [3., 4.]])
    """
    return linalg.hessenberg(a, calc_q)


# Eigenvalues.


def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """Eigenvalues and eigenvectors of Hermitian matrices, or of pairs of them.

    Args:
        a: matrices of shape [..., n, n], of which one triangle is read.
        b: positive definite matrices of shape [..., n, n]; the identity if None.
        lower: whether it is the lower triangle.
        eigvals_only: whether to return the values alone.
        overwrite_a: changes nothing, like `overwrite_b`, `turbo` and `check_finite`.
        eigvals: must be None; slice the results.
        type: 1 for a v = w b v, 2 for a b v = w v, 3 for b a v = w v. The vectors are scaled to
            vᴴ b v = 1, for type 3 to vᴴ b⁻¹ v = 1.

    Raises:
        ConfigError: there is no such type, or `eigvals` is not None.

    >>> eigh([[2.0, 0.0], [0.0, 1.0]], eigvals_only=True)
    Tensor([1., 2.])
    >>> eigh([[2.0, 0.0], [0.0, 1.0]], 2.0 * tn.eye(2), eigvals_only=True)
    Tensor([0.5, 1. ])
    """
    if eigvals is not None:
        raise ConfigError("eigh: eigvals must be None; slice the eigenvalues and the columns")
    if type not in (1, 2, 3):
        raise ConfigError(f"eigh: type must be 1, 2 or 3, got {type!r}")
    if b is None:
        triangle = "L" if lower else "U"
        if eigvals_only:
            return linalg.eigvalsh(a, triangle)
        return linalg.eigh(a, triangle)
    left, right = promoted("eigh", a, b, inexact=True)
    left, right = (
        _from_triangle(_operand("eigh", x, square_operand), lower) for x in (left, right)
    )
    factor = linalg.cholesky(right)
    if type == 1:
        half = linalg.solve_triangular(factor, left, lower=True)
        reduced = linalg.solve_triangular(factor, half.mT.conj(), lower=True)
    else:
        reduced = factor.mT.conj() @ left @ factor
    values, vectors = linalg.eigh(reduced)
    if eigvals_only:
        return values
    if type == 3:
        return values, factor @ vectors
    return values, linalg.solve_triangular(factor.mT.conj(), vectors)


def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: tuple[float, float] | None = None,
    tol: float | None = None,
) -> Any:
    """Eigenvalues, and eigenvectors, of real symmetric tridiagonal matrices.

    Args:
        d: the diagonals, of shape [..., n].
        e: the diagonals next to them, of shape [..., n - 1].
        eigvals_only: return the eigenvalues alone.
        select: "a" for all, "i" for those of a range of numbers, ascending from 0.
        select_range: the first and the last number.
        tol: changes nothing; the results are as exact as they can be.

    Raises:
        ConfigError: `select` is "v": how many values lie in an interval depends on data.

    >>> tn.scipy.linalg.eigh_tridiagonal([2.0, 2.0], [1.0], eigvals_only=True)
    Tensor([1., 3.])
    """
    name = "eigh_tridiagonal"
    if select == "v":
        raise ConfigError(
            f"{name}: how many eigenvalues lie in an interval depends on data; select all, and "
            "compare them with the bounds"
        )
    option(name, "select", select, ("a", "i"))
    result: Any = linalg.eigh_tridiagonal(d, e, eigvals_only=eigvals_only)
    if select == "a":
        return result
    if select_range is None:
        raise ConfigError(f"{name}: select='i' needs select_range, the first and the last number")
    first, last = (int(number) for number in select_range)
    if eigvals_only:
        return result[..., first : last + 1]
    return result[0][..., first : last + 1], result[1][..., first : last + 1]


# Functions of matrices.


def expm(
    A: ArrayLike,  # noqa: N803  # SciPy's name
    *,
    upper_triangular: bool = False,
    max_squarings: int = 16,
) -> AnyTensor:
    """The exponential of square matrices, as `tn.linalg.expm`.

    Args:
        A: matrices, of shape [..., n, n].
        upper_triangular: whether the lower triangle is not read.
        max_squarings: changes nothing; as many are done as the norm needs.

    >>> tn.scipy.linalg.expm([[0.0, 1.0], [0.0, 0.0]])
    Tensor([[1., 1.],
            [0., 1.]])
    """
    return linalg.expm(tn.triu(A) if upper_triangular else A)


def expm_frechet(
    A: ArrayLike,  # noqa: N803  # SciPy's names
    E: ArrayLike,  # noqa: N803
    *,
    method: str | None = None,
    compute_expm: bool = True,
) -> Any:
    """The exponential of square matrices and its derivative along E, as `tn.linalg.expm_frechet`.

    `method` changes nothing.

    >>> tn.scipy.linalg.expm_frechet([[0.0]], [[2.0]], compute_expm=False)
    Tensor([[2.]])
    """
    option("expm_frechet", "method", method, (None, "SPS", "blockEnlarge"))
    return linalg.expm_frechet(A, E, compute_expm=compute_expm)


def sqrtm(A: ArrayLike, blocksize: int = 1) -> AnyTensor:  # noqa: N803  # SciPy's name
    """The principal square root of square matrices, as `tn.linalg.sqrtm`: real if A is real.

    >>> tn.scipy.linalg.sqrtm([[4.0, 1.0], [0.0, 4.0]])
    Tensor([[2.  , 0.25],
            [0.  , 2.  ]])
    """
    if blocksize != 1:
        raise ConfigError(f"sqrtm: blocksize must be 1, got {blocksize!r}; it changes no result")
    return linalg.sqrtm(A)


def funm(
    A: ArrayLike,  # noqa: N803  # SciPy's name
    func: Callable[[AnyTensor], AnyTensor],
    disp: bool = True,
) -> Any:
    """A function of a square matrix, by Parlett's recurrence on its Schur form; complex.

    It is not accurate where eigenvalues are close, and has no derivative. `tn.linalg.expm`, `logm`,
    `sqrtm` and `funm_hermitian` are, and have.

    Args:
        A: a matrix, of shape [n, n].
        func: maps each element of an array, such as `tn.sin`.
        disp: whether to return the result alone; else with an estimate of the relative error.

    Raises:
        ShapeError: A is not a square matrix.

    >>> tn.scipy.linalg.funm([[4.0, 1.0], [0.0, 1.0]], tn.square).real
    Tensor([[16.,  5.],
            [ 0.,  1.]])
    """
    callable_of("funm", func)
    value = _operand("funm", A, square_operand)
    if value.ndim != 2:
        raise ShapeError(f"funm: takes one matrix, got {value.meta}")
    form, basis = linalg.schur(value, "complex")
    values = tn.linalg.diagonal(form)
    n = form.shape[-1]
    rows, columns = tn.arange(n)[:, None], tn.arange(n)
    gaps = values - values[:, None]
    same = gaps == 0
    divisor = tn.where(same, 1.0, gaps)

    def next_diagonal(place: Any, f: AnyTensor) -> AnyTensor:
        known = (form @ f - f @ form) / divisor
        return f + tn.where(columns - rows == place, known, 0.0)

    start = tn.diag(func(values)).astype(form.dtype)
    triangular = fori_loop(1, n, next_diagonal, start)
    result = basis @ triangular @ basis.mT.conj()
    if disp:
        return result
    eps = float(tn.finfo(form.real.dtype).eps)
    apart = tn.where(columns > rows, tn.abs(gaps), tn.abs(values[:1]))
    closest = tn.min(apart) if n else tn.asarray(1.0)
    closest = tn.where(closest == 0, eps, closest)
    strict = tn.sum(tn.abs(tn.triu(form, 1)), axis=0)
    error = eps / closest * (tn.max(strict) if n else 0.0)
    return result, tn.minimum(1.0, tn.maximum(eps, error))
