"""Products, traces, multi_dot; block_diag and toeplitz."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from tenferro.errors import ConfigError, DTypeError, ShapeError
from tenferro.ir import INT64, AnyTensor, ArrayLike, Dim, DTypeLike, TensorMeta
from tenferro.linalg.arguments import agreed, integer, same_batch
from tenferro.linalg.matrix_op import columns, padded, places, rows
from tenferro.network.einsum_op import EinsumOp
from tenferro.network.search import ContractionOptimizerOptions
from tenferro.network.subscripts import Subscripts
from tenferro.ops.extension import Extension
from tenferro.ops.functions import (
    apply,
    array,
    array_function,
    elementwise,
    emit,
    full,
    indexing,
    manipulation,
    named,
    products,
    promote,
    reductions,
    refuse_out,
)
from tenferro.ops.functions.products import check_precision

__all__ = ["block_diag", "diagonal", "multi_dot", "outer", "toeplitz", "trace"]

# Products of linear algebra that differ from those of `tn`; and `multi_dot`.

_PLAN = ("auto", *ContractionOptimizerOptions().identity)


def multi_dot(
    arrays: Sequence[ArrayLike], *, out: None = None, precision: object = None
) -> AnyTensor:
    """The product of several matrices, in the order that takes the least work.

    Args:
        arrays: two or more matrices; the first and the last may be vectors.
        out: None, as arrays are not written to.
        precision: has no effect, as of `tn.matmul`.

    Raises:
        ShapeError: there are fewer than two, one has another rank, or their sizes do not fit.
        DTypeError: `arrays` is not a sequence of arrays.

    >>> tn.linalg.multi_dot([[1.0, 2.0], [[0.0, 1.0], [1.0, 0.0]], [3.0, 4.0]])
    Tensor(10.)
    """
    sequence = hasattr(arrays, "__iter__") and getattr(arrays, "ndim", 1) > 0
    if isinstance(arrays, str | Mapping) or not sequence:
        raise DTypeError(f"multi_dot: takes a sequence of arrays, got {type(arrays).__name__}")
    refuse_out("multi_dot", out)
    if precision is not None:
        check_precision("multi_dot", precision)
    return apply(_chain, *arrays)


@named("multi_dot")
def _chain(*arrays: Any) -> AnyTensor:
    """The product of matrices, as one network that is planned when sizes are known."""
    if len(arrays) < 2:
        raise ShapeError(f"multi_dot: takes two or more arrays, got {len(arrays)}")
    values = promote(arrays)
    last = len(values) - 1
    labels: list[tuple[int, ...]] = []
    for i, value in enumerate(values):
        meta = value.meta
        if meta.rank != 2 and not (meta.rank == 1 and i in (0, last)):
            raise ShapeError(f"multi_dot: takes matrices, got {meta} for operand {i}")
        if meta.rank == 2:
            labels.append((i, i + 1))
        else:
            labels.append((i + 1,) if i == 0 else (i,))
    metas = [value.meta for value in values]
    shapes = [meta.exact_shape("multi_dot") for meta in metas]
    for i, (left, right) in enumerate(pairwise(shapes)):
        text = (
            f"multi_dot: operand {i} {metas[i]} has {left[-1]} columns, but operand {i + 1} "
            f"{metas[i + 1]} has {right[0]} rows"
        )
        agreed(left[-1], right[0], text)
    output = tuple(label for i, label in ((0, 0), (last, last + 1)) if label in labels[i])
    network = Subscripts(tuple(labels), output).canonical()
    return emit(Extension(EinsumOp(network.inputs, network.output, _PLAN)), *values)


@array_function(operands=2, module="tenferro.linalg")
def outer(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """The products of all elements of one vector with all of another.

    Args:
        x1: a vector, of shape [m].
        x2: a vector, of shape [n].

    Raises:
        ShapeError: an operand is not a vector.

    >>> tn.linalg.outer([1, 2], [3, 4])
    Tensor([[3, 4],
            [6, 8]])
    """
    left, right = promote((x1, x2))
    for meta in (left.meta, right.meta):
        if meta.rank != 1:
            raise ShapeError(f"outer: takes vectors, got {meta}")
    return products.outer(left, right)


@array_function(module="tenferro.linalg")
def trace(x: ArrayLike, *, offset: int = 0, dtype: DTypeLike | None = None) -> AnyTensor:
    """The sum of a diagonal of each matrix.

    Args:
        x: matrices, of shape [..., m, n].
        offset: the diagonal; above the main one if positive.
        dtype: of the sum; by default as in `tn.sum`.

    Raises:
        ShapeError: x has fewer than two axes.

    >>> tn.linalg.trace([[1.0, 2.0], [3.0, 4.0]])
    Tensor(5.)
    """
    x = array(x)
    parts = manipulation.diagonal(_matrices("trace", x), _offset("trace", offset), -2, -1)
    return reductions.sum(parts, -1, dtype=dtype)


@array_function(module="tenferro.linalg")
def diagonal(x: ArrayLike, *, offset: int = 0) -> AnyTensor:
    """A diagonal of each matrix.

    Args:
        x: matrices, of shape [..., m, n].
        offset: the diagonal; above the main one if positive.

    Raises:
        ShapeError: x has fewer than two axes.

    >>> tn.linalg.diagonal([[1.0, 2.0], [3.0, 4.0]])
    Tensor([1., 4.])
    """
    x = array(x)
    return manipulation.diagonal(_matrices("diagonal", x), _offset("diagonal", offset), -2, -1)


def _offset(name: str, offset: object) -> int:
    """The number of a diagonal."""
    place = integer(name, "offset", offset)
    if place is None:
        raise ConfigError(f"{name}: offset must be an integer, got {offset!r}")
    return place


def _matrices(name: str, x: AnyTensor) -> AnyTensor:
    """x, which has two axes or more."""
    meta = x.meta
    if meta.rank < 2:
        raise ShapeError(f"{name}: takes matrices [..., m, n], got {meta}")
    return x


# Matrices with a structure.


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
    return apply(_block_diag, *arrays)


@named("block_diag")
def _block_diag(*arrays: Any) -> AnyTensor:
    name = "block_diag"
    if not arrays:
        raise ShapeError(f"{name}: needs at least one array, got none")
    blocks = same_batch(name, *[manipulation.at_least(value, 2) for value in promote(arrays)])
    widths: list[Dim] = [block.meta.exact_shape(name)[-1] for block in blocks]
    lines = [
        padded(block, -1, sum(widths[:number]), sum(widths[number + 1 :]))
        for number, block in enumerate(blocks)
    ]
    return manipulation.concat(*lines, axis=-2)


def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> AnyTensor:
    """The matrices with constant diagonals, of which c is the first column and r the first row.

    Args:
        c: columns, of shape [..., n]; a number is a column of it.
        r: rows, of shape [..., m], of which the first element is not read; by default c.conj().

    Raises:
        ShapeError: batch axes do not fit.

    >>> tn.linalg.toeplitz([1, 2, 3], [1, 4])
    Tensor([[1, 4],
            [2, 1],
            [3, 2]])
    """
    return apply(_toeplitz, c) if r is None else apply(_toeplitz, c, r)


@named("toeplitz")
def _toeplitz(c: AnyTensor, r: AnyTensor | None = None) -> AnyTensor:
    name = "toeplitz"
    column, row = promote((c, elementwise.conj(c) if r is None else r))
    column, row = (x if x.meta.rank else manipulation.expand_dims(x, 0) for x in (column, row))
    types = [column.meta, row.meta]
    lines = same_batch(name, columns(column), columns(row), types=types)
    first, top = (manipulation.squeeze(line, -2) for line in lines)
    n, m = first.shape[-1], top.shape[-1]
    if 0 in (n, m):
        return full(0, TensorMeta.of(first.dtype, (*first.shape, m)))
    along = manipulation.concat(manipulation.flip(first, axis=-1), top[..., 1:], axis=-1)
    down, right = (places(first, size, INT64) for size in (n, m))
    diagonals = rows(manipulation.flip(down)) + columns(right)
    axis = along.ndim - 1
    return indexing.gather(along, indexing.IndexedAxes((axis,), axis), [diagonals], [True])
