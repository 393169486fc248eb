"""Lines of the user's program in texts and tracebacks, and the function that the user called."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tenferro import core
from tenferro.config import config
from tenferro.core import user_frames
from tenferro.core.user_frames import (
    called_function,
    filtered,
    raising_site,
    user_site,
)
from tenferro.errors import TenferroError

PACKAGE = Path(core.__file__).parents[1]


def of_package(code: str, **names: Any) -> dict[str, Any]:
    """The functions of a module of array functions with this code."""
    module = {"__name__": "tenferro.numpy.functions", "__all__": ["outer", "inner"], **names}
    exec(compile(code, str(PACKAGE / "numpy" / "functions.py"), "exec"), module)
    return module


def raised(call: Callable[[], Any]) -> Exception:
    with pytest.raises((TenferroError, IndexError)) as caught:
        call()
    return caught.value


CALLS = """
def outer(inside):
    return _between(inside)
def _between(inside):
    return inner(inside)
def inner(inside):
    return inside()
"""


def test_the_line_is_that_of_the_program_outside_of_the_package() -> None:
    outer = of_package(CALLS)["outer"]
    first, again = (outer(user_site) for _ in range(2))
    assert first == again
    assert first.startswith("test_user_frames.py:")
    assert eval(compile("user_site()", "<prompt>", "eval"), {"user_site": user_site}) is None


def test_an_error_has_the_line_where_the_program_raised_it() -> None:
    error = raised(lambda: of_package(CALLS)["outer"](lambda: [][1]))
    assert str(raising_site(error)).startswith("test_user_frames.py:")
    assert raising_site(ValueError()) is None


def test_the_function_that_was_called_is_the_outermost_one_of_the_package() -> None:
    names = of_package(CALLS + "ask = lambda: called('other')", called=called_function)
    assert names["outer"](names["ask"]) == "outer"
    assert names["inner"](names["ask"]) == "inner"
    assert called_function("other") == "other"


def test_tracebacks_lose_the_frames_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def frames(error: Exception) -> list[str]:
        return [frame.name for frame in traceback.extract_tb(filtered(error).__traceback__)]

    def typed() -> None:
        raise TenferroError("of the package")

    outer = of_package(CALLS + "def faulty():\n    return [][1]\n")
    assert frames(raised(lambda: outer["outer"](typed)))[-2:] == ["<lambda>", "typed"]
    assert frames(raised(lambda: outer["outer"](outer["faulty"])))[-2:] == ["inner", "faulty"]
    assert frames(TenferroError("not raised")) == []
    full = dataclasses.replace(config, full_tracebacks=True)
    monkeypatch.setattr(user_frames, "config", full)
    assert "inner" in frames(raised(lambda: outer["outer"](typed)))
