"""The four kinds of array have the members that the protocols name."""

from __future__ import annotations

from types import FunctionType

import numpy as np
import pytest

import tenferro as tn
from tenferro.ir import AnyTensor
from tenferro.ir.typing import Array, ArrayMethods, Elements, ElementsAt

VALUES = np.array([[1.0, 2.0], [3.0, 4.0]])
TENSORS = {
    "concrete": tn.Tensor(VALUES),
    "traced": tn.TracedTensor.input((2, 2)),
    "eager": tn.EagerRuntime().variable(VALUES),
}
ARRAYS = {**TENSORS, "numpy": VALUES}


def members(protocol: type) -> set[str]:
    """The methods and properties that a protocol names."""
    return {
        name
        for base in protocol.__mro__
        if base.__module__ == Array.__module__
        for name, value in vars(base).items()
        if isinstance(value, FunctionType | property)
    } - {"__init__", "__subclasshook__"}


@pytest.mark.parametrize("kind", ARRAYS)
def test_every_kind_of_array_has_the_members_of_an_array(kind: str) -> None:
    assert members(Array) - set(dir(ARRAYS[kind])) == set()


@pytest.mark.parametrize("kind", TENSORS)
def test_every_kind_of_tensor_has_the_members_of_a_tensor(kind: str) -> None:
    tensor = TENSORS[kind]
    assert members(AnyTensor) - set(dir(tensor)) == set()
    assert members(ElementsAt) - set(dir(tensor.at)) == set()
    assert members(Elements) - set(dir(tensor.at[0])) == set()


def test_members_are_those_that_a_protocol_names() -> None:
    assert {"sum", "T", "__add__", "__array__"} < members(ArrayMethods) < members(AnyTensor)
    assert "at" in members(AnyTensor) - members(Array)


def test_the_front_door_leads_to_the_types() -> None:
    assert tn.typing.Array is Array
