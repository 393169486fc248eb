"""Figures of a run of benchmarks, for one table, and to compare with a saved run.

A script keeps its figures in the file that FIGURES names, one line of JSON each; `run.py` gathers
them. A `Run` is what is saved.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

FIGURES = "TENFERRO_BENCHMARK_FIGURES"
"""The variable that names the file of figures; without it, none are kept."""


class Ratio(float):
    """A median of ratios, with its quartiles.

    >>> Ratio(1.1, 1.0, 1.3).high
    1.3
    """

    low: float
    high: float

    def __new__(cls, middle: float, low: float, high: float) -> Ratio:
        made = super().__new__(cls, middle)
        made.low, made.high = float(low), float(high)
        return made

    @classmethod
    def of(cls, value: float) -> Ratio:
        """The value as it is, or a number without a spread."""
        return value if isinstance(value, cls) else cls(value, value, value)


@dataclass(frozen=True)
class Figure:
    """What was measured, its median and quartiles, and what is asked of it; smaller is better."""

    what: str
    value: float
    low: float
    high: float
    bound: float | None = None
    aim: float | None = None

    @property
    def kept(self) -> bool:
        """Whether the figure keeps its bound."""
        return self.bound is None or self.value <= self.bound

    def slower(self, before: Figure) -> bool:
        """Whether the quartiles of this figure lie above those of an earlier one.

        >>> Figure("call", 1.5, 1.4, 1.6).slower(Figure("call", 1.2, 1.1, 1.3))
        True
        """
        return self.low > before.high


def keep(figure: Figure) -> None:
    """Append a figure to the file that the environment names, if it names one."""
    if name := os.environ.get(FIGURES):
        with Path(name).open("a") as file:
            file.write(json.dumps(asdict(figure)) + "\n")


def read(file: Path) -> list[Figure]:
    """The figures in a file that scripts wrote."""
    return [Figure(**json.loads(line)) for line in file.read_text().splitlines()]


def over_repeats(repeats: Sequence[Sequence[Figure]]) -> list[Figure]:
    """One figure for each name: the median of its repeats, and their extremes.

    What was measured once keeps the quartiles of its rounds.
    """
    found: dict[str, list[Figure]] = {}
    for figure in (each for repeat in repeats for each in repeat):
        found.setdefault(figure.what, []).append(figure)
    return [_together(figures) for figures in found.values()]


def _together(figures: Sequence[Figure]) -> Figure:
    if len(figures) == 1:
        return figures[0]
    first, values = figures[0], [each.value for each in figures]
    middle = float(np.median(values))
    return Figure(first.what, middle, min(values), max(values), first.bound, first.aim)


@dataclass(frozen=True)
class Run:
    """The figures of some scripts, and what they depend on.

    Attributes:
        versions: of Python and the packages.
        repeats: how often each script ran.
        scripts: the figures of each script.
    """

    versions: Mapping[str, str]
    repeats: int
    scripts: Mapping[str, Sequence[Figure]]

    def figures(self) -> Iterator[tuple[str, Figure]]:
        """Each script's name with each of its figures."""
        for script, figures in self.scripts.items():
            for figure in figures:
                yield script, figure

    def save(self, file: Path) -> None:
        """Write the run as JSON."""
        file.write_text(json.dumps(asdict(self), indent=1))

    @classmethod
    def load(cls, file: Path) -> Run:
        """A run that `save` wrote."""
        data = json.loads(file.read_text())
        scripts = {
            name: [Figure(**each) for each in figures] for name, figures in data["scripts"].items()
        }
        return cls(data["versions"], data["repeats"], scripts)
