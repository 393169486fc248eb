"""NumPy arrays as arguments: XLA reads them where they are, and they may change after the call."""

import gc
import tracemalloc
import weakref
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import tenferro as tn
from tenferro_xla import XlaExecutor
from tenferro_xla.compiled import executable
from tenferro_xla.devices import x64_mode
from tenferro_xla.interop import export

SIZES = (8, 1000, 13_000, 100_000)


def placed(size: int, offset: int) -> Any:
    """Ones at an address that is so many bytes behind a multiple of 64."""
    memory = np.empty(8 * size + 128, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    array = memory[start : start + 8 * size].view(np.float64)
    array[:] = 1
    return array


@pytest.mark.exhaustive(but=8)
@pytest.mark.parametrize("iterations", [0, 40])
@pytest.mark.parametrize("offset", [0, 16], ids="at {} of 64".format)
@pytest.mark.parametrize("size", SIZES)
def test_what_is_changed_after_a_call_does_not_change_its_result(
    size: int, offset: int, iterations: int
) -> None:
    @tn.jit
    def function(x: Any) -> Any:
        return tn.fori_loop(0, iterations, lambda _, y: tn.cos(y) * 0 + x, x)

    array = placed(size, offset)
    for _ in range(executable.PATIENCE + 4):
        array[:] = 1
        result = function(array)
        array[:] = 2
        assert (result.numpy() == 1).all()


def aligned(size: int) -> Any:
    """Ones in memory of their own, where XLA on the CPU reads them without a copy."""
    others = []
    while (array := np.ones(size)).ctypes.data % 64:
        others.append((array, np.ones(len(others) % 7)))  # so that the next one lies elsewhere
    return array


ON_ONE = NamedSharding(Mesh(np.array(jax.devices("cpu")[:1]), ("data",)), PartitionSpec("data"))  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    "read",
    [
        XlaExecutor("cpu").put,
        lambda x: tn.device_put(x, "cpu"),
        lambda x: tn.asarray(x, device="cpu"),
        lambda x: tn.device_put(x, ON_ONE),
        lambda x: tn.sharding.from_local(ON_ONE, x),
        lambda x: DOUBLED.run({"x": x})[0] / 2,
        tn.jit(lambda x: x),
        tn.jit(lambda x: x * 1, donate_argnums=0),
    ],
)
@pytest.mark.parametrize("size", [9000, 20_000])
def test_a_view_made_before_an_array_became_read_only_changes_no_tensor(
    read: Any, size: int
) -> None:
    array = aligned(size)
    view = array[:]
    array.flags.writeable = False
    tensor = tn.Tensor(read(array))
    view[:] = 2
    assert (tensor.numpy() == 1).all()


DOUBLED = export(
    tn.make_program(lambda x: 2 * x, tn.TensorSpec(("n",), "float64")), platforms=("cpu",)
)


def waits(function: Any, *args: Any) -> bool:
    """Whether the next call with NumPy arrays returns when the results are there."""
    function(*args)
    entry = function._cache.latest.sole
    return bool(entry.executable._patience)


def test_calls_wait_where_that_takes_no_longer_than_copies() -> None:
    array = np.ones(1000)
    assert waits(tn.jit(lambda x: x + 1), array)
    # a `while` may run for ever, and a loop of many iterations for long
    assert not waits(tn.jit(lambda x: tn.while_loop(lambda y: y[0] < 9, lambda y: y + 1, x)), array)
    looped = tn.jit(lambda x: tn.fori_loop(0, 100_000, lambda _, y: tn.sin(y), x))
    assert not waits(looped, array)
    assert not waits(tn.jit(lambda x: x + 1, donate_argnums=0), array)


def test_calls_that_have_waited_too_long_copy_from_then_on(monkeypatch: Any) -> None:
    array = np.ones(50_000)
    function = tn.jit(lambda x: tn.sin(tn.cos(x)))
    function(array)
    loaded: Any = function._cache.latest.sole.executable
    loaded._patience = executable.PATIENCE
    monkeypatch.setattr(executable, "WAITING", -1.0)
    for _ in range(executable.PATIENCE):
        function(array)
    assert loaded._patience == 0
    np.testing.assert_array_equal(function(array), function(tn.device_put(array)))


def test_results_of_several_inputs_and_of_mixed_kinds() -> None:
    function = tn.jit(lambda x, y, z: (x + y, y * z))
    x, y = np.arange(4.0), np.arange(4, dtype=np.float32)
    for call in ((x, y, 2.0), (tn.device_put(x), y, 2.0), (tn.Tensor(x), y, 2), (x[::-1], y, True)):
        for _ in range(2):
            found = function(*call)
            assert found[0].dtype == np.float64
            np.testing.assert_array_equal(found[0], np.asarray(call[0]) + y)
            np.testing.assert_array_equal(found[1], y * call[2])


def test_arrays_of_the_other_byte_order_are_converted() -> None:
    function = tn.jit(lambda x: x * 2)
    for dtype in ("<f8", ">f8", "<f8", ">f8"):
        np.testing.assert_array_equal(function(np.arange(3.0).astype(dtype)), [0, 2, 4])


# Names of JAX that are not public: where they are missing, public ones are used.


def test_compiled_functions_are_called_without_their_wrapper() -> None:
    compiled = jax.jit(lambda x: (x + 1,)).lower(np.float32(1)).compile()
    assert executable.entry_of(compiled)(np.float32(2)) == (3,)
    public: Any = jax.jit(lambda x: (x + 1,))  # lacks these names, too
    assert executable.entry_of(public)(np.float32(2)) == (3,)


@pytest.mark.parametrize("on", [False, True])
@pytest.mark.parametrize("state", [jax.enable_x64, lambda on: jax.enable_x64(on)])
def test_64_bit_mode_is_entered_and_left(state: Any, on: bool) -> None:
    enter, leave = x64_mode(state)
    with jax.enable_x64(on):
        before = enter(True)
        assert jax.config.jax_enable_x64
        leave(before)
        assert jax.config.jax_enable_x64 == on


def test_arrays_that_a_program_does_not_read_are_not_copied() -> None:
    run = tn.jit(tn.grad(lambda x: tn.sum(3 * x)), executor=XlaExecutor())
    array = np.ones(3_000_000)
    run(array)
    tracemalloc.start()
    result = run(array)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < array.nbytes / 2
    assert (result.numpy() == 3).all()


def test_a_tensor_of_the_host_is_given_to_the_device_once() -> None:
    tensor, function = tn.Tensor(np.arange(5000.0)), tn.jit(lambda x: x + 1)
    results = [function(tensor) for _ in range(3)]
    for result in results:
        np.testing.assert_array_equal(result.numpy(), np.arange(1.0, 5001.0))
    lend = function.executor.lend
    assert lend(tensor) is lend(tensor)
    assert tensor.placement == "host"
    with pytest.raises(ValueError, match="WRITEABLE"):
        tensor.numpy().flags.writeable = True
    buffer = weakref.ref(lend(tensor))
    del tensor
    gc.collect()
    assert buffer() is None


def test_a_tensor_of_the_host_outlives_the_donation_of_what_is_equal_to_it() -> None:
    tensor, same = tn.Tensor(np.arange(5000.0)), tn.jit(lambda x: x)
    doubled = tn.jit(lambda x: 2 * x, donate_argnums=0)
    for _ in range(3):
        np.testing.assert_array_equal(doubled(same(tensor)).numpy(), 2 * np.arange(5000.0))
        np.testing.assert_array_equal(doubled(tensor).numpy(), 2 * np.arange(5000.0))
        np.testing.assert_array_equal(tensor.numpy(), np.arange(5000.0))


def test_memory_that_others_may_change_is_read_at_each_call() -> None:
    memory, function = np.zeros(5000), tn.jit(lambda x: x + 1)
    tensor = tn.Tensor.sharing(memory)
    for count in range(3):
        memory[:] = count
        assert function(tensor).numpy()[-1] == count + 1
