"""XlaExecutor: 64 bits in any process, one executable per type, refusals before XLA."""

import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from tenferro.compiler import parse
from tenferro.core import Capacity
from tenferro.errors import (
    BindingError,
    DeviceError,
    ExecutorError,
    ExtentError,
    UnsupportedDynamicShapeError,
    VerifyError,
)
from tenferro.ir import ExecBuilder, ExecProgram
from tenferro.ops import ADD, SIN, BroadcastInDim, scalar
from tenferro.runtime import GraphExecutor, GraphProgram, NumpyBackend, Tensor
from tenferro.shape import FLOAT64, TensorMeta
from tenferro.transforms import GraphCompiler, TracedTensor
from tenferro_xla import (
    XlaExecutor,
    default_executor,
    device_name,
    devices,
    find_device,
)
from tenferro_xla.sharding import make_mesh


@pytest.fixture
def xla() -> XlaExecutor:
    return XlaExecutor("cpu")


def program_of(text: str) -> ExecProgram:
    return parse(text)


DOUBLE = """
    exec_program(%0: f64[3]) {
      %1: f64[3] = add %0, %0!
      return %1
    }"""


def symbolic() -> GraphProgram:
    x = TracedTensor.input(("n", 3), "float64", name="x")
    return GraphCompiler().compile([x * x + 0.1, x[:1]])


def test_executors_on_meshes_know_what_is_registered_later(xla: XlaExecutor) -> None:
    on_mesh = xla.with_mesh(make_mesh((1,), ("data",)))
    told: list[object] = []
    xla.register_extension(told.append)
    assert len(told) == 2
    assert xla.with_mesh(make_mesh((1,), ("data",))) is on_mesh


def test_results_are_64_bit_with_the_flag_off_and_the_flag_stays_off(xla: XlaExecutor) -> None:
    before = jax.config.jax_enable_x64
    value = np.array([1 / 3, 1e-300, 2.0**60 + 1])
    (result,) = xla.compile_exec(program_of(DOUBLE))(xla.put(value))
    (single,) = xla.run_op(SIN, xla.put(value))
    assert jax.config.jax_enable_x64 is before is False
    assert xla.get(result).dtype == xla.get(single).dtype == np.float64
    assert np.array_equal(xla.get(result), 2 * value)
    assert jax.numpy.zeros(1).dtype == np.float32


@pytest.mark.parametrize("dtype", ["bool", "i4", "i8", "f4", "f8", "c8", "c16", "f2", "u8"])
@pytest.mark.parametrize("shape", [(), (2, 0), (2, 3), (300, 400)])
def test_arrays_go_to_the_device_and_back_unchanged(
    xla: XlaExecutor, dtype: str, shape: tuple[int, ...]
) -> None:
    array = (np.arange(np.prod(shape, dtype=int)) % 7).reshape(shape).astype(dtype)
    found = xla.get(xla.put(array))
    assert found.dtype == array.dtype
    assert found.shape == shape
    assert np.array_equal(found, array)
    assert not found.flags.writeable


def test_an_input_may_be_written_to_as_soon_as_the_call_has_returned(xla: XlaExecutor) -> None:
    n = 400
    cube = xla.compile_exec(
        program_of(f"""
        exec_program(%0: f64[{n},{n}]) {{
          %1: f64[{n},{n}] = dot_general[lhs_contract=(1,), rhs_contract=(0,)] %0, %0
          %2: f64[{n},{n}] = dot_general[lhs_contract=(1,), rhs_contract=(0,)] %1!, %0!
          return %2
        }}""")
    )
    memory = np.ones(n * n + 16)
    for offset in range(8):  # one of them is aligned, and XLA would use its memory
        x = memory[offset : offset + n * n].reshape(n, n)
        x[...] = 1
        results = [cube(xla.put(x)), cube.run_host(x)]
        x[...] = 0
        assert all(np.all(np.asarray(result) == n**2) for (result,) in results)


def test_a_constant_array_is_not_copied_and_never_written_to(xla: XlaExecutor) -> None:
    x = np.ones(3)
    x.setflags(write=False)
    for _ in range(2):
        (result,) = xla.compile_exec(program_of(DOUBLE), donate=(0,))(xla.put(x))
        assert np.array_equal(xla.get(result), [2.0, 2.0, 2.0])
    assert np.array_equal(x, np.ones(3))


def test_host_arrays_can_be_inputs_of_a_call(xla: XlaExecutor) -> None:
    run = xla.compile_exec(program_of(DOUBLE))
    for value in (np.ones(3), xla.put(np.ones(3)), np.ones((3, 2)).T[0]):
        assert np.array_equal(xla.get(run.run_host(value)[0]), [2.0, 2.0, 2.0])
    with pytest.raises(BindingError, match=re.escape("input 0 is f64[3], but is given f32[3]")):
        run.run_host(np.ones(3, np.float32))


def test_a_graph_program_runs_at_several_sizes_with_one_executable_each(xla: XlaExecutor) -> None:
    program = symbolic()
    numpy = GraphExecutor(NumpyBackend())
    for rows in (1, 2, 5, 2, 1):
        x = np.random.default_rng(rows).normal(size=(rows, 3))
        for found, expected in zip(
            xla.run(program, {"x": x}), numpy.run(program, {"x": x}), strict=True
        ):
            np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-15)
    stats = xla.stats()
    assert (stats.entries, stats.misses, stats.hits) == (3, 3, 2)
    assert stats.size > 0


def test_a_result_is_a_device_tensor_that_can_be_bound_again(xla: XlaExecutor) -> None:
    program = symbolic()
    (first, row) = xla.run(program, {"x": np.ones((2, 3))})
    (second, _) = xla.run(program, {"x": first})
    assert xla.owns(first.data)
    assert first.executor is xla
    np.testing.assert_allclose(second.numpy(), 1.1**2 + 0.1)
    assert row.shape == (1, 3)


def test_bindings_are_checked(xla: XlaExecutor) -> None:
    with pytest.raises(BindingError, match=re.escape("input 'x': f64[n,3] is not bound")):
        xla.run(symbolic(), {})
    with pytest.raises(BindingError, match="axis 1 of input 'x' is declared 3"):
        xla.run(symbolic(), {"x": np.ones((2, 4))})


def test_equal_programs_share_an_executable(xla: XlaExecutor) -> None:
    assert xla.compile_exec(program_of(DOUBLE)) is xla.compile_exec(program_of(DOUBLE))
    other = xla.compile_exec(program_of(DOUBLE.replace("f64", "f32")))
    assert other is not xla.compile_exec(program_of(DOUBLE))
    assert xla.stats().entries == 2
    xla.clear()
    assert xla.stats().entries == 0


def test_the_cache_is_bounded() -> None:
    xla = XlaExecutor("cpu", capacity=Capacity(entries=1))
    for size in (1, 2, 3):
        xla.run_op(SIN, xla.put(np.zeros(size)))
    assert xla.stats().entries == 1
    assert xla.stats().evictions == 2
    xla.capacity = Capacity(entries=0)
    assert xla.stats().entries == 0
    assert xla.capacity == Capacity(entries=0)


def test_two_threads_compile_and_run_at_once(xla: XlaExecutor) -> None:
    results: dict[tuple[int, int], Any] = {}
    start = threading.Barrier(2)

    def work(which: int) -> None:
        start.wait()
        for size in range(1, 6):
            x = np.full(size, 1 / 3)
            (buffer,) = xla.run_op(SIN if which else ADD, *[xla.put(x)] * (1 if which else 2))
            results[which, size] = xla.get(buffer)

    threads = [threading.Thread(target=work, args=(which,)) for which in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for (which, size), found in results.items():
        x = np.full(size, 1 / 3)
        np.testing.assert_allclose(found, np.sin(x) if which else x + x, rtol=1e-15)
    assert len(results) == 10


def test_a_donated_buffer_is_taken_only_where_an_output_fits(xla: XlaExecutor) -> None:
    run = xla.compile_exec(program_of(DOUBLE), donate=(0,))
    buffer = xla.put(np.ones(3))
    (result,) = run(buffer)
    assert buffer.is_deleted()
    assert np.array_equal(xla.get(result), [2.0, 2.0, 2.0])
    kept = xla.put(np.ones(3))
    total = "exec_program(%0: f64[3]) {\n%1: f64[] = reduce_sum[axes=(0,)] %0!\nreturn %1\n}"
    assert float(xla.compile_exec(program_of(total), donate=(0,))(kept)[0]) == 3.0
    assert not kept.is_deleted()


def test_what_was_donated_is_refused_afterwards(xla: XlaExecutor) -> None:
    add = "exec_program(%0: f64[3], %1: f64[3]) {\n%2: f64[3] = add %0!, %1!\nreturn %2\n}"
    run = xla.compile_exec(program_of(add), donate=(0,))
    x = xla.put(np.ones(3))
    with pytest.raises(BindingError, match="inputs 0 and 1 are one array, and it is donated"):
        run(x, x)
    with pytest.raises(BindingError, match="inputs 0 and 1 are one array, and it is donated"):
        run.run_host(x, x)
    run(x, xla.put(np.ones(3)))
    for call in (run, run.run_host):
        with pytest.raises(BindingError, match="input 0 was donated to an earlier call"):
            call(x, xla.put(np.ones(3)))
    with pytest.raises(BindingError, match="input 0 was donated to an earlier call"):
        run.run_host(x, np.ones(3))
    with pytest.raises(DeviceError, match=re.escape("f64[3] was donated to an earlier call")):
        xla.get(x)
    shown = "Tensor(shape=(3,), dtype=float64, on cpu:0, donated to an earlier call)"
    assert repr(Tensor.wrap(x, xla)) == shown


def huge(*shape: int) -> ExecProgram:
    builder = ExecBuilder()
    zero = builder.add(scalar(0, FLOAT64), [])
    return builder.build(builder.add(BroadcastInDim(shape, ()), zero))


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ((2**33, 2**33), "takes 590295810358705651712 bytes, more than the budget of"),
        ((2**40,), "takes 8796093022208 bytes, more than the budget of"),
        ((2**33, 2**33, 0), "overflow 64 bits when multiplied"),
    ],
)
def test_what_no_machine_can_hold_is_refused_before_xla(
    xla: XlaExecutor, shape: tuple[int, ...], text: str
) -> None:
    with pytest.raises(ExtentError, match="broadcast_in_dim: .*" + text):
        xla.compile_exec(huge(*shape))


def test_a_program_that_lies_about_a_size_is_refused_before_xla(xla: XlaExecutor) -> None:
    text = """exec_program() {
      %0: f64[] = constant[value=0.0, dtype=f64]
      %1: f64[2] = broadcast_in_dim[shape=(8589934592, 8589934592), dims=()] %0!
      return %1
    }"""
    with pytest.raises(VerifyError, match=re.escape("records f64[2], but the op infers f64[8589")):
        xla.compile_exec(program_of(text))


def test_the_budget_is_an_option() -> None:
    with pytest.raises(ExtentError, match=r"input 0: f64\[3\] takes 24 bytes"):
        XlaExecutor("cpu", max_bytes=16).compile_exec(program_of(DOUBLE))


def test_a_negative_extent_is_refused(xla: XlaExecutor) -> None:
    meta = TensorMeta.of("f64", ("n",)).bind({})
    builder = ExecBuilder()
    builder.input(meta)
    with pytest.raises(UnsupportedDynamicShapeError, match=r"input: shape\[0\] must be exact"):
        xla.compile_exec(builder.build([0]))


def test_wrong_buffers_are_explained(xla: XlaExecutor) -> None:
    run = xla.compile_exec(program_of(DOUBLE))
    with pytest.raises(BindingError, match=re.escape("input 0 is f64[3], but is given f64[4]")):
        run(xla.put(np.ones(4)))
    with pytest.raises(BindingError, match=re.escape("but is given f32[3]")):
        run(xla.put(np.ones(3, np.float32)))
    with pytest.raises(BindingError, match="takes 1 input, got 2"):
        run(xla.put(np.ones(3)), xla.put(np.ones(3)))
    with pytest.raises(BindingError, match=re.escape("f64[3] is on the host; use run_host")):
        run(np.ones(3))  # type: ignore[arg-type]  # what a front end might do
    with pytest.raises(BindingError, match="is given a float"):
        run(1.0)  # type: ignore[arg-type]  # what a front end might do


def test_unknown_compiler_options_are_refused() -> None:
    xla = XlaExecutor("cpu", compiler_options={"no_such_option": True})
    with pytest.raises(ExecutorError, match=r"compile: XLA says .*no_such_option"):
        xla.compile_exec(program_of(DOUBLE))


def test_devices_are_listed_and_chosen_by_name_number_or_themselves() -> None:
    (cpu,) = [device for device in devices() if device_name(device) == "cpu:0"]
    assert find_device("cpu:0") == find_device("cpu") == find_device(cpu) == cpu
    assert find_device() == find_device(0) == devices()[0]
    assert XlaExecutor("cpu:0").device == cpu


@pytest.mark.parametrize("device", ["cpu:99", "quantum", 99, -1, "cpu:", object()])
def test_an_unknown_device_is_refused_with_the_list(device: Any) -> None:
    if device == "cpu:":
        assert device_name(find_device(device)) == "cpu:0"
        return
    with pytest.raises(DeviceError, match=r"there is no device .*; there are: .*cpu:0"):
        XlaExecutor(device)


def test_a_tracer_is_not_a_buffer(xla: XlaExecutor) -> None:
    owned: list[bool] = []
    jax.jit(lambda x: owned.append(xla.owns(x)))(1.0)
    assert owned == [False]
    assert xla.owns(jax.numpy.ones(3))
    assert not xla.owns(np.ones(3))


def test_there_is_one_default_executor() -> None:
    assert default_executor() is default_executor()
    assert default_executor().name == "xla"
    assert repr(XlaExecutor("cpu")) == "XlaExecutor('cpu:0')"


ELSEWHERE = """
import jax, numpy as np, tenferro as tn
from tenferro.compiler import parse
from tenferro.errors import DeviceError
from tenferro.runtime import register_executor
from tenferro.transforms import GraphCompiler, TracedTensor
from tenferro_xla import XlaExecutor
from tenferro_xla.compiled import executable

first, second = XlaExecutor(0), XlaExecutor("cpu:1")
register_executor(first)
program = parse("exec_program(%0: f64[2]) {\\n%1: f64[2] = add %0, %0!\\nreturn %1\\n}")
two = "%0: f64[] = constant[value=2.0, dtype=f64]"
constant = parse("exec_program() {\\n" + two + "\\nreturn %0\\n}")
(result,) = second.compile_exec(program)(second.put(np.ones(2)))
(alone,) = second.compile_exec(constant)()
assert result.devices() == alone.devices() == {second.device}, (result.devices(), alone.devices())
with jax.enable_x64(True):
    unplaced = jax.numpy.ones(2)
x = TracedTensor.input((2,), "float64", name="x")
graph = GraphCompiler().compile([x + x])
run = second.compile_exec(program)
with jax.enable_x64(True):
    for _ in range(executable.MOST_KNOWN + 5):
        new = jax.device_put(np.ones(2), jax.sharding.SingleDeviceSharding(second.device))
        assert run(new)[0].tolist() == [2.0, 2.0]
for attempt in (
    lambda: run(first.put(np.ones(2))),
    lambda: second.compile_exec(program)(first.put(np.ones(2))),
    lambda: second.compile_exec(program)(unplaced),
    lambda: second.compile_exec(program).run_host(unplaced),
    lambda: second.run(graph, {"x": first.put(np.ones(2))}),
):
    try:
        attempt()
    except DeviceError as error:
        assert "an array is on cpu:0, but the program runs on cpu:1" in str(error), error
    else:
        raise SystemExit("was moved in silence")
(tensor,) = second.run(graph, {"x": second.put(np.ones(2))})
assert tensor.data.devices() == {second.device}
host = tn.ones(2)
here, there = host.to_device("cpu:0"), host.to_device("cpu:1")
assert (here.placement, there.placement) == ("cpu:0", "cpu:1")
assert here.to_device("xla") is here.to_device("cpu:0") is here
assert there.to_device("cpu:0").placement == (there.to_device("xla") + host).placement == "cpu:0"
assert (host + there).placement == (there * tensor + host).placement == "cpu:1"
double = tn.jit(lambda x, y: x * y)
assert double(there, 2.0).placement == double(there.data, host).placement == "cpu:1"
assert tn.grad(double)(there[0], 2.0).placement == "cpu:1"
assert double(here, 2.0).placement == double(host, 2.0).placement == "cpu:0"
for attempt in (
    lambda: double(here, there),
    lambda: tn.jit(lambda x: x, device="cpu:0")(there),
    lambda: tn.jit(lambda x: x, executor=first)(there),
):
    try:
        attempt()
    except DeviceError as error:
        assert "move it with tn.device_put" in str(error), error
    else:
        raise SystemExit("was moved in silence")
try:
    tn.where(host > 0.0, here, there)
except DeviceError as error:
    assert "on cpu:0 and f64[2] on cpu:1); move them with to_device('cpu:0')" in str(error), error
else:
    raise SystemExit("was moved in silence")
"""


def test_nothing_moves_between_devices_unasked() -> None:
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        env={**flags, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout


def test_a_tensor_of_another_executor_is_refused(xla: XlaExecutor) -> None:
    foreign = Tensor.wrap(np.ones((2, 3)), GraphExecutor(NumpyBackend()))
    with pytest.raises(DeviceError, match=re.escape("f64[2,3] is not an array of XLA")):
        xla.run(symbolic(), {"x": foreign})
