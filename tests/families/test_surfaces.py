"""Every family of tenferro's own, and of a package of a third party, on every surface.

The families of tenferro's own are known everywhere. Those of a third party are known wherever
their package is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tenferro as tn
import tenferro_xla
from tenferro.cli import main
from tenferro.errors import UnsupportedExtensionError
from tenferro.extension import Extension, ExtensionOp, Package, apply
from tenferro.families import STANDARD, EinsumOp, NetworkDerivative, SlicedNetwork, linalg
from tenferro.planning import ContractionOptimizerOptions
from tests.families.cube import CUBE, Cube, Table

Array = np.ndarray[Any, Any]
CHAIN = ((0, 1), (1, 2), (2, 3))
PAIRS = ("pairs", ((0, 1), (2, 3)))
SIZES = {"n": 2, "m": 3, "k": 4, "l": 5}
PLANNED_LATE = ("auto", *ContractionOptimizerOptions().identity)


@dataclass(frozen=True)
class Case:
    """An op of a family and the shapes of its inputs, in each of which it is polynomial."""

    op: ExtensionOp
    shapes: tuple[tuple[str, ...], ...]
    packages: tuple[Package, ...] = ()
    lowering_needs: str | None = None
    """What a refusal to export it for named sizes says."""

    into: Callable[[list[Array]], list[Array]] = list
    """Takes random arrays into the domain of the op."""

    @property
    def name(self) -> str:
        return self.op.family_id

    @property
    def arrays(self) -> list[Array]:
        rng = np.random.default_rng(0)
        return self.into(
            [rng.normal(size=[SIZES[name] for name in shape]) for shape in self.shapes]
        )

    @property
    def expected(self) -> Array:
        """The first output by the reference meaning."""
        return self.reference(self.arrays)

    def reference(self, arrays: list[Array]) -> Array:
        """The first output of arrays by the reference meaning."""
        return np.asarray(self.op.eager_execute(arrays)[0])

    @property
    def context(self) -> tn.AdContext:
        return tn.AdContext(packages=self.packages)

    def function(self, *inputs: Any) -> Any:
        """The first output."""
        result = apply(self.op, *inputs)
        return result[0] if isinstance(result, tuple) else result

    def total(self, *inputs: Any) -> Any:
        """The sum of the first output."""
        return tn.sum(self.function(*inputs))

    def program(self, of: Callable[..., Any], named: bool = True) -> tn.GraphProgram:
        """A program of the inputs, with names for sizes or with constant ones."""
        specs = [
            tn.TensorSpec(shape if named else tuple(SIZES[name] for name in shape), "float64")
            for shape in self.shapes
        ]
        return tn.make_program(of, *specs)

    def bindings(self, program: tn.GraphProgram) -> Mapping[str, Array]:
        names = [declared.name for declared in program.inputs]
        return dict(zip(names, self.arrays, strict=True))


def regular(arrays: list[Array]) -> list[Array]:
    """The same with 3 added to the diagonal of the first, a matrix."""
    a, *others = arrays
    return [a + 3 * np.eye(len(a)), *others]


def positive(arrays: list[Array]) -> list[Array]:
    """The same with a positive definite first matrix."""
    a, *others = arrays
    return [a @ a.T + np.eye(len(a)), *others]


def decomposed(arrays: list[Array]) -> list[Array]:
    """Eigenvalues and eigenvectors first."""
    _, a, *others = arrays
    w, v = np.linalg.eigh(a)
    return [w, v, *others]


@dataclass(frozen=True)
class Composed(Case):
    """An op in a function that computes its inputs, some of which are not free."""

    made: Callable[..., Any] = apply

    def reference(self, arrays: list[Array]) -> Array:
        return np.asarray(self.made(*arrays))

    def function(self, *inputs: Any) -> Any:
        return self.made(*inputs)


def hermitian_function(a: Any, e: Any) -> Any:
    return apply(linalg.HermitianFunction("exp", None, 1), a, *apply(linalg.Eigh(), a), e)


def eigh_block(a: Any) -> Any:
    v, b, _, _ = apply(linalg.EighBlock(1), a, *apply(linalg.Eigh(), a))
    return v @ b @ v.mT


def svd_block(a: Any) -> Any:
    u, b, v = apply(linalg.SvdBlock(1), a, *apply(linalg.SvdFactors(), a))
    return u @ b @ v.mT


def svd_truncated(a: Any) -> Any:
    rank = tn.astype(tn.sum(a - a) + 1, "int64")
    u, b, v = apply(linalg.SvdTruncated(), a, *apply(linalg.SvdFactors(), a), rank)
    return u @ b @ v.mT


def block_sylvester(c: Any, b: Any, right: Any) -> Any:
    return apply(linalg.BlockSylvester(), tn.diag(c + 3), tn.diag(b - 3), right)


def block_coupled(b: Any, d: Any, right: Any, other: Any) -> Any:
    values, p, qh = apply(linalg.SvdFactors(), d)
    block = tn.diag(b + 9)
    return apply(linalg.BlockCoupled(), block, d, right, other, p, values, qh.mT)[0]


def block_cases() -> list[Case]:
    square = ("m", "m")
    coupled = (("n",), ("k", "m"), ("k", "n"), ("m", "n"))
    return [
        Composed(
            linalg.HermitianFunction("exp", None, 1), (square, square), made=hermitian_function
        ),
        Composed(linalg.EighBlock(1), (square,), into=regular, made=eigh_block),
        Composed(linalg.BlockSylvester(), (("m",), ("n",), ("m", "n")), made=block_sylvester),
        Composed(linalg.BlockCoupled(), coupled, made=block_coupled),
        Case(linalg.SvdFactors(), (("k", "m"),)),
        Composed(linalg.SvdBlock(1), (("k", "m"),), made=svd_block),
        Composed(linalg.SvdTruncated(), (("k", "m"),), made=svd_truncated),
    ]


def linalg_cases() -> list[Case]:
    return [
        Case(linalg.TriangularSolve(), (("m", "m"), ("m", "n")), into=regular),
        Case(linalg.Cholesky(), (("m", "m"),), into=positive),
        Case(linalg.Eigh(), (("m", "m"),), into=regular),
        Case(linalg.EighJvp(), (("m",), ("m", "m"), ("m", "m")), into=decomposed),
        Case(linalg.EighVjp(), (("m",), ("m", "m"), ("m",), ("m", "m")), into=decomposed),
        *block_cases(),
    ]


LATE = "give the inputs constant sizes"
CASES = [
    Case(EinsumOp(CHAIN, (0, 3), PAIRS), (("n", "m"), ("m", "k"), ("k", "l"))),
    Case(
        EinsumOp(CHAIN, (0, 3), PLANNED_LATE),
        (("n", "m"), ("m", "k"), ("k", "l")),
        lowering_needs=LATE,
    ),
    Case(
        NetworkDerivative(CHAIN, (0, 3), PLANNED_LATE, (("jvp", (True, False, True)),)),
        (("n", "m"), ("m", "k"), ("k", "l"), ("n", "m"), ("k", "l")),
        lowering_needs=LATE,
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
CASES += linalg_cases()
IDS = [f"{number}-{case.name}" for number, case in enumerate(CASES)]
each_case = pytest.mark.parametrize("case", CASES, ids=IDS)


def assert_is_value(result: Any, case: Case) -> None:
    np.testing.assert_allclose(np.asarray(result), case.expected, rtol=1e-10, atol=1e-12)


def assert_are_gradients(gradients: Sequence[Any], case: Case) -> None:
    """Along a direction the gradients are the slope of the sum, by central differences."""
    rng = np.random.default_rng(1)
    for place, gradient in enumerate(gradients):
        direction = rng.normal(size=case.arrays[place].shape)
        sums = []
        for step in (1e-4, -1e-4):
            moved = case.arrays
            moved[place] = moved[place] + step * direction
            sums.append(np.sum(case.reference(moved)))
        slope = (sums[0] - sums[1]) / 2e-4
        found = np.sum(np.asarray(gradient) * direction)
        np.testing.assert_allclose(found, slope, rtol=1e-6, atol=1e-8)


def test_every_family_has_a_case() -> None:
    packages = (*STANDARD, CUBE)
    assert {case.name for case in CASES} == {f for each in packages for f in each.families}


@each_case
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("executor", ["xla", "numpy"])
def test_jit(case: Case, named: bool, executor: str) -> None:
    symbolic = dict(zip("abcde", case.shapes, strict=False)) if named else None
    function = _with_arguments(case.function, len(case.shapes))
    jitted = tn.jit(function, executor=executor, symbolic=symbolic, packages=case.packages)
    assert_is_value(jitted(*case.arrays), case)


def _with_arguments(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """The function with arguments that have names."""
    names = ", ".join("abcde"[:count])
    made: Callable[..., Any] = eval(f"lambda {names}: function({names})", {"function": function})
    return made


@each_case
@pytest.mark.parametrize("executor", ["xla", "numpy"])
def test_grad_in_jit(case: Case, executor: str) -> None:
    places = tuple(range(len(case.shapes)))
    gradient = tn.grad(case.total, places, ad_context=case.context)
    jitted = tn.jit(gradient, executor=executor, packages=case.packages)
    assert_are_gradients(jitted(*case.arrays), case)


@each_case
@pytest.mark.parametrize("named", [False, True])
def test_graph_executor(case: Case, named: bool) -> None:
    executor = tn.GraphExecutor(tn.NumpyBackend(), packages=case.packages)
    program = case.program(case.function, named)
    assert any(isinstance(step.op, Extension) for step in program.exec_program.instructions)
    assert_is_value(executor.run(program, case.bindings(program))[0], case)


@each_case
@pytest.mark.parametrize("named", [False, True])
def test_xla_executor(case: Case, named: bool) -> None:
    executor = tenferro_xla.XlaExecutor("cpu", packages=case.packages)
    program = case.program(case.function, named)
    assert_is_value(executor.run(program, case.bindings(program))[0], case)


@each_case
@pytest.mark.parametrize("executor", ["xla", "numpy"])
def test_eager_runtime_with_backward(case: Case, executor: str) -> None:
    runtime = tn.EagerRuntime(executor, packages=case.packages)
    variables = [runtime.variable(array) for array in case.arrays]
    result = case.function(*variables)
    assert_is_value(result.numpy(), case)
    tn.sum(result).backward()
    assert_are_gradients([variable.grad.numpy() for variable in variables], case)


@each_case
def test_save_load_run_and_differentiate(case: Case, tmp_path: Path) -> None:
    program = case.program(case.total)
    tn.save(program, tmp_path / "a", packages=case.packages)
    loaded = tn.load(tmp_path / "a", packages=case.packages)
    assert loaded.digest == program.digest
    executor = tn.GraphExecutor(tn.NumpyBackend(), packages=case.packages)
    (total,) = executor.run(loaded, case.bindings(loaded))
    np.testing.assert_allclose(total.item(), case.expected.sum(), rtol=1e-10)
    places = tuple(range(len(case.shapes)))
    gradient = tn.grad(lambda *xs: tn.call(loaded, *xs), places, ad_context=case.context)
    assert_are_gradients(tn.jit(gradient, packages=case.packages)(*case.arrays), case)


@each_case
def test_a_gradient_is_saved_and_loaded(case: Case) -> None:
    gradient = tn.grad(case.total, ad_context=case.context)
    program = case.program(gradient)
    loaded = tn.loads(tn.dumps(program, packages=case.packages), packages=case.packages)
    executor = tenferro_xla.XlaExecutor("cpu", packages=case.packages)
    assert_are_gradients(executor.run(loaded, case.bindings(loaded)), case)


@each_case
@pytest.mark.parametrize("named", [False, True])
def test_export_or_a_refusal_that_says_what_to_do(case: Case, named: bool) -> None:
    program = case.program(case.function, named)
    if named and case.lowering_needs is not None:
        with pytest.raises(UnsupportedExtensionError, match=case.lowering_needs) as caught:
            tenferro_xla.export(program, platforms=["cpu"], packages=case.packages)
        assert "register_extension" not in str(caught.value)
        program = case.program(case.function, named=False)  # as the text says
    artifact = tenferro_xla.export(program, platforms=["cpu"], packages=case.packages)
    assert_is_value(artifact.run(case.bindings(program))[0], case)


@each_case
def test_to_jax(case: Case) -> None:
    function = tenferro_xla.to_jax(case.program(case.function), packages=case.packages)
    assert_is_value(function(*case.arrays), case)
    gradient = tenferro_xla.jax_gradient(
        case.program(case.total), *case.arrays, packages=case.packages
    )
    assert_are_gradients([gradient], case)


@each_case
def test_inspect_with_gradient(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "program.tenferro")
    tn.save(case.program(case.total), path)
    used = sorted({name for shape in case.shapes for name in shape})
    sizes = [word for name in used for word in ("--size", f"{name}={SIZES[name]}")]
    packages = ["--package", "tests.families.cube:CUBE"] if case.packages else []
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
