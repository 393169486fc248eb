"""jit with symbolic sizes: one trace for all of them, one executable for each."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import BindingError, GuardViolationError, PytreeError, ShapeError, TracingError
from tenferro_xla import XlaExecutor
from tests.transforms.numerical_derivatives import Layer

numpy_and_xla = pytest.mark.parametrize("executor", ["numpy", "xla"])
ARRAYS = {"x": ("n", 3), "y": ("n",)}


def network(np_like: Any) -> Any:
    """A loss whose program has matrix products, means over the batch, and slices of it."""

    def loss(params: Any, x: Any, y: Any) -> Any:
        h = np_like.tanh(x @ params["w"] + params["b"])
        centred = h - np_like.mean(h, axis=0)
        error = np_like.sum(centred, axis=1) - y
        return np_like.sum(error * error) / x.shape[0] + np_like.max(h[:1])

    return loss


def batch(n: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(n)
    params = {"w": rng.normal(size=(3, 4)), "b": rng.normal(size=4)}
    return params, rng.normal(size=(n, 3)), rng.normal(size=n)


@pytest.mark.exhaustive
def test_one_program_gives_jaxs_answers_at_twenty_sizes() -> None:
    xla = XlaExecutor()
    traces: list[None] = []

    def counted(params: Any, x: Any, y: Any) -> Any:
        traces.append(None)
        return network(tn)(params, x, y)

    step = tn.jit(tn.value_and_grad(counted, argnums=(0, 1)), executor=xla, symbolic=ARRAYS)
    with jax.enable_x64(True):
        expected = jax.jit(jax.value_and_grad(network(jnp), argnums=(0, 1)))
        for n in range(1, 21):
            found = step(*batch(n))
            reference = jax.device_get(expected(*batch(n)))
            jax.tree.map(
                lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12),
                jax.tree.map(np.asarray, found),
                reference,
            )
    assert len(traces) == 1
    assert (step.trace_stats().misses, step.trace_stats().entries) == (1, 1)
    assert xla.stats().misses == 20
    for n in range(20, 0, -1):
        step(*batch(n))
    assert (len(traces), xla.stats().misses) == (1, 20)
    program = step.program(*batch(7))
    assert program is step.program(*batch(8))
    assert program.inputs[2].meta == tn.TensorSpec(("n", 3)).meta


@numpy_and_xla
def test_sizes_may_be_expressions_of_names(executor: str) -> None:
    n = tn.make_program(lambda x: x, tn.TensorSpec(("n",))).inputs[0].meta.exact_shape()[0]
    join = tn.jit(
        lambda x, y, z: (tn.concat([x, x]) + y, tn.sum(z)),
        executor=executor,
        symbolic={"x": ("n", "m"), "y": ("2*n", "m"), "z": (n + 1,)},
    )
    for size in (1, 4, 0):
        x, y = np.ones((size, 2)), np.ones((2 * size, 2))
        total, rest = join(x, y, np.ones(size + 1))
        assert (total.shape, rest.item()) == ((2 * size, 2), size + 1)
    assert join.trace_stats().misses == 1
    with pytest.raises(
        BindingError, match=r"declared 2\*n \(2\*n is 4\), but the value has size 5"
    ):
        join(np.ones((2, 2)), np.ones((5, 2)), np.ones(3))


@numpy_and_xla
def test_one_symbol_of_two_sizes_is_refused(executor: str) -> None:
    add = tn.jit(lambda x, y: x + y, executor=executor, symbolic={"x": ("n",), "y": ("n",)})
    with pytest.raises(BindingError, match=r"axis 0 of input 'y' is declared n \(n is 3\)"):
        add(np.ones(3), np.ones(4))
    with pytest.raises(BindingError, match=r"axis 0 of input 'y' is declared n \(n is 3\)"):
        tn.grad(lambda x: tn.sum(add(x, np.ones(4))))(np.ones(3))
    assert add(np.ones(4), np.ones(4)).tolist() == [2.0] * 4


@numpy_and_xla
def test_sizes_that_were_assumed_equal_are_checked_in_each_call(executor: str) -> None:
    dot = tn.jit(lambda x, y: tn.sum(x * y), executor=executor, symbolic={"x": ("n",), "y": ("m",)})
    assert dot(np.ones(3), np.ones(3)).item() == 3.0
    for _ in range(2):
        with pytest.raises(GuardViolationError, match=r"multiply: .*: assumed n == m, but 3 != 4"):
            dot(np.ones(3), np.ones(4))
    assert dot.trace_stats().misses == 1


def test_a_symbol_that_no_extent_is_alone_has_no_size() -> None:
    twice = tn.jit(lambda x: x * 2, executor="numpy", symbolic={"x": ("2*n",)})
    with pytest.raises(BindingError, match="no input has the extent n alone"):
        twice(np.ones(4))


def test_trees_take_a_shape_for_all_their_arrays_or_a_tree_of_shapes() -> None:
    seen: list[Any] = []

    def f(layer: Any, batch: Any, scale: Any) -> Any:
        seen.append([layer.w.shape, *(leaf.shape for leaf in batch)])
        return tn.sum(layer.w) * scale + tn.sum(batch[0]) + tn.sum(batch[1])

    n = tn.make_program(lambda x: x, tn.TensorSpec(("n",))).inputs[0].meta.exact_shape()[0]
    symbolic = {"layer": Layer(("k", None), None), "batch": ("n", ...)}
    g = tn.jit(f, executor="numpy", symbolic=symbolic)
    for size in (2, 3):
        layer = Layer(np.ones((size, 2)), None)
        assert g(layer, [np.ones(size), np.ones((size, 1))], 2.0).item() == 6 * size
    assert seen == [[(n * 0 + tn.TensorSpec(("k",)).shape[0], 2), (n,), (n, 1)]]
    g(Layer(np.ones((2, 3)), None), [np.ones(2), np.ones((2, 1))], 2.0)
    assert len(seen) == 2  # an axis declared None is part of the type


def test_a_tree_of_shapes_must_fit_the_argument() -> None:
    f = tn.jit(lambda p: p, executor="numpy", symbolic={"p": {"w": ("n",)}})
    with pytest.raises(PytreeError, match=r"jit: symbolic\['p'\] does not fit the argument"):
        f([np.ones(2)])


def test_a_declared_type_has_a_dtype() -> None:
    f = tn.jit(lambda x: x, executor="numpy", symbolic={"x": tn.TensorSpec(("n",), "float32")})
    assert f(np.ones(2, np.float32)).shape == (2,)
    with pytest.raises(BindingError, match=re.escape("x is declared (n), but is f64[2]")):
        f(np.ones(2))


@pytest.mark.parametrize("given", [np.ones((2, 2)), 1.0])
def test_an_array_of_another_rank_is_refused(given: Any) -> None:
    with pytest.raises(BindingError, match=r"jit: argument x is declared .*, but is f64"):
        tn.jit(lambda x: x, executor="numpy", symbolic={"x": ("n",)})(given)


def test_what_is_declared_must_be_a_shape_of_a_parameter() -> None:
    with pytest.raises(TracingError, match="symbolic has 'z', which is not a parameter"):
        tn.jit(lambda x: x, symbolic={"z": ("n",)})
    with pytest.raises(TracingError, match="argument 'x' is both static and symbolic"):
        tn.jit(lambda x: x, symbolic={"x": ("n",)}, static_argnames="x")
    with pytest.raises(TracingError, match="symbolic maps names of arguments to shapes"):
        tn.jit(lambda x: x, symbolic=("n",))  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match=r"symbolic\['x'\] has 'n' in place of a shape"):
        tn.jit(lambda x: x, symbolic={"x": "n"})
    with pytest.raises(ShapeError, match=r"`...` must be the last entry of a shape"):
        tn.jit(lambda x: x, symbolic={"x": (..., "n")})
    with pytest.raises(ShapeError, match="'n n' is not a size"):
        tn.jit(lambda x: x, symbolic={"x": ("n n",)})


@numpy_and_xla
def test_static_arguments_keywords_and_captured_arrays_go_with_symbols(executor: str) -> None:
    big = np.arange(300.0)

    def f(k: int, x: Any, *, y: Any) -> Any:
        return tn.sum(x) * k + tn.sum(y) + tn.sum(big)

    g = tn.jit(f, executor=executor, static_argnames="k", symbolic={"x": ("n",), "y": ("m",)})
    for k in (1, 2):
        for n in (2, 5):
            assert g(k, np.ones(n), y=np.ones(3)).item() == k * n + 3 + big.sum()
    assert (g.trace_stats().misses, g.stats().misses) == (2, 4)
    g.clear()
    assert (g.trace_stats().entries, g.stats().entries) == (0, 0)


@numpy_and_xla
def test_derivatives_see_through_a_function_with_symbols(executor: str) -> None:
    f = tn.jit(lambda x: tn.sum(x**3) / x.shape[0], executor=executor, symbolic={"x": ("n",)})
    inside = tn.jit(tn.grad(lambda x: f(x)), executor=executor, symbolic={"x": ("m",)})
    for n in (1, 4):
        x = np.arange(1.0, n + 1)
        np.testing.assert_allclose(np.asarray(tn.grad(f)(x)), 3 * x**2 / n)
        np.testing.assert_allclose(np.asarray(tn.value_and_grad(f)(x)[1]), 3 * x**2 / n)
        np.testing.assert_allclose(np.asarray(inside(x)), 3 * x**2 / n)
        np.testing.assert_allclose(np.asarray(f(x)), np.sum(x**3) / n)
    assert inside.trace_stats().misses == 1


@numpy_and_xla
def test_values_whose_size_data_decide_are_taken_within_a_trace(executor: str) -> None:
    total = tn.jit(lambda x: tn.sum(x * x), executor=executor, symbolic={"x": ("n",)})
    f = tn.jit(
        lambda x: total(tn.dynamic_truncate(x, tn.sum(x))),
        executor=executor,
        symbolic={"x": ("n",)},
    )
    assert [f(np.ones(n) / 2).item() for n in (2, 4, 6)] == [0.25, 0.5, 0.75]


KNOWN_IN_SHAPES_OF_NAMES: dict[str, Any] = {
    "number": lambda x: tn.broadcast_to(2.0, x.shape),
    "array": lambda x: tn.broadcast_to(np.ones(1), (2, *x.shape)),
    "padded": lambda x: tn.pad(np.ones(1), (0, x.shape[0] - 1)),
    "lax": lambda x: tn.lax.broadcast_in_dim(np.float64(2.0), x.shape, ()),
    "size": lambda x: tn.asarray(x.shape[0]),
    "list": lambda x: tn.asarray([x.shape[0], 2]),
    "gamma": lambda x: tn.random.gamma(tn.random.key(0), 2.0, x.shape),
    "choice": lambda x: tn.random.choice(tn.random.key(0), x.shape[0], (4,)),
}


@pytest.mark.parametrize("name", KNOWN_IN_SHAPES_OF_NAMES)
def test_a_known_array_takes_a_size_with_a_name(name: str) -> None:
    f, x = KNOWN_IN_SHAPES_OF_NAMES[name], np.ones(3)
    named = tn.jit(f, symbolic={"x": ("n",)}, executor="numpy")
    np.testing.assert_array_equal(np.asarray(named(x)), np.asarray(f(x)))


def test_gradients_of_what_nothing_reaches_are_zeros_of_the_size_of_the_run() -> None:
    g = tn.jit(tn.grad(lambda x, y: tn.sum(x), argnums=(0, 1)), symbolic=None)
    h = tn.jit(
        tn.grad(lambda x, y: tn.sum(x), argnums=(0, 1)), symbolic={"x": ("n",), "y": ("m", 2)}
    )
    for n in (2, 3):
        for found, expected in zip(
            h(np.ones(n), np.ones((n, 2))), g(np.ones(n), np.ones((n, 2))), strict=True
        ):
            assert found.tolist() == expected.tolist()


def test_a_buffer_of_any_size_may_be_donated() -> None:
    f = tn.jit(lambda x: x * 2, donate_argnums=0, symbolic={"x": ("n",)})
    for n in (2, 3):
        x = tn.ones(n).to_device("xla")
        assert f(x).tolist() == [2.0] * n
        assert x.data.is_deleted()


def _sum_of(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: sum(
        tn.sum(leaf) for leaf in tn.tree_util.tree_leaves(function(x)) if leaf.dtype.kind == "f"
    )


FUNCTIONS_OF_EMPTY_ARRAYS: dict[str, Callable[[Any], Any]] = {
    "roll": lambda x: tn.roll(x, 1, axis=0),
    "diff": lambda x: tn.diff(x, n=2, axis=0),
    "ediff1d": tn.ediff1d,
    "unique": tn.unique,
    "unique_all": lambda x: tuple(tn.unique_all(x)),
    "histogram": lambda x: (tn.histogram(x, bins=3)[0], x),
    "sets": lambda x: (tn.setdiff1d(x, x), tn.setxor1d(x, x), tn.intersect1d(x, x)),
    "unwrap": lambda x: tn.unwrap(x, axis=0),
    "norm": lambda x: tn.linalg.norm(x, ord=np.inf),
}
ON_XLA = ("roll", "unique", "norm")  # of one executable and of several; the others if asked


@pytest.mark.parametrize(
    ("name", "executor"),
    [
        pytest.param(
            *(name, executor),
            marks=pytest.mark.exhaustive if executor == "xla" and name not in ON_XLA else [],
        )
        for executor in ("numpy", "xla")
        for name in FUNCTIONS_OF_EMPTY_ARRAYS
    ],
)
def test_empty_arrays_give_what_they_give_without_names(name: str, executor: str) -> None:
    function = FUNCTIONS_OF_EMPTY_ARRAYS[name]
    for f in (lambda x: function(x), lambda x: tn.grad(_sum_of(function))(x)):
        named = tn.jit(f, executor=executor, symbolic={"x": ("n", 3)})
        plain = tn.jit(f, executor=executor)
        for n in (2, 0, 2, 0):
            x = np.arange(3.0 * n).reshape(n, 3)
            found, expected = named(x), plain(x)
            for a, b in zip(*map(tn.tree_util.tree_leaves, (found, expected)), strict=True):
                np.testing.assert_array_equal(np.asarray(a), np.asarray(b), strict=True)
        assert (named.trace_stats().misses, named.stats().misses) in ((1, 2), (2, 2))


@pytest.mark.parametrize("executor", ["numpy", "xla"])
def test_only_empty_arrays_are_traced_by_themselves(executor: str) -> None:
    f = tn.jit(lambda x, y: x + y, executor=executor, symbolic={"x": ("n",), "y": ("m",)})
    with pytest.raises(GuardViolationError, match="assumed n == m, but 1 != 2"):
        f(np.ones(1), np.ones(2))
    with pytest.raises(ShapeError, match=r"add: .* f64\[0\] and f64\[2\]"):
        f(np.ones(0), np.ones(2))
    g = tn.jit(lambda x, y: tn.sum(x) + tn.sum(y), symbolic={"x": ("n",), "y": ("n",)})
    with pytest.raises(BindingError, match="declared n"):
        g(np.ones(0), np.ones(2))
