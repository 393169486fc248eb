"""Sites: the line of the user's code that an op comes from."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

import tenferro as tn

X = tn.TensorSpec((3,))


class Lazy:
    """Computes within frames of `functools`."""

    def __init__(self, x: Any) -> None:
        self.x = x

    @functools.cached_property
    def squared(self) -> Any:
        return self.x * self.x


def directly(x: Any) -> Any:
    return x * x


def through_the_standard_library(x: Any) -> Any:
    return Lazy(x).squared


@functools.singledispatch
def dispatched(x: Any) -> Any:
    return x * x


def reduced(x: Any) -> Any:
    return functools.reduce(tn.multiply, [x, x])


@pytest.mark.parametrize("f", [directly, through_the_standard_library, dispatched, reduced])
def test_an_op_carries_the_line_of_the_user_s_code(f: Callable[[Any], Any]) -> None:
    (step,) = tn.make_program(f, X).exec_program.instructions
    assert step.site is not None
    file, line = step.site.split(":")
    assert file == "test_trace_sites.py"
    with open(__file__, encoding="utf-8") as source:
        text = source.read().splitlines()[int(line) - 1]
    assert "x" in text


def test_code_that_is_in_no_file_has_no_site() -> None:
    namespace: dict[str, Any] = {}
    exec("def f(x): return x * x", namespace)
    (step,) = tn.make_program(namespace["f"], X).exec_program.instructions
    assert step.site is None
