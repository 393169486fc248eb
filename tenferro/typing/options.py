"""The types of dtypes, shapes and axes, and of objects that other libraries' arrays are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from tenferro.shape import DimExpr, DType

Number: TypeAlias = bool | int | float | complex
"""A Python number. Its dtype is weak: beside an array, the dtype of the array wins."""

Axis: TypeAlias = int | Sequence[int] | None
"""One axis or several, negative ones counted from the end; each function defines None."""

Size: TypeAlias = int | str | DimExpr
"""The size of an axis: a number, or in a traced program text such as `"n"` or `"2*n + 1"`."""

Shape: TypeAlias = Size | Sequence[Size]
"""The size of each axis, or the size of a single axis."""


class SupportsDType(Protocol):
    """An object that stands for its `dtype`, such as `tn.float32` or `jax.numpy.float32`."""

    @property
    def dtype(self) -> DType:
        """Element type."""


DTypeLike: TypeAlias = DType | type[bool | int | float | complex | np.generic] | str | SupportsDType
"""An element type such as `tn.float32`, `np.float32` or `float`, or its name, such as `"f32"`."""

Integers: TypeAlias = int | Sequence[int] | np.integer | np.ndarray[Any, np.dtype[np.integer]]
"""One integer or several."""

Order: TypeAlias = Literal["C", "F"]
"""Order of elements: the last axis varies fastest (`"C"`) or the first (`"F"`)."""


class SupportsArray(Protocol):
    """An object that NumPy converts to an array, such as an array of another library.

    `tn.asarray` takes all of these; other functions take arrays of NumPy and JAX.
    """

    def __array__(self) -> np.ndarray[Any, Any]: ...


class SupportsDLPack(Protocol):
    """An object that exports its elements by the DLPack protocol."""

    def __dlpack__(self) -> object: ...
