"""A bounded cache with statistics."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tenferro.errors import ConfigError

__all__ = ["BoundedCache", "CacheOwner", "CacheStats", "Capacity"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class CacheStats:
    """What a cache holds and how it was used; `size` is in bytes, by the cache's own measure."""

    entries: int
    hits: int
    misses: int
    evictions: int
    size: int


@dataclass(frozen=True, slots=True)
class Capacity:
    """The bounds of a cache: entries, and bytes (None: not bounded)."""

    entries: int
    size: int | None = None

    def __post_init__(self) -> None:
        for field, bound in (("capacity", self.entries), ("size", self.size)):
            if bound is None and field == "size":
                continue
            if isinstance(bound, bool) or not isinstance(bound, int) or bound < 0:
                raise ConfigError(f"{field}: must be a number of at least 0, got {bound!r}")

    def holds(self, entries: int, size: int) -> bool:
        """Whether so many entries of so many bytes are within the bounds."""
        return entries <= self.entries and (self.size is None or size <= self.size)


class BoundedCache(Generic[K, V]):
    """A least-recently-used cache, bounded by entries and by bytes; safe to share between threads.

    `measure` returns the bytes of an entry. The owner of a cache gives users access to `stats`,
    `clear` and `capacity`.

    Attributes:
        peek: the entry of a key, or None, found without a lock. It does not count as a use.
        hits: how often an entry was used again; an owner that peeks counts itself.

    >>> cache = BoundedCache(capacity=Capacity(entries=1))
    >>> cache.get_or_make("a", lambda: 1), cache.get_or_make("b", lambda: 2), cache.get("a")
    (1, 2, None)
    >>> cache.stats()
    CacheStats(entries=1, hits=0, misses=3, evictions=1, size=0)
    """

    def __init__(self, capacity: Capacity, measure: Callable[[V], int] | None = None) -> None:
        self._capacity = _checked(capacity)
        self._measure = measure
        self._lock = threading.RLock()
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._sizes: dict[K, int] = {}
        self._size = 0
        self.peek = self._entries.get
        self.hits = 0
        self._misses = 0
        self._evictions = 0

    @property
    def capacity(self) -> Capacity:
        """The bounds; assigning smaller ones evicts at once."""
        return self._capacity

    @capacity.setter
    def capacity(self, capacity: Capacity) -> None:
        with self._lock:
            self._capacity = _checked(capacity)
            self._evict()

    def get(self, key: K) -> V | None:
        """The entry of `key`, or None. Counts as a hit or a miss."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                self._misses += 1
                return None
            self.hits += 1
            self._entries.move_to_end(key)
            return entry

    def put(self, key: K, value: V) -> V:
        """Store an entry and return it; the first one stored wins.

        A value that would not fit into the empty cache is returned and not stored.
        """
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                return entry
            size = 0 if self._measure is None else self._measure(value)
            if self._capacity.holds(1, size):
                self._entries[key] = value
                self._sizes[key] = size
                self._size += size
                self._evict()
            return value

    def get_or_make(self, key: K, make: Callable[[], V]) -> V:
        """The entry of `key`; if there is none, `make` makes it, outside the lock."""
        value = self.get(key)
        return value if value is not None else self.put(key, make())

    def clear(self) -> None:
        """Drop all entries. The counts of hits, misses and evictions stay."""
        with self._lock:
            self._entries.clear()
            self._sizes.clear()
            self._size = 0

    def stats(self) -> CacheStats:
        """Entries, hits, misses, evictions and bytes."""
        with self._lock:
            return CacheStats(
                len(self._entries), self.hits, self._misses, self._evictions, self._size
            )

    def _evict(self) -> None:
        while self._entries and not self._capacity.holds(len(self._entries), self._size):
            key, _ = self._entries.popitem(last=False)
            self._size -= self._sizes.pop(key)
            self._evictions += 1


class CacheOwner:
    """What an object with a cache shows users of it; the object has the cache as `_cache`."""

    _cache: BoundedCache[Any, Any]

    def stats(self) -> CacheStats:
        """The number of cached entries, and how often one was used again."""
        return self._cache.stats()

    def clear(self) -> None:
        """Remove the cached entries."""
        self._cache.clear()

    @property
    def capacity(self) -> Capacity:
        """The bounds of the cache. Assigning smaller ones evicts entries immediately."""
        return self._cache.capacity

    @capacity.setter
    def capacity(self, capacity: Capacity) -> None:
        self._cache.capacity = capacity


def _checked(capacity: object) -> Capacity:
    if not isinstance(capacity, Capacity):
        raise ConfigError(
            f"capacity: must be a Capacity, got {capacity!r}; write Capacity(entries=100)"
        )
    return capacity
