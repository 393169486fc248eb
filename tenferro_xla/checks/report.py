"""Records of checks: lines of JSON, lines for people, and the table at the end."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

__all__ = ["DONE", "Outcome", "Record", "Report"]

Outcome = Literal["fine", "slow", "left out", "wrong"]
"""What a check found. A slow result is right; what is left out was not computed."""

DONE = "done"
"""The name of the last record of a step that ran to its end."""

_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Record:
    """One line of a report.

    Attributes:
        step: the step that found it.
        name: what was checked.
        outcome: whether it is right.
        values: what was measured; it can be written as JSON.

    >>> record = Record("memory", "free", values={"bytes": 1e9, "peak": float("inf")})
    >>> record.text()
    '[memory] free: bytes=1e+09 peak=inf'
    >>> Record.read(record.line()) == record
    True
    >>> Record.read("Segmentation fault") is None
    True
    """

    step: str
    name: str
    outcome: Outcome = "fine"
    values: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        plain = {name: _plain(value) for name, value in self.values.items()}
        object.__setattr__(self, "values", plain)

    def line(self) -> str:
        """The record as JSON, without a line break."""
        parts = {"step": self.step, "name": self.name, "outcome": self.outcome}
        return json.dumps({**parts, "values": dict(self.values)}, default=str)

    @staticmethod
    def read(line: str) -> Record | None:
        """The record that a line has; None if it is another text."""
        try:
            return Record(**json.loads(line))
        except (ValueError, TypeError):
            return None

    def text(self) -> str:
        """The record as people read it."""
        word = "" if self.outcome == "fine" else f"{self.outcome.upper()} "
        shown = " ".join(f"{name}={_short(value)}" for name, value in self.values.items())
        return f"[{self.step}] {word}{self.name}{': ' if shown else ''}{shown[:_LONGEST]}"


def _plain(value: Any) -> Any:
    """Numbers with four digits; a word where JSON has no number."""
    if isinstance(value, float):
        return float(f"{value:.4g}") if math.isfinite(value) else str(value)
    return value


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class Report:
    """The records of a run, which are written as they come.

    `BASE.jsonl` has one record a line, `BASE.txt` what is printed. Both are complete after each
    record, so that a run that is cut off is worth what it found.
    """

    def __init__(self, base: Path) -> None:
        self._lines, self._text = (
            base.with_name(f"{base.name.removesuffix(suffix)}{suffix}")
            for suffix in (".jsonl", ".txt")
        )
        base.parent.mkdir(parents=True, exist_ok=True)
        for path in (self._lines, self._text):
            path.write_text("", encoding="utf-8")
        self.records: list[Record] = []

    @property
    def paths(self) -> tuple[Path, Path]:
        """The files, that of the records first."""
        return self._lines, self._text

    def add(self, record: Record) -> None:
        """Write a record to both files and to the screen."""
        self.records.append(record)
        _append(self._lines, record.line())
        self.say(record.text())

    def say(self, text: str) -> None:
        """Write lines for people alone."""
        _append(self._text, text)
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    def finish(self, seconds: float) -> bool:
        """Write the table, what is not fine, and the verdict; whether nothing is wrong."""
        self.say("\n" + "\n".join(_table(self.records)))
        for outcome in ("left out", "slow", "wrong"):
            for record in self._having(outcome):
                self.say(record.text())
        wrong = len(self._having("wrong"))
        left_out = len(self._having("left out"))
        verdict = f"WRONG: {wrong} of {len(self.records)}" if wrong else "nothing is wrong"
        verdict += f" in what was checked; left out: {left_out}" * bool(left_out and not wrong)
        self.say(f"{verdict}; {seconds:.0f} s; {' and '.join(map(str, self.paths))}")
        return not wrong

    def _having(self, outcome: str) -> list[Record]:
        return [record for record in self.records if record.outcome == outcome]


def _append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{text}\n")


def _table(records: Sequence[Record]) -> list[str]:
    """For each step, how many records of each outcome there are, and how long it took."""
    outcomes: tuple[Outcome, ...] = ("fine", "slow", "left out", "wrong")
    lines = [f"{'step':<16}" + "".join(f"{each:>10}" for each in (*outcomes, "seconds"))]
    for step in dict.fromkeys(record.step for record in records):
        own = [record for record in records if record.step == step]
        counts = [sum(each.outcome == outcome for each in own) for outcome in outcomes]
        took = next((each.values["seconds"] for each in own if each.name == DONE), "-")
        lines.append(f"{step:<16}" + "".join(f"{each:>10}" for each in (*counts, took)))
    return lines
