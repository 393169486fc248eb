"""Functions that move, repeat, join and make elements, under the array API standard's names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tenferro.arrays import layout
from tenferro.dispatch import apply, apply_to_array, create
from tenferro.eager import EagerTensor
from tenferro.errors import DTypeError
from tenferro.runtime import Tensor
from tenferro.shape import as_dtype
from tenferro.traced import TracedTensor


def asarray(value: Any, dtype: object = None) -> Any:
    """The value as a tensor.

    An array, nested lists of numbers, or anything with `__array__` or `__dlpack__`.

    A list that holds traced values becomes a traced array, one of eager tensors an eager one.

    >>> asarray([[1, 2], [3, 4]], dtype="float32")
    Tensor([[1., 2.],
            [3., 4.]], dtype=float32)
    """
    if isinstance(value, list | tuple) and _any_recorded(value):
        value = stack([asarray(item) for item in value])
    array = value if isinstance(value, Tensor | TracedTensor) else None
    if array is None:
        return Tensor(value, dtype)
    return array if dtype is None or array.dtype == as_dtype(dtype) else array.astype(dtype)


def _any_recorded(values: Any) -> bool:
    return any(
        isinstance(item, TracedTensor | EagerTensor)
        or (isinstance(item, list | tuple) and _any_recorded(item))
        for item in values
    )


def several(name: str, arrays: Any) -> Iterable[Any]:
    """What is joined: a list of arrays, or one array, which is taken apart along its first axis.

    >>> several("stack", 1.0)
    Traceback (most recent call last):
        ...
    tenferro.errors.DTypeError: stack: takes a list of arrays, got float
    """
    if isinstance(arrays, Iterable) and not isinstance(arrays, str | bytes | dict):
        return arrays
    raise DTypeError(f"{name}: takes a list of arrays, got {type(arrays).__name__}")


def permute_dims(x: Any, axes: Any = None) -> Any:
    """The axes of x in the order `axes`; reversed if None.

    >>> permute_dims([[1, 2], [3, 4]], (1, 0))
    Tensor([[1, 3],
            [2, 4]])
    """
    return apply_to_array(layout.permute_dims, x, axes=axes)


def matrix_transpose(x: Any) -> Any:
    """The last two axes of x exchanged.

    >>> matrix_transpose([[1, 2], [3, 4]])
    Tensor([[1, 3],
            [2, 4]])
    """
    return apply_to_array(layout.matrix_transpose, x)


def moveaxis(x: Any, source: int, destination: int) -> Any:
    """Axis `source` moved to place `destination`, the others in their order.

    >>> moveaxis([[1, 2], [3, 4]], 0, 1)
    Tensor([[1, 3],
            [2, 4]])
    """
    return apply_to_array(layout.moveaxis, x, source=source, destination=destination)


def reshape(x: Any, shape: Any, *, order: str = "C") -> Any:
    """The elements of x in another shape; one size may be -1. `order="F"`: first axis fastest.

    >>> reshape([1, 2, 3, 4], (2, -1))
    Tensor([[1, 2],
            [3, 4]])
    """
    return apply_to_array(layout.reshape, x, shape=shape, order=order)


def ravel(x: Any, *, order: str = "C") -> Any:
    """All elements of x along one axis.

    >>> ravel([[1, 2], [3, 4]], order="F")
    Tensor([1, 3, 2, 4])
    """
    return apply_to_array(layout.ravel, x, order=order)


def flip(x: Any, axis: Any = None) -> Any:
    """The elements along `axis` (None: all axes) in the opposite order.

    >>> flip([1, 2, 3])
    Tensor([3, 2, 1])
    """
    return apply_to_array(layout.flip, x, axis=axis)


def expand_dims(x: Any, axis: Any = 0) -> Any:
    """x with new axes of size 1 at the places `axis` of the result.

    >>> expand_dims([1, 2], axis=1)
    Tensor([[1],
            [2]])
    """
    return apply_to_array(layout.expand_dims, x, axis=axis)


def squeeze(x: Any, axis: Any = None) -> Any:
    """x without its axes `axis` of size 1; all of those if None.

    >>> squeeze([[1, 2]])
    Tensor([1, 2])
    """
    return apply_to_array(layout.squeeze, x, axis=axis)


def broadcast_to(x: Any, shape: Any) -> Any:
    """x repeated to `shape`, axes aligned at the end.

    >>> broadcast_to([1, 2], (2, 2))
    Tensor([[1, 2],
            [1, 2]])
    """
    return apply(layout.broadcast_array, x, shape=shape)


def concat(arrays: Any, axis: int | None = 0) -> Any:
    """The arrays one after another along `axis`; flattened first if None.

    >>> concat([[1, 2], [3]])
    Tensor([1, 2, 3])
    """
    return apply(layout.concat, *several("concat", arrays), axis=axis)


def stack(arrays: Any, axis: int = 0) -> Any:
    """The arrays side by side along a new axis.

    >>> stack([[1, 2], [3, 4]], axis=1)
    Tensor([[1, 3],
            [2, 4]])
    """
    return apply(layout.stack, *several("stack", arrays), axis=axis)


def pad(x: Any, pad_width: Any, constant_values: Any = 0) -> Any:
    """x with a border of a constant; `pad_width` is n, (before, after), or one pair for each axis.

    >>> pad([1, 2], (1, 2))
    Tensor([0, 1, 2, 0, 0])
    """
    return apply_to_array(layout.pad, x, pad_width=pad_width, constant_values=constant_values)


def tril(x: Any, k: int = 0) -> Any:
    """The part of x on and below diagonal `k` of its last two axes.

    >>> tril([[1, 2], [3, 4]])
    Tensor([[1, 0],
            [3, 4]])
    """
    return apply_to_array(layout.tril, x, k=k)


def triu(x: Any, k: int = 0) -> Any:
    """The part of x on and above diagonal `k` of its last two axes.

    >>> triu([[1, 2], [3, 4]])
    Tensor([[1, 2],
            [0, 4]])
    """
    return apply_to_array(layout.triu, x, k=k)


def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The elements whose index along `axis2` exceeds that along `axis1` by `offset`, last.

    >>> diagonal([[1, 2], [3, 4]])
    Tensor([1, 4])
    >>> diagonal([[1, 2, 3], [4, 5, 6]], offset=1)
    Tensor([2, 6])
    """
    return apply_to_array(layout.diagonal, x, offset=offset, axis1=axis1, axis2=axis2)


def full(shape: Any, fill_value: Any, dtype: object = None) -> Any:
    """A new array whose every element is `fill_value`; sizes may be names in a traced program.

    >>> full((2,), 7)
    Tensor([7, 7])
    """
    element = None if dtype is None else as_dtype(dtype)
    return create(layout.filled, fill_value, shape=shape, dtype=element)


def zeros(shape: Any, dtype: object = "float64") -> Any:
    """A new array of zeros.

    >>> zeros(2)
    Tensor([0., 0.])
    """
    return full(shape, 0, dtype=dtype)


def ones(shape: Any, dtype: object = "float64") -> Any:
    """A new array of ones.

    >>> ones(2)
    Tensor([1., 1.])
    """
    return full(shape, 1, dtype=dtype)


def full_like(x: Any, fill_value: Any, dtype: object = None) -> Any:
    """An array of the shape of x whose every element is `fill_value`.

    >>> full_like([1, 2], 9)
    Tensor([9, 9])
    """
    element = None if dtype is None else as_dtype(dtype)
    return apply(layout.constant_like, x, fill_value, dtype=element)


def zeros_like(x: Any, dtype: object = None) -> Any:
    """Zeros of the shape of x.

    >>> zeros_like([1, 2])
    Tensor([0, 0])
    """
    return full_like(x, 0, dtype=dtype)


def ones_like(x: Any, dtype: object = None) -> Any:
    """Ones of the shape of x.

    >>> ones_like([1, 2])
    Tensor([1, 1])
    """
    return full_like(x, 1, dtype=dtype)
