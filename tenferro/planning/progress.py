"""A progress bar for long searches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tenferro.planning.optimize import Progress as Report


@contextmanager
def progress_bar() -> Iterator[Report]:
    """Show a progress bar on standard error; yields the callback that advances it."""
    columns = (
        TextColumn("contraction order"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total} best {task.fields[best]:.3g}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("search", total=None, best=float("inf"))

        def report(done: int, total: int, best: float) -> None:
            bar.update(task, completed=done, total=total, best=best)

        yield report
