"""Caches of extension families, owned by a compiler, an executor or an eager runtime."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from tenferro.computegraph import BoundedCache, CacheOwner, Capacity
from tenferro.config import config


class ExtensionCaches(CacheOwner):
    """One bounded store for objects that the families of one owner keep between runs.

    Examples are plans, handles and compiled inner programs. They affect speed only: removing an
    entry does not change a result.

    >>> caches = ExtensionCaches()
    >>> plans = caches.of("my-package.fft.v1")
    >>> plans.get_or_make((8, "float64"), lambda: "a plan")
    'a plan'
    >>> caches.stats().entries
    1
    """

    def __init__(self, capacity: Capacity | None = None) -> None:
        self._cache: BoundedCache[tuple[object, ...], Any] = BoundedCache(
            Capacity(config.cache_entries, config.cache_bytes) if capacity is None else capacity,
            measure=lambda value: int(getattr(value, "nbytes", 0)),
        )

    def of(self, family_id: str, op_class: type | None = None) -> ExtensionCache:
        """The part of the store that belongs to one family, or to one class of its ops."""
        return ExtensionCache(self._cache, (family_id, op_class))


class ExtensionCache:
    """One family's part of an `ExtensionCaches`."""

    def __init__(
        self, store: BoundedCache[tuple[object, ...], Any], owner: tuple[object, ...]
    ) -> None:
        self._store = store
        self._owner = owner

    def get_or_make(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The entry of `key`; made if there is none."""
        return self._store.get_or_make((self._owner, key), make)
