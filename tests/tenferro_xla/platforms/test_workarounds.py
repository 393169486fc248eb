"""What XLA on the CPU does, in JAX alone, that the workarounds of `platforms.cpu` are for.

A test that fails here says that the workaround it names may go.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax


@pytest.fixture(autouse=True)
def wide() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def optimized(function: Callable[..., Any], *operands: Any) -> str:
    text = jax.jit(function).lower(*operands).compile().as_text()
    assert text is not None
    return text


@pytest.mark.exhaustive
def test_a_value_is_not_its_own_maximum() -> None:
    """MaterializedComparisons."""

    def greatest(x: jax.Array) -> jax.Array:
        products = x[:, None] * x[None, :] + 0.3 * x[None, :]
        return jnp.sum(jnp.where(products >= jnp.max(products), products, 0.0))

    gradient = jax.vmap(jax.grad(greatest))
    x = np.random.default_rng(0).normal(size=(20, 5))
    with jax.disable_jit():
        expected = gradient(x)
    assert np.abs(np.asarray(jax.jit(gradient)(x)) - np.asarray(expected)).max() > 1


def test_the_maximum_of_many_numbers_loses_a_nan() -> None:
    """`Platform.drops_nan`."""
    x = np.arange(4096.0)
    x[7] = np.nan
    assert jax.jit(lambda x: lax.reduce_max(x, (0,)))(x) == 4095


right_since = pytest.mark.skipif(
    jax.__version_info__ >= (0, 12), reason="newer versions sum rightly; older ones need it"
)


@right_since
def test_a_sum_of_two_paddings_is_wrong() -> None:
    """SeparatePaddings. Both paddings are of what the library computes first."""

    def summed(x: jax.Array) -> jax.Array:
        y = x * 2.0
        padded = jnp.pad(y, ((2, 0), (1, 1))) + jnp.pad(-y * 3.0, ((1, 1), (1, 1)))
        return jnp.sum(padded.reshape(300, 2, 300), axis=1)

    x = np.random.default_rng(0).normal(size=(598, 298))
    with jax.disable_jit():
        expected = summed(jnp.asarray(x))
    assert np.abs(np.asarray(jax.jit(summed)(x)) - np.asarray(expected)).max() > 1


@right_since
@pytest.mark.skipif(os.cpu_count() == 1, reason="threads disturb one another")
def test_a_sum_over_a_repeated_axis_is_wrong_in_some_calls() -> None:
    """SingleSums."""
    summed = jax.jit(lambda x: jnp.sum(lax.broadcast_in_dim(x, (64, 90000), (1,))))
    x = jnp.ones(90000)
    assert any(summed(x) != 64 * 90000 for _ in range(2000))


@pytest.mark.skipif(
    jax.__version_info__ >= (0, 12), reason="newer versions keep the barrier; older ones need it"
)
def test_what_is_behind_a_barrier_is_merged_with_what_is_before() -> None:
    """`Platform.keeps_barriers`."""

    def twice(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        again = lax.optimization_barrier(x)  # type: ignore[no-untyped-call]
        return jnp.sin(x), jnp.sum(jnp.sin(again))

    assert optimized(twice, np.ones(1000)).count(" sine(") == 1


def test_a_transpose_is_merged_into_the_product_that_reads_it() -> None:
    """TransposeBarriers."""
    text = optimized(lambda x, y: lax.dot(x.T, y), np.ones((640, 640)), np.ones((640, 640)))
    assert "lhs_contracting_dims={0}" in text


def test_sides_are_exchanged_where_a_result_is_transposed() -> None:
    """TransposeBarriers."""
    text = optimized(lambda x, y: lax.dot(x, y).T, np.ones((640, 640)), np.ones((640, 9)))
    assert "transpose(" not in text


def test_both_parts_of_a_complex_number_are_stored_before_their_squares_are_summed() -> None:
    """FusedParts."""

    def squares(x: jax.Array) -> jax.Array:
        return jnp.sum(x.real * x.real + x.imag * x.imag)

    def rounded(x: jax.Array) -> jax.Array:
        return jnp.sum(lax.reduce_precision(x.real * x.real + x.imag * x.imag, 11, 52))

    x = np.ones((100, 100), complex)
    stored = [
        jax.jit(each).lower(x).compile().memory_analysis().temp_size_in_bytes
        for each in (squares, rounded)
    ]
    assert stored == [x.nbytes, x.nbytes // 2]


def test_a_quotient_that_is_read_twice_takes_a_kernel_of_its_own() -> None:
    """FusedQuotients."""

    def twice(x: jax.Array, y: jax.Array) -> jax.Array:
        quotient = x / y
        return quotient * x + quotient

    def rounded(x: jax.Array, y: jax.Array) -> jax.Array:
        quotient = lax.reduce_precision(x / y, 11, 52)
        return quotient * x + quotient

    x = np.ones(1000)
    assert optimized(twice, x, x).split("ENTRY")[1].count(" fusion(") == 2
    assert optimized(rounded, x, x).split("ENTRY")[1].count(" fusion(") == 1


@pytest.mark.exhaustive
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="Linux only")
def test_each_executable_has_maps_of_its_own() -> None:
    """`executable.MemoryMaps`."""

    def count() -> int:
        return len(Path("/proc/self/maps").read_text().splitlines())

    before = count()
    made = [
        jax.jit(lambda x, n=n: jnp.sin(x) * n + jnp.cos(x)).lower(np.ones(n)).compile()
        for n in range(20, 40)
    ]
    assert count() >= before + len(made)


@pytest.mark.skipif(
    jax.__version_info__ >= (0, 12), reason="newer versions mark larger loops; older ones do not"
)
def test_a_loop_of_small_kernels_is_one_function_only_where_it_is_marked() -> None:
    """`lowering.small_loops`."""

    def loop(w: jax.Array, h: jax.Array) -> jax.Array:
        total: jax.Array = lax.fori_loop(0, 100, lambda _, h: jnp.tanh(w @ h), h)
        return total

    assert "xla_cpu_small_call" in optimized(loop, np.ones((4, 4)), np.ones(4))
    assert "xla_cpu_small_call" not in optimized(loop, np.ones((16, 16)), np.ones(16))


UNREAD = """
import jax, numpy as np
from jax.experimental.xla_metadata import set_xla_metadata
def loop(a, b):
    last = (0, b, b)
    step = lambda state: (state[0] + 1, b * 2, a * state[1])
    return jax.lax.while_loop(lambda state: state[0] < 1, step, last)[1]
def marked(a, b):
    with set_xla_metadata(xla_cpu_small_call="true", inlineable="false"):
        return jax.jit(loop)(a, b), a
jax.jit(marked).lower(np.ones(8), np.ones(8)).compile()
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(
    jax.__version_info__ >= (0, 12), reason="newer versions compile this; older ones do not"
)
def test_xla_ends_the_process_at_a_parameter_that_nothing_reads() -> None:
    """That `lowering.small_loops` returns the operands of a loop too."""
    run = subprocess.run([sys.executable, "-c", UNREAD], capture_output=True, check=False)
    assert run.returncode < 0
    assert b"Check failed" in run.stderr
