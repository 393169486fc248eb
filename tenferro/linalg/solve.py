"""solve, inv, tensorsolve, tensorinv."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenferro.errors import ConfigError, ShapeError
from tenferro.families.linalg import (
    Cholesky,
    LuSolve,
    TridiagonalSolve,
    inverse,
    lu,
    sym,
    triangular_solve,
)
from tenferro.ir import AnyTensor, ArrayLike, ShapeExtent, TensorMeta, canonical, product
from tenferro.linalg.arguments import floating, integer, same_batch, square, systems
from tenferro.ops.extension import Extension
from tenferro.ops.functions import (
    array_function,
    common_batch,
    emit,
    emit_all,
    manipulation,
    normal_axis,
    repeated,
)

__all__ = ["inv", "solve", "solve_triangular", "tensorinv", "tensorsolve", "tridiagonal_solve"]

TRANS = {0: "n", 1: "t", 2: "c", "N": "n", "T": "t", "C": "c"}
"""The names of op(A) = A, Aᵀ, Aᴴ, as users write them."""


def transposition(name: str, trans: object) -> str:
    """The name of op(A) in families.

    Raises:
        ConfigError: there is no such `trans`.
    """
    if not isinstance(trans, int | str) or trans not in TRANS:
        raise ConfigError(f"{name}: trans must be 0, 1, 2, 'N', 'T' or 'C', got {trans!r}")
    return TRANS[trans]


ASSUMPTIONS = ("gen", "sym", "her", "pos", "upper triangular", "lower triangular")


@array_function(operands=2, module="tenferro.linalg")
def solve(a: ArrayLike, b: ArrayLike, /, *, assume_a: str = "gen") -> AnyTensor:
    """The solution x of a x = b; infinities or NaN where a is singular.

    One LU factorization is shared with the derivatives, and with `det`, `slogdet` and `inv` of the
    same array in one program.

    Args:
        a: matrices, of shape [..., n, n].
        b: right sides, of shape [..., n, k], or one vector of shape [n].
        assume_a: what is known of a. `"gen"`: nothing. `"sym"`, `"her"`: a is (a + aᵀ) / 2 or
            (a + aᴴ) / 2, and gradients are symmetric or Hermitian. `"pos"`: also positive definite,
            else the solution is NaN. `"upper triangular"`, `"lower triangular"`: the other triangle
            is not read.

    Raises:
        ShapeError: a is not square, or b does not have its number of rows.
        DTypeError: an operand is of half precision.
        ConfigError: `assume_a` is none of these.

    >>> tn.linalg.solve([[2.0, 1.0], [1.0, 3.0]], [3.0, 4.0])
    Tensor([1., 1.])
    """
    if assume_a not in ASSUMPTIONS:
        names = ", ".join(map(repr, ASSUMPTIONS))
        raise ConfigError(f"solve: assume_a must be one of {names}, got {assume_a!r}")
    if assume_a.endswith("triangular"):
        lhs, rhs, restore = systems("solve", a, b)
        lower = assume_a.startswith("lower")
        x = triangular_solve(lhs, rhs, lower=lower)
        return restore(x)
    lhs, rhs, restore = systems("solve", a, b, repeat=False)
    matrix, right = lhs, rhs
    if assume_a in ("sym", "her"):
        matrix = sym(matrix) if assume_a == "her" else (matrix + matrix.mT) * 0.5
    return restore(_solved(matrix, right, positive=assume_a == "pos"))


def _solved(a: Any, b: Any, positive: bool) -> Any:
    """The solution, by factors of A before it is repeated along batch axes of B.

    If A is one matrix, the batch of B becomes further columns.
    """
    if a.ndim == 2 and b.ndim > 2:
        columns: Any = manipulation.moveaxis(b, source=-2, destination=0)
        flat = _solved(a, columns.reshape(columns.shape[0], -1), positive)
        unflat = flat.reshape(columns.shape)
        result: Any = manipulation.moveaxis(unflat, source=0, destination=-2)
        return result
    if positive:
        factors: Any = emit_all(Extension(Cholesky()), a)
    else:
        packed, _, permutation = lu(a)
        factors = (packed, permutation)
    batch = common_batch("solve", [a.meta, b.meta])
    whole = [_with_batch(x, batch, a.ndim - 2) for x in (a, *factors)]
    right = _with_batch(b, batch, b.ndim - 2)
    op = LuSolve(kind="pos" if positive else "gen")
    return emit(Extension(op), *whole, right)


def _with_batch(x: Any, batch: Sequence[ShapeExtent], rank: int) -> Any:
    """x with its first `rank` axes, which are its batch axes, repeated to a batch."""
    extents = (*batch, *x.meta.extents[rank:])
    return repeated("solve", x, extents)


@array_function(module="tenferro.linalg")
def inv(x: ArrayLike, /) -> AnyTensor:
    """The inverse of square matrices; infinities or NaN where x is singular.

    Args:
        x: matrices, of shape [..., n, n].

    Raises:
        ShapeError: x is not square.
        DTypeError: x is of half precision.

    >>> tn.linalg.inv([[2.0, 0.0], [0.0, 4.0]])
    Tensor([[0.5 , 0.  ],
            [0.  , 0.25]])
    """
    result: Any = inverse(square("inv", x))
    return result


@array_function(operands=2, module="tenferro.linalg")
def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    *,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
) -> AnyTensor:
    """The solution x of op(a) x = b for triangular a.

    Args:
        a: matrices, of shape [..., n, n]; the other triangle is not read.
        b: right sides, of shape [..., n, k], or one vector of shape [n].
        trans: op(a) is a for 0 or "N", aᵀ for 1 or "T", aᴴ for 2 or "C".
        lower: whether a is lower triangular.
        unit_diagonal: take the diagonal as ones.

    Raises:
        ShapeError: a is not square, or b does not have its number of rows.
        DTypeError: an operand is of half precision.
        ConfigError: `trans` is none of these.

    >>> tn.linalg.solve_triangular([[2.0, 1.0], [0.0, 4.0]], [4.0, 8.0])
    Tensor([1., 2.])
    """
    matrix, right, restore = systems("solve_triangular", a, b)
    result = triangular_solve(
        matrix,
        right,
        lower=lower,
        trans=transposition("solve_triangular", trans),
        unit=unit_diagonal,
    )
    return restore(result)


@array_function(operands=4, module="tenferro.linalg")
def tridiagonal_solve(dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike) -> AnyTensor:
    """The solution x of t x = b for tridiagonal t; NaN where elimination meets a zero pivot.

    Row i of t has dl[i], d[i] and du[i]; dl[0] and du[n - 1] are not read.

    Args:
        dl: the diagonals below the main one, of shape [..., n].
        d: the main diagonals, of shape [..., n].
        du: the diagonals above the main one, of shape [..., n].
        b: right sides, of shape [..., n, k], or one vector of shape [n].

    Raises:
        ShapeError: the sizes differ.
        DTypeError: an operand is of half precision.

    >>> tn.linalg.tridiagonal_solve([0.0, 1.0], [2.0, 2.0], [1.0, 0.0], [3.0, 3.0])
    Tensor([1., 1.])
    """
    name = "tridiagonal_solve"
    *diagonals, right = floating(name, dl, d, du, b)
    metas: list[TensorMeta] = [value.meta for value in (*diagonals, right)]
    if not all(meta.rank for meta in metas):
        raise ShapeError(f"{name}: takes vectors [..., n] and right sides, got {_listed(metas)}")
    is_vector = metas[-1].rank == 1
    sizes = [meta.exact_shape(name, "operand")[-1] for meta in metas[:3]]
    sizes.append(metas[-1].exact_shape(name, "b")[-1 if is_vector else -2])
    if any(canonical(sizes[0], size) is None for size in sizes):
        raise ShapeError(f"{name}: diagonals and right side {_listed(metas)} differ in rows")
    if is_vector:
        right = manipulation.expand_dims(right, -1)
    columns = [manipulation.expand_dims(diagonal, -1) for diagonal in diagonals]
    *columns, right = same_batch(name, *columns, right, given=metas)
    diagonals = [manipulation.squeeze(column, -1) for column in columns]
    (x,) = emit_all(Extension(TridiagonalSolve()), *diagonals, right)
    return manipulation.squeeze(x, -1) if is_vector else x


def _listed(metas: Sequence[TensorMeta]) -> str:
    return ", ".join(map(str, metas))


@array_function(operands=2, module="tenferro.linalg")
def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> AnyTensor:
    """The x with `tensordot(a, x, x.ndim) == b`, as in NumPy.

    Args:
        a: of shape b.shape + x.shape, in which both parts have equally many elements.
        b: the right side, of any shape.
        axes: axes of a that are moved to the end before.

    Raises:
        ShapeError: the shapes do not fit.
        DTypeError: an operand is of half precision.

    >>> tn.linalg.tensorsolve(2.0 * tn.eye(4).reshape(2, 2, 2, 2), [[2.0, 4.0], [6.0, 8.0]])
    Tensor([[1., 2.],
            [3., 4.]])
    """
    lhs, rhs = floating("tensorsolve", a, b)
    left: TensorMeta = lhs.meta
    if axes is not None:
        last = [normal_axis("tensorsolve", axis, left.rank) for axis in axes]
        order = [axis for axis in range(left.rank) if axis not in last] + last
        lhs = manipulation.permute_dims(lhs, order)
        left = lhs.meta
    right: TensorMeta = rhs.meta
    rows = right.exact_shape("tensorsolve", "b")
    shape = left.exact_shape("tensorsolve", "a")
    if any(canonical(m, n) is None for m, n in zip(rows, shape, strict=False)):
        raise ShapeError(f"tensorsolve: lhs {left} must begin with the shape of rhs {right}")
    size, unknowns = product(rows), shape[right.rank :]
    if left.rank < right.rank or canonical(size, product(unknowns)) is None:
        raise ShapeError(
            f"tensorsolve: lhs {left} has {product(unknowns)} unknowns for {size} equations; "
            "they must be equally many"
        )
    flat = solve(manipulation.reshape(lhs, (size, size)), manipulation.reshape(rhs, (size,)))
    return manipulation.reshape(flat, unknowns)


@array_function(module="tenferro.linalg")
def tensorinv(a: ArrayLike, ind: int = 2) -> AnyTensor:
    """The inverse of the linear map `tensordot(a, x, a.ndim - ind)`, as in NumPy.

    Args:
        a: the first `ind` axes must have as many elements as the others.
        ind: the number of axes of the result of the map.

    Raises:
        ShapeError: the shapes do not fit.
        ConfigError: `ind` is not a positive integer.
        DTypeError: a is of half precision.

    >>> tn.linalg.tensorinv(2.0 * tn.eye(4).reshape(2, 2, 4)).shape
    (4, 2, 2)
    """
    count = integer("tensorinv", "ind", ind)
    if count is None or count < 1:
        raise ConfigError(f"tensorinv: ind must be a positive integer, got {ind!r}")
    ind = count
    (value,) = floating("tensorinv", a)
    meta: TensorMeta = value.meta
    shape = meta.exact_shape("tensorinv", "a")
    size, others = product(shape[:ind]), product(shape[ind:])
    if canonical(size, others) is None:
        raise ShapeError(
            f"tensorinv: the first {ind} axes of {meta} have {size} elements, the others {others}; "
            "they must be equally many"
        )
    result = inv(manipulation.reshape(value, (size, size)))
    return manipulation.reshape(result, (*shape[ind:], *shape[:ind]))
