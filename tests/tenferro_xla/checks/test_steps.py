"""Each step finds nothing wrong on the CPU, and what is wrong is found."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jax import lax

import tenferro as tn
from tenferro.cli import main
from tenferro.ops import DotGeneral
from tenferro_xla.checks import parity
from tenferro_xla.checks.__main__ import STEPS
from tenferro_xla.checks.__main__ import main as checks_of
from tenferro_xla.checks.checking import Checking
from tenferro_xla.checks.report import Record
from tenferro_xla.devices import own_settings
from tenferro_xla.lowering import lower


def checking(seconds: float) -> tuple[Checking, io.StringIO]:
    lines = io.StringIO()
    return Checking("step", "cpu:0", seconds, True, lines), lines


def read(lines: io.StringIO) -> list[Record]:
    records = [Record.read(line) for line in lines.getvalue().splitlines()]
    return [record for record in records if record is not None]


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("name", [name for name in STEPS if name not in ("environment", "caches")])
def test_nothing_is_wrong_on_the_cpu(name: str) -> None:
    check, lines = checking(seconds=1.0)
    with own_settings():
        STEPS[name][0](check)
    records = read(lines)
    assert records
    assert [record for record in records if record.outcome == "wrong"] == []


@pytest.fixture
def wrong_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """XLA gets products with a thousandth too much, in 32 bits with the digits of TF32 as well."""
    rule, _ = lower._rules[DotGeneral]

    def product(op: DotGeneral, *operands: Any, options: Any) -> Any:
        rounded = [lax.reduce_precision(x, 8, 10) if x.dtype == "float32" else x for x in operands]
        return rule(op, *rounded, options=options) * 1.001

    monkeypatch.setitem(lower._rules, DotGeneral, (product, True))


@pytest.mark.exhaustive(but=2)
@pytest.mark.usefixtures("wrong_products")
@pytest.mark.parametrize("name", ["smoke", "precision", "linear algebra", "loops", "einsum"])
def test_a_step_finds_wrong_numbers(name: str) -> None:
    check, lines = checking(seconds=1.0)
    with own_settings():
        STEPS[name][0](check)
    assert [record.name for record in read(lines) if record.outcome == "wrong"]


@pytest.mark.usefixtures("wrong_products")
def test_a_function_with_a_wrong_result_is_found() -> None:
    check, lines = checking(seconds=60.0)
    case, *_ = parity.cases_of("lax.dot_general", tn.lax.dot_general)
    assert parity._compare(check, case) == "apart"
    (record,) = read(lines)
    assert (record.name, record.outcome) == ("lax.dot_general float64", "wrong")


@pytest.mark.exhaustive
def test_every_public_function_has_a_case() -> None:
    assert [each for each, call in parity.subjects() if not [*parity.cases_of(each, call)]] == []


def test_a_function_without_a_case_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parity, "subjects", lambda: [("strange", lambda: None)])
    check, lines = checking(seconds=60.0)
    parity.parity(check)
    without, total = read(lines)
    assert (without.outcome, without.values["names"]) == ("left out", ["strange"])
    assert (total.values["no case"], total.values["functions"]) == (1, 1)


def test_random_numbers_and_windows_of_updates_are_compared() -> None:
    check, lines = checking(seconds=60.0)
    names = "random.normal", "random.bits", "lax.scatter_add", "lax.gather", "lax.reduce_window"
    functions = dict(parity.subjects())
    for name in names:
        case, *_ = parity.cases_of(name, functions[name])
        assert parity._compare(check, case) == "equal"
    assert read(lines) == []


ONE_AT_A_TIME = """
import sys
started = []
sys.addaudithook(lambda event, args: event == "subprocess.Popen" and started.append(args[1]))
import jax
from tenferro_xla.checks.__main__ import STEPS, Checking
from tenferro_xla.devices import own_settings
name = sys.argv[1]
with own_settings():
    STEPS[name][0](Checking(name, "cpu:0", 60.0, True, sys.stdout))
if name == "caches":
    jax.config.update("jax_num_cpu_devices", 2)  # refused where JAX has started its devices
    assert len(started) == 2, started
else:
    assert not [command for command in started if sys.executable in command], started
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["environment", "caches"])
def test_one_process_at_a_time_has_the_device(name: str) -> None:
    command = [sys.executable, "-c", ONE_AT_A_TIME, name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "wrong" not in [record.outcome for record in read(io.StringIO(done.stdout))]


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


@pytest.mark.exhaustive
def test_a_device_that_is_not_there_is_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for run, step in ((main, "smoke"), (checks_of, "caches")):
        options = ["--device", "cpu:99", "--only", step, "--out", str(tmp_path / "r")]
        assert run([*(["doctor", "--gpu"] if run is main else []), *options]) == 2
        assert "there is no device 'cpu:99'; there are: cpu:0" in capfd.readouterr().out


def test_a_step_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        checks_of(["--only", "smok"])
    assert "there is no step 'smok'; there are: environment, smoke" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        checks_of(["--device", ""])
    assert "--device: the name is empty; give one such as gpu:0" in capsys.readouterr().err
