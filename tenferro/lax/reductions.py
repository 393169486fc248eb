"""reduce, cumsum, reduce_window, sort, top_k."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Protocol, overload

from tenferro import ops
from tenferro.errors import AxisError, DTypeError, ShapeError, counted
from tenferro.ir import (
    AnyTensor,
    ArrayLike,
    Dim,
    DTypeLike,
    PyTree,
    as_dtype,
    assume_positive,
    dtype_kind,
    maximum,
)
from tenferro.lax import elementwise as lax_elementwise
from tenferro.lax.arguments import LAX, along, axes_of, matched, tuple_of
from tenferro.lax.shapes import collapse, concatenate, full, transpose
from tenferro.lax.shapes import pad as padded
from tenferro.lax.shapes import slice as window_of
from tenferro.numpy import asarray
from tenferro.ops.functions import (
    apply,
    array_function,
    called,
    elementwise,
    emit,
    emit_all,
    gather_along,
    reductions,
)
from tenferro.transforms import flatten, unflatten, vmap

__all__ = [
    "approx_max_k",
    "approx_min_k",
    "argmax",
    "argmin",
    "cumlogsumexp",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "reduce",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_prod",
    "reduce_sum",
    "reduce_window",
    "reduce_xor",
    "sort",
    "sort_key_val",
    "top_k",
]


# Reductions, running combinations, and combinations of windows.

Padding = str | Sequence[Sequence[int]]


class _Reduction(Protocol):
    """A reduction of an array along axes."""

    def __call__(self, operand: ArrayLike, axes: Sequence[int]) -> AnyTensor:
        """The reduced array."""


def _reduction(name: str, op: Callable[[tuple[int, ...]], ops.StdTensorOp]) -> _Reduction:
    def function(operand: ArrayLike, axes: Sequence[int]) -> AnyTensor:
        (value,) = matched(name, [operand])
        return called(name, op(axes_of(name, axes, value.meta.rank)), value)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = op.__doc__
    return array_function(module=LAX)(function)


reduce_sum = _reduction("reduce_sum", ops.ReduceSum)
reduce_prod = _reduction("reduce_prod", ops.ReduceProd)
reduce_max = _reduction("reduce_max", ops.ReduceMax)
reduce_min = _reduction("reduce_min", ops.ReduceMin)
reduce_and = _reduction("reduce_and", ops.ReduceAnd)
reduce_or = _reduction("reduce_or", ops.ReduceOr)


def _place(name: str, op: Callable[[int], ops.StdTensorOp]) -> Callable[..., AnyTensor]:
    def function(operand: ArrayLike, axis: int, index_dtype: DTypeLike = "int64") -> AnyTensor:
        (value,) = matched(name, [operand])
        dtype = as_dtype(index_dtype)
        if dtype_kind(dtype) not in "iu":
            raise DTypeError(f"{name}: index_dtype must be one of integers, got {dtype}")
        place = called(name, op(along(name, axis, value.meta.rank)), value)
        return elementwise.astype(place, dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = op.__doc__
    return array_function(module=LAX)(function)


argmax = _place("argmax", ops.ArgMax)
argmin = _place("argmin", ops.ArgMin)

Running = Callable[[Any, int, bool], Any]


def _running(name: str, run: Running, doc: str | None) -> Callable[..., AnyTensor]:
    def function(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> AnyTensor:
        (value,) = matched(name, [operand])
        place = along(name, axis, value.meta.rank)
        return run(value, place, reverse)  # type: ignore[no-any-return]  # a value of `at`

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return array_function(module=LAX)(function)


def _op(name: str, op: Callable[[int, bool], ops.StdTensorOp]) -> Running:
    return lambda x, axis, reverse: called(name, op(axis, reverse), x)


def _of_constant_size(name: str, op: Callable[[int, bool], ops.StdTensorOp]) -> Running:
    """An op that needs to know how many elements it combines."""

    def run(x: Any, axis: int, reverse: bool) -> Any:
        if not isinstance(x.meta.exact_shape(name, "operand")[axis], int):
            raise ShapeError(
                f"{name}: axis {axis} of {x.meta} must have a constant size; use tn.scan"
            )
        return called(name, op(axis, reverse), x)

    return run


cumsum = _running("cumsum", _op("cumsum", ops.CumulativeSum), ops.CumulativeSum.__doc__)
cumprod = _running("cumprod", _op("cumprod", ops.CumulativeProd), ops.CumulativeProd.__doc__)
cummax = _running(
    "cummax", _of_constant_size("cummax", ops.CumulativeMax), "The largest element so far."
)
cummin = _running(
    "cummin", _of_constant_size("cummin", ops.CumulativeMin), "The smallest element so far."
)
cumlogsumexp = _running(
    "cumlogsumexp",
    _of_constant_size("cumlogsumexp", ops.CumulativeLogSumExp),
    "The logarithm of the sum of exponentials so far.",
)

_KNOWN: dict[Callable[..., Any], Callable[[ArrayLike, Sequence[int]], AnyTensor]] = {
    lax_elementwise.add: reduce_sum,
    lax_elementwise.mul: reduce_prod,
    lax_elementwise.max: reduce_max,
    lax_elementwise.min: reduce_min,
}


def reduce(
    operands: PyTree,
    init_values: PyTree,
    computation: Callable[[Any, Any], PyTree],
    dimensions: Sequence[int],
) -> PyTree:
    """The elements along some axes combined by a function of two scalars, from first values.

    The order of the combinations is not defined: the function must be associative and commutative.

    Args:
        operands: an array, or a tree of arrays of one shape.
        init_values: a scalar for each.
        computation: takes two trees of scalars like `init_values`, and returns one.
        dimensions: the axes.

    Raises:
        ShapeError: the operands have different shapes, or sizes that are symbolic.

    >>> tn.lax.reduce(np.array([1.0, 2.0]), 0.0, tn.lax.add, (0,))
    Tensor(3.)
    """
    leaves, tree = flatten(operands)
    first = [asarray(value) for value in flatten(init_values)[0]]
    arrays = [asarray(leaf) for leaf in leaves]
    if not arrays or len(arrays) != len(first):
        raise ShapeError(
            f"reduce: got {counted(len(arrays), 'operand')} and "
            f"{counted(len(first), 'first value')}"
        )
    axes = axes_of("reduce", dimensions, arrays[0].ndim)
    if computation in _KNOWN and len(arrays) == 1:
        total = _KNOWN[computation](arrays[0], axes)
        return computation(asarray(init_values).astype(total.dtype), total)
    rows = [_in_front(array, axes) for array in arrays]
    shapes = {row.shape for row in rows}
    (shape,) = shapes if len(shapes) == 1 else ((),)
    if not shape or not all(isinstance(size, int) for size in shape):
        types = ", ".join(str(array.meta) for array in arrays)
        raise ShapeError(f"reduce: the operands must have one shape that is known, got {types}")
    entry = computation
    for _ in shape[1:]:
        entry = vmap(entry)
    rows = _halved(rows, lambda x, y: vmap(entry)(unflatten(tree, x), unflatten(tree, y)))
    starts = [full(shape[1:], value, row.dtype) for value, row in zip(first, rows, strict=True)]
    if not shape[0]:
        return unflatten(tree, starts)
    return entry(unflatten(tree, starts), unflatten(tree, [row[0] for row in rows]))


def reduce_xor(operand: ArrayLike, axes: Sequence[int]) -> AnyTensor:
    """The bits that an odd number of the elements along some axes have, or of bools.

    >>> tn.lax.reduce_xor(np.array([1, 3]), (0,))
    Tensor(2)
    """
    array = asarray(operand)
    if dtype_kind(array.dtype) not in "biu":
        raise DTypeError(f"reduce_xor: takes integers and bools, got {array.meta}")
    return reduce(array, full((), 0, array.dtype), lax_elementwise.bitwise_xor, axes)  # type: ignore[no-any-return]


def _in_front(array: AnyTensor, axes: Sequence[int]) -> AnyTensor:
    """The array with `axes` as one axis in front."""
    rest = [axis for axis in range(array.ndim) if axis not in axes]
    moved = transpose(array, (*axes, *rest))
    return collapse(moved, 0, len(axes)) if axes else moved[None]


def _halved(
    rows: list[AnyTensor], combine: Callable[[list[AnyTensor], list[AnyTensor]], PyTree]
) -> list[AnyTensor]:
    """The rows of each array combined to one, half of them with the other half at a time."""
    while (size := int(rows[0].shape[0])) > 1:  # it is known
        half = size // 2
        pairs = combine([row[:half] for row in rows], [row[half : 2 * half] for row in rows])
        rest = [row[2 * half :] for row in rows]
        rows = [
            concatenate([new, old], 0) for new, old in zip(flatten(pairs)[0], rest, strict=True)
        ]
    return rows


def reduce_window(
    operand: PyTree,
    init_value: PyTree,
    computation: Callable[[Any, Any], PyTree],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> PyTree:
    """The elements of each window combined by a function of two arrays, from a first value.

    Args:
        operand: the array, or a tree of arrays of one shape, whose windows are combined together.
        init_value: a scalar, with which the operand is padded too; a tree of them for a tree.
        computation: combines two arrays of one shape, element by element, or two trees of them.
        window_dimensions: the size of a window along each axis.
        window_strides: the distance of neighbouring windows; by default 1.
        padding: "VALID", "SAME", "SAME_LOWER", or how many elements come before and after.
        base_dilation: the distance of neighbouring elements of the operand.
        window_dilation: the distance of neighbouring elements of a window.

    The result is empty along axes where no window fits.

    Raises:
        ShapeError: `padding` is unknown, a size is below 1, or operands have different shapes.

    >>> tn.lax.reduce_window(np.arange(4.0), 0.0, tn.lax.add, (2,))
    Tensor([1., 3., 5.])
    """
    name = "reduce_window"
    leaves, tree = flatten(operand)
    starts = [asarray(value) for value in flatten(init_value)[0]]
    arrays = [asarray(leaf) for leaf in leaves]
    shapes = {array.shape for array in arrays}
    if len(starts) != len(arrays) or len(shapes) != 1:
        types = ", ".join(str(array.meta) for array in arrays)
        raise ShapeError(
            f"{name}: the operands must have one shape, and one first value each; got {types} and "
            f"{len(starts)} first values"
        )
    rank = arrays[0].ndim
    window = tuple_of(name, "window_dimensions", window_dimensions, rank, 1)
    strides, spread, holes = (
        tuple_of(name, field, values, rank, 1)
        for field, values in (
            ("window_strides", window_strides),
            ("base_dilation", base_dilation),
            ("window_dilation", window_dilation),
        )
    )
    wide = pads_of(name, arrays[0].shape, window, strides, padding, spread, holes)
    config = [(low, high, gap - 1) for (low, high), gap in zip(wide, spread, strict=True)]
    first = [start.astype(array.dtype) for start, array in zip(starts, arrays, strict=True)]
    parts = [
        [part for part, _ in windows(name, padded(array, start, config), window, strides, holes)]
        for array, start in zip(arrays, first, strict=True)
    ]
    result = unflatten(
        tree, [full(part[0].shape, start) for part, start in zip(parts, first, strict=True)]
    )
    for place in zip(*parts, strict=True):
        result = computation(result, unflatten(tree, list(place)))
    return result


def pads_of(
    name: str,
    shape: Sequence[Dim],
    window: Sequence[int],
    strides: Sequence[int],
    padding: Padding,
    spread: Sequence[int],
    holes: Sequence[int],
) -> list[tuple[Dim, Dim]]:
    """How many elements come before and after along each axis."""
    if any(step < 1 for step in (*strides, *spread, *holes)):
        raise ShapeError(
            f"{name}: strides {tuple(strides)} and dilations {tuple(spread)}, {tuple(holes)} must "
            "be at least 1"
        )
    if not isinstance(padding, str):
        if len(padding) != len(shape):
            raise ShapeError(f"{name}: padding must be a pair for each axis, got {padding!r}")
        rows = [tuple_of(name, "padding", row, 2, 0) for row in padding]
        return [(low, high) for low, high in rows]
    if padding.upper() not in ("VALID", "SAME", "SAME_LOWER"):
        raise ShapeError(f"{name}: padding {padding!r} is not 'VALID', 'SAME', 'SAME_LOWER'")
    pairs: list[tuple[Dim, Dim]] = []
    for axis, size in enumerate(shape):
        if padding.upper() == "VALID":
            pairs.append((0, 0))
            continue
        reach = (window[axis] - 1) * holes[axis] + 1
        own = maximum((size - 1) * spread[axis] + 1, 0)
        total = maximum((-(-own // strides[axis]) - 1) * strides[axis] + reach - own, 0)
        less, more = total // 2, total - total // 2
        pairs.append((less, more) if padding.upper() == "SAME" else (more, less))
    return pairs


def windows(
    name: str, array: AnyTensor, window: Sequence[int], strides: Sequence[int], holes: Sequence[int]
) -> list[tuple[AnyTensor, tuple[int, ...]]]:
    """For each place in a window, the elements at it of all windows; and the place."""
    counts: list[Any] = []
    for axis, size in enumerate(array.shape):
        if window[axis] == strides[axis] == 1:
            counts.append(size)
            continue
        misfit = f"{name}: a window {tuple(window)} does not fit into {array.meta}"
        if window[axis] < 1 or strides[axis] < 1 or holes[axis] < 1:
            raise ShapeError(misfit)
        count = (size - (window[axis] - 1) * holes[axis] - 1) // strides[axis] + 1
        if isinstance(count, int):
            counts.append(builtins.max(count, 0))
            continue
        assume_positive(count, misfit)
        counts.append(count)
    if 0 in counts:
        nothing = full(tuple(counts), 0, array.dtype)
        return [(nothing, place) for place in itertools.product(*map(range, window))]
    parts: list[tuple[AnyTensor, tuple[int, ...]]] = []
    for place in itertools.product(*map(range, window)):
        starts = [index * hole for index, hole in zip(place, holes, strict=True)]
        limits = [
            count if stride == 1 and not start else start + (count - 1) * stride + 1
            for start, count, stride in zip(starts, counts, strides, strict=True)
        ]
        parts.append((window_of(array, starts, limits, strides), place))
    return parts


# Sorting.


@overload
def sort(  # type: ignore[overload-overlap]  # lists of arrays are sorted together
    operand: list[ArrayLike] | tuple[ArrayLike, ...],
    dimension: int = -1,
    is_stable: bool = True,
    num_keys: int = 1,
) -> tuple[AnyTensor, ...]: ...


@overload
def sort(
    operand: ArrayLike, dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> AnyTensor: ...


def sort(
    operand: ArrayLike | Sequence[ArrayLike],
    dimension: int = -1,
    is_stable: bool = True,
    num_keys: int = 1,
) -> AnyTensor | tuple[AnyTensor, ...]:
    """The elements in ascending order along an axis; several arrays in the order of the first.

    Sorting is always stable. NaN counts as the largest.

    Args:
        operand: an array, or a list of arrays of one shape.
        dimension: the axis.
        is_stable: changes nothing.
        num_keys: how many of the arrays are compared; the first one decides, then the second.

    Raises:
        AxisError: there are not as many arrays.

    >>> tn.lax.sort(np.array([3.0, 1.0, 2.0]))
    Tensor([1., 2., 3.])
    >>> tn.lax.sort([np.array([3, 1, 2]), np.array([7, 8, 9])])
    (Tensor([1, 2, 3]), Tensor([8, 9, 7]))
    """
    several = isinstance(operand, list | tuple)
    arrays = list(operand) if several else [operand]  # type: ignore[arg-type]
    if not isinstance(num_keys, int) or not 1 <= num_keys <= len(arrays):
        raise AxisError(f"sort: num_keys must be from 1 to {len(arrays)}, got {num_keys!r}")
    results: Any = apply(_sorted, *arrays, axis=dimension, count=num_keys)
    return tuple(results) if several else results[0]


def _sorted(*operands: ArrayLike, axis: int, count: int) -> tuple[AnyTensor, ...]:
    values = [matched("sort", [operand])[0] for operand in operands]
    metas = [value.meta for value in values]
    if any(meta.extents != metas[0].extents for meta in metas):
        raise ShapeError(f"sort: operands {', '.join(map(str, metas))} must have one shape")
    place = along("sort", axis, metas[0].rank)
    keys: list[AnyTensor] = []
    for key, meta in zip(values[:count], metas, strict=False):
        keys += (
            [emit(ops.REAL, key), emit(ops.IMAG, key)] if dtype_kind(meta.dtype) == "c" else [key]
        )
    if len(keys) == len(values) == 1:
        return (emit_all(ops.Sort(place), keys[0])[0],)
    places: AnyTensor | None = None
    for key in reversed(keys):  # later keys decide among equal ones, so that they come first
        moved = key if places is None else gather_along(key, places, place)
        then = emit_all(ops.Sort(place), moved)[1]
        places = then if places is None else gather_along(places, then, place)
    assert places is not None, "a sort has a key"
    return tuple(gather_along(value, places, place) for value in values)


_sorted.__name__ = "sort"


def sort_key_val(
    keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True
) -> tuple[AnyTensor, ...]:
    """The keys in ascending order, and the values in the order of their keys.

    >>> tn.lax.sort_key_val(np.array([3, 1]), np.array([7, 8]))
    (Tensor([1, 3]), Tensor([8, 7]))
    """
    return sort((keys, values), dimension, is_stable)


def top_k(operand: ArrayLike, k: int, *, axis: int = -1) -> tuple[AnyTensor, AnyTensor]:
    """The k largest elements along an axis, the largest first; and their indices.

    Equal elements keep their order. NaN counts as the largest.

    >>> tn.lax.top_k(np.array([3.0, 1.0, 2.0]), 2)
    (Tensor([3., 2.]), Tensor([0, 2]))
    """
    results: tuple[Any, ...] = apply(_top, operand, k=k, axis=axis)
    elements, places = results
    return elements, places


def _top(operand: ArrayLike, k: int, axis: int) -> tuple[AnyTensor, ...]:
    (value,) = matched("top_k", [operand])
    rank = value.meta.rank
    place = along("top_k", axis, rank) if rank else -1
    places = reductions.top_places(value, k, place)
    return gather_along(value, places, place), places


_top.__name__ = "top_k"


def approx_max_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[AnyTensor, AnyTensor]:
    """As `top_k`, which is exact; the options of `jax.lax.approx_max_k` change nothing.

    >>> tn.lax.approx_max_k(np.array([3.0, 1.0, 2.0]), 2)
    (Tensor([3., 2.]), Tensor([0, 2]))
    """
    return top_k(operand, k, axis=reduction_dimension)


def approx_min_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[AnyTensor, AnyTensor]:
    """The k smallest elements along an axis, the smallest first, and their indices; exact.

    >>> tn.lax.approx_min_k(np.array([3.0, 1.0, 2.0]), 2)
    (Tensor([1., 2.]), Tensor([1, 2]))
    """
    array = asarray(operand)
    elements, places = top_k(-array, k, axis=reduction_dimension)
    return -elements, places
