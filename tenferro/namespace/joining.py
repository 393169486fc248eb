"""Functions that join a list of arrays."""

from __future__ import annotations

from collections.abc import Iterable

from tenferro.errors import DTypeError
from tenferro.ir import AnyTensor, ArrayLike
from tenferro.ops.functions import apply, manipulation

__all__ = ["column_stack", "concat", "dstack", "hstack", "stack", "vstack"]


def several(name: str, arrays: Iterable[ArrayLike]) -> Iterable[ArrayLike]:
    """The arrays to join: a list, or one array, whose parts along the first axis are joined.

    Raises:
        DTypeError: `arrays` is neither of the two; `name` is the calling function.
    """
    listed = isinstance(arrays, Iterable) and not isinstance(arrays, str | bytes | dict)
    if listed and getattr(arrays, "ndim", 1) != 0:
        return arrays
    kind = type(arrays).__name__ if not listed else "an array without axes"
    raise DTypeError(f"{name}: takes a list of arrays, got {kind}")


def concat(arrays: Iterable[ArrayLike], axis: int | None = 0) -> AnyTensor:
    """The arrays one after another along `axis`; flattened first if None.

    >>> tn.concat([[1, 2], [3]])
    Tensor([1, 2, 3])
    """
    return apply(manipulation.concat, *several("concat", arrays), axis=axis)


def stack(arrays: Iterable[ArrayLike], axis: int = 0) -> AnyTensor:
    """The arrays one after another along a new axis.

    >>> tn.stack([[1, 2], [3, 4]], axis=1)
    Tensor([[1, 3],
            [2, 4]])
    """
    return apply(manipulation.stack, *several("stack", arrays), axis=axis)


def hstack(arrays: Iterable[ArrayLike]) -> AnyTensor:
    """The arrays one after another along the second axis; vectors along the first.

    >>> tn.hstack([[1, 2], [3]])
    Tensor([1, 2, 3])
    """
    return apply(manipulation.hstack, *several("hstack", arrays))


def vstack(arrays: Iterable[ArrayLike]) -> AnyTensor:
    """The arrays one below another; vectors are rows.

    >>> tn.vstack([[1, 2], [3, 4]])
    Tensor([[1, 2],
            [3, 4]])
    """
    return apply(manipulation.vstack, *several("vstack", arrays))


def dstack(arrays: Iterable[ArrayLike]) -> AnyTensor:
    """The arrays one behind another along the third axis.

    >>> tn.dstack([[1, 2], [3, 4]])
    Tensor([[[1, 3],
             [2, 4]]])
    """
    return apply(manipulation.dstack, *several("dstack", arrays))


def column_stack(arrays: Iterable[ArrayLike]) -> AnyTensor:
    """The arrays side by side; vectors become columns.

    >>> tn.column_stack([[1, 2], [3, 4]])
    Tensor([[1, 3],
            [2, 4]])
    """
    return apply(manipulation.column_stack, *several("column_stack", arrays))
