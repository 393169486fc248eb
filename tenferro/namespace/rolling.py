"""roll, by numbers of places that may be traced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenferro.arrays import joining
from tenferro.dispatch import array_function
from tenferro.errors import AxisError, DTypeError
from tenferro.namespace.creation import arange, asarray
from tenferro.namespace.indexing import take
from tenferro.shape import INT64, UINT64
from tenferro.traced import TracedTensor
from tenferro.typing import AnyTensor, ArrayLike, Axis, Integers

_rolled_by_numbers = array_function(joining.roll)


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
