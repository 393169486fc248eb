"""Draws under transforms, in loops, in files and on XLA are those outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro import random
from tenferro.errors import BatchingError
from tests.random.calls import CALLS, LOOPS, draw

KEY = random.key(42)
BY_ARITHMETIC = {"bernoulli", "bits", "permutation", "rademacher", "randint", "uniform"}
"""Functions whose results are the same bits on any executor."""

exhaustive = pytest.mark.exhaustive


def run(function: Callable[..., Any], *args: Any, executor: str = "numpy", **options: Any) -> Any:
    return tn.jit(function, executor=executor, **options)(*args)


def expect(result: Any, expected: Any) -> None:
    np.testing.assert_array_equal(np.asarray(result.numpy()), np.asarray(expected.numpy()))


def expect_near(result: Any, expected: Any) -> None:
    """Equal but for rounding: XLA has other logarithms, and sums in another order."""
    np.testing.assert_allclose(np.asarray(result), np.asarray(expected), rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "executor"),
    [
        *(pytest.param(name, "numpy", marks=[exhaustive] * (name in LOOPS)) for name in CALLS),
        *(
            pytest.param(name, "xla", marks=exhaustive)
            for name in CALLS
            if name not in LOOPS or name in ("gamma", "poisson")
        ),
    ],
)
def test_a_function_draws_the_same_everywhere(name: str, executor: str) -> None:
    keys = random.split(KEY, 2)

    def everywhere(key: Any, keys: Any) -> Any:
        def drawn(key: Any) -> Any:
            return draw(name, key)

        scanned = tn.scan(lambda carry, key: (carry, drawn(key)), 0, keys)[1]
        return drawn(key), tn.vmap(drawn)(keys), scanned

    one, mapped, scanned = run(everywhere, KEY, keys, executor=executor)
    expect_near(one, draw(name, KEY))
    expected = [draw(name, key).numpy() for key in keys]
    expect_near(mapped, expected)
    expect_near(scanned, expected)
    program = tn.loads(tn.dumps(tn.make_program(lambda key: draw(name, key), KEY)))
    (result,) = tn.executor_named(executor).run(program, {"key.words": random.key_data(KEY)})
    expect_near(result, draw(name, KEY))


def test_gamma_numbers_are_drawn_by_loops_under_vmap() -> None:
    keys = random.split(KEY, 3)
    drawn = run(tn.vmap(lambda key: random.gamma(key, [0.5, 3.0])), keys)
    expect_near(drawn, [random.gamma(key, [0.5, 3.0]).numpy() for key in keys])


@pytest.mark.exhaustive
def test_xla_draws_the_same_bits() -> None:
    names = sorted(BY_ARITHMETIC)

    def draws(key: Any) -> Any:
        written_out = random.bits(key, (5000,), "uint64")
        return written_out, random.bits(key, (50,), "uint16"), [draw(name, key) for name in names]

    ours, theirs = (run(draws, KEY, executor=name) for name in ("numpy", "xla"))
    for one, other in zip([*ours[:2], *ours[2]], [*theirs[:2], *theirs[2]], strict=True):
        expect(one, other)


def test_axes_of_vmap_are_those_of_the_array_of_keys() -> None:
    keys = random.split(KEY, (2, 3))
    rows = np.stack([[random.uniform(key).numpy() for key in row] for row in keys])
    twice = tn.vmap(tn.vmap(random.uniform))
    np.testing.assert_array_equal(twice(keys).numpy(), rows)
    for axis in (1, -1):
        drawn = tn.vmap(tn.vmap(random.uniform), in_axes=axis)(keys)
        np.testing.assert_array_equal(drawn.numpy(), rows.T)
    parts = tn.vmap(lambda key: random.split(key, 4), out_axes=-1)(keys[0])
    assert parts.shape == (4, 3)
    expect(random.key_data(parts[:, 1]), random.key_data(random.split(keys[0, 1], 4)))
    single = tn.vmap(lambda number: random.fold_in(KEY, number), out_axes=-1)(np.arange(3))
    assert single.shape == (3,)


AXES: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: tn.vmap(random.uniform)(KEY),
        "argument key.words: u32[2], whose last axis cannot be mapped",
    ),
    (
        lambda: tn.vmap(random.uniform, 1)(random.split(KEY)),
        "argument key.words: u32[2,2], whose last axis cannot be mapped",
    ),
    (
        lambda: tn.vmap(random.fold_in, (None, 0), 1)(KEY, np.arange(3)),
        "out_axes 1 is out of range for result .words: u32[3,2], whose last axis cannot be mapped",
    ),
]


@pytest.mark.parametrize(("call", "text"), AXES, ids=[text for _, text in AXES])
def test_words_are_not_an_axis(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(BatchingError) as error:
        call()
    assert text in str(error.value)


def test_keys_are_arguments_and_results_of_programs() -> None:
    expect(run(lambda: random.uniform(random.key(42), (3,))), random.uniform(KEY, (3,)))
    expect(random.key_data(run(random.split, KEY)), random.key_data(random.split(KEY)))
    expect(run(random.uniform, random.PRNGKey(42)), random.uniform(KEY))


def test_one_key_under_vmap_draws_the_same_for_every_entry() -> None:
    drawn = run(tn.vmap(lambda x: x * 0 + random.uniform(KEY, (3,))), np.ones((2, 3)))
    for row in drawn:
        expect(row, random.uniform(KEY, (3,)))


def test_keys_are_carried() -> None:
    def carried(key: Any, _: Any) -> Any:
        key, own = random.split(key)
        return key, random.uniform(own)

    drawn = run(lambda key: tn.scan(carried, key, length=3)[1], KEY)
    key, expected = KEY, []
    for _ in range(3):
        key, own = random.split(key)
        expected.append(float(random.uniform(own)))
    assert drawn.tolist() == expected


def test_sizes_may_be_named() -> None:
    def drawn(x: Any, key: Any) -> Any:
        return x * 0 + random.normal(key, x.shape)

    expect(run(drawn, np.ones(5), KEY, symbolic={"x": ("n",)}), random.normal(KEY, (5,)))


def test_derivatives_pass_keys_by() -> None:
    def weighted(key: Any, x: Any) -> Any:
        return tn.sum(x * random.normal(key, (3,)))

    expect(tn.grad(weighted, argnums=1)(KEY, 2.0), tn.sum(random.normal(KEY, (3,))))


def test_eager_tensors_record_draws() -> None:
    runtime = tn.EagerRuntime("numpy")
    a = runtime.variable(np.array([0.5, 3.0]))
    tn.sum(random.gamma(KEY, a)).backward()
    expected = tn.grad(lambda a: tn.sum(random.gamma(KEY, a)))(np.array([0.5, 3.0]))
    expect_near(a.grad, expected)
