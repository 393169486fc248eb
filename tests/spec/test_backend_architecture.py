"""The statements of the backend architecture, as far as this repository has what they speak of."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import (
    CANONICAL,
    NATIVE,
    compile_std_to_exec,
    optimize,
    parse,
)
from tenferro.core import CompiledProgram, Instruction
from tenferro.errors import DeviceError, ExecutorError
from tenferro.ir import Category, ExecInstruction, ExecOp, ExecProgram, verify
from tenferro.ops import (
    ALL_OPS,
    EXP,
    MUL,
    Constant,
    DotGeneral,
    DynamicTruncate,
    PadToMatch,
    ShapeOf,
)
from tenferro.runtime import BackendSession, TensorBackend, run_segmented, run_unsegmented
from tenferro.runtime import segment_exec_program as segments_of
from tenferro.shape import TensorMeta

Array = np.ndarray[Any, Any]
N3 = TensorMeta.of("f64", ("n", 3))
EXP_AX: CompiledProgram[Any] = CompiledProgram(
    (Instruction(MUL, (0, 1), (2,)), Instruction(EXP, (2,), (3,))), (0, 1), (3,), 4
)
X = np.array([[0.5, -1.0], [2.0, 0.25]])


def example(x: Any) -> Any:
    """Ops of all three categories."""
    return tn.sum(tn.exp(tn.sin(x) @ x.T) * np.array([1.0, 2.0]) + x, axis=0)


PROGRAM = tn.make_program(example, tn.TensorSpec((2, 2)))


class Logging(tn.NumpyBackend):
    """A backend that writes down what it is asked for."""

    def __init__(self) -> None:
        self.log: list[str] = []

    @contextmanager
    def with_backend_session(self) -> Iterator[Logging]:
        self.log.append("session")
        yield self

    def execute(self, op: ExecOp, inputs: Sequence[Array]) -> tuple[Array, ...]:
        self.log.append(f"session {op.name}")
        return tuple(np.asarray(result) for result in op.evaluate(inputs))

    def execute_boundary(self, op: ExecOp, inputs: Sequence[Array]) -> tuple[Array, ...]:
        self.log.append(f"boundary {op.name}")
        return tuple(np.asarray(result) for result in op.evaluate(inputs))

    def upload_host_tensor(self, array: Array) -> Array:
        self.log.append("upload")
        return array

    def reclaim_buffer(self, buffer: Array) -> None:
        self.log.append("reclaim")


# -------------------------------------------------------------------------------- I. Overview


def test_i_primal_and_derivative_flow_through_the_same_pipeline() -> None:
    program = tn.make_program(tn.grad(lambda x: tn.sum(example(x))), tn.TensorSpec((2, 2)))
    assert isinstance(program.exec_program, ExecProgram)
    (gradient,) = tn.GraphExecutor(tn.NumpyBackend()).run(program, {"x": X})
    assert gradient.shape == (2, 2)


def test_i_there_is_no_in_process_stablehlo_layer() -> None:
    core = Path(tn.__file__).parent
    names = ("StableHloProgram", "StableHloOp", "lower_to_stablehlo", "CustomCall")
    sources = [path.read_text(encoding="utf-8") for path in core.rglob("*.py")]
    assert not [name for name in names if any(name in source for source in sources)]


def test_i_xla_is_a_peer_executor_and_no_tensor_backend() -> None:
    txla = pytest.importorskip("tenferro_xla")
    members = {"with_backend_session", "execute_boundary", "upload_host_tensor", "reclaim_buffer"}
    assert not members & set(dir(txla.XlaExecutor))
    assert members <= set(dir(tn.NumpyBackend))


# ---------------------------------------------------------------------------- II. Execution IR


def test_ii_the_fields_of_a_program_and_of_an_instruction() -> None:
    program = {field.name for field in dataclasses.fields(ExecProgram)}
    assert {"instructions", "input_slots", "output_slots", "n_slots"} <= program
    wanted = ["op", "input_slots", "output_slots", "dtype", "output_shapes", "output_extents"]
    for name in (*wanted, "last_use"):
        assert hasattr(PROGRAM.exec_program.instructions[0], name)


def test_ii_outputs_are_written_once() -> None:
    program = PROGRAM.exec_program
    written = [slot for step in program.instructions for slot in step.output_slots]
    assert len({*written, *program.input_slots}) == len(written) + len(program.input_slots)


def test_ii_one_dtype_shape_and_extent_vector_for_each_output_slot() -> None:
    program = tn.make_program(lambda x: (x * x > 1.0, tn.sum(x)), tn.TensorSpec(("n", 3)))
    for step in program.exec_program.instructions:
        count = len(step.output_slots)
        assert len(step.output_dtypes) == len(step.output_shapes) == count
        assert len(step.output_extents) == count
        assert step.dtype == step.output_dtypes[0]
        for shape, extents in zip(step.output_shapes, step.output_extents, strict=True):
            assert len(shape) == len(extents)


def test_ii_several_outputs_may_have_several_dtypes() -> None:
    metas = (TensorMeta.of("f64", (2,)), TensorMeta.of("i64", ()))
    step = ExecInstruction(EXP, (0,), (1, 2), metas, (True,))
    assert [dtype.name for dtype in step.output_dtypes] == ["float64", "int64"]
    assert step.output_shapes == ((2,), ())


def test_ii_last_use_is_populated_after_lowering() -> None:
    lowered = compile_std_to_exec(EXP_AX, [N3, N3])
    assert all(step.last_use == () for step in lowered.instructions)
    compiled = optimize(lowered)
    assert [step.last_use for step in compiled.instructions] == [(True, True), (True,)]


VOCABULARY = {
    *("Add", "Mul", "Neg", "Conj", "Div", "Abs", "Sign", "Maximum", "Minimum", "Compare"),
    *("Select", "Clamp", "Exp", "Log", "Sin", "Cos", "Tanh", "Sqrt", "Rsqrt", "Pow", "Expm1"),
    *("Log1p", "Transpose", "Reshape", "BroadcastInDim", "Convert", "ExtractDiag", "EmbedDiag"),
    *("Tril", "Triu", "ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "Slice", "Pad"),
    *("Concatenate", "Reverse", "DotGeneral", "Constant", "Gather", "GatherDynamicSliceSizes"),
    *("Scatter", "DynamicSlice", "DynamicUpdateSlice"),
}


def test_ii_the_vocabulary() -> None:
    assert {op.__name__ for op in ALL_OPS} >= VOCABULARY
    assert len({op.name for op in ALL_OPS}) == len(ALL_OPS)
    assert all(issubclass(op, ExecOp) for op in ALL_OPS)


# ----------------------------------------------------------------------- III. Lowering contract


def test_iii_lowering_infers_dtype_shape_and_extents_and_resolves_them() -> None:
    lowered = compile_std_to_exec(EXP_AX, [N3, N3])
    assert [str(meta) for step in lowered.instructions for meta in step.output_metas] == [
        "f64[n,3]",
        "f64[n,3]",
    ]
    verify(optimize(lowered))


def test_iii_the_active_passes_in_their_order() -> None:
    names = [each.name for each in (*CANONICAL, *NATIVE.passes)]
    wanted = ["dot_dimension_sorter", "transpose_folding", "dot_decomposer", "dead_code"]
    positions = [names.index(wanted[0])]
    for name in wanted[1:]:
        positions.append(names.index(name, positions[-1]))
    assert positions == sorted(positions)
    assert "reduction_simplification" not in names


def test_iii_an_optimized_program_gives_what_the_unoptimized_one_gives() -> None:
    plain = tn.make_program(example, X, options=tn.OptimizerOptions.none())
    executor = tn.GraphExecutor(tn.NumpyBackend())
    (expected,), (actual,) = (executor.run(each, {"x": X}) for each in (plain, PROGRAM))
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected))


# ---------------------------------------------------------------------- IV. Dispatch categories

HOST, BOUNDARY = {Constant, ShapeOf, DynamicTruncate, PadToMatch}, {DotGeneral}


@pytest.mark.parametrize("op", ALL_OPS, ids=lambda op: op.__name__)
def test_iv_every_op_is_of_one_category(op: type[ExecOp]) -> None:
    expected = (
        Category.HOST if op in HOST else Category.BOUNDARY if op in BOUNDARY else Category.SESSION
    )
    assert op.category is expected
    assert len(Category) == 3


def test_iv_host_instructions_call_no_kernel_and_constants_are_uploaded() -> None:
    backend = Logging()
    program = tn.make_program(lambda x: x * np.array([1.0, 2.0]), tn.TensorSpec((2,)))
    tn.GraphExecutor(backend).run(program, {"x": np.ones(2)})
    assert "upload" in backend.log
    assert not [entry for entry in backend.log if "constant" in entry]


class Downloads(tn.NumpyBackend):
    """A backend that notes the shapes of what is downloaded."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []

    def download_to_host(self, buffer: Array) -> Array:
        self.shapes.append(buffer.shape)
        return buffer

    def upload_host_tensor(self, array: Array) -> Array:
        return array


@pytest.mark.parametrize("segmented", [True, False])
def test_iv_host_instructions_download_scalars_only(segmented: bool) -> None:
    def f(x: Any, n: Any) -> Any:
        first = tn.dynamic_truncate(x, n)
        gradient = tn.grad(lambda x: tn.sum(tn.dynamic_truncate(x, n) ** 2))(x)
        return first, gradient, tn.shape_of(first, 0), tn.nonzero(x > 2)[0]

    backend, x = Downloads(), np.arange(12.0).reshape(4, 3)
    program = tn.make_program(f, tn.TensorSpec(("a", "b")), tn.TensorSpec((), "int64"))
    executor = tn.GraphExecutor(backend, segmented=segmented)
    first, gradient, size, places = executor.run(program, {"x": x, "n": np.asarray(2)})
    np.testing.assert_array_equal(first, x[:2])
    np.testing.assert_array_equal(gradient, np.where(x < 6, 2 * x, 0))
    assert (size.item(), places.tolist()) == (2, [1, 1, 1, 2, 2, 2, 3, 3, 3])
    assert set(backend.shapes) == {()}


def test_iv_a_contraction_goes_through_the_backend_alone() -> None:
    backend = Logging()
    tn.GraphExecutor(backend).run(PROGRAM, {"x": X})
    assert [entry for entry in backend.log if entry.startswith("boundary")] == [
        "boundary dot_general"
    ]
    assert "session dot_general" not in backend.log


# ----------------------------------------------------- V. Segmented vs. unsegmented execution


def test_v_segments_are_session_runs_and_single_boundary_and_host_instructions() -> None:
    for segment in segments_of(PROGRAM.exec_program):
        if segment.category is not Category.SESSION:
            assert len(segment.instructions) == 1


def test_v_a_session_is_reused_across_consecutive_instructions() -> None:
    backend, alone = Logging(), Logging()
    program, inputs = PROGRAM.exec_program, [X]
    run_segmented(program, segments_of(program), backend, inputs)
    run_unsegmented(program, alone, inputs)
    kernels = [entry for entry in backend.log if entry.startswith("session ")]
    assert backend.log.count("session") < len(kernels) == alone.log.count("session")


def test_v_both_paths_have_the_same_observable_behaviour() -> None:
    program = PROGRAM.exec_program
    (one,) = run_segmented(program, segments_of(program), tn.NumpyBackend(), [X])
    (other,) = run_unsegmented(program, tn.NumpyBackend(), [X])
    np.testing.assert_array_equal(one, other)


def test_v_buffers_are_reclaimed_by_last_use() -> None:
    backend = Logging()
    tn.GraphExecutor(backend).run(PROGRAM, {"x": X})
    marks = sum(sum(step.last_use) for step in PROGRAM.exec_program.instructions)
    assert backend.log.count("reclaim") == marks > 0


# --------------------------------------------------------------------------- VI. Backend traits


def test_vi_the_surface_of_a_backend_and_of_its_session() -> None:
    surface = ["with_backend_session", "download_to_host", "upload_host_tensor", "reclaim_buffer"]
    assert set(surface) <= set(dir(TensorBackend))
    assert {"execute", "reclaim_buffer"} <= set(dir(BackendSession))


def test_vi_a_backend_may_install_one_scope_for_a_segment() -> None:
    depth: list[int] = []

    class Scoped(Logging):
        """Knows whether it is inside its session."""

        @contextmanager
        def with_backend_session(self) -> Iterator[Scoped]:
            depth.append(1)
            yield self
            depth.pop()

        def execute(self, op: ExecOp, inputs: Sequence[Array]) -> tuple[Array, ...]:
            assert depth == [1]
            return super().execute(op, inputs)

    tn.GraphExecutor(Scoped()).run(PROGRAM, {"x": X})
    assert depth == []


# ------------------------------------------------------------- VII. Layout and device contract


def test_vii_runtime_tensors_are_dense_and_contiguous() -> None:
    class Strict(Logging):
        """Takes nothing else."""

        def execute(self, op: ExecOp, inputs: Sequence[Array]) -> tuple[Array, ...]:
            assert all(each.flags.c_contiguous for each in inputs if each.base is None)
            return super().execute(op, inputs)

    (result,) = tn.GraphExecutor(Strict()).run(PROGRAM, {"x": np.asfortranarray(X)})
    assert result.data.flags.c_contiguous


def test_vii_a_program_encodes_no_layout_and_no_placement() -> None:
    text = str(PROGRAM).lower()
    assert not [word for word in ("stride", "layout", "device", "cpu", "gpu") if word in text]
    fields = {field.name for field in dataclasses.fields(ExecInstruction)}
    assert not fields & {"layout", "strides", "device", "placement"}


def test_vii_the_same_program_runs_wherever_its_tensors_are() -> None:
    txla = pytest.importorskip("tenferro_xla")
    (host,) = tn.GraphExecutor(tn.NumpyBackend()).run(PROGRAM, {"x": X})
    (device,) = txla.XlaExecutor().run(PROGRAM, {"x": X})
    assert (host.placement, device.placement) != (device.placement, host.placement)
    np.testing.assert_allclose(np.asarray(device), np.asarray(host), rtol=1e-12)


def test_vii_nothing_moves_between_devices_unasked() -> None:
    pytest.importorskip("tenferro_xla")
    device = tn.Tensor(X).to_device("xla")
    with pytest.raises(DeviceError, match="move it with to_device"):
        tn.GraphExecutor(tn.NumpyBackend()).run(PROGRAM, {"x": device})
    elsewhere = tn.Tensor.wrap(X, tn.GraphExecutor(tn.NumpyBackend()))
    with pytest.raises(DeviceError, match="operands are in different places"):
        device + elsewhere


def test_vii_an_unsupported_op_is_an_error_and_falls_back_to_nothing() -> None:
    class Partial(Logging):
        """Has no exponential."""

        def execute(self, op: ExecOp, inputs: Sequence[Array]) -> tuple[Array, ...]:
            if op is EXP or op == EXP:
                raise ExecutorError("partial: exponential is not supported")
            return super().execute(op, inputs)

    for segmented in (True, False):
        executor = tn.GraphExecutor(Partial(), segmented=segmented)
        with pytest.raises(ExecutorError, match="partial: exponential is not supported"):
            executor.run(PROGRAM, {"x": X})


# ----------------------------------------------------------------- VIII. Relation to StableHLO


def test_viii_names_align_with_stablehlo() -> None:
    stablehlo = {"add", "multiply", "dot_general", "broadcast_in_dim", "exponential", "transpose"}
    assert stablehlo <= {op.name for op in ALL_OPS}


def test_viii_there_is_no_tuple_indexing_in_the_ir() -> None:
    assert not [op.name for op in ALL_OPS if "tuple" in op.name]
    with pytest.raises(Exception, match="get_tuple_element"):
        parse("exec_program(%0: f64[2]) { \n %1: f64[2] = get_tuple_element %0! \n return %1 \n }")
    assert optimize(PROGRAM.exec_program).n_slots > 0
