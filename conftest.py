"""Docstrings show array functions as users call them: `tn` is tenferro."""

from typing import Any

import numpy
import pytest

import tenferro


@pytest.fixture(autouse=True)
def tenferro_as_tn(doctest_namespace: dict[str, Any]) -> None:
    """The names that doctests use for tenferro and NumPy."""
    doctest_namespace["tn"], doctest_namespace["np"] = tenferro, numpy
