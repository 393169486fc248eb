"""Methods of arrays that are public functions of the same name, with the array as first operand."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from tenferro.ir import ArrayLike, Axis, DTypeLike, as_dtype

__all__ = ["NamedMethods"]


def _public(name: str) -> Callable[..., Any]:
    """A function of `tn`, which is above this package."""
    function: Callable[..., Any] = getattr(sys.modules["tenferro"], name)
    return function


class NamedMethods:
    """The methods; their options are those of the functions."""

    __slots__ = ()

    def repeat(
        self,
        repeats: Any,
        axis: int | None = None,
        *,
        total_repeat_length: int | None = None,
    ) -> Any:
        """Each element along `axis` repeated; see `tn.repeat`."""
        return _public("repeat")(self, repeats, axis, total_repeat_length=total_repeat_length)

    def take(self, indices: ArrayLike, axis: int | None = None, **options: Any) -> Any:
        """The elements at `indices` along `axis`; see `tn.take`."""
        return _public("take")(self, indices, axis, **options)

    def conjugate(self) -> Any:
        """The complex conjugate; see `tn.conj`."""
        return _public("conj")(self)

    def nonzero(self, *, size: int | None = None, fill_value: Any = None) -> Any:
        """The places of the elements that are not zero; see `tn.nonzero`."""
        return _public("nonzero")(self, size=size, fill_value=fill_value)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        """A diagonal of two axes; see `tn.diagonal`."""
        return _public("diagonal")(self, offset, axis1, axis2)

    def searchsorted(
        self, v: ArrayLike, side: str = "left", sorter: Any = None, *, method: str = "scan"
    ) -> Any:
        """The places where elements are to be inserted; see `tn.searchsorted`."""
        return _public("searchsorted")(self, v, side, sorter, method=method)

    def compress(self, condition: ArrayLike, axis: int | None = None) -> Any:
        """The entries along `axis` where a condition holds; see `tn.compress`."""
        return _public("compress")(condition, self, axis)

    def choose(self, choices: Any, mode: str = "raise") -> Any:
        """The elements of those arrays that the indices choose; see `tn.choose`."""
        return _public("choose")(self, choices, mode=mode)

    def argpartition(self, kth: int, axis: int = -1) -> Any:
        """The indices that partition the elements; see `tn.argpartition`."""
        return _public("argpartition")(self, kth, axis)

    def ptp(self, axis: Axis = None, keepdims: bool = False) -> Any:
        """The largest element minus the smallest; see `tn.ptp`."""
        return _public("ptp")(self, axis, keepdims=keepdims)

    def view(self, dtype: DTypeLike | None = None) -> Any:
        """The bits of the elements read as another dtype; the last axis takes up other sizes."""
        array: Any = self
        if dtype is None:
            return array
        goal = as_dtype(dtype)
        ratio = array.dtype.itemsize / goal.itemsize
        lax: Any = _public("lax")
        read = lax.bitcast_convert_type
        if ratio < 1:
            parts = goal.itemsize // array.dtype.itemsize
            return read(array.reshape(*array.shape[:-1], -1, parts), goal)
        bits = read(array, goal)
        return bits if ratio == 1 else bits.reshape(*array.shape[:-1], -1)
