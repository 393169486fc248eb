"""`tenferro doctor`: as tables and as JSON; CUDA that cannot work is an error."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tenferro.cli import cuda, main
from tenferro.cli.cuda import Cuda, misfits

ROOT = Path(__file__).parents[2]


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


def test_a_setting_that_does_not_exist_is_listed_as_such(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENFERRO_DMUP", "passes")
    assert main(["doctor", "--json"]) == 1
    facts = json.loads(capsys.readouterr().out)
    assert facts["well"] is False
    assert facts["configuration"]["TENFERRO_DMUP"] == {
        "value": "…",
        "by": "environment; nothing reads it",
        "problem": "TENFERRO_DMUP: nothing reads it; do you mean TENFERRO_DUMP?",
    }


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize(
    "settings",
    [
        {
            ("CACHE_DIR", "here"): "'here' is not absolute, so that the working folder would",
            ("EXECUTOR", "nmpy"): "no executor is named 'nmpy'; installed: numpy, ",
            ("CACHEDIR", "/tmp"): "nothing reads it; do you mean TENFERRO_CACHE_DIR",
        },
        {("CACHE_DIR", "/dev/null/x"): "/dev/null/x cannot be used: File exists"},
    ],
)
def test_a_setting_that_cannot_be_used_is_a_problem(settings: dict[tuple[str, str], str]) -> None:
    environ = {**os.environ, **{f"TENFERRO_{name}": value for name, value in settings}}
    command = [sys.executable, "-m", "tenferro", "doctor"]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    problems = [
        rf"TENFERRO_{name}: {re.escape(problem)}" for (name, _), problem in settings.items()
    ]
    verdict = done.stdout.splitlines()[-1]
    assert re.match("something is wrong: " + ".*; ".join(problems), verdict), verdict
    assert done.stderr == ""


def test_both_extras_at_once_are_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda, "version", lambda name: "0.10")
    assert main(["doctor"]) == 1
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "cuda12 and cuda13 are both installed" in text
    assert "something is wrong: cuda12 and cuda13 are both installed" in text


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


GPU, CPU = ("gpu:0", "cpu:0"), ("cpu:0",)
UNUSED = r"there is a GPU, and cuda12 is installed, but JAX has only cpu:0"


@pytest.mark.parametrize(
    ("facts", "problem", "advice"),
    [
        ({"gpus": 1, "devices": GPU}, None, None),
        ({"gpus": 1, "devices": CPU}, f"{UNUSED}; .* install it again: pip install", None),
        ({"gpus": 1, "devices": CPU, "said": "no plugin"}, rf"{UNUSED} \(no plugin\); ", None),
        ({"gpus": 1, "devices": ()}, "cuda12 is installed, but JAX has no device", None),
        ({"gpus": 1, "devices": None}, None, None),  # JAX is not installed, which is said elsewhere
        ({"gpus": 1, "devices": CPU, "misfits": ("the plugin is old",)}, "the plugin is old", None),
        ({"gpus": 1, "devices": CPU, "platforms": "cpu"}, None, "JAX_PLATFORMS is 'cpu'; unset it"),
        ({"gpus": 1, "devices": CPU, "platforms": ""}, UNUSED, None),
        ({"gpus": 1, "devices": CPU, "platforms": "cuda,cpu"}, UNUSED, None),
        ({"gpus": 1, "devices": CPU, "extras": ()}, None, r"install tenferro\[cuda12\]"),
        ({"gpus": 0, "devices": CPU}, None, "cuda12 is installed, but the driver finds no GPU$"),
        ({"gpus": 0, "devices": CPU, "visible": ""}, None, "no GPU: CUDA_VISIBLE_DEVICES is ''"),
        ({"gpus": 0, "devices": CPU, "extras": ()}, None, None),  # as on a node for logins
        ({"failure": "CUDA_ERROR_X", "devices": CPU}, r"does not start \(CUDA_ERROR_X\)", None),
        ({"failure": "CUDA_ERROR_X", "devices": GPU}, None, None),
        ({"driver": None, "nodes": True, "devices": CPU}, "but libcuda.so.1 is not found", None),
        ({"driver": None, "nodes": False, "devices": CPU}, None, "there is no driver of NVIDIA"),
        ({"driver": None, "nodes": True, "devices": CPU, "extras": ()}, None, None),
        ({"driver": (11, 8), "gpus": 1, "devices": CPU}, r"takes CUDA 11\.8 at most", None),
        ({"driver": (11, 8), "gpus": 1, "devices": CPU, "extras": ()}, None, None),
    ],
)
def test_a_gpu_that_jax_does_not_use_is_a_problem_or_a_choice(
    facts: dict[str, Any], problem: str | None, advice: str | None
) -> None:
    found = Cuda(**{"driver": (12, 4), "extras": ("cuda12",)} | facts)
    for said, expected in ((found.problem, problem), (found.advice, advice)):
        assert (said is None) == (expected is None), said
        assert said is None or re.search(str(expected), said), said


def test_whatever_the_facts_a_gpu_that_nothing_uses_is_spoken_of() -> None:
    choices: dict[str, tuple[Any, ...]] = {
        "driver": (None, (11, 8), (12, 4), (13, 0)),
        "extras": ((), ("cuda12",), ("cuda13",), ("cuda12", "cuda13")),
        "gpus": (None, 0, 1),
        "failure": (None, "CUDA_ERROR_X"),
        "nodes": (False, True),
        "devices": (None, (), CPU, GPU),
        "said": (None, "no plugin"),
        "misfits": ((), ("the plugin is old",)),
        "platforms": (None, "", "cpu", "cuda"),
        "visible": (None, "", "0"),
    }
    for values in product(*choices.values()):
        found = Cuda(**dict(zip(choices, values, strict=True)))
        problem, advice = found.problem, found.advice
        assert problem is None or advice is None
        if found.in_use:
            assert advice is None
            assert problem is None or len(found.extras) == 2
        elif found.driver and found.gpus and found.extras and found.devices is not None:
            assert problem or advice, found


def test_parts_of_an_extra_fit_jaxlib_by_their_numbers() -> None:
    versions = {"jaxlib": "0.10.2", "jax-cuda12-plugin": "0.10.2.post1"}
    assert misfits(("cuda12",), versions.get) == ("jax-cuda12-pjrt is not installed",)
    versions["jax-cuda12-pjrt"] = "0.10.1"
    assert misfits(("cuda12",), versions.get) == (
        "jax-cuda12-pjrt is 0.10.1, but jaxlib is 0.10.2",
    )
    versions["jax-cuda12-pjrt"] = "0.10.2+local"
    assert misfits(("cuda12",), versions.get) == ()
    assert misfits((), versions.get) == ()


@pytest.mark.exhaustive
def test_a_platform_that_does_not_start_is_said_and_no_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tenferro", "doctor"],
        env={"JAX_PLATFORMS": "abacus", "PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    verdict = done.stdout.splitlines()[-1]
    assert verdict.startswith("something is wrong: device: JAX has no device: ")
    assert "JAX_PLATFORMS is 'abacus'; unset it" in verdict
