"""A program stage by stage: as it is lowered, StableHLO, cost, memory, executable."""

import logging
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
from tenferro.compiler import PassReport
from tenferro.errors import BindingError, ConfigError, ExecutorError, VerifyError
from tenferro.ir import ExecProgram
from tenferro_xla import Cost, XlaExecutor
from tenferro_xla.platforms import TransposeBarriers


@pytest.fixture
def xla() -> XlaExecutor:
    return XlaExecutor("cpu")


def symbolic() -> tn.GraphProgram:
    return tn.make_program(lambda x: (x * x + 0.1, x[:1]), tn.TensorSpec(("n", 3)))


def test_lowering_shows_every_stage(xla: XlaExecutor) -> None:
    lowered = xla.lower(symbolic(), {"x": tn.TensorSpec((4, 3), "float64")})
    assert "f64[4,3] = multiply" in str(lowered.exec_program)
    assert "stablehlo.multiply" in lowered.stablehlo()
    assert "tensor<4x3xf64>" in lowered.stablehlo()
    assert lowered.cost().flops >= 24
    compiled = lowered.compile()
    assert isinstance(compiled.cost(), Cost)
    assert compiled.memory().arguments == 4 * 3 * 8
    assert lowered.memory() == compiled.memory()
    assert "HloModule" in compiled.as_text()
    squares, _ = compiled.run({"x": np.full((4, 3), 2.0)})
    np.testing.assert_allclose(squares.numpy(), 4.1)
    with pytest.raises(BindingError, match="compiled for n = 4, but the inputs have n = 5"):
        compiled.run({"x": np.ones((5, 3))})
    with pytest.raises(BindingError, match="no spec gives the size of n"):
        xla.lower(symbolic())
    assert xla.stats().misses == 1


def test_stablehlo_is_dumped_on_request(xla: XlaExecutor, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "tenferro.dump.stablehlo")
    xla.lower(symbolic(), {"x": tn.TensorSpec((4, 3))})
    assert "stablehlo.multiply" in caplog.text


def test_every_rewrite_between_trace_and_stablehlo_is_a_pass_that_is_reported(
    xla: XlaExecutor, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "tenferro.dump.passes")
    shapes = [("n", 256), (256, "n"), ("n", 200)]
    program = tn.make_program(
        lambda a, b, c: tn.einsum("ij,jk,il->kl", tn.conj(a), b, c),
        *(tn.TensorSpec(shape, "complex128") for shape in shapes),
    )
    caplog.clear()
    specs = [
        tn.TensorSpec(tuple(512 if size == "n" else size for size in shape), "complex128")
        for shape in shapes
    ]
    names = [declared.name for declared in program.inputs]
    reports: list[PassReport] = []
    lowered = xla.lower(program, dict(zip(names, specs, strict=True)), reports.append)
    assert lowered.exec_program is reports[-1].after
    assert reports[0].before is program.exec_program
    for earlier, later in pairwise(reports):
        assert later.before is earlier.after
    changed = {report.name for report in reports if report.changed}
    assert changed >= {"bind_sizes", "expand_families", "contraction_layout", "real_contractions"}
    dumped = re.findall(r"^# pass (\w+):", "\n".join(caplog.messages), re.MULTILINE)
    assert dumped == [report.name for report in reports]


def test_what_a_pass_for_the_device_leaves_is_verified(
    xla: XlaExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def halves(self: TransposeBarriers, program: ExecProgram) -> ExecProgram:
        """Claims that the result has another dtype."""
        *steps, last = program.instructions
        metas = (last.output_metas[0].with_dtype(np.dtype("float16")),)
        return replace(program, instructions=(*steps, replace(last, output_metas=metas)))

    monkeypatch.setattr(TransposeBarriers, "run", halves)
    with pytest.raises(VerifyError, match="multiply"):
        xla.lower(tn.make_program(lambda x: x.T * x, tn.TensorSpec((3, 3)))).stablehlo()


@pytest.mark.parametrize(
    ("function", "constraints"),
    [
        (lambda x: (x + 1.0, x.mT), 1),
        (lambda x: (x + 1.0, x * 2.0), 0),
        (lambda x: (x.mT,), 0),
    ],
)
def test_of_several_results_the_transposed_ones_are_stored_by_rows(
    xla: XlaExecutor, function: Any, constraints: int
) -> None:
    x = np.arange(12.0).reshape(3, 4)
    lowered = xla.lower(tn.make_program(function, x))
    assert lowered.stablehlo().count("LayoutConstraint") == constraints
    for ours, expected in zip(lowered.compile().run({"x": x}), function(x), strict=True):
        np.testing.assert_array_equal(ours.numpy(), expected)


def test_stages_of_a_compiled_function_say_what_those_of_jax_say() -> None:
    captured = np.arange(16.0)

    def function(lib: Any) -> Any:
        return lambda x, dead, named: (lib.asarray(captured)[:3] + x, {"n": named["n"] + 1})

    x, dead, named = np.ones(3), np.ones(2), {"n": 4.0}
    traced = tn.jit(function(tn)).trace(x, dead, named)
    lowered = traced.lower()
    compiled = lowered.compile()
    with jax.enable_x64(True):
        theirs = jax.jit(function(jax.numpy)).lower(x, dead, named).compile()
    for name in ("input_shardings", "output_shardings", "input_formats", "output_formats"):
        assert getattr(compiled, name) == getattr(theirs, name)
    types = jax.tree.map(lambda info: (info.shape, info.dtype), theirs.out_info)
    for stage in (traced, lowered, compiled):
        assert tn.tree.map(lambda info: (info.shape, info.dtype), stage.out_info) == types
        assert str(stage.in_avals) == (
            "((TensorSpec(f64[3]), TensorSpec(f64[2]), {'n': TensorSpec(f64[])}), {})"
        )
        assert stage.args_info[0][2]["n"].shape == ()
        assert stage.donate_argnums == ()
    assert traced.fun_name == "<lambda>"
    by_options = lowered.compile(compiler_options={"xla_embed_ir_in_executable": True})
    assert float(by_options(x, dead, named)[1]["n"]) == 5
    with pytest.raises(ExecutorError, match="No such compile option: 'bad'"):
        lowered.compile({"bad": 1})
    with pytest.raises(ConfigError, match="compiler_options must be a mapping from names"):
        lowered.compile(3)
