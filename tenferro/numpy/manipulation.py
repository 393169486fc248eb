"""Arrays joined, split, padded, rolled and turned; entries inserted and deleted.

`reshape`, `moveaxis`, `flip` and what else has one operand: `tenferro.ops.functions.manipulation`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, overload

import numpy as np

from tenferro.errors import AxisError, DTypeError, ShapeError, counted
from tenferro.ir import (
    INT64,
    UINT32,
    UINT64,
    AnyTensor,
    ArrayLike,
    Axis,
    Dim,
    DTypeLike,
    Integers,
    Shape,
    TensorMeta,
    canonical,
    dtype_kind,
    minimum,
    product,
    same_size,
)
from tenferro.numpy.arguments import (
    along,
    array,
    check_affordable,
    constant_size,
    count,
    integers,
    numbers,
    promoted,
    sizes,
)
from tenferro.numpy.creation import arange, asarray, zeros
from tenferro.ops.functions import (
    apply,
    array_function,
    manipulation,
    normal_axes,
    normal_axis,
    reductions,
    refuse_out,
)
from tenferro.ops.functions import counts as counts_of
from tenferro.ops.functions.elementwise import clamp, where
from tenferro.ops.functions.logical import isnan
from tenferro.ops.functions.manipulation import broadcast_to, flip, moveaxis, swapaxes
from tenferro.runtime import Tensor
from tenferro.transforms import TracedTensor

__all__ = [
    "append",
    "array_equal",
    "array_equiv",
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block",
    "broadcast_arrays",
    "broadcast_shapes",
    "column_stack",
    "concat",
    "copy",
    "delete",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "insert",
    "ndim",
    "repeat",
    "resize",
    "roll",
    "rollaxis",
    "rot90",
    "shape",
    "size",
    "split",
    "stack",
    "unstack",
    "vsplit",
    "vstack",
]


def several(name: str, arrays: Iterable[ArrayLike]) -> Iterable[ArrayLike]:
    """The arrays to join: a list, or one array, whose parts along the first axis are joined."""
    listed = isinstance(arrays, Iterable) and not isinstance(arrays, str | bytes | dict)
    if listed and getattr(arrays, "ndim", 1) != 0:
        return arrays
    kind = type(arrays).__name__ if not listed else "an array without axes"
    raise DTypeError(f"{name}: takes a list of arrays, got {kind}")


def concat(
    arrays: Iterable[ArrayLike], axis: int | None = 0, dtype: DTypeLike | None = None
) -> AnyTensor:
    """The arrays one after another along `axis`; flattened first if None.

    The result is of `dtype`; of the common one of the arrays if None.

    >>> tn.concat([[1, 2], [3]])
    Tensor([1, 2, 3])
    """
    return apply(manipulation.concat, *several("concat", arrays), axis=axis, dtype=dtype)


def stack(
    arrays: Iterable[ArrayLike],
    axis: int = 0,
    out: None = None,
    dtype: DTypeLike | None = None,
) -> AnyTensor:
    """The arrays one after another along a new axis; `dtype` as of `concat`.

    >>> tn.stack([[1, 2], [3, 4]], axis=1)
    Tensor([[1, 3],
            [2, 4]])
    """
    refuse_out("stack", out)
    return apply(manipulation.stack, *several("stack", arrays), axis=axis, dtype=dtype)


def hstack(tup: Iterable[ArrayLike], dtype: DTypeLike | None = None) -> AnyTensor:
    """The arrays one after another along the second axis; vectors along the first.

    >>> tn.hstack([[1, 2], [3]])
    Tensor([1, 2, 3])
    """
    return apply(manipulation.hstack, *several("hstack", tup), dtype=dtype)


def vstack(tup: Iterable[ArrayLike], dtype: DTypeLike | None = None) -> AnyTensor:
    """The arrays one below another; vectors are rows.

    >>> tn.vstack([[1, 2], [3, 4]])
    Tensor([[1, 2],
            [3, 4]])
    """
    return apply(manipulation.vstack, *several("vstack", tup), dtype=dtype)


def dstack(tup: Iterable[ArrayLike], dtype: DTypeLike | None = None) -> AnyTensor:
    """The arrays one behind another along the third axis.

    >>> tn.dstack([[1, 2], [3, 4]])
    Tensor([[[1, 3],
             [2, 4]]])
    """
    return apply(manipulation.dstack, *several("dstack", tup), dtype=dtype)


def column_stack(tup: Iterable[ArrayLike]) -> AnyTensor:
    """The arrays side by side; vectors become columns.

    >>> tn.column_stack([[1, 2], [3, 4]])
    Tensor([[1, 3],
            [2, 4]])
    """
    return apply(manipulation.column_stack, *several("column_stack", tup))


# Functions that split an array, or return a changed copy of each of several arrays.


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[AnyTensor, ...]:
    """The parts of x along `axis`; the parts do not have this axis.

    >>> tn.unstack([[1, 2], [3, 4]])
    (Tensor([1, 2]), Tensor([3, 4]))
    """
    return tuple(_pieces("unstack", x, axis, None, drop=True))


def split(ary: ArrayLike, indices_or_sections: Integers, axis: int = 0) -> list[AnyTensor]:
    """`ary` cut along `axis` into a number of equal parts, or at a list of positions.

    >>> tn.split([1, 2, 3, 4], 2)
    [Tensor([1, 2]), Tensor([3, 4])]
    >>> tn.split([1, 2, 3, 4], [1, 3])
    [Tensor([1]), Tensor([2, 3]), Tensor([4])]
    """
    return _pieces("split", ary, axis, indices_or_sections)


def array_split(ary: ArrayLike, indices_or_sections: Integers, axis: int = 0) -> list[AnyTensor]:
    """As `split`; parts that cannot be equal differ by one element, the longer ones first.

    >>> tn.array_split([1, 2, 3], 2)
    [Tensor([1, 2]), Tensor([3])]
    """
    return _pieces("array_split", ary, axis, indices_or_sections)


def hsplit(ary: ArrayLike, indices_or_sections: Integers) -> list[AnyTensor]:
    """`ary` cut along its second axis; a vector along its first.

    >>> tn.hsplit([1, 2, 3, 4], 2)
    [Tensor([1, 2]), Tensor([3, 4])]
    """
    return _pieces("hsplit", ary, min(1, asarray(ary).ndim - 1), indices_or_sections)


def vsplit(ary: ArrayLike, indices_or_sections: Integers) -> list[AnyTensor]:
    """`ary` cut along its first axis.

    >>> tn.vsplit([[1, 2], [3, 4]], 2)
    [Tensor([[1, 2]]), Tensor([[3, 4]])]
    """
    return _pieces("vsplit", ary, 0, indices_or_sections)


def dsplit(ary: ArrayLike, indices_or_sections: Integers) -> list[AnyTensor]:
    """`ary` cut along its third axis.

    >>> tn.dsplit([[[1, 2], [3, 4]]], 2)
    [Tensor([[[1],
             [3]]]), Tensor([[[2],
             [4]]])]
    """
    return _pieces("dsplit", ary, 2, indices_or_sections)


@overload
def atleast_1d(x: ArrayLike, /) -> AnyTensor: ...
@overload
def atleast_1d(*arrays: ArrayLike) -> list[AnyTensor]: ...
def atleast_1d(*arrays: ArrayLike) -> AnyTensor | list[AnyTensor]:
    """Each array with new axes of size 1 until it has one axis; a list if there are several.

    >>> tn.atleast_1d(1.0)
    Tensor([1.])
    """
    return _map_arrays(manipulation.atleast_1d, arrays)


@overload
def atleast_2d(x: ArrayLike, /) -> AnyTensor: ...
@overload
def atleast_2d(*arrays: ArrayLike) -> list[AnyTensor]: ...
def atleast_2d(*arrays: ArrayLike) -> AnyTensor | list[AnyTensor]:
    """Each array with new axes of size 1 until it has two axes; a list if there are several.

    >>> tn.atleast_2d(1.0)
    Tensor([[1.]])
    """
    return _map_arrays(manipulation.atleast_2d, arrays)


@overload
def atleast_3d(x: ArrayLike, /) -> AnyTensor: ...
@overload
def atleast_3d(*arrays: ArrayLike) -> list[AnyTensor]: ...
def atleast_3d(*arrays: ArrayLike) -> AnyTensor | list[AnyTensor]:
    """Each array with new axes of size 1 until it has three axes; a list if there are several.

    >>> tn.atleast_3d(1.0)
    Tensor([[[1.]]])
    """
    return _map_arrays(manipulation.atleast_3d, arrays)


def broadcast_arrays(*arrays: ArrayLike) -> tuple[AnyTensor, ...]:
    """The arrays repeated to their common shape.

    >>> tn.broadcast_arrays([1, 2], [[3], [4]])[0]
    Tensor([[1, 2],
            [1, 2]])
    """
    return tuple(
        apply(manipulation.like_the_others, array, *arrays[:i], *arrays[i + 1 :])
        for i, array in enumerate(arrays)
    )


def _map_arrays(
    function: Callable[[ArrayLike], AnyTensor], arrays: Sequence[ArrayLike]
) -> AnyTensor | list[AnyTensor]:
    results: list[AnyTensor] = [apply(function, array) for array in arrays]
    return results[0] if len(results) == 1 else results


def _pieces(
    name: str, x: ArrayLike, axis: int, cuts: Integers | None, drop: bool = False
) -> list[AnyTensor]:
    """The parts of an array between its ends and the cuts."""
    array = asarray(x)
    meta = array.meta if hasattr(array, "meta") else TensorMeta.of(UINT32, array.shape)  # of keys
    along, windows = manipulation.windows(name, meta, axis, cuts)
    return [
        apply(manipulation.piece, array, axis=along, start=start, stop=stop, drop=drop)
        for start, stop in windows
    ]


# roll, by numbers of places that may be traced.

_rolled_by_numbers = array_function(manipulation.roll)


def roll(
    a: ArrayLike, shift: Integers | ArrayLike | Sequence[ArrayLike], axis: Axis = None
) -> AnyTensor:
    """The elements shifted cyclically by `shift` places along `axis`; of the flat array if None.

    Args:
        a: the array.
        shift: one integer, or one for each axis. Along an axis of symbolic size, a number must not
            exceed the size.
        axis: one axis or several.

    Raises:
        AxisError: there is no such axis, or the numbers of shifts and axes differ.
        DTypeError: a shift is not an integer.

    >>> tn.roll([1, 2, 3], 1)
    Tensor([3, 1, 2])
    """
    shifts: Any = [*shift] if isinstance(shift, tuple | list) else [shift]
    if not any(isinstance(each, TracedTensor) for each in shifts):
        return _rolled_by_numbers(a, shift, axis)  # type: ignore[arg-type]  # not traced
    array: Any = asarray(a)
    if len(shifts) == 1 and shifts[0].ndim:
        shifts = [shifts[0][i] for i in range(shifts[0].shape[0])]
    if axis is None:
        flat = _rolled(array.ravel(), manipulation.shifts_of(0, shifts))
        return flat.reshape(array.shape)  # type: ignore[no-any-return]
    return _rolled(array, manipulation.shifts_of(axis, shifts))  # type: ignore[no-any-return]


def _rolled(x: Any, shifts: list[tuple[Any, Any]]) -> Any:
    for each, by in shifts:
        axis = normal_axis("roll", each, x.ndim)
        size = x.shape[axis]
        shift: Any = asarray(by)
        if dtype_kind(shift.dtype) not in "biu":
            raise DTypeError(f"roll: the shifts must be integers, got {shift.meta}")
        # One of uint64 may not fit into int64, and is reduced first.
        shift = (shift % size if shift.dtype == UINT64 else shift).astype(INT64)
        if isinstance(size, int) and not shift.ndim:
            x = apply(manipulation.rolled_by, x, shift, axis=axis) if size else x
            continue
        places = (arange(size) - shift) % size
        places = apply(clamp, places, 0, size - 1)
        x = x[(slice(None),) * axis + (places,)]
    return x


# Comparison of whole arrays.


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> AnyTensor:
    """Whether `a1` and `a2` have equal shapes and equal elements; NaN equals NaN if `equal_nan`.

    >>> tn.array_equal([1, 2], [1, 2])
    Tensor(True)
    """
    left: Any = asarray(a1)
    right: Any = asarray(a2)
    shape = left.meta.static_shape
    if shape is not None and shape == right.meta.static_shape:
        return _equal(left, right, equal_nan).all()  # type: ignore[no-any-return]
    if left.ndim != right.ndim:
        return asarray(False)
    if all(map(same_size, left.meta.extents, right.meta.extents)):
        return _equal(left, right, equal_nan).all()  # type: ignore[no-any-return]
    pairs = [*zip(left.shape, right.shape, strict=True)]
    if any(canonical(a, b) is None for a, b in pairs):
        return asarray(False)
    # Whether sizes with names are equal is a part of the result; common elements are compared.
    common = tuple(slice(minimum(a, b)) for a, b in pairs)
    equal = _equal(left[common], right[common], equal_nan).all()
    for a, b in pairs:
        equal = equal & (asarray(a) == asarray(b))
    return equal  # type: ignore[no-any-return]


def _equal(left: Any, right: Any, equal_nan: bool) -> Any:
    """Which elements of two arrays are equal."""
    equal = left == right
    return equal | (isnan(left) & isnan(right)) if equal_nan else equal


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> AnyTensor:
    """Whether `a1` and `a2` broadcast to one shape, and all elements are equal then.

    >>> tn.array_equiv([1, 1], 1)
    Tensor(True)
    """
    left, right = promoted("array_equiv", a1, a2)
    try:
        return reductions.all(left == right)
    except ShapeError:
        return asarray(False)


# Borders and repetitions.


def with_zeros(x: ArrayLike, pad_width: manipulation.PadWidth) -> AnyTensor:
    """x with a border of zeros; `pad_width` as of `tn.pad`."""
    return apply(manipulation.pad, x, pad_width=pad_width)


def repeat(
    a: ArrayLike,
    repeats: Integers | Dim | ArrayLike,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
) -> AnyTensor:
    """Each element along `axis` repeated `repeats` times; of the flattened array if None.

    Args:
        a: the array.
        repeats: one count, or one for each element along the axis, which must be known unless
            `total_repeat_length` says what the size is.
        axis: the axis.
        total_repeat_length: the size of the result along the axis; what is missing is the last
            element repeated, and what is too much is left out.

    >>> tn.repeat([1, 2], 2)
    Tensor([1, 1, 2, 2])
    >>> tn.repeat([1, 2], [1, 3])
    Tensor([1, 2, 2, 2])
    """
    if total_repeat_length is not None:
        return _repeated_up_to(a, repeats, axis, count("repeat", "the size", total_repeat_length))
    counts = counts_of("repeat", "the counts", repeats)
    if any(isinstance(count, int) and count < 0 for count in counts):
        raise ShapeError(f"repeat: counts must not be negative, got {counts}")
    if len(counts) == 1:
        return apply(manipulation.repeat, a, count=counts[0], axis=axis)
    array = asarray(a)
    if axis is None:
        array, axis = array.ravel(), 0
    along = normal_axis("repeat", axis, array.ndim)
    if array.shape[along] != len(counts):
        raise ShapeError(
            f"repeat: got {counted(len(counts), 'count')} for axis {along} of {array.meta}, which "
            f"has size {array.shape[along]}; pass one count, or one for each element"
        )
    before: tuple[Any, ...] = (slice(None),) * along
    if not all(isinstance(count, int) for count in counts):
        parts = [array[(*before, slice(place, place + 1))] for place in range(len(counts))]
        return concat(
            [repeat(part, count, along) for part, count in zip(parts, counts, strict=True)], along
        )
    numbers = [int(count) for count in counts]
    return array[(*before, np.repeat(np.arange(len(counts)), numbers))]


def _repeated_up_to(a: ArrayLike, repeats: Any, axis: int | None, length: int) -> AnyTensor:
    """Each element repeated, as far as there are `length` elements."""
    x, place = along("repeat", asarray(a), axis)
    size = constant_size("repeat", x, place)
    (counts,) = integers("repeat", repeats)
    ends: Any = reductions.cumsum(broadcast_to(counts, (size,)))
    if size == 0:
        return zeros([0 if i == place else each for i, each in enumerate(x.shape)], x.dtype)
    begun = ends <= arange(length)[:, None]  # for each place, which elements end before it
    source: Any = apply(clamp, reductions.sum(begun, axis=-1), 0, size - 1)
    return x[(slice(None),) * place + (source,)]  # type: ignore[no-any-return]


# Axes turned, blocks joined, shapes.


def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> AnyTensor:
    """`m` turned k times by 90 degrees in the plane of two axes, from the first to the second.

    >>> tn.rot90([[1, 2], [3, 4]])
    Tensor([[2, 4],
            [1, 3]])
    """
    a = array("rot90", m)
    if not isinstance(axes, tuple | list) or len(axes) != 2:
        raise AxisError(f"rot90: axes must be two integers, got {axes!r}")
    first, second = (normal_axis("rot90", axis, a.ndim) for axis in axes)
    if first == second:
        raise AxisError(f"rot90: axes {tuple(axes)} of {a.meta} must differ")
    match k % 4:
        case 0:
            return a  # type: ignore[no-any-return]
        case 1:
            return swapaxes(flip(a, second), first, second)
        case 2:
            return flip(a, (first, second))
        case _:
            return flip(swapaxes(a, first, second), second)


def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> AnyTensor:
    """`a` with `axis` moved to before the axis `start`; `tn.moveaxis` says it more clearly.

    >>> tn.rollaxis([[[1, 2, 3]]], 2).shape
    (3, 1, 1)
    """
    x = array("rollaxis", a)
    source = normal_axis("rollaxis", axis, x.ndim)
    last = isinstance(start, int) and start == x.ndim
    target = x.ndim if last else normal_axis("rollaxis", start, x.ndim)
    return moveaxis(x, source, target - (source < target))


def block(arrays: Any) -> AnyTensor:
    """Nested lists of arrays as one array: the innermost lists are joined along the last axis.

    >>> tn.block([[1, 2], [3, 4]])
    Tensor([[1, 2],
            [3, 4]])
    """
    depth = _depth(arrays)
    rank = max([depth, *[array("block", leaf).ndim for leaf in _leaves(arrays)]])
    return _joined(arrays, depth, rank)  # type: ignore[no-any-return]


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(each) for each in arrays}
    if len(depths) != 1:
        raise ShapeError("block: lists must not be empty, and must have equal depths")
    return 1 + depths.pop()


def _leaves(arrays: Any) -> list[Any]:
    return (
        [leaf for each in arrays for leaf in _leaves(each)]
        if isinstance(arrays, list)
        else [arrays]
    )


def _joined(arrays: Any, depth: int, rank: int) -> Any:
    if not isinstance(arrays, list):
        a = array("block", arrays)
        return a.reshape((*(1,) * (rank - a.ndim), *a.shape))
    return concat([_joined(each, depth - 1, rank) for each in arrays], axis=-depth)


def broadcast_shapes(*shapes: Shape) -> tuple[Dim, ...]:
    """The shape to which arrays of these shapes broadcast.

    >>> tn.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    sizes = [shape if isinstance(shape, tuple | list) else (shape,) for shape in shapes]
    rank = max([len(each) for each in sizes], default=0)
    result: list[Any] = []
    for axis in range(-rank, 0):
        wide = {each[axis] for each in sizes if len(each) >= -axis and each[axis] != 1}
        if len(wide) > 1:
            named = ", ".join(str(tuple(each)) for each in sizes)
            raise ShapeError(f"broadcast_shapes: {named} do not broadcast along axis {axis}")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def copy(a: ArrayLike, order: str | None = None) -> AnyTensor:
    """`a` as a new array. `order` has no effect: elements are always in C order.

    >>> tn.copy([1, 2])
    Tensor([1, 2])
    """
    x = array("copy", a)
    return Tensor(np.array(x.numpy())) if type(x) is Tensor else x


def size(a: ArrayLike, axis: Axis = None) -> Dim:
    """The number of elements; along `axis` if given.

    >>> tn.size([[1, 2], [3, 4]], 0)
    2
    """
    sizes = a.shape if hasattr(a, "shape") else array("size", a).shape
    if axis is None:
        return product(sizes)
    return product(sizes[each] for each in normal_axes("size", axis, len(sizes)))


def shape(a: ArrayLike) -> tuple[Dim, ...]:
    """The sizes of the axes; `tn.shape`, which is a module, can be called with the same meaning.

    >>> tn.numpy.shape([[1, 2], [3, 4], [5, 6]])
    (3, 2)
    """
    return tuple(a.shape if hasattr(a, "shape") else array("shape", a).shape)


def ndim(a: ArrayLike) -> int:
    """The number of axes.

    >>> tn.ndim([[1, 2], [3, 4]])
    2
    """
    return int(a.ndim if hasattr(a, "ndim") else array("ndim", a).ndim)


# Entries inserted and deleted.


def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> AnyTensor:
    """`arr` with `values` behind it along `axis`; both flattened first if None.

    >>> tn.append([1, 2], 3)
    Tensor([1, 2, 3])
    """
    return concat([atleast_1d(each) for each in promoted("append", arr, values)], axis=axis)


def insert(arr: ArrayLike, obj: Any, values: ArrayLike, axis: int | None = None) -> AnyTensor:
    """`arr` with values inserted before the indices `obj` along `axis`; of the flat array if None.

    Args:
        arr: an array.
        obj: a slice, or one index or several.
        values: what is inserted, repeated to the shape of the new part.
        axis: the axis.

    >>> tn.insert([1, 2, 3], 1, 9)
    Tensor([1, 9, 2, 3])
    """
    a, place = along("insert", array("insert", arr), axis)
    size = constant_size("insert", a, place)
    if isinstance(obj, TracedTensor):
        return _inserted(a, place, obj, values)
    places = _positions("insert", obj, size, size + 1)
    new = array("insert", values).astype(a.dtype)
    new = new.reshape((*(1,) * (a.ndim - new.ndim), *new.shape))
    if places.ndim == 0:
        new = moveaxis(new, 0, place)
    count = constant_size("insert", new, place) if places.size == 1 else places.size
    flat = np.broadcast_to(places.ravel(), (count,))
    order = np.argsort(flat, kind="stable")
    targets = np.empty(count, np.int64)
    targets[order] = flat[order] + np.arange(count)
    shape = [count if i == place else part for i, part in enumerate(a.shape)]
    remaining = np.setdiff1d(np.arange(size + count), targets)
    joined = concat([a, broadcast_to(new, shape)], axis=place)
    source = np.empty(size + count, np.int64)
    source[remaining], source[targets] = np.arange(size), size + np.arange(count)
    return joined[(slice(None),) * place + (source,)]


def _inserted(a: Any, place: int, obj: Any, values: ArrayLike) -> AnyTensor:
    """As `insert`, before indices that are traced."""
    size = a.shape[place]
    (places,) = integers("insert", obj)
    new = array("insert", values).astype(a.dtype)
    new = new.reshape((*(1,) * (a.ndim - new.ndim), *new.shape))
    if places.ndim == 0:
        new = moveaxis(new, 0, place)
    count = constant_size("insert", new, place) if places.size == 1 else places.size
    flat = broadcast_to(places.ravel(), (count,))
    flat = apply(clamp, where(flat < 0, flat + size, flat), 0, size)
    order = reductions.argsort(flat)
    targets = flat[order] + arange(count)
    is_new: Any = zeros(size + count, "bool").at[targets].set(True)
    before: Any = reductions.cumsum(is_new)  # how many were inserted up to a place
    shape = [count if i == place else part for i, part in enumerate(a.shape)]
    joined = concat([a, broadcast_to(new, shape)], axis=place)
    fresh = size + order[apply(clamp, before - 1, 0, max(count - 1, 0))] if count else before
    source = where(is_new, fresh, arange(size + count) - before)
    return joined[(slice(None),) * place + (source,)]


def delete(
    arr: ArrayLike, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False
) -> AnyTensor:
    """`arr` without the indices `obj` along `axis`; of the flattened array if None.

    Args:
        arr: an array.
        obj: a slice, or one index or several. Several that are traced must be different.
        axis: the axis.
        assume_unique_indices: a promise that they are different, which several traced ones need.

    >>> tn.delete([1, 2, 3], 1)
    Tensor([1, 3])
    """
    a, place = along("delete", array("delete", arr), axis)
    size = constant_size("delete", a, place)
    if isinstance(obj, TracedTensor) and (obj.ndim == 0 or assume_unique_indices):
        (places,) = integers("delete", obj)
        deleted = zeros(size, "bool").at[places].set(True)
        order = reductions.argsort(deleted)[: max(size - places.size, 0)]
        return a[(slice(None),) * place + (order,)]  # type: ignore[no-any-return]
    remaining = np.delete(np.arange(size), _positions("delete", obj, size, size).ravel())
    return a[(slice(None),) * place + (remaining,)]  # type: ignore[no-any-return]


def resize(a: ArrayLike, new_shape: Shape) -> AnyTensor:
    """The elements of `a` in another shape, repeated from the start or cut off.

    >>> tn.resize([1, 2, 3], (2, 2))
    Tensor([[1, 2],
            [3, 1]])
    """
    flat = array("resize", a).ravel()
    shape = sizes("resize", new_shape)
    check_affordable("resize", *shape)
    size, total = constant_size("resize", flat, 0), int(np.prod(shape))
    if size == 0:
        return zeros(shape, flat.dtype)
    return flat[np.arange(total) % size].reshape(shape)  # type: ignore[no-any-return]


def _positions(name: str, obj: Any, size: int, stop: int) -> np.ndarray[Any, Any]:
    """The indices that a slice or an array stands for, counted from the front."""
    if isinstance(obj, slice):
        return np.arange(size)[obj]
    places = numbers(name, obj, "pass one, or several that are known")
    if dtype_kind(places.dtype) == "b":
        places = np.flatnonzero(places)
    if places.size and dtype_kind(places.dtype) not in "iu":
        raise DTypeError(f"{name}: indices must be integers, got {places.dtype}")
    places = places.astype(np.int64)
    if ((places < -size) | (places >= stop)).any():
        raise ShapeError(f"{name}: an index is out of range for size {size}")
    return np.where(places < 0, places + size, places)
