"""einsum and tensordot on every kind of tensor, and what repeated calls cost."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
import tenferro_xla as txla
from tenferro import network
from tenferro.network import PLANNER, PLANS

GENERATOR = np.random.default_rng(0)
A, B, C = (GENERATOR.normal(size=shape) for shape in ((2, 3), (3, 4), (4, 5)))
CHAIN = "ij,jk,kl->il"


def on_xla(array: np.ndarray) -> jax.Array:
    with jax.enable_x64(True):
        return jax.numpy.asarray(array)


def runtime(executor: Any) -> tn.EagerRuntime:
    rules = tn.AdContext.builder().with_extension_rules(network.ad_rules()).build()
    made = tn.EagerRuntime(executor=executor, ad_context=rules)
    if not isinstance(executor, txla.XlaExecutor):
        made.register_extension(network.register_runtime)
    return made


KINDS: dict[str, Callable[[np.ndarray], Any]] = {
    "numpy": lambda x: x,
    "tensor": tn.Tensor,
    "jax": on_xla,
    "eager": runtime(tn.GraphExecutor(tn.NumpyBackend())).constant,
    "eager_xla": runtime(txla.XlaExecutor()).constant,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_network_is_contracted_where_its_tensors_are(kind: str) -> None:
    operands = [KINDS[kind](x) for x in (A, B, C)]
    for slices in (None, "j"):
        result = tn.einsum(CHAIN, *operands, slices=slices)
        np.testing.assert_allclose(np.asarray(result), A @ B @ C, rtol=1e-12)
    if kind == "jax":
        assert result.placement == tn.Tensor(operands[0]).placement
    if kind.startswith("eager"):
        assert isinstance(result, tn.EagerTensor)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("axes", [0, 1, 2, ([1], [0]), ([0, 1], [1, 2]), ([-1], [1])])
def test_tensordot_is_numpys_on_every_kind(kind: str, axes: Any) -> None:
    x, y = GENERATOR.normal(size=(3, 3)), GENERATOR.normal(size=(3, 3, 3))
    result = tn.tensordot(KINDS[kind](x), KINDS[kind](y), axes=axes)
    np.testing.assert_allclose(np.asarray(result), np.tensordot(x, y, axes), rtol=1e-12)


@pytest.mark.parametrize("axes", [1, ([1], [0])])
def test_tensordot_of_traced_tensors_and_its_gradient(axes: Any) -> None:
    def product(x: Any, y: Any) -> Any:
        return tn.tensordot(x, y, axes=axes)

    np.testing.assert_allclose(tn.jit(product)(A, B), np.tensordot(A, B, axes), rtol=1e-12)
    gradient = tn.grad(lambda x: tn.sum(product(x, B) ** 2))(A)
    np.testing.assert_allclose(gradient, 2 * (A @ B) @ B.T, rtol=1e-12)


@pytest.mark.parametrize("executor", [tn.GraphExecutor(tn.NumpyBackend()), txla.XlaExecutor()])
@pytest.mark.parametrize("slices", [None, "j"])
def test_backward_goes_through_a_network(executor: Any, slices: Any) -> None:
    made = runtime(executor)
    x, y, z = (made.variable(each) for each in (A, B, C))
    tn.sum(tn.einsum(CHAIN, x, y, z, slices=slices) ** 2).backward()
    result = 2 * A @ B @ C
    expected = (result @ (B @ C).T, A.T @ result @ C.T, (A @ B).T @ result)
    for each, wanted in zip((x, y, z), expected, strict=True):
        np.testing.assert_allclose(np.asarray(each.grad), wanted, rtol=1e-12)


@pytest.mark.parametrize("kind", ["numpy", "jax"])
def test_a_repeated_call_plans_and_compiles_once(kind: str) -> None:
    text = "ab,bc,cd,de->ae"
    operands = [KINDS[kind](GENERATOR.normal(size=(3, 3))) for _ in range(4)]
    tn.einsum(text, *operands)
    plans, trees = PLANS.stats().misses, PLANNER.stats().misses
    executor = tn.Tensor(operands[0]).executor
    compiled = 0 if executor is None else executor.stats().misses
    for _ in range(3):
        tn.einsum(text, *operands)
    assert (PLANS.stats().misses, PLANNER.stats().misses) == (plans, trees)
    assert (0 if executor is None else executor.stats().misses) == compiled


def test_a_plan_of_other_letters_is_the_same_plan() -> None:
    plan = tn.einsum_plan(CHAIN, A, B, C, slices="k")
    result = tn.einsum("ab,bc,cd->ad", A, B, C, optimize=plan)
    np.testing.assert_allclose(result, A @ B @ C, rtol=1e-12)
