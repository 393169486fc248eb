"""Docstrings show array functions as users call them: `tn` is tenferro."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy
import pytest
from _pytest.doctest import DoctestModule

import tenferro


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path,
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """In a file without a prompt no docstring is searched: a search looks at every object of it."""
    collectors = yield
    if not collectors or ">>>" in file_path.read_text("utf-8"):
        return collectors
    return [each for each in collectors if not isinstance(each, DoctestModule)]


@pytest.fixture(autouse=True)
def tenferro_as_tn(doctest_namespace: dict[str, Any]) -> None:
    """The names that doctests use for tenferro and NumPy."""
    doctest_namespace["tn"], doctest_namespace["np"] = tenferro, numpy
