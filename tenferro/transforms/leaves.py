"""What a compiled function does with the leaves of its arguments."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from tenferro.traced import TracedTensor
from tenferro.values import Buffer, Executor, Tensor, place


def are_leaves(args: Sequence[Any], leaves: Sequence[Any]) -> bool:
    """Whether the arguments are the leaves, that is, none of them is a tree."""
    return len(args) == len(leaves) and all(map(operator.is_, args, leaves))


def leaf_types(leaves: Sequence[Any]) -> list[Hashable] | None:
    """The key of a compiled version: shape and dtype of each leaf, or the kind of number.

    None if a leaf is traced.
    """
    types: list[Hashable] = []
    for leaf in leaves:
        kind = type(leaf)
        if kind is TracedTensor:
            return None
        array = leaf.data if kind is Tensor else leaf
        if hasattr(array, "shape") and hasattr(array, "dtype"):
            types += (array.shape, array.dtype)
        else:
            types += (kind.__qualname__, None)
    return types


def buffer_of(leaf: Any, executor: Executor) -> Buffer:
    """The leaf's buffer on the executor, or a host array that it uploads."""
    if type(leaf) is Tensor:
        return leaf.data if leaf.executor is None else place("jit", leaf, executor)
    if isinstance(leaf, np.ndarray):
        return leaf if leaf.dtype.isnative else leaf.astype(leaf.dtype.newbyteorder("="))
    return leaf if executor.owns(leaf) else buffer_of(Tensor(leaf), executor)
