"""Programs as JAX functions, and JAX functions as programs."""

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import BackendFailureError, BindingError, TenferroError
from tenferro.ops import ABS, IMAG, REAL, ReduceSum
from tenferro.runtime import GraphExecutor, GraphProgram, NumpyBackend
from tenferro.transforms import GraphCompiler, TracedTensor, TraceEmitter
from tenferro_xla import XlaExecutor, to_jax

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


@pytest.mark.parametrize(
    "function",
    [tn.sin, tn.jit(tn.sin), tn.grad(tn.sin), tn.asarray, tn.linalg.norm, tn.stack],
    ids=["function", "jit", "grad", "asarray", "linalg", "stack"],
)
def test_a_value_that_jax_traces_is_refused_with_the_way_across(function: Any) -> None:
    argument = (lambda x: [x, x]) if function is tn.stack else (lambda x: x)
    for transform in (jax.jit, jax.grad):
        with pytest.raises(TenferroError, match=r"call tenferro_xla\.to_jax\(program\), or use"):
            transform(lambda x: function(argument(x)))(1.0)


@pytest.mark.exhaustive
def test_jax_refuses_what_it_lacks_where_it_lowers_and_nowhere_else() -> None:
    """The user of the function chooses the platform after it is made, by `jit` or by the arrays."""
    a = np.array([[2.0, 1.0], [0.5, 3.0]])
    function = to_jax(tn.make_program(tn.scipy.linalg.sqrtm, tn.TensorSpec((2, 2), "float64")))
    text = r"matrix_function.v1: XLA has it on the CPU only, not on cuda and tpu"
    with jax.enable_x64(True):
        traced = jax.jit(function).trace(a)
        with pytest.raises(BackendFailureError, match=text):
            traced.lower(lowering_platforms=("cuda", "cpu", "tpu"))
        assert "operand_of" not in traced.lower(lowering_platforms=("cpu",)).as_text()
        root = jax.jit(function)(a)
        np.testing.assert_allclose(root @ root, a, atol=1e-14)
        np.testing.assert_allclose(function(a), root)
        np.testing.assert_allclose(jax.vmap(function)(np.stack([a, a]))[1], root)

    values = to_jax(tn.make_program(tn.linalg.eigvals, tn.TensorSpec((2, 2), "float64")))

    def loss(x: jax.Array) -> jax.Array:
        return jnp.sum(jnp.abs(values(x)) ** 2)

    with jax.enable_x64(True):
        jax.jit(values).trace(a).lower(lowering_platforms=("cuda",))
        with pytest.raises(BackendFailureError, match="on cpu and cuda and rocm only, not on tpu"):
            jax.jit(jax.grad(loss)).trace(a).lower(lowering_platforms=("tpu",))
        gradient = jax.jit(jax.grad(loss))(a)
        step = 1e-6 * np.eye(2)
        slope = (loss(a + step) - loss(a - step)) / 2e-6
        np.testing.assert_allclose(np.trace(gradient), slope, rtol=1e-6)
