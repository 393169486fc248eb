"""`tn.tree` is `jax.tree`, over tenferro's trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import PytreeError


@tn.tree_util.register_dataclass
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


def test_registered_dataclasses_are_trees() -> None:
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


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_what_a_function_gets_does_not_depend_on_the_order_of_dicts(executor: str) -> None:
    def f(d: Any, **named: Any) -> Any:
        first, second = d["p"].values()
        return {"z": first - second, "a": next(iter(named.values()))}

    forwards, backwards = {"p": {"a": 5.0, "b": 3.0}}, {"p": {"b": 3.0, "a": 5.0}}
    for order in ((forwards, backwards), (backwards, forwards)):
        compiled = tn.jit(f, executor=executor)
        for given in (*order, *order):
            made = compiled(given, y=2.0, x=1.0)
            assert (list(made), made["z"].item(), made["a"].item()) == (["a", "z"], 2.0, 1.0)


def test_every_transform_sorts_keys() -> None:
    tree = {"b": np.array([3.0, 4.0]), "a": np.array([5.0, 6.0])}

    def gap(d: Any) -> Any:
        first, second = d.values()
        return tn.sum(first - 2 * second)

    def carried(c: Any, x: Any) -> Any:
        first, second = c.values()
        a, b = x.values()
        return {"b": second, "a": first + a - 2 * b}, {"v": b, "u": a}

    outer = tn.jit(lambda d: tn.jit(gap)(d), executor="numpy")
    results = [
        gap(dict(sorted(tree.items()))), tn.jit(gap, executor="numpy")(tree), outer(tree),
        tn.value_and_grad(gap)(tree)[0], tn.sum(tn.vmap(gap)(tree)),
        tn.sum(tn.vmap(gap, in_axes=({"b": 0, "a": 0},))(tree)), tn.checkpoint(gap)(tree),
        tn.cond(True, gap, gap, tree), tn.sum(tn.lax.map(gap, tree)),
        tn.jvp(gap, (tree,), (tree,))[1],
        tn.pure_callback(lambda d: np.array(gap(d)), tn.TensorSpec((), "float64"), tree),
    ]  # fmt: skip
    assert [float(result) for result in results] == [-3.0] * len(results)
    carry, stacked = tn.scan(carried, {"b": 0.0, "a": 0.0}, tree)
    assert (list(carry), float(carry["a"]), list(stacked)) == (["a", "b"], -3.0, ["u", "v"])
    for made in (tn.grad(gap)(tree), tn.tree.map(lambda x: x, tree), tn.vjp(gap, tree)[1](1.0)[0]):
        assert list(made) == ["a", "b"]
    assert list(tn.tree.broadcast(1, {"b": 0, "a": 0})) == ["a", "b"]
    assert list(tn.jacrev(lambda d: d["a"] * d["b"])(tree)) == ["a", "b"]
