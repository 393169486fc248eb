"""Each step finds nothing wrong on the CPU, and what is wrong is found."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.cli import main
from tenferro_xla.checks import parity
from tenferro_xla.checks.__main__ import STEPS
from tenferro_xla.checks.__main__ import main as checks_of
from tenferro_xla.checks.checking import Checking
from tenferro_xla.checks.report import Record
from tenferro_xla.devices import own_settings


def checking(seconds: float) -> tuple[Checking, io.StringIO]:
    lines = io.StringIO()
    return Checking("step", "cpu:0", seconds, True, lines), lines


def read(lines: io.StringIO) -> list[Record]:
    records = [Record.read(line) for line in lines.getvalue().splitlines()]
    return [record for record in records if record is not None]


@pytest.mark.parametrize("name", [name for name in STEPS if name != "environment"])
def test_nothing_is_wrong_on_the_cpu(name: str) -> None:
    check, lines = checking(seconds=1.0)
    with own_settings():
        STEPS[name][0](check)
    records = read(lines)
    assert records
    assert [record for record in records if record.outcome == "wrong"] == []


def test_a_function_with_a_wrong_result_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parity, "evaluate", lambda program, inputs: [np.full((4, 4), 7.0)])
    check, lines = checking(seconds=60.0)
    (case, *_) = parity.cases_of("sin", tn.sin)
    assert parity._compare(check, case) == "apart"
    (record,) = read(lines)
    assert (record.name, record.outcome) == ("sin float64", "wrong")


def test_every_dtype_and_the_gradients_are_compared() -> None:
    names = [case.name for case in parity.cases_of("sin", tn.sin)]
    assert names == [
        *(f"sin {dtype}" for dtype in parity.DTYPES),
        *("gradient of sin float64", "gradient of sin complex128"),
        "hard values of sin float64",
    ]


def test_the_doctor_checks_a_device(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    options = ["--device", "cpu:0", "--small", "--only", "environment"]
    base = tmp_path / "report"
    assert main(["doctor", "--gpu", *options, "--out", str(base)]) == 0
    assert "nothing is wrong" in capfd.readouterr().out
    records = [json.loads(line) for line in base.with_suffix(".jsonl").read_text().splitlines()]
    found: dict[str, Any] = {each["name"]: each["values"] for each in records}
    assert records[0]["name"] == "versions"
    assert {"tenferro", "jax", "jaxlib", "numpy"} <= found["versions"].keys()
    assert found["device"]["platform"] == "cpu"
    assert found["doctor"]["well"] is True


def test_a_device_that_is_not_there_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--gpu", "--device", "cpu:99", "--out", str(tmp_path / "r")]) == 2
    assert "there is no device 'cpu:99'; there are: cpu:0" in capfd.readouterr().out


def test_a_step_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        checks_of(["--only", "smok"])
    assert "there is no step 'smok'; there are: environment, smoke" in capsys.readouterr().err
