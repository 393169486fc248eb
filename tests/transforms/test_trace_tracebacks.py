"""Tracebacks show the lines of the user."""

import dataclasses
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.config import config
from tenferro.core import user_frames
from tenferro.errors import ShapeError

X = np.ones((3, 4))
OWN = Path(tn.__file__).parent


def mistaken(x: Any) -> Any:
    return tn.sum(tn.sin(x) @ np.ones((5, 2)))


def frames(call: Callable[[Any], Any], kind: type[Exception] = ShapeError) -> list[str]:
    with pytest.raises(kind) as raised:
        call(X)
    return [frame.filename for frame in traceback.extract_tb(raised.value.__traceback__)]


def is_own(path: str) -> bool:
    return Path(path).is_relative_to(OWN)


@pytest.mark.parametrize(
    "call",
    [tn.jit(mistaken), tn.jit(lambda x: tn.grad(mistaken)(x)), tn.jit(tn.vmap(mistaken))],
)
def test_the_traceback_of_a_call_ends_in_the_line_of_the_user(call: Any) -> None:
    found = frames(call)
    assert found[-1] == __file__
    assert sum(map(is_own, found)) <= 2  # the call itself


def test_what_is_below_the_line_of_the_user_is_left_out_of_every_transform() -> None:
    for call in (tn.grad(mistaken), tn.vmap(mistaken)):
        assert frames(call)[-1] == __file__


def test_an_exception_of_the_user_keeps_its_lines() -> None:
    def fails(x: Any) -> Any:
        raise KeyError("of the user")

    assert frames(tn.jit(fails), KeyError)[-1] == __file__


def test_a_setting_shows_all_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    full = dataclasses.replace(config, full_tracebacks=True)
    monkeypatch.setattr(user_frames, "config", full)
    assert sum(map(is_own, frames(tn.jit(mistaken)))) > 8


def test_lines_of_a_package_whose_name_begins_alike_are_those_of_the_user() -> None:
    path = str(Path(tn.__file__).parents[1] / "tenferro_ext_other" / "ops.py")
    names: dict[str, Any] = {"tn": tn}
    exec(compile("def f(x):\n    return x @ tn.ones((7, 7))\n", path, "exec"), names)
    with pytest.raises(tn.TenferroError) as caught:
        tn.jit(names["f"], executor="numpy")(np.ones((2, 3)))
    assert path in {entry.frame.code.raw.co_filename for entry in caught.traceback}
