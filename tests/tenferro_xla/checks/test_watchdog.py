"""A step that crashes, hangs or raises costs that step; what it found before is in the report."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tenferro_xla.checks.report import Record, Report
from tenferro_xla.checks.watchdog import CANNOT, Step, supervise

FOUND = f"print('''{Record('STEP', 'one', values={'x': 1}).line()}''', flush=True); "
DONE = f"print('''{Record('STEP', 'done', values={'seconds': 0.0}).line()}''')"
BODIES = {
    "fine": FOUND + DONE,
    "aborts": FOUND + "import os; os.abort()",
    "hangs": FOUND + "import time; time.sleep(600)",
    "raises": FOUND + "raise ValueError('on purpose')",
    "leaves": FOUND + "import os; os._exit(0)",
    "chatters": "print('not a record'); print('{}'); print('[1]');" + FOUND + DONE,
    "waits for a child": FOUND + "import subprocess; subprocess.run(['sleep', '600'])",
    "is slow": "import time; [print(flush=True) or time.sleep(0.6) for _ in range(5)]; "
    + FOUND
    + DONE,
    "never ends": "import time; [print(flush=True) or time.sleep(0.2) for _ in range(600)]",
    "cannot": f"import sys; sys.stderr.write('there is no device'); sys.exit({CANNOT})",
}


def run(path: Path, *names: str, seconds: float = 60.0, grace: float = 1.0) -> tuple[int, Report]:
    def command(step: Step, _: float) -> Sequence[str]:
        return [sys.executable, "-c", BODIES[step.name].replace("STEP", step.name)]

    report = Report(path / "report")
    steps = [Step(name, 10 if name == "fine" else 0.01) for name in names]
    return supervise(steps, command, report, seconds, grace), report


def found(report: Report, step: str) -> list[tuple[str, str]]:
    return [(each.name, each.outcome) for each in report.records if each.step == step]


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize(
    ("step", "ended"),
    [
        ("aborts", "SIGABRT"),
        ("hangs", "killed after 1 s"),
        ("waits for a child", "killed after 1 s"),
        ("raises", "exit status 1"),
        ("leaves", "exit status 0"),
    ],
)
def test_a_step_that_does_not_end_costs_that_step(tmp_path: Path, step: str, ended: str) -> None:
    status, report = run(tmp_path, step, "fine")
    assert status == 0
    assert found(report, step) == [("one", "fine"), ("the step", "wrong")]
    assert report.records[1].values["ended"] == ended
    assert found(report, "fine") == [("one", "fine"), ("done", "fine")]
    assert not report.finish(1.0)


def test_the_end_of_what_a_step_said_is_in_the_report(tmp_path: Path) -> None:
    _, report = run(tmp_path, "raises")
    assert report.records[-1].values["said"].endswith("ValueError: on purpose")
    _, report = run(tmp_path, "aborts")
    assert "Fatal Python error: Aborted" in report.records[-1].values["said"]


@pytest.mark.exhaustive
def test_a_step_that_is_killed_says_where_it_was(tmp_path: Path) -> None:
    _, report = run(tmp_path, "hangs", "fine")
    assert report.records[1].values["said"].splitlines()[:3:2] == [
        "Fatal Python error: Aborted",
        '  File "<string>", line 1 in <module>',
    ]


@pytest.mark.exhaustive
def test_a_step_that_goes_on_is_not_killed_at_once(tmp_path: Path) -> None:
    _, report = run(tmp_path, "is slow", "fine", grace=2.0)
    assert found(report, "is slow") == [("one", "fine"), ("done", "fine")]


@pytest.mark.exhaustive
def test_a_step_that_goes_on_for_ever_is_killed(tmp_path: Path) -> None:
    _, report = run(tmp_path, "never ends", "fine", grace=0.5)
    assert found(report, "never ends") == [("the step", "wrong")]
    assert report.records[0].values["ended"] == "killed after 2 s"


def test_what_is_no_record_is_left_out(tmp_path: Path) -> None:
    status, report = run(tmp_path, "chatters")
    assert status == 0
    assert found(report, "chatters") == [("one", "fine"), ("done", "fine")]
    assert report.finish(1.0)


def test_a_step_that_cannot_run_ends_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, report = run(tmp_path, "cannot", "fine")
    assert status == CANNOT
    assert report.records == []
    assert "there is no device" in capsys.readouterr().out


def test_steps_without_time_are_left_out(tmp_path: Path) -> None:
    _, report = run(tmp_path, "fine", seconds=0.0)
    assert found(report, "fine") == [("the step", "left out")]


def test_the_files_are_complete_after_each_record(tmp_path: Path) -> None:
    report = Report(tmp_path / "new" / "report")
    lines, text = report.paths
    for count in (1, 2):
        report.add(Record("step", f"check {count}", "slow", {"us": 1.23456, "nan": float("nan")}))
        assert len(lines.read_text().splitlines()) == count
        assert len(text.read_text().splitlines()) == count
    assert json.loads(lines.read_text().splitlines()[0]) == {
        "step": "step",
        "name": "check 1",
        "outcome": "slow",
        "values": {"us": 1.235, "nan": "nan"},
    }
    assert text.read_text().splitlines()[0] == "[step] SLOW check 1: us=1.235 nan=nan"
    assert report.finish(2.0)
    assert "nothing is wrong; 2 s" in text.read_text()


def test_what_was_left_out_is_in_the_verdict(tmp_path: Path) -> None:
    report = Report(tmp_path / "report-0.1")
    report.add(Record("step", "einsum", "left out"))
    assert report.finish(2.0)
    assert report.paths[1].name == "report-0.1.txt"
    assert "nothing is wrong in what was checked; left out: 1; 2 s" in report.paths[1].read_text()


def test_the_table_counts_outcomes(tmp_path: Path) -> None:
    report = Report(tmp_path / "report")
    report.add(Record("first", "a", "wrong", {"apart": 1.0}))
    report.add(Record("first", "done", values={"seconds": 3.0}))
    report.add(Record("second", "the step", "left out"))
    assert not report.finish(4.0)
    shown = [line.split() for line in report.paths[1].read_text().splitlines()]
    assert ["first", "1", "0", "0", "1", "3.0"] in shown
    assert ["second", "0", "0", "1", "0", "-"] in shown
    assert "WRONG: 1 of 3" in report.paths[1].read_text()
