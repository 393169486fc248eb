"""Every family of tenferro's own, and of a package of a third party, on every surface.

The families of tenferro's own are known everywhere. Those of a third party are known wherever
their package is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tenferro as tn
import tenferro_xla
from tenferro.cli import main
from tenferro.errors import ExecutorError, UnsupportedExtensionError
from tenferro.extension import Extension
from tenferro.fft.op import Fft
from tenferro.network.einsum_op import EinsumOp, NetworkDerivative
from tenferro.network.search import ContractionOptimizerOptions
from tenferro.network.sliced_op import SlicedNetwork
from tenferro.runtime import builtin_packages
from tenferro.transforms import CALLBACK
from tests.linalg.cases import linalg_cases
from tests.ops.extension.cases import SIZES, Case, random_array
from tests.ops.extension.cube import CUBE, Cube, Table

Array = np.ndarray[Any, Any]
CHAIN = ((0, 1), (1, 2), (2, 3))
PAIRS = ("pairs", ((0, 1), (2, 3)))
PLANNED_LATE = ("auto", *ContractionOptimizerOptions().identity)
LATE = "give the inputs constant sizes"
COMPLEX = ("complex128",)


def fft_cases() -> list[Case]:
    return [
        Case(Fft("c2c", 2, "root"), (("n", "m"),), dtypes=COMPLEX, lowering_needs=LATE),
        Case(Fft("r2c"), (("n", "k"),), lowering_needs=LATE),
        Case(
            Fft("c2r", 1, "inverse"),
            (("n", "m"), ("k",)),
            dtypes=("complex128", "bool"),
            active=1,
            lowering_needs=LATE,
        ),
    ]


CASES = [
    Case(EinsumOp(CHAIN, (0, 3), PAIRS), (("n", "m"), ("m", "k"), ("k", "l"))),
    Case(
        EinsumOp(CHAIN, (0, 3), PLANNED_LATE),
        (("n", "m"), ("m", "k"), ("k", "l")),
    ),
    Case(
        NetworkDerivative(CHAIN, (0, 3), PLANNED_LATE, (("jvp", (True, False, True)),)),
        (("n", "m"), ("m", "k"), ("k", "l"), ("n", "m"), ("k", "l")),
    ),
    Case(
        NetworkDerivative(CHAIN, (0, 3), PAIRS, (("vjp", (False, True, True)),)),
        (("n", "m"), ("m", "k"), ("k", "l"), ("n", "l")),
    ),
    Case(
        SlicedNetwork(CHAIN, (0, 3), PAIRS[1], (1, 2)),
        (("n", "m"), ("m", "k"), ("k", "l")),
        lowering_needs=LATE,
    ),
    Case(Cube(0.5), (("n", "m"),), (CUBE,)),
    Case(Table({"a": 1, "b": 2}), (("n",),), (CUBE,)),
]
CASES += linalg_cases() + fft_cases()
IDS = [f"{number}-{case.name}" for number, case in enumerate(CASES)]


def marks(case: Case) -> tuple[pytest.MarkDecorator, ...]:
    """The mark of a test on XLA."""
    return () if case.everywhere else (pytest.mark.exhaustive,)


def each(
    on_xla: bool = False, derivative: bool = False, everywhere: bool = False
) -> pytest.MarkDecorator:
    """Each case that XLA runs by itself, that has a derivative, or that is tried everywhere.

    Of the others, `test_jit`, `test_grad_in_jit` and the export show the lowering; a surface of XLA
    does not ask which family it has.
    """
    chosen = [
        pytest.param(case, id=name, marks=marks(case) if on_xla else ())
        for name, case in zip(IDS, CASES, strict=True)
        if not (on_xla and case.brief) and (case.has_derivative or not derivative)
        if case.everywhere or not everywhere
    ]
    return pytest.mark.parametrize("case", chosen)


def each_executor(derivative: bool = False, everywhere: bool = False) -> pytest.MarkDecorator:
    """Each case on NumPy, and on XLA if XLA runs it by itself, or it is tried everywhere."""
    chosen = [
        pytest.param(
            case, executor, id=f"{name}-{executor}", marks=marks(case) if executor == "xla" else ()
        )
        for name, case in zip(IDS, CASES, strict=True)
        for executor in ("numpy", "xla")
        if not (case.brief and executor == "xla") and (case.has_derivative or not derivative)
        if case.everywhere or executor == "numpy" or not everywhere
    ]
    return pytest.mark.parametrize(("case", "executor"), chosen)


def assert_is_value(result: Any, case: Case) -> None:
    np.testing.assert_allclose(np.asarray(result), case.expected, rtol=1e-10, atol=1e-12)


def assert_are_gradients(gradients: Sequence[Any], case: Case) -> None:
    """Along a direction the gradients are the slope of the sum, by central differences."""
    rng = np.random.default_rng(1)
    for place, gradient in enumerate(gradients):
        direction = random_array(rng, case.arrays[place].shape, case.all_dtypes[place])
        sums = []
        for step in (1e-4, -1e-4):
            moved = case.arrays
            moved[place] = moved[place] + step * direction
            sums.append(np.sum(np.real(case.reference(moved))))
        slope = (sums[0] - sums[1]) / 2e-4
        found = np.vdot(gradient, direction).real
        np.testing.assert_allclose(found, slope, rtol=1e-6, atol=1e-8)


def test_every_family_has_a_case() -> None:
    """All but callbacks: functions have neither files nor derivatives; see tests of `custom`."""
    packages = (*(each for each in builtin_packages() if each is not CALLBACK), CUBE)
    assert {case.name for case in CASES} == {f for each in packages for f in each.families}


@each_executor()
def test_jit(case: Case, executor: str) -> None:
    jitted = tn.jit(case.function, executor=executor, packages=case.packages)
    assert_is_value(jitted(*case.arrays), case)


@each_executor(everywhere=True)
def test_jit_of_named_sizes(case: Case, executor: str) -> None:
    symbolic = dict(zip("abcdef", case.shapes, strict=False))
    function = _with_arguments(case.function, len(case.shapes))
    jitted = tn.jit(function, executor=executor, symbolic=symbolic, packages=case.packages)
    assert_is_value(jitted(*case.arrays), case)


def _with_arguments(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """The function with arguments that have names."""
    names = ", ".join("abcdef"[:count])
    made: Callable[..., Any] = eval(f"lambda {names}: function({names})", {"function": function})
    return made


@pytest.mark.exhaustive(but=13)
@each_executor(derivative=True)
def test_grad_in_jit(case: Case, executor: str) -> None:
    gradient = tn.grad(case.total, case.places, ad_context=case.context)
    jitted = tn.jit(gradient, executor=executor, packages=case.packages)
    assert_are_gradients(jitted(*case.arrays), case)


@each()
@pytest.mark.parametrize("named", [False, True])
def test_graph_executor(case: Case, named: bool) -> None:
    executor = tn.GraphExecutor(tn.NumpyBackend(), packages=case.packages)
    program = case.program(case.function, named)
    assert any(isinstance(step.op, Extension) for step in program.exec_program.instructions)
    assert_is_value(executor.run(program, case.bindings(program))[0], case)


@each(on_xla=True, everywhere=True)
@pytest.mark.parametrize("named", [False, True])
def test_xla_executor(case: Case, named: bool) -> None:
    executor = tenferro_xla.XlaExecutor(packages=case.packages)
    program = case.program(case.function, named)
    assert_is_value(executor.run(program, case.bindings(program))[0], case)


@pytest.mark.exhaustive(but=13)
@each_executor(derivative=True, everywhere=True)
def test_eager_runtime_with_backward(case: Case, executor: str) -> None:
    runtime = tn.EagerRuntime(executor, packages=case.packages)
    variables = [runtime.variable(case.arrays[place]) for place in case.places]
    constants = [runtime.constant(array) for array in case.arrays[len(variables) :]]
    result = case.function(*variables, *constants)
    assert_is_value(result.numpy(), case)
    tn.sum(tn.real(result)).backward()
    assert_are_gradients([variable.grad.numpy() for variable in variables], case)


@each(on_xla=True, derivative=True)
def test_save_load_run_and_differentiate(case: Case, tmp_path: Path) -> None:
    program = case.program(case.total)
    tn.save(program, tmp_path / "a", packages=case.packages)
    loaded = tn.load(tmp_path / "a", packages=case.packages)
    assert loaded.digest == program.digest
    executor = tn.GraphExecutor(tn.NumpyBackend(), packages=case.packages)
    (total,) = executor.run(loaded, case.bindings(loaded))
    np.testing.assert_allclose(total.item(), case.expected.real.sum(), rtol=1e-10)
    gradient = tn.grad(lambda *xs: tn.call(loaded, *xs), case.places, ad_context=case.context)
    assert_are_gradients(tn.jit(gradient, packages=case.packages)(*case.arrays), case)


@each(derivative=True)
def test_a_gradient_is_saved_and_loaded(case: Case) -> None:
    gradient = tn.grad(case.total, ad_context=case.context)
    program = case.program(gradient)
    loaded = tn.loads(tn.dumps(program, packages=case.packages), packages=case.packages)
    assert loaded.digest == program.digest
    executor = tn.GraphExecutor(tn.NumpyBackend(), packages=case.packages)
    assert_are_gradients(executor.run(loaded, case.bindings(loaded)), case)


@pytest.mark.exhaustive(but=6)
@each(on_xla=True)
@pytest.mark.parametrize("named", [False, True])
def test_export_or_a_refusal_that_says_what_to_do(case: Case, named: bool) -> None:
    program = case.program(case.function, named)
    if named and case.lowering_needs is not None:
        with pytest.raises(UnsupportedExtensionError, match=case.lowering_needs) as caught:
            tenferro_xla.export(program, platforms=["cpu"], packages=case.packages)
        assert "register_extension" not in str(caught.value)
        return  # what the text says to do is the other case of this test
    if not case.is_portable:
        with pytest.raises(ExecutorError, match="no compatibility guarantees"):
            tenferro_xla.export(program, platforms=["cpu"], packages=case.packages)
        return
    artifact = tenferro_xla.export(program, platforms=["cpu"], packages=case.packages)
    assert_is_value(artifact.run(case.bindings(program))[0], case)


@pytest.mark.exhaustive(but=3)
@each(on_xla=True, everywhere=True)
def test_to_jax(case: Case) -> None:
    function = tenferro_xla.to_jax(case.program(case.function), packages=case.packages)
    assert_is_value(function(*case.arrays), case)
    if not case.has_derivative:
        return
    gradient = tenferro_xla.jax_gradient(
        case.program(case.total), *case.arrays, packages=case.packages
    )
    assert_are_gradients([np.conj(gradient)], case)


@each(on_xla=True, derivative=True)
def test_inspect_with_gradient(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "program.tenferro")
    tn.save(case.program(case.total), path)
    used = sorted({name for shape in case.shapes for name in shape})
    sizes = [word for name in used for word in ("--size", f"{name}={SIZES[name]}")]
    packages = ["--package", "tests.ops.extension.cube:CUBE"] if case.packages else []
    assert main(["inspect", path, "--grad", *sizes, *packages]) == 0
    out = capsys.readouterr().out
    assert "# transposed fragment" in out
    assert case.name in out
    assert "not made" not in out


WITHOUT_PACKAGE: dict[str, tuple[Callable[[Case], Any], str]] = {
    "jit on XLA": (
        lambda case: tn.jit(case.function)(*case.arrays),
        r"give the executor, or jit, a package that has one, packages=\(\.\.\.\), or register",
    ),
    "jit on NumPy": (
        lambda case: tn.jit(case.function, executor="numpy")(*case.arrays),
        r"give the executor the package of the family, packages=\(\.\.\.\), or one with executor",
    ),
    "GraphExecutor": (
        lambda case: tn.GraphExecutor(tn.NumpyBackend()).compile_exec(
            case.program(case.function, named=False).exec_program
        ),
        r"give the executor the package of the family, packages=\(\.\.\.\), or one with executor",
    ),
    "eager": (
        lambda case: case.function(tn.EagerRuntime().constant(case.arrays[0])),
        r"give the runtime the package of the family, packages=\(\.\.\.\), or one with runtime\.",
    ),
    "grad": (
        lambda case: case.program(tn.grad(case.total)),
        r"make a context with the package of the family, AdContext\(packages=\(\.\.\.\)\)",
    ),
    "export": (
        lambda case: tenferro_xla.export(case.program(case.function, named=False)),
        r"give export a package that has one, export\(\.\.\., packages=\(\.\.\.\)\)$",
    ),
    "to_jax": (
        lambda case: tenferro_xla.to_jax(case.program(case.function))(*case.arrays),
        r"give a package that has one to to_jax or jax_gradient, packages=\(\.\.\.\)$",
    ),
    "loads": (
        lambda case: tn.loads(tn.dumps(case.program(case.function))),
        r"not registered",
    ),
}


@pytest.mark.parametrize("surface", WITHOUT_PACKAGE)
def test_without_the_package_each_surface_says_how_it_is_given(surface: str) -> None:
    run, text = WITHOUT_PACKAGE[surface]
    with pytest.raises(tn.TenferroError, match=text) as caught:
        run(next(case for case in CASES if case.name == Cube.FAMILY_ID))
    assert Cube.FAMILY_ID in str(caught.value)
    if surface == "loads":
        assert caught.value.__notes__ == [
            "pass the package of the family to load or loads, packages=(...)"
        ]
