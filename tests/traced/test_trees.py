from __future__ import annotations

from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field
from typing import Any

from tenferro.transforms import flatten, leaf_names, unflatten

Point = namedtuple("Point", "x y")


@dataclass(frozen=True)
class Inner:
    v: Any


@dataclass
class Outer:
    inner: Any
    w: Any = 0
    derived: Any = field(init=False, default=None)


TREES = [
    1.0,
    None,
    [],
    {"b": 1.0, "a": [2.0, (3.0, None)]},
    Point(1.0, {"z": 2.0}),
    OrderedDict(b=1.0, a=2.0),
    Outer(Inner([1.0, 2.0]), {"k": Inner(3.0)}),
]


def test_trees_are_taken_apart_and_put_together() -> None:
    for tree in TREES:
        leaves, treedef = flatten(tree)
        assert unflatten(treedef, leaves) == tree


def test_dataclasses_are_trees_without_being_registered() -> None:
    leaves, _ = flatten(Outer(Inner([1.0, 2.0]), {"k": Inner(3.0)}))
    assert leaves == [1.0, 2.0, 3.0]


def test_a_class_is_a_leaf() -> None:
    assert flatten([Inner, 1.0])[0] == [Inner, 1.0]


def test_structures_that_differ_are_not_equal() -> None:
    assert flatten([1.0])[1] != flatten((1.0,))[1]
    assert flatten({"a": 1.0})[1] != flatten({"b": 1.0})[1]
    assert flatten(None)[1] != flatten(1.0)[1]


def test_leaves_are_named_as_one_would_write_them() -> None:
    tree = {"w": [1.0, Point(2.0, 3.0)], "d": Outer(4.0)}
    assert leaf_names(tree, "p") == [
        "p['d'].inner",
        "p['d'].w",
        "p['w'][0]",
        "p['w'][1].x",
        "p['w'][1].y",
    ]
