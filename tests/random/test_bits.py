"""Keys, bits, integers and choices are those of JAX, bit for bit."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn

SEEDS = [0, 1, 42, -1, 2**31, 2**63 - 1]
SHAPES = [(), (2, 3), (0, 3)]

exhaustive = pytest.mark.exhaustive


@pytest.fixture(autouse=True)
def double() -> Any:
    with jax.enable_x64(True):
        yield


def same(ours: Any, theirs: Any) -> None:
    result, expected = ours.numpy(), np.asarray(theirs)
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("seed", [*(pytest.param(n, marks=exhaustive) for n in SEEDS[:-1]), -3])
def test_keys_are_those_of_jax(seed: int) -> None:
    ours, theirs = tn.random.key(seed), jax.random.key(seed)
    same(tn.random.key_data(ours), jax.random.key_data(theirs))
    same(tn.random.PRNGKey(seed), jax.random.PRNGKey(seed))
    for shape in (2, (), (3, 2), (0,)):
        same(
            tn.random.key_data(tn.random.split(ours, shape)),
            jax.random.key_data(jax.random.split(theirs, shape)),
        )
    for data in (0, 1, 2**32 - 1):
        same(
            tn.random.key_data(tn.random.fold_in(ours, data)),
            jax.random.key_data(jax.random.fold_in(theirs, data)),
        )


def draws(module: Any, real: str, integer: str) -> Any:
    """A function of a key that draws numbers of these dtypes, in `tn.random` or `jax.random`."""

    def drawn(key: Any) -> Any:
        one, two, three, four = module.split(key, 4)
        return [
            module.uniform(one, (5,), real),
            module.randint(two, (5,), -3, 1000, integer),
            module.bits(three, (5,), "uint32"),
            module.bernoulli(module.fold_in(key, 3), np.full(5, 0.5, real)),
            module.choice(four, np.arange(9, dtype=integer), (4,), replace=False),
        ]

    return drawn


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("wide", "real", "integer"),
    [
        (True, "float64", "int64"),
        pytest.param(True, "float32", "int32", marks=exhaustive),
        pytest.param(False, "float32", "int32", marks=exhaustive),
    ],
)
def test_draws_are_those_of_jax_with_64_bits_or_without(
    wide: bool, real: str, integer: str
) -> None:
    with jax.enable_x64(wide):
        theirs = jax.jit(draws(jax.random, real, integer))(jax.random.key(5))
    for one, other in zip(draws(tn.random, real, integer)(tn.random.key(5)), theirs, strict=True):
        same(one, other)


@exhaustive
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint32", "int64", "uint64"])
def test_seeds_may_be_arrays(dtype: str) -> None:
    seed = np.array(-3 if dtype.startswith("i") else 3, dtype)
    same(tn.random.PRNGKey(seed), jax.random.PRNGKey(seed))
    same(tn.jit(tn.random.PRNGKey, executor="numpy")(seed), jax.random.PRNGKey(seed))


@exhaustive
@pytest.mark.parametrize("shape", SHAPES)
def test_bits_are_those_of_jax(shape: tuple[int, ...]) -> None:
    for seed in SEEDS[-2:]:
        ours, theirs = tn.random.key(seed), jax.random.key(seed)
        for dtype in ("uint8", "uint16", "uint32", "uint64"):
            same(tn.random.bits(ours, shape, dtype), jax.random.bits(theirs, shape, dtype))
        for dtype in ("float16", "float32", "float64"):
            same(tn.random.uniform(ours, shape, dtype), jax.random.uniform(theirs, shape, dtype))


BOUNDS = [(0, 10), (-5, 100), (0, 2**31 - 1), (5, 5), (7, 3), (-(2**40), 2**50)]


@exhaustive
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint32", "int64", "uint64"])
def test_integers_are_those_of_jax(dtype: str) -> None:
    ours, theirs = tn.random.key(3), jax.random.key(3)
    narrow = np.dtype(dtype).itemsize < 4
    for low, high in BOUNDS[:-1] if narrow else BOUNDS:
        same(
            tn.random.randint(ours, (20,), low, high, dtype),
            jax.random.randint(theirs, (20,), low, high, dtype),
        )
    lows, highs = np.array([0, 1, -2]), np.array([[10], [2**31 - 1]])
    same(
        tn.random.randint(ours, (2, 3), lows, highs, dtype),
        jax.random.randint(theirs, (2, 3), lows, highs, dtype),
    )


def test_bounds_beyond_a_narrow_type_are_cut_to_it() -> None:
    numbers = tn.random.randint(tn.random.key(0), (500,), -(2**40), 2**50, "int8").numpy()
    assert numbers.min() < -120
    assert numbers.max() > 120


@exhaustive
@pytest.mark.parametrize("p", [0.3, np.float32(0.3), np.array([0.1, 0.9])])
def test_coins_are_those_of_jax(p: Any) -> None:
    ours, theirs = tn.random.key(5), jax.random.key(5)
    for mode in ("low", "high"):
        same(
            tn.random.bernoulli(ours, p, (9, 2), mode=mode),
            jax.random.bernoulli(theirs, p, (9, 2), mode=mode),
        )
    same(tn.random.bernoulli(ours, p), jax.random.bernoulli(theirs, p))
    same(tn.random.rademacher(ours, (9,)), jax.random.rademacher(theirs, (9,)))
    same(tn.random.rademacher(ours, (9,), "f32"), jax.random.rademacher(theirs, (9,), "float32"))


MATRIX = np.random.default_rng(0).normal(size=(3, 5))


@exhaustive
def test_permutations_are_those_of_jax() -> None:
    ours, theirs = tn.random.key(6), jax.random.key(6)
    for x in (10, 0, 3000, np.arange(3.0), MATRIX):
        same(tn.random.permutation(ours, x), jax.random.permutation(theirs, x))
    for apart in (False, True):
        same(
            tn.random.permutation(ours, MATRIX, 1, apart),
            jax.random.permutation(theirs, MATRIX, 1, apart),
        )


@exhaustive
@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("p", [None, np.array([0.1, 0.2, 0, 0.4, 0.3])])
def test_choices_are_those_of_jax(replace: bool, p: Any) -> None:
    ours, theirs = tn.random.key(7), jax.random.key(7)
    for a, axis in ((5, 0), (MATRIX, 1)):
        for shape in ((2, 2),):
            same(
                tn.random.choice(ours, a, shape, replace, p, axis),
                jax.random.choice(theirs, a, shape, replace, p, axis),
            )
    assert tn.random.choice(ours, 5, (0,), replace, p).shape == (0,)


@exhaustive
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_categories_are_those_of_jax(axis: int) -> None:
    ours, theirs = tn.random.key(8), jax.random.key(8)
    rest = tuple(int(n) for n in np.delete(MATRIX.shape, axis))
    for shape in (None, (4, *rest)):
        same(
            tn.random.categorical(ours, MATRIX, axis, shape),
            jax.random.categorical(theirs, MATRIX, axis, shape),
        )
    different = tn.random.categorical(ours, MATRIX, axis, (3, *rest), replace=False).numpy()
    expected = jax.random.categorical(theirs, MATRIX, axis, (3, *rest), replace=False)
    np.testing.assert_array_equal(different, expected)


def test_the_second_half_of_counters_is_reached() -> None:
    """Beyond 2³² elements the high word of the counter is not 0; a symbolic size uses both."""
    key = tn.random.key(9)
    drawn = tn.jit(
        lambda x, key: tn.random.bits(key, x.shape, "uint64"),
        executor="numpy",
        symbolic={"x": ("n", 2)},
    )(np.ones((3, 2)), key)
    same(drawn, jax.random.bits(jax.random.key(9), (3, 2), "uint64"))


def test_few_elements_are_the_first_of_many() -> None:
    """A few are computed one after another, many at once."""
    key = tn.random.key(11)
    many = tn.random.bits(key, (20,)).numpy()
    for n in (1, 8, 9):
        np.testing.assert_array_equal(tn.random.bits(key, (n,)), many[:n])
    keys = tn.random.split(key, 4)
    each = [tn.random.key_data(tn.random.split(one, 3)) for one in keys]
    np.testing.assert_array_equal(
        tn.random.key_data(tn.vmap(lambda k: tn.random.split(k, 3))(keys)), each
    )
    assert tn.random.bits(key, (0, 3)).shape == (0, 3)


UNIFORM_BOUNDS = [
    (0.0, 1.0),
    (-1.0, 1.0),
    (0.1, 0.7),
    (-1e-3, 7.3),
    (0.0, 1e10),
    (3.0, 3.0),
    (2.0, -1.5),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=exhaustive)])
def test_uniform_numbers_between_bounds_are_those_of_jax(dtype: str) -> None:
    """XLA rounds product and sum at once, as in JAX; NumPy rounds both, as JAX without `jit`."""
    lows, highs = (np.array(ends, dtype) for ends in zip(*UNIFORM_BOUNDS, strict=True))
    shape = (300, len(lows))

    def draws(module: Any) -> Any:
        return lambda key, low, high: [
            module.uniform(key, shape, dtype, low, high),
            module.uniform(key, shape, dtype, -1e-3, 7.3),
        ]

    for seed in (0, 5):
        ours, theirs = tn.random.key(seed), jax.random.key(seed)
        compiled = jax.jit(draws(jax.random))(theirs, lows, highs)
        for one, other in zip(tn.jit(draws(tn.random))(ours, lows, highs), compiled, strict=True):
            same(one, other)
        with jax.disable_jit():
            rounded = draws(jax.random)(theirs, lows, highs)
        for one, other in zip(draws(tn.random)(ours, lows, highs), rounded, strict=True):
            same(one, other)
