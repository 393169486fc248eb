"""What a farm has done: reports of jobs, and the progress of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tenferro.farm.job import in_short
from tenferro.network import progress_bar

__all__ = ["FarmReport", "JobReport"]

Report = Callable[[int, int, float], object]
"""Receives how many parts are done, how many there are, and the seconds since the start."""


@dataclass
class JobReport:
    """What happened to one job in one run.

    Attributes:
        job: its digest.
        parts: how many parts it has.
        found: parts that were there, whole.
        whole: whether the result was there, so that no part was looked at.
        damaged: parts that were there, damaged, and were made again.
        foreign: parts of another maker that were made again, for `same_maker`.
        failed: attempts that failed.
        engines: engines that broke.
        seconds: the work in all parts that were made in this run.
        makers: what computed the parts, and how many each.
    """

    job: str
    parts: int
    found: int = 0
    whole: bool = False
    damaged: int = 0
    foreign: int = 0
    failed: int = 0
    engines: int = 0
    seconds: float = 0.0
    makers: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        text = "the result was found" if self.whole else ", ".join(self._counts())
        lines = [f"job {in_short(self.job)}: {text}"]
        if len(self.makers) > 1:
            lines.append("  parts of unlike makers may differ in their last bits:")
            for maker, count in self.makers.most_common():
                lines.append(f"  {count or 'some'} parts by {maker}")
        return "\n".join(lines)

    def _counts(self) -> Iterator[str]:
        """What happened to how many."""
        yield f"{self.parts} parts"
        yield f"{self.found} found"
        if self.damaged:
            yield f"{self.damaged} damaged and made again"
        if self.foreign:
            yield f"{self.foreign} of another maker and made again"
        if self.failed:
            yield f"{self.failed} attempts failed"
        if self.engines:
            yield f"{self.engines} engine{'s' * (self.engines > 1)} broke"
        yield f"{span_in_words(self.seconds)} of work"


@dataclass(frozen=True)
class FarmReport:
    """What happened to the last jobs of a farm; print it.

    Attributes:
        jobs: a report for each, the oldest first.
    """

    jobs: tuple[JobReport, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.jobs)) if self.jobs else "no jobs"


def span_in_words(seconds: float) -> str:
    """A time, as users read it.

    >>> span_in_words(2460.0), span_in_words(12.34), span_in_words(0.02)
    ('41 min', '12.3 s', '0.02 s')
    """
    if seconds >= 7200:
        return f"{seconds / 3600:.3g} h"
    if seconds >= 120:
        return f"{seconds / 60:.3g} min"
    return f"{seconds:.3g} s"


@contextmanager
def reporting(progress: Report | bool | None) -> Iterator[Report]:
    """What receives reports of progress: a function of the user's, or a bar on standard error.

    The bar appears with the first part that is not there.
    """
    if callable(progress):
        yield progress
        return
    with progress_bar("parts of the farm") as move:
        is_shown = False

        def report(done: int, total: int, seconds: float) -> None:
            nonlocal is_shown
            is_shown = is_shown or (bool(progress) and done < total)
            if is_shown:
                move(done, total)

        yield report
