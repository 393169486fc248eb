"""Fixtures of tests of executables."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tenferro_xla.compiled import buffer_pool


@pytest.fixture
def places_at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Programs take places as soon as there are some."""
    monkeypatch.setattr(buffer_pool, "SECONDS_PER_BYTE", 1.0)
    yield
    gc.collect()
