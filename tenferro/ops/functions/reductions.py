"""Sums, means, extrema, cumulative sums, differences, sorting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tenferro.errors import AxisError, DTypeError, ShapeError, counted
from tenferro.ir import (
    BOOL,
    FLOAT16,
    FLOAT32,
    INT64,
    UINT64,
    AnyTensor,
    ArrayLike,
    Axis,
    Dim,
    DType,
    DTypeLike,
    Exact,
    TensorMeta,
    as_dtype,
    integer_of,
    is_complex,
    is_inexact,
    is_integer,
    maximum,
    number_of,
    product,
    read_integer,
    real_dtype,
    refuse_traced,
)
from tenferro.ops import (
    ADD,
    DIV,
    IMAG,
    MAXIMUM,
    MUL,
    REAL,
    REDUCTIONS,
    SELECT,
    SQRT,
    SUB,
    ArgMax,
    ArgMin,
    BroadcastInDim,
    CumulativeProd,
    CumulativeSum,
    Pad,
    ReduceAnd,
    ReduceMax,
    ReduceMin,
    ReduceOr,
    ReduceProd,
    ReduceSum,
    Reverse,
    ShapeOf,
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
    full_like,
    gather_along,
)
from tenferro.ops.functions.elementwise import divide, remainder, subtract, where
from tenferro.ops.functions.indexing import fill_of, from_the_front, size_value, within
from tenferro.ops.functions.logical import not_equal
from tenferro.ops.functions.manipulation import concat, ravel, window
from tenferro.ops.functions.promotion import (
    agree,
    as_value,
    broadcast_to,
    called,
    convert,
    fitting,
    inexact_dtype,
    normal_axes,
    normal_axis,
    promote,
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

MakeReduction = Callable[[tuple[int, ...]], StdTensorOp]


def reduce(name: str, op: MakeReduction, x: ArrayLike, axis: Axis, keepdims: bool) -> AnyTensor:
    """The reduction over `axis` (None: all); its axes stay with size 1 if `keepdims`."""
    (value,) = promote((x,))
    meta: TensorMeta = value.meta
    axes = normal_axes(name, axis, meta.rank)
    result = called(name, op(axes), value)
    return restored(result, meta, axes) if keepdims else result


@array_function
def sum(
    x: ArrayLike, axis: Axis = None, *, dtype: DTypeLike | None = None, keepdims: bool = False
) -> AnyTensor:
    """Sum over `axis` (None: all axes). Bools and integers are summed in 64 bits.

    >>> tn.sum([[1, 2], [3, 4]], axis=0)
    Tensor([4, 6])
    """
    return reduce("sum", ReduceSum, countable(x, dtype), axis, keepdims)


@array_function
def prod(
    x: ArrayLike, axis: Axis = None, *, dtype: DTypeLike | None = None, keepdims: bool = False
) -> AnyTensor:
    """Product over `axis`. Its derivative is correct for factors of zero.

    >>> tn.prod([2, 3, 4])
    Tensor(24)
    """
    return reduce("prod", ReduceProd, countable(x, dtype), axis, keepdims)


@array_function
def max(x: ArrayLike, axis: Axis = None, *, keepdims: bool = False) -> AnyTensor:
    """Largest element over `axis`; NaN wins, and ties share the derivative evenly.

    >>> tn.max([[1, 5], [7, 3]], axis=1)
    Tensor([5, 7])
    """
    return reduce("max", ReduceMax, x, axis, keepdims)


@array_function
def min(x: ArrayLike, axis: Axis = None, *, keepdims: bool = False) -> AnyTensor:
    """Smallest element over `axis`; NaN wins, and ties share the derivative evenly.

    >>> tn.min([[1, 5], [7, 3]], axis=1)
    Tensor([1, 3])
    """
    return reduce("min", ReduceMin, x, axis, keepdims)


@array_function
def any(x: ArrayLike, axis: Axis = None, *, keepdims: bool = False) -> AnyTensor:
    """Whether any element over `axis` is nonzero; false if there are no elements.

    >>> tn.any([[0, 1], [0, 0]], axis=1)
    Tensor([ True, False])
    """
    return reduce("any", ReduceOr, promote((x,), BOOL)[0], axis, keepdims)


@array_function
def all(x: ArrayLike, axis: Axis = None, *, keepdims: bool = False) -> AnyTensor:
    """Whether all elements over `axis` are nonzero; true if there are no elements.

    >>> tn.all([[1, 1], [0, 1]], axis=1)
    Tensor([ True, False])
    """
    return reduce("all", ReduceAnd, promote((x,), BOOL)[0], axis, keepdims)


@array_function
def count_nonzero(x: ArrayLike, axis: Axis = None, *, keepdims: bool = False) -> AnyTensor:
    """The number of nonzero elements over `axis`.

    >>> tn.count_nonzero([[1, 1], [0, 1]], axis=1)
    Tensor([2, 1])
    """
    (holds,) = promote((x,), BOOL)
    return reduce("count_nonzero", ReduceSum, convert(holds, INT64), axis, keepdims)


@array_function
def mean(
    x: ArrayLike, axis: Axis = None, *, dtype: DTypeLike | None = None, keepdims: bool = False
) -> AnyTensor:
    """Mean over `axis`; integers become float64.

    >>> tn.mean([1.0, 2.0, 6.0])
    Tensor(3.)
    """
    return moment("mean", x, None, axis, dtype, None, 0, keepdims)


@array_function
def var(
    x: ArrayLike,
    axis: Axis = None,
    *,
    dtype: DTypeLike | None = None,
    correction: float | None = None,
    ddof: float = 0,
    keepdims: bool = False,
) -> AnyTensor:
    """Mean of |x - mean|² over `axis`; real. `correction`, or `ddof`, lowers the divisor.

    >>> tn.var([1.0, 3.0])
    Tensor(1.)
    >>> tn.var([1.0, 3.0], correction=1)
    Tensor(2.)
    """
    return moment("var", x, None, axis, dtype, correction, ddof, keepdims)


@array_function
def std(
    x: ArrayLike,
    axis: Axis = None,
    *,
    dtype: DTypeLike | None = None,
    correction: float | None = None,
    ddof: float = 0,
    keepdims: bool = False,
) -> AnyTensor:
    """Root of the variance over `axis`. `correction`, or `ddof`, lowers the divisor.

    >>> tn.std([1.0, 3.0])
    Tensor(1.)
    """
    return moment("std", x, None, axis, dtype, correction, ddof, keepdims)


def moment(
    name: str,
    x: ArrayLike,
    mask: AnyTensor | None,
    axis: Axis,
    dtype: DTypeLike | None,
    correction: float | None,
    ddof: float,
    keepdims: bool,
) -> AnyTensor:
    """The mean over `axis` of the elements where a mask holds, their variance, or its root.

    `correction`, or `ddof` if it is None, lowers the divisor of the variance. Sums of small
    integers would wrap around, and sums and squares of float16 overflow: they are computed in a
    wider dtype.
    """
    element = inexact_dtype((x,)) if dtype is None else as_dtype(dtype)
    (value,) = promote((x,), FLOAT32 if element == FLOAT16 else element)
    if name == "mean":
        return convert(_mean(name, value, mask, axis, keepdims, 0), element)
    if not is_inexact(element):
        raise DTypeError(f"{name}: dtype must be floating-point or complex, got {dtype}")
    lowered = _number(name, ddof if correction is None else correction)
    axes = normal_axes(name, axis, value.meta.rank)
    deviation = subtract(value, _mean(name, value, mask, axes, True, 0))
    if is_complex(element):
        parts = [emit(part, deviation) for part in (REAL, IMAG)]
        squares = emit(ADD, *(emit(MUL, part, part) for part in parts))
    else:
        squares = emit(MUL, deviation, deviation)
    result = _mean(name, squares, mask, axes, keepdims, lowered)
    result = emit(SQRT, result) if name == "std" else result
    return convert(result, real_dtype(element) if dtype is None else element)


def _number(name: str, correction: float) -> float:
    """What lowers the divisor."""
    number = number_of(correction)
    if number is None:
        refuse_traced(name, "correction", correction)
        raise DTypeError(f"{name}: correction must be a number, got {correction!r}")
    return number


def _mean(
    name: str,
    value: AnyTensor,
    mask: AnyTensor | None,
    axis: Axis,
    keepdims: bool,
    correction: float,
) -> AnyTensor:
    """Sum divided by the number of elements minus `correction`; NaN if that divisor is 0."""
    meta: TensorMeta = value.meta
    axes = normal_axes(name, axis, meta.rank)
    if mask is None:
        divisor = number_of_elements(value, axes)
    else:
        value = emit(SELECT, mask, value, full_like(0, value))
        divisor = reduce(name, ReduceSum, convert(mask, meta.dtype), axes, keepdims)
    if correction:
        divisor = emit(SUB, divisor, full_like(correction, divisor))
        divisor = emit(MAXIMUM, divisor, full_like(0, divisor))
    return divide(sum(value, axes, keepdims=keepdims), divisor)


@array_function
def ptp(x: ArrayLike, axis: Axis = None, *, keepdims: bool = False) -> AnyTensor:
    """Largest element minus the smallest, over `axis`.

    >>> tn.ptp([[1, 5], [7, 3]], axis=1)
    Tensor([4, 4])
    """
    largest = reduce("ptp", ReduceMax, x, axis, keepdims)
    return emit(SUB, largest, reduce("ptp", ReduceMin, x, axis, keepdims))


def average(
    x: ArrayLike, weights: ArrayLike | None = None, axis: Axis = None, keepdims: bool = False
) -> AnyTensor:
    """Mean weighted by `weights`."""
    if weights is None:
        return mean(x, axis, keepdims=keepdims)
    value, weight = promote((x, weights), inexact_dtype((x, weights)))
    meta, weight_meta = value.meta, weight.meta
    axes = normal_axes("average", axis, meta.rank)
    if weight_meta.rank == 1 and meta.rank > 1 and len(axes) == 1:
        value, weight = agree(value, axes[0], weight, 0)
        shape = value.meta.exact_shape("average", "operand")
        weight = emit(BroadcastInDim(shape, axes), weight)
    elif weight_meta.rank == meta.rank:
        for place in range(meta.rank):
            value, weight = agree(value, place, weight, place)
    if weight.meta.extents != value.meta.extents:
        raise ShapeError(
            f"average: weights {weight_meta} must have the shape of {meta}, or be a vector along "
            "one axis"
        )
    total = sum(emit(MUL, value, weight), axes, keepdims=keepdims)
    return emit(DIV, total, sum(weight, axes, keepdims=keepdims))


def countable(x: ArrayLike, dtype: DTypeLike | None = None) -> AnyTensor:
    """The operand in `dtype`; if None, in the dtype in which NumPy sums its dtype."""
    if dtype is not None:
        return promote((x,), as_dtype(dtype))[0]
    element = result_dtype((x,))
    if element.kind in "bi":
        element = INT64
    elif element.kind == "u":
        element = UINT64
    return promote((x,), element)[0]


def number_of_elements(value: AnyTensor, axes: Sequence[int]) -> AnyTensor:
    """The number of elements along `axes` together, as a value of the dtype of `value`."""
    meta: TensorMeta = value.meta
    exact: Dim = product(extent.dim for i in axes if isinstance(extent := meta.extents[i], Exact))
    (count,) = promote((exact,), meta.dtype)
    for axis in axes:
        if not isinstance(meta.extents[axis], Exact):
            size = convert(emit(ShapeOf(axis), value), meta.dtype)
            count = emit(MUL, count, size)
    return count


def restored(result: AnyTensor, meta: TensorMeta, axes: tuple[int, ...]) -> AnyTensor:
    """The reduction over `axes` of an operand of type `meta`, with these axes as axes of size 1."""
    wide = result.meta.with_extents(
        Exact(1) if i in axes else extent for i, extent in enumerate(meta.extents)
    )
    remaining = tuple(i for i in range(meta.rank) if i not in axes)
    return broadcast_like(result, wide, remaining, "keepdims")


# Cumulative sums and products, and differences of adjacent elements.


@array_function
def cumulative_sum(
    x: ArrayLike,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
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
) -> AnyTensor:
    """Cumulative products along `axis`; 1 comes first if `include_initial`.

    Its derivative is correct for factors of zero.

    >>> tn.cumulative_prod([1, 2, 3])
    Tensor([1, 2, 6])
    """
    start = 1 if include_initial else None
    return _scan("cumulative_prod", CumulativeProd, x, axis, dtype, start)


@array_function
def cumsum(x: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None) -> AnyTensor:
    """Cumulative sums along `axis`; of the flattened array if None.

    >>> tn.cumsum([[1, 2], [3, 4]])
    Tensor([ 1,  3,  6, 10])
    """
    value, along = _along_one_axis(x, axis)
    return _scan("cumsum", CumulativeSum, value, along, dtype, None)


@array_function
def cumprod(x: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None) -> AnyTensor:
    """Cumulative products along `axis`; of the flattened array if None.

    >>> tn.cumprod([[1, 2], [3, 4]])
    Tensor([ 1,  2,  6, 24])
    """
    value, along = _along_one_axis(x, axis)
    return _scan("cumprod", CumulativeProd, value, along, dtype, None)


def _along_one_axis(x: ArrayLike, axis: int | None) -> tuple[AnyTensor, int]:
    (value,) = promote((x,))
    return (ravel(value), 0) if axis is None else (value, axis)


def _scan(
    name: str,
    op: Callable[[int], StdTensorOp],
    x: ArrayLike,
    axis: int | None,
    dtype: DTypeLike | None,
    start: int | None,
) -> AnyTensor:
    value = countable(x, dtype)
    meta: TensorMeta = value.meta
    if axis is None and meta.rank != 1:
        raise AxisError(f"{name}: {meta} does not have exactly one axis; pass axis=")
    along = normal_axis(name, 0 if axis is None else axis, meta.rank)
    result = emit(op(along), value)
    if start is None:
        return result
    shape = list(meta.exact_shape(name, "operand"))
    shape[along] = 1
    return concat(full(start, TensorMeta.of(meta.dtype, shape)), result, axis=along)


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
    x: ArrayLike, axis: int = -1, *, descending: bool = False, stable: bool = True
) -> AnyTensor:
    """The elements of x along `axis` in ascending or descending order. NaN counts as the largest.

    Sorting is always stable.

    >>> tn.sort([3.0, 1.0, 2.0])
    Tensor([1., 2., 3.])
    """
    (value,) = promote((x,))
    place = normal_axis("sort", axis, value.meta.rank)
    if not descending:
        return emit_all(Sort(place), value)[0]
    flip = Reverse((place,))
    return emit(flip, emit_all(Sort(place), emit(flip, value))[0])


@array_function
def argsort(
    x: ArrayLike, axis: int = -1, *, descending: bool = False, stable: bool = True
) -> AnyTensor:
    """The indices that sort x along `axis`; equal elements keep their order.

    >>> tn.argsort([3.0, 1.0, 2.0], descending=True)
    Tensor([0, 2, 1])
    """
    (value,) = promote((x,))
    place = normal_axis("argsort", axis, value.meta.rank)
    if not descending:
        return emit_all(Sort(place), value)[1]
    flip = Reverse((place,))
    places = emit(flip, emit_all(Sort(place), emit(flip, value))[1])
    last = emit(SUB, size_value(value, place), emit(scalar(1, INT64)))
    return emit(SUB, broadcast_like(last, places.meta, (), "argsort"), places)


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
def argmax(x: ArrayLike, axis: int | None = None, *, keepdims: bool = False) -> AnyTensor:
    """The index of the largest element along `axis`; of the flattened array if None.

    Of equal elements the first one counts. NaN counts as the largest.

    >>> tn.argmax([3.0, 1.0, 3.0])
    Tensor(0)
    """
    return _place("argmax", ArgMax, x, axis, keepdims)


@array_function
def argmin(x: ArrayLike, axis: int | None = None, *, keepdims: bool = False) -> AnyTensor:
    """The index of the smallest element along `axis`; of the flattened array if None.

    Of equal elements the first one counts. NaN counts as the smallest.

    >>> tn.argmin([3.0, 1.0, 3.0])
    Tensor(1)
    """
    return _place("argmin", ArgMin, x, axis, keepdims)


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


# Reductions with a mask, an initial value, or both: `x.sum(where=mask, initial=1)`.

MOMENTS = ("mean", "var", "std")
"""Reductions that are NaN of no elements, and have no initial value."""


@dataclass(frozen=True)
class MaskedReduction:
    """The array function of a reduction with a mask, an initial value, or both.

    Its operands are the array and these. Caches treat equal instances as one function.

    Attributes:
        name: of the reduction, for errors too.
        masked: whether the second operand is a mask of the elements that count.
        starts: whether the last operand is the initial value.
    """

    name: str
    masked: bool
    starts: bool

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(
        self,
        x: ArrayLike,
        *others: ArrayLike,
        axis: Axis,
        keepdims: bool,
        dtype: DTypeLike | None = None,
        correction: float | None = None,
        ddof: float = 0,
    ) -> AnyTensor:
        """The reduction over `axis` (None: all). The last three are those of `MOMENTS`."""
        if self.name in MOMENTS:
            (value,) = promote((x,))
            holds = _mask(self.name, others[0], value.meta)
            return moment(self.name, value, holds, axis, dtype, correction, ddof, keepdims)
        op, combine, neutral = REDUCTIONS[self.name]
        kind = BOOL if isinstance(neutral, bool) else None
        value = countable(x) if combine in (ADD, MUL) else promote((x,), kind)[0]
        meta: TensorMeta = value.meta
        start = self._start(others[-1], meta.dtype) if self.starts else None
        if self.masked:
            if neutral is None and start is None:
                raise ShapeError(
                    f"{self.name}: where= may leave no element; pass initial=, the value of none"
                )
            instead = start if neutral is None else as_value(neutral, meta.dtype)
            assert instead is not None
            value = where(_mask(self.name, others[0], meta), value, instead)
        if start is not None and neutral is None and meta.rank:
            value = _led(value, start, normal_axes(self.name, axis, meta.rank))
        result = reduce(self.name, op, value, axis, keepdims)
        if start is None:
            return result
        shape = result.meta.exact_shape(self.name, "result")
        return emit(combine, result, broadcast_to(start, shape))

    def _start(self, initial: ArrayLike, dtype: DType) -> AnyTensor:
        """The initial value in the dtype of the reduction."""
        if isinstance(initial, float) and initial.is_integer() and dtype.kind in "iu":
            initial = int(initial)
        return fitting(self.name, initial, dtype)


def _mask(name: str, mask: ArrayLike, meta: TensorMeta) -> AnyTensor:
    """A mask as bools of the shape of the array that it is for."""
    (holds,) = promote((mask,), BOOL)
    return broadcast_to(holds, meta.exact_shape(name, "operand"), name)


def _led(value: AnyTensor, start: AnyTensor, axes: tuple[int, ...]) -> AnyTensor:
    """The array with the initial value before its elements along `axes`, which may have none."""
    rank = value.meta.rank
    none = (0,) * rank
    return emit(Pad(tuple(int(i in axes) for i in range(rank)), none, none), value, start)
