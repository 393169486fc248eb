"""`tenferro doctor`: as tables and as JSON; CUDA that cannot work is an error."""

from __future__ import annotations

import ctypes
import json
import re
from types import SimpleNamespace
from typing import Any

import pytest

from tenferro.cli import doctor, main
from tenferro.cli.doctor import Cuda, driver_version


def test_all_of_it_is_written_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["well"] is True
    assert {each["name"] for each in facts["executors"]} >= {"numpy", "xla"}
    (device,) = [each for each in facts["devices"] if each["name"] == "cpu:0"]
    assert device["memory"]["free"] > 0
    assert set(device["options"]) == {"taken", "dropped"}
    assert "highest" in device["precision"]
    assert facts["cuda"]["problem"] is None
    assert "value" in facts["configuration"]["TENFERRO_EXECUTOR"]


def test_both_extras_at_once_are_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "version", lambda name: "0.10")
    assert main(["doctor"]) == 1
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "cuda12 and cuda13 are both installed" in text
    assert "something is wrong" in text


@pytest.mark.parametrize(
    ("driver", "extras", "problem", "advice"),
    [
        (None, (), None, None),
        ((12, 4), ("cuda12",), None, None),
        ((13, 0), ("cuda12",), None, None),
        ((12, 4), ("cuda13",), r"takes CUDA 12\.4 at most; update the driver, or install", None),
        ((13, 0), (), None, r"install tenferro\[cuda13\]"),
        ((12, 8), (), None, r"install tenferro\[cuda12\]"),
        ((11, 8), (), None, None),
        (None, ("cuda13",), None, "cuda13 is installed, but there is no driver of NVIDIA"),
        ((13, 0), ("cuda12", "cuda13"), "pip uninstall jax-cuda12-plugin jax-cuda12-pjrt", None),
    ],
)
def test_driver_and_extras_are_compared(
    driver: Any, extras: tuple[str, ...], problem: str | None, advice: str | None
) -> None:
    found = Cuda(driver, extras)
    for said, expected in ((found.problem, problem), (found.advice, advice)):
        assert (said is None) == (expected is None)
        assert said is None or re.search(str(expected), said)


@pytest.mark.parametrize(("number", "read"), [(12040, (12, 4)), (13010, (13, 1)), (0, None)])
def test_the_driver_says_which_cuda_it_takes(
    number: int, read: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(place: Any) -> int:
        place._obj.value = number
        return 0

    library = SimpleNamespace(cuDriverGetVersion=ask)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    assert driver_version() == read
