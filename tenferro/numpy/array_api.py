"""What the namespace says of itself, for libraries that compute with arrays of any library."""

from __future__ import annotations

from typing import Any

from tenferro.errors import DeviceError
from tenferro.numpy import dtypes as element_types
from tenferro.numpy.dtypes import ElementType, isdtype
from tenferro.runtime import device_names

__all__ = ["namespace_info"]


_NAMES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)


class NamespaceInfo:
    """Devices, dtypes and capabilities, as the Python array API standard defines them.

    >>> import tenferro as tn
    >>> info = tn.__array_namespace_info__()
    >>> info.default_device(), info.default_dtypes()["integral"]
    ('host', tenferro.int64)
    """

    __slots__ = ()

    def capabilities(self) -> dict[str, Any]:
        """Masks index, sizes may follow from data, and the largest number of axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """Where arrays are made: on the host."""
        return device_names()[0]

    def devices(self) -> tuple[str, ...]:
        """The host and the devices of the executors that are installed."""
        return device_names()

    def default_dtypes(self, *, device: str | None = None) -> dict[str, ElementType]:
        """The dtypes of new arrays by kind, on every device the same."""
        self._check(device)
        return {
            "real floating": element_types.float64,
            "complex floating": element_types.complex128,
            "integral": element_types.int64,
            "indexing": element_types.int64,
        }

    def dtypes(
        self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, ElementType]:
        """The dtypes of a kind, such as "integral", or of several, by name.

        Raises:
            DeviceError: there is no such device.
        """
        self._check(device)
        every = {name: getattr(element_types, name) for name in _NAMES}
        if kind is None:
            return every
        return {name: dtype for name, dtype in every.items() if isdtype(dtype, kind)}

    def _check(self, device: str | None) -> None:
        if device is not None and device not in device_names():
            raise DeviceError(
                f"device: there is no device {device!r}; there are "
                f"{', '.join(map(repr, device_names()))}"
            )


def namespace_info() -> NamespaceInfo:
    """Devices, dtypes and capabilities of this namespace.

    >>> import tenferro as tn
    >>> tn.__array_namespace_info__().capabilities()["boolean indexing"]
    True
    """
    return NamespaceInfo()
