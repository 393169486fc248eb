"""Matrix and tensor products."""

from __future__ import annotations

from collections.abc import Sequence

from tenferro.errors import AxisError, ShapeError, counted
from tenferro.ir import AnyTensor, ArrayLike, Dim, Exact, TensorMeta, canonical, integer_of
from tenferro.ops import DotGeneral, Reshape
from tenferro.ops.functions.dispatch import array_function, emit
from tenferro.ops.functions.elementwise import conj, multiply, subtract
from tenferro.ops.functions.manipulation import diagonal, expand_dims, moveaxis, ravel, roll
from tenferro.ops.functions.promotion import (
    array,
    broadcast,
    called,
    common_batch,
    matched,
    normal_axis,
    promote,
    repeated,
)
from tenferro.ops.functions.reductions import sum

__all__ = [
    "cross",
    "dot",
    "inner",
    "kron",
    "matmul",
    "matvec",
    "outer",
    "tensordot",
    "trace",
    "vdot",
    "vecdot",
    "vecmat",
]

Axes = int | Sequence[int | Sequence[int]]


@array_function(operands=2)
def matmul(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """Matrix product over the last two axes; leading axes are broadcast, vectors are as in NumPy.

    >>> tn.matmul([[1, 2], [3, 4]], [1, 1])
    Tensor([3, 7])
    """
    left, right = promote((x1, x2))
    lhs, rhs = left.meta, right.meta
    if lhs.rank == 0 or rhs.rank == 0:
        raise ShapeError(f"matmul: operands {lhs} and {rhs} must have at least one axis")
    if (lhs.rank <= 2 and rhs.rank <= 2) or rhs.rank == 1:
        op = _checked(DotGeneral((lhs.rank - 1,), (max(rhs.rank - 2, 0),)), lhs, rhs)
        return emit(op, *matched(op, left, right))
    if lhs.rank == 1:
        return _vector_matrices(left, right)
    batch = common_batch("matmul", [lhs, rhs])
    left = repeated("matmul", left, (*batch, *lhs.extents[-2:]))
    right = repeated("matmul", right, (*batch, *rhs.extents[-2:]))
    n = len(batch)
    op = DotGeneral((n + 1,), (n,), tuple(range(n)), tuple(range(n)))
    return called("matmul", op, left, right)


@array_function(operands=2)
def tensordot(x1: ArrayLike, x2: ArrayLike, axes: Axes = 2) -> AnyTensor:
    """Contraction of the last `axes` axes of x1 with the first `axes` axes of x2.

    `axes` may also be a pair of lists: the axes of x1 and the axes of x2 to contract.

    >>> tn.tensordot([[1, 2], [3, 4]], [[1, 0], [0, 1]])
    Tensor(5)
    """
    left, right = promote((x1, x2))
    ranks = left.meta.rank, right.meta.rank
    count = integer_of(axes)
    if count is not None:
        if not 0 <= count <= min(ranks):
            raise AxisError(
                f"tensordot: cannot contract {count} axes of ranks {ranks[0]} and {ranks[1]}"
            )
        lhs: Sequence[int] = range(ranks[0] - count, ranks[0])
        rhs: Sequence[int] = range(count)
    elif isinstance(axes, tuple | list) and len(axes) == 2:
        lhs, rhs = (
            axis_list if isinstance(axis_list, tuple | list) else (axis_list,) for axis_list in axes
        )
    else:
        raise AxisError(f"tensordot: axes must be a number or a pair of lists, got {axes!r}")
    if len(lhs) != len(rhs):
        raise AxisError(
            f"tensordot: got {counted(len(lhs), 'axis', 'axes')} of x1 and "
            f"{counted(len(rhs), 'axis', 'axes')} of x2; pass equally many"
        )
    dot = DotGeneral(
        tuple(normal_axis("tensordot", axis, ranks[0]) for axis in lhs),
        tuple(normal_axis("tensordot", axis, ranks[1]) for axis in rhs),
    )
    return called("tensordot", dot, left, right)


@array_function(operands=2)
def outer(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """The products of all elements of x1 with all elements of x2, both flattened.

    >>> tn.outer([1, 2], [3, 4])
    Tensor([[3, 4],
            [6, 8]])
    """
    left, right = (ravel(value) for value in promote((x1, x2)))
    return multiply(expand_dims(left, 1), right)


@array_function(operands=2)
def inner(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """The sums of x1·x2 over the last axis of each; the product if either is a scalar.

    >>> tn.inner([[1, 2], [3, 4]], [1, 1])
    Tensor([3, 7])
    """
    left, right = promote((x1, x2))
    ranks = left.meta.rank, right.meta.rank
    if 0 in ranks:
        return multiply(left, right)
    return called("inner", DotGeneral((ranks[0] - 1,), (ranks[1] - 1,)), left, right)


@array_function(operands=2)
def vdot(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """The sum of conj(x1)·x2 over all elements.

    >>> tn.vdot([[1, 2], [3, 4]], [[1, 1], [1, 1]])
    Tensor(10)
    """
    left, right = (ravel(value) for value in promote((x1, x2)))
    return called("vdot", DotGeneral((0,), (0,)), conj(left), right)


@array_function(operands=2)
def vecdot(x1: ArrayLike, x2: ArrayLike, axis: int = -1) -> AnyTensor:
    """The sums of conj(x1)·x2 along `axis`; the other axes are broadcast.

    >>> tn.vecdot([[1, 2], [3, 4]], [1, 1])
    Tensor([3, 7])
    """
    left, right = promote((x1, x2))
    for meta in (left.meta, right.meta):
        if meta.rank == 0:
            raise ShapeError(f"vecdot: operands must have at least one axis, got {meta}")
    left, right = (moveaxis(value, axis, -1) for value in (conj(left), right))
    left, right = broadcast("vecdot", [left, right])
    last = left.meta.rank - 1
    batch = tuple(range(last))
    return called("vecdot", DotGeneral((last,), (last,), batch, batch), left, right)


@array_function(operands=2)
def kron(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """Kronecker product: each element of x1 is replaced by its product with x2.

    >>> tn.kron([1, 2], [1, 10])
    Tensor([ 1, 10,  2, 20])
    """
    left, right = promote((x1, x2))
    rank = max(left.meta.rank, right.meta.rank)
    left, right = (_of_rank(value, rank) for value in (left, right))
    shape = zip(
        *(value.meta.exact_shape("kron", "operand") for value in (left, right)), strict=True
    )
    left = expand_dims(left, tuple(range(1, 2 * rank, 2)))
    right = expand_dims(right, tuple(range(0, 2 * rank, 2)))
    return emit(Reshape(tuple(m * n for m, n in shape)), multiply(left, right))


def _of_rank(value: AnyTensor, rank: int) -> AnyTensor:
    value_rank = value.meta.rank
    return expand_dims(value, tuple(range(rank - value_rank))) if value_rank < rank else value


@array_function
def trace(x: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> AnyTensor:
    """The sum along a diagonal of two axes.

    >>> tn.trace([[1, 2], [3, 4]])
    Tensor(5)
    """
    x = array(x)
    if x.meta.rank < 2:
        raise ShapeError(f"trace: needs at least two axes, got {x.meta}")
    return sum(diagonal(x, offset, axis1, axis2), -1)


@array_function(operands=2)
def cross(x1: ArrayLike, x2: ArrayLike, axis: int = -1) -> AnyTensor:
    """Vector product along an axis of size 3; the other axes are broadcast.

    >>> tn.cross([1, 0, 0], [0, 1, 0])
    Tensor([0, 0, 1])
    """
    left, right = (moveaxis(value, axis, -1) for value in promote((x1, x2)))
    for meta in (left.meta, right.meta):
        if meta.exact_shape("cross", "operand")[-1] != 3:
            raise ShapeError(f"cross: the vectors must have 3 components, got {meta}")
    left, right = broadcast("cross", [left, right])

    def turned(value: AnyTensor, by: int) -> AnyTensor:
        return roll(value, by, -1)

    product = subtract(
        multiply(turned(left, -1), turned(right, 1)), multiply(turned(left, 1), turned(right, -1))
    )
    return moveaxis(product, -1, axis)


@array_function(operands=2)
def dot(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """Contraction of the last axis of x1 with the second last of x2; a product for scalars.

    >>> tn.dot([1, 2], [3, 4])
    Tensor(11)
    """
    left, right = promote((x1, x2))
    ranks = left.meta.rank, right.meta.rank
    if 0 in ranks:
        return multiply(left, right)
    op = DotGeneral((ranks[0] - 1,), (max(ranks[1] - 2, 0),))
    return called("dot", op, left, right)


def _checked(op: DotGeneral, lhs: TensorMeta, rhs: TensorMeta) -> DotGeneral:
    i, j = op.lhs_contract[0], op.rhs_contract[0]
    a, b = lhs.extents[i], rhs.extents[j]
    if isinstance(a, Exact) and isinstance(b, Exact) and canonical(a.dim, b.dim) is None:
        raise ShapeError(
            f"matmul: axis {i} of {lhs} and axis {j} of {rhs} are contracted but have sizes "
            f"{a} and {b}"
        )
    return op


def _vector_matrices(vector: AnyTensor, matrices: AnyTensor) -> AnyTensor:
    sizes: tuple[Dim, ...] = vector.meta.exact_shape("matmul", "lhs")
    row = emit(Reshape((1, *sizes)), vector)
    product = matmul(row, matrices)
    shape = product.meta.exact_shape("matmul", "result")
    return emit(Reshape((*shape[:-2], shape[-1])), product)


@array_function(operands=2)
def matvec(x1: ArrayLike, x2: ArrayLike, /) -> AnyTensor:
    """The products of matrices [..., m, n] with vectors [..., n].

    >>> tn.matvec([[1, 2], [3, 4]], [1, 1])
    Tensor([3, 7])
    """
    a, v = promote((x1, x2))
    if a.ndim < 2 or v.ndim < 1:
        raise ShapeError(f"matvec: takes matrices and vectors, got {a.meta} and {v.meta}")
    return matmul(a, v[..., None])[..., 0]


@array_function(operands=2)
def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> AnyTensor:
    """The products of the conjugates of vectors [..., m] with matrices [..., m, n].

    >>> tn.vecmat([1, 1], [[1, 2], [3, 4]])
    Tensor([4, 6])
    """
    v, a = promote((x1, x2))
    if a.ndim < 2 or v.ndim < 1:
        raise ShapeError(f"vecmat: takes vectors and matrices, got {v.meta} and {a.meta}")
    return matmul(conj(v)[..., None, :], a)[..., 0, :]
