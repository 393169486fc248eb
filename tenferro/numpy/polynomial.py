"""Polynomials, given by their coefficients, the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

import tenferro as tn
from tenferro.errors import ConfigError, ShapeError, counted
from tenferro.ir import AnyTensor, ArrayLike, DimExpr, dtype_kind, float_limits
from tenferro.numpy import creation
from tenferro.numpy.arguments import check_affordable, constant_size, count, numbers, promoted
from tenferro.numpy.creation import asarray, eye, ones, ones_like, zeros, zeros_like
from tenferro.numpy.dtypes import result_type
from tenferro.numpy.manipulation import atleast_1d, concat, stack, with_zeros
from tenferro.numpy.signal import convolve
from tenferro.ops.functions import reductions
from tenferro.ops.functions.analytic import sqrt
from tenferro.ops.functions.elementwise import add, negative, real, square, subtract
from tenferro.ops.functions.manipulation import broadcast_to, ravel
from tenferro.ops.functions.reductions import cumprod

__all__ = [
    "poly",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "roots",
    "vander",
]


def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int = 16) -> AnyTensor:
    """The value of the polynomial at x, or of several along the first axis of `p`.

    `unroll` has no effect.

    >>> tn.polyval([3, 0, 1], 2)
    Tensor(13)
    """
    coefficients, at = promoted("polyval", p, x)
    if coefficients.ndim == 0:
        coefficients = coefficients[None]
    value: Any = zeros_like(at)
    for i in range(constant_size("polyval", coefficients, 0)):
        value = value * at + coefficients[i]
    return value  # type: ignore[no-any-return]


def polyadd(a1: ArrayLike, a2: ArrayLike) -> AnyTensor:
    """The sum of two polynomials.

    >>> tn.polyadd([1, 2], [1, 0, 0])
    Tensor([1, 1, 2])
    """
    return add(*_aligned("polyadd", a1, a2))


def polysub(a1: ArrayLike, a2: ArrayLike) -> AnyTensor:
    """The difference of two polynomials.

    >>> tn.polysub([1, 2], [1, 0, 0])
    Tensor([-1,  1,  2])
    """
    return subtract(*_aligned("polysub", a1, a2))


def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> AnyTensor:
    """The product of two polynomials; leading zeros are removed first on demand.

    >>> tn.polymul([1, 2], [1, 3])
    Tensor([1, 5, 6])
    """
    a, b = _coefficients("polymul", a1, a2)
    if trim_leading_zeros:
        a, b = _trimmed("polymul", a), _trimmed("polymul", b)
    return convolve(a, b)


def polydiv(
    u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False
) -> tuple[AnyTensor, AnyTensor]:
    """The quotient and the remainder of two polynomials.

    The remainder keeps its leading zeros, unless `trim_leading_zeros`.

    >>> tn.polydiv([1.0, 5.0, 6.0], [1.0, 3.0])
    (Tensor([1., 2.]), Tensor([0., 0., 0.]))
    """
    rest, by = (each / 1 for each in _coefficients("polydiv", u, v))
    m, n = constant_size("polydiv", rest, 0) - 1, constant_size("polydiv", by, 0) - 1
    if n < 0:
        raise ShapeError("polydiv: the divisor must have at least one coefficient")
    steps = max(m - n + 1, 1)
    quotient = []
    for k in range(m - n + 1):
        factor = rest[k] / by[0]
        quotient.append(factor)
        rest = rest - with_zeros(factor * by, (k, m - n - k))
    result = stack(quotient) if quotient else zeros(steps, rest.dtype)
    return result, _trimmed("polydiv", rest) if trim_leading_zeros else rest


def polyder(p: ArrayLike, m: int = 1) -> AnyTensor:
    """The derivative of order m of a polynomial.

    >>> tn.polyder([1, 2, 3])
    Tensor([2, 2])
    """
    (a,) = _coefficients("polyder", p)
    order = count("polyder", "m", m)
    size = constant_size("polyder", a, 0)
    if not order:
        return a  # type: ignore[no-any-return]
    powers = np.arange(size - 1, order - 1, -1)
    factors = np.prod([powers - i for i in range(order)], axis=0, dtype=np.int64)
    products = asarray(factors)  # of integers, as in NumPy, with the digits of int64
    if dtype_kind(a.dtype) not in "iu":
        products = products.astype(a.dtype)
    return a[: max(size - order, 0)] * products  # type: ignore[no-any-return]


def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> AnyTensor:
    """The integral of order m of a polynomial, with the constants k (0 if None).

    >>> tn.polyint([2.0, 2.0], k=3)
    Tensor([1., 2., 3.])
    """
    order = count("polyint", "m", m)
    (a,) = promoted("polyint", p, inexact=True)
    constants = zeros(order) if k is None else ravel(k)
    if constants.shape == (1,) and order > 1:
        constants = broadcast_to(constants, (order,))
    if constants.shape != (order,):
        raise ShapeError(f"polyint: k must be {counted(order, 'constant')}, got {constants.meta}")
    for i in range(order):
        size = constant_size("polyint", a, 0)
        a = concat([a / np.arange(size, 0, -1), constants[i : i + 1]])
    return a  # type: ignore[no-any-return]


def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Any:
    """The polynomial of degree `deg` with the least sum of squared distances from points.

    Args:
        x: a vector of abscissas.
        y: their values; a matrix has one function in each column.
        deg: the degree.
        rcond: singular values below `rcond` times the largest count as 0.
        full: whether to return the residuals, the rank, the singular values and rcond, too.
        w: a weight of each distance.
        cov: whether to return the covariance of the coefficients, too; "unscaled" if the weights
            are reciprocal deviations.

    >>> tn.round(tn.polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1), 6)
    Tensor([2., 1.])
    """
    points, values = promoted("polyfit", x, y, inexact=True)
    if points.ndim != 1 or values.ndim not in (1, 2) or points.shape[0] != values.shape[0]:
        raise ShapeError(
            f"polyfit: x must be a vector, and y have as many rows, got {points.meta} and "
            f"{values.meta}"
        )
    if cov not in (False, True, "unscaled"):
        raise ConfigError(f"polyfit: cov must be False, True or 'unscaled', got {cov!r}")
    order = count("polyfit", "deg", deg) + 1
    if rcond is None:
        length = count("polyfit", "the size of x, unless rcond is given,", points.shape[0])
        rcond = float(length * float_limits(points.dtype).eps)
    lhs: Any = vander(points, order)
    if w is not None:
        (weights,) = promoted("polyfit", w, inexact=True)
        lhs = lhs * weights[:, None]
        values = values * (weights[:, None] if values.ndim == 2 else weights)
    scale: Any = sqrt(reductions.sum(square(lhs), axis=0))
    fit: Any = tn.linalg.lstsq(lhs / scale, values, rcond=rcond)
    coefficients = (fit[0].T / scale).T
    if full:
        return coefficients, fit[1], fit[2], fit[3], asarray(rcond)
    if not cov:
        return coefficients
    base = tn.linalg.inv(lhs.T @ lhs)
    if values.ndim == 2:
        base = base[:, :, None]
    if cov == "unscaled":
        return coefficients, base
    apart: Any = reductions.sum(square(lhs @ coefficients - values), axis=0)
    return coefficients, base * (apart / (points.shape[0] - order))


def roots(p: ArrayLike, *, strip_zeros: bool = True) -> AnyTensor:
    """The roots of a polynomial, complex.

    Args:
        p: the coefficients.
        strip_zeros: whether to look for zeros at the ends, which takes coefficients that are known.
            Else the first coefficient must not be 0.

    Raises:
        TracingError: p is traced, and `strip_zeros` is true.

    >>> tn.sort(tn.real(tn.roots([1.0, -3.0, 2.0])))
    Tensor([1., 2.])
    """
    (a,) = promoted("roots", p, inexact=True)
    if a.ndim != 1:
        raise ShapeError(f"roots: takes a vector of coefficients, got {a.meta}")
    zeros = 0
    if strip_zeros:
        places = np.flatnonzero(numbers("roots", a, "pass strip_zeros=False"))
        if not places.size:
            return creation.zeros(0, "complex128")
        zeros = a.shape[0] - 1 - int(places[-1])
        a = a[int(places[0]) : int(places[-1]) + 1]
    degree = constant_size("roots", a, 0) - 1
    dtype = result_type(a.dtype, "complex64")
    if degree < 1:
        return creation.zeros(zeros, dtype)
    matrix: Any = eye(degree, k=-1, dtype=a.dtype).at[0].add(negative(a[1:] / a[0]))
    return concat([tn.linalg.eigvals(matrix).astype(dtype), creation.zeros(zeros, dtype)])


def poly(seq_of_zeros: ArrayLike) -> AnyTensor:
    """The polynomial with these roots, or the characteristic polynomial of a square matrix.

    >>> tn.poly([1.0, 2.0])
    Tensor([ 1., -3.,  2.])
    """
    (zeros,) = promoted("poly", seq_of_zeros, inexact=True)
    is_real = dtype_kind(zeros.dtype) == "f"
    if zeros.ndim == 2:
        zeros = tn.linalg.eigvals(zeros)
    elif zeros.ndim != 1:
        raise ShapeError(f"poly: takes a vector or a square matrix, got {zeros.meta}")
    result: Any = ones(1, zeros.dtype)
    for i in range(constant_size("poly", zeros, 0)):
        result = with_zeros(result, (0, 1)) - with_zeros(zeros[i] * result, (1, 0))
    return real(result) if is_real else result


def vander(x: ArrayLike, N: int | DimExpr | None = None, increasing: bool = False) -> AnyTensor:  # noqa: N803
    """The powers of each element, as rows of N columns, the highest first unless `increasing`.

    >>> tn.vander([2, 3])
    Tensor([[2, 1],
            [3, 1]])
    """
    (a,) = promoted("vander", x)
    if a.ndim != 1:
        raise ShapeError(f"vander: takes a vector, got {a.meta}")
    columns = a.shape[0] if N is None else N
    if isinstance(columns, DimExpr):
        row = concat([ones_like(a)[:, None], ones((1, columns)) * a[:, None]], axis=1)
        rising: Any = cumprod(row, axis=1)[:, :columns]
        return rising if increasing else rising[:, ::-1]  # type: ignore[no-any-return]
    columns = count("vander", "N", columns)
    check_affordable("vander", a.shape[0] if isinstance(a.shape[0], int) else 1, columns)
    powers: list[Any] = [ones_like(a, "int64" if dtype_kind(a.dtype) == "b" else a.dtype)]
    for _ in range(columns - 1):
        powers.append(powers[-1] * a)
    if not columns:
        return a[:, None][:, :0]  # type: ignore[no-any-return]
    return stack(powers if increasing else powers[::-1], axis=1)


def _coefficients(name: str, *polynomials: Any) -> list[Any]:
    """Vectors of coefficients of a common dtype; a number is a constant polynomial."""
    vectors = [atleast_1d(each) for each in promoted(name, *polynomials)]
    for each in vectors:
        if each.ndim != 1:
            raise ShapeError(f"{name}: takes vectors of coefficients, got {each.meta}")
    return vectors


def _aligned(name: str, a1: Any, a2: Any) -> list[Any]:
    """Coefficients with zeros in front of the shorter ones."""
    vectors = _coefficients(name, a1, a2)
    sizes = [constant_size(name, each, 0) for each in vectors]
    return [
        with_zeros(each, (max(sizes) - size, 0)) for each, size in zip(vectors, sizes, strict=True)
    ]


def _trimmed(name: str, a: Any) -> Any:
    """Coefficients without leading zeros, as far as they are known."""
    places = np.flatnonzero(numbers(name, a, "leave trim_leading_zeros=False"))
    return a[int(places[0]) :] if places.size else a[-1:]
