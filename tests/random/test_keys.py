"""Keys, and the check that none is used twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro import random
from tenferro.config import Config
from tenferro.errors import KeyReuseError

KEY = random.key(42)


def run(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    return tn.jit(function, executor="numpy", **options)(*args)


def expect(result: Any, expected: Any) -> None:
    np.testing.assert_array_equal(np.asarray(result.numpy()), np.asarray(expected.numpy()))


def test_keys_are_indexed_unpacked_and_compared() -> None:
    keys = random.split(KEY, (2, 3))
    assert (keys.shape, keys.ndim, len(keys), keys[0].shape) == ((2, 3), 2, 2, (3,))
    assert keys[..., 0].shape == (2,)
    first, _ = keys
    assert (first == keys[0]).numpy().all()
    assert not (keys[0] == keys[1]).numpy().any()
    assert repr(KEY) == "Key(shape=(), words=[0, 42])"
    expect(random.key_data(random.wrap_key_data(random.key_data(keys))), random.key_data(keys))


@pytest.fixture
def checking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenferro.transforms.program.config", replace(Config(), check_keys=True))


def twice(key: Any) -> Any:
    first = random.uniform(key, (3,))
    return first + random.normal(key, (3,))


def a_parent(key: Any) -> Any:
    first, _ = random.split(key)
    return random.uniform(first) + random.uniform(key)


def a_const_of_a_loop(key: Any) -> Any:
    return tn.scan(lambda total, _: (total + random.uniform(key), None), 0.0, length=3)[0]


def a_carry_that_stays(key: Any) -> Any:
    def step(carry: Any, _: Any) -> Any:
        return (carry[0], carry[1] + random.uniform(carry[0])), None

    return tn.scan(step, (key, 0.0), length=3)[0][1]


def an_entry_of_xs(key: Any) -> Any:
    keys = random.split(key, 3)
    total, _ = tn.scan(lambda total, key: (total + random.uniform(key), None), 0.0, keys)
    return total + random.uniform(keys[1])


@pytest.mark.usefixtures("checking")
@pytest.mark.parametrize("function", [twice, a_parent, an_entry_of_xs])
def test_a_key_used_twice_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(
        KeyReuseError,
        match=r"^random: the key drawn from at test_keys\.py:\d+ is drawn from again at "
        r"test_keys\.py:\d+; make several keys of it with tn\.random\.split$",
    ):
        run(function, KEY)


@pytest.mark.usefixtures("checking")
@pytest.mark.parametrize("function", [a_const_of_a_loop, a_carry_that_stays])
def test_a_key_that_is_the_same_in_each_round_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(KeyReuseError, match="is the same in each round of the scan at test_keys"):
        run(function, KEY)


@pytest.mark.usefixtures("checking")
def test_keys_used_once_pass() -> None:
    def folded(key: Any) -> Any:
        return random.uniform(random.fold_in(key, 1)) + random.uniform(random.fold_in(key, 2))

    def branches(key: Any, x: Any) -> Any:
        return tn.cond(x > 0, random.uniform, random.normal, key)

    run(folded, KEY)
    run(branches, KEY, 1.0)
    run(tn.vmap(random.uniform), random.split(KEY, 3))
    for draw in (
        lambda key: random.uniform(key, (3,)) + random.uniform(key, (3,)),  # one value
        lambda key: random.poisson(key, 3.0),
        lambda key: random.gamma(key, [0.5, 2.0]),
        lambda key: random.permutation(key, 3000),
        lambda key: random.choice(key, 5, (2,), p=[0.2] * 5),
        lambda key: random.normal(key, (2,), "complex128"),
        lambda key: random.beta(key, 1.0, 2.0),
        lambda key: random.t(key, 3.0),
    ):
        run(draw, KEY)


def carried(scale: Any, key: Any) -> Any:
    def step(state: Any, _: Any) -> Any:
        key, own = random.split(state[1])
        return (state[0] * scale + random.normal(own), key), None

    return tn.scan(step, (1.0, key), length=4)[0][0]


def scanned(scale: Any, key: Any) -> Any:
    def step(total: Any, key: Any) -> Any:
        return total * scale + random.normal(key), None

    return tn.scan(step, 1.0, random.split(key, 9), checkpoints=2)[0]


def chosen(scale: Any, key: Any) -> Any:
    def drawn(draw: Callable[..., Any]) -> Callable[..., Any]:
        return lambda scale, key: scale * draw(key)

    return tn.cond(scale > 0, drawn(random.uniform), drawn(random.normal), scale, key)


@pytest.mark.usefixtures("checking")
@pytest.mark.parametrize("function", [carried, scanned, chosen])
def test_derivatives_use_no_key_again(function: Callable[..., Any]) -> None:
    run(tn.value_and_grad(function), 0.5, KEY)


def test_trees_made_of_keys_compare_by_what_they_hold() -> None:
    dtypes = tn.tree.map(lambda x: x.dtype, {"key": KEY, "x": np.ones(3)})
    assert dtypes == tn.tree.map(lambda x: x.dtype, {"key": random.key(5), "x": np.zeros(2)})
