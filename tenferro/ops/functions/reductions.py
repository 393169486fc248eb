"""Sums, means, extrema, cumulative sums, differences, sorting."""

from __future__ import annotations

from collections.abc import Callable

from tenferro.errors import AxisError, ConfigError, DTypeError, ShapeError, counted
from tenferro.ir import (
    BOOL,
    INT64,
    AnyTensor,
    ArrayLike,
    Axis,
    DTypeLike,
    Exact,
    TensorMeta,
    as_dtype,
    integer_of,
    is_integer,
    maximum,
    read_integer,
    refuse_traced,
)
from tenferro.ops import (
    DIV,
    MUL,
    SUB,
    ArgMax,
    ArgMin,
    BroadcastInDim,
    CumulativeProd,
    CumulativeSum,
    ReduceMax,
    ReduceMin,
    ReduceProd,
    ReduceSum,
    Reverse,
    Sort,
    StdTensorOp,
    TopPlaces,
    scalar,
)
from tenferro.ops.functions.dispatch import (
    array_function,
    broadcast_like,
    emit,
    emit_all,
    full,
    gather_along,
)
from tenferro.ops.functions.elementwise import remainder, where
from tenferro.ops.functions.indexing import fill_of, from_the_front, size_value, within
from tenferro.ops.functions.logical import not_equal
from tenferro.ops.functions.manipulation import concat, permute_dims, ravel, window
from tenferro.ops.functions.masked_reductions import extremum, moment, of_counting, total
from tenferro.ops.functions.promotion import (
    agree,
    broadcast_to,
    convert,
    countable,
    inexact_dtype,
    named,
    normal_axis,
    promote,
    reduce,
    reduced_axes,
    result_dtype,
)

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "min",
    "prod",
    "ptp",
    "sort",
    "std",
    "sum",
    "var",
]

# Reductions over axes.


@array_function(optional=("initial", "where"))
def sum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> AnyTensor:
    """Sum over `axis` (None: all axes). Bools and integers are summed in 64 bits.

    Args:
        a: an array.
        axis: one axis or several.
        dtype: of the sum.
        out: None, as arrays are not written to.
        keepdims: keep these axes with size 1.
        initial: a number that is added.
        where: a mask of the elements that count.
        promote_integers: False sums integers in their own dtype.

    >>> tn.sum([[1, 2], [3, 4]], axis=0)
    Tensor([4, 6])
    >>> tn.sum([1, 2, 3], where=[True, False, True], initial=10)
    Tensor(14)
    """
    if dtype is None and initial is where is None and promote_integers:  # nearly all calls
        return reduce("sum", ReduceSum, countable(a), axis, keepdims)
    return total("sum", a, dtype, promote_integers, axis, keepdims, initial, where)


@array_function(optional=("initial", "where"))
def prod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> AnyTensor:
    """Product over `axis`; parameters as of `sum`. Its derivative is correct for factors of zero.

    >>> tn.prod([2, 3, 4])
    Tensor(24)
    """
    if dtype is None and initial is where is None and promote_integers:  # nearly all calls
        return reduce("prod", ReduceProd, countable(a), axis, keepdims)
    return total("prod", a, dtype, promote_integers, axis, keepdims, initial, where)


@array_function(optional=("initial", "where"))
def max(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> AnyTensor:
    """Largest element over `axis`; NaN wins, and ties share the derivative evenly.

    `initial` takes part. With `where`, a mask of the elements that count, it is needed.

    >>> tn.max([[1, 5], [7, 3]], axis=1)
    Tensor([5, 7])
    """
    return extremum("max", a, axis, keepdims, initial, where)


@array_function(optional=("initial", "where"))
def min(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> AnyTensor:
    """Smallest element over `axis`; parameters as of `max`.

    >>> tn.min([[1, 5], [7, 3]], axis=1)
    Tensor([1, 3])
    """
    return extremum("min", a, axis, keepdims, initial, where)


@array_function(optional=("where",))
def any(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> AnyTensor:
    """Whether any element over `axis` is nonzero; false if there are no elements.

    `where` is a mask of the elements that count.

    >>> tn.any([[0, 1], [0, 0]], axis=1)
    Tensor([ True, False])
    """
    return of_counting("any", promote((a,), BOOL)[0], axis, keepdims, None, where)


@array_function(optional=("where",))
def all(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> AnyTensor:
    """Whether all elements over `axis` are nonzero; true if there are no elements.

    `where` is a mask of the elements that count.

    >>> tn.all([[1, 1], [0, 1]], axis=1)
    Tensor([ True, False])
    """
    return of_counting("all", promote((a,), BOOL)[0], axis, keepdims, None, where)


@array_function
def count_nonzero(a: ArrayLike, axis: Axis = None, keepdims: bool = False) -> AnyTensor:
    """The number of nonzero elements over `axis`.

    >>> tn.count_nonzero([[1, 1], [0, 1]], axis=1)
    Tensor([2, 1])
    """
    (holds,) = promote((a,), BOOL)
    return reduce("count_nonzero", ReduceSum, convert(holds, INT64), axis, keepdims)


@array_function(optional=("where",))
def mean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> AnyTensor:
    """Mean over `axis`; integers become float64. `where` is a mask of the elements that count.

    >>> tn.mean([1.0, 2.0, 6.0])
    Tensor(3.)
    """
    return moment("mean", a, where, axis, dtype, 0, keepdims)


@array_function(optional=("where", "mean"))
def var(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> AnyTensor:
    """Mean of |a - mean|² over `axis`; real. `correction`, or `ddof`, lowers the divisor.

    `where` is a mask of the elements that count; `mean` is the mean, if it is known, with the axes
    of `a`.

    >>> tn.var([1.0, 3.0])
    Tensor(1.)
    >>> tn.var([1.0, 3.0], correction=1)
    Tensor(2.)
    """
    lowered = ddof if correction is None else correction
    return moment("var", a, where, axis, dtype, lowered, keepdims, mean)


@array_function(optional=("where", "mean"))
def std(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> AnyTensor:
    """Root of the variance over `axis`; parameters as of `var`.

    >>> tn.std([1.0, 3.0])
    Tensor(1.)
    """
    lowered = ddof if correction is None else correction
    return moment("std", a, where, axis, dtype, lowered, keepdims, mean)


@array_function
def ptp(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False) -> AnyTensor:
    """Largest element minus the smallest, over `axis`.

    >>> tn.ptp([[1, 5], [7, 3]], axis=1)
    Tensor([4, 4])
    """
    largest = reduce("ptp", ReduceMax, a, axis, keepdims)
    return emit(SUB, largest, reduce("ptp", ReduceMin, a, axis, keepdims))


def average(
    x: ArrayLike, weights: ArrayLike | None = None, axis: Axis = None, keepdims: bool = False
) -> AnyTensor:
    """Mean weighted by `weights`."""
    if weights is None:
        return mean(x, axis, keepdims=keepdims)
    value, weight = weighted(x, weights, axis)
    axes = reduced_axes("average", axis, value.meta.rank)
    total = sum(emit(MUL, value, weight), axes, keepdims=keepdims)
    return emit(DIV, total, sum(weight, axes, keepdims=keepdims))


@named("average")
def weights_of(x: ArrayLike, weights: ArrayLike, axis: Axis) -> AnyTensor:
    """The weights of an array in its shape, and in the dtype of its mean."""
    return weighted(x, weights, axis)[1]


def weighted(x: ArrayLike, weights: ArrayLike, axis: Axis) -> tuple[AnyTensor, AnyTensor]:
    """An array and its weights, of one dtype and one shape.

    The weights have the shape of the array, or the sizes of `axis` in the order of these axes.
    """
    value, weight = promote((x, weights), inexact_dtype((x, weights)))
    meta, weight_meta = value.meta, weight.meta
    listed = axis if isinstance(axis, tuple | list) else () if axis is None else (axis,)
    axes = [normal_axis("average", each, meta.rank) for each in listed]
    if weight_meta.rank == len(axes) and weight_meta.extents != meta.extents:
        order = sorted(range(len(axes)), key=axes.__getitem__)
        weight, axes = permute_dims(weight, order), sorted(axes)
        for place, along in enumerate(axes):
            value, weight = agree(value, along, weight, place)
        if [weight.meta.extents[i] for i in range(len(axes))] == [
            value.meta.extents[i] for i in axes
        ]:
            shape = value.meta.exact_shape("average", "operand")
            weight = emit(BroadcastInDim(shape, tuple(axes)), weight)
    elif weight_meta.rank == meta.rank:
        for place in range(meta.rank):
            value, weight = agree(value, place, weight, place)
    if weight.meta.extents != value.meta.extents:
        raise ShapeError(
            f"average: weights {weight_meta} must have the shape of {meta}, or the sizes of the "
            "axes over which the mean is"
        )
    return value, weight


# Cumulative sums and products, and differences of adjacent elements.


@array_function
def cumulative_sum(
    x: ArrayLike,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
    out: None = None,
) -> AnyTensor:
    """Cumulative sums along `axis`; 0 comes first if `include_initial`.

    >>> tn.cumulative_sum([1, 2, 3])
    Tensor([1, 3, 6])
    """
    start = 0 if include_initial else None
    return _scan("cumulative_sum", CumulativeSum, x, axis, dtype, start)


@array_function
def cumulative_prod(
    x: ArrayLike,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
    out: None = None,
) -> AnyTensor:
    """Cumulative products along `axis`; 1 comes first if `include_initial`.

    Its derivative is correct for factors of zero.

    >>> tn.cumulative_prod([1, 2, 3])
    Tensor([1, 2, 6])
    """
    start = 1 if include_initial else None
    return _scan("cumulative_prod", CumulativeProd, x, axis, dtype, start)


@array_function
def cumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> AnyTensor:
    """Cumulative sums along `axis`; of the flattened array if None.

    >>> tn.cumsum([[1, 2], [3, 4]])
    Tensor([ 1,  3,  6, 10])
    """
    value, along = _along_one_axis(a, axis)
    return _scan("cumsum", CumulativeSum, value, along, dtype, None)


@array_function
def cumprod(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None
) -> AnyTensor:
    """Cumulative products along `axis`; of the flattened array if None.

    >>> tn.cumprod([[1, 2], [3, 4]])
    Tensor([ 1,  2,  6, 24])
    """
    value, along = _along_one_axis(a, axis)
    return _scan("cumprod", CumulativeProd, value, along, dtype, None)


def _along_one_axis(x: ArrayLike, axis: int | None) -> tuple[AnyTensor, int]:
    (value,) = promote((x,))
    if axis is None or (value.meta.rank == 0 and axis in (0, -1)):
        return ravel(value), 0
    return value, axis


def _scan(
    name: str,
    op: Callable[[int], StdTensorOp],
    x: ArrayLike,
    axis: int | None,
    dtype: DTypeLike | None,
    start: int | None,
) -> AnyTensor:
    of_bools = dtype is not None and as_dtype(dtype) == BOOL
    value = countable(promote((x,), BOOL)[0] if of_bools else x, None if of_bools else dtype)
    meta: TensorMeta = value.meta
    if axis is None and meta.rank != 1:
        raise AxisError(f"{name}: {meta} does not have exactly one axis; pass axis=")
    along = normal_axis(name, 0 if axis is None else axis, meta.rank)
    result = emit(op(along), value)
    if start is not None:
        shape = list(meta.exact_shape(name, "operand"))
        shape[along] = 1
        result = concat(full(start, TensorMeta.of(meta.dtype, shape)), result, axis=along)
    return convert(result, BOOL) if of_bools else result


def diff(x: ArrayLike, *ends: ArrayLike, before: int = 0, n: int = 1, axis: int = -1) -> AnyTensor:
    """Each element minus the one before it, `n` times; for bools, whether the two differ.

    The first `before` of `ends` are put before the elements, the rest after them.
    """
    dtype = result_dtype((x, *ends))
    (value,) = promote((x,), dtype)
    along = normal_axis("diff", axis, value.meta.rank)
    n = read_integer("diff", "n", n, AxisError)
    if n < 0:
        raise AxisError(f"diff: n must not be negative, got {n}")
    if n and ends:
        pieces = [_end(value, end, along) for end in ends]
        value = concat(*pieces[:before], value, *pieces[before:], axis=along)
    for _ in range(n):
        size = value.meta.exact_shape("diff", "operand")[along]
        if size == 0:
            break
        rest = maximum(size - 1, 0)
        later, earlier = (window(value, along, start, start + rest) for start in (size - rest, 0))
        value = not_equal(later, earlier) if dtype == BOOL else emit(SUB, later, earlier)
    return value


def _end(value: AnyTensor, end: ArrayLike, axis: int) -> AnyTensor:
    """The values to put before or after the elements; a number becomes an axis of size 1."""
    meta: TensorMeta = value.meta
    (piece,) = promote((end,), meta.dtype)
    if piece.meta.rank:
        return piece
    shape = list(meta.exact_shape("diff", "operand"))
    shape[axis] = 1
    return broadcast_to(piece, shape)


# Sorting, indices of extrema, and selection along an axis.


@array_function
def sort(
    a: ArrayLike,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = True,
    descending: bool = False,
) -> AnyTensor:
    """The elements of `a` along `axis` in ascending or descending order. NaN counts as the largest.

    The flattened array if `axis` is None. Sorting is always stable: `kind` and `stable` have no
    effect, and `order` must be None.

    >>> tn.sort([3.0, 1.0, 2.0])
    Tensor([1., 2., 3.])
    """
    value, place = _to_sort("sort", a, axis, kind, order)
    if not descending:
        return emit_all(Sort(place), value)[0]
    flip = Reverse((place,))
    return emit(flip, emit_all(Sort(place), emit(flip, value))[0])


@array_function
def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = True,
    descending: bool = False,
    dtype: DTypeLike | None = None,
) -> AnyTensor:
    """The indices that sort `a` along `axis`; equal elements keep their order.

    They are of `dtype`, int64 if None; other parameters as of `sort`.

    >>> tn.argsort([3.0, 1.0, 2.0], descending=True)
    Tensor([0, 2, 1])
    """
    value, place = _to_sort("argsort", a, axis, kind, order)
    element = INT64 if dtype is None else as_dtype(dtype)
    if not is_integer(element):
        raise DTypeError(f"argsort: dtype of the indices must be an integer one, got {dtype}")
    if not descending:
        return convert(emit_all(Sort(place), value)[1], element)
    flip = Reverse((place,))
    places = emit(flip, emit_all(Sort(place), emit(flip, value))[1])
    last = emit(SUB, size_value(value, place), emit(scalar(1, INT64)))
    return convert(emit(SUB, broadcast_like(last, places.meta, (), "argsort"), places), element)


_KINDS_OF_SORTS = (None, "quicksort", "mergesort", "heapsort", "stable")


def _to_sort(
    name: str, x: ArrayLike, axis: int | None, kind: str | None, order: None
) -> tuple[AnyTensor, int]:
    """The array to sort, and the axis along which it is sorted."""
    if kind not in _KINDS_OF_SORTS:
        listed = ", ".join(map(repr, _KINDS_OF_SORTS))
        raise ConfigError(f"{name}: kind must be one of {listed}, got {kind!r}")
    if order is not None:
        raise ConfigError(f"{name}: order must be None, as elements have no fields; got {order!r}")
    (value,) = promote((x,))
    if axis is None:
        return ravel(value), 0
    return value, normal_axis(name, axis, value.meta.rank)


def top_places(x: ArrayLike, k: int, axis: int = -1) -> AnyTensor:
    """The indices of the k largest elements along an axis, the largest first."""
    (value,) = promote((x,))
    meta: TensorMeta = value.meta
    extent = meta.extents[axis] if meta.rank else Exact(0)
    limit = extent.dim if isinstance(extent, Exact) else None
    refuse_traced("top_k", "k", k)
    count = integer_of(k)
    if count is None or count < 0:
        raise ShapeError(f"top_k: k must be a number of elements, got {k!r}")
    k = count
    if meta.rank == 0 or (isinstance(limit, int) and k > limit):
        where = "its last axis" if axis in (-1, meta.rank - 1) else f"axis {axis}"
        raise ShapeError(f"top_k: {meta} does not have {counted(k, 'element')} along {where}")
    return emit(TopPlaces(axis % meta.rank, k), value)


@array_function
def argmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool = False
) -> AnyTensor:
    """The index of the largest element along `axis`; of the flattened array if None.

    Of equal elements the first one counts. NaN counts as the largest.

    >>> tn.argmax([3.0, 1.0, 3.0])
    Tensor(0)
    """
    return _place("argmax", ArgMax, a, axis, keepdims)


@array_function
def argmin(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool = False
) -> AnyTensor:
    """The index of the smallest element along `axis`; of the flattened array if None.

    Of equal elements the first one counts. NaN counts as the smallest.

    >>> tn.argmin([3.0, 1.0, 3.0])
    Tensor(1)
    """
    return _place("argmin", ArgMin, a, axis, keepdims)


def _place(
    name: str, op: type[ArgMax] | type[ArgMin], x: ArrayLike, axis: int | None, keepdims: bool
) -> AnyTensor:
    (value,) = promote((x,))
    meta: TensorMeta = value.meta
    if axis is None:
        place = emit(op(0), ravel(value))
        remaining: list[int] = []
    else:
        along = normal_axis(name, axis, meta.rank)
        place = emit(op(along), value)
        remaining = [i for i in range(meta.rank) if i != along]
    if not keepdims:
        return place
    extents = [meta.extents[i] if i in remaining else Exact(1) for i in range(meta.rank)]
    return broadcast_like(place, TensorMeta(INT64, extents), remaining, name)


def take_along_axis(
    x: AnyTensor,
    indices: AnyTensor,
    axis: int = -1,
    mode: str | None = None,
    fill_value: bool | complex | None = None,
) -> AnyTensor:
    """The elements of x at `indices` along `axis`; the other axes of the two are matched.

    Out of bounds, `mode` is one of "clip", "wrap" and "fill"; the nearest element if None.
    """
    meta, indices_meta = x.meta, indices.meta
    along = normal_axis("take_along_axis", axis, meta.rank)
    if not is_integer(indices_meta.dtype):
        raise DTypeError(f"take_along_axis: indices must be integers, got {indices_meta}")
    if meta.rank != indices_meta.rank:
        raise ShapeError(
            f"take_along_axis: indices {indices_meta} must have as many axes as {meta}; "
            "insert axes of size 1"
        )
    shapes = [list(m.exact_shape("take_along_axis", "operand")) for m in (meta, indices_meta)]
    for i in range(meta.rank):
        if i != along:
            ones = [shape[i] == 1 for shape in shapes]
            shapes[0][i] = shapes[1][i] = shapes[1][i] if ones[0] else shapes[0][i]
    places = from_the_front(x, indices, along)
    if mode == "wrap":
        places = remainder(indices, size_value(x, along))
    whole, wide = broadcast_to(x, shapes[0]), broadcast_to(places, shapes[1])
    picked = gather_along(whole, wide, along, unique=False)
    if mode != "fill":
        return picked
    inside = within(wide, x, along)
    value = fill_of(meta.dtype) if fill_value is None else fill_value
    return where(inside, picked, value)
