"""Docstrings show array functions as users call them: `tn` is tenferro."""

from typing import Any

import pytest

import tenferro


@pytest.fixture(autouse=True)
def tenferro_as_tn(doctest_namespace: dict[str, Any]) -> None:
    """The name that doctests use for tenferro."""
    doctest_namespace["tn"] = tenferro
