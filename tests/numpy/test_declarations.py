"""What users call is the declaration of an array function."""

from __future__ import annotations

import copy
import inspect
import pickle
import traceback
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

import tenferro as tn

PUBLIC = {
    name: function
    for name in tn.numpy.__all__
    if isinstance(function := getattr(tn, name), FunctionType) and hasattr(function, "body")
}
"""What `array_function` made, aliases among it."""


def test_most_functions_are_declared_once() -> None:
    assert len({id(function) for function in PUBLIC.values()}) >= 144


@pytest.mark.parametrize("name", PUBLIC)
def test_name_parameters_and_docstring_are_those_of_the_declaration(name: str) -> None:
    function: Any = PUBLIC[name]
    declared = function.body
    assert function.__name__ == function.__qualname__ == declared.__name__
    assert getattr(tn, function.__name__) is function
    assert function.__doc__ == declared.__doc__
    assert shown(function) == shown(declared)


def shown(function: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
    """Names, kinds and defaults of parameters."""
    parameters = inspect.signature(function).parameters.values()
    return [(each.name, each.kind, each.default) for each in parameters]


@pytest.mark.parametrize("name", PUBLIC)
def test_a_function_is_copied_and_pickled_as_itself(name: str) -> None:
    assert copy.deepcopy(PUBLIC[name]) is PUBLIC[name]
    assert pickle.loads(pickle.dumps(PUBLIC[name])) is PUBLIC[name]


def test_tools_find_the_source_of_the_declaration() -> None:
    assert "def softplus(x: ArrayLike" in inspect.getsource(tn.softplus)
    with pytest.raises(tn.TenferroError) as caught:
        tn.sum([1.0], axis=3)
    assert traceback.extract_tb(caught.tb)[1].name == "sum"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tn.sum([1], axes=0), r"sum\(\) got an unexpected keyword argument 'axes'"),
        (lambda: tn.sum(), r"sum\(\) missing 1 required positional argument: 'a'"),
        (lambda: tn.add(1, 2, 3), r"add\(\) takes 2 positional arguments but 3 were given"),
        (lambda: tn.sum([1], 0, axis=0), r"sum\(\) got multiple values for argument 'axis'"),
        (lambda: tn.sum([1], *[0] * 9), r"sum\(\) takes from 1 to 8 positional arguments"),
    ],
)
def test_python_refuses_wrong_arguments_in_the_name_of_the_function(
    call: Callable[[], Any], text: str
) -> None:
    with pytest.raises(TypeError, match=text):
        call()


def test_operands_may_be_given_by_name() -> None:
    assert tn.subtract(x2=1, x1=[2, 3]).tolist() == [1, 2]
    assert tn.where(x=1, condition=[True, False], y=0).tolist() == [1, 0]


def test_a_number_for_an_operand_that_is_a_value_becomes_an_array() -> None:
    assert tn.ravel(2.0).tolist() == [2.0]
    assert tn.ravel(True).dtype == tn.bool
