"""JAX functions without loops as programs: each primitive computes what JAX computes."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import BindingError, PytreeError
from tenferro.runtime import GraphExecutor, NumpyBackend
from tenferro.shape import TensorSpec
from tenferro_xla import XlaExecutor, from_jax, to_jax
from tests.in_jax import in_jax

NUMPY = GraphExecutor(NumpyBackend())
XLA = XlaExecutor("cpu")

W = np.linspace(-1, 1, 8).reshape(4, 2)


@jax.custom_jvp
def ruled(x: jax.Array) -> jax.Array:
    return jnp.sin(x)


ruled.defjvp(lambda primals, tangents: (ruled(*primals), tangents[0]))


FUNCTIONS: list[Callable[..., Any]] = [
    lambda x: x + 1 - 2 * x / 3,
    lambda x: jnp.exp(jnp.sin(x)) * jnp.cos(x) - jnp.tanh(x),
    lambda x: jnp.log(jnp.sqrt(x * x + 1)) + jax.lax.rsqrt(x * x + 1),
    lambda x: x**3 + (x * x + 1) ** -2 + (x * x) ** 1.5,
    lambda x: jnp.maximum(x, 0.5) + jnp.minimum(x, 0) + jnp.abs(x) + jnp.sign(x),
    lambda x: jnp.where((x > 0) & ~(x > 1) | (x == 2), x, -x),
    lambda x: jnp.clip(x, -0.5, 0.5) + jnp.fmod(x, 0.3),
    lambda x: x.astype(jnp.float32).astype(jnp.complex128).real,
    lambda x: (x.T @ x, x @ W, jnp.einsum("ij,ik->jk", x, x)),
    lambda x: (jnp.sum(x), jnp.prod(x, axis=0), jnp.max(x, axis=1), jnp.min(x)),
    lambda x: (x[1:, ::2], x[0], jnp.pad(x, ((1, 0), (0, 2))), jnp.flip(x, 1)),
    lambda x: (jnp.concatenate([x, x]), jnp.stack([x, 2 * x], axis=1), x.reshape(-1)),
    lambda x: (jnp.expand_dims(x, 0), x[None].squeeze(0), jnp.transpose(x)),
    lambda x: x + jnp.arange(4),
    lambda x: (jax.nn.softmax(x), jax.nn.relu(x), jax.nn.sigmoid(x), jnp.var(x)),
    lambda x: jax.jit(jnp.tan)(x) + jax.checkpoint(jnp.log1p)(x * x) + jnp.expm1(x),
    lambda x: ruled(x) + jax.lax.stop_gradient(x),
    lambda x: jnp.conj(jax.lax.complex(x, x)) * 1j,
    lambda x: jnp.sinh(x) + jnp.cosh(x) + jnp.tan(x) + jnp.cbrt(x) + jnp.arctan2(x, x * x + 1),
    lambda x: jnp.arcsin(jnp.tanh(x)) + jnp.arccos(jnp.tanh(x) / 2) + jnp.arctan(x),
    lambda x: jnp.arcsinh(x) + jnp.arccosh(x * x + 2) + jnp.arctanh(jnp.tanh(x)) + jnp.exp2(x),
    lambda x: jax.lax.erf(x) + jax.lax.erfc(x) + jax.lax.erf_inv(jnp.tanh(x)),
    lambda x: jax.lax.round(3 * x, jax.lax.RoundingMethod.AWAY_FROM_ZERO),
    lambda x: jax.lax.round(0.5 * jnp.sign(x), jax.lax.RoundingMethod.AWAY_FROM_ZERO),
    lambda x: (jnp.floor(x), jnp.ceil(x), jnp.round(x), jnp.isfinite(x), x[0] // 0.3),
    lambda x: (jnp.cumsum(x, axis=1), jnp.cumprod(x, axis=0), jnp.all(x > 0), jnp.any(x > 1)),
    lambda x: x.astype(jnp.int32) & 6 | 1 ^ ~x.astype(jnp.int32) << 2 >> 1,
    lambda x: jnp.arange(3) ** 2 >> 1,
    lambda x: 3.0,
]


@pytest.mark.exhaustive(but=7)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_jax_function_becomes_a_program_with_the_same_values(
    function: Callable[..., Any],
) -> None:
    x = np.random.default_rng(0).normal(size=(3, 4))
    program = from_jax(function, TensorSpec((3, 4), "float64"))
    expected = jax.tree.leaves(in_jax(function, x))
    for executor in (NUMPY, XLA):
        found = executor.run(program, {"x": x})
        for actual, wanted in zip(found, expected, strict=True):
            assert actual.dtype == wanted.dtype
            np.testing.assert_allclose(actual.numpy(), wanted, rtol=1e-12, atol=1e-12)


def test_inputs_are_named_after_parameters_and_paths() -> None:
    params = {"w": np.ones((2, 2)), "b": [np.ones(2)]}
    program = from_jax(lambda p, x: x @ p["w"] + p["b"][0], params, TensorSpec((3, 2), "float64"))
    assert [declared.name for declared in program.inputs] == ["p['b'][0]", "p['w']", "x"]


def test_a_program_survives_the_way_through_jax_and_back() -> None:
    spec = TensorSpec((2, 3), "complex128")
    program = tn.make_program(lambda x: (x * x + 2j, tn.sum(x)), spec)
    again = from_jax(to_jax(program), spec)
    value = np.arange(6).reshape(2, 3) * (1 + 2j)
    for found, expected in zip(
        NUMPY.run(again, {again.inputs[0].name: value}),
        NUMPY.run(program, {"x": value}),
        strict=True,
    ):
        np.testing.assert_allclose(found.numpy(), expected.numpy())


def test_a_type_of_jax_is_a_spec() -> None:
    spec = jax.ShapeDtypeStruct((3,), np.float32)
    assert from_jax(jnp.sin, spec).inputs[0].meta == tn.eval_shape(tn.sin, spec).meta
    with pytest.raises(PytreeError, match="from_jax: a spec is an object, not an array or number"):
        from_jax(jnp.sin, object())


def test_symbolic_specs_are_refused() -> None:
    with pytest.raises(BindingError, match=re.escape("f64[n] has symbolic extents")):
        from_jax(jnp.sin, TensorSpec(("n",), "float64"))


def test_arguments_may_be_trees_of_the_registry_of_jax() -> None:
    model = Model({"w": np.arange(6.0).reshape(2, 3)}, (np.ones(2), None), "tanh")

    def apply(model: Model, x: Any) -> Any:
        return getattr(jnp, model.activation)(model.weights["w"] @ x + model.bias[0])

    x = np.array([0.1, -0.2, 0.3])
    program = from_jax(apply, model, x)
    assert [each.name for each in program.inputs] == ["model.weights['w']", "model.bias[0]", "x"]
    leaves = jax.tree.leaves(model)
    np.testing.assert_allclose(program(*leaves, x), apply(model, x), rtol=1e-6)
    with jax.enable_x64(True):
        expected = jax.grad(lambda model: jnp.sum(apply(model, x)))(model)
    found = tn.grad(lambda *leaves: tn.sum(program(*leaves, x)), argnums=(0, 1))(*leaves)
    for one, other in zip(found, jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["weights", "bias"],
    meta_fields=["activation"],
)
@dataclass
class Model:
    """Parameters, as a library of layers has them."""

    weights: Any
    bias: Any
    activation: str
