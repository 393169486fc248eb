"""Parameters are NumPy's and JAX's, or differ for a reason that a page gives."""

from __future__ import annotations

import jax
import pytest

from tests.numpy.signatures import EVERYWHERE, HERE, PAGE, VERSION, differences, page

pytestmark = pytest.mark.skipif(jax.__version__ != VERSION, reason="newer versions have more")


def test_a_parameter_is_that_of_numpy_and_jax_or_differs_for_a_reason() -> None:
    assert [each for each in differences() if not each.reason] == []


def test_each_reason_is_of_a_parameter_that_differs() -> None:
    found = [*differences()]
    used = {(each.module, f"{each.function}.{each.parameter}") for each in found}
    assert {(module, key) for module, keys in HERE.items() for key in keys} - used == set()
    assert set(EVERYWHERE) - {each.parameter for each in found} == set()


def test_the_page_lists_what_differs() -> None:
    assert PAGE.read_text("utf-8") == page(), "run python -m tests.numpy.signatures"
