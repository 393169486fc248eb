"""Programs of functions of trees take and give trees, from files and from JAX too."""

from __future__ import annotations

import dataclasses
import sys
from collections import OrderedDict
from types import ModuleType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import FileError, PytreeError
from tenferro.serialization import dumps, loads
from tenferro_xla import from_jax, to_jax
from tests.serialization.headers import header_of, sealed_header, with_header


class Moments(NamedTuple):
    mean: Any
    rest: Any


@tn.tree_util.register_dataclass
@dataclasses.dataclass
class Scaled:
    value: Any
    label: Any = dataclasses.field(default=("a", 1, None), metadata={"static": True})


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Affine:
    weight: Any
    bias: Any
    name: Any = dataclasses.field(default="affine", metadata={"static": True})

    def __call__(self, x: Any) -> Any:
        return jnp.tanh(self.weight @ x + self.bias)


TREE = {"b": [1.0, None], "a": (Scaled(np.arange(3.0)), OrderedDict(z=2.0, y=3.0))}


def function(tree: Any, x: Any) -> Any:
    scaled, pair = tree["a"]
    value = scaled.value * x + pair["z"] - pair["y"]
    return Moments(tn.mean(value), {"scaled": Scaled(value, scaled.label), "none": None, "x": [x]})


def test_a_program_takes_and_gives_the_trees_of_its_function() -> None:
    program = tn.make_program(function, TREE, 1.0)
    for called in (program, loads(dumps(program)), tn.jit(program), tn.jit(loads(dumps(program)))):
        result = called(TREE, 2.0)
        assert isinstance(result, Moments)
        assert isinstance(result.rest["scaled"], Scaled)
        assert result.rest["scaled"].label == ("a", 1, None)
        assert result.rest["scaled"].value.tolist() == [-1.0, 1.0, 3.0]
        assert result.rest["none"] is None
        assert result.rest["x"][0].tolist() == 2.0
    assert dumps(loads(dumps(program))) == dumps(program)
    flat = loads(dumps(program))(*tn.tree.leaves(TREE), 2.0)
    assert [each.tolist() for each in flat] == [1.0, [-1.0, 1.0, 3.0], 2.0]
    slope = tn.grad(lambda tree: program(tree, 2.0).mean)(TREE)
    assert slope["a"][1]["z"].tolist() == 1.0
    stacked = tn.vmap(program, in_axes=(None, 0))(TREE, np.arange(2.0))
    assert stacked.mean.tolist() == [-1.0, 0.0]


def test_other_structures_are_refused_with_both() -> None:
    program = tn.make_program(function, TREE, 1.0)
    with pytest.raises(PytreeError, match=r"compiled for arguments of .*'a'.*, got .*'c'"):
        program({"c": 1.0}, 2.0)


def test_flat_programs_have_files_as_before() -> None:
    program = tn.make_program(lambda x, y: (x, y), 1.0, 2.0)
    assert "trees" not in header_of(dumps(program))
    assert program(1.0, 2.0)[1].tolist() == loads(dumps(program))(1.0, 2.0)[1].tolist() == 2.0
    assert tn.make_program(lambda x: {"y": (x,)}, 1.0)(3.0)["y"][0].tolist() == 3.0


def test_a_class_that_is_not_registered_is_asked_for() -> None:
    data = dumps(tn.make_program(lambda s: (s.value, s), Scaled(1.0)))
    other = with_names(data, "elsewhere:Scaled")
    loaded = loads(other)
    assert [each.tolist() for each in loaded(2.0)] == [2.0, 2.0]
    with pytest.raises(PytreeError, match="class Scaled of elsewhere, and none of this name is"):
        loaded(Scaled(2.0))
    assert "elsewhere" not in sys.modules
    module: Any = ModuleType("elsewhere")
    module.Scaled = late = type("Scaled", (Scaled,), {"__module__": "elsewhere"})
    tn.tree_util.register_dataclass(late)
    assert isinstance(loaded(late(2.0))[1], late)
    assert dumps(loaded) == other


def test_a_named_tuple_without_a_class_gets_one_of_its_names() -> None:
    data = dumps(tn.make_program(lambda x: Moments(x, 2 * x), 1.0))
    assert type(loads(data)(1.0)) is Moments
    loaded = loads(with_names(data, "json.tool:Moments"))
    result = loaded(1.0)
    assert (type(result).__name__, result._fields) == ("Moments", ("mean", "rest"))
    assert "json.tool" not in sys.modules


def test_what_a_file_cannot_hold_is_refused() -> None:
    program = tn.make_program(lambda s: {"y": s.value}, Scaled(1.0, tn.sin))
    with pytest.raises(FileError, match=r"the arguments has a function .*form=None"):
        dumps(program)
    assert loads(dumps(dataclasses.replace(program, form=None)))(2.0).tolist() == 2.0


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        ("x", "is not a tree"),
        ({"set": []}, "is not a tree"),
        ({"dict": [["b", None], ["a", "*"]]}, "must differ, and be in order"),
        ({"dict": [["a", "*", 1]]}, "a key and a tree"),
        ({"list": ["*", "*"]}, "as many leaves"),
        ({"value": 1}, "is not a tree"),
        ({"named_tuple": {"name": "m:C", "fields": ["class"], "children": ["*"]}}, "must be names"),
        ({"named_tuple": {"name": "m:C", "fields": ["a"], "children": []}}, "for each field"),
        (
            {"class": {"name": "m:f()", "static": None, "children": ["*"]}},
            "not the name of a class",
        ),
    ],
)
def test_damaged_trees_are_refused(tree: Any, text: str) -> None:
    data = dumps(tn.make_program(lambda x: [x], 1.0))
    header = header_of(data)
    header["trees"]["result"] = tree
    with pytest.raises(FileError, match=text):
        loads(with_header(data, sealed_header(header)))


def test_programs_cross_to_jax_and_back_with_their_trees() -> None:
    affine, x = Affine(np.eye(2), np.ones(2)), np.array([0.5, -0.5])
    program = loads(dumps(from_jax(lambda layer, x: {"y": layer(x), "same": layer}, affine, x)))
    result = program(affine, x)
    np.testing.assert_allclose(result["y"], np.tanh(x + 1))
    assert isinstance(result["same"], Affine)
    slope = tn.grad(lambda layer: tn.sum(program(layer, x)["y"]))(affine)
    np.testing.assert_allclose(slope.bias, 1 - np.tanh(x + 1) ** 2)
    back = to_jax(program)
    with jax.enable_x64(True):
        again = jax.jit(back)(affine, x)
        theirs = jax.grad(lambda layer: jnp.sum(back(layer, x)["y"]))(affine)
    assert isinstance(again["same"], Affine)
    np.testing.assert_allclose(theirs.bias, slope.bias)


def with_names(data: bytes, name: str) -> bytes:
    """A file with another name of all classes."""
    header = header_of(data)
    _rename(header["trees"], name)
    return with_header(data, sealed_header(header))


def _rename(value: Any, name: str) -> None:
    """Give every class of some trees another name."""
    for held in value.values() if isinstance(value, dict) else value:
        if isinstance(held, dict | list):
            _rename(held, name)
    if isinstance(value, dict) and "name" in value:
        value["name"] = name
