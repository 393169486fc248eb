"""Value and gradient of a sliced network: one loop, which contracts the network once."""

from typing import Any

import numpy as np
import pytest

import tenferro as tn
import tenferro_xla as txla
from tenferro.compiler import OptimizerOptions
from tenferro.ir import ExecProgram
from tests.programs import dots

# Every contraction depends on the slice.
RING, SHAPES, SLICE = (
    "abx,bcx,cdx,dax->",
    [(3, 4, 5), (4, 2, 5), (2, 6, 5), (6, 3, 5)],
    "ab,bc,cd,da->",
)
LOSSES: dict[str, Any] = {
    "itself": lambda y: tn.real(y),
    "log": lambda y: tn.log(tn.abs(y)),
    "square": lambda y: tn.abs(y) ** 2,
}


def value_and_gradient(text: str, loss: str, **options: Any) -> Any:
    """The function of a network's operands."""

    def f(*operands: Any) -> Any:
        return LOSSES[loss](
            tn.einsum(text, *operands, optimize=((0, 1), (0, 1), (0, 1)), **options)
        )

    return tn.value_and_grad(f, argnums=(0, 1, 2, 3))


def lowered(f: Any, shapes: list[tuple[int, ...]], dtype: str, joined: bool = True) -> ExecProgram:
    """A program as it is lowered for XLA, complex contractions counted as one."""
    options = OptimizerOptions(real_contractions=False, lane_sum_fusion=joined)
    program = tn.make_program(
        f, *[tn.TensorSpec(shape, dtype) for shape in shapes], options=options
    )
    return txla.XlaExecutor().lower(program).exec_program


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("dtype", ["f64", "c128"])
@pytest.mark.parametrize("loss", LOSSES)
def test_value_and_gradient_of_a_sliced_network_contract_it_once(loss: str, dtype: str) -> None:
    """In each slice no more contractions than value and gradient of the slice take alone."""
    sliced = value_and_gradient(RING, loss, slices="x")
    alone = value_and_gradient(SLICE, loss)
    limit = 5 * dots(lowered(alone, [shape[:2] for shape in SHAPES], dtype))
    joined = lowered(sliced, SHAPES, dtype)
    assert [step.op.name for step in joined.instructions].count("lane_sum") == 1
    assert 0 < dots(joined) <= limit
    assert dots(joined) < dots(lowered(sliced, SHAPES, dtype, joined=False))


def test_a_cotangent_with_axes_keeps_the_loops_apart() -> None:
    """It depends on the whole value, and so the gradient contracts the network again."""
    text, specs = "ij,jk,kl->il", [tn.TensorSpec((3, 3))] * 3

    def f(*operands: Any) -> Any:
        return tn.sum(tn.einsum(text, *operands, slices="j") ** 2)

    program = tn.make_program(tn.value_and_grad(f), *specs)
    steps = txla.XlaExecutor().lower(program).exec_program.instructions
    assert [step.op.name for step in steps].count("lane_sum") == 2


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("loss", LOSSES)
def test_results_of_joined_loops_are_those_without_slices(loss: str) -> None:
    generator = np.random.default_rng(0)
    operands = [
        generator.normal(size=shape) + 1j * generator.normal(size=shape) for shape in SHAPES
    ]
    value, gradients = tn.jit(value_and_gradient(RING, loss))(*operands)
    for executor in ("xla", "numpy"):
        sliced = tn.jit(value_and_gradient(RING, loss, slices="xc"), executor=executor)
        sliced_value, sliced_gradients = sliced(*operands)
        np.testing.assert_allclose(sliced_value, value, rtol=1e-12)
        for left, right in zip(sliced_gradients, gradients, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-11, atol=1e-12)


def test_higher_derivatives_of_a_number_are_one_loop_too() -> None:
    """A product of a Hessian and a vector reads values, gradients and their tangents."""

    def along(x: Any, y: Any, *others: Any) -> Any:
        def f(x: Any, y: Any) -> Any:
            return tn.log(tn.einsum(RING, x, y, *others, slices="x"))

        return tn.hvp(f, (x, y), (x + 1, y + 1))

    program = lowered(along, SHAPES, "f64")
    assert [step.op.name for step in program.instructions].count("lane_sum") == 1
