"""Timing several contenders against one another, on a machine that has other work to do.

Rounds are interleaved: each round times every contender once, so that a slow minute is slow for
all. What is reported is the median over rounds with its quartiles, and the median of the ratios
*within* a round, which a drift of the machine leaves alone.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
from rich.console import Console
from rich.table import Table
from support.figures import Figure, Ratio, keep

CONSOLE = Console(width=120, highlight=False)


@dataclass(frozen=True)
class Samples:
    """Times of one contender, one for each round."""

    times: tuple[float, ...]

    @property
    def median(self) -> float:
        return float(np.median(self.times))

    def over(self, peer: Samples) -> Ratio:
        """Median and quartiles of the ratios to a peer, round by round."""
        low, middle, high = np.percentile(np.divide(self.times, peer.times), (25, 50, 75))
        return Ratio(middle, low, high)

    def text(self, scale: float = 1e6, digits: int = 2) -> str:
        """`median [first quartile, third quartile]`; `scale` 1e6 gives microseconds."""
        low, middle, high = np.percentile(self.times, (25, 50, 75)) * scale
        return f"{middle:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def interleaved(
    contenders: Mapping[str, Callable[[], float]], rounds: int, warmups: int = 1
) -> dict[str, Samples]:
    """Samples of contenders that measure themselves: each call returns seconds."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(warmups + rounds):
        for name, measure in contenders.items():
            seconds = measure()
            if number >= warmups:
                times[name].append(seconds)
    return {name: Samples(tuple(found)) for name, found in times.items()}


def repeated(
    call: Callable[[], object], calls: int, clock: Callable[[], float] = time.perf_counter
) -> Callable[[], float]:
    """A contender: seconds for one call, out of `calls` in a row."""

    def measure() -> float:
        start = clock()
        for _ in range(calls):
            call()
        return (clock() - start) / calls

    return measure


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table: the first column names the row, numbers stand to the right."""
    drawn = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        drawn.add_column(column, justify="right" if number else "left", no_wrap=True)
    for row in rows:
        drawn.add_row(*map(str, row))
    CONSOLE.print(drawn)


def note(text: str) -> None:
    """Print a line."""
    CONSOLE.print(text, markup=False, soft_wrap=True)


def versions() -> dict[str, str]:
    """Versions of Python, of tenferro, and of what it runs on."""
    packages = ("tenferro", "jax", "jaxlib", "numpy")
    return {"Python": platform.python_version(), **{name: version(name) for name in packages}}


def environment() -> None:
    """Print what the figures depend on: versions, cores, threads, load."""
    found = ", ".join(f"{name} {each}" for name, each in versions().items())
    threads = ", ".join(
        f"{name}={os.environ.get(name, 'unset')}" for name in ("OMP_NUM_THREADS", "XLA_FLAGS")
    )
    cores = len(os.sched_getaffinity(0))
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    note(f"{found}; {platform.machine()}, {cores} cores")
    note(f"threads: {threads} (XLA and BLAS take all cores unless bound); load {load}")


def arguments(description: str | None) -> argparse.ArgumentParser:
    """A parser that shows the defaults."""
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )


def geometric_mean(ratios: Sequence[float]) -> Ratio:
    """The geometric mean of ratios, and those of their quartiles."""
    each = [Ratio.of(ratio) for ratio in ratios]
    columns = zip(*((ratio, ratio.low, ratio.high) for ratio in each), strict=True)
    return Ratio(*(float(np.exp(np.mean(np.log(column)))) for column in columns))


def verdict(what: str, value: float, bound: float, aim: float) -> None:
    """Print whether a figure keeps its bound and reaches its aim; it goes into the run's table."""
    figure(what, value, bound, aim)
    kept = "kept" if value <= bound else "MISSED"
    reached = "reached" if value <= aim else "not reached"
    note(f"{what}: {value:.3g}; bound {bound:g} {kept}, aim {aim:g} {reached}")


def figure(what: str, value: float, bound: float | None = None, aim: float | None = None) -> None:
    """Keep a figure for the table of the run; smaller is better."""
    ratio = Ratio.of(value)
    keep(Figure(what, float(ratio), ratio.low, ratio.high, bound, aim))
