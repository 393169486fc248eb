"""Contractions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tenferro.errors import AxisError
from tenferro.ir import AnyTensor, ArrayLike, DTypeLike
from tenferro.lax.arguments import LAX, axes_of, result_type, same_dtype
from tenferro.ops import DotGeneral
from tenferro.ops.functions import array_function, called, elementwise
from tenferro.ops.functions.products import check_precision

__all__ = ["batch_matmul", "dot", "dot_general"]

Numbers = Sequence[Sequence[Sequence[int]]]


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
