"""The bounded cache: least recently used goes first, by entries and by bytes."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tenferro.core import BoundedCache, CacheOwner, CacheStats, Capacity
from tenferro.errors import ConfigError


def by_length(entries: int, size: int | None = None) -> BoundedCache[str, str]:
    return BoundedCache(Capacity(entries, size), measure=len)


def test_hits_and_misses_are_counted() -> None:
    cache = by_length(4)
    assert cache.get("a") is None
    assert cache.put("a", "one") == "one"
    assert cache.get("a") == "one"
    assert cache.stats() == CacheStats(entries=1, hits=1, misses=1, evictions=0, size=3)


def test_the_first_value_stored_wins() -> None:
    cache = by_length(4)
    cache.put("a", "one")
    assert cache.put("a", "two") == "one"
    assert cache.get("a") == "one"
    assert cache.stats().size == 3


def test_a_value_is_made_only_when_there_is_none() -> None:
    cache = by_length(4)
    made: list[str] = []

    def make() -> str:
        made.append("one")
        return made[-1]

    assert [cache.get_or_make("a", make) for _ in range(3)] == ["one"] * 3
    assert made == ["one"]


def test_the_least_recently_used_entry_goes_first() -> None:
    cache = by_length(2)
    cache.put("a", "1")
    cache.put("b", "2")
    cache.get("a")
    cache.put("c", "3")
    assert [cache.get(key) for key in "abc"] == ["1", None, "3"]
    assert cache.stats().evictions == 1


def test_bytes_are_bounded_as_well_as_entries() -> None:
    cache = by_length(10, size=5)
    cache.put("a", "xxx")
    cache.put("b", "xx")
    assert cache.stats().size == 5
    cache.put("c", "x")
    assert (cache.stats().entries, cache.stats().size) == (2, 3)
    assert cache.get("a") is None


def test_what_is_larger_than_the_cache_is_returned_and_not_kept() -> None:
    cache = by_length(10, size=5)
    assert cache.put("a", "xxxxxx") == "xxxxxx"
    assert cache.stats() == CacheStats(entries=0, hits=0, misses=0, evictions=0, size=0)


def test_what_is_larger_than_the_cache_leaves_the_others_in_place() -> None:
    cache = by_length(10, size=5)
    cache.put("a", "xx")
    cache.put("b", "xxxxxx")
    assert (cache.get("a"), cache.get("b")) == ("xx", None)


def test_a_cache_of_no_entries_keeps_nothing() -> None:
    cache = by_length(0)
    assert cache.get_or_make("a", lambda: "1") == "1"
    assert cache.stats().entries == 0


def test_a_smaller_capacity_evicts_at_once() -> None:
    cache = by_length(4)
    for key in "abcd":
        cache.put(key, key)
    cache.capacity = Capacity(entries=1)
    assert cache.capacity == Capacity(entries=1, size=None)
    assert [cache.get(key) for key in "abcd"] == [None, None, None, "d"]


def test_clear_drops_entries_and_keeps_the_counts() -> None:
    cache = by_length(4)
    cache.put("a", "1")
    cache.get("a")
    cache.clear()
    assert cache.stats() == CacheStats(entries=0, hits=1, misses=0, evictions=0, size=0)
    assert cache.get("a") is None


def test_without_a_measure_entries_have_no_size() -> None:
    cache: BoundedCache[str, str] = BoundedCache(Capacity(entries=2, size=0))
    cache.put("a", "1")
    assert cache.get("a") == "1"


def test_threads_that_make_one_entry_get_one_value() -> None:
    cache: BoundedCache[str, object] = BoundedCache(Capacity(entries=4))
    threads = 8
    together = threading.Barrier(threads)

    def make() -> object:
        together.wait()  # so all of them are making it at once
        return object()

    with ThreadPoolExecutor(threads) as pool:
        values = list(pool.map(lambda _: cache.get_or_make("a", make), range(threads)))
    assert len(set(values)) == 1
    assert cache.stats().entries == 1


class Named(CacheOwner):
    """An object that shows its cache to users."""

    def __init__(self) -> None:
        self._cache = by_length(2)


def test_the_owner_of_a_cache_shows_and_bounds_it() -> None:
    owner = Named()
    owner._cache.put("a", "one")
    owner._cache.put("b", "two")
    assert (owner.stats().entries, owner.capacity) == (2, Capacity(2))
    owner.capacity = Capacity(1)
    assert (owner.stats().entries, owner.stats().evictions) == (1, 1)
    owner.clear()
    assert owner.stats().entries == 0


@pytest.mark.parametrize("entries", [-1, 1.5, True, None, "many"])
def test_a_bound_is_a_number_of_at_least_zero(entries: Any) -> None:
    with pytest.raises(ConfigError, match=r"^capacity: must be a number of at least 0, got "):
        Capacity(entries)
    if entries is not None:  # bytes need not be bounded
        with pytest.raises(ConfigError, match=r"^size: must be a number of at least 0, got "):
            Capacity(1, entries)


def test_a_capacity_is_assigned_as_one() -> None:
    message = r"^capacity: must be a Capacity, got 5; write Capacity\(entries=100\)$"
    with pytest.raises(ConfigError, match=message):
        Named().capacity = 5  # type: ignore[assignment]
