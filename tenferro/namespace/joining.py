"""Functions that take arrays apart, repeat them and put them together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenferro.arrays import integers, joining
from tenferro.dispatch import apply, apply_to_array
from tenferro.namespace.layout import asarray, flip, several


def repeat(x: Any, repeats: Any, axis: int | None = None) -> Any:
    """Each element along `axis` (None: of all elements) so many times, one after another.

    >>> repeat([1, 2], 2)
    Tensor([1, 1, 2, 2])
    >>> repeat([1, 2], [1, 3])
    Tensor([1, 2, 2, 2])
    """
    counts = integers("repeat", "the counts", repeats)
    return apply_to_array(joining.repeat, x, repeats=counts, axis=axis)


def tile(x: Any, reps: Any) -> Any:
    """The whole of x so many times along each axis; axes align at the end.

    >>> tile([1, 2], (2, 2))
    Tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    counts = integers("tile", "the repetitions", reps)
    return apply_to_array(joining.tile, x, reps=counts)


def roll(x: Any, shift: Any, axis: Any = None) -> Any:
    """The elements moved by `shift` places along `axis`, entering again at the other end.

    Along an axis of symbolic size by no more than that size.

    >>> roll([1, 2, 3], 1)
    Tensor([3, 1, 2])
    """
    return apply_to_array(joining.roll, x, shift=shift, axis=axis)


def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """Two axes exchanged.

    >>> swapaxes([[1, 2], [3, 4]], 0, 1)
    Tensor([[1, 3],
            [2, 4]])
    """
    return apply_to_array(joining.swapaxes, x, axis1=axis1, axis2=axis2)


def fliplr(x: Any) -> Any:
    """The elements along the second axis in the opposite order.

    >>> fliplr([[1, 2], [3, 4]])
    Tensor([[2, 1],
            [4, 3]])
    """
    return flip(x, axis=1)


def flipud(x: Any) -> Any:
    """The elements along the first axis in the opposite order.

    >>> flipud([[1, 2], [3, 4]])
    Tensor([[3, 4],
            [1, 2]])
    """
    return flip(x, axis=0)


def hstack(arrays: Any) -> Any:
    """The arrays one after another along the second axis; vectors along their only one.

    >>> hstack([[1, 2], [3]])
    Tensor([1, 2, 3])
    """
    return apply(joining.hstack, *several("hstack", arrays))


def vstack(arrays: Any) -> Any:
    """The arrays one below another; vectors are rows.

    >>> vstack([[1, 2], [3, 4]])
    Tensor([[1, 2],
            [3, 4]])
    """
    return apply(joining.vstack, *several("vstack", arrays))


def dstack(arrays: Any) -> Any:
    """The arrays one behind another along the third axis.

    >>> dstack([[1, 2], [3, 4]])
    Tensor([[[1, 3],
             [2, 4]]])
    """
    return apply(joining.dstack, *several("dstack", arrays))


def column_stack(arrays: Any) -> Any:
    """Vectors as columns, and matrices, side by side.

    >>> column_stack([[1, 2], [3, 4]])
    Tensor([[1, 3],
            [2, 4]])
    """
    return apply(joining.column_stack, *several("column_stack", arrays))


def unstack(x: Any, /, *, axis: int = 0) -> Any:
    """The parts of x along `axis`, which they do not have.

    >>> unstack([[1, 2], [3, 4]])
    (Tensor([1, 2]), Tensor([3, 4]))
    """
    return tuple(_pieces("unstack", x, axis, None, drop=True))


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """x cut along `axis` into so many equal parts, or at the given places.

    >>> split([1, 2, 3, 4], 2)
    [Tensor([1, 2]), Tensor([3, 4])]
    >>> split([1, 2, 3, 4], [1, 3])
    [Tensor([1]), Tensor([2, 3]), Tensor([4])]
    """
    return _pieces("split", x, axis, indices_or_sections)


def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """As `split`; parts that cannot be equal differ by one element, the longer ones first.

    >>> array_split([1, 2, 3], 2)
    [Tensor([1, 2]), Tensor([3])]
    """
    return _pieces("array_split", x, axis, indices_or_sections)


def hsplit(x: Any, indices_or_sections: Any) -> Any:
    """x cut along its second axis; a vector along its only one.

    >>> hsplit([1, 2, 3, 4], 2)
    [Tensor([1, 2]), Tensor([3, 4])]
    """
    return _pieces("hsplit", x, min(1, asarray(x).ndim - 1), indices_or_sections)


def vsplit(x: Any, indices_or_sections: Any) -> Any:
    """x cut along its first axis.

    >>> vsplit([[1, 2], [3, 4]], 2)
    [Tensor([[1, 2]]), Tensor([[3, 4]])]
    """
    return _pieces("vsplit", x, 0, indices_or_sections)


def dsplit(x: Any, indices_or_sections: Any) -> Any:
    """x cut along its third axis.

    >>> dsplit([[[1, 2], [3, 4]]], 2)
    [Tensor([[[1],
             [3]]]), Tensor([[[2],
             [4]]])]
    """
    return _pieces("dsplit", x, 2, indices_or_sections)


def atleast_1d(*arrays: Any) -> Any:
    """Each array with new axes of size 1 until it has one axis; a list if there are several.

    >>> atleast_1d(1.0)
    Tensor([1.])
    """
    return _each(joining.atleast_1d, arrays)


def atleast_2d(*arrays: Any) -> Any:
    """Each array with new axes of size 1 until it has two; a list if there are several.

    >>> atleast_2d(1.0)
    Tensor([[1.]])
    """
    return _each(joining.atleast_2d, arrays)


def atleast_3d(*arrays: Any) -> Any:
    """Each array with new axes of size 1 until it has three; a list if there are several.

    >>> atleast_3d(1.0)
    Tensor([[[1.]]])
    """
    return _each(joining.atleast_3d, arrays)


def broadcast_arrays(*arrays: Any) -> list[Any]:
    """The arrays repeated to their common shape.

    >>> broadcast_arrays([1, 2], [[3], [4]])[0]
    Tensor([[1, 2],
            [1, 2]])
    """
    return [
        apply(joining.like_the_others, array, *arrays[:i], *arrays[i + 1 :])
        for i, array in enumerate(arrays)
    ]


def _each(function: Callable[..., Any], arrays: tuple[Any, ...]) -> Any:
    results = [apply(function, array) for array in arrays]
    return results[0] if len(results) == 1 else results


def _pieces(name: str, x: Any, axis: int, cuts: Any, drop: bool = False) -> list[Any]:
    """The parts of an array between its ends and the places where it is cut."""
    array = asarray(x)
    along, windows = joining.windows(name, array.meta, axis, cuts)
    return [
        apply(joining.piece, array, axis=along, start=start, stop=stop, drop=drop)
        for start, stop in windows
    ]
