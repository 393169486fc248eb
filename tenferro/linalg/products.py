"""Products of linear algebra that differ from those of `tn`, over an emitter; and `multi_dot`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from tenferro.arrays import Operand, named, products, promote, rearrange, reductions
from tenferro.chainrules import Emitter, V
from tenferro.dispatch import apply
from tenferro.errors import ConfigError, DTypeError, ShapeError
from tenferro.families import EinsumOp
from tenferro.family import Extension
from tenferro.linalg.operands import integer
from tenferro.planning import ContractionOptimizerOptions, Subscripts
from tenferro.shape import canonical
from tenferro.typing import AnyTensor, ArrayLike, DTypeLike

_PLAN = ("auto", *ContractionOptimizerOptions().identity)


def multi_dot(arrays: Sequence[ArrayLike], /) -> AnyTensor:
    """The product of several matrices, in the order that takes the least work.

    Args:
        arrays: two or more matrices; the first and the last may be vectors.

    Raises:
        ShapeError: there are fewer than two, one has another rank, or their sizes do not fit.
        DTypeError: `arrays` is not a sequence of arrays.

    >>> tn.linalg.multi_dot([[1.0, 2.0], [[0.0, 1.0], [1.0, 0.0]], [3.0, 4.0]])
    Tensor(10.)
    """
    if isinstance(arrays, str | Mapping) or not hasattr(arrays, "__iter__") or not _ndim(arrays):
        raise DTypeError(f"multi_dot: takes a sequence of arrays, got {type(arrays).__name__}")
    return apply(_chain, *arrays)


def _ndim(arrays: object) -> int:
    """The rank of an array, 1 of another sequence."""
    return int(getattr(arrays, "ndim", 1))


@named("multi_dot")
def _chain(at: Emitter[V], *arrays: Operand[V]) -> V:
    """The product of matrices, as one network that is planned when sizes are known."""
    if len(arrays) < 2:
        raise ShapeError(f"multi_dot: takes two or more arrays, got {len(arrays)}")
    values = promote(at, arrays)
    last = len(values) - 1
    labels: list[tuple[int, ...]] = []
    for i, value in enumerate(values):
        meta = at.ctx.meta(value)
        if meta.rank != 2 and not (meta.rank == 1 and i in (0, last)):
            raise ShapeError(f"multi_dot: takes matrices, got {meta} for operand {i}")
        if meta.rank == 2:
            labels.append((i, i + 1))
        else:
            labels.append((i + 1,) if i == 0 else (i,))
    _check_chain(at, values)
    output = tuple(label for i, label in ((0, 0), (last, last + 1)) if label in labels[i])
    network = Subscripts(tuple(labels), output).canonical()
    return at.emit(Extension(EinsumOp(network.inputs, network.output, _PLAN)), *values)


def _check_chain(at: Emitter[V], values: Sequence[V]) -> None:
    """Raise ShapeError if the columns of an operand are not as many as the rows of the next."""
    metas = [at.ctx.meta(value) for value in values]
    shapes = [meta.exact_shape("multi_dot") for meta in metas]
    for i, (left, right) in enumerate(pairwise(shapes)):
        if canonical(left[-1], right[0]) is None:
            raise ShapeError(
                f"multi_dot: operand {i} {metas[i]} has {left[-1]} columns, but operand {i + 1} "
                f"{metas[i + 1]} has {right[0]} rows"
            )


def outer(at: Emitter[V], x1: Operand[V], x2: Operand[V], /) -> V:
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
    values = promote(at, (x1, x2))
    for value in values:
        meta = at.ctx.meta(value)
        if meta.rank != 1:
            raise ShapeError(f"outer: takes vectors, got {meta}")
    return products.outer(at, *values)


def trace(at: Emitter[V], x: V, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> V:
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
    parts = rearrange.diagonal(at, _matrices(at, "trace", x), _offset("trace", offset), -2, -1)
    return reductions.sum(at, parts, -1, dtype=dtype)


def diagonal(at: Emitter[V], x: V, /, *, offset: int = 0) -> V:
    """A diagonal of each matrix.

    Args:
        x: matrices, of shape [..., m, n].
        offset: the diagonal; above the main one if positive.

    Raises:
        ShapeError: x has fewer than two axes.

    >>> tn.linalg.diagonal([[1.0, 2.0], [3.0, 4.0]])
    Tensor([1., 4.])
    """
    return rearrange.diagonal(at, _matrices(at, "diagonal", x), _offset("diagonal", offset), -2, -1)


def _offset(name: str, offset: object) -> int:
    """The number of a diagonal."""
    place = integer(name, "offset", offset)
    if place is None:
        raise ConfigError(f"{name}: offset must be an integer, got {offset!r}")
    return place


def _matrices(at: Emitter[V], name: str, x: V) -> V:
    """x, which has two axes or more."""
    meta = at.ctx.meta(x)
    if meta.rank < 2:
        raise ShapeError(f"{name}: takes matrices [..., m, n], got {meta}")
    return x
