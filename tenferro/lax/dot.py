"""Contractions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from tenferro import numpy as tn
from tenferro.errors import AxisError, ShapeError
from tenferro.ir import AnyTensor, ArrayLike, DTypeLike, dtype_kind
from tenferro.lax.arguments import LAX, axes_of, require_default, result_type, same_dtype
from tenferro.ops import DotGeneral
from tenferro.ops.functions import array_function, called, elementwise
from tenferro.ops.functions.products import check_precision

__all__ = [
    "Precision",
    "RaggedDotDimensionNumbers",
    "batch_matmul",
    "dot",
    "dot_general",
    "ragged_dot",
    "ragged_dot_general",
]

Numbers = Sequence[Sequence[Sequence[int]]]


class Precision(Enum):
    """What JAX calls the precisions of products; here that of the executor is what counts.

    >>> Precision.HIGHEST.name
    'HIGHEST'
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2


@array_function(operands=2, module=LAX)
def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: Numbers,
    precision: object = None,
    preferred_element_type: DTypeLike | None = None,
) -> AnyTensor:
    """Sum of products over matched axes.

    The result's axes are the batch axes, then the free ones of lhs, then those of rhs.

    Args:
        lhs: the first operand.
        rhs: the second operand.
        dimension_numbers: `((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))`, four lists of
            axes.
        precision: has no effect, as of `tn.matmul`.
        preferred_element_type: the dtype in which it is computed.

    Raises:
        AxisError: the dimension numbers are not four lists of axes of the operands.
        ExecutorError: there is no such precision.

    >>> x = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> tn.lax.dot_general(x, x, (((1,), (0,)), ((), ())))
    Tensor([[ 7., 10.],
            [15., 22.]])
    """
    return _contracted(
        "dot_general", lhs, rhs, dimension_numbers, precision, preferred_element_type
    )


@array_function(operands=2, module=LAX)
def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: Numbers | None = None,
    precision: object = None,
    preferred_element_type: DTypeLike | None = None,
) -> AnyTensor:
    """The product of vectors and matrices; any contraction, if `dimension_numbers` say which.

    >>> tn.lax.dot(np.ones((2, 3)), np.ones(3))
    Tensor([3., 3.])
    """
    if dimension_numbers is None:
        metas = [value.meta for value in same_dtype("dot", [lhs, rhs])]
        if not all(1 <= meta.rank <= 2 for meta in metas):
            types = " and ".join(map(str, metas))
            raise AxisError(f"dot: takes vectors and matrices, got {types}; use dot_general")
        dimension_numbers = (((metas[0].rank - 1,), (0,)), ((), ()))
    return _contracted("dot", lhs, rhs, dimension_numbers, precision, preferred_element_type)


@array_function(operands=2, module=LAX)
def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: object = None) -> AnyTensor:
    """Matrix products for each entry of leading axes, which are common to both operands.

    >>> tn.lax.batch_matmul(np.ones((2, 1, 3)), np.ones((2, 3, 1))).shape
    (2, 1, 1)
    """
    left, right = same_dtype("batch_matmul", [lhs, rhs])
    metas = [value.meta for value in (left, right)]
    rank = metas[0].rank
    if rank < 2 or metas[1].rank != rank:
        types = " and ".join(map(str, metas))
        raise AxisError(f"batch_matmul: needs as many axes, two at least, of both, got {types}")
    batch = tuple(range(rank - 2))
    numbers = (((rank - 1,), (rank - 2,)), (batch, batch))
    return _contracted("batch_matmul", left, right, numbers, precision, None)


def _contracted(
    name: str,
    lhs: ArrayLike,
    rhs: ArrayLike,
    numbers: Any,
    precision: object,
    preferred: DTypeLike | None,
) -> AnyTensor:
    if precision is not None:
        check_precision(name, precision)
    values = same_dtype(name, [lhs, rhs])
    dtype = result_type(name, values, preferred)
    left, right = (elementwise.astype(value, dtype) for value in values)
    ranks = [value.meta.rank for value in values]
    pairs = isinstance(numbers, Sequence | np.ndarray) and len(numbers) == 2
    if not pairs or not all(
        isinstance(pair, Sequence | np.ndarray) and len(pair) == 2 and not isinstance(pair, str)
        for pair in numbers
    ):
        raise AxisError(
            f"{name}: dimension_numbers must be ((lhs_contract, rhs_contract), "
            f"(lhs_batch, rhs_batch)), got {numbers!r}"
        )
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    op = DotGeneral(
        axes_of(name, lhs_contract, ranks[0]),
        axes_of(name, rhs_contract, ranks[1]),
        axes_of(name, lhs_batch, ranks[0]),
        axes_of(name, rhs_batch, ranks[1]),
    )
    return called(name, op, left, right)


# Contractions of groups of rows, each with a matrix of its own.


@dataclass(frozen=True)
class RaggedDotDimensionNumbers:
    """The axes of `ragged_dot_general`.

    Attributes:
        dot_dimension_numbers: as in `dot_general`.
        lhs_ragged_dimensions: the axis of lhs that is divided into groups; one.
        rhs_group_dimensions: the axis of rhs that counts groups; one or none.
    """

    dot_dimension_numbers: Numbers
    lhs_ragged_dimensions: Sequence[int]
    rhs_group_dimensions: Sequence[int]


def ragged_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    precision: object = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: ArrayLike | None = None,
) -> AnyTensor:
    """Products of groups of rows, each with its matrix.

    Args:
        lhs: rows, of shape [m, k]; those of the first group come first.
        rhs: the matrices, of shape [g, k, n].
        group_sizes: how many rows each group has, of shape [g]; further rows give zeros.
        precision: has no effect, as of `tn.matmul`.
        preferred_element_type: the dtype in which it is computed.
        group_offset: must be None.

    >>> lhs, rhs = np.ones((3, 1)), np.array([[[1.0]], [[2.0]]])
    >>> tn.lax.ragged_dot(lhs, rhs, np.array([2, 1])).ravel()
    Tensor([1., 1., 2.])
    """
    numbers = RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))
    return _ragged("ragged_dot", lhs, rhs, group_sizes, numbers, precision,
                   preferred_element_type, group_offset)  # fmt: skip


def ragged_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    precision: object = None,
    preferred_element_type: DTypeLike | None = None,
    group_offset: ArrayLike | None = None,
) -> AnyTensor:
    """A contraction in which an axis of lhs is divided into groups.

    If that axis is a free one, rhs has an axis that counts groups, and each group meets its part.
    If it is contracted, the sum is one for each group, along a new first axis. If it is a batch
    axis, it is as without groups.

    Args:
        lhs: the first operand.
        rhs: the second operand.
        group_sizes: the sizes of the groups, of shape [g].
        ragged_dot_dimension_numbers: `tn.lax.RaggedDotDimensionNumbers`, or JAX's.
        precision: has no effect, as of `tn.matmul`.
        preferred_element_type: the dtype in which it is computed.
        group_offset: must be None.

    Raises:
        AxisError: the axes do not fit.
        ShapeError: `group_sizes` is not a vector, or rhs has another number of groups.

    >>> numbers = tn.lax.RaggedDotDimensionNumbers((((1,), (0,)), ((), ())), (1,), ())
    >>> x, sizes = np.ones((1, 3)), np.array([2, 1])
    >>> tn.lax.ragged_dot_general(x, x.T, sizes, numbers).ravel()
    Tensor([2., 1.])
    """
    return _ragged("ragged_dot_general", lhs, rhs, group_sizes, ragged_dot_dimension_numbers,
                   precision, preferred_element_type, group_offset)  # fmt: skip


def _ragged(
    name: str,
    lhs: ArrayLike,
    rhs: ArrayLike,
    group_sizes: ArrayLike,
    numbers: Any,
    precision: object,
    preferred: DTypeLike | None,
    group_offset: ArrayLike | None,
) -> AnyTensor:
    if precision is not None:
        check_precision(name, precision)
    require_default(name, "group_offset", group_offset, "slice group_sizes and rhs")
    left, right, sizes = tn.asarray(lhs), tn.asarray(rhs), tn.asarray(group_sizes)
    if sizes.ndim != 1 or dtype_kind(sizes.dtype) not in "iu":
        raise ShapeError(f"{name}: group_sizes must be a vector of integers, got {sizes.meta}")
    (contract, batch) = numbers.dot_dimension_numbers
    contracts = [
        axes_of(name, axes, x.ndim) for axes, x in zip(contract, (left, right), strict=True)
    ]
    batches = [axes_of(name, axes, x.ndim) for axes, x in zip(batch, (left, right), strict=True)]
    ragged = axes_of(name, numbers.lhs_ragged_dimensions, left.ndim)
    groups = axes_of(name, numbers.rhs_group_dimensions, right.ndim)
    if len(ragged) != 1 or len(groups) > 1:
        raise AxisError(f"{name}: one axis of lhs is ragged, and at most one of rhs counts groups")
    (axis,) = ragged
    is_free = axis not in contracts[0] and axis not in batches[0]
    if is_free != bool(groups):
        raise AxisError(
            f"{name}: rhs has an axis of groups if, and only if, the ragged axis of lhs is neither "
            "contracted nor a batch axis"
        )
    if axis in batches[0]:
        return dot_general(left, right, ((*contracts,), (*batches,)), None, preferred)
    if groups and right.shape[groups[0]] != sizes.shape[0]:
        raise ShapeError(f"{name}: rhs {right.meta} must have as many groups as {sizes.meta}")
    ends = tn.cumsum(sizes)
    places = tn.arange(left.shape[axis])
    inside = (places >= (ends - sizes)[:, None]) & (places < ends[:, None])  # [g, rows]
    others = tuple(1 + other for other in range(left.ndim) if other != axis)
    masked = tn.where(tn.expand_dims(inside, others), left, 0)
    of_left, of_batch = ([1 + each for each in axes] for axes in (contracts[0], batches[0]))
    if groups:
        of_left, of_right = [*of_left, 0], [*contracts[1], *groups]
        return dot_general(
            masked, right, ((of_left, of_right), (of_batch, batches[1])), None, preferred
        )
    result = dot_general(
        masked, right, ((of_left, contracts[1]), (of_batch, batches[1])), None, preferred
    )
    return tn.moveaxis(result, len(of_batch), 0)
