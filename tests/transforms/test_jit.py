from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import DeviceError, ExtentError, PytreeError, TracingError
from tests.transforms.numerical_derivatives import Layer, Pair

X = tn.Tensor([2.0, 3.0])
numpy_and_xla = pytest.mark.parametrize("executor", ["numpy", "xla"])


def counted(f: Any, **options: Any) -> tuple[Any, list[int]]:
    """A compiled function, and a list that grows with each trace."""
    traces: list[int] = []

    def function(*args: Any, **kwargs: Any) -> Any:
        traces.append(len(traces))
        return f(*args, **kwargs)

    return tn.jit(function, **{"executor": "numpy", **options}), traces


def test_one_program_for_each_structure_dtype_and_shape() -> None:
    f, traces = counted(lambda x: x if isinstance(x, dict) else x * 2)
    for x in (X, np.ones(2), tn.ones(2), np.float32([1, 2]), tn.ones(3), {"a": X}, {"b": X}, X):
        f(x)
    assert len(traces) == 5
    assert (f.stats().entries, f.stats().misses) == (5, 5)
    f.clear()
    f(X)
    assert len(traces) == 6
    assert f.capacity.entries > 0


@numpy_and_xla
def test_a_tree_is_not_taken_for_its_only_leaf(executor: str) -> None:
    f = tn.jit(lambda x: x[0] if isinstance(x, list) else x * 2, executor=executor)
    x = X if executor == "numpy" else X.to_device("xla")
    for _ in range(2):
        assert f([x]).tolist() == [2.0, 3.0]
        assert f(x).tolist() == [4.0, 6.0]
    g = tn.jit(lambda x, y=2.0: x * y, executor=executor)
    assert g(x).tolist() == [4.0, 6.0]
    assert g(x=x, y=3.0).tolist() == [6.0, 9.0]


@numpy_and_xla
def test_python_numbers_are_weak_and_arrays_are_not(executor: str) -> None:
    f = tn.jit(lambda x: x * tn.Tensor(np.float32([1, 2])), executor=executor)
    strong = tn.Tensor(2.0) if executor == "numpy" else tn.Tensor(2.0).to_device("xla")
    for _ in range(2):
        assert f(2.0).dtype == np.float32
        assert f(strong).dtype == np.float64
    assert f(np.float64(2.0)).dtype == np.float64
    g = tn.jit(lambda p: f(p["a"][0]), executor=executor)
    for _ in range(2):
        assert g({"a": [2.0]}).dtype == np.float32
        assert g({"a": [strong]}).dtype == np.float64
    assert f(1j).dtype == np.complex64


@numpy_and_xla
def test_arguments_and_results_are_trees(executor: str) -> None:
    @tn.tree_util.register_dataclass
    @dataclass(frozen=True)
    class State:
        x: Any
        step: Any

    @tn.jit(executor=executor)
    def f(state: State, *rest: Any, scale: Any = None, **more: Any) -> Any:
        doubled = State(state.x * 2, state.step + 1)
        return {"s": doubled, "r": [*rest, None], "m": more, "p": Pair(1, (scale,))}

    out = f(State(X, 1), 5.0, Layer(X, None), scale=3.0, z=X, a=(X,))
    assert (out["s"].x.tolist(), out["s"].step.item()) == ([4.0, 6.0], 2)
    assert out["r"][0].item() == 5.0
    assert out["r"][1].w.tolist() == [2.0, 3.0]
    assert out["r"][1].b is None
    assert out["r"][2] is None
    assert (out["p"].a.item(), out["p"].b[0].item()) == (1, 3.0)
    assert out["m"]["a"][0].tolist() == [2.0, 3.0]


def test_static_arguments_are_part_of_the_program() -> None:
    @tn.jit(executor="numpy", static_argnames=("n", "mode"))
    def f(x: Any, n: int = 1, mode: str = "up") -> Any:
        return x[:n] if mode == "up" else -x

    assert f(X, 1).tolist() == [2.0]
    assert f(X, n=2).tolist() == [2.0, 3.0]
    assert f(X, 2, mode="down").tolist() == [-2.0, -3.0]
    assert f.stats().entries == 3
    with pytest.raises(PytreeError, match=r"must be hashable, but argument \w+ is a list \[1\]"):
        f(X, [1])
    with pytest.raises(TracingError, match="static_argnames has 'm', which is not a parameter"):
        tn.jit(lambda x: x, static_argnames="m")


def test_names_of_inputs_are_those_of_the_arguments_that_are_not_static() -> None:
    f = tn.jit(lambda n, x, y: x[:n] + y["a"], executor="numpy", static_argnames="n")
    names = [declared.name for declared in f.program(1, X, {"a": 1.0}).inputs]
    assert names == ["x", "y['a']"]


def test_a_donated_buffer_may_be_overwritten_whatever_is_static() -> None:
    f = tn.jit(lambda n, x, y: (x * n, y), static_argnames="n", donate_argnums=1)
    x, y = (X.to_device("xla") for _ in range(2))
    assert f(2, x, y)[0].tolist() == [4.0, 6.0]
    assert x.data.is_deleted()
    assert not y.data.is_deleted()
    g = tn.jit(lambda x: x * 2, executor="numpy", donate_argnums=(0,))
    array = np.ones(2)
    assert g(array).tolist() == [2.0, 2.0]
    assert array.tolist() == [1.0, 1.0]


def test_methods() -> None:
    class Model:
        scale = 3.0

        @tn.jit(executor="numpy", static_argnames="self")
        def __call__(self, x: Any) -> Any:
            return x * self.scale

        def loss(self, x: Any) -> Any:
            return tn.sum(x * self.scale)

        @tn.jit(executor="numpy")
        def traced(self, x: Any) -> Any:
            return x

    model = Model()
    assert model(X).tolist() == [6.0, 9.0]
    assert tn.jit(model.loss, executor="numpy")(X).item() == 15.0
    assert tn.grad(model.loss)(X).tolist() == [3.0, 3.0]
    with pytest.raises(
        PytreeError, match="argument self is a Model, not an array or number; make it"
    ):
        model.traced(X)


def test_a_function_keeps_its_name_and_docstring() -> None:
    @tn.jit
    def activate(x: Any) -> Any:
        """Squash."""
        return tn.tanh(x)

    assert (activate.__name__, activate.__doc__) == ("activate", "Squash.")
    assert "activate" in repr(activate)
    assert tn.grad(activate).__name__ == "activate"


@pytest.mark.parametrize("transform", [tn.grad, tn.value_and_grad, tn.jacrev, tn.hessian])
def test_a_transform_copies_nothing_private_of_the_function(transform: Any) -> None:
    compiled = tn.jit(lambda x: tn.sum(x * x))
    compiled(np.ones(3))
    assert set(vars(transform(compiled))) <= {"__wrapped__", "__transforms__"}


def test_a_large_captured_array_is_an_input_and_no_literal() -> None:
    big = np.arange(1000.0)
    f = tn.jit(lambda x: tn.sum(x * big) + tn.sum(big), executor="xla")
    program = f.program(1.0)
    assert len(program.inputs) == 2  # the array is one input, however often it is read
    assert program.inputs[1].default is not None
    lowered = f.executor.lower(program, {"x": 1.0}).stablehlo()
    assert "tensor<1000xf64>" in lowered
    assert len(lowered) < 3000
    assert f(2.0).item() == 3 * big.sum()
    assert f.executor.run(program, {"x": 2.0})[0].item() == 3 * big.sum()


def test_a_small_captured_array_is_a_constant() -> None:
    small = np.array([1.0, 2.0])
    assert len(tn.make_program(lambda x: x * small, tn.TensorSpec(())).inputs) == 1


def test_an_array_that_changed_since_it_was_captured_is_captured_again() -> None:
    big = np.zeros(1000)
    view = np.broadcast_to(big, (2, 1000))

    def f(x: Any) -> Any:
        return tn.sum(x * big) + tn.sum(view)

    assert tn.grad(f)(1.0).item() == 0.0
    big[0] = 5.0
    assert tn.value_and_grad(f)(1.0)[0].item() == 15.0
    assert tn.jit(f, executor="numpy")(1.0).item() == 15.0


@numpy_and_xla
def test_what_no_machine_holds_is_refused_before_it_runs(executor: str) -> None:
    with pytest.raises(ExtentError, match="more than the budget"):
        tn.jit(lambda x: tn.sum(x + tn.zeros((2**33, 2**33))), executor=executor)(1.0)


@numpy_and_xla
def test_zero_size_arrays(executor: str) -> None:
    f = tn.jit(lambda x: (x @ x.T, tn.sum(x, axis=0), tn.concat([x, x])), executor=executor)
    product, total, twice = f(np.zeros((0, 3)))
    assert (product.shape, total.tolist(), twice.shape) == ((0, 0), [0.0] * 3, (0, 3))
    assert tn.grad(tn.jit(lambda x: tn.sum(tn.exp(x)), executor=executor))(
        np.zeros((0, 3))
    ).shape == (0, 3)


@pytest.mark.parametrize("flag", [False, True])
def test_results_are_64_bit_and_jaxs_flag_is_as_it_was(flag: bool) -> None:
    before = jax.config.jax_enable_x64
    with jax.enable_x64(flag):
        result = tn.jit(tn.grad(lambda x: tn.sum(tn.exp(x))))(X)
        assert (result.dtype, result.data.dtype) == (np.float64, np.float64)
        assert tn.jit(lambda x: x * 2)(np.array([2**40])).tolist() == [2**41]
        assert jax.config.jax_enable_x64 is flag
        assert (jax.numpy.ones(1) * 2.0).dtype == (np.float64 if flag else np.float32)
    assert jax.config.jax_enable_x64 is before


@numpy_and_xla
def test_threads_trace_and_run_at_once(executor: str) -> None:
    barrier = threading.Barrier(4)
    shared = tn.jit(lambda x: tn.tanh(x) * x, executor=executor)
    results: dict[int, list[Any]] = {}

    def work(number: int) -> None:
        barrier.wait()
        own = tn.jit(tn.value_and_grad(lambda x: tn.sum(shared(x) * number)), executor=executor)
        results[number] = [own(np.full(size, 0.5)) for size in (1, 2, 3) for _ in range(5)]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    slope = np.tanh(0.5) + 0.5 * (1 - np.tanh(0.5) ** 2)
    for number in range(4):
        for value, gradient in results[number]:
            np.testing.assert_allclose(value.item(), number * gradient.size * np.tanh(0.5) / 2)
            np.testing.assert_allclose(np.asarray(gradient), number * slope)


def test_leaves_that_are_no_arrays_are_refused_by_name() -> None:
    f = tn.jit(lambda x, options: x, executor="numpy")
    with pytest.raises(
        PytreeError, match=r"argument options\['mode'\] is a str, not an array or number"
    ):
        f(X, {"mode": "up"})
    with pytest.raises(PytreeError, match="argument x is a type, not an array or number"):
        f(Layer, None)
    with pytest.raises(PytreeError, match="result leaf 1 is a str, not an array or number"):
        tn.jit(lambda x: (x, "text"), executor="numpy")(X)


@pytest.mark.parametrize("kind", [list, tuple, dict])
def test_containers_of_classes_that_are_not_registered_are_refused(kind: type) -> None:
    own = type("Own", (kind,), {})
    advice = f"register its class with tn.tree_util.register_pytree_node, or pass a {kind.__name__}"
    elements = [np.zeros(2), np.zeros(3)]  # which make no array
    value = own(enumerate(elements)) if kind is dict else own(elements)
    with pytest.raises(PytreeError, match=f"argument t is an Own, not an array .*; {advice}"):
        tn.jit(lambda t: t[0], executor="numpy")(value)


def test_a_value_that_has_escaped_its_trace_is_refused() -> None:
    leaked: list[Any] = []
    tn.jit(lambda x: leaked.append(x * 2) or x, executor="numpy")(X)
    with pytest.raises(TracingError, match=r"add: f64\[2\] .* of the trace of .* which has"):
        tn.jit(lambda x: x + leaked[0], executor="numpy")(X)
    with pytest.raises(TracingError, match="a NumPy array of a traced value"):
        np.asarray(leaked[0])
    with pytest.raises(TracingError, match="program: needs concrete arguments"):
        tn.jit(lambda x: x, executor="numpy").program(leaked[0])


def test_static_arguments_that_are_equal_but_not_the_same_have_programs_of_their_own() -> None:
    f = tn.jit(lambda x, k: x * k, static_argnames="k")
    x = tn.Tensor(2.0)
    assert np.signbit(f(x, k=-0.0).item())
    assert not np.signbit(f(x, k=0.0).item())
    for k in (1, True, 1.0):
        f(x, k=k)
    assert f.stats().entries == 5


def test_an_argument_to_donate_may_be_passed_by_name_or_left_out() -> None:
    f = tn.jit(lambda x, y=2.0: x * y, executor="numpy", donate_argnums=1)
    assert [f(1.0).item(), f(1.0, y=3.0).item()] == [2, 3]
    g = tn.jit(lambda x, y: y + x, donate_argnums=1)
    y = tn.device_put(np.ones(2), "cpu")
    assert g(y=y, x=1.0).tolist() == [2, 2]
    with pytest.raises(DeviceError, match="donated to an earlier call"):
        y.numpy()


def test_results_of_any_executor_of_numpy_arrays_are_on_the_host() -> None:
    mine = tn.GraphExecutor(tn.NumpyBackend())
    f = tn.jit(lambda x: tn.sum(x * x), executor=mine)
    gradient = tn.grad(f)(np.ones(2))
    assert (f(np.ones(2)).placement, gradient.placement) == ("host", "host")
    assert (gradient + tn.Tensor(np.ones(2))).tolist() == [3.0, 3.0]
