"""Sums, means, extrema, cumulative sums, differences, sorting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tenferro.core import Emitter, V
from tenferro.errors import AxisError, DTypeError, ShapeError
from tenferro.ir import (
    BOOL,
    FLOAT16,
    FLOAT32,
    INT64,
    UINT64,
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
    broadcast_like,
    full,
    full_like,
    gather_along,
    scalar,
)
from tenferro.ops.functions.elementwise import divide, remainder, subtract, where
from tenferro.ops.functions.indexing import fill_of, from_the_front, size_value, within
from tenferro.ops.functions.logical import not_equal
from tenferro.ops.functions.manipulation import concat, ravel, window
from tenferro.ops.functions.promotion import (
    Operand,
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

# Reductions over axes.

Reduction = Callable[[tuple[int, ...]], StdTensorOp]


def reduce(
    at: Emitter[V], name: str, op: Reduction, x: Operand[V], axis: Axis, keepdims: bool
) -> V:
    """The reduction over `axis` (None: all); its axes stay with size 1 if `keepdims`."""
    (value,) = promote(at, (x,))
    meta: TensorMeta = at.ctx.meta(value)
    axes = normal_axes(name, axis, meta.rank)
    result = called(at, name, op(axes), value)
    return restored(at, result, meta, axes) if keepdims else result


def sum(
    at: Emitter[V],
    x: Operand[V],
    axis: Axis = None,
    *,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
) -> V:
    """Sum over `axis` (None: all axes). Bools and integers are summed in 64 bits.

    >>> tn.sum([[1, 2], [3, 4]], axis=0)
    Tensor([4, 6])
    """
    return reduce(at, "sum", ReduceSum, countable(at, x, dtype), axis, keepdims)


def prod(
    at: Emitter[V],
    x: Operand[V],
    axis: Axis = None,
    *,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
) -> V:
    """Product over `axis`. Its derivative is correct for factors of zero.

    >>> tn.prod([2, 3, 4])
    Tensor(24)
    """
    return reduce(at, "prod", ReduceProd, countable(at, x, dtype), axis, keepdims)


def max(at: Emitter[V], x: Operand[V], axis: Axis = None, *, keepdims: bool = False) -> V:
    """Largest element over `axis`; NaN wins, and ties share the derivative evenly.

    >>> tn.max([[1, 5], [7, 3]], axis=1)
    Tensor([5, 7])
    """
    return reduce(at, "max", ReduceMax, x, axis, keepdims)


def min(at: Emitter[V], x: Operand[V], axis: Axis = None, *, keepdims: bool = False) -> V:
    """Smallest element over `axis`; NaN wins, and ties share the derivative evenly.

    >>> tn.min([[1, 5], [7, 3]], axis=1)
    Tensor([1, 3])
    """
    return reduce(at, "min", ReduceMin, x, axis, keepdims)


def any(at: Emitter[V], x: Operand[V], axis: Axis = None, *, keepdims: bool = False) -> V:
    """Whether any element over `axis` is nonzero; false if there are no elements.

    >>> tn.any([[0, 1], [0, 0]], axis=1)
    Tensor([ True, False])
    """
    return reduce(at, "any", ReduceOr, promote(at, (x,), BOOL)[0], axis, keepdims)


def all(at: Emitter[V], x: Operand[V], axis: Axis = None, *, keepdims: bool = False) -> V:
    """Whether all elements over `axis` are nonzero; true if there are no elements.

    >>> tn.all([[1, 1], [0, 1]], axis=1)
    Tensor([ True, False])
    """
    return reduce(at, "all", ReduceAnd, promote(at, (x,), BOOL)[0], axis, keepdims)


def count_nonzero(at: Emitter[V], x: Operand[V], axis: Axis = None, *, keepdims: bool = False) -> V:
    """The number of nonzero elements over `axis`.

    >>> tn.count_nonzero([[1, 1], [0, 1]], axis=1)
    Tensor([2, 1])
    """
    (holds,) = promote(at, (x,), BOOL)
    return reduce(at, "count_nonzero", ReduceSum, convert(at, holds, INT64), axis, keepdims)


def mean(
    at: Emitter[V],
    x: Operand[V],
    axis: Axis = None,
    *,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
) -> V:
    """Mean over `axis`; integers become float64.

    >>> tn.mean([1.0, 2.0, 6.0])
    Tensor(3.)
    """
    return moment(at, "mean", x, None, axis, dtype, None, 0, keepdims)


def var(
    at: Emitter[V],
    x: Operand[V],
    axis: Axis = None,
    *,
    dtype: DTypeLike | None = None,
    correction: float | None = None,
    ddof: float = 0,
    keepdims: bool = False,
) -> V:
    """Mean of |x - mean|² over `axis`; real. `correction`, or `ddof`, lowers the divisor.

    >>> tn.var([1.0, 3.0])
    Tensor(1.)
    >>> tn.var([1.0, 3.0], correction=1)
    Tensor(2.)
    """
    return moment(at, "var", x, None, axis, dtype, correction, ddof, keepdims)


def std(
    at: Emitter[V],
    x: Operand[V],
    axis: Axis = None,
    *,
    dtype: DTypeLike | None = None,
    correction: float | None = None,
    ddof: float = 0,
    keepdims: bool = False,
) -> V:
    """Root of the variance over `axis`. `correction`, or `ddof`, lowers the divisor.

    >>> tn.std([1.0, 3.0])
    Tensor(1.)
    """
    return moment(at, "std", x, None, axis, dtype, correction, ddof, keepdims)


def moment(
    at: Emitter[V],
    name: str,
    x: Operand[V],
    mask: V | None,
    axis: Axis,
    dtype: DTypeLike | None,
    correction: float | None,
    ddof: float,
    keepdims: bool,
) -> V:
    """The mean over `axis` of the elements where a mask holds, their variance, or its root.

    `correction`, or `ddof` if it is None, lowers the divisor of the variance. Sums of small
    integers would wrap around, and sums and squares of float16 overflow: they are computed in a
    wider dtype.
    """
    element = inexact_dtype(at, (x,)) if dtype is None else as_dtype(dtype)
    (value,) = promote(at, (x,), FLOAT32 if element == FLOAT16 else element)
    if name == "mean":
        return convert(at, _mean(at, name, value, mask, axis, keepdims, 0), element)
    if not is_inexact(element):
        raise DTypeError(f"{name}: dtype must be floating-point or complex, got {dtype}")
    lowered = _number(name, ddof if correction is None else correction)
    axes = normal_axes(name, axis, at.ctx.meta(value).rank)
    deviation = subtract(at, value, _mean(at, name, value, mask, axes, True, 0))
    if is_complex(element):
        parts = [at.emit(part, deviation) for part in (REAL, IMAG)]
        squares = at.emit(ADD, *(at.emit(MUL, part, part) for part in parts))
    else:
        squares = at.emit(MUL, deviation, deviation)
    result = _mean(at, name, squares, mask, axes, keepdims, lowered)
    result = at.emit(SQRT, result) if name == "std" else result
    return convert(at, result, real_dtype(element) if dtype is None else element)


def _number(name: str, correction: float) -> float:
    """What lowers the divisor."""
    number = number_of(correction)
    if number is None:
        refuse_traced(name, "correction", correction)
        raise DTypeError(f"{name}: correction must be a number, got {correction!r}")
    return number


def _mean(
    at: Emitter[V],
    name: str,
    value: V,
    mask: V | None,
    axis: Axis,
    keepdims: bool,
    correction: float,
) -> V:
    """Sum divided by the number of elements minus `correction`; NaN if that divisor is 0."""
    meta: TensorMeta = at.ctx.meta(value)
    axes = normal_axes(name, axis, meta.rank)
    if mask is None:
        divisor = number_of_elements(at, value, axes)
    else:
        value = at.emit(SELECT, mask, value, full_like(at, 0, value))
        divisor = reduce(at, name, ReduceSum, convert(at, mask, meta.dtype), axes, keepdims)
    if correction:
        divisor = at.emit(SUB, divisor, full_like(at, correction, divisor))
        divisor = at.emit(MAXIMUM, divisor, full_like(at, 0, divisor))
    return divide(at, sum(at, value, axes, keepdims=keepdims), divisor)


def ptp(at: Emitter[V], x: Operand[V], axis: Axis = None, *, keepdims: bool = False) -> V:
    """Largest element minus the smallest, over `axis`.

    >>> tn.ptp([[1, 5], [7, 3]], axis=1)
    Tensor([4, 4])
    """
    largest = reduce(at, "ptp", ReduceMax, x, axis, keepdims)
    return at.emit(SUB, largest, reduce(at, "ptp", ReduceMin, x, axis, keepdims))


def average(
    at: Emitter[V],
    x: Operand[V],
    weights: Operand[V] | None = None,
    axis: Axis = None,
    keepdims: bool = False,
) -> V:
    """Mean weighted by `weights`."""
    if weights is None:
        return mean(at, x, axis, keepdims=keepdims)
    value, weight = promote(at, (x, weights), inexact_dtype(at, (x, weights)))
    meta, weight_meta = at.ctx.meta(value), at.ctx.meta(weight)
    axes = normal_axes("average", axis, meta.rank)
    if weight_meta.rank == 1 and meta.rank > 1 and len(axes) == 1:
        value, weight = agree(at, value, axes[0], weight, 0)
        shape = at.ctx.meta(value).exact_shape("average", "operand")
        weight = at.emit(BroadcastInDim(shape, axes), weight)
    elif weight_meta.rank == meta.rank:
        for place in range(meta.rank):
            value, weight = agree(at, value, place, weight, place)
    if at.ctx.meta(weight).extents != at.ctx.meta(value).extents:
        raise ShapeError(
            f"average: weights {weight_meta} must have the shape of {meta}, or be a vector along "
            "one axis"
        )
    total = sum(at, at.emit(MUL, value, weight), axes, keepdims=keepdims)
    return at.emit(DIV, total, sum(at, weight, axes, keepdims=keepdims))


def countable(at: Emitter[V], x: Operand[V], dtype: DTypeLike | None = None) -> V:
    """The operand in `dtype`; if None, in the dtype in which NumPy sums its dtype."""
    if dtype is not None:
        return promote(at, (x,), as_dtype(dtype))[0]
    element = result_dtype(at, (x,))
    if element.kind in "bi":
        element = INT64
    elif element.kind == "u":
        element = UINT64
    return promote(at, (x,), element)[0]


def number_of_elements(at: Emitter[V], value: V, axes: Sequence[int]) -> V:
    """The number of elements along `axes` together, as a value of the dtype of `value`."""
    meta: TensorMeta = at.ctx.meta(value)
    exact: Dim = product(extent.dim for i in axes if isinstance(extent := meta.extents[i], Exact))
    (count,) = promote(at, (exact,), meta.dtype)
    for axis in axes:
        if not isinstance(meta.extents[axis], Exact):
            size = convert(at, at.emit(ShapeOf(axis), value), meta.dtype)
            count = at.emit(MUL, count, size)
    return count


def restored(at: Emitter[V], result: V, meta: TensorMeta, axes: tuple[int, ...]) -> V:
    """The reduction over `axes` of an operand of type `meta`, with these axes as axes of size 1."""
    wide = at.ctx.meta(result).with_extents(
        Exact(1) if i in axes else extent for i, extent in enumerate(meta.extents)
    )
    remaining = tuple(i for i in range(meta.rank) if i not in axes)
    return broadcast_like(at, result, wide, remaining, "keepdims")


# Cumulative sums and products, and differences of adjacent elements.


def cumulative_sum(
    at: Emitter[V],
    x: Operand[V],
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> V:
    """Cumulative sums along `axis`; 0 comes first if `include_initial`.

    >>> tn.cumulative_sum([1, 2, 3])
    Tensor([1, 3, 6])
    """
    start = 0 if include_initial else None
    return _scan(at, "cumulative_sum", CumulativeSum, x, axis, dtype, start)


def cumulative_prod(
    at: Emitter[V],
    x: Operand[V],
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> V:
    """Cumulative products along `axis`; 1 comes first if `include_initial`.

    Its derivative is correct for factors of zero.

    >>> tn.cumulative_prod([1, 2, 3])
    Tensor([1, 2, 6])
    """
    start = 1 if include_initial else None
    return _scan(at, "cumulative_prod", CumulativeProd, x, axis, dtype, start)


def cumsum(
    at: Emitter[V], x: Operand[V], axis: int | None = None, dtype: DTypeLike | None = None
) -> V:
    """Cumulative sums along `axis`; of the flattened array if None.

    >>> tn.cumsum([[1, 2], [3, 4]])
    Tensor([ 1,  3,  6, 10])
    """
    value, along = _along_one_axis(at, x, axis)
    return _scan(at, "cumsum", CumulativeSum, value, along, dtype, None)


def cumprod(
    at: Emitter[V], x: Operand[V], axis: int | None = None, dtype: DTypeLike | None = None
) -> V:
    """Cumulative products along `axis`; of the flattened array if None.

    >>> tn.cumprod([[1, 2], [3, 4]])
    Tensor([ 1,  2,  6, 24])
    """
    value, along = _along_one_axis(at, x, axis)
    return _scan(at, "cumprod", CumulativeProd, value, along, dtype, None)


def _along_one_axis(at: Emitter[V], x: Operand[V], axis: int | None) -> tuple[V, int]:
    (value,) = promote(at, (x,))
    return (ravel(at, value), 0) if axis is None else (value, axis)


def _scan(
    at: Emitter[V],
    name: str,
    op: Callable[[int], StdTensorOp],
    x: Operand[V],
    axis: int | None,
    dtype: DTypeLike | None,
    start: int | None,
) -> V:
    value = countable(at, x, dtype)
    meta: TensorMeta = at.ctx.meta(value)
    if axis is None and meta.rank != 1:
        raise AxisError(f"{name}: {meta} does not have exactly one axis; pass axis=")
    along = normal_axis(name, 0 if axis is None else axis, meta.rank)
    result = at.emit(op(along), value)
    if start is None:
        return result
    shape = list(meta.exact_shape(name, "operand"))
    shape[along] = 1
    return concat(at, full(at, start, TensorMeta.of(meta.dtype, shape)), result, axis=along)


def diff(
    at: Emitter[V],
    x: Operand[V],
    *ends: Operand[V],
    before: int = 0,
    n: int = 1,
    axis: int = -1,
) -> V:
    """Each element minus the one before it, `n` times; for bools, whether the two differ.

    The first `before` of `ends` are put before the elements, the rest after them.
    """
    dtype = result_dtype(at, (x, *ends))
    (value,) = promote(at, (x,), dtype)
    along = normal_axis("diff", axis, at.ctx.meta(value).rank)
    n = read_integer("diff", "n", n, AxisError)
    if n < 0:
        raise AxisError(f"diff: n must not be negative, got {n}")
    if n and ends:
        pieces = [_end(at, value, end, along) for end in ends]
        value = concat(at, *pieces[:before], value, *pieces[before:], axis=along)
    for _ in range(n):
        size = at.ctx.meta(value).exact_shape("diff", "operand")[along]
        if size == 0:
            break
        rest = maximum(size - 1, 0)
        later, earlier = (
            window(at, value, along, start, start + rest) for start in (size - rest, 0)
        )
        value = not_equal(at, later, earlier) if dtype == BOOL else at.emit(SUB, later, earlier)
    return value


def _end(at: Emitter[V], value: V, end: Operand[V], axis: int) -> V:
    """The values to put before or after the elements; a number becomes an axis of size 1."""
    meta: TensorMeta = at.ctx.meta(value)
    (piece,) = promote(at, (end,), meta.dtype)
    if at.ctx.meta(piece).rank:
        return piece
    shape = list(meta.exact_shape("diff", "operand"))
    shape[axis] = 1
    return broadcast_to(at, piece, shape)


# Sorting, indices of extrema, and selection along an axis.


def sort(
    at: Emitter[V],
    x: Operand[V],
    axis: int = -1,
    *,
    descending: bool = False,
    stable: bool = True,
) -> V:
    """The elements of x along `axis` in ascending or descending order. NaN counts as the largest.

    Sorting is always stable.

    >>> tn.sort([3.0, 1.0, 2.0])
    Tensor([1., 2., 3.])
    """
    (value,) = promote(at, (x,))
    place = normal_axis("sort", axis, at.ctx.meta(value).rank)
    if not descending:
        return at.emit_all(Sort(place), value)[0]
    flip = Reverse((place,))
    return at.emit(flip, at.emit_all(Sort(place), at.emit(flip, value))[0])


def argsort(
    at: Emitter[V],
    x: Operand[V],
    axis: int = -1,
    *,
    descending: bool = False,
    stable: bool = True,
) -> V:
    """The indices that sort x along `axis`; equal elements keep their order.

    >>> tn.argsort([3.0, 1.0, 2.0], descending=True)
    Tensor([0, 2, 1])
    """
    (value,) = promote(at, (x,))
    place = normal_axis("argsort", axis, at.ctx.meta(value).rank)
    if not descending:
        return at.emit_all(Sort(place), value)[1]
    flip = Reverse((place,))
    places = at.emit(flip, at.emit_all(Sort(place), at.emit(flip, value))[1])
    last = at.emit(SUB, size_value(at, value, place), at.emit(scalar(1, INT64)))
    return at.emit(SUB, broadcast_like(at, last, at.ctx.meta(places), (), "argsort"), places)


def top_places(at: Emitter[V], x: Operand[V], k: int) -> V:
    """The indices of the k largest elements along the last axis, the largest first."""
    (value,) = promote(at, (x,))
    meta: TensorMeta = at.ctx.meta(value)
    extent = meta.extents[-1] if meta.rank else Exact(0)
    limit = extent.dim if isinstance(extent, Exact) else None
    refuse_traced("top_k", "k", k)
    count = integer_of(k)
    if count is None or count < 0:
        raise ShapeError(f"top_k: k must be a number of elements, got {k!r}")
    k = count
    if meta.rank == 0 or (isinstance(limit, int) and k > limit):
        raise ShapeError(f"top_k: {meta} does not have {k} elements along its last axis")
    return window(at, argsort(at, value, descending=True), meta.rank - 1, 0, k)


def argmax(at: Emitter[V], x: Operand[V], axis: int | None = None, *, keepdims: bool = False) -> V:
    """The index of the largest element along `axis`; of the flattened array if None.

    Of equal elements the first one counts. NaN counts as the largest.

    >>> tn.argmax([3.0, 1.0, 3.0])
    Tensor(0)
    """
    return _place(at, "argmax", ArgMax, x, axis, keepdims)


def argmin(at: Emitter[V], x: Operand[V], axis: int | None = None, *, keepdims: bool = False) -> V:
    """The index of the smallest element along `axis`; of the flattened array if None.

    Of equal elements the first one counts. NaN counts as the smallest.

    >>> tn.argmin([3.0, 1.0, 3.0])
    Tensor(1)
    """
    return _place(at, "argmin", ArgMin, x, axis, keepdims)


def _place(
    at: Emitter[V],
    name: str,
    op: type[ArgMax] | type[ArgMin],
    x: Operand[V],
    axis: int | None,
    keepdims: bool,
) -> V:
    (value,) = promote(at, (x,))
    meta: TensorMeta = at.ctx.meta(value)
    if axis is None:
        place = at.emit(op(0), ravel(at, value))
        remaining: list[int] = []
    else:
        along = normal_axis(name, axis, meta.rank)
        place = at.emit(op(along), value)
        remaining = [i for i in range(meta.rank) if i != along]
    if not keepdims:
        return place
    extents = [meta.extents[i] if i in remaining else Exact(1) for i in range(meta.rank)]
    return broadcast_like(at, place, TensorMeta(INT64, extents), remaining, name)


def take_along_axis(
    at: Emitter[V],
    x: V,
    indices: V,
    axis: int = -1,
    mode: str | None = None,
    fill_value: bool | complex | None = None,
) -> V:
    """The elements of x at `indices` along `axis`; the other axes of the two are matched.

    Out of bounds, `mode` is one of "clip", "wrap" and "fill"; the nearest element if None.
    """
    meta, indices_meta = at.ctx.meta(x), at.ctx.meta(indices)
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
    places = from_the_front(at, x, indices, along)
    if mode == "wrap":
        places = remainder(at, indices, size_value(at, x, along))
    whole, wide = broadcast_to(at, x, shapes[0]), broadcast_to(at, places, shapes[1])
    taken = gather_along(at, whole, wide, along, unique=False)
    if mode != "fill":
        return taken
    inside = within(at, wide, size_value(at, x, along))
    value = fill_of(meta.dtype) if fill_value is None else fill_value
    return where(at, inside, taken, value)


# Reductions with a mask, an initial value, or both: `x.sum(where=mask, initial=1)`.

MOMENTS = ("mean", "var", "std")
"""Reductions that are NaN of no elements, and have no initial value."""


@dataclass(frozen=True)
class Masked:
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
        at: Emitter[V],
        x: Operand[V],
        *others: Operand[V],
        axis: Axis,
        keepdims: bool,
        dtype: DTypeLike | None = None,
        correction: float | None = None,
        ddof: float = 0,
    ) -> V:
        """The reduction over `axis` (None: all). The last three are those of `MOMENTS`."""
        if self.name in MOMENTS:
            (value,) = promote(at, (x,))
            holds = _mask(at, self.name, others[0], at.ctx.meta(value))
            return moment(at, self.name, value, holds, axis, dtype, correction, ddof, keepdims)
        op, combine, neutral = REDUCTIONS[self.name]
        kind = BOOL if isinstance(neutral, bool) else None
        value = countable(at, x) if combine in (ADD, MUL) else promote(at, (x,), kind)[0]
        meta: TensorMeta = at.ctx.meta(value)
        start = self._start(at, others[-1], meta.dtype) if self.starts else None
        if self.masked:
            if neutral is None and start is None:
                raise ShapeError(
                    f"{self.name}: where= may leave no element; pass initial=, the value of none"
                )
            instead = start if neutral is None else as_value(at, neutral, meta.dtype)
            assert instead is not None
            value = where(at, _mask(at, self.name, others[0], meta), value, instead)
        if start is not None and neutral is None and meta.rank:
            value = _led(at, value, start, normal_axes(self.name, axis, meta.rank))
        result = reduce(at, self.name, op, value, axis, keepdims)
        if start is None:
            return result
        shape = at.ctx.meta(result).exact_shape(self.name, "result")
        return at.emit(combine, result, broadcast_to(at, start, shape))

    def _start(self, at: Emitter[V], initial: Operand[V], dtype: DType) -> V:
        """The initial value in the dtype of the reduction."""
        if isinstance(initial, float) and initial.is_integer() and dtype.kind in "iu":
            initial = int(initial)
        return fitting(at, self.name, initial, dtype)


def _mask(at: Emitter[V], name: str, mask: Operand[V], meta: TensorMeta) -> V:
    """A mask as bools of the shape of the array that it is for."""
    (holds,) = promote(at, (mask,), BOOL)
    return broadcast_to(at, holds, meta.exact_shape(name, "operand"), name)


def _led(at: Emitter[V], value: V, start: V, axes: tuple[int, ...]) -> V:
    """The array with the initial value before its elements along `axes`, which may have none."""
    rank = at.ctx.meta(value).rank
    none = (0,) * rank
    return at.emit(Pad(tuple(int(i in axes) for i in range(rank)), none, none), value, start)
