"""Drawings of contraction trees, and progress bars."""

from __future__ import annotations

import math
import os
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tenferro.errors import MissingExtraError
from tenferro.network.contraction_tree import ContractionTree
from tenferro.network.search import ContractionOptimizerOptions
from tenferro.network.subscripts import Labels, is_lettered, labels_text

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["progress_bar"]


# Drawing a contraction tree with matplotlib and networkx.

SHOWN_LABELS = 60
"""Most operands for which the labels of values are written into the figure."""

UPRIGHT_LABELS = 14
"""Most operands whose labels are written upright; those of more are turned."""


def draw(
    tree: ContractionTree, slices: Labels, flops: int, path: str | os.PathLike[str] | None
) -> Any:
    """The figure of a tree; area and colour of a node grow with the logarithm of its elements.

    The title has the `flops` of the plan, and a bar says what the colours mean. Operands have
    their numbers below their nodes.

    Raises:
        MissingExtraError: matplotlib or networkx is not installed.
    """
    figure_class, canvas_class, networkx = (
        _optional(name)
        for name in (
            "matplotlib.figure:Figure",
            "matplotlib.backends.backend_agg:FigureCanvasAgg",
            "networkx",
        )
    )
    graph, count = networkx.DiGraph(), len(tree.subscripts.inputs)
    figure = figure_class(figsize=(min(max(8.0, 0.3 * count), 40.0), 6), layout="constrained")
    canvas_class(figure)
    axes = figure.add_subplot()
    graph.add_nodes_from(range(count + len(tree.pairs)))
    for number, pair in enumerate(tree.pairs, count):
        graph.add_edges_from((number, child) for child in pair)
    elements = [tree.size(labels) for labels in tree.value_labels]
    places, colours = positions(tree), [math.log10(max(size, 1)) for size in elements]
    networkx.draw_networkx_edges(graph, places, ax=axes, arrows=False, edge_color="0.7")
    nodes = networkx.draw_networkx_nodes(
        graph,
        places,
        ax=axes,
        node_size=[20 + 12 * math.log2(1 + size) for size in elements],
        node_color=colours,
        cmap="viridis",
        vmin=min(colours),
        vmax=max(max(colours), min(colours) + 1),
    )
    figure.colorbar(nodes, ax=axes, shrink=0.6, label="elements of a value, as a power of 10")
    if count <= SHOWN_LABELS:
        _write_labels(axes, tree)
    axes.set_title(_title(tree, slices, flops))
    axes.set_axis_off()
    if path is not None:
        figure.savefig(path)
    return figure


def positions(tree: ContractionTree) -> dict[int, tuple[float, float]]:
    """The position of each value: operands in the order of the tree, results above them."""
    count = len(tree.subscripts.inputs)
    children = dict(enumerate(tree.pairs, count))
    order: list[int] = []
    stack = [count + len(tree.pairs) - 1]
    while stack:
        value = stack.pop()
        if value < count:
            order.append(value)
        else:
            stack.extend(reversed(children[value]))
    placed = {value: (float(place), 0.0) for place, value in enumerate(order)}
    for value, (left, right) in children.items():
        (x, low), (y, high) = placed[left], placed[right]
        placed[value] = ((x + y) / 2, max(low, high) + 1.0)
    return placed


def _write_labels(axes: Any, tree: ContractionTree) -> None:
    lettered = is_lettered(tree.sizes)
    count = len(tree.subscripts.inputs)
    turned = 0 if count <= UPRIGHT_LABELS else 90
    boxed = {"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.8}
    for value, (x, y) in positions(tree).items():
        text = labels_text(tree.value_labels[value], lettered)
        if value < count:
            below = {"va": "top", "ha": "center", "rotation": turned, "fontsize": 9}
            axes.annotate(
                f"{text}\n#{value}" if not turned else f"#{value}  {text}",
                (x, y),
                (0, -8),
                textcoords="offset points",
                **below,
            )
        else:
            above = {"va": "bottom", "ha": "center", "fontsize": 9, "bbox": boxed}
            axes.annotate(text, (x, y), (0, 7), textcoords="offset points", **above)


def _title(tree: ContractionTree, slices: Labels, flops: int) -> str:
    title = f"{len(tree.subscripts.inputs)} operands, {flops:.3g} flops"
    if not slices:
        return title
    return f"{title}, sliced over {labels_text(slices, is_lettered(tree.sizes))}"


def _optional(name: str) -> Any:
    try:
        return pkgutil.resolve_name(name)
    except ImportError as error:
        raise MissingExtraError(
            f"plot: needs {name.split(':')[0].split('.')[0]}, which is not installed; "
            "install tenferro[viz]"
        ) from error


# A bar for long searches and long runs.


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
    with progress_bar("contraction order", " best {task.fields[best]:.3g}") as report:
        yield replace(options, progress=lambda done, total, best: report(done, total, best=best))


@contextmanager
def progress_bar(title: str, shown: str = "") -> Iterator[Callable[..., None]]:
    """A function of what is done and the total that moves a bar on standard error.

    The bar appears with the first call, which loads what draws it, and goes at the end. `shown`
    follows its numbers, and may use further fields that calls give by name.
    """
    with ExitStack() as stack:
        tasks: list[tuple[Progress, TaskID]] = []

        def report(done: int, total: int, **fields: Any) -> None:
            if not tasks:
                rich = pkgutil.resolve_name("rich.progress")
                columns = (
                    rich.TextColumn(title),
                    rich.BarColumn(),
                    rich.TextColumn(f"{{task.completed}}/{{task.total}}{shown}"),
                    rich.TimeElapsedColumn(),
                )
                console = pkgutil.resolve_name("rich.console:Console")(stderr=True)
                started = stack.enter_context(
                    rich.Progress(*columns, console=console, transient=True)
                )
                tasks.append((started, started.add_task(title, total=total, **fields)))
            ((bar, task),) = tasks
            bar.update(task, completed=done, total=total, **fields)

        yield report
