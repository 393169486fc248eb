"""Keys in transforms, and what is refused."""

from __future__ import annotations

import re
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


def test_keys_are_arguments_and_results_of_programs() -> None:
    expect(run(lambda key: random.uniform(key, (3,)), KEY), random.uniform(KEY, (3,)))
    expect(run(lambda: random.uniform(random.key(42), (3,))), random.uniform(KEY, (3,)))
    expect(random.key_data(run(random.split, KEY)), random.key_data(random.split(KEY)))
    expect(run(random.uniform, random.PRNGKey(42)), random.uniform(KEY))


def test_vmap_over_keys_is_a_loop_over_keys() -> None:
    keys = random.split(KEY, 4)
    drawn = run(tn.vmap(lambda key: random.normal(key, (3,))), keys).numpy()
    for row, key in zip(drawn, keys, strict=True):
        np.testing.assert_array_equal(row, random.normal(key, (3,)).numpy())
    loops = run(tn.vmap(lambda key: random.gamma(key, [0.5, 3.0])), keys).numpy()
    np.testing.assert_allclose(
        loops, [random.gamma(key, [0.5, 3.0]).numpy() for key in keys], rtol=1e-14
    )


def test_one_key_under_vmap_draws_the_same_for_every_entry() -> None:
    drawn = run(tn.vmap(lambda x: x * 0 + random.uniform(KEY, (3,))), np.ones((2, 3)))
    for row in drawn:
        expect(row, random.uniform(KEY, (3,)))


def test_keys_are_carried_and_scanned() -> None:
    def carried(key: Any, _: Any) -> Any:
        key, own = random.split(key)
        return key, random.uniform(own)

    drawn = run(lambda key: tn.scan(carried, key, length=3)[1], KEY)
    key, expected = KEY, []
    for _ in range(3):
        key, own = random.split(key)
        expected.append(float(random.uniform(own)))
    assert drawn.tolist() == expected
    keys = random.split(KEY, 3)
    scanned = run(lambda keys: tn.scan(lambda c, key: (c, random.uniform(key)), 0.0, keys)[1], keys)
    assert scanned.tolist() == [float(random.uniform(key)) for key in keys]


def test_sizes_may_be_named() -> None:
    def drawn(x: Any, key: Any) -> Any:
        return x * 0 + random.normal(key, x.shape)

    expect(run(drawn, np.ones(5), KEY, symbolic={"x": ("n",)}), random.normal(KEY, (5,)))


def test_programs_with_keys_survive_a_file() -> None:
    x = tn.TracedTensor.input((2,), "uint32", name="key")
    program = tn.GraphCompiler().compile([random.normal(x, (3,))])
    loaded = tn.loads(tn.dumps(program))
    (result,) = tn.executor_named("numpy").run(loaded, {"key": random.key_data(KEY)})
    expect(result, random.normal(KEY, (3,)))


def test_derivatives_pass_keys_by() -> None:
    def weighted(key: Any, x: Any) -> Any:
        return tn.sum(x * random.normal(key, (3,)))

    expect(tn.grad(weighted, argnums=1)(KEY, 2.0), tn.sum(random.normal(KEY, (3,))))


ERRORS: list[tuple[Callable[[], Any], str]] = [
    (lambda: random.uniform(random.split(KEY, 3)),
     "random.uniform: a key has shape (), got keys (3,); vmap over them"),
    (lambda: random.key(1.5), "random.key: the seed must be an integer, got float"),  # type: ignore[arg-type]
    (lambda: random.key(True), "random.key: the seed must be an integer, got bool"),
    (lambda: random.key(2**70), "random.key: the seed must be an integer of 64 bits, got 118"),
    (lambda: random.key(np.ones(3, int)), "random.key: the seed must be an integer, got i64[3]"),
    (lambda: random.choice(KEY, 3, (5,), replace=False),
     "random.choice: 5 without replacement from 3"),
    (lambda: random.choice(KEY, 0, (5,)), "random.choice: 5 from 0 elements"),
    (lambda: random.choice(KEY, 3, (2,), p=[0.5, 0.5]),
     "random.choice: p must have 3 elements, one for each of a, got f64[2]"),
    (lambda: random.uniform(42), "random.uniform: a key is made by tn.random.key, got int"),
    (lambda: random.uniform((3,)), "random.uniform: a key is made by tn.random.key, got tuple"),
    (lambda: random.uniform(np.zeros(2)),
     "random.uniform: a key is made by tn.random.key, or is u32[2], got f64[2]"),
    (lambda: random.uniform(KEY, (3,), "int32"),
     "random.uniform: dtype must be floating-point, got i32"),
    (lambda: random.uniform(KEY, (3,), minval=np.ones(4)),
     "random.uniform: a parameter f64[4] does not broadcast to shape (3,)"),
    (lambda: random.gamma(KEY, np.ones((2, 3)), (3,)),
     "random.gamma: a parameter f64[2,3] does not broadcast to shape (3,)"),
    (lambda: random.uniform(KEY, (3,), maxval=1j), "random.uniform: maxval must be real"),
    (lambda: random.randint(KEY, (3,), 0.5, 3),
     "random.randint: minval must be an integer, got float"),
    (lambda: random.bits(KEY, (3,), "int32"),
     "random.bits: dtype must be an unsigned integer type, got i32"),
    (lambda: random.bernoulli(KEY, 1), "random.bernoulli: p must be floating-point, got int"),
    (lambda: random.gumbel(KEY, mode="x"), "random.gumbel: mode must be 'low' or 'high', got 'x'"),
    (lambda: random.categorical(KEY, np.ones((2, 3)), shape=(4, 5)),
     "random.categorical: shape (4, 5) must end with (2,), the axes of f64[2,3] without -1"),
    (lambda: random.categorical(KEY, np.ones(3), shape=(5,), replace=False),
     "random.categorical: 5 without replacement from 3"),
    (lambda: random.permutation(KEY, 2.5),  # type: ignore[arg-type]
     "random.permutation: x must be an integer or an array, got f64[]"),
    (lambda: random.fold_in(KEY, -1), "random.fold_in: data must be an integer of 32 bits, got -1"),
    (lambda: random.wrap_key_data([1, 2]),
     "random.wrap_key_data: words must be u32[..., 2], got i64[2]"),
    (lambda: KEY[0], "key: 1 indices for keys ()"),
    (lambda: np.asarray(KEY), "key: a key is not an array; tn.random.key_data(key) is"),
    (lambda: KEY + 1, "unsupported operand type(s) for +: 'Key' and 'int'"),  # type: ignore[operator]
    (lambda: random.Key(), "Key: keys are made by tn.random.key(seed), split and fold_in"),
    (lambda: tn.grad(lambda key: tn.sum(random.normal(key, (3,))))(KEY),
     "derivative by key.words: u32[2] is neither floating-point nor complex"),
    (lambda: random.multivariate_normal(KEY, [0.0], np.eye(2)),
     "random.multivariate_normal: mean must be [..., n] and cov [..., n, n], got f64[1] and "
     "f64[2,2]"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "text"), ERRORS, ids=[text for _, text in ERRORS])
def test_what_is_refused(call: Callable[[], Any], text: str) -> None:
    with pytest.raises((TypeError, ValueError), match="^" + re.escape(text)):
        call()


@pytest.fixture
def checking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenferro.traced.compiler.config", replace(Config(), check_keys=True))


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
