"""Programs as JAX functions, and JAX functions as programs."""

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tenferro.errors import BindingError, ExecutorError
from tenferro.ops import ABS, IMAG, REAL, ReduceSum
from tenferro.runtime import GraphExecutor, GraphProgram, NumpyBackend
from tenferro.shape import TensorSpec
from tenferro.traced import GraphCompiler, TracedTensor, TraceEmitter
from tenferro_xla import XlaExecutor, from_jax, to_jax

NUMPY = GraphExecutor(NumpyBackend())
XLA = XlaExecutor("cpu")


def compiled(*outputs: TracedTensor, inputs: tuple[TracedTensor, ...] = ()) -> GraphProgram:
    return GraphCompiler().compile(outputs, inputs=inputs)


def total(x: TracedTensor) -> TracedTensor:
    return TracedTensor(TraceEmitter().emit(ReduceSum(tuple(range(x.meta.rank))), x.key))


def test_a_program_is_a_jax_function_under_jit_grad_and_vmap() -> None:
    x = TracedTensor.input((3,), "float32", name="x")
    function = to_jax(compiled(total(x * x * x)))
    value = np.array([1.0, 2.0, 3.0], np.float32)
    assert float(function(value)) == 36.0
    assert float(jax.jit(function)(value)) == 36.0
    np.testing.assert_allclose(jax.grad(function)(value), 3 * value**2)
    np.testing.assert_allclose(jax.vmap(function)(np.stack([value, value])), [36.0, 36.0])
    np.testing.assert_allclose(jax.jit(jax.hessian(function))(value), np.diag(6 * value))


def test_inputs_are_positional_or_named_and_several_outputs_are_a_tuple() -> None:
    x = TracedTensor.input((), "float64", name="x")
    y = TracedTensor.input((), "float64", name="y")
    function = to_jax(compiled(x - y, x * y, inputs=(x, y)))
    assert [float(r) for r in function(5.0, 2.0)] == [3.0, 10.0]
    assert [float(r) for r in function({"y": 2.0, "x": 5.0})] == [3.0, 10.0]
    assert function(5, 2)[0].dtype == np.float64
    with pytest.raises(BindingError, match=re.escape("takes 2 inputs (x, y), got 1")):
        function(5.0)
    with pytest.raises(BindingError, match="'z' is not an input"):
        function({"x": 1.0, "z": 1.0})
    with pytest.raises(BindingError, match=re.escape("input 'y': f64[] is not given")):
        function({"x": 1.0})


def test_a_captured_array_needs_no_argument() -> None:
    x = TracedTensor.input((500,), "float64", name="x")
    captured = np.arange(500.0)
    function = to_jax(compiled(total(x * TracedTensor.constant(captured))))
    assert float(function(np.ones(500))) == captured.sum()
    np.testing.assert_array_equal(function(np.ones(500)), function({"x": np.ones(500)}))


def test_symbolic_sizes_are_those_of_the_arguments() -> None:
    x = TracedTensor.input(("n", 2), "float32", name="x")
    function = to_jax(compiled(total(x * x)))
    for rows in (1, 4):
        assert float(jax.jit(function)(np.ones((rows, 2), np.float32))) == 2 * rows
    batch = np.ones((5, 3, 2), np.float32)
    np.testing.assert_allclose(jax.vmap(function)(batch), np.full(5, 6.0))
    with pytest.raises(BindingError, match="axis 1 of input 'x' is declared 2"):
        function(np.ones((3, 3), np.float32))


def test_a_64_bit_program_refuses_what_jax_has_narrowed() -> None:
    x = TracedTensor.input((), "float64", name="x")
    function = to_jax(compiled(x * 2))
    assert function(1 / 3).dtype == np.float64
    with jax.enable_x64(True):
        assert jax.jit(function)(1 / 3).dtype == np.float64
        assert jax.grad(function)(1 / 3).dtype == np.float64
    with pytest.raises(BindingError, match=re.escape("input 'x' is f64[], its spec is f32[]")):
        jax.jit(function)(1 / 3)


def test_gradients_at_complex_inputs_obey_jax() -> None:
    z = TracedTensor.input((), "complex64", name="z")
    emitter = TraceEmitter()
    size = TracedTensor(emitter.emit(ABS, z.key))
    at = np.complex64(3 + 4j)
    found = jax.grad(to_jax(compiled(size * size)))(at)
    np.testing.assert_allclose(found, jax.grad(lambda z: jnp.abs(z) ** 2)(at), rtol=1e-5)
    parts = [TracedTensor(emitter.emit(part, z.key)) for part in (REAL, IMAG)]
    found = jax.grad(to_jax(compiled(parts[0] * parts[1])))(at)
    np.testing.assert_allclose(found, jax.grad(lambda z: z.real * z.imag)(at), rtol=1e-5)


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


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_jax_function_becomes_a_program_with_the_same_values(
    function: Callable[..., Any],
) -> None:
    x = np.random.default_rng(0).normal(size=(3, 4))
    program = from_jax(function, TensorSpec((3, 4), "float64"))
    with jax.enable_x64(True):
        expected = jax.tree.leaves(function(jnp.asarray(x)))
    for executor in (NUMPY, XLA):
        found = executor.run(program, {"x": x})
        for actual, wanted in zip(found, expected, strict=True):
            assert actual.dtype == np.asarray(wanted).dtype
            np.testing.assert_allclose(actual.numpy(), wanted, rtol=1e-12, atol=1e-12)


def test_inputs_are_named_after_parameters_and_paths() -> None:
    params = {"w": np.ones((2, 2)), "b": [np.ones(2)]}
    program = from_jax(lambda p, x: x @ p["w"] + p["b"][0], params, TensorSpec((3, 2), "float64"))
    assert [declared.name for declared in program.inputs] == ["p['b'][0]", "p['w']", "x"]


def test_a_program_survives_the_way_through_jax_and_back() -> None:
    x = TracedTensor.input((2, 3), "complex128", name="x")
    program = compiled(x * x + 2j, total(x))
    again = from_jax(to_jax(program), TensorSpec((2, 3), "complex128"))
    value = np.arange(6).reshape(2, 3) * (1 + 2j)
    for found, expected in zip(
        NUMPY.run(again, {again.inputs[0].name: value}),
        NUMPY.run(program, {"x": value}),
        strict=True,
    ):
        np.testing.assert_allclose(found.numpy(), expected.numpy())


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (jnp.sort, "the JAX primitive 'sort' has no counterpart"),
        (jax.lax.cummax, "the JAX primitive 'cummax' has no counterpart"),
        (
            lambda x: jax.lax.fori_loop(0, 3, lambda i, y: y + x, x),
            "the JAX primitive '(scan|while)'",
        ),
        (
            lambda x: jax.lax.shift_right_logical(x.astype(jnp.int32), np.int32(1)),
            "'shift_right_logical' of i32",
        ),
    ],
)
def test_the_first_primitive_without_counterpart_is_named(
    function: Callable[..., Any], text: str
) -> None:
    with pytest.raises(ExecutorError, match=text):
        from_jax(function, np.ones(3))


def test_symbolic_specs_are_refused() -> None:
    with pytest.raises(BindingError, match=re.escape("f64[n] has symbolic extents")):
        from_jax(jnp.sin, TensorSpec(("n",), "float64"))
