from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from typing import Any

import pytest

import tenferro as tn
from tenferro.errors import PytreeError
from tenferro.transforms import flatten, leaf_names, unflatten

Point = namedtuple("Point", "x y")


@tn.tree_util.register_dataclass
@dataclass(frozen=True)
class Inner:
    v: Any


@tn.tree_util.register_dataclass
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


def test_a_dataclass_is_a_leaf_until_it_is_registered() -> None:
    @dataclass
    class Point3:
        x: Any

    point = Point3([1.0])
    assert flatten([point])[0] == [point]
    tn.tree_util.register_dataclass(Point3)
    assert flatten([point])[0] == [1.0]
    leaves, _ = flatten(Outer(Inner([1.0, 2.0]), {"k": Inner(3.0)}))
    assert leaves == [1.0, 2.0, 3.0]


def test_dicts_are_made_again_in_the_order_of_their_keys() -> None:
    counted = defaultdict(list, {"z": 1.0, "y": {"b": Outer({"n": 2.0, "m": 3.0}), "a": 4.0}})
    leaves, treedef = flatten((counted, OrderedDict(b=1.0, a={"d": 5.0, "c": 6.0})))
    assert leaves == [4.0, 3.0, 2.0, 0, 1.0, 1.0, 6.0, 5.0]
    made, ordered = unflatten(treedef, leaves)
    assert list(made) == ["y", "z"]
    assert made["new"] == []
    assert list(made["y"]) == ["a", "b"]
    assert list(made["y"]["b"].inner) == ["m", "n"]
    assert list(ordered) == ["b", "a"]
    assert list(ordered["a"]) == ["c", "d"]


def test_keys_that_cannot_be_sorted_are_refused() -> None:
    for mixed in ({1: 1.0, "a": 2.0}, {1j: 1.0, 2j: 2.0}, {(1, "a"): 1.0, (1, 2): 2.0}):
        with pytest.raises(
            PytreeError, match=r"of a dict cannot be sorted: .*use keys of one type"
        ):
            flatten([mixed])
        assert flatten(OrderedDict(mixed))[0] == [1.0, 2.0]
    assert flatten({1j: 1.0})[0] == [1.0]


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
