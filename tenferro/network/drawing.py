"""Drawing a contraction tree with matplotlib and networkx."""

from __future__ import annotations

import math
import os
import pkgutil
from typing import Any

from tenferro.errors import MissingExtraError
from tenferro.planning import ContractionTree, Labels, is_lettered, labels_text

SHOWN_LABELS = 30
"""Most operands for which the labels of values are written into the figure."""


def draw(
    tree: ContractionTree, slices: Labels, flops: int, path: str | os.PathLike[str] | None
) -> Any:
    """The figure of a tree; a node's area grows with the logarithm of its elements.

    The title has the `flops` of the plan.

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
    figure = figure_class(figsize=(8, 6))
    canvas_class(figure)
    axes = figure.add_subplot()
    graph, count = networkx.DiGraph(), len(tree.subscripts.inputs)
    graph.add_nodes_from(range(count + len(tree.pairs)))
    for number, pair in enumerate(tree.pairs, count):
        graph.add_edges_from((number, child) for child in pair)
    elements = [tree.size(labels) for labels in tree.value_labels]
    networkx.draw_networkx(
        graph,
        positions(tree),
        ax=axes,
        arrows=False,
        with_labels=False,
        node_size=[20 + 25 * math.log2(1 + size) for size in elements],
        node_color=[math.log10(max(size, 1)) for size in elements],
        cmap="viridis",
        edge_color="0.7",
    )
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
    for value, (x, y) in positions(tree).items():
        axes.text(x, y + 0.15, labels_text(tree.value_labels[value], lettered), ha="center")


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
