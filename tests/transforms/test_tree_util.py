"""Classes that users make trees."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import PytreeError


@tn.tree_util.register_pytree_node_class
class Pair:
    def __init__(self, first: Any, second: Any, name: str = "pair") -> None:
        self.first, self.second, self.name = first, second, name

    def tree_flatten(self) -> Any:
        return (self.first, self.second), self.name

    @classmethod
    def tree_unflatten(cls, aux: Any, children: Any) -> Pair:
        return cls(*children, name=aux)


@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any
    name: str


tn.tree_util.register_dataclass(Layer, data_fields=["weight", "bias"], meta_fields=["name"])


def test_a_registered_class_passes_through_transforms() -> None:
    def energy(pair: Pair) -> Any:
        return pair.first * pair.second * (2.0 if pair.name == "pair" else 1.0)

    slope = tn.jit(tn.grad(energy), executor="numpy")(Pair(2.0, 3.0))
    assert (slope.first.item(), slope.second.item(), slope.name) == (6.0, 4.0, "pair")
    assert tn.grad(energy)(Pair(2.0, 3.0, "other")).first.item() == 3.0
    mapped = tn.vmap(energy)(Pair(np.ones(2), np.ones(2)))
    assert mapped.tolist() == [2.0, 2.0]
    assert tn.tree.leaves([Pair(1, 2), None]) == [1, 2]


def test_fields_of_a_dataclass_may_be_structure() -> None:
    layer = Layer(np.ones(2), 1.0, "dense")
    result = tn.jit(lambda x: Layer(x.weight + 1, x.bias, x.name), executor="numpy")(layer)
    assert (result.weight.tolist(), result.name) == ([2.0, 2.0], "dense")
    assert tn.tree.structure(layer) != tn.tree.structure(Layer(1.0, 1.0, "other"))


def test_trees_under_older_names() -> None:
    util = tn.tree_util
    assert util.tree_map is tn.tree.map
    partial = util.Partial(lambda x, y, z: x + y * z, 1.0, z=2.0)
    assert tn.jit(lambda f, y: f(y), executor="numpy")(partial, 3.0).item() == 7.0
    assert tn.tree.broadcast((1, 2), (0, {"a": 0, "b": [0]})) == (1, {"a": 2, "b": [2]})
    assert tn.tree.reduce_associative(lambda x, y: x + y, ["a", "b", "c"]) == "abc"
    assert tn.tree.reduce_associative(max, [], identity=0) == 0
    assert util.all_leaves([1, 2])
    assert util.keystr(("a", 0)) == "['a'][0]"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tn.tree_util.register_pytree_node_class(Pair), "register_pytree_node: instances"),
        (lambda: tn.tree_util.register_pytree_node_class(int), "register_pytree_node_class: <cla"),
        (lambda: tn.tree_util.register_pytree_node(3, None, None), "register_pytree_node: takes a"),  # type: ignore[arg-type]
        (lambda: tn.tree_util.register_dataclass(Pair), "register_dataclass: takes a dataclass, "),
        (lambda: tn.tree_util.register_dataclass(Layer, ["weight"], ["name"]), "register_datac"),
        (lambda: tn.tree.broadcast([1], (1,)), "tree.broadcast: "),
        (lambda: tn.tree.reduce_associative(max, []), "tree.reduce_associative: the tree has no"),
    ],
)
def test_wrong_classes_are_refused(call: Any, text: str) -> None:
    with pytest.raises(PytreeError, match="^" + text):
        call()
