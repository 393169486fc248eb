"""Functions that split an array, or return a changed copy of each of several arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from tenferro.errors import AxisError, DTypeError
from tenferro.ir import (
    INT64,
    UINT64,
    AnyTensor,
    ArrayLike,
    Axis,
    Integers,
    canonical,
    minimum,
    same_size,
)
from tenferro.namespace.creation import arange, asarray
from tenferro.namespace.indexing import take
from tenferro.ops.functions import apply, array_function, manipulation
from tenferro.transforms import TracedTensor

__all__ = [
    "array_equal",
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "dsplit",
    "hsplit",
    "roll",
    "split",
    "unstack",
    "vsplit",
]


# Functions that split an array, or return a changed copy of each of several arrays.


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[AnyTensor, ...]:
    """The parts of x along `axis`; the parts do not have this axis.

    >>> tn.unstack([[1, 2], [3, 4]])
    (Tensor([1, 2]), Tensor([3, 4]))
    """
    return tuple(_pieces("unstack", x, axis, None, drop=True))


def split(x: ArrayLike, indices_or_sections: Integers, axis: int = 0) -> list[AnyTensor]:
    """x cut along `axis` into a number of equal parts, or at a list of positions.

    >>> tn.split([1, 2, 3, 4], 2)
    [Tensor([1, 2]), Tensor([3, 4])]
    >>> tn.split([1, 2, 3, 4], [1, 3])
    [Tensor([1]), Tensor([2, 3]), Tensor([4])]
    """
    return _pieces("split", x, axis, indices_or_sections)


def array_split(x: ArrayLike, indices_or_sections: Integers, axis: int = 0) -> list[AnyTensor]:
    """As `split`; parts that cannot be equal differ by one element, the longer ones first.

    >>> tn.array_split([1, 2, 3], 2)
    [Tensor([1, 2]), Tensor([3])]
    """
    return _pieces("array_split", x, axis, indices_or_sections)


def hsplit(x: ArrayLike, indices_or_sections: Integers) -> list[AnyTensor]:
    """x cut along its second axis; a vector along its first.

    >>> tn.hsplit([1, 2, 3, 4], 2)
    [Tensor([1, 2]), Tensor([3, 4])]
    """
    return _pieces("hsplit", x, min(1, asarray(x).ndim - 1), indices_or_sections)


def vsplit(x: ArrayLike, indices_or_sections: Integers) -> list[AnyTensor]:
    """x cut along its first axis.

    >>> tn.vsplit([[1, 2], [3, 4]], 2)
    [Tensor([[1, 2]]), Tensor([[3, 4]])]
    """
    return _pieces("vsplit", x, 0, indices_or_sections)


def dsplit(x: ArrayLike, indices_or_sections: Integers) -> list[AnyTensor]:
    """x cut along its third axis.

    >>> tn.dsplit([[[1, 2], [3, 4]]], 2)
    [Tensor([[[1],
             [3]]]), Tensor([[[2],
             [4]]])]
    """
    return _pieces("dsplit", x, 2, indices_or_sections)


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
    along, windows = manipulation.windows(name, array.meta, axis, cuts)
    return [
        apply(manipulation.piece, array, axis=along, start=start, stop=stop, drop=drop)
        for start, stop in windows
    ]


# roll, by numbers of places that may be traced.

_rolled_by_numbers = array_function(manipulation.roll)


def roll(
    x: ArrayLike, shift: Integers | ArrayLike | Sequence[ArrayLike], axis: Axis = None
) -> AnyTensor:
    """The elements shifted cyclically by `shift` places along `axis`; of the flat array if None.

    Args:
        x: the array.
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
        return _rolled_by_numbers(x, shift, axis)  # type: ignore[arg-type]  # not traced
    array: Any = asarray(x)
    if axis is None:
        return _rolled(array.ravel(), shifts, [0]).reshape(array.shape)  # type: ignore[no-any-return]
    axes = list(axis) if isinstance(axis, tuple | list) else [axis]
    if len(shifts) == 1 and shifts[0].ndim:
        shifts = [shifts[0][i] for i in range(shifts[0].shape[0])]
    if len(shifts) not in (1, len(axes)):
        raise AxisError(
            f"roll: got {len(shifts)} shifts for {len(axes)} axes; pass one shift, or one for each "
            "axis"
        )
    return _rolled(array, shifts, axes)  # type: ignore[no-any-return]


def _rolled(x: Any, shifts: list[Any], axes: list[Any]) -> Any:
    for place, axis in enumerate(axes):
        size = x.shape[axis]
        places = (arange(size) - _within_int64(shifts[place % len(shifts)], size)) % size
        x = take(x, places, axis=axis, mode="clip")
    return x


def _within_int64(shift: Any, size: Any) -> Any:
    """A shift as int64; one of uint64 may not fit, and is reduced first.

    Raises:
        DTypeError: it is not an integer.
    """
    value: Any = asarray(shift)
    if value.dtype.kind not in "biu":
        raise DTypeError(f"roll: the shifts must be integers, got {value.meta}")
    return (value % size if value.dtype == UINT64 else value).astype(INT64)


# Comparison of whole arrays.


def array_equal(x1: ArrayLike, x2: ArrayLike) -> AnyTensor:
    """Whether x1 and x2 have equal shapes and equal elements.

    >>> tn.array_equal([1, 2], [1, 2])
    Tensor(True)
    """
    left: Any = asarray(x1)
    right: Any = asarray(x2)
    shape = left.meta.static_shape
    if shape is not None and shape == right.meta.static_shape:
        return (left == right).all()  # type: ignore[no-any-return]
    if left.ndim != right.ndim:
        return asarray(False)
    if all(map(same_size, left.meta.extents, right.meta.extents)):
        return (left == right).all()  # type: ignore[no-any-return]
    pairs = [*zip(left.shape, right.shape, strict=True)]
    if any(canonical(a, b) is None for a, b in pairs):
        return asarray(False)
    # Whether sizes with names are equal is a part of the result; common elements are compared.
    common = tuple(slice(minimum(a, b)) for a, b in pairs)
    equal = (left[common] == right[common]).all()
    for a, b in pairs:
        equal = equal & (asarray(a) == asarray(b))
    return equal  # type: ignore[no-any-return]
