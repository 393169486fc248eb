"""A store with a job that is done, and its bits."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tenferro.farm import coordinator
from tests.farm.engines import PARTS, farm, value


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the job done."""
    store = tmp_path_factory.mktemp("sound")
    with farm(lambda: ThreadPoolExecutor(1), store, parts=PARTS) as executor:
        value(executor)
    return store


@pytest.fixture(scope="session")
def bits(sound: Path) -> bytes:
    return value(farm(lambda: ThreadPoolExecutor(1), sound, parts=PARTS))


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator, "POLL", 0.1)
