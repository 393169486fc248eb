"""Analytic functions, under the names of the Python array API standard."""

from __future__ import annotations

from typing import Any

from tenferro.arrays import analytic
from tenferro.dispatch import apply


def exp(x: Any) -> Any:
    """e to the power x; integers become float64.

    >>> exp([0.0])
    Tensor([1.])
    """
    return apply(analytic.exp, x)


def exp2(x: Any) -> Any:
    """2 to the power x, exact at integers; integers become float64.

    >>> exp2([0.0, 10.0])
    Tensor([1.000e+00, 1.024e+03])
    """
    return apply(analytic.exp2, x)


def expm1(x: Any) -> Any:
    """exp(x) - 1, exact near 0; integers become float64.

    >>> expm1([0.0])
    Tensor([0.])
    """
    return apply(analytic.expm1, x)


def log(x: Any) -> Any:
    """Natural logarithm; integers become float64.

    >>> log([1.0])
    Tensor([0.])
    """
    return apply(analytic.log, x)


def log1p(x: Any) -> Any:
    """log(1 + x), exact near 0; integers become float64.

    >>> log1p([0.0])
    Tensor([0.])
    """
    return apply(analytic.log1p, x)


def log2(x: Any) -> Any:
    """Logarithm to base 2, exact at powers of 2; integers become float64.

    >>> log2([8.0])
    Tensor([3.])
    """
    return apply(analytic.log2, x)


def log10(x: Any) -> Any:
    """Logarithm to base 10, exact at powers of 10; integers become float64.

    >>> log10([1000.0])
    Tensor([3.])
    """
    return apply(analytic.log10, x)


def sin(x: Any) -> Any:
    """Sine; x in radians; integers become float64.

    >>> sin([0.0])
    Tensor([0.])
    """
    return apply(analytic.sin, x)


def cos(x: Any) -> Any:
    """Cosine; x in radians; integers become float64.

    >>> cos([0.0])
    Tensor([1.])
    """
    return apply(analytic.cos, x)


def tan(x: Any) -> Any:
    """Tangent; x in radians; integers become float64.

    >>> tan([0.0])
    Tensor([0.])
    """
    return apply(analytic.tan, x)


def asin(x: Any) -> Any:
    """Inverse sine, in radians; NaN where a real x is beyond ±1.

    >>> asin([0.0, 2.0])
    Tensor([ 0., nan])
    """
    return apply(analytic.asin, x)


def acos(x: Any) -> Any:
    """Inverse cosine, in radians; NaN where a real x is beyond ±1.

    >>> acos([1.0])
    Tensor([0.])
    """
    return apply(analytic.acos, x)


def atan(x: Any) -> Any:
    """Inverse tangent, in radians; integers become float64.

    >>> atan([0.0])
    Tensor([0.])
    """
    return apply(analytic.atan, x)


def atan2(x1: Any, x2: Any) -> Any:
    """The angle of the points (x2, x1), in radians from -π to π. Complex numbers are refused.

    >>> atan2([0.0, 0.0], [1.0, -1.0])
    Tensor([0.        , 3.14159265])
    """
    return apply(analytic.atan2, x1, x2)


def sinh(x: Any) -> Any:
    """Hyperbolic sine; integers become float64.

    >>> sinh([0.0])
    Tensor([0.])
    """
    return apply(analytic.sinh, x)


def cosh(x: Any) -> Any:
    """Hyperbolic cosine; integers become float64.

    >>> cosh([0.0])
    Tensor([1.])
    """
    return apply(analytic.cosh, x)


def tanh(x: Any) -> Any:
    """Hyperbolic tangent; integers become float64.

    >>> tanh([0.0])
    Tensor([0.])
    """
    return apply(analytic.tanh, x)


def asinh(x: Any) -> Any:
    """Inverse hyperbolic sine; integers become float64.

    >>> asinh([0.0])
    Tensor([0.])
    """
    return apply(analytic.asinh, x)


def acosh(x: Any) -> Any:
    """Inverse hyperbolic cosine; NaN where a real x is below 1.

    >>> acosh([1.0])
    Tensor([0.])
    """
    return apply(analytic.acosh, x)


def atanh(x: Any) -> Any:
    """Inverse hyperbolic tangent; NaN where a real x is beyond ±1.

    >>> atanh([0.0])
    Tensor([0.])
    """
    return apply(analytic.atanh, x)


def sqrt(x: Any) -> Any:
    """Square root; NaN where a real x is negative; integers become float64.

    >>> sqrt([4.0, 9.0])
    Tensor([2., 3.])
    """
    return apply(analytic.sqrt, x)


def rsqrt(x: Any) -> Any:
    """1 / sqrt(x); integers become float64.

    >>> rsqrt([4.0])
    Tensor([0.5])
    """
    return apply(analytic.rsqrt, x)


def cbrt(x: Any) -> Any:
    """Cube root, negative for negative x. Complex numbers are refused.

    >>> cbrt([8.0, -27.0])
    Tensor([ 2., -3.])
    """
    return apply(analytic.cbrt, x)


def hypot(x1: Any, x2: Any) -> Any:
    """sqrt(x1² + x2²), without overflow; its derivative at the origin is 0.

    >>> hypot(3.0, 4.0)
    Tensor(5.)
    """
    return apply(analytic.hypot, x1, x2)


def logaddexp(x1: Any, x2: Any) -> Any:
    """log(exp(x1) + exp(x2)), without overflow. Complex numbers are refused.

    >>> logaddexp([0.0, 1000.0], [-1000.0, 1000.0])
    Tensor([   0.        , 1000.69314718])
    """
    return apply(analytic.logaddexp, x1, x2)


def logaddexp2(x1: Any, x2: Any) -> Any:
    """log2(2**x1 + 2**x2), without overflow. Complex numbers are refused.

    >>> logaddexp2(3.0, 3.0)
    Tensor(4.)
    """
    return apply(analytic.logaddexp2, x1, x2)


def erf(x: Any) -> Any:
    """The error function. Complex numbers are refused.

    >>> erf([0.0, 1.0])
    Tensor([0.        , 0.84270079])
    """
    return apply(analytic.erf, x)


def erfc(x: Any) -> Any:
    """1 - erf(x), exact where it is small. Complex numbers are refused.

    >>> erfc([0.0, 10.0])
    Tensor([1.00000000e+00, 2.08848758e-45])
    """
    return apply(analytic.erfc, x)


def erf_inv(x: Any) -> Any:
    """The y with erf(y) = x; infinite at ±1 and NaN beyond.

    >>> erf_inv([0.0, 1.0])
    Tensor([ 0., inf])
    """
    return apply(analytic.erf_inv, x)


def degrees(x: Any) -> Any:
    """Angles in radians as degrees.

    >>> import math
    >>> degrees([math.pi])
    Tensor([180.])
    """
    return apply(analytic.degrees, x)


def radians(x: Any) -> Any:
    """Angles in degrees as radians.

    >>> radians([180.0])
    Tensor([3.14159265])
    """
    return apply(analytic.radians, x)
