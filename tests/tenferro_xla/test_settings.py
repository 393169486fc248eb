"""What is computed does not depend on the settings of JAX that a user has chosen."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
import tenferro_xla
from tests.sampling import some

SETTINGS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "disable_jit": jax.disable_jit,
    "debug_nans": lambda: jax.debug_nans(True),
    "debug_infs": lambda: jax.debug_infs(True),
    "dtype promotion": lambda: jax.numpy_dtype_promotion("strict"),
    "rank promotion": lambda: jax.numpy_rank_promotion("raise"),
    "32 bits": lambda: jax.enable_x64(False),
    "64 bits": lambda: jax.enable_x64(True),
    "leaks": jax.checking_leaks,
    "transfers": lambda: jax.transfer_guard("disallow"),
    "explicit transfers": lambda: jax.transfer_guard("disallow_explicit"),
    "precision": lambda: jax.default_matmul_precision("bfloat16"),
    "device": lambda: jax.default_device(jax.devices("cpu")[-1]),
    "random numbers": lambda: jax.default_prng_impl("rbg"),
    "threefry": lambda: jax.threefry_partitionable(False),
}
X = np.array([[1.0, 2.0], [3.0, 4.0]])
COUNTS = np.arange(4, dtype="int8")


def f(x: Any, counts: Any) -> Any:
    numbers = tn.random.uniform(tn.random.key(3), (2,)) + tn.astype(x, "float32")
    return tn.linalg.inv(x) @ x * tn.sum(counts), numbers


compiled = tn.jit(f)
positive = tn.jit(lambda x: tn.nonzero(x > 2)[0])  # in segments
total = tn.jit(lambda x: tn.sum(x > 2, axis=0), symbolic={"x": ("n", "m")})
EXPECTED = [each.numpy() for each in compiled(X, COUNTS)]
DEVICE = tn.device_put(X)
ROWS = tn.sharding.NamedSharding(
    tn.sharding.make_mesh((1,), ("data",)), tn.sharding.PartitionSpec("data")
)


def assert_as_expected(results: Any) -> None:
    for result, expected in zip(results, EXPECTED, strict=True):
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result.numpy(), expected)


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("name", some(SETTINGS, 2))
def test_results_are_the_same(name: str) -> None:
    with SETTINGS[name]():
        assert_as_expected(compiled(X, COUNTS))
        assert_as_expected(compiled(DEVICE, COUNTS))
        assert_as_expected(tn.jit(f, executor=tenferro_xla.XlaExecutor("cpu"))(X, COUNTS))
        np.testing.assert_array_equal(tn.device_put(DEVICE + X, ROWS).numpy(), 2 * X)
        assert positive(X).tolist() == total(X).tolist() == [1, 1]


@pytest.mark.parametrize("make", [lambda: X, lambda: DEVICE])
def test_not_a_number_is_an_error_where_jax_is_to_look_for_it(make: Any) -> None:
    root = tn.jit(lambda x: tn.sqrt(-x))
    x = make()
    for _ in range(2):
        with jax.debug_nans(True), pytest.raises(FloatingPointError, match="jax_debug_nans") as it:
            root(x)
        assert isinstance(it.value, tn.errors.NotFiniteError)
        assert np.isnan(root(x).numpy()).all()
    with jax.debug_nans(True), pytest.raises(tn.errors.NotFiniteError):
        tn.sqrt(-DEVICE)
    with jax.debug_infs(True), pytest.raises(tn.errors.NotFiniteError):
        tn.exp(DEVICE * 1000)
