"""The options of `tn.jit` that are JAX's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import TracingError

X = np.arange(4.0)


def head(n: int, x: Any) -> Any:
    return x[:n] * 2


@pytest.mark.parametrize("numbers", [0, (0,), [-2]])
def test_static_arguments_are_given_by_position(numbers: Any) -> None:
    f = tn.jit(head, executor="numpy", static_argnums=numbers)
    assert f(2, X).tolist() == [0, 2]
    assert f(n=3, x=X).tolist() == [0, 2, 4]
    assert f.stats().misses == 2


def test_jit_is_a_decorator_with_options_as_in_jax() -> None:
    @functools.partial(tn.jit, executor="numpy", static_argnums=0)
    def f(n: int, x: Any) -> Any:
        return x[:n]

    @tn.jit(static_argnums=(0,), executor="numpy")
    def g(n: int, x: Any) -> Any:
        return x[:n]

    assert f(1, X).tolist() == g(1, X).tolist() == [0]


def test_donated_arguments_are_given_by_name() -> None:
    f = tn.jit(lambda n, x: x * n, static_argnums=0, donate_argnames="x")
    assert f(2, tn.ones(2)).tolist() == [2, 2]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tn.jit(head, static_argnums=2), "static_argnums 2 is not the position of a param"),
        (
            lambda: tn.jit(head, static_argnums="n"),
            "static_argnums 'n' is not the position .* n, x",
        ),  # type: ignore[call-overload]
        (
            lambda: tn.jit(head, donate_argnames="y"),
            "donate_argnames has 'y', which is not a param",
        ),
        (lambda: tn.jit(head, keep_unused=True), "keep_unused=True is what every program does"),
        (lambda: tn.jit(head, inline=True), "inline=True is what every function does"),
        (lambda: tn.jit(inline=True), "inline=True is what every function does"),
    ],
)
def test_a_wrong_option_is_refused(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(TracingError, match=text):
        call()
