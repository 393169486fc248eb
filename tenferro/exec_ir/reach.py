"""Which elements of an operand the elements of a result depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tenferro.exec_ir.payloads import Array

Known = Callable[[int], Array | None]
"""The number of an operand to its value, or to None if that is not known yet."""


class Reach(NamedTuple):
    """The elements of an operand are in groups; each element of the result depends on one group.

    Elements are numbered in C order.

    Attributes:
        groups: for each element of the operand the number of its group, -1 if nothing depends on
            it; None if each is a group of its own.
        read: for each element of the result the number of the group that it depends on, -1 if on
            none; None if that is its own number.
    """

    groups: Array | None = None
    read: Array | None = None


def numbered(shape: Sequence[int], axes: Iterable[int]) -> Array:
    """For each element of an array of this shape, the number of its coordinates along `axes`.

    >>> numbered((2, 3), (1,))
    array([0, 1, 2, 0, 1, 2])
    """
    numbers = np.zeros((1,) * len(shape), np.int64)
    for axis in axes:
        place = np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
        numbers = numbers * shape[axis] + place
    return np.broadcast_to(numbers, shape).reshape(-1)
