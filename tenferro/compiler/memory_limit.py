"""A limit on memory, as users write it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from tenferro.errors import ConfigError

_UNITS = {
    "": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}  # fmt: skip
OF_DEVICE = "device"
"""What users write for as much as the device has free."""
_BOUNDLESS = 1 << 62
_WRITTEN = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)\s*([a-zA-Z]*)\s*")


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """The most bytes that a program may need in addition to its arguments, as predicted.

    Attributes:
        bytes: the number of bytes.
        caller: what the user gave it to; errors name it.
        of_device: whether it is also what the device has free when the program is compiled.
    """

    bytes: int
    caller: str = field(default="jit", compare=False)
    of_device: bool = False

    @classmethod
    def read(cls, caller: str, value: object) -> MemoryLimit | None:
        """The limit that a user passes: a number of bytes, a text such as `"1.5 GB"`, or
        `"device"`.

        Raises:
            ConfigError: it is none of these, or not positive.

        >>> MemoryLimit.read("grad", "24 MB")
        MemoryLimit(bytes=24000000, caller='grad', of_device=False)
        """
        if value is None or isinstance(value, MemoryLimit):
            return value
        if isinstance(value, str) and value.strip().lower() == OF_DEVICE:
            return cls(_BOUNDLESS, caller, of_device=True)
        count = _bytes(value)
        if count is None:
            raise ConfigError(
                f"{caller}: memory_limit must be a number of bytes, a text such as '1.5 GB', or "
                f"'device', got {value!r}"
            )
        if not count >= 1:
            raise ConfigError(f"{caller}: memory_limit must be at least 1 byte, got {value!r}")
        return cls(int(count), caller)

    def known(self, free_bytes: Callable[[], int]) -> MemoryLimit:
        """The limit as a number of bytes, on a device that has `free_bytes()`.

        >>> MemoryLimit.read("jit", "device").known(lambda: 512).bytes
        512
        """
        if not self.of_device:
            return self
        return replace(self, bytes=min(self.bytes, free_bytes()), of_device=False)


def _bytes(value: object) -> float | None:
    """The number of bytes; None for what is no number."""
    if isinstance(value, str):
        found = _WRITTEN.fullmatch(value)
        factor = None if found is None else _UNITS.get(found[2].lower())
        return None if found is None or factor is None else float(found[1]) * factor
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return None
    number = float(value) if np.isreal(value) else math.nan
    return None if math.isnan(number) or math.isinf(number) else number


def tighter(limits: Iterable[MemoryLimit | None]) -> MemoryLimit | None:
    """The smallest of several limits; None if there is none.

    >>> tighter([MemoryLimit(5), None, MemoryLimit(3)])
    MemoryLimit(bytes=3, caller='jit', of_device=False)
    """
    given = [limit for limit in limits if limit is not None]
    if not given:
        return None
    smallest = min(given, key=lambda limit: limit.bytes)
    return replace(smallest, of_device=any(limit.of_device for limit in given))


def in_words(count: float) -> str:
    """A number of bytes, as users read it.

    >>> in_words(31_200_000), in_words(999), in_words(1_500)
    ('31.2 MB', '999 bytes', '1.5 kB')
    """
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{int(count)} bytes"
