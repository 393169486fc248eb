"""CUDA without a GPU: what is chosen for it, and that nothing of the CPU is in what is lowered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import Mesh

import tenferro as tn
from tenferro.compiler import CPU, DeviceCosts, MemoryNeed, parse, predict_memory
from tenferro.compiler.device import ScanUnrolling
from tenferro.config import Config, config
from tenferro.errors import BackendFailureError, DeviceError
from tenferro.ir import ExecProgram, evaluate
from tenferro_xla import XlaExecutor
from tenferro_xla.compiled import prepare, private
from tenferro_xla.devices import device_name
from tenferro_xla.lowering import ExtensionLowerings, jax_function
from tenferro_xla.placement import OneDevice, OnMesh, put, where
from tenferro_xla.platforms import CPU_PLATFORM, CUDA_PLATFORM, Platform, cuda
from tenferro_xla.target import XlaTarget, platform_named, platform_of, target_for

HOST = jax.devices("cpu")[0]


def target(platform: Platform, costs: Any = "device") -> XlaTarget:
    return target_for(OneDevice(HOST), platform, ExtensionLowerings(), costs=costs)


def lowered(program: ExecProgram, platform: Platform) -> tuple[ExecProgram, str]:
    """The program after the passes of a platform, and its StableHLO there; no device is asked."""
    made = target(platform)
    ready = prepare(program, made)
    with jax.enable_x64(True):
        specs = [jax.ShapeDtypeStruct(m.static_shape or (), m.dtype) for m in ready.input_metas]
        traced = jax.jit(jax_function(ready, made.lowering)).trace(*specs)
        return ready, traced.lower(lowering_platforms=(platform.name,)).as_text()


def chain(a: Any, b: Any, c: Any) -> Any:
    return tn.einsum("ab,bc,ad->cd", a, b, c, optimize=((0, 1), (0, 1)))


def exec_program(function: Any, shapes: Sequence[tuple[int, ...]], dtype: str) -> ExecProgram:
    return tn.make_program(function, *[tn.TensorSpec(s, dtype) for s in shapes]).exec_program


CHAIN = [(300, 8), (8, 200), (300, 9)]


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_a_network_and_its_gradient_for_cuda_have_nothing_of_the_cpu(dtype: str) -> None:
    def loss(*tensors: Any) -> Any:
        return tn.sum(tn.real(chain(*tensors)) ** 2)

    program = exec_program(tn.value_and_grad(loss, argnums=(0, 1, 2)), CHAIN, dtype)
    on_gpu, gpu_text = lowered(program, CUDA_PLATFORM)
    names = {step.op.name for step in on_gpu.instructions}
    assert names.isdisjoint({"xla_kept", "xla_split", "xla_join", "xla_factor"})
    assert "optimization_barrier" not in gpu_text
    assert gpu_text.count("stablehlo.dot_general") == 6
    if dtype == "complex128":
        assert "complex<f64>>, tensor" in gpu_text  # products of complex matrices as they are
        on_cpu, _ = lowered(program, CPU_PLATFORM)
        assert {step.op.name for step in on_cpu.instructions} & {"xla_split", "xla_join"}


def test_an_axis_lies_where_it_is_cheapest_on_the_platform() -> None:
    program = exec_program(chain, CHAIN, "float64")
    texts = {each.name: lowered(program, each)[1] for each in (CPU_PLATFORM, CUDA_PLATFORM)}
    assert {name: text.count("stablehlo.transpose") for name, text in texts.items()} == {
        "cpu": 1,
        "cuda": 0,
    }
    assert {name: "optimization_barrier" in text for name, text in texts.items()} == {
        "cpu": True,
        "cuda": False,
    }


def test_what_is_computed_again_waits_at_a_barrier_and_not_in_a_branch() -> None:
    def loss(x: Any) -> Any:
        return tn.sum(tn.checkpoint(lambda y: tn.sin(tn.sin(y)))(x))

    program = exec_program(tn.grad(loss), [(50,)], "f8")
    texts = {each.name: lowered(program, each)[1] for each in (CPU_PLATFORM, CUDA_PLATFORM)}
    assert "stablehlo.case" in texts["cpu"]
    assert "stablehlo.case" not in texts["cuda"]
    assert "optimization_barrier" in texts["cuda"]


def test_a_large_maximum_is_one_of_windows_where_the_platform_drops_nan() -> None:
    program = exec_program(tn.max, [(5000,)], "float64")
    texts = {each.name: lowered(program, each)[1] for each in (CPU_PLATFORM, CUDA_PLATFORM)}
    assert {name: "stablehlo.slice" in text for name, text in texts.items()} == {
        "cpu": True,
        "cuda": False,
    }


def test_which_update_of_an_element_stays_is_computed_where_scatters_have_no_order() -> None:
    def replaced(x: Any, values: Any) -> Any:
        return x.at[values].set(values)

    program = exec_program(replaced, [(9,), (5,)], "int32")
    texts = {each.name: lowered(program, each)[1] for each in (CPU_PLATFORM, CUDA_PLATFORM)}
    assert {name: "stablehlo.maximum" in text for name, text in texts.items()} == {
        "cpu": False,
        "cuda": True,
    }


def test_the_passes_for_cuda_keep_the_results() -> None:
    program = exec_program(tn.grad(lambda *a: tn.sum(chain(*a)), argnums=(0, 1)), CHAIN, "f8")
    rng = np.random.default_rng(0)
    values = [rng.normal(size=shape) for shape in CHAIN]
    for one, other in zip(
        evaluate(program, values),
        evaluate(prepare(program, target(CUDA_PLATFORM)), values),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_platform_of_which_nothing_is_known_rewrites_nothing() -> None:
    unknown = platform_named("some_accelerator")
    program = exec_program(chain, CHAIN, "complex128")
    ready = prepare(program, target(unknown))
    assert [step.op.name for step in ready.instructions if step.op.name.startswith("xla_")] == []
    assert str(ready) == str(prepare(program, target(CUDA_PLATFORM, costs=None)))
    assert unknown.options_for(ready) == ()
    own = target(unknown, costs=CPU).optimized_for
    assert "contraction_layout" in [each.name for each in own.passes]  # asked for


def test_memory_on_cuda_is_of_blocks_and_a_workspace_and_without_copies_for_products() -> None:
    text = """
    exec_program(%0: f64[2,3]) {
      %1: f64[3,2] = transpose[perm=(1, 0)] %0
      %2: f64[3,3] = dot_general[lhs_contract=(1,), rhs_contract=(0,)] %1, %0!
      return %2
    }"""
    program = parse(text)
    assert predict_memory(program, CPU_PLATFORM.runs) == MemoryNeed(48, 72, 48)
    assert predict_memory(program, CUDA_PLATFORM.runs) == MemoryNeed(256, 256, 32 << 20)
    batch_moved = """
    exec_program(%0: f64[2,3,4]) {
      %1: f64[3,2,4] = transpose[perm=(1, 0, 2)] %0
      %2: f64[3,4,4] = dot_general[lhs_contract=(1,), rhs_contract=(1,), lhs_batch=(0,), rhs_batch=(0,)] %1, %1
      return %2
    }"""  # noqa: E501
    assert predict_memory(parse(batch_moved), CUDA_PLATFORM.runs).temporaries == 256 + (32 << 20)


def test_cuda_runs_independent_parts_one_after_the_other() -> None:
    branches = "\n".join(
        f"%{2 * i + 1}: f64[64,64] = dot_general[lhs_contract=(1,), rhs_contract=(0,)] %0, %0\n"
        f"%{2 * i + 2}: f64[] = reduce_sum[axes=(0, 1)] %{2 * i + 1}"
        for i in range(6)
    )
    results = ", ".join(f"%{2 * i + 2}" for i in range(6))
    text = f"exec_program(%0: f64[64,64]) {{\n{branches}\nreturn {results}\n}}"
    cpu, gpu = (
        predict_memory(parse(text), each)
        for each in (CPU_PLATFORM.runs, replace(CUDA_PLATFORM.runs, workspace=0))
    )
    assert cpu.temporaries > 5 * 64 * 64 * 8
    assert gpu.temporaries < 2 * 64 * 64 * 8


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("function", [tn.linalg.eigvals, lambda a: tn.linalg.eig(a)[1]])
def test_eigenvalues_of_general_matrices_are_lowered_for_cuda(function: Any, dtype: str) -> None:
    """By LAPACK on the host where the plugin is not installed, which knows cuSOLVER's version."""
    _, text = lowered(exec_program(function, [(3, 4, 4)], dtype), CUDA_PLATFORM)
    assert "geev" not in text
    assert "custom_call @cuhybrid_eig" in text
    roots = exec_program(lambda p: tn.roots(p, strip_zeros=False), [(5,)], "float64")
    assert "custom_call @cuhybrid_eig" in lowered(roots, CUDA_PLATFORM)[1]


def test_small_steps_of_a_loop_are_written_out_several_at_a_time_on_cuda() -> None:
    def steps(x: Any) -> Any:
        for _ in range(200):
            x = x + 0.01 * tn.sin(x)
        return x

    program = exec_program(steps, [(1000,)], "float64")
    texts = {each.name: lowered(program, each)[1] for each in (CPU_PLATFORM, CUDA_PLATFORM)}
    written = ("call @closed_call", "stablehlo.sine")  # a step is a function in older versions
    steps_of = {name: max(map(text.count, written)) for name, text in texts.items()}
    assert steps_of == {"cpu": 1, "cuda": 10}


def test_costs_that_are_fitted_to_networks_leave_the_steps_of_loops_as_they_were() -> None:
    def unrolls(platform: Platform, costs: DeviceCosts) -> list[ScanUnrolling]:
        return [each for each in platform.passes(costs) if isinstance(each, ScanUnrolling)]

    fitted = DeviceCosts(multiply=1e-14, write=1e-12)
    (unrolling,) = unrolls(CUDA_PLATFORM, fitted)
    assert unrolling.costs == replace(fitted, step=CUDA_PLATFORM.costs.step)
    assert not unrolls(CUDA_PLATFORM, replace(fitted, step=0.0))  # asked for
    assert not unrolls(CPU_PLATFORM, fitted)
    (unrolling,) = unrolls(CPU_PLATFORM, replace(fitted, step=1e-5))
    assert unrolling.costs.step == 1e-5


def test_a_norm_in_32_bits_has_nothing_of_64_bits() -> None:
    rows = exec_program(lambda x: tn.linalg.vector_norm(x, axis=-1), [(100, 4)], "float32")
    assert "xf64" not in lowered(rows, CUDA_PLATFORM)[1]


def test_tiny_matrices_of_32_bits_are_rotated_in_32_bits_on_cuda() -> None:
    program = exec_program(tn.linalg.eigvalsh, [(100, 4, 4)], "float32")
    texts = {each.name: lowered(program, each)[1] for each in (CPU_PLATFORM, CUDA_PLATFORM)}
    assert {name: "tensor<100xf64>" in text for name, text in texts.items()} == {
        "cpu": True,
        "cuda": False,
    }


@pytest.mark.parametrize(
    ("function", "family"),
    [
        (tn.scipy.linalg.sqrtm, "matrix_function"),
        (lambda a: tn.scipy.linalg.schur(a)[0], "schur"),
        (tn.scipy.linalg.hessenberg, "hessenberg"),
        (lambda a: tn.scipy.linalg.solve_sylvester(a, a, a), "sylvester"),
    ],
)
def test_what_jax_does_not_have_on_cuda_is_refused_by_the_name_of_the_op(
    function: Any, family: str
) -> None:
    program = exec_program(function, [(4, 4)], "float64")
    message = rf"tenferro-linalg.{family}.v1: XLA has it on the CPU only, not on cuda"
    for platform in (CUDA_PLATFORM, replace(CUDA_PLATFORM, rewrites=False)):
        with pytest.raises(BackendFailureError, match=message):
            lowered(program, platform)
    on_mesh = OnMesh(Mesh(np.array([HOST]), ("data",)))
    options = target_for(on_mesh, CUDA_PLATFORM, ExtensionLowerings()).lowering
    with pytest.raises(BackendFailureError, match=message), jax.enable_x64(True):
        jax.eval_shape(jax_function(program, options), np.eye(4))
    empty = exec_program(function, [(0, 0)], "float64")
    assert "custom_call" not in lowered(empty, CUDA_PLATFORM)[1]


class Gpu:
    """What a device of CUDA answers."""

    platform, id, local_hardware_id = "gpu", 0, 0
    device_kind = "NVIDIA H100 80GB HBM3"

    def __init__(self, stats: dict[str, int] | None, name: str = "cuda:0") -> None:
        self.stats, self.name = stats, name

    def memory_stats(self) -> dict[str, int] | None:
        return self.stats

    def __str__(self) -> str:
        return self.name


def test_a_gpu_has_one_name_and_is_found_by_that_which_jax_prints(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gpu: Any = Gpu(None)
    array: Any = SimpleNamespace(sharding=SimpleNamespace(device_set={gpu}))
    assert str(OneDevice(gpu)) == where(array) == device_name(gpu) == "gpu:0"
    module = SimpleNamespace(devices=lambda: [gpu, HOST], device_name=device_name)
    monkeypatch.setattr("tenferro.runtime.devices._modules_with_devices", lambda: [module])
    assert tn.__array_namespace_info__().devices() == ("host", "gpu:0", "cpu:0")
    assert tn.devices("gpu") == tn.devices("cuda") == tn.devices() == ["gpu:0"]
    assert tn.default_backend() == "gpu"
    assert tn.devices("cpu") == ["cpu:0"]
    with pytest.raises(DeviceError, match="no device 'rocm'; there are 'host', 'gpu:0', 'cpu:0'"):
        tn.devices("rocm")


def test_jax_calls_cuda_and_rocm_gpu() -> None:
    assert platform_of(Gpu({})) is CUDA_PLATFORM  # type: ignore[arg-type]
    assert platform_of(Gpu({}, "rocm:0")) == Platform("rocm")  # type: ignore[arg-type]
    assert platform_of(HOST) is CPU_PLATFORM


def test_the_budget_is_what_the_device_has_unless_the_user_says_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gpu: Any = Gpu({"bytes_limit": 10**12, "bytes_in_use": 10**9})
    lowerings = ExtensionLowerings()
    assert target_for(OneDevice(gpu), CUDA_PLATFORM, lowerings).max_bytes == 10**12
    assert target_for(OneDevice(gpu), CUDA_PLATFORM, lowerings, max_bytes=5).max_bytes == 5
    assert target_for(OneDevice(HOST), CPU_PLATFORM, lowerings).max_bytes == config.max_bytes
    monkeypatch.setattr("tenferro_xla.target.config", Config(max_bytes=7))
    assert target_for(OneDevice(gpu), CUDA_PLATFORM, lowerings).max_bytes == 7


def test_free_is_the_limit_of_the_device_less_what_is_in_use() -> None:
    gpu: Any = Gpu({"bytes_limit": 1000, "bytes_in_use": 300})
    assert CUDA_PLATFORM.free_bytes(gpu) == 700
    silent: Any = Gpu(None)
    with pytest.raises(tn.TenferroError, match="gpu:0 does not tell how much memory it has; pass"):
        CUDA_PLATFORM.free_bytes(silent)


def test_free_is_no_more_than_other_processes_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "free_gpu_bytes", lambda _: 100)
    gpu: Any = Gpu({"bytes_limit": 1000, "bytes_in_use": 300, "pool_bytes": 400})
    assert CUDA_PLATFORM.free_bytes(gpu) == 200  # 100 of the pool, and 100 more
    gpu.stats["pool_bytes"] = 1000
    assert CUDA_PLATFORM.free_bytes(gpu) == 700  # all of it is in the pool


def test_the_costs_of_a_card_follow_from_its_data_sheet() -> None:
    gpu: Any = Gpu(None)
    on_h100 = target_for(OneDevice(gpu), CUDA_PLATFORM, ExtensionLowerings(), max_bytes=1)
    assert on_h100.costs == on_h100.device_model.costs == CUDA_PLATFORM.costs
    gpu.device_kind = "NVIDIA A100-SXM4-80GB"
    on_a100 = target_for(OneDevice(gpu), CUDA_PLATFORM, ExtensionLowerings(), max_bytes=1)
    assert on_a100.device_model.costs == on_a100.costs
    assert on_a100.costs is not None
    assert on_a100.costs.multiply == pytest.approx(CUDA_PLATFORM.costs.multiply * 67 / 19.5)
    assert on_a100.costs.step == CUDA_PLATFORM.costs.step
    gpu.device_kind = "a card of which nothing is known"
    assert CUDA_PLATFORM.costs_of(gpu) == CUDA_PLATFORM.costs


def test_host_arrays_are_aligned_for_the_cpu_alone() -> None:
    array = np.zeros(9000)
    for alignment in (CPU_PLATFORM.alignment, 4096):
        assert private(array, alignment).ctypes.data % alignment == 0
    assert CUDA_PLATFORM.alignment == 1
    assert private(array).base is None  # copied as NumPy does it
    array.flags.writeable = False
    assert not np.shares_memory(private(array), array)


@pytest.mark.parametrize(
    ("platform", "copies", "moves"), [(CPU_PLATFORM, 1, 0), (CUDA_PLATFORM, 0, 2)]
)
def test_a_large_host_array_is_not_copied_on_the_host_before_the_device_copies_it(
    platform: Platform, copies: int, moves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the CPU a call reads the array itself, and only `put` copies it."""
    module, x = "tenferro_xla.compiled.executable", np.ones(1 << 18)
    monkeypatch.setattr("tenferro_xla.executor.platform_of", lambda device: platform)
    monkeypatch.setattr("tenferro_xla.executor.platform_of", lambda device: platform)
    executor = XlaExecutor("cpu")
    f = tn.jit(lambda x: x[:2] + 1, executor=executor)
    copied: list[int] = []
    given: list[bool] = []

    def count(array: Any, alignment: int = 1) -> Any:
        copied.append(array.nbytes)
        return private(array, alignment)

    def note(array: Any, sharding: Any) -> Any:
        given.append(np.shares_memory(array, x))
        return put(array.copy(), sharding)

    monkeypatch.setattr(f"{module}.private", count)
    monkeypatch.setattr(f"{module}.put", note)
    for argument in (x, executor.put(x)):
        assert f(argument).tolist() == [2.0, 2.0]
    assert len([size for size in copied if size == x.nbytes]) == copies
    assert given.count(True) == moves


def test_the_costs_of_cuda_know_no_better_side() -> None:
    costs: DeviceCosts = CUDA_PLATFORM.costs
    assert costs.short_side(2, 100) == costs.contracted_first == 0
    assert costs.product(np.dtype("f8"), 1, 4096, 4096, 4096) < 1e-2 * CPU.product(
        np.dtype("f8"), 1, 4096, 4096, 4096
    )
