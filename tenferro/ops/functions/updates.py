"""`x.at[...]`: copies of an array with some elements changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypedDict, Unpack, cast

import numpy as np

from tenferro.errors import DTypeError
from tenferro.ir import (
    BOOL,
    INT64,
    AnyTensor,
    ArrayLike,
    Dim,
    DType,
    Index,
    TensorMeta,
    dtype_kind,
    maximum,
    short_name,
)
from tenferro.missing_names import unlisted
from tenferro.ops import (
    ADD,
    MAXIMUM,
    MINIMUM,
    MUL,
    NEG,
    SELECT,
    DynamicUpdateSlice,
    Pad,
    Reshape,
    Reverse,
    Scatter,
    ScatterReduce,
    StdTensorOp,
    scalar,
)
from tenferro.ops.functions import elementwise
from tenferro.ops.functions.dispatch import apply_method, emit, full, full_like
from tenferro.ops.functions.indexing import (
    IndexedAxes,
    Items,
    Window,
    index,
    index_vectors,
    mode_named,
    moved,
    parse,
    placed,
    selected,
    take_window,
    window_dims,
    window_of,
    without_negatives,
)
from tenferro.ops.functions.promotion import KINDS, as_value, broadcast_to, fitting, is_number

_ELEMENTWISE: dict[str, StdTensorOp] = {"add": ADD, "mul": MUL, "min": MINIMUM, "max": MAXIMUM}


_POINTWISE: dict[str, Callable[..., Any]] = {"div": elementwise.divide, "pow": elementwise.pow}
"""What is done with the whole array, and ones where nothing changes."""


class UpdateOptions(TypedDict, total=False):
    """The options of methods that change elements; see `Selection`."""

    mode: str | None
    indices_are_sorted: bool
    unique_indices: bool
    wrap_negative_indices: bool


class At:
    """The value of `x.at`: `x.at[i].set(v)` is x with the elements `x[i]` replaced.

    >>> import tenferro as tn
    >>> x = tn.Tensor([1.0, 2.0, 3.0])
    >>> x.at[0].set(9)
    Tensor([9., 2., 3.])
    >>> x.at[[0, 2, 0]].add(1)
    Tensor([3., 2., 4.])
    """

    __slots__ = ("_array",)

    def __init__(self, array: AnyTensor) -> None:
        self._array = array

    def __getitem__(self, indices: Index) -> Selection:
        return Selection(self._array, indices)


class Selection:
    """Some elements of an array, to read or change; each method returns a new array.

    Updates out of bounds are dropped; `get` clamps indices instead. If several updates hit one
    element, `set` keeps the last one and the other methods combine all of them.

    Numbers and NumPy arrays that are out of bounds are refused, unless `mode` says what they mean:
    with "clip" the nearest element, with "wrap" the elements repeated; with "fill" or "drop" they
    read `fill_value`, and change nothing. Negative indices count from the end, unless
    `wrap_negative_indices` is False, so that they are out of bounds. `indices_are_sorted` and
    `unique_indices` are promises. The former is not needed. The latter lets `multiply`, `divide`
    and `power` have derivatives by their values; if it is broken, results and derivatives are
    undefined.
    """

    __slots__ = ("_array", "_indices")

    def __init__(self, array: AnyTensor, indices: Index) -> None:
        self._array = array
        self._indices = indices

    def get(
        self,
        *,
        mode: str | None = None,
        fill_value: ArrayLike | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        wrap_negative_indices: bool = True,
    ) -> AnyTensor:
        """The elements themselves, as `x[...]`.

        Args:
            mode: what indices out of bounds mean; see the class.
            fill_value: what is read there with "fill"; by default NaN, the smallest signed or the
                largest unsigned integer, or True.
            indices_are_sorted: is not needed.
            unique_indices: is not needed.
            wrap_negative_indices: False if negative indices are out of bounds.
        """
        if not wrap_negative_indices and mode is None:
            mode = "fill"
        known = mode_named("get", mode)
        if known is None:
            return self._applied(index, mode=mode)
        if fill_value is not None and not hasattr(fill_value, "meta"):
            fill_value = fill_number("get", fill_value, self._array.meta.dtype)
        fill = () if fill_value is None else (fill_value,)
        extra = {"mode": known, "filled": bool(fill)}
        wrapped = wrap_negative_indices or known == "wrap"
        return self._applied(selected, *fill, mode=mode, extra=extra, wrapped=wrapped)

    def set(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> AnyTensor:
        """The array with the elements replaced."""
        return self._updated("set", values, options)

    def add(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> AnyTensor:
        """The array with values added to the elements."""
        return self._updated("add", values, options)

    def subtract(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> AnyTensor:
        """The array with values subtracted from the elements."""
        return self._updated("sub", values, options)

    def multiply(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> AnyTensor:
        """The array with the elements multiplied by values."""
        return self._updated("mul", values, options)

    def divide(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> AnyTensor:
        """The array with the elements divided by values; integers become float64."""
        return self._updated("div", values, options)

    def power(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> AnyTensor:
        """The array with the elements to the power of values."""
        return self._updated("pow", values, options)

    def min(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> AnyTensor:
        """The array with each element replaced by the smaller of it and the value; NaN wins."""
        return self._updated("min", values, options)

    def max(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> AnyTensor:
        """The array with each element replaced by the larger of it and the value; NaN wins."""
        return self._updated("max", values, options)

    def apply(
        self, ufunc: Callable[[AnyTensor], ArrayLike], **options: Unpack[UpdateOptions]
    ) -> AnyTensor:
        """The array with the elements replaced by what a function makes of them.

        Each is replaced once, also where an index is repeated.
        """
        return self.set(ufunc(self.get(mode=options.get("mode"))), **options)

    mul = multiply

    def _updated(self, combiner: str, values: ArrayLike, options: UpdateOptions) -> AnyTensor:
        for name in options:
            if name not in UpdateOptions.__annotations__:
                raise TypeError(unlisted(combiner, name, UpdateOptions.__annotations__))
        wrapped = options.get("wrap_negative_indices", True)
        mode = options.get("mode", None if wrapped else "drop")
        known = mode_named(combiner, mode)
        unique = bool(options.get("unique_indices")) and known not in ("clip", "wrap")
        extra = {"combiner": combiner, "mode": known, "unique": unique}
        wrapped = wrapped or known == "wrap"
        return self._applied(update, values, mode=mode, extra=extra, wrapped=wrapped)

    def _applied(
        self,
        function: Callable[..., Any],
        *values: ArrayLike,
        mode: str | None,
        extra: Mapping[str, object] | None = None,
        wrapped: bool = True,
    ) -> AnyTensor:
        expression = parse(self._indices, self._array.meta, anywhere=mode is not None)
        arrays = expression.arrays
        if not wrapped:
            clips = "clip" if mode_named("index", mode) == "clip" else "fill"
            arrays = tuple([without_negatives(each, clips) for each in arrays])
        return apply_method(
            function,
            self._array,
            *values,
            *arrays,
            items=expression.items,
            counted=expression.counted,
            **(extra or {}),
        )


def fill_number(name: str, fill_value: Any, dtype: DType) -> bool | complex | None:
    """What is read out of bounds of an array of `dtype`, as a Python number.

    Raises:
        DTypeError: it is not a number, or of a kind that the array cannot hold.
    """
    if fill_value is None:
        return None
    if isinstance(fill_value, np.generic) or getattr(fill_value, "shape", None) == ():
        fill_value = fill_value.item()
    if not is_number(fill_value):
        raise DTypeError(f"{name}: fill_value must be one number that is known, got {fill_value!r}")
    if KINDS[dtype_kind(np.result_type(fill_value))] > KINDS[dtype_kind(dtype)]:
        raise DTypeError(f"{name}: fill_value {fill_value!r} does not fit {short_name(dtype)}")
    return cast("bool | complex", fill_value)


def update(
    x: AnyTensor,
    values: ArrayLike,
    *arrays: AnyTensor,
    items: Items,
    counted: tuple[bool, ...],
    combiner: str,
    mode: str | None = None,
    unique: bool = False,
) -> AnyTensor:
    """x with values combined into the elements that items and arrays select.

    `unique` promises that no element is selected twice.
    """
    meta: TensorMeta = x.meta
    if combiner in _POINTWISE:
        ones = full_like(1, x)
        whole = update(ones, values, *arrays, items=items, counted=counted, combiner="mul",
                       mode=mode, unique=unique)  # fmt: skip
        result: AnyTensor = _POINTWISE[combiner](x, whole)
        return result
    new = fitting("update", values, meta.dtype)
    if combiner == "sub":
        new, combiner = emit(NEG, new), "add"
    part = take_window(x, items)
    if mode in ("clip", "wrap"):
        arrays = tuple(moved(part, placed(items).axes, arrays, mode))
    if arrays:
        changed = _scatter(part, new, placed(items), arrays, counted, combiner, unique)
    else:
        changed = broadcast_to(new, part.meta.exact_shape("update", "operand"), "update")
        if combiner != "set":
            changed = emit(_ELEMENTWISE[combiner], part, changed)
    return changed if part is x else _put_window(x, changed, window_of(items, meta))


def _scatter(
    x: AnyTensor,
    values: AnyTensor,
    places: IndexedAxes,
    arrays: tuple[AnyTensor, ...],
    counted: tuple[bool, ...],
    combiner: str,
    unique: bool,
) -> AnyTensor:
    vectors, rank = index_vectors(x, places.axes, arrays, counted)
    meta: TensorMeta = x.meta
    batch = vectors.meta.exact_shape("update", "indices")[:rank]
    sizes = meta.exact_shape("update", "operand")
    shape: list[Dim] = [size for axis, size in enumerate(sizes) if axis not in places.axes]
    shape[places.result : places.result] = batch
    numbers = (window_dims(meta.rank, places, rank), places.axes, places.axes, rank)
    kind = Scatter if combiner in ("add", "set") else ScatterReduce
    op = kind(*numbers, combiner=combiner, unique=unique)
    return emit(op, x, vectors, broadcast_to(values, shape, "update"))


def _put_window(x: AnyTensor, values: AnyTensor, window: Window) -> AnyTensor:
    """x with the elements of a window replaced."""
    meta: TensorMeta = x.meta
    sizes = meta.exact_shape("update", "operand")
    result = values.meta.exact_shape("update", "values")
    shape: list[Dim] = [1] * meta.rank
    for size, axis in zip(result, window.result_axes, strict=True):
        if axis is not None:
            shape[axis] = size
    if tuple(shape) != result:
        values = emit(Reshape(tuple(shape)), values)
    if window.reversed_axes:
        values = emit(Reverse(window.reversed_axes), values)
    if all(stride == 1 for stride in window.strides):
        starts = [as_value(start, INT64) for start in window.starts]
        return emit(DynamicUpdateSlice(), x, values, *starts)
    ends = [
        start + size + (stride - 1) * maximum(size - 1, 0)
        for start, size, stride in zip(window.starts, shape, window.strides, strict=True)
    ]
    pad = Pad(
        window.starts,
        tuple(size - end for size, end in zip(sizes, ends, strict=True)),
        tuple(stride - 1 for stride in window.strides),
    )
    spread = emit(pad, values, emit(scalar(0, meta.dtype)))
    inside = full(True, TensorMeta.of(BOOL, shape))
    mask = emit(pad, inside, emit(scalar(False, BOOL)))
    return emit(SELECT, mask, spread, x)
