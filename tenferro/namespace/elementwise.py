"""Arithmetic and choice, elementwise, under the names of the Python array API standard."""

from __future__ import annotations

from typing import Any

from tenferro.arrays import elementwise
from tenferro.dispatch import apply
from tenferro.namespace.analytic import atan2
from tenferro.shape import as_dtype


def add(x1: Any, x2: Any) -> Any:
    """x1 + x2.

    >>> add([1, 2], 10)
    Tensor([11, 12])
    """
    return apply(elementwise.add, x1, x2)


def subtract(x1: Any, x2: Any) -> Any:
    """x1 - x2.

    >>> subtract([1, 2], 1)
    Tensor([0, 1])
    """
    return apply(elementwise.subtract, x1, x2)


def multiply(x1: Any, x2: Any) -> Any:
    """x1 · x2.

    >>> multiply([1, 2], 3)
    Tensor([3, 6])
    """
    return apply(elementwise.multiply, x1, x2)


def divide(x1: Any, x2: Any) -> Any:
    """x1 / x2; integers become float64.

    >>> divide([1, 2], 2)
    Tensor([0.5, 1. ])
    """
    return apply(elementwise.divide, x1, x2)


def floor_divide(x1: Any, x2: Any) -> Any:
    """x1 / x2, rounded down.

    >>> floor_divide([7, -7], 2)
    Tensor([ 3, -4])
    """
    return apply(elementwise.floor_divide, x1, x2)


def remainder(x1: Any, x2: Any) -> Any:
    """x1 - x2·floor(x1/x2), with the sign of x2.

    >>> remainder([7, -7], 4)
    Tensor([3, 1])
    """
    return apply(elementwise.remainder, x1, x2)


def pow(x1: Any, x2: Any) -> Any:
    """x1 to the power x2. A Python integer exponent is multiplied out.

    >>> pow([2.0, 3.0], 2)
    Tensor([4., 9.])
    """
    return apply(elementwise.power, x1, x2)


def maximum(x1: Any, x2: Any) -> Any:
    """The larger of x1 and x2; NaN wins, and at ties each has half of the derivative.

    >>> maximum([1, 5], 3)
    Tensor([3, 5])
    """
    return apply(elementwise.maximum, x1, x2)


def minimum(x1: Any, x2: Any) -> Any:
    """The smaller of x1 and x2; NaN wins, and at ties each has half of the derivative.

    >>> minimum([1, 5], 3)
    Tensor([1, 3])
    """
    return apply(elementwise.minimum, x1, x2)


def complex(real: Any, imag: Any) -> Any:
    """The complex numbers with the given parts.

    >>> complex([1.0], [2.0])
    Tensor([1.+2.j])
    """
    return apply(elementwise.make_complex, real, imag)


def where(condition: Any, x1: Any, x2: Any) -> Any:
    """x1 where the condition holds, elsewhere x2.

    >>> where([True, False], 1.0, 2.0)
    Tensor([1., 2.])
    """
    return apply(elementwise.where, condition, x1, x2)


def negative(x: Any) -> Any:
    """-x.

    >>> negative([1, -2])
    Tensor([-1,  2])
    """
    return apply(elementwise.negative, x)


def abs(x: Any) -> Any:
    """|x|; its derivative at 0 is 0.

    >>> abs([3, -4])
    Tensor([3, 4])
    """
    return apply(elementwise.absolute, x)


def sign(x: Any) -> Any:
    """-1, 0 or 1; x/|x| for complex x.

    >>> sign([3.0, -4.0, 0.0])
    Tensor([ 1., -1.,  0.])
    """
    return apply(elementwise.sign, x)


def conj(x: Any) -> Any:
    """Complex conjugate.

    >>> conj([1 + 2j])
    Tensor([1.-2.j])
    """
    return apply(elementwise.conj, x)


def real(x: Any) -> Any:
    """Real part.

    >>> real([1 + 2j])
    Tensor([1.])
    """
    return apply(elementwise.real, x)


def imag(x: Any) -> Any:
    """Imaginary part.

    >>> imag([1 + 2j])
    Tensor([2.])
    """
    return apply(elementwise.imag, x)


def square(x: Any) -> Any:
    """x · x.

    >>> square([2, 3])
    Tensor([4, 9])
    """
    return apply(elementwise.square, x)


def reciprocal(x: Any) -> Any:
    """1 / x.

    >>> reciprocal([2.0, 4.0])
    Tensor([0.5 , 0.25])
    """
    return apply(elementwise.reciprocal, x)


def clip(x: Any, min: Any = None, max: Any = None) -> Any:
    """x held between `min` and `max`, either of which may be absent.

    The derivative is 1 strictly inside.

    >>> clip([1, 5, 9], 2, 8)
    Tensor([2, 5, 8])
    """
    if min is None and max is None:
        return apply(elementwise.unary_identity, x)
    if max is None:
        return apply(elementwise.maximum, x, min)
    if min is None:
        return apply(elementwise.minimum, x, max)
    return apply(elementwise.clamp, x, min, max)


def astype(x: Any, dtype: object) -> Any:
    """x in another dtype, whatever is lost.

    >>> astype([1.7, -1.7], "int32")
    Tensor([ 1, -1], dtype=int32)
    """
    return apply(elementwise.cast, x, dtype=as_dtype(dtype))


def convert(x: Any, dtype: object) -> Any:
    """x in a dtype that it promotes to; refused where something could be lost.

    Raises:
        DTypeError: promotion does not lead to `dtype`; `cast` does.

    >>> convert([1, 2], "float64")
    Tensor([1., 2.])
    """
    return apply(elementwise.checked_convert, x, dtype=as_dtype(dtype))


def fmod(x1: Any, x2: Any) -> Any:
    """x1 - x2·trunc(x1/x2), with the sign of x1. Complex numbers are refused.

    >>> fmod([7, -7], 4)
    Tensor([ 3, -3])
    """
    return apply(elementwise.fmod, x1, x2)


def positive(x: Any) -> Any:
    """+x: x as an array.

    >>> positive([1])
    Tensor([1])
    """
    return apply(elementwise.unary_identity, x)


def nan_to_num(
    x: Any, *, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Any:
    """x with numbers for NaN and the infinities; None is the dtype's largest and smallest.

    >>> nan_to_num([1.0, float('nan')])
    Tensor([1., 0.])
    """
    return apply(elementwise.finite, x, nan=nan, posinf=posinf, neginf=neginf)


def angle(x: Any) -> Any:
    """The angle of complex numbers in the plane, in radians from -π to π.

    >>> angle([1.0, 1j])
    Tensor([0.        , 1.57079633])
    """
    return atan2(imag(x), real(x))
