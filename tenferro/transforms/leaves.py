"""The arrays of a call: their buffers, and the types by which compiled versions are found."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tenferro.arrays import is_number
from tenferro.errors import TenferroError
from tenferro.traced import TracedTensor, TreeDef, unflatten
from tenferro.transforms.call import CallArguments
from tenferro.values import Buffer, Executor, Tensor, is_array, place, refuse_masked

_INT64 = np.iinfo(np.int64)
_NUMBERS = (float, int, bool, complex)


Ready = tuple[list[Buffer], list[Hashable], bool]
"""Arguments that an executable takes as they are: device arrays and NumPy arrays, the key of a
compiled version (see `leaf_types`), and whether some of the arrays are to be uploaded."""


def ready(leaves: Sequence[Any], owner: Executor | None) -> Ready | None:
    """The leaves for an executor that owns tensors of `owner`; None if one needs more work.

    Ready are tensors of the executor and of the host, arrays of the executor, native NumPy arrays,
    and numbers.
    """
    buffers: list[Buffer] = []
    types: list[Hashable] = []
    on_host = False
    for leaf in leaves:
        kind: Any = type(leaf)
        buffer = leaf
        if kind is Tensor:
            buffer = leaf._buffer
            if leaf.executor is None:
                on_host |= owner is not None
            elif leaf.executor is not owner and (owner is None or not owner.owns(buffer)):
                return None
        elif kind is np.ndarray:
            if not leaf.dtype.isnative:
                return None
            on_host = True
        elif kind in _NUMBERS:
            if kind is int and not _INT64.min <= leaf <= _INT64.max:
                return None
            buffers.append(np.array(leaf))
            types += (kind, None)
            on_host = True
            continue
        elif owner is None or not owner.owns(leaf):
            return None
        buffers.append(buffer)
        types += (buffer.shape, buffer.dtype)
    return buffers, types, on_host


def are_leaves(args: Sequence[Any], leaves: Sequence[Any]) -> bool:
    """Whether the arguments are the leaves, that is, none of them is a tree."""
    return len(args) == len(leaves) and all(map(operator.is_, args, leaves))


def with_arrays(
    call: CallArguments, leaves: list[Any], treedef: TreeDef
) -> tuple[CallArguments, list[Any]]:
    """The call and its leaves, with tensors for array-like data such as ranges and memoryviews.

    Arrays, numbers, and what is none of these are as they were.

    Raises:
        DTypeError: elements of an array are masked.
    """
    arrays = [leaf if is_number(leaf) else _as_array(leaf) for leaf in leaves]
    if all(map(operator.is_, arrays, leaves)):
        return call, leaves
    args, kwargs = unflatten(treedef, arrays)
    return replace(call, args=args, kwargs=kwargs), arrays


def _as_array(leaf: Any) -> Any:
    refuse_masked(leaf)
    if is_array(leaf):
        return leaf
    try:
        return Tensor(leaf)
    except (TenferroError, TypeError):
        return leaf


def leaf_types(leaves: Sequence[Any]) -> list[Hashable] | None:
    """The key of a compiled version: shape and dtype of each leaf, or the class of a number.

    None if a leaf is traced.
    """
    types: list[Hashable] = []
    for leaf in leaves:
        kind: Any = type(leaf)
        if kind is TracedTensor:
            return None
        array = leaf._buffer if kind is Tensor else leaf
        if hasattr(array, "shape") and hasattr(array, "dtype"):
            types += (array.shape, array.dtype)
        else:
            fits = not isinstance(leaf, int) or _INT64.min <= leaf <= _INT64.max
            types += (kind, None if fits else "larger")
    return types


def buffer_of(leaf: Any, executor: Executor) -> Buffer:
    """The leaf's buffer on the executor, or a host array that it uploads."""
    if type(leaf) is Tensor:
        return leaf._buffer if leaf.executor is None else place("jit", leaf, executor)
    if isinstance(leaf, np.ndarray):
        array = np.asarray(leaf)  # without what a subclass does in another way
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    return leaf if executor.owns(leaf) else buffer_of(Tensor(leaf), executor)
