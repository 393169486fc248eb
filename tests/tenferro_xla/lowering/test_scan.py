"""Loops on XLA: one `while` each, whose body is compiled like any program."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tenferro as tn
import tenferro_xla as txla
from tenferro.compiler import OptimizerOptions, PassReport, parse
from tenferro.errors import ExtentError
from tenferro.ir import ExecProgram, program_of_op
from tenferro.ops.control_flow import Scan
from tenferro.shape import TensorMeta

STEP = parse("""
exec_program(%0: f64[2], %1: f64[2], %2: i64[], %3: f64[]) {
  %4: f64[2] = broadcast_in_dim[shape=(2,), dims=()] %3
  %5: f64[2] = multiply %1, %0
  %6: f64[2] = add %5, %4
  %7: i64[] = constant[value=2, dtype=i64]
  %8: i64[] = add %2, %7
  %9: f64[] = reduce_sum[axes=(0,)] %6
  return %6, %8, %9, %2
}""")
SCAN = Scan(STEP, consts=1, carry=2, length=7)
GENERATOR = np.random.default_rng(0)


def operands(length: int) -> list[np.ndarray[Any, Any]]:
    a, start, xs = (GENERATOR.normal(size=shape) for shape in ((2,), (2,), (length,)))
    return [a, start, np.asarray(3, np.int64), xs]


def program_of(scan: Scan, arrays: list[np.ndarray[Any, Any]]) -> ExecProgram:
    return program_of_op(scan, [TensorMeta.of(array.dtype, array.shape) for array in arrays])


@pytest.mark.exhaustive(but=6)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 3])
@pytest.mark.parametrize("length", [0, 1, 7])
def test_a_loop_means_on_xla_what_it_means_on_numpy(
    length: int, unroll: int, reverse: bool
) -> None:
    scan = replace(SCAN, length=length, unroll=unroll, reverse=reverse)
    arrays = operands(length)
    executor = txla.XlaExecutor("cpu")
    run = executor.compile_exec(program_of(scan, arrays))
    results = run(*[executor.put(array) for array in arrays])
    for result, expected in zip(results, scan.evaluate(arrays), strict=True):
        assert result.dtype == expected.dtype
        np.testing.assert_allclose(executor.get(result), expected, rtol=1e-14, atol=1e-14)


def test_a_loop_in_a_loop() -> None:
    inner = parse("""
        exec_program(%0: f64[2], %1: f64[]) {
          %2: f64[2] = broadcast_in_dim[shape=(2,), dims=()] %1
          %3: f64[2] = add %0, %2
          return %3
        }""")
    outer = parse("""
        exec_program(%0: f64[2], %1: f64[3]) {
          %2: f64[2] = sine %0
          return %2
        }""")
    nested = program_of_op(Scan(inner, 0, 1, 3), outer.input_metas)
    scan = Scan(nested, consts=0, carry=1, length=5)
    arrays = [GENERATOR.normal(size=2), GENERATOR.normal(size=(5, 3))]
    executor = txla.XlaExecutor("cpu")
    (result,) = executor.compile_exec(program_of(scan, arrays))(*map(executor.put, arrays))
    np.testing.assert_allclose(result, arrays[0] + arrays[1].sum(), rtol=1e-13)


def sliced(text: str, slices: str | None) -> Any:
    return lambda *values: tn.einsum(text, *values, slices=slices)


def stablehlo(
    f: Any, *specs: tn.TensorSpec, executor: txla.XlaExecutor | None = None, **options: Any
) -> str:
    program = tn.make_program(f, *specs, **options)
    return (executor or txla.XlaExecutor("cpu")).lower(program).stablehlo()


def complex_dots(text: str) -> int:
    return len(re.findall(r"stablehlo\.dot_general.*complex<", text))


@pytest.mark.parametrize("transform", [lambda f: f, tn.value_and_grad])
def test_a_complex_sliced_network_has_no_complex_product(transform: Any) -> None:
    specs = [tn.TensorSpec((40, 40, 6), "c128")] * 2

    def f(*values: Any) -> Any:
        return tn.sum(tn.abs(sliced("ijs,jks->ik", "s")(*values)) ** 2)

    text = stablehlo(transform(f), *specs)
    assert text.count("stablehlo.while") > 0
    assert text.count("stablehlo.dot_general") > 0
    assert complex_dots(text) == 0
    left = stablehlo(transform(f), *specs, options=OptimizerOptions(real_contractions=False))
    assert complex_dots(left) > 0


CHAIN = "asb,bsc,asd->cds"
CHAIN_SPECS = [tn.TensorSpec(shape) for shape in ((300, 4, 8), (8, 4, 200), (300, 4, 9))]


def test_a_body_is_laid_out_for_the_target() -> None:
    """As many transposes in the body as in the program of one slice, fewer than without layout."""

    def f(*values: Any) -> Any:
        return tn.einsum(CHAIN, *values, slices="s", optimize=((0, 1), (0, 1)))

    def slice_alone(*values: Any) -> Any:
        return tn.einsum("ab,bc,ad->cd", *values, optimize=((0, 1), (0, 1)))

    executor = txla.XlaExecutor("cpu")
    loop = executor.lower(tn.make_program(f, *CHAIN_SPECS)).exec_program
    plain = [tn.TensorSpec(shape) for shape in ((300, 8), (8, 200), (300, 9))]
    alone = executor.lower(tn.make_program(slice_alone, *plain)).exec_program
    (body,) = loop.bodies()
    assert shapes_of(body, "dot_general") == shapes_of(alone, "dot_general")
    assert len(shapes_of(body, "xla_kept")) == len(shapes_of(alone, "xla_kept")) == 1
    without = tn.make_program(f, *CHAIN_SPECS, options=OptimizerOptions(contraction_layout=False))
    (unlaid,) = executor.lower(without).exec_program.bodies()
    assert shapes_of(body, "dot_general") != shapes_of(unlaid, "dot_general")


def shapes_of(program: ExecProgram, name: str) -> list[str]:
    """The types of the results of all instructions of one op."""
    return [str(step.output_metas[0]) for step in program.instructions if step.op.name == name]


def test_passes_report_what_they_change_in_bodies() -> None:
    reports: list[PassReport] = []
    program = tn.make_program(sliced("ijks,jkls->il", "s"), *[tn.TensorSpec((3, 3, 3, 4))] * 2)
    txla.XlaExecutor("cpu").lower(program, observe=reports.append)
    (decomposed,) = [report for report in reports if report.name == "dot_decomposer"]
    assert decomposed.changed
    changes = [line for line in str(decomposed).splitlines() if "dot_general" in line]
    assert any(line.startswith("-    ") for line in changes)  # indented as lines of a body are
    assert any(line.startswith("+    ") for line in changes)


@pytest.mark.parametrize(("slices", "size"), [("s", 3), (None, "n")], ids=["sliced", "named sizes"])
def test_without_passes_none_runs_inside_a_family(slices: str | None, size: int | str) -> None:
    def f(x: Any, y: Any) -> Any:
        return tn.real(tn.sum(tn.einsum("ijs,jks->ik", x, y, slices=slices)))

    specs = [tn.TensorSpec((size, size, 4), "c128")] * 2
    options = OptimizerOptions.none()
    program = tn.make_program(tn.value_and_grad(f), *specs, options=options)
    sizes = {declared.name: tn.TensorSpec((3, 3, 4), "c128") for declared in program.inputs}
    reports: list[PassReport] = []
    txla.XlaExecutor("cpu").lower(program, sizes, observe=reports.append)
    ran = {report.name for report in reports if report.changed}
    assert "expand_families" in ran
    assert ran <= {"bind_sizes", "expand_families", "resolve_dynamic_ops", "renumber_slots"}


@pytest.mark.parametrize("transform", [lambda f: f, tn.value_and_grad])
def test_the_budget_of_an_executor_holds_in_bodies(transform: Any) -> None:
    """Each slice makes a value of 800 kB; operands and results are smaller."""

    def f(*values: Any) -> Any:
        order = ((0, 1), (0, 1), (0, 1))
        return tn.einsum("ias,jas,ibs,jbs->", *values, slices="s", optimize=order)

    specs = [tn.TensorSpec((1000, 2, 3)), tn.TensorSpec((100, 2, 3))] * 2
    program = tn.make_program(transform(f), *specs)
    txla.XlaExecutor("cpu", max_bytes=800_000).lower(program)
    small = txla.XlaExecutor("cpu", max_bytes=799_999)
    with pytest.raises(ExtentError, match="takes 800000 bytes, more than the budget of 799999"):
        small.lower(program)
