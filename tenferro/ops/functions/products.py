"""Matrix and tensor products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tenferro.errors import AxisError, DTypeError, ExecutorError, ShapeError, counted
from tenferro.ir import (
    BOOL,
    FLOAT32,
    AnyTensor,
    ArrayLike,
    Dim,
    DType,
    DTypeLike,
    Exact,
    TensorMeta,
    as_dtype,
    canonical,
    dtype_kind,
    integer_of,
    short_name,
)
from tenferro.ops import DotGeneral, Reshape
from tenferro.ops.functions.dispatch import array_function, emit
from tenferro.ops.functions.elementwise import conj, multiply, negative, subtract
from tenferro.ops.functions.logical import not_equal
from tenferro.ops.functions.manipulation import concat, diagonal, expand_dims, moveaxis, ravel, roll
from tenferro.ops.functions.promotion import (
    KINDS,
    array,
    broadcast,
    called,
    common_batch,
    convert,
    matched,
    normal_axis,
    promote,
    repeated,
    result_dtype,
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

PRECISIONS = frozenset(
    ("default", "fastest", "bfloat16", "high", "tensorfloat32", "bfloat16_3x", "highest", "float32")
)
"""What JAX calls the precisions of products of 32-bit numbers."""


def check_precision(name: str, precision: object) -> None:
    """Accept a precision of products, which is that of the executor; it is a permission.

    Raises:
        ExecutorError: there is no such precision, or it names an algorithm.
    """
    both = precision if isinstance(precision, tuple | list) else (precision,)
    for each in both:
        word = str(getattr(each, "name", each)).lower()
        if word not in PRECISIONS and each is not None:
            raise ExecutorError(
                f"{name}: precision must be one of {', '.join(sorted(PRECISIONS))}, got {each!r}; "
                "it is a permission, and the executor's option is what counts: "
                "XlaExecutor(precision=...)"
            )


def factors(
    name: str, x: ArrayLike, y: ArrayLike, precision: object, element: DTypeLike | None
) -> list[AnyTensor]:
    """The factors of a product in their common dtype, or in the preferred one."""
    if precision is not None:
        check_precision(name, precision)
    if element is None:
        return promote((x, y))
    return promote((x, y), preferred(name, result_dtype((x, y)), element))


def preferred(name: str, common: DType, element: DTypeLike) -> DType:
    """The preferred dtype of products of the dtype `common`.

    Raises:
        DTypeError: it cannot hold them.
    """
    dtype = as_dtype(element)
    if KINDS[dtype_kind(common)] > KINDS[dtype_kind(dtype)]:
        raise DTypeError(
            f"{name}: preferred_element_type {short_name(dtype)} cannot hold products of "
            f"{short_name(common)}"
        )
    return dtype


def _of_bools(
    function: Callable[..., AnyTensor], x: AnyTensor, y: AnyTensor, *options: Any
) -> AnyTensor:
    """A product of bools: whether any of its terms is true.

    Sums of zeros and ones are computed in floating-point numbers, of which none rounds to 0.
    """
    return not_equal(function(convert(x, FLOAT32), convert(y, FLOAT32), *options), 0)


@array_function(operands=2)
def matmul(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: object = None,
    preferred_element_type: DTypeLike | None = None,
) -> AnyTensor:
    """Matrix product over the last two axes; leading axes are broadcast, vectors are as in NumPy.

    `precision` has no effect: products are as precise as the executor says, by default in full.
    With `preferred_element_type` they are computed in that dtype. Products of bools are bools.

    >>> tn.matmul([[1, 2], [3, 4]], [1, 1])
    Tensor([3, 7])
    """
    left, right = factors("matmul", a, b, precision, preferred_element_type)
    if left.meta.dtype == BOOL:
        return _of_bools(matmul, left, right)
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
def tensordot(
    a: ArrayLike,
    b: ArrayLike,
    axes: Axes = 2,
    *,
    precision: object = None,
    preferred_element_type: DTypeLike | None = None,
) -> AnyTensor:
    """Contraction of the last `axes` axes of `a` with the first `axes` axes of `b`.

    `axes` may also be a pair of lists: the axes of `a` and the axes of `b` to contract.

    >>> tn.tensordot([[1, 2], [3, 4]], [[1, 0], [0, 1]])
    Tensor(5)
    """
    left, right = factors("tensordot", a, b, precision, preferred_element_type)
    if left.meta.dtype == BOOL:
        return _of_bools(tensordot, left, right, axes)
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
def outer(a: ArrayLike, b: ArrayLike, out: None = None) -> AnyTensor:
    """The products of all elements of `a` with all elements of `b`, both flattened.

    >>> tn.outer([1, 2], [3, 4])
    Tensor([[3, 4],
            [6, 8]])
    """
    left, right = (ravel(value) for value in promote((a, b)))
    return multiply(expand_dims(left, 1), right)


@array_function(operands=2)
def inner(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: object = None,
    preferred_element_type: DTypeLike | None = None,
) -> AnyTensor:
    """The sums of a·b over the last axis of each; the product if either is a scalar.

    >>> tn.inner([[1, 2], [3, 4]], [1, 1])
    Tensor([3, 7])
    """
    left, right = factors("inner", a, b, precision, preferred_element_type)
    if left.meta.dtype == BOOL:
        return _of_bools(inner, left, right)
    ranks = left.meta.rank, right.meta.rank
    if 0 in ranks:
        return multiply(left, right)
    return called("inner", DotGeneral((ranks[0] - 1,), (ranks[1] - 1,)), left, right)


@array_function(operands=2)
def vdot(
    a: ArrayLike,
    b: ArrayLike,
    *,
    precision: object = None,
    preferred_element_type: DTypeLike | None = None,
) -> AnyTensor:
    """The sum of conj(a)·b over all elements.

    >>> tn.vdot([[1, 2], [3, 4]], [[1, 1], [1, 1]])
    Tensor(10)
    """
    left, right = factors("vdot", a, b, precision, preferred_element_type)
    if left.meta.dtype == BOOL:
        return _of_bools(vdot, left, right)
    left, right = ravel(left), ravel(right)
    return called("vdot", DotGeneral((0,), (0,)), conj(left), right)


@array_function(operands=2)
def vecdot(
    x1: ArrayLike,
    x2: ArrayLike,
    axis: int = -1,
    *,
    precision: object = None,
    preferred_element_type: DTypeLike | None = None,
) -> AnyTensor:
    """The sums of conj(x1)·x2 along `axis`; the other axes are broadcast.

    >>> tn.vecdot([[1, 2], [3, 4]], [1, 1])
    Tensor([3, 7])
    """
    left, right = factors("vecdot", x1, x2, precision, preferred_element_type)
    if left.meta.dtype == BOOL:
        return _of_bools(vecdot, left, right, axis)
    for meta in (left.meta, right.meta):
        if meta.rank == 0:
            raise ShapeError(f"vecdot: operands must have at least one axis, got {meta}")
    left, right = (moveaxis(value, axis, -1) for value in (conj(left), right))
    left, right = broadcast("vecdot", [left, right])
    last = left.meta.rank - 1
    batch = tuple(range(last))
    return called("vecdot", DotGeneral((last,), (last,), batch, batch), left, right)


@array_function(operands=2)
def kron(a: ArrayLike, b: ArrayLike) -> AnyTensor:
    """Kronecker product: each element of `a` is replaced by its product with `b`.

    >>> tn.kron([1, 2], [1, 10])
    Tensor([ 1, 10,  2, 20])
    """
    left, right = promote((a, b))
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
def trace(
    a: ArrayLike,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike | None = None,
    out: None = None,
) -> AnyTensor:
    """The sum along a diagonal of two axes; `dtype` as of `sum`.

    >>> tn.trace([[1, 2], [3, 4]])
    Tensor(5)
    """
    a = array(a)
    if a.meta.rank < 2:
        raise ShapeError(f"trace: needs at least two axes, got {a.meta}")
    return sum(diagonal(a, offset, axis1, axis2), -1, dtype)


@array_function(operands=2)
def cross(
    a: ArrayLike,
    b: ArrayLike,
    axisa: int = -1,
    axisb: int = -1,
    axisc: int = -1,
    axis: int | None = None,
) -> AnyTensor:
    """Vector product along axes of size 3; the other axes are broadcast.

    A vector of 2 components has 0 as the third one. The product of two of them is its third
    component alone, as in NumPy before version 2 and in JAX.

    Args:
        a: vectors.
        b: vectors.
        axisa: the axis of the components in `a`.
        axisb: the axis of the components in `b`.
        axisc: that of the result.
        axis: all three of them.

    >>> tn.cross([1, 0, 0], [0, 1, 0])
    Tensor([0, 0, 1])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    pairs = zip(promote((a, b)), (axisa, axisb), strict=True)
    left, right = (moveaxis(value, place, -1) for value, place in pairs)
    sizes = [value.meta.exact_shape("cross", "operand")[-1] for value in (left, right)]
    for meta, size in zip((left.meta, right.meta), sizes, strict=True):
        if size not in (2, 3):
            raise ShapeError(f"cross: the vectors must have 3 components, or 2, got {meta}")
    if sizes != [3, 3]:
        return _cross_in_plane(left, right, axisc)
    left, right = broadcast("cross", [left, right])

    def turned(value: AnyTensor, by: int) -> AnyTensor:
        return roll(value, by, -1)

    product = subtract(
        multiply(turned(left, -1), turned(right, 1)), multiply(turned(left, 1), turned(right, -1))
    )
    return moveaxis(product, -1, axisc)


def _cross_in_plane(left: AnyTensor, right: AnyTensor, axis: int) -> AnyTensor:
    """The vector product of vectors along the last axes, of which one has 2 components."""
    x1, x2, y1, y2 = (value[..., i] for value in (left, right) for i in (0, 1))
    last = subtract(multiply(x1, y2), multiply(x2, y1))
    if left.meta.extents[-1] == right.meta.extents[-1]:
        return last
    if right.meta.extents[-1] == Exact(3):
        y3 = right[..., 2]
        first, second = multiply(x2, y3), negative(multiply(x1, y3))
    else:
        x3 = left[..., 2]
        first, second = negative(multiply(x3, y2)), multiply(x3, y1)
    parts = [expand_dims(part, -1) for part in broadcast("cross", [first, second, last])]
    return moveaxis(concat(*parts, axis=-1), -1, axis)


@array_function(operands=2)
def dot(
    a: ArrayLike,
    b: ArrayLike,
    out: None = None,
    *,
    precision: object = None,
    preferred_element_type: DTypeLike | None = None,
) -> AnyTensor:
    """Contraction of the last axis of `a` with the second last of `b`; a product for scalars.

    >>> tn.dot([1, 2], [3, 4])
    Tensor(11)
    """
    left, right = factors("dot", a, b, precision, preferred_element_type)
    if left.meta.dtype == BOOL:
        return _of_bools(dot, left, right)
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
