"""Convolutions, interpolation, integrals and gradients of samples; window functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tenferro.errors import ConfigError, ShapeError, counted
from tenferro.ir import (
    AnyTensor,
    ArrayLike,
    DimExpr,
    DTypeLike,
    Size,
    assume_equal,
    canonical,
    dtype_kind,
)
from tenferro.numpy.arguments import (
    Named,
    array,
    check_affordable,
    constant_size,
    count,
    number,
    number_or_array,
    option,
    promoted,
    reals,
)
from tenferro.numpy.creation import arange, asarray, linspace
from tenferro.numpy.manipulation import broadcast_arrays, concat, with_zeros
from tenferro.numpy.reductions import diff
from tenferro.numpy.sorting import searchsorted
from tenferro.numpy.ufuncs import clip
from tenferro.ops.functions import apply, elementwise, is_number, normal_axis, reductions
from tenferro.ops.functions.analytic import exp, inexact, log
from tenferro.ops.functions.elementwise import conj, divide, maximum, sign, where
from tenferro.ops.functions.logical import isinf, isnan
from tenferro.ops.functions.manipulation import flip, moveaxis
from tenferro.ops.functions.products import check_precision, preferred
from tenferro.ops.functions.reductions import argsort, cumsum
from tenferro.runtime import weak_number

__all__ = [
    "bartlett",
    "blackman",
    "convolve",
    "correlate",
    "geomspace",
    "gradient",
    "hamming",
    "hanning",
    "interp",
    "kaiser",
    "trapezoid",
    "unwrap",
]


_FEW = 16
"""Up to this many elements of the shorter vector, a convolution is a sum of shifted copies."""


def convolve(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "full",
    *,
    precision: object = None,
    preferred_element_type: DTypeLike | None = None,
) -> AnyTensor:
    """The convolution of two vectors.

    Args:
        a: a vector.
        v: a vector.
        mode: which elements: "full" all that overlap, "same" as many as the longer vector has,
            "valid" those that overlap wholly.
        precision: has no effect, as of `tn.matmul`.
        preferred_element_type: the dtype in which it is computed.

    >>> tn.convolve([1, 2, 3], [1, 1])
    Tensor([1, 3, 5, 3])
    """
    option("convolve", "mode", mode, ("full", "same", "valid"))
    if precision is not None:
        check_precision("convolve", precision)
    x, b = _vectors("convolve", a, v, preferred_element_type)
    return _convolved("convolve", x, b, mode)  # type: ignore[no-any-return]


def correlate(
    a: ArrayLike,
    v: ArrayLike,
    mode: str = "valid",
    *,
    precision: object = None,
    preferred_element_type: DTypeLike | None = None,
) -> AnyTensor:
    """The sums of products of `a` with the conjugate of v, for each shift; `mode` as of `convolve`.

    >>> tn.correlate([1, 2, 3], [0, 1])
    Tensor([2, 3])
    """
    option("correlate", "mode", mode, ("full", "same", "valid"))
    if precision is not None:
        check_precision("correlate", precision)
    x, b = _vectors("correlate", a, v, preferred_element_type)
    backwards = flip(conj(b))
    if x.shape[0] >= b.shape[0] or mode == "full":
        return _convolved("correlate", x, backwards, mode)  # type: ignore[no-any-return]
    # As in NumPy, the parts are those of the exchanged vectors, in the opposite order.
    return flip(_convolved("correlate", flip(x), conj(b), mode))


def _vectors(name: str, x: Any, v: Any, element: DTypeLike | None) -> list[Any]:
    vectors = promoted(name, x, v)
    if element is not None:
        dtype = preferred(name, vectors[0].dtype, element)
        vectors = [each.astype(dtype) for each in vectors]
    for each in vectors:
        if each.ndim != 1:
            raise ShapeError(f"{name}: takes vectors, got {each.meta}")
        if constant_size(name, each, 0) == 0:
            raise ShapeError(f"{name}: the vectors must not be empty, got {each.meta}")
    return vectors


def _convolved(name: str, a: Any, b: Any, mode: str) -> Any:
    if dtype_kind(a.dtype) == "b":
        counts = _convolved(name, a.astype("int64"), b.astype("int64"), mode)
        return counts != 0
    if a.shape[0] < b.shape[0]:
        a, b = b, a
    m, n = constant_size(name, a, 0), constant_size(name, b, 0)
    low = {"full": n - 1, "same": n // 2, "valid": 0}[mode]
    length = {"full": m + n - 1, "same": m, "valid": m - n + 1}[mode]
    if n <= _FEW:
        terms = [_shifted(a, b[k], k - (n - 1 - low), length) for k in range(n)]
        return sum(terms[1:], terms[0])
    places = np.arange(-low, length - low)[:, None] + np.arange(n)
    backwards = flip(b)
    first, last = min(low, length), max(m - n + 1 + low, min(low, length))
    inner = a[places[first:last]] @ backwards
    ends = [_overlapping(a, places[rows], backwards) for rows in np.s_[:first, last:]]
    return concat([ends[0], inner, ends[1]])


def _shifted(a: Any, factor: Any, shift: int, length: int) -> Any:
    """The vector times a factor, moved by `shift` places to the right; 0 where there is none."""
    size = a.shape[0]
    start, stop = max(shift, 0), min(shift + size, length)
    term = a[start - shift : stop - shift] * factor
    return term if (start, stop) == (0, length) else with_zeros(term, (start, length - stop))


def _overlapping(a: Any, places: Any, factors: Any) -> Any:
    """The sums over rows of a[places] times factors, of the places that a has.

    Zeros in place of others would not do: 0 times an infinity is NaN.
    """
    inside = (places >= 0) & (places < a.shape[0])
    products = a[np.clip(places, 0, a.shape[0] - 1)] * factors
    return reductions.sum(where(inside, products, 0), axis=-1, dtype=products.dtype)


def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | str | None = None,
    right: ArrayLike | str | None = None,
    period: ArrayLike | None = None,
) -> AnyTensor:
    """The piecewise linear function through the points (xp, fp), at x.

    Args:
        x: where to evaluate.
        xp: the abscissas, a vector in ascending order, unless `period` is given.
        fp: the values there.
        left: the value before the first point; its value if None; or "extrapolate".
        right: the value behind the last point; its value if None; or "extrapolate".
        period: of the abscissas; left and right have no effect then.

    >>> tn.interp([0.5, 3.0], [0.0, 1.0, 2.0], [0.0, 10.0, 20.0])
    Tensor([ 5., 20.])
    """
    places, nodes = promoted("interp", x, xp, inexact=True)
    (values,) = promoted("interp", fp, inexact=True)
    reals("interp", places)
    misfit = f"interp: xp and fp must be vectors of equal size, got {nodes.meta} and {values.meta}"
    if not nodes.ndim == values.ndim == 1 or canonical(nodes.shape[0], values.shape[0]) is None:
        raise ShapeError(misfit)
    if nodes.shape[0] == 0:
        raise ShapeError(f"interp: xp and fp must not be empty, got {nodes.meta}")
    assume_equal(nodes.shape[0], values.shape[0], misfit)
    if period is not None:
        places, nodes, values = _periodic(places, nodes, values, period)
    last = nodes.shape[0] - 1
    after: Any = clip(searchsorted(nodes, places, "right"), 1, last)
    before = maximum(after - 1, 0)
    width = nodes[after] - nodes[before]
    share = (places - nodes[before]) / where(width == 0, 1, width)
    low: Any = values[before]
    high: Any = values[after]
    result = low + share.astype(values.dtype, copy=False) * (high - low)
    # Beside infinities: a point has its own value, one at -inf lies farther off than the next one,
    # and between an infinity and a number is the infinity.
    at_high = (places == nodes[after]) | isinf(nodes[before])
    between = where(places == nodes[before], low, where(at_high, high, low + high))
    result = where(isnan(result) & ~isnan(places), between, result)
    result = where(width == 0, low, result)
    if period is None:
        for word in (left, right):
            if isinstance(word, str):
                option("interp", "left or right", word, ("extrapolate",))
        if not isinstance(left, str):
            first = values[0] if left is None else left
            result = where(places < nodes[0], first, result)
        if not isinstance(right, str):
            final = values[-1] if right is None else right
            result = where(places > nodes[-1], final, result)
    return result


def _periodic(places: Any, nodes: Any, values: Any, period: Any) -> list[Any]:
    """Points sorted within one period, with one more on either side."""
    if is_number(period) and period == 0:
        raise ConfigError("interp: the period must not be 0")
    period = abs(number_or_array("interp", period))
    places, nodes = places % period, nodes % period
    order: Any = argsort(nodes)
    nodes, values = nodes[order], values[order]
    nodes = concat([nodes[-1:] - period, nodes, nodes[:1] + period])
    return [places, nodes, concat([values[-1:], values, values[:1]])]


def gradient(
    f: ArrayLike,
    *varargs: ArrayLike,
    axis: int | Sequence[int] | None = None,
    edge_order: int | None = None,
) -> Any:
    """Central differences in the interior, one-sided ones at the ends.

    Args:
        f: values on a grid.
        varargs: the distances of points: nothing (1), one number, or for each axis a number or
            the vector of coordinates.
        axis: one axis or several; all if None.
        edge_order: must be 1.

    Returns:
        An array for one axis; a list of arrays for several.

    >>> tn.gradient([1.0, 2.0, 4.0, 7.0])
    Tensor([1. , 1.5, 2.5, 3. ])
    """
    if edge_order not in (None, 1):
        raise ConfigError(f"gradient: edge_order must be 1, got {edge_order!r}")
    (a,) = promoted("gradient", f, inexact=True)
    several = range(a.ndim) if axis is None else axis if isinstance(axis, Sequence) else (axis,)
    axes = [normal_axis("gradient", each, a.ndim) for each in several]
    if len(varargs) not in (0, 1, len(axes)):
        raise ShapeError(
            f"gradient: got {counted(len(varargs), 'distance')} for "
            f"{counted(len(axes), 'axis', 'axes')}; pass one for each axis"
        )
    steps = list(varargs) if len(varargs) == len(axes) else [*(varargs or (1.0,))] * len(axes)
    results = [_slope(a, place, step) for place, step in zip(axes, steps, strict=True)]
    return results[0] if len(results) == 1 else results


def _slope(a: Any, axis: int, step: Any) -> Any:
    size = constant_size("gradient", a, axis)
    if size < 2:
        raise ShapeError(f"gradient: axis {axis} of {a.meta} must have at least 2 elements")
    front: Any = moveaxis(a, axis, 0)
    h = number_or_array("gradient", step)
    shape = (-1, *(1,) * (a.ndim - 1))
    apart = front[1:] - front[:-1]
    if is_number(h) or h.ndim == 0:
        inner = (front[2:] - front[:-2]) / (2 * h)
        ends = apart[:1] / h, apart[-1:] / h
    else:
        if h.ndim != 1 or h.shape[0] != size:
            raise ShapeError(f"gradient: coordinates {h.meta} must be a vector of size {size}")
        gaps: Any = diff(h).reshape(shape).astype(a.dtype)
        slopes = apart / gaps
        before, behind = gaps[:-1], gaps[1:]
        inner = (slopes[:-1] * behind + slopes[1:] * before) / (before + behind)
        ends = slopes[:1], slopes[-1:]
    return moveaxis(concat([ends[0], inner, ends[1]]), 0, axis)


def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> AnyTensor:
    """The integral of a sampled function by the trapezoidal rule.

    Args:
        y: values of the function.
        x: the points along `axis`; by default at distances `dx`.
        dx: the distance of points, a number or an array that broadcasts with the distances.
        axis: the axis to integrate over.

    >>> tn.trapezoid([1.0, 2.0, 3.0])
    Tensor(4.)
    """
    (a,) = promoted("trapezoid", y, inexact=True)
    place = normal_axis("trapezoid", axis, a.ndim)
    before: tuple[Any, ...] = (slice(None),) * place
    width: Any = number_or_array("trapezoid", dx)
    if x is not None:
        (points,) = promoted("trapezoid", x, inexact=True)
        if points.ndim == 1:
            width = diff(points).reshape((-1, *(1,) * (a.ndim - place - 1)))
        else:
            width = diff(points, axis=axis)
    heights: Any = a[(*before, slice(1, None))] + a[(*before, slice(None, -1))]
    if weak_number(width) is None:
        width, heights = apply(Named("trapezoid", _of_one_shape), width, heights)
    return reductions.sum(width * heights, axis=place) * 0.5


def _of_one_shape(name: str, *operands: ArrayLike) -> tuple[AnyTensor, ...]:
    return tuple(inexact(name, *operands))


def unwrap(
    p: ArrayLike, discont: ArrayLike | None = None, axis: int = -1, period: ArrayLike = 2 * np.pi
) -> AnyTensor:
    """p with multiples of `period` added, so that no step along `axis` is over half a period.

    Steps smaller than `discont` stay as they are.

    >>> tn.unwrap([0, 1, 2, -1, 0], period=4)
    Tensor([0, 1, 2, 3, 4])
    """
    (a,) = reals("unwrap", p)
    whole = dtype_kind(a.dtype) in "iu" and isinstance(weak_number(period), int)
    if not whole:
        (a,) = promoted("unwrap", a, inexact=True)
    by: Any = period
    half = by // 2 if whole else by / 2 if weak_number(by) is not None else divide(by, 2)
    steps: Any = diff(a, axis=axis)
    even = not whole or by % 2 == 0
    wrapped = (steps + half) % by - half
    if even is not False:
        wrapped = where((wrapped == -half) & (steps > 0) & even, half, wrapped)
    change = wrapped - steps
    limit = half if discont is None else array("unwrap", discont)
    change = where(elementwise.abs(steps) < limit, 0, change)
    front: Any = moveaxis(a, axis, 0)
    moved = front[1:] + cumsum(moveaxis(change, axis, 0), axis=0).astype(a.dtype)
    return moveaxis(concat([front[:1], moved]), 0, axis)


# Window functions, and numbers on a logarithmic scale.


def hamming(M: int) -> AnyTensor:  # noqa: N803  # NumPy's name
    """The Hamming window of M points.

    >>> tn.hamming(3)
    Tensor([0.08, 1.  , 0.08])
    """
    return asarray(np.hamming(_points("hamming", M)), dtype=float)


def hanning(M: int) -> AnyTensor:  # noqa: N803
    """The Hann window of M points.

    >>> tn.hanning(3)
    Tensor([0., 1., 0.])
    """
    return asarray(np.hanning(_points("hanning", M)), dtype=float)


def blackman(M: int) -> AnyTensor:  # noqa: N803
    """The Blackman window of M points.

    >>> tn.round(tn.blackman(3), 3)
    Tensor([-0.,  1., -0.])
    """
    return asarray(np.blackman(_points("blackman", M)), dtype=float)


def bartlett(M: int) -> AnyTensor:  # noqa: N803
    """The triangular window of M points, with zeros at the ends.

    >>> tn.bartlett(3)
    Tensor([0., 1., 0.])
    """
    return asarray(np.bartlett(_points("bartlett", M)), dtype=float)


def kaiser(M: int, beta: float) -> AnyTensor:  # noqa: N803
    """The Kaiser window of M points with the shape `beta`, which must be a number.

    >>> tn.kaiser(3, 0.0)
    Tensor([1., 1., 1.])
    """
    return asarray(np.kaiser(_points("kaiser", M), number("kaiser", "beta", beta)), dtype=float)


def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: Size = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> AnyTensor:
    """`num` numbers from `start` to `stop`, each the same multiple of the one before it.

    Args:
        start: the first number; not 0.
        stop: the last number, which is excluded if not `endpoint`; not 0.
        num: how many.
        endpoint: whether `stop` is the last number.
        dtype: of the result.
        axis: the axis along which the numbers are, if start or stop is an array.

    >>> tn.geomspace(1.0, 100.0, 3)
    Tensor([  1.,  10., 100.])
    """
    first, last = promoted("geomspace", start, stop, inexact=True)
    first, last = broadcast_arrays(first, last)
    length: Any = num if isinstance(num, DimExpr) else count("geomspace", "num", num)
    if dtype_kind(first.dtype) == "c":
        turn = sign(first)
    else:
        both: Any = (first < 0) & (last < 0)
        turn = where(both, -1, 1).astype(first.dtype)
    exponents = linspace(log(first / turn), log(last / turn), length, endpoint=endpoint)
    result: Any = exp(exponents) * turn
    # Rounding would keep the ends from being exact.
    place: Any = arange(length)[(..., *[None] * first.ndim)]
    if endpoint:
        result = where(place == length - 1, last, result)
    result = where(place == 0, first, result)
    result = moveaxis(result, 0, axis) if axis else result
    return result if dtype is None else result.astype(dtype)  # type: ignore[no-any-return]


def _points(name: str, value: Any) -> int:
    points = count(name, "M", value)
    check_affordable(name, points)
    return points
