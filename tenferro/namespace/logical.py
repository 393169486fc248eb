"""Comparisons, logic, bits and kinds of numbers, under the array API standard's names."""

from __future__ import annotations

from typing import Any

from tenferro.arrays import logical
from tenferro.dispatch import apply
from tenferro.namespace.layout import asarray
from tenferro.namespace.reductions import all


def equal(x1: Any, x2: Any) -> Any:
    """Elementwise x1 == x2.

    >>> equal([1, 2], [1, 3])
    Tensor([ True, False])
    """
    return apply(logical.equal, x1, x2)


def not_equal(x1: Any, x2: Any) -> Any:
    """Elementwise x1 != x2.

    >>> not_equal([1, 2], [1, 3])
    Tensor([False,  True])
    """
    return apply(logical.not_equal, x1, x2)


def less(x1: Any, x2: Any) -> Any:
    """Elementwise x1 < x2. Complex numbers are refused: they have no order.

    >>> less([1, 2], [1, 3])
    Tensor([False,  True])
    """
    return apply(logical.less, x1, x2)


def less_equal(x1: Any, x2: Any) -> Any:
    """Elementwise x1 <= x2. Complex numbers are refused: they have no order.

    >>> less_equal([1, 2], [1, 3])
    Tensor([ True,  True])
    """
    return apply(logical.less_equal, x1, x2)


def greater(x1: Any, x2: Any) -> Any:
    """Elementwise x1 > x2. Complex numbers are refused: they have no order.

    >>> greater([1, 2], [1, 3])
    Tensor([False, False])
    """
    return apply(logical.greater, x1, x2)


def greater_equal(x1: Any, x2: Any) -> Any:
    """Elementwise x1 >= x2. Complex numbers are refused: they have no order.

    >>> greater_equal([1, 2], [1, 3])
    Tensor([ True, False])
    """
    return apply(logical.greater_equal, x1, x2)


def logical_and(x1: Any, x2: Any) -> Any:
    """Whether both are not zero.

    >>> logical_and([1, 0], True)
    Tensor([ True, False])
    """
    return apply(logical.logical_and, x1, x2)


def logical_or(x1: Any, x2: Any) -> Any:
    """Whether either is not zero.

    >>> logical_or([1, 0], False)
    Tensor([ True, False])
    """
    return apply(logical.logical_or, x1, x2)


def logical_xor(x1: Any, x2: Any) -> Any:
    """Whether exactly one is not zero.

    >>> logical_xor([1, 0], True)
    Tensor([False,  True])
    """
    return apply(logical.logical_xor, x1, x2)


def logical_not(x: Any) -> Any:
    """Whether x is zero.

    >>> logical_not([1, 0])
    Tensor([False,  True])
    """
    return apply(logical.logical_not, x)


def bitwise_and(x1: Any, x2: Any) -> Any:
    """The bits that both integers have; of bools, whether both hold.

    >>> bitwise_and([6, 5], 3)
    Tensor([2, 1])
    """
    return apply(logical.bitwise_and, x1, x2)


def bitwise_or(x1: Any, x2: Any) -> Any:
    """The bits that either integer has; of bools, whether either holds.

    >>> bitwise_or([6, 5], 3)
    Tensor([7, 7])
    """
    return apply(logical.bitwise_or, x1, x2)


def bitwise_xor(x1: Any, x2: Any) -> Any:
    """The bits that exactly one integer has; of bools, whether exactly one holds.

    >>> bitwise_xor([6, 5], 3)
    Tensor([5, 6])
    """
    return apply(logical.bitwise_xor, x1, x2)


def bitwise_invert(x: Any) -> Any:
    """Every bit turned, -1 - x for signed integers; of bools, whether x does not hold.

    >>> bitwise_invert([0, 5])
    Tensor([-1, -6])
    """
    return apply(logical.bitwise_invert, x)


def bitwise_left_shift(x1: Any, x2: Any) -> Any:
    """The bits of x1 moved up by x2 places, x1·2**x2.

    >>> bitwise_left_shift([1, 2], 3)
    Tensor([ 8, 16])
    """
    return apply(logical.bitwise_left_shift, x1, x2)


def bitwise_right_shift(x1: Any, x2: Any) -> Any:
    """The bits of x1 moved down by x2 places: x1/2**x2, rounded down.

    >>> bitwise_right_shift([8, -8], 2)
    Tensor([ 2, -2])
    """
    return apply(logical.bitwise_right_shift, x1, x2)


def isfinite(x: Any) -> Any:
    """Whether x is neither infinite nor NaN.

    >>> isfinite([1.0, float('inf'), float('nan')])
    Tensor([ True, False, False])
    """
    return apply(logical.isfinite, x)


def isinf(x: Any) -> Any:
    """Whether x is infinite.

    >>> isinf([1.0, float('inf'), float('nan')])
    Tensor([False,  True, False])
    """
    return apply(logical.isinf, x)


def isnan(x: Any) -> Any:
    """Whether x is not a number.

    >>> isnan([1.0, float('inf'), float('nan')])
    Tensor([False, False,  True])
    """
    return apply(logical.isnan, x)


def signbit(x: Any) -> Any:
    """Whether the sign of x is negative, also that of zero. Complex numbers are refused.

    >>> signbit([-1.0, -0.0, 0.0])
    Tensor([ True,  True, False])
    """
    return apply(logical.signbit, x)


def copysign(x1: Any, x2: Any) -> Any:
    """|x1| with the sign of x2. Complex numbers are refused.

    >>> copysign([1.0, 2.0], [-0.0, 3.0])
    Tensor([-1.,  2.])
    """
    return apply(logical.copysign, x1, x2)


def isclose(
    x1: Any, x2: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    """Whether |x1 - x2| is at most atol + rtol·|x2|.

    >>> isclose([1.0, 2.0], [1.0 + 1e-9, 2.1])
    Tensor([ True, False])
    """
    return apply(logical.isclose, x1, x2, rtol=rtol, atol=atol, equal_nan=equal_nan)


def allclose(
    x1: Any, x2: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    """Whether all elements are close, as `isclose` says.

    >>> allclose([1.0, 2.0], [1.0 + 1e-9, 2.0])
    Tensor(True)
    """
    return all(isclose(x1, x2, rtol, atol, equal_nan))


def array_equal(x1: Any, x2: Any) -> Any:
    """Whether x1 and x2 have one shape and equal elements.

    >>> array_equal([1, 2], [1, 2])
    Tensor(True)
    """
    left, right = asarray(x1), asarray(x2)
    if left.meta.extents != right.meta.extents:
        return asarray(False)
    return all(equal(left, right))
