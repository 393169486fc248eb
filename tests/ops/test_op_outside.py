"""An op that is defined outside tenferro is treated as one of tenferro's own, with nothing added.

It is laid out, padded, segmented, predicted, printed and parsed, saved and loaded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from jax import Array, lax

import tenferro as tn
import tenferro_xla
from tenferro.compiler import CPU, contraction_passes, optimize, parse, predict_memory
from tenferro.core import chain
from tenferro.errors import ExtensionRegistryError, FileError, ParseError
from tenferro.extension import Package
from tenferro.ir import ExecProgram, payload
from tenferro.ops import ADD, DIV, EXP, MUL, TANH, DotGeneral, Elementwise, StdTensorOp, full_like
from tenferro.ops.functions import OpFunction, apply
from tenferro.shape import DimExpr


@payload
class SharpSoftplus(Elementwise, name="tests_sharp_softplus"):
    """log(1 + exp(sharpness · x)) / sharpness. It is not 0 at 0, so padding shows in sums."""

    sharpness: float
    kinds = "f"

    def numpy(self, x: Any) -> Any:
        return (np.logaddexp(self.sharpness * x, 0) / self.sharpness).astype(x.dtype)

    def linearize(self, at: Any) -> Any:
        (x,) = at.primal

        def slope(dx: Any) -> Any:
            one = full_like(at.emitter, 1, x)
            rate = full_like(at.emitter, -self.sharpness, x)
            decay = at.emit(EXP, at.emit(MUL, rate, x))
            return at.emit(DIV, dx, at.emit(ADD, one, decay))

        return chain(at, slope)


@payload
class Opaque(SharpSoftplus, name="tests_opaque_softplus"):
    """The same without saying that it is pointwise."""

    pointwise = False


@tenferro_xla.lower.register
def _(op: SharpSoftplus, x: Array) -> Array:
    scaled = lax.mul(x, lax.full_like(x, op.sharpness))
    zero = lax.full_like(x, 0)
    soft = lax.add(lax.max(scaled, zero), lax.log1p(lax.exp(lax.neg(lax.abs(scaled)))))
    return lax.div(soft, lax.full_like(x, op.sharpness))


OP = SharpSoftplus(2.0)
PACKAGE = Package("tests-softplus", primitives=(SharpSoftplus,))


def softplus(x: Any, op: StdTensorOp = OP) -> Any:
    return apply(OpFunction(op), x)


def reference(x: Any) -> Any:
    return np.logaddexp(2 * x, 0) / 2


def between_contractions(op: StdTensorOp) -> ExecProgram:
    """Two contractions, of which the second wants the result of the first the other way round."""

    def network(a: Any, b: Any, c: Any) -> Any:
        return tn.tensordot(softplus(a @ b, op), c, axes=((0,), (0,)))

    shapes = ((512, 16), (16, 512), (512, 90))
    return tn.make_program(network, *map(tn.TensorSpec, shapes)).exec_program


def laid_out(program: ExecProgram) -> ExecProgram:
    return optimize(program, passes=contraction_passes(CPU))


def test_the_layout_of_axes_passes_through_it() -> None:
    own, other = (laid_out(between_contractions(op)) for op in (TANH, OP))
    names = [[step.op.name for step in each.instructions] for each in (own, other)]
    assert [OP.name if name == TANH.name else name for name in names[0]] == names[1]
    types = [[str(step.output_metas[0]) for step in each.instructions] for each in (own, other)]
    assert types[0] == types[1]
    opaque = laid_out(between_contractions(Opaque(2.0)))
    assert [is_turned(program) for program in (own, other, opaque)] == [True, True, False]


def is_turned(program: ExecProgram) -> bool:
    """Whether the first contraction makes its result as the second one reads it."""
    (first, *_) = program.steps_of(DotGeneral)
    return first.input_slots[1] == program.input_slots[0]


def test_its_memory_is_predicted() -> None:
    own, other = (predict_memory(laid_out(between_contractions(op))) for op in (TANH, OP))
    assert own == other
    assert other.peak > 0


@pytest.mark.parametrize("n", [1, 5, 8])
def test_sizes_are_rounded_up_around_it(n: int) -> None:
    executor = tenferro_xla.XlaExecutor(bucketing={"n": (8,)})
    total = tn.jit(lambda x: tn.sum(softplus(x)), executor=executor, symbolic={"x": ("n",)})
    x = np.linspace(-2.0, 2.0, n)
    np.testing.assert_allclose(total(x).item(), reference(x).sum(), rtol=1e-14)
    (event,) = executor.explain().events
    assert event.subject.sizes == (("n", 8),)


def test_it_runs_where_data_decide_sizes() -> None:
    program = tn.make_program(
        lambda x: tn.sum(softplus(tn.dynamic_truncate(x, tn.sum(x)))), tn.TensorSpec((4,))
    )
    executor = tenferro_xla.XlaExecutor()
    plan = executor.segments(program)
    assert [OP.name in str(segment.program) for segment in plan.segments] == [False, True]
    x = np.array([1.0, -0.5, 1.5, 0.0])
    for run in (executor.run, tn.GraphExecutor(tn.NumpyBackend()).run):
        (total,) = run(program, {"x": x})
        np.testing.assert_allclose(total.item(), reference(x[:2]).sum(), rtol=1e-14)


def test_its_text_is_read_back() -> None:
    program = tn.make_program(softplus, tn.TensorSpec(("n",))).exec_program
    assert f"{OP.name}[sharpness=2.0] %0!" in str(program)
    again = parse(str(program), packages=(PACKAGE,))
    assert str(again) == str(program)
    assert again.digest == program.digest
    assert isinstance(again.instructions[0].op, SharpSoftplus)
    with pytest.raises(ParseError, match="unknown op 'tests_sharp_softplus'"):
        parse(str(program))


def test_a_file_holds_it() -> None:
    program = tn.make_program(tn.grad(lambda x: tn.sum(softplus(x) ** 2)), tn.TensorSpec(("n",)))
    data = tn.dumps(program, packages=(PACKAGE,))
    loaded = tn.loads(data, packages=(PACKAGE,))
    assert loaded.digest == program.digest
    x = np.array([-1.0, 0.0, 3.0])
    slope = 1 / (1 + np.exp(-2 * x))
    for executor in ("xla", "numpy"):
        gradient = tn.jit(lambda x: tn.call(loaded, x), executor=executor)(x)
        np.testing.assert_allclose(gradient, 2 * reference(x) * slope, rtol=1e-14)
    with pytest.raises(FileError, match="there is no op 'tests_sharp_softplus'; if a package has"):
        tn.loads(data)
    with pytest.raises(FileError, match="pass a package that has SharpSoftplus among its primit"):
        tn.dumps(program)


def test_it_is_differentiated_on_every_surface() -> None:
    x = np.array([-1.0, 0.0, 3.0])
    slope = 1 / (1 + np.exp(-2 * x))
    runtime = tn.EagerRuntime()
    variable = runtime.variable(x)
    (y,) = runtime.invoke(OP, variable)
    tn.sum(y).backward()
    np.testing.assert_allclose(variable.grad.numpy(), slope)
    gradient = tn.grad(lambda x: tn.sum(softplus(x)))
    for jitted in (tn.jit(gradient), tn.jit(gradient, executor="numpy")):
        np.testing.assert_allclose(jitted(x), slope)


@payload
class Sine(Elementwise, name="sine"):
    """Named as an op that there is."""


@pytest.mark.parametrize(
    ("primitives", "text"),
    [
        ((Sine,), "there is an op 'sine' already; give the primitive Sine another name"),
        ((SharpSoftplus, SharpSoftplus), "there is an op 'tests_sharp_softplus' already"),
        ((OP,), r"primitives takes classes of StdTensorOp, got tests_sharp_softplus\["),
        ((DimExpr,), "primitives takes classes of StdTensorOp, got <class"),
    ],
)
def test_primitives_that_cannot_be_told_apart_by_name_are_refused(
    primitives: Any, text: str
) -> None:
    with pytest.raises(ExtensionRegistryError, match=f"Package 'p': {text}"):
        Package("p", primitives=primitives)


def test_two_packages_with_ops_of_one_name_are_refused() -> None:
    other = Package("other", primitives=(SharpSoftplus,))
    text = "the op 'tests_sharp_softplus' is in 'tests-softplus' and in 'other'; rename one of them"
    for run in (
        lambda packages: tn.AdContext(packages=packages),
        lambda packages: parse("exec_program() {\n return\n}", packages=packages),
    ):
        with pytest.raises(ExtensionRegistryError, match=text):
            run((PACKAGE, other))
