from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tests.transforms.numerical_derivatives import Layer, Pair

X = tn.Tensor([2.0, 3.0])


def test_gradients_have_the_structure_of_the_arguments() -> None:
    def f(p: Any, q: Any) -> Any:
        return tn.sum(p["a"][0] * p["b"].w) + q.a * q.b[1]

    p = {"a": [X, None], "b": Layer(X, ()), "c": (X,)}
    dp, dq = tn.grad(f, argnums=(0, 1))(p, Pair(2.0, (None, 3.0)))
    assert dp["a"][0].tolist() == [2.0, 3.0]
    assert dp["a"][1] is None
    assert (dp["b"].w.tolist(), dp["b"].b) == ([2.0, 3.0], ())
    assert dp["c"][0].tolist() == [0.0, 0.0]
    assert (dq.a.item(), dq.b[0], dq.b[1].item()) == (3.0, None, 2.0)


def test_a_tuple_of_one_argnum_gives_a_tuple_of_one() -> None:
    assert [g.item() for g in tn.grad(lambda x, y: x * y, argnums=(1,))(2.0, 3.0)] == [2.0]
    assert tn.grad(lambda x, y: x * y, argnums=-1)(2.0, 3.0).item() == 2.0


def test_grad_optional_gives_none_where_nothing_reaches() -> None:
    def f(p: Any, y: Any) -> Any:
        return p["a"] * 2.0 + tn.sum(tn.sign(y))

    grads, none = tn.grad_optional(f, argnums=(0, 1))({"a": 1.0, "b": X}, X)
    assert (grads["a"].item(), grads["b"], none) == (2.0, None, None)
    zeros = tn.grad(f, argnums=(0, 1))({"a": 1.0, "b": X}, X)
    assert zeros[0]["b"].tolist() == zeros[1].tolist() == [0.0, 0.0]
    inside = tn.jit(lambda p: tn.grad_optional(f)(p, X), executor="numpy")({"a": 1.0, "b": X})
    assert inside["b"] is None


@pytest.mark.parametrize("transform", [lambda f: f, tn.jit(executor="numpy")])
def test_auxiliary_results_of_any_structure(transform: Any) -> None:
    def f(x: Any) -> Any:
        return tn.sum(x * x), {"twice": x * 2, "n": 3, "none": None}

    (value, aux), grads = transform(tn.value_and_grad(f, has_aux=True))(X)
    assert (value.item(), grads.tolist()) == (13.0, [4.0, 6.0])
    assert (aux["twice"].tolist(), int(aux["n"]), aux["none"]) == ([4.0, 6.0], 3, None)
    grads, aux = tn.grad(f, has_aux=True)(X)
    assert (grads.tolist(), aux["n"]) == ([4.0, 6.0], 3)
    grads, aux = tn.grad_optional(f, has_aux=True)(X)
    assert (grads.tolist(), aux["twice"].tolist()) == ([4.0, 6.0], [4.0, 6.0])
    value, pullback, aux = tn.vjp(f, X, has_aux=True)
    assert (pullback(1.0)[0].tolist(), aux["n"]) == ([4.0, 6.0], 3)
    value, tangent, aux = tn.jvp(f, (X,), (X,), has_aux=True)
    assert (value.item(), tangent.item(), aux["twice"].tolist()) == (13.0, 26.0, [4.0, 6.0])
    value, linear, aux = tn.linearize(f, X, has_aux=True)
    assert (value.item(), linear(X).item(), aux["twice"].tolist()) == (13.0, 26.0, [4.0, 6.0])
    assert (aux["n"], aux["none"]) == (3, None)


def test_auxiliary_results_that_are_no_arrays_pass_through() -> None:
    grads, aux = tn.grad(lambda x: (x * x, "text"), has_aux=True)(3.0)
    assert (grads.item(), aux) == (6.0, "text")


def test_keyword_arguments_and_integer_arguments_are_not_differentiated() -> None:
    def f(x: Any, n: Any, *, k: Any) -> Any:
        return x * x * n * k

    assert tn.grad(f)(3.0, 2, k=5).item() == 60.0


def test_arguments_that_are_not_differentiated_may_be_any_python_value() -> None:
    def f(x: Any, n: int, mode: str, **options: Any) -> Any:
        for _ in range(n):
            x = x * x if mode == "square" else x * 2.0
        return x if options["keep"] else -x

    assert tn.grad(f)(3.0, 1, "square", keep=True).item() == 6.0
    assert tn.value_and_grad(f)(3.0, 2, "double", keep=False)[1].item() == -4.0
    assert tn.jit(tn.grad(lambda x: f(x, 2, "double", keep=1)))(3.0).item() == 4.0


def test_the_executor_of_a_compiled_function_runs_its_gradient() -> None:
    grads = tn.grad(tn.jit(lambda x: tn.sum(x * x), executor="xla"))(X)
    assert grads.placement == tn.Tensor([1.0]).to_device("xla").placement
    assert tn.grad(lambda x: tn.sum(x * x))(X).placement == "host"


def test_symbolic_gradients_run_at_any_size_on_either_executor() -> None:
    import_xla = pytest.importorskip("tenferro_xla")

    def loss(x: Any, w: Any) -> Any:
        y = tn.tanh(x @ w)
        return tn.sum(y * y) / x.shape[0]

    program = tn.make_program(
        tn.value_and_grad(loss, argnums=(0, 1)), tn.TensorSpec(("n", 3)), tn.TensorSpec((3,))
    )
    assert "f64[n,3]" in str(program)
    numpy, xla = tn.GraphExecutor(tn.NumpyBackend()), import_xla.XlaExecutor()
    for n in (1, 2, 7):
        x, w = np.sin(np.arange(3.0 * n)).reshape(n, 3), np.array([0.5, -1.0, 2.0])
        value, (dx, dw) = tn.value_and_grad(loss, argnums=(0, 1))(x, w)
        for executor in (numpy, xla):
            results = executor.run(program, {"x": x, "w": w})
            for actual, expected in zip(results, (value, dx, dw), strict=True):
                np.testing.assert_allclose(np.asarray(actual), np.asarray(expected))
    assert (numpy.stats().misses, xla.stats().misses) == (3, 3)
