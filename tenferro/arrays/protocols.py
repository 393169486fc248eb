"""What the array API standard and Python ask of arrays, beside operators and methods."""

from __future__ import annotations

import sys
from abc import abstractmethod
from types import ModuleType
from typing import Self

from tenferro.errors import ConfigError
from tenferro.shape import Dim, TensorMeta
from tenferro.typing import ArrayLike

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""The versions of the array API standard whose names `tenferro` has; the last one is followed."""


class ArrayProtocols:
    """Attributes and functions of Python for every kind of tensor, from its operators."""

    __slots__ = ()

    @property
    @abstractmethod
    def meta(self) -> TensorMeta:
        """Dtype and extents."""

    @abstractmethod
    def round(self, decimals: int = 0, out: None = None) -> Self:
        """The elements rounded to `decimals` decimals."""

    @abstractmethod
    def __floordiv__(self, other: ArrayLike) -> Self: ...

    @abstractmethod
    def __rfloordiv__(self, other: ArrayLike) -> Self: ...

    @abstractmethod
    def __mod__(self, other: ArrayLike) -> Self: ...

    @abstractmethod
    def __rmod__(self, other: ArrayLike) -> Self: ...

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """The module `tenferro`, for libraries that compute with arrays of any library.

        Raises:
            ConfigError: there is no such version of the standard here.
        """
        if api_version is not None and api_version not in VERSIONS:
            raise ConfigError(
                f"__array_namespace__: version {api_version!r} of the array API is not here; use "
                f"one of {', '.join(VERSIONS)}"
            )
        return sys.modules["tenferro"]

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.meta.dtype.itemsize

    @property
    def nbytes(self) -> Dim:
        """Bytes of all elements."""
        total: Dim = self.itemsize
        for extent in self.meta.exact_shape("nbytes", "shape"):
            total = total * extent
        return total

    def copy(self) -> Self:
        """The array itself: it cannot be changed."""
        return self

    def block_until_ready(self) -> Self:
        """The array, once it is computed."""
        return self

    def __round__(self, ndigits: int | None = None) -> Self:
        return self.round(0 if ndigits is None else ndigits)

    def __divmod__(self, other: ArrayLike) -> tuple[Self, Self]:
        return self // other, self % other

    def __rdivmod__(self, other: ArrayLike) -> tuple[Self, Self]:
        return self.__rfloordiv__(other), self.__rmod__(other)
