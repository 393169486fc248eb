"""Words, bits and keys are those of JAX, bit for bit, on both executors; and frozen here."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn

SEEDS = [0, 1, 42, -1, 2**31, 2**63 - 1]
SHAPES = [(), (2, 3), (0, 3)]


@pytest.fixture(autouse=True)
def double() -> Any:
    with jax.enable_x64(True):
        yield


def words(keys: Any) -> np.ndarray[Any, Any]:
    return np.asarray(tn.random.key_data(keys).numpy())


def same(ours: Any, theirs: Any) -> None:
    result, expected = ours.numpy(), np.asarray(theirs)
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(result, expected)


def test_golden_vectors() -> None:
    """Numbers that never change, whatever JAX does."""
    key = tn.random.key(42)
    assert words(key).tolist() == [0, 42]
    assert words(tn.random.split(key)).tolist() == GOLDEN["split"]
    assert words(tn.random.fold_in(key, 7)).tolist() == GOLDEN["fold_in"]
    for dtype in ("uint8", "uint16", "uint32", "uint64"):
        assert tn.random.bits(key, (3,), dtype).tolist() == GOLDEN[dtype]
    assert tn.random.uniform(key, (2,)).tolist() == GOLDEN["uniform"]
    assert tn.random.uniform(key, (2,), "float32").tolist() == GOLDEN["uniform32"]
    assert tn.random.permutation(key, 6).tolist() == GOLDEN["permutation"]
    assert tn.random.randint(key, (4,), -5, 1000).tolist() == GOLDEN["randint"]


@pytest.mark.parametrize("seed", SEEDS)
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


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint32", "int64", "uint64"])
def test_seeds_may_be_arrays(dtype: str) -> None:
    seed = np.array(-3 if dtype.startswith("i") else 3, dtype)
    same(tn.random.PRNGKey(seed), jax.random.PRNGKey(seed))
    same(tn.jit(tn.random.PRNGKey, executor="numpy")(seed), jax.random.PRNGKey(seed))


@pytest.mark.parametrize("shape", SHAPES)
def test_bits_are_those_of_jax(shape: tuple[int, ...]) -> None:
    for seed in SEEDS[-2:]:
        ours, theirs = tn.random.key(seed), jax.random.key(seed)
        for dtype in ("uint8", "uint16", "uint32", "uint64"):
            same(tn.random.bits(ours, shape, dtype), jax.random.bits(theirs, shape, dtype))
        for dtype in ("float16", "float32", "float64"):
            same(tn.random.uniform(ours, shape, dtype), jax.random.uniform(theirs, shape, dtype))


BOUNDS = [(0, 10), (-5, 100), (0, 2**31 - 1), (5, 5), (7, 3), (-(2**40), 2**50)]


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


def test_permutations_are_those_of_jax() -> None:
    ours, theirs = tn.random.key(6), jax.random.key(6)
    for x in (10, 0, 3000, np.arange(3.0), MATRIX):
        same(tn.random.permutation(ours, x), jax.random.permutation(theirs, x))
    for apart in (False, True):
        same(
            tn.random.permutation(ours, MATRIX, 1, apart),
            jax.random.permutation(theirs, MATRIX, 1, apart),
        )


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


def test_xla_draws_the_same_bits() -> None:
    def draws(key: Any) -> Any:
        one, two, three = tn.random.split(key, 3)
        return (
            tn.random.bits(one, (5000,), "uint64"),  # written out
            tn.random.bits(one, (50,), "uint16"),  # a loop
            tn.random.uniform(two, (50,)),
            tn.random.randint(three, (50,), -3, 2**40),
            tn.random.permutation(two, 20),
        )

    key = tn.random.key(10)
    on_numpy, on_xla = (tn.jit(draws, executor=name)(key) for name in ("numpy", "xla"))
    for ours, theirs in zip(on_numpy, on_xla, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


GOLDEN: dict[str, Any] = {
    "split": [[1832780943, 270669613], [64467757, 2916123636]],
    "fold_in": [2547012911, 1371500959],
    "uint8": [162, 217, 249],
    "uint16": [5026, 12505, 63993],
    "uint32": [2098992034, 2919706841, 2646866425],
    "uint64": [7871734211187709741, 276886910877598708, 10591095138341673235],
    "uniform": [0.4267275666499091, 0.015010069515314584],
    "uniform32": [0.48870956897735596, 0.6797971725463867],
    "permutation": [4, 2, 5, 3, 0, 1],
    "randint": [580, 563, 433, 596],
}
