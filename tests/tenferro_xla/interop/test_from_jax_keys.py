"""JAX functions that draw random numbers, as programs: they draw the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax, random

import tenferro as tn
from tenferro.errors import DTypeError, ExecutorError
from tenferro_xla import from_jax

OUTSIDE = random.key(5)
FAST = {"xla_backend_optimization_level": 0}


def walk(state: Any) -> Any:
    return random.split(state[0])[0], state[1] + random.uniform(state[0])


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "floats": lambda k: (random.normal(k, (3,)), random.normal(k, (2,), jnp.float32)),
    "bits": lambda k: [random.bits(k, (2,), f"uint{width}") for width in (8, 16, 32, 64)],
    "integers": lambda k: (random.randint(k, (5,), -3, 11), random.bernoulli(k, 0.3, (6,))),
    "choices": lambda k: (random.permutation(k, 8), random.choice(k, 9, (4,), replace=False)),
    "formulas": lambda k: (random.truncated_normal(k, -1.0, 2.0, (2,)), random.gumbel(k, (2,))),
    "gamma": lambda k: (random.gamma(k, jnp.array([0.5, 2.0])), random.beta(k, 2.0, 3.0)),
    "gamma in a batch": lambda k: jax.vmap(lambda q: random.gamma(q, 2.0, (2,)))(keys(k, 2)),
    "poisson": lambda k: (random.poisson(k, 4.0, (3,)), random.binomial(k, 9, 0.3, (3,))),
    "keys of a scan": lambda k: lax.scan(lambda c, q: (c + random.normal(q), c), 0.0, keys(k, 3)),
    "carried key": lambda k: lax.scan(lambda c, _: (keys(c, 1)[0], random.normal(c)), k, length=3),
    "while": lambda k: lax.while_loop(lambda state: state[1] < 2, walk, (k, 0.0)),
    "while in a batch": lambda k: jax.vmap(
        lambda q: lax.while_loop(lambda state: state[1] < 2, walk, (q, 0.0))
    )(keys(k, 2)),
    "cond": lambda k: lax.cond(random.bernoulli(k), random.normal, random.uniform, k),
    "batch of numbers": lambda k: jax.vmap(lambda i: random.fold_in(k, i))(jnp.arange(3)),
    "seeds": lambda k: (random.normal(random.key(3)), keys(random.PRNGKey(3), 2)),
    "closed over": lambda k: random.uniform(random.fold_in(OUTSIDE, 1)),
    "moved": lambda k: keys(k, 6).reshape(2, 3)[1, ::2],
    "gathered": lambda k: keys(k, 4)[jnp.array([2, 0])],
    "chosen": lambda k: jnp.where(jnp.array([True, False]), keys(k, 2), keys(OUTSIDE, 2)),
    "joined": lambda k: jnp.concatenate([keys(k, 2), keys(k, 1)]),
}


def keys(key: Any, count: int) -> Any:
    return random.split(key, count)


def words(value: Any) -> Any:
    return random.key_data(value) if jnp.issubdtype(value.dtype, jax.dtypes.prng_key) else value


USUAL = ["floats", "bits", "keys of a scan", "batch of numbers", "closed over", "moved", "chosen"]


@pytest.mark.parametrize(
    ("names", "executor"),
    [
        (USUAL, "numpy"),
        pytest.param([*FUNCTIONS], "numpy", marks=pytest.mark.exhaustive),
        pytest.param([*FUNCTIONS], "xla", marks=pytest.mark.exhaustive),
    ],
    ids=["usual", "all", "all on XLA"],
)
def test_the_numbers_are_those_of_jax(names: list[str], executor: str) -> None:
    def everything(key: Any) -> Any:
        return [jax.tree.map(words, FUNCTIONS[name](key)) for name in names]

    with jax.enable_x64(True):
        compiled = jax.jit(everything).lower(random.key(11)).compile(FAST)
        expected = jax.tree.leaves(compiled(random.key(11)))
    program = from_jax(everything, tn.random.key(11))
    found = tn.jit(lambda key: program(key), executor=executor)(tn.random.PRNGKey(11))
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, 1e-6 if one.dtype == np.float32 else 1e-12)


def test_a_key_of_jax_is_a_spec_and_the_program_is_one_like_others() -> None:
    program = from_jax(lambda key, x: x * random.normal(key, (2,)), random.key(0), np.ones(2))
    loaded = tn.loads(tn.dumps(program))
    slope = tn.grad(lambda x: tn.sum(loaded(tn.random.PRNGKey(3), x)))(np.ones(2))
    np.testing.assert_allclose(slope, tn.random.normal(tn.random.key(3), (2,)), 1e-12)
    with pytest.raises(DTypeError, match=r"got Key for input 'key'; pass the leaves of trees one"):
        program(tn.random.key(3), np.ones(2))


def test_keys_with_other_bits_are_refused() -> None:
    with pytest.raises(ExecutorError, match=r"key<rbg> is a key that does not make the bits of tn"):
        from_jax(lambda: random.normal(random.key(0, impl="rbg")))
    with (
        jax.threefry_partitionable(False),
        pytest.raises(ExecutorError, match=r"'random_bits'.* draws other numbers than tn.rand"),
    ):
        from_jax(random.normal, random.key(0))
