"""Memory is predicted before anything is compiled, and close to what XLA then says."""

from typing import Any

import pytest

import tenferro as tn
import tenferro_xla as txla
from tenferro.network import predict_memory
from tests.networks import instances
from tests.sampling import some

SLOW_TO_COMPILE = ("str_mps", "tensornetwork")
CHOSEN = [one for one in instances() if not one["name"].startswith(SLOW_TO_COMPILE)]


def xla_peak(program: tn.GraphProgram) -> int:
    memory = txla.XlaExecutor().lower(program).memory()
    return memory.outputs + memory.temporaries


@pytest.mark.skipif(not CHOSEN, reason="the instances are not beside the checkout")
@pytest.mark.parametrize(
    "instance",
    some(CHOSEN, 4, lambda one: one["name"]),  # each is compiled
)
def test_the_prediction_is_within_30_percent_of_xlas_figure(instance: dict[str, Any]) -> None:
    specs = [tn.TensorSpec(tuple(shape)) for shape in instance["shapes"]]
    path = instance["paths"]["opt_flops"]["path"]
    plan = tn.einsum_plan(instance["format_string"], *specs, optimize=path)
    figure = xla_peak(plan.program)
    assert 0.7 * figure <= plan.peak_bytes <= 1.3 * figure


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("slices", ["x", "ab", "bcx"])
def test_that_of_a_loop_is_too(slices: str) -> None:
    specs = [tn.TensorSpec((24, 16, 12))] + [tn.TensorSpec((16, 16, 12))] * 2
    specs.append(tn.TensorSpec((16, 24, 12)))
    plan = tn.einsum_plan("abx,bcx,cdx,dax->x", *specs, slices=slices)
    figure = xla_peak(plan.program)
    assert 0.7 * figure <= plan.peak_bytes <= 1.3 * figure


@pytest.mark.exhaustive(but=1)
@pytest.mark.parametrize("text", ["abx,bcx,cdx,dax->", "abx,bcx,cdx,dax->x"])
def test_that_of_value_and_gradient_in_slices_is_too(text: str) -> None:
    """What a loop adds up is one buffer, whatever the number of rounds."""
    specs = [tn.TensorSpec((32, 32, 16))] * 4

    def loss(*values: Any) -> Any:
        return tn.sum(tn.einsum(text, *values, slices="x") ** 2)

    program = tn.make_program(tn.value_and_grad(loss, argnums=(0, 1, 2, 3)), *specs)
    lowered = txla.XlaExecutor().lower(program)
    need, figure = predict_memory(lowered.exec_program), xla_peak(program)
    assert 0.7 * figure <= need.peak <= 1.3 * figure


def test_gradients_are_predicted_from_their_program() -> None:
    specs = [tn.TensorSpec((64, 64))] * 3

    def loss(*values: Any) -> Any:
        return tn.sum(tn.einsum("ij,jk,kl->il", *values) ** 2)

    program = tn.make_program(tn.grad(loss, argnums=(0, 1, 2)), *specs)
    lowered = txla.XlaExecutor().lower(program)
    need, figure = predict_memory(lowered.exec_program), xla_peak(program)
    assert need.outputs == 3 * 64 * 64 * 8
    assert 0.7 * figure <= need.peak <= 1.3 * figure


def test_what_is_summed_over_its_first_axes_is_stored() -> None:
    def mixture(x: Any, means: Any) -> Any:
        scores = -tn.sum((x[:, None, :] - means[None]) ** 2, axis=-1)
        return tn.sum(tn.log(tn.sum(tn.exp(scores), axis=1)))

    specs = [tn.TensorSpec((200, 8)), tn.TensorSpec((40, 8))]
    program = tn.make_program(tn.grad(mixture, argnums=(0, 1)), *specs)
    need, figure = predict_memory(program.exec_program), xla_peak(program)
    assert 0.7 * figure <= need.peak <= 1.3 * figure
