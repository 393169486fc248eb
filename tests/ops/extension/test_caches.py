"""Caches of extension families."""

from __future__ import annotations

import threading

import numpy as np

from tenferro.core import Capacity
from tenferro.extension import ExtensionCaches


def test_families_do_not_see_one_another() -> None:
    caches = ExtensionCaches()
    assert caches.of("a.b.v1").get_or_make("key", lambda: 1) == 1
    assert caches.of("a.c.v1").get_or_make("key", lambda: 2) == 2
    assert caches.of("a.b.v1").get_or_make("key", lambda: 3) == 1
    assert (caches.stats().entries, caches.stats().hits) == (2, 1)


def test_they_are_bounded_by_the_bytes_of_what_has_any() -> None:
    caches = ExtensionCaches(Capacity(100, 1000))
    for i in range(10):
        caches.of("a.b.v1").get_or_make(i, lambda: np.zeros(50))
    assert caches.stats().size == 800
    assert caches.stats().entries == 2
    caches.capacity = Capacity(1)
    assert caches.stats().entries == 1
    assert caches.capacity == Capacity(1)


def test_what_is_too_large_is_made_and_not_kept() -> None:
    caches = ExtensionCaches(Capacity(100, 10))
    assert caches.of("a.b.v1").get_or_make(0, lambda: np.ones(50)).sum() == 50
    assert caches.stats().entries == 0


def test_threads_share_them() -> None:
    caches = ExtensionCaches()
    found: list[object] = []

    def work() -> None:
        found.extend(caches.of("a.b.v1").get_or_make(i % 7, lambda i=i: [i % 7]) for i in range(70))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 560
    assert caches.stats().entries == 7
