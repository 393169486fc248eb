"""`Platform.ordered_scatters`: of several updates of one element, the last one stays."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import jax
import numpy as np
import pytest
from jax import lax

import tenferro as tn
from tenferro_xla.platforms.cpu import NO_FUSION_EMITTERS
from tenferro_xla.target import accepted_options
from tests.sampling import some

RNG = np.random.default_rng(0)

# In JAX alone: the shape, the axes that an index names, the sizes of a window, the number of them.
CASES: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int]] = [
    ((5,), (0,), (1,), 64),
    ((2,), (0,), (1,), 100_003),
    ((1000,), (0,), (1,), 1_000_000),
    ((300_000,), (0,), (1,), 700_000),
    ((7,), (0,), (3,), 50),  # windows overlap in part
    ((400_000,), (0,), (100_000,), 12),
    ((6, 5), (0,), (1, 5), 40),
    ((6, 5), (1,), (6, 1), 40),
    ((6, 5), (0, 1), (1, 1), 300),
    ((6, 5), (1, 0), (2, 3), 60),
    ((40, 1000), (0,), (1, 1000), 2000),
    ((1000, 40), (1,), (1000, 1), 2000),
    ((40, 1024), (0, 1), (3, 64), 3000),
    ((3, 4, 5), (2,), (3, 4, 1), 31),
    ((3, 4, 5), (1, 2), (3, 2, 2), 77),
    ((30, 64, 64), (0,), (1, 64, 64), 500),
    ((1000, 1000), (0,), (1, 1000), 3000),  # of so many numbers that elementwise ops are divided
    ((1000, 1000), (1,), (1000, 1), 3000),
    ((1000, 1000), (0, 1), (2, 900), 1500),
    ((2, 1_000_000), (0,), (1, 1_000_000), 9),
]


def in_order(
    x: np.ndarray[Any, Any],
    starts: np.ndarray[Any, Any],
    updates: np.ndarray[Any, Any],
    axes: tuple[int, ...],
    sizes: tuple[int, ...],
) -> np.ndarray[Any, Any]:
    result = x.copy()
    for start, window in zip(starts, updates, strict=True):
        place = [slice(0, size) for size in sizes]
        for axis, first in zip(axes, start, strict=True):
            place[axis] = slice(int(first), int(first) + sizes[axis])
        result[tuple(place)] = window
    return result


@pytest.fixture
def wide() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


KNOWN = accepted_options([NO_FUSION_EMITTERS], jax.devices("cpu")[0]).accepted


OF_JAX = list(product(CASES, ["f4", "f8", "c16", "i1", "?"], [True, False]))


@pytest.mark.exhaustive(but=7)
@pytest.mark.parametrize(("case", "dtype", "emitters"), some(OF_JAX, 7, str))
def test_the_cpu_writes_the_windows_of_a_scatter_in_their_order(
    wide: None, case: Any, dtype: str, emitters: bool
) -> None:
    shape, axes, sizes, count = case
    if count > 100_000 and not emitters:
        pytest.skip("one iteration for each update")
    starts = np.stack(
        [RNG.integers(0, shape[axis] - sizes[axis] + 1, count) for axis in axes], axis=-1
    ).astype(np.int32)
    x = np.zeros(shape, dtype)
    updates = (RNG.normal(size=(count, *sizes)) * 50).astype(dtype)
    numbers = lax.ScatterDimensionNumbers(tuple(range(1, 1 + len(shape))), (), axes)
    options = {option.name: emitters for option in KNOWN}
    if not KNOWN and not emitters:
        pytest.skip("this version of XLA has no other emitters")
    function = jax.jit(lambda x, i, w: lax.scatter(x, i, w, numbers), compiler_options=options)
    found = np.asarray(function(x, starts, updates))
    if sizes == (1,):
        expected = x.copy()
        expected[starts[:, 0]] = updates[:, 0]
    else:
        expected = in_order(x, starts, updates, axes, sizes)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.exhaustive(but=4)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int32", "bool"])
@pytest.mark.parametrize("count", [3, 200, 50_000])
def test_the_last_update_stays_in_programs_and_under_vmap(dtype: str, count: int) -> None:
    x = np.zeros((4, 6, 8), dtype)
    places = RNG.integers(-6, 6, count)
    values = (RNG.normal(size=(4, count, 8)) * 3).astype(dtype)
    expected = x.copy()
    expected[:, places] = values
    whole = tn.jit(lambda x, i, w: x.at[:, i].set(w))
    each = tn.jit(tn.vmap(lambda x, i, w: x.at[i].set(w), in_axes=(0, None, 0)))
    own = tn.jit(tn.vmap(lambda x, i, w: x.at[i].set(w)))
    for function in (whole, each):
        for executor in (None, tn.GraphExecutor(tn.NumpyBackend())):
            run = function if executor is None else tn.jit(function, executor=executor)
            np.testing.assert_array_equal(run(x, places, values).numpy(), expected)
    repeated = np.stack([np.roll(places, shift) for shift in range(4)])
    for row, shift in enumerate(range(4)):
        expected[row] = 0
        expected[row, np.roll(places, shift)] = values[row]
    np.testing.assert_array_equal(own(x, repeated, values).numpy(), expected)


def test_the_derivative_by_updates_is_zero_where_a_later_one_stayed() -> None:
    places = np.array([1, 0, 1, 1, 2])

    def loss(x: Any, w: Any, i: Any) -> Any:
        return tn.sum(x.at[i].set(w) * tn.asarray([1.0, 10.0, 100.0, 1000.0]))

    by_x, by_w = tn.jit(tn.grad(loss, argnums=(0, 1)))(np.ones(4), np.ones(5), places)
    np.testing.assert_array_equal(by_x.numpy(), [0, 0, 0, 1000])
    np.testing.assert_array_equal(by_w.numpy(), [0, 1, 0, 10, 100])
