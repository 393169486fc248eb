"""`tn.tree` is `jax.tree`, over tenferro's trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import pytest

import tenferro as tn
from tenferro.errors import PytreeError


@dataclass
class Line:
    slope: Any
    offset: Any


TREE: Any = {"b": (1.0, None), "a": [2.0, {"c": 3.0}]}


@pytest.mark.parametrize(
    "call",
    [
        lambda tree: tree.leaves(TREE),
        lambda tree: tree.map(lambda x, y: x + y, TREE, TREE),
        lambda tree: tree.map(len, [(1, 2), (3,)], is_leaf=lambda x: isinstance(x, tuple)),
        lambda tree: tree.unflatten(tree.structure(TREE), [4, 5, 6]),
        lambda tree: tree.unflatten(tree.flatten(TREE)[1], tree.flatten(TREE)[0]),
        lambda tree: tree.reduce(lambda x, y: 10 * x + y, TREE),
        lambda tree: tree.reduce(lambda x, y: 10 * x + y, (), 7),
        lambda tree: (tree.all(TREE), tree.all([True, False])),
        lambda tree: [leaf for _, leaf in tree.leaves_with_path(TREE)],
        lambda tree: tree.map_with_path(lambda path, x: (len(path), x), TREE),
        lambda tree: tree.structure(TREE).num_leaves,
        lambda tree: tree.transpose(
            tree.structure([0, 0]), tree.structure((0, 0)), [(1, 2), (3, 4)]
        ),
    ],
)
def test_a_call_for_jax_has_the_result_of_jax(call: Callable[[Any], Any]) -> None:
    assert call(tn.tree) == call(jax.tree)


def test_dataclasses_are_trees() -> None:
    assert tn.tree.map(lambda x: 2 * x, Line(1, [2])) == Line(2, [4])
    assert tn.tree.flatten_with_path(Line(1, [2]))[0] == [(("slope",), 1), (("offset", 0), 2)]
    assert tn.tree.map(lambda x: x, (line := Line(tn.ones(2), 1))).slope is line.slope


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tn.tree.map(TREE, TREE), "tree.map: takes a function first, got a dict"),
        (lambda: tn.tree.map(min, [1], (1,)), "tree.map: the trees have different structures"),
        (lambda: tn.tree.unflatten([1], tn.tree.structure([1])), "takes a structure, then leaves"),  # type: ignore[arg-type]
        (lambda: tn.tree.unflatten(tn.tree.structure([1]), [1, 2]), "tree.unflatten: "),
        (lambda: tn.tree.reduce(max, ()), "tree.reduce: the tree has no leaves"),
    ],
)
def test_a_wrong_call_is_refused(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(PytreeError, match=text):
        call()
