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


def test_a_registered_dataclass_is_made_again_without_its_init() -> None:
    made: list[Any] = []

    @tn.tree_util.register_dataclass
    @dataclasses.dataclass(frozen=True)
    class Dense:
        weight: Any
        bias: Any = None
        size: int = dataclasses.field(init=False)

        def __post_init__(self) -> None:
            made.append(float(self.weight[0]))
            object.__setattr__(self, "size", self.weight.shape[0])

    class Module:
        def __init__(self, size: int) -> None:
            self.dense, self.scale, self.name = Dense(np.ones(size)), 2.0, "module"

        dense: Any
        scale: Any
        name: str = tn.tree.static()

    module_class = tn.tree_util.register_dataclass(dataclasses.dataclass(init=False)(Module))

    def loss(module: Any, x: Any) -> Any:
        assert (module.name, module.dense.size) == ("module", 2)
        return tn.sum(module.dense.weight[: module.dense.size] * x) * module.scale

    module = module_class(2)
    found = tn.jit(tn.grad(loss), executor="numpy")(module, np.array([1.0, 2.0]))
    assert made == [1.0]
    assert found.dense.weight.tolist() == [2.0, 4.0]
    assert (found.scale.item(), found.dense.bias, found.dense.size) == (3.0, None, 2)
    assert tn.vmap(lambda m: m.dense.weight, axis_size=3, in_axes=None)(module).shape == (3, 2)


def test_fields_that_are_dropped_have_their_default() -> None:
    @dataclasses.dataclass
    class Cached:
        x: Any
        cache: Any = dataclasses.field(default_factory=dict)
        other: Any = None
        third: Any = dataclasses.field(init=False, default=3)

    tn.tree_util.register_dataclass(Cached, ["x"], [], ["cache", "other"])
    made = tn.tree.map(lambda x: x + 1, Cached(1, {"a": 1}, "other"))
    assert made == Cached(2)


class Odd:
    """A class whose trees are wrong in the way that a test chooses."""

    def __init__(self, flattened: Any) -> None:
        self.flattened = flattened


tn.tree_util.register_pytree_node(Odd, lambda odd: odd.flattened, lambda aux, xs: Odd((xs, aux)))


@pytest.mark.parametrize("made", [None, 1.0, (1.0,), ((1.0,), None, None), (1.0, None)])
def test_a_function_that_flattens_returns_a_pair(made: Any) -> None:
    with pytest.raises(PytreeError, match=r"flattens a Odd must return a pair, .* but returned"):
        tn.jit(lambda odd: odd, executor="numpy")(Odd(made))


def test_structures_that_cannot_be_compared_are_refused() -> None:
    f = tn.jit(lambda odd, x: x, executor="numpy")
    text = "an? Odd has beside its children is part of the structure, and cannot be compared"
    for rest in (np.ones(2), tn.ones(2)):
        odd, other = Odd(((), rest)), Odd(((), rest + rest))
        assert tn.tree.leaves(tn.tree.map(lambda x: x, odd)) == []
        for given in (odd, odd, other):
            with pytest.raises(PytreeError, match=text):
                f(given, 1.0)
        with pytest.raises(PytreeError, match=text):
            tn.tree.map(max, odd, other)
    assert f(Odd(((), "good")), 2.0).item() == 2.0


def test_what_is_not_hashable_is_compared_as_it_was() -> None:
    traced: list[Any] = []
    f = tn.jit(lambda odd, x: (traced.append(odd), x * odd.flattened[1]["m"])[1], executor="numpy")
    rest = {"m": 2}
    assert (f(Odd(((), rest)), 1.0), f(Odd(((), {"m": 2})), 3.0)) == (2.0, 6.0)
    assert len(traced) == 1
    rest["m"] = 3
    assert (f(Odd(((), rest)), 1.0), f(Odd(((), {"m": 2})), 3.0)) == (3.0, 6.0)
    assert len(traced) == 2


def test_a_leaf_may_be_told_by_its_path() -> None:
    tree = {"a": [1, {"b": 2}], "c": (3,)}

    def is_leaf(path: Any, node: Any) -> bool:
        return bool(path) and path[-1] == tn.tree_util.SequenceKey(1)

    found = tn.tree.map_with_path(
        lambda path, x: (tn.tree_util.keystr(path), x),
        tree,
        is_leaf=is_leaf,
        is_leaf_takes_path=True,
    )
    assert found == {"a": [("['a'][0]", 1), ("['a'][1]", {"b": 2})], "c": (("['c'][0]", 3),)}


def test_what_says_of_leaves_must_be_a_function() -> None:
    for call in (tn.tree.leaves, tn.tree.leaves_with_path):
        with pytest.raises(PytreeError, match="is_leaf must be a function, got an int"):
            call([1], is_leaf=3)


def test_an_unregistered_dataclass_is_refused_with_what_to_do() -> None:
    @dataclasses.dataclass
    class Plain:
        x: Any

    plain = Plain(1.0)
    text = (
        r"(is|returns) a Plain, not an array or number; make Plain a tree with tn.tree_util.regist"
    )
    for call in (
        lambda: tn.jit(lambda p: p.x, executor="numpy")(plain),
        lambda: tn.jit(lambda x: Plain(x), executor="numpy")(1.0),
        lambda: tn.grad(lambda p: p.x)(plain),
        lambda: tn.vmap(lambda p: p.x)(plain),
        lambda: tn.lax.scan(lambda c, x: (c, x), plain, np.ones(2)),
        lambda: tn.lax.map(Plain, np.ones(2)),
        lambda: tn.checkpoint(lambda p: p.x)(plain),
    ):
        with pytest.raises(PytreeError, match=text):
            call()
