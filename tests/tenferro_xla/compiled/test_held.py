"""What somebody holds, reads, or waits for is not overwritten by a later result."""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
import threading

import jax
import numpy as np
import pytest

import tenferro as tn
import tenferro_xla as txla
from tenferro.errors import TenferroError
from tenferro_xla.placement import LARGE, VIEWS
from tests.tenferro_xla.kept_results import ENOUGH, ROUNDS, X, address, causes, refusing, shifted

pytestmark = pytest.mark.usefixtures("places_at_once")


def test_what_is_held_is_not_overwritten() -> None:
    f = shifted(txla.XlaExecutor("cpu", kept_bytes=ENOUGH))
    held = [f(X, float(k)) for k in range(ROUNDS)]
    views = [f(X, float(k)).numpy() for k in range(ROUNDS)]
    parts = [np.asarray(f(X, float(k)))[1:] for k in range(ROUNDS)]
    buffers = [f(X, float(k)).data for k in range(ROUNDS)]
    shared = [np.from_dlpack(f(X, float(k))) for k in range(ROUNDS)]
    gc.collect()
    for k in range(ROUNDS):
        for result in (held[k], views[k], buffers[k], shared[k]):
            np.testing.assert_array_equal(result, X + k)
        np.testing.assert_array_equal(parts[k], X[1:] + k)


def test_arrays_of_jax_that_share_the_memory_stay() -> None:
    f = shifted(txla.XlaExecutor("cpu", kept_bytes=ENOUGH))
    device = jax.devices("cpu")[0]
    others = [jax.device_put(f(X, float(k)).data, device) for k in range(ROUNDS)]
    parts = [f(X, float(k)).data.addressable_data(0) for k in range(ROUNDS)]
    imported = [jax.dlpack.from_dlpack(f(X, float(k))) for k in range(ROUNDS)]
    gc.collect()
    for k in range(ROUNDS):
        for result in (others[k], parts[k], imported[k]):
            np.testing.assert_array_equal(result, X + k)


@pytest.mark.exhaustive
def test_results_that_are_still_read_are_waited_for() -> None:
    executor = txla.XlaExecutor("cpu", kept_bytes=ENOUGH)
    slow = tn.jit(lambda m: m @ m @ m @ m, executor=executor)
    square = np.arange(1449.0**2).reshape(1449, 1449) % 7.0
    assert square.nbytes >= LARGE
    g = tn.jit(lambda m, by: m + by, executor=executor)
    powers = []
    for k in range(ROUNDS):
        powers.append(slow(g(square, float(k))))  # the argument is gone before it has been read
        g(square, -1.0).block_until_ready()
    for k, power in enumerate(powers):
        expected = np.linalg.matrix_power(square + k, 4)
        np.testing.assert_allclose(power.numpy(), expected, rtol=1e-12)
    assert "places" in causes(executor)


def test_numpy_arrays_share_the_memory_and_are_read_only() -> None:
    f = shifted(txla.XlaExecutor("cpu", kept_bytes=ENOUGH))
    result = f(X, 1.0)
    first, again = np.asarray(result), result.numpy()
    assert first is again
    assert VIEWS.are_open(result._buffer)
    assert first.ctypes.data == address(result)
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        first.flags.writeable = True
    del first, again
    gc.collect()
    assert not VIEWS.are_open(result._buffer)


def test_threads() -> None:
    f = shifted(txla.XlaExecutor("cpu", kept_bytes=ENOUGH))
    wrong: list[int] = []

    def work(number: int) -> None:
        for k in range(3 * ROUNDS):
            result = f(X, float(number * 100 + k))
            if result.numpy()[-1] != X[-1] + number * 100 + k:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_results_that_the_user_donates() -> None:
    executor = txla.XlaExecutor("cpu", kept_bytes=ENOUGH)
    f = shifted(executor)
    taking = tn.jit(lambda x: -x, executor=executor, donate_argnums=0)
    for k in range(ROUNDS):
        result = f(X, float(k))
        f(X, 1.0).block_until_ready()
        np.testing.assert_array_equal(taking(result), -(X + k))
    assert "places" in causes(executor)


def test_a_call_that_fails_does_not_fail_the_next_one() -> None:
    f = refusing(txla.XlaExecutor("cpu", kept_bytes=ENOUGH))
    for _ in range(ROUNDS):
        np.testing.assert_array_equal(f(X), X)
        with pytest.raises(TenferroError, match="less than zero"):
            f(X - 1).numpy()


def test_a_tensor_on_another_executor_is_handed_out_too() -> None:
    f, other = shifted(txla.XlaExecutor("cpu", kept_bytes=ENOUGH)), txla.XlaExecutor("cpu")
    device = jax.devices("cpu")[0]
    arrays = []
    for k in range(ROUNDS):
        moved = f(X, float(k)).to_device(other)
        arrays.append(jax.device_put(moved.data, device))
        constant = tn.EagerRuntime(executor=other).constant(f(X, float(k)).to_device(other))
        arrays.append(jax.device_put(constant.data, device))
    for k, array in enumerate(arrays):
        np.testing.assert_array_equal(array, X + k // 2)


def test_the_error_of_a_call_does_not_reach_another_one() -> None:
    executor = txla.XlaExecutor("cpu", kept_bytes=ENOUGH)
    called, f = refusing(executor), shifted(executor)
    for k in range(ROUNDS):
        with contextlib.suppress(TenferroError, RuntimeError):
            f(called(X - 1), 2.0)  # the result has an error, and nobody reads it
        np.testing.assert_array_equal(f(X, float(k)), X + k)
        f(X, 1.0).block_until_ready()
    assert "places" in causes(executor)


def test_code_of_users_that_runs_within_a_call() -> None:
    executor = txla.XlaExecutor("cpu", kept_bytes=ENOUGH)
    kept = executor._executables.pool
    f = shifted(executor)
    f(X, 0.0)
    f(X, 0.0)
    with kept._in_use:  # as a finalizer or a signal handler finds it
        np.testing.assert_array_equal(f(X, 1.0), X + 1)
        f(X, 1.0).data.block_until_ready()
    assert len(kept) == 1
    executor.clear()
    assert not len(kept)


OUTSTANDING = """
import sys
import numpy as np
import tenferro as tn
import tenferro_xla as txla

x = np.arange(float(1 << 21))
m = np.arange(1024.0 * 1024).reshape(1024, 1024) % 7
executor = txla.XlaExecutor("cpu")
spec = tn.ShapeDtypeStruct(x.shape, x.dtype)
called = tn.jit(lambda x: tn.pure_callback(lambda v: v + 0, spec, x) + 1, executor=executor)
slow = tn.jit(lambda m, v: (v - 1) + 0 * (m @ m @ m @ m @ m @ m)[0, 0], executor=executor)
plain = tn.jit(lambda x, by: x * by, executor=executor)
for _ in range(4):
    plain(called(slow(m, x)), 2.0).numpy()
    held = called(slow(m, x))
    plain(x, 3.0).numpy()
    held = plain(held, 2.0)
    held = None
    plain(x, 3.0).numpy()
print("fine")
"""


def test_results_are_read_while_a_callback_is_outstanding() -> None:
    command = [sys.executable, "-c", OUTSTANDING]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ran.stdout == "fine\n", ran.stderr
