"""Functions whose results are named tuples or whose operands vary in number, as users call them."""

from __future__ import annotations

from typing import NamedTuple

from tenferro.dispatch import apply
from tenferro.linalg import general, structured
from tenferro.typing import AnyTensor, ArrayLike


class EigResult(NamedTuple):
    """Of `eig`."""

    eigenvalues: AnyTensor
    eigenvectors: AnyTensor


class EighTridiagonalResult(NamedTuple):
    """Of `eigh_tridiagonal`."""

    eigenvalues: AnyTensor
    eigenvectors: AnyTensor


class ExpmFrechetResult(NamedTuple):
    """Of `expm_frechet`."""

    expm: AnyTensor
    derivative: AnyTensor


class SchurResult(NamedTuple):
    """Of `schur`: x = Z T Zᴴ."""

    T: AnyTensor
    Z: AnyTensor


class HessenbergResult(NamedTuple):
    """Of `hessenberg`: x = Q H Qᴴ."""

    H: AnyTensor
    Q: AnyTensor


def eig(x: ArrayLike, /) -> EigResult:
    """Eigenvalues, in no particular order, and eigenvectors, as columns, of square matrices.

    Both are complex always. Each eigenvector has norm 1, and its largest entry is real and
    positive; the first one, if several are as large. The derivative of any loss is NaN for a matrix
    with equal eigenvalues, or without as many eigenvectors as rows. XLA has it on the CPU only.

    Args:
        x: matrices, of shape [..., n, n].

    Raises:
        ShapeError: x is not square.
        DTypeError: x is of half precision.

    >>> tn.linalg.eig([[0.0, 1.0], [0.0, 2.0]]).eigenvalues
    Tensor([0.+0.j, 2.+0.j])
    """
    return EigResult(*apply(general.eig, x))


def expm_frechet(
    a: ArrayLike, e: ArrayLike, *, compute_expm: bool = True, assume_a: str = "gen"
) -> ExpmFrechetResult | AnyTensor:
    """The exponential of square matrices, and its derivative along others.

    Args:
        a: matrices, of shape [..., n, n].
        e: the directions, of shape [..., n, n].
        compute_expm: whether both are returned, or the derivative alone.
        assume_a: "gen", or "her" for Hermitian a and e, of which (x + xᴴ) / 2 is read.

    Raises:
        ShapeError: an operand is not square, or the sizes differ.
        DTypeError: an operand is of half precision.
        ConfigError: `assume_a` is neither.

    >>> tn.linalg.expm_frechet([[0.0]], [[3.0]]).derivative
    Tensor([[3.]])
    """
    whole = ExpmFrechetResult(*apply(general.expm_frechet, a, e, assume_a=assume_a))
    return whole if compute_expm else whole.derivative


def schur(a: ArrayLike, output: str = "real") -> SchurResult:
    """The Schur form T and the unitary Z of square matrices a = Z T Zᴴ.

    T is upper triangular; for real a with 2×2 blocks for pairs of complex eigenvalues. It has no
    derivative. XLA has it on the CPU only.

    Args:
        a: matrices, of shape [..., n, n].
        output: "complex" makes T triangular, and complex for real a too.

    Raises:
        ShapeError: a is not square.
        DTypeError: a is of half precision.
        ConfigError: there is no such output.

    >>> tn.linalg.schur([[1.0, 2.0], [0.0, 3.0]]).T
    Tensor([[1., 2.],
            [0., 3.]])
    """
    return SchurResult(*apply(general.schur, a, output=output))


def hessenberg(a: ArrayLike, calc_q: bool = False) -> HessenbergResult | AnyTensor:
    """The Hessenberg form H of square matrices a = Q H Qᴴ, zero below its first subdiagonal.

    It has no derivative. XLA has it on the CPU only.

    Args:
        a: matrices, of shape [..., n, n].
        calc_q: whether the unitary Q is returned too.

    Raises:
        ShapeError: a is not square.
        DTypeError: a is of half precision.

    >>> tn.linalg.hessenberg([[1.0, 2.0], [3.0, 4.0]])
    Tensor([[1., 2.],
            [3., 4.]])
    """
    whole = HessenbergResult(*apply(general.hessenberg, a))
    return whole if calc_q else whole.H


def eigh_tridiagonal(
    d: ArrayLike, e: ArrayLike, *, eigvals_only: bool = False
) -> EighTridiagonalResult | AnyTensor:
    """Eigenvalues, ascending, and eigenvectors of real symmetric tridiagonal matrices; as `eigh`.

    Args:
        d: the diagonals, of shape [..., n].
        e: the diagonals beside them, of shape [..., n - 1].
        eigvals_only: return the eigenvalues alone.

    Raises:
        ShapeError: e is not shorter than d by one.
        DTypeError: an operand is complex or of half precision.

    >>> tn.linalg.eigh_tridiagonal([2.0, 2.0], [1.0], eigvals_only=True)
    Tensor([1., 3.])
    """
    whole = EighTridiagonalResult(*apply(structured.eigh_tridiagonal, d, e))
    return whole.eigenvalues if eigvals_only else whole


def block_diag(*arrays: ArrayLike) -> AnyTensor:
    """The matrices with the blocks on their diagonals, and zeros elsewhere.

    Args:
        arrays: blocks, of shape [..., m, n]; a vector is one row. Batch axes are broadcast.

    Raises:
        ShapeError: there is no array, or batch axes do not fit.

    >>> tn.linalg.block_diag([[1, 2]], [[3], [4]])
    Tensor([[1, 2, 0],
            [0, 0, 3],
            [0, 0, 4]])
    """
    return apply(structured.block_diag, *arrays)


def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> AnyTensor:
    """The matrices with constant diagonals, of which c is the first column and r the first row.

    Args:
        c: columns, of shape [..., n].
        r: rows, of shape [..., m], of which the first element is not read; by default c.conj().

    Raises:
        ShapeError: an operand has no axis, or batch axes do not fit.

    >>> tn.linalg.toeplitz([1, 2, 3], [1, 4])
    Tensor([[1, 4],
            [2, 1],
            [3, 2]])
    """
    if r is None:
        return apply(structured.hermitian_toeplitz, c)
    return apply(structured.toeplitz, c, r)
