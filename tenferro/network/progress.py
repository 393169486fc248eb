"""A bar for long searches and long runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from tenferro.planning import ContractionOptimizerOptions

_BEST = " best {task.fields[best]:.3g}"


@contextmanager
def with_progress_bar(
    options: ContractionOptimizerOptions | None,
) -> Iterator[ContractionOptimizerOptions | None]:
    """The options; where their progress is True, it moves a bar on standard error.

    The bar appears with the first report. A plan that is cached reports nothing.
    """
    if options is None or options.progress is not True:
        yield options
        return
    with ExitStack() as stack:
        tasks: list[tuple[Progress, TaskID]] = []

        def report(done: int, total: int, best: float) -> None:
            if not tasks:
                started = stack.enter_context(progress_bar("contraction order", _BEST))
                tasks.append((started, started.add_task("search", total=total, best=best)))
            ((bar, task),) = tasks
            bar.update(task, completed=done, total=total, best=best)

        yield replace(options, progress=report)


def progress_bar(title: str, shown: str = "") -> Progress:
    """A bar on standard error, which goes when it ends; `shown` follows the numbers."""
    columns = (
        TextColumn(title),
        BarColumn(),
        TextColumn(f"{{task.completed}}/{{task.total}}{shown}"),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)
