"""Functions that split an array, or return a changed copy of each of several arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

from tenferro.arrays import joining
from tenferro.chainrules import Emitter
from tenferro.dispatch import apply
from tenferro.namespace.creation import asarray
from tenferro.typing import AnyTensor, ArrayLike, Integers


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
    return _map_arrays(joining.atleast_1d, arrays)


@overload
def atleast_2d(x: ArrayLike, /) -> AnyTensor: ...
@overload
def atleast_2d(*arrays: ArrayLike) -> list[AnyTensor]: ...
def atleast_2d(*arrays: ArrayLike) -> AnyTensor | list[AnyTensor]:
    """Each array with new axes of size 1 until it has two axes; a list if there are several.

    >>> tn.atleast_2d(1.0)
    Tensor([[1.]])
    """
    return _map_arrays(joining.atleast_2d, arrays)


@overload
def atleast_3d(x: ArrayLike, /) -> AnyTensor: ...
@overload
def atleast_3d(*arrays: ArrayLike) -> list[AnyTensor]: ...
def atleast_3d(*arrays: ArrayLike) -> AnyTensor | list[AnyTensor]:
    """Each array with new axes of size 1 until it has three axes; a list if there are several.

    >>> tn.atleast_3d(1.0)
    Tensor([[[1.]]])
    """
    return _map_arrays(joining.atleast_3d, arrays)


def broadcast_arrays(*arrays: ArrayLike) -> tuple[AnyTensor, ...]:
    """The arrays repeated to their common shape.

    >>> tn.broadcast_arrays([1, 2], [[3], [4]])[0]
    Tensor([[1, 2],
            [1, 2]])
    """
    return tuple(
        apply(joining.like_the_others, array, *arrays[:i], *arrays[i + 1 :])
        for i, array in enumerate(arrays)
    )


def _map_arrays(
    function: Callable[[Emitter[ArrayLike], ArrayLike], ArrayLike], arrays: Sequence[ArrayLike]
) -> AnyTensor | list[AnyTensor]:
    results = [apply(function, array) for array in arrays]
    return results[0] if len(results) == 1 else results


def _pieces(
    name: str, x: ArrayLike, axis: int, cuts: Integers | None, drop: bool = False
) -> list[AnyTensor]:
    """The parts of an array between its ends and the cuts."""
    array = asarray(x)
    along, windows = joining.windows(name, array.meta, axis, cuts)
    return [
        apply(joining.piece, array, axis=along, start=start, stop=stop, drop=drop)
        for start, stop in windows
    ]
