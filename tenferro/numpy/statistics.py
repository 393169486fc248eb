"""Counts of elements in bins, and covariances."""

from __future__ import annotations

from typing import Any

import numpy as np

from tenferro.config import flag
from tenferro.errors import DTypeError, ShapeError
from tenferro.ir import (
    AnyTensor,
    ArrayLike,
    DTypeLike,
    as_dtype,
    dtype_kind,
    is_inexact,
    real_dtype,
)
from tenferro.numpy.arguments import array, constant_size, count, number, numbers, promoted, vector
from tenferro.numpy.creation import asarray, linspace, ones_like, zeros, zeros_like
from tenferro.numpy.dtypes import float64
from tenferro.numpy.manipulation import atleast_2d, concat, stack
from tenferro.numpy.reductions import average, diff
from tenferro.numpy.sorting import searchsorted
from tenferro.numpy.ufuncs import clip
from tenferro.ops.functions import elementwise, is_number, reductions
from tenferro.ops.functions.analytic import sqrt
from tenferro.ops.functions.elementwise import conj, imag, maximum, real, where
from tenferro.ops.functions.manipulation import diagonal, flip, ravel, squeeze
from tenferro.runtime import Tensor

__all__ = [
    "bincount",
    "corrcoef",
    "cov",
    "digitize",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
]


def bincount(
    x: ArrayLike, weights: ArrayLike | None = None, minlength: int = 0, *, length: int | None = None
) -> AnyTensor:
    """How often each of 0, 1, 2, … occurs in x, or the sum of `weights` there.

    Args:
        x: a vector of integers that are not negative.
        weights: a number for each element, which is summed in float64, as in NumPy; 1 if None.
        minlength: the least size of the result.
        length: the size of the result; larger elements are not counted. A traced x needs it.

    Raises:
        TracingError: x is traced, and `length` is None.
        ShapeError: an element is negative; in a traced function it counts as 0.

    >>> tn.bincount([1, 3, 1])
    Tensor([0, 2, 0, 1])
    """
    values = vector("bincount", x)
    if dtype_kind(values.dtype) not in "biu":
        raise DTypeError(f"bincount: takes integers, got {values.meta}")
    if length is None:
        known = numbers("bincount", values, "pass length=")
        least = count("bincount", "minlength", minlength)
        length = max(int(known.max()) + 1 if known.size else 0, least)
    if isinstance(values, Tensor) and (values.numpy() < 0).any():
        raise ShapeError("bincount: takes integers that are not negative")
    size = count("bincount", "length", length)
    # A negative index would count from the end.
    places = where(values < 0, 0, values) if dtype_kind(values.dtype) == "i" else values
    amounts: Any = ones_like(places, "int64") if weights is None else _exact(weights)
    return zeros(size, amounts.dtype).at[places.astype("int64")].add(amounts)


def _exact(weights: Any) -> Any:
    """Weights in float64: many small numbers that are added one by one lose digits in float32."""
    (amounts,) = promoted("weights", weights)
    return amounts.astype("complex128" if dtype_kind(amounts.dtype) == "c" else "float64")


def digitize(
    x: ArrayLike, bins: ArrayLike, right: bool = False, *, method: str | None = None
) -> AnyTensor:
    """The number of the bin of each element: i if it is between `bins[i - 1]` and `bins[i]`.

    `bins` ascend or descend. With `right`, a bin holds its upper edge in place of its lower one.

    >>> tn.digitize([0.5, 1.0, 9.0], [0.0, 1.0, 2.0])
    Tensor([1, 2, 3])
    """
    edges = vector("digitize", bins)
    side = "left" if right else "right"
    if edges.shape[0] == 0:
        return zeros_like(x, "int64")
    rising = searchsorted(edges, x, side)
    falling = edges.shape[0] - searchsorted(flip(edges), x, side)
    return where(edges[-1] < edges[0], falling, rising)  # NaN stands at the end


def histogram_bin_edges(
    a: ArrayLike,
    bins: ArrayLike = 10,
    range: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> AnyTensor:
    """The edges of the bins of `histogram`.

    >>> tn.histogram_bin_edges([0.0, 4.0], 2)
    Tensor([0., 2., 4.])
    """
    if isinstance(bins, str):
        raise DTypeError(
            f"histogram_bin_edges: bins must be a number or edges, got {bins!r}; compute the edges "
            "with numpy.histogram_bin_edges"
        )
    if isinstance(bins, list | tuple) or getattr(bins, "ndim", 0) == 1:
        return promoted("histogram_bin_edges", bins, inexact=True)[0]  # type: ignore[no-any-return]
    pieces = count("histogram_bin_edges", "bins", bins, 1)
    (values,) = promoted("histogram_bin_edges", a, inexact=True)
    if range is not None:
        low, high = _limits(range, values.dtype)
    elif values.size == 0:
        low, high = (asarray(bound).astype(values.dtype) for bound in (0.0, 1.0))
    else:
        low, high = reductions.min(values), reductions.max(values)
    wider = where(low == high, 0.5, 0.0).astype(values.dtype)
    return linspace(low - wider, high + wider, pieces + 1)


def _limits(range: Any, dtype: Any) -> list[Any]:
    bounds = asarray(range)
    if bounds.shape != (2,):
        raise ShapeError(f"histogram: range must be two numbers, got {range!r}")
    if isinstance(bounds, Tensor):
        low, high = bounds.tolist()
        if not -np.inf < low <= high < np.inf:
            raise ShapeError(f"histogram: range must be two finite numbers in order, got {range!r}")
    return [bounds[i].astype(dtype) for i in (0, 1)]


def histogram(
    a: ArrayLike,
    bins: ArrayLike = 10,
    range: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[AnyTensor, AnyTensor]:
    """The number of elements in each bin, or the sum of their weights; and the edges of the bins.

    A bin holds its lower edge, the last bin both.

    Args:
        a: an array.
        bins: the number of bins, or their edges.
        range: the least and the largest edge; by default the extrema of `a`.
        weights: a number for each element; 1 if None.
        density: divide by the total and by the widths of the bins.

    >>> tn.histogram([0.0, 1.0, 1.0, 4.0], 2)
    (Tensor([3, 1]), Tensor([0., 2., 4.]))
    """
    values = array("histogram", a).ravel()
    edges = histogram_bin_edges(values, bins, range)
    counts: Any = _tally(edges.shape[0] - 1, [_bin(values, edges)], weights)
    if density is not None and flag("histogram: density", density):
        counts = counts / diff(edges) / reductions.sum(counts)
    return counts, edges


def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: Any = 10,
    range: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[AnyTensor, AnyTensor, AnyTensor]:
    """The number of points (x, y) in each cell of a grid; and the edges of its rows and columns.

    >>> tn.histogram2d([0.0, 1.0], [0.0, 1.0], 2)[0]
    Tensor([[1., 0.],
            [0., 1.]])
    """
    x, y = array("histogram2d", x), array("histogram2d", y)
    if not is_number(bins) and (not isinstance(bins, list | tuple) or len(bins) != 2):
        bins = [bins, bins]
    counts, (rows, columns) = histogramdd([x, y], bins, range, weights, density)
    return counts, rows, columns


def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[AnyTensor, list[AnyTensor]]:
    """The number of points in each cell of a grid; and the edges of the cells on each axis.

    Args:
        sample: points, of shape [n, d]; or a list of d vectors of coordinates.
        bins: the number of bins on each axis, or for each axis their number or edges.
        range: for each axis the least and the largest edge, or None.
        weights: a number for each point; 1 if None.
        density: divide by the total and by the volumes of the cells.

    >>> tn.histogramdd([[0.0, 1.0], [0.0, 1.0]], 1)[0]
    Tensor([[2.]])
    """
    is_list = isinstance(sample, list | tuple)
    points: Any = stack(sample, axis=1) if is_list else array("histogramdd", sample)
    if points.ndim != 2:
        raise ShapeError(f"histogramdd: takes points [n, d], got {points.meta}")
    axes = constant_size("histogramdd", points, 1)
    each = [bins] * axes if is_number(bins) else list(bins)
    limits = list(range) if isinstance(range, list | tuple) else [range] * axes
    if len(each) != axes or len(limits) != axes:
        raise ShapeError(f"histogramdd: {points.meta} needs bins, and ranges, for {axes} axes")
    columns = [points[:, i] for i in np.arange(axes).tolist()]
    edges = [
        histogram_bin_edges(column, pieces, limit)
        for column, pieces, limit in zip(columns, each, limits, strict=True)
    ]
    places = [_bin(column, edge) for column, edge in zip(columns, edges, strict=True)]
    counts: Any = _tally([edge.shape[0] - 1 for edge in edges], places, weights)
    counts = counts.astype("complex128" if dtype_kind(counts.dtype) == "c" else "float64")
    if density is not None and flag("histogram: density", density):
        counts = counts / reductions.sum(counts)
        for i, edge in enumerate(edges):
            counts = counts / diff(edge).reshape(-1, *(1,) * (axes - i - 1))
    return counts, edges


def _bin(values: Any, edges: Any) -> Any:
    """The bin of each value, counted from 1; 0 below, and the number of edges above."""
    place = searchsorted(edges, values, "right")
    last = edges.shape[0] - 1
    return where(values == edges[-1], last, place)


def _tally(shape: Any, places: list[Any], weights: Any) -> Any:
    """The counts, or the sums of weights, in cells counted from 1."""
    sizes = shape if isinstance(shape, list) else [shape]
    amounts: Any = ones_like(places[0], "int64") if weights is None else ravel(weights)
    dtype = amounts.dtype
    amounts = _exact(amounts) if dtype_kind(dtype) in "fc" else amounts
    wide: Any = zeros([size + 2 for size in sizes], amounts.dtype)
    return wide.at[tuple(places)].add(amounts)[(slice(1, -1),) * len(sizes)].astype(dtype)


def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
) -> AnyTensor:
    """The covariances of variables.

    Args:
        m: observations, of shape [variables, observations]; or of one variable.
        y: further variables.
        rowvar: whether variables are rows; else they are columns.
        bias: divide by the number of observations, not by one less.
        ddof: what is subtracted from that number instead.
        fweights: how often each observation counts.
        aweights: the weight of each observation.
        dtype: of the computation.

    >>> tn.cov([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    Tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    rows = _variables("cov", m, rowvar, dtype)
    if y is not None:
        rows = concat([rows, _variables("cov", y, rowvar, dtype)], axis=0)
    less = int(not bias) if ddof is None else number("cov", "ddof", ddof)
    weight: Any = None if fweights is None else asarray(fweights).astype(float64)
    if aweights is not None:
        (by,) = promoted("cov", aweights, inexact=True)
        weight = by if weight is None else weight * by
    middle = average(rows, axis=1, weights=weight, keepdims=True)
    apart: Any = rows - middle
    total: Any = rows.shape[1] if weight is None else reductions.sum(weight)
    divisor = total - less
    if weight is not None and less and aweights is not None:
        divisor = total - less * reductions.sum(weight * asarray(aweights)) / total
    # Of too few observations nothing is known: NaN, as in NumPy.
    if is_number(divisor):
        divisor = max(divisor, 0)
    else:
        divisor = maximum(divisor, 0).astype(real_dtype(rows.dtype))
    scaled = apart if weight is None else apart * weight
    return squeeze(scaled @ conj(apart.T) / divisor)


def corrcoef(
    x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, dtype: DTypeLike | None = None
) -> AnyTensor:
    """The correlations of variables: covariances divided by both standard deviations.

    >>> tn.corrcoef([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    Tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    x = array("corrcoef", x)
    c: Any = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c  # type: ignore[no-any-return]
    deviation = sqrt(real(diagonal(c)))
    c = c / deviation[:, None] / deviation[None, :]
    if dtype_kind(c.dtype) == "c":
        return elementwise.complex(clip(real(c), -1, 1), clip(imag(c), -1, 1))
    return clip(c, -1, 1)


def _variables(name: str, m: Any, rowvar: bool, dtype: Any) -> Any:
    """Observations with variables as rows."""
    (a,) = promoted(name, m, inexact=True)
    if a.ndim > 2:
        raise ShapeError(f"{name}: takes a matrix of observations, got {a.meta}")
    if dtype is not None and not is_inexact(as_dtype(dtype)):
        raise DTypeError(f"{name}: dtype must be a floating-point or complex one, got {dtype!r}")
    rows: Any = atleast_2d(a if dtype is None else a.astype(dtype))
    return rows if flag(f"{name}: rowvar", rowvar) or a.ndim < 2 else rows.T
