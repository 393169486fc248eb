"""vmap: axes, sizes, results, errors, and the other transforms inside and around it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import (
    ADError,
    BatchingError,
    PytreeError,
    TenferroError,
    TracingError,
)
from tenferro.extension import ExtensionOp, KernelRuntime, Package, apply, family_id
from tests.tolerances import assert_close, rounding

X = np.arange(12.0).reshape(3, 4)
NUMPY = "numpy"


def arrays(tree: Any) -> list[Any]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


# --------------------------------------------------------------------------------------- nesting

RNG = np.random.default_rng(0)
W, A, B = RNG.normal(size=(3, 3)), RNG.normal(size=(5, 3)), RNG.normal(size=(5, 3))


def nestings(m: Any, n: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Transforms in one another, of JAX or of tenferro; `n` has the array functions."""

    def g(x: Any, w: Any) -> Any:
        return n.tanh(n.matmul(w, x)) * n.sin(x)

    def f(x: Any, w: Any) -> Any:
        return n.sum(g(x, w))

    def total(x: Any, w: Any) -> Any:
        return n.sum(m.vmap(f, (0, None))(x, w))

    rows = (0, None)
    yield "vmap of grad", lambda: m.vmap(m.grad(f), rows)(A, W)
    yield "vmap of grad by the unmapped", lambda: m.vmap(m.grad(f, 1), rows)(A, W)
    yield "vmap of value and grad", lambda: m.vmap(m.value_and_grad(f), rows)(A, W)
    yield "vmap of jvp", lambda: m.vmap(lambda x, t: m.jvp(lambda x: g(x, W), (x,), (t,)))(A, B)
    yield "vmap of hessian", lambda: m.vmap(m.hessian(f), rows)(A, W)
    yield "vmap of jacfwd", lambda: m.vmap(m.jacfwd(g), rows)(A, W)
    yield "vmap of jacrev", lambda: m.vmap(m.jacrev(g), rows)(A, W)
    yield "vmap of jit", lambda: m.vmap(m.jit(g), rows)(A, W)
    yield "jit of vmap of grad", lambda: m.jit(m.vmap(m.grad(f), rows))(A, W)
    yield "vmap of vmap", lambda: m.vmap(m.vmap(g, (None, 0)), rows)(A, np.stack([W, 2 * W]))
    yield "grad of vmap", lambda: m.grad(total)(A, W)
    yield "jvp of vmap", lambda: m.jvp(lambda x: m.vmap(g, rows)(x, W), (A,), (B,))
    yield "hessian of vmap", lambda: m.hessian(total, 1)(A, W)
    yield "closure", lambda: m.grad(lambda w: n.sum(m.vmap(lambda x: f(x, w))(A)))(W)
    yield "pullback", lambda: m.vmap(m.vjp(lambda x: g(x, W), A[0])[1])(B)
    yield "linear map", lambda: m.vmap(m.linearize(lambda x: g(x, W), A[0])[1])(B)
    yield (
        "grad of vmap of grad",
        lambda: m.grad(lambda w: n.sum(m.vmap(m.grad(f), rows)(A, w) ** 2))(W),
    )


NAMES = [name for name, _ in nestings(tn, tn)]


@pytest.fixture(scope="module")
def expected() -> dict[str, list[Any]]:
    with jax.enable_x64(True):  # one compilation for all
        run = jax.jit(lambda: {name: call() for name, call in nestings(jax, jax.numpy)})
        return {name: arrays(result) for name, result in run().items()}


@pytest.mark.exhaustive(but=8)
@pytest.mark.parametrize("name", NAMES)
def test_nestings_agree_with_jax(name: str, expected: dict[str, list[Any]]) -> None:
    results = arrays(dict(nestings(tn, tn))[name]())
    for ours, theirs in zip(results, expected[name], strict=True):
        assert_close(ours, theirs, 100 * rounding("f64"))


# ------------------------------------------------------------------------------------------ axes


@pytest.mark.parametrize("in_axis", [0, 1, -1, -2])
@pytest.mark.parametrize("out_axis", [0, 1, -1, -2])
def test_axes_are_moved(in_axis: int, out_axis: int) -> None:
    result = tn.vmap(lambda x: x * 2, in_axis, out_axis)(X)
    assert np.array_equal(result, np.moveaxis(X * 2, in_axis, out_axis))


@tn.tree_util.register_dataclass
@dataclass
class Layer:
    w: Any
    b: Any


def test_axes_are_prefixes_of_trees() -> None:
    def f(layer: Layer, pair: Any, x: Any, *, shift: Any) -> Any:
        return {"y": layer.w @ x + layer.b, "p": (pair[0] + shift, pair[1])}

    run = tn.vmap(f, (Layer(None, 0), (0, None), 1), {"y": -1, "p": (0, None)})
    w, b = np.arange(8.0).reshape(2, 4), np.arange(6.0).reshape(3, 2)
    shift = np.array([1.0, 2.0, 3.0])
    result = run(Layer(w, b), (shift, None), X.T, shift=shift)
    assert np.array_equal(result["y"], (X @ w.T + b).T)
    assert np.array_equal(result["p"][0], 2 * shift)
    assert result["p"][1] is None


def test_a_list_of_axes_is_that_of_the_arguments() -> None:
    assert tn.vmap(lambda x, y: x * y, [0, None])(np.ones(2), 3.0).tolist() == [3.0, 3.0]


def test_an_argument_that_is_not_mapped_need_not_be_an_array() -> None:
    run = tn.vmap(lambda x, mode: x if mode == "same" else -x, (0, None))
    assert np.array_equal(run(X, "same"), X)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_numbers_that_are_not_mapped_stay_weak(dtype: str) -> None:
    assert tn.vmap(lambda x, c: x * c, (0, None))(np.ones(3, dtype), 2).dtype == dtype


def test_results_that_do_not_depend_on_the_batch() -> None:
    run = tn.vmap(lambda x: (x, tn.ones(2), 3.0), out_axes=(0, 1, None))
    _, repeated, same = run(X)
    assert repeated.tolist() == [[1.0] * 3] * 2
    assert same.tolist() == 3.0


def test_what_loops_and_branches_pass_on_does_not_depend_on_the_axis() -> None:
    def rounds(x: Any, y: Any) -> Any:
        return tn.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1]), (x, y))

    def branch(x: Any, y: Any) -> Any:
        return tn.cond(x < 3, lambda x, y: (x * 2, y), lambda x, y: (x * 3, y), x, y)

    def nested(x: Any, y: Any) -> Any:
        read = lambda _, y: tn.scan(lambda c, _: (c, None), y, None, length=2)[0]  # noqa: E731
        return x, tn.cond(x < 0, read, read, x, y)

    for f in (rounds, branch, nested):
        batches, y = tn.vmap(f, in_axes=(0, None), out_axes=(0, None))(np.arange(4.0), 2.0)
        assert batches.shape == (4,)
        assert y.item() == 2.0


def test_a_function_of_no_mapped_argument_has_an_axis_size() -> None:
    assert tn.vmap(lambda x: x, None, axis_size=2)(1.0).tolist() == [1.0, 1.0]
    assert tn.vmap(lambda: tn.ones(2), axis_size=3)().shape == (3, 2)


@pytest.mark.parametrize("count", [0, 1])
def test_batches_of_none_and_one(count: int) -> None:
    run = tn.vmap(lambda x: (tn.sum(x), tn.sort(x)[::-1]))
    total, ordered = run(X[:count])
    assert total.tolist() == X[:count].sum(1).tolist()
    assert ordered.tolist() == X[:count, ::-1].tolist()


def test_the_signature_is_that_of_the_function() -> None:
    def f(x: Any, y: int = 2) -> Any:
        """What it is."""

    assert inspect.signature(tn.vmap(f)) == inspect.signature(f)
    assert tn.vmap(f).__doc__ == "What it is."


# ----------------------------------------------------------------------------------------- sizes


def test_one_trace_serves_all_sizes() -> None:
    traces: list[Any] = []

    def f(x: Any) -> Any:
        traces.append(x)
        return tn.sum(tn.sin(x) * x[0])

    run = tn.jit(tn.vmap(tn.grad(f)), symbolic={"x": ("n", 4)}, executor=NUMPY)
    for n in (1, 3, 7):
        x = RNG.normal(size=(n, 4))
        alone = [tn.grad(lambda x: tn.sum(tn.sin(x) * x[0]))(row).numpy() for row in x]
        assert_close(run(x), np.stack(alone), rounding("f64"))
    assert (len(traces), run.trace_stats().misses) == (1, 1)


def test_windows_and_rows_at_batched_indices_of_symbolic_sizes() -> None:
    def f(x: Any, i: Any) -> Any:
        written = tn.lax.dynamic_update_slice(x, tn.zeros(2), (i,))
        return tn.lax.dynamic_slice(x, (i,), (2,)), written, tn.take(x, i, axis=0)

    run = tn.jit(tn.vmap(f), symbolic={"x": ("n", "m"), "i": ("n",)}, executor=NUMPY)
    for n, m in ((3, 4), (2, 6)):
        x, i = RNG.normal(size=(n, m)), np.arange(n) + m - n
        for ours, alone in zip(run(x, i), zip(*map(f, x, i), strict=True), strict=True):
            assert np.array_equal(ours, np.stack([value.numpy() for value in alone]))


def test_sizes_that_data_decide() -> None:
    def f(row: Any, n: Any) -> Any:
        short = tn.dynamic_truncate(row, n)
        return tn.sum(short**2), short + tn.dynamic_truncate(tn.ones(4), n)

    total, short = tn.vmap(f, (0, None))(X, 2)
    assert total.tolist() == (X[:, :2] ** 2).sum(1).tolist()
    assert short.tolist() == (X[:, :2] + 1).tolist()
    gradient = tn.grad(lambda x: tn.sum(tn.vmap(f, (0, None))(x, 2)[0]))(X)
    assert gradient.tolist() == (2 * X * (np.arange(4) < 2)).tolist()


def test_an_axis_beside_the_mapped_one_may_be_bounded() -> None:
    def f(x: Any, n: Any) -> Any:
        short = tn.dynamic_truncate(x, n, axis=1)
        return tn.vmap(lambda a, b: a * b + short[0])(short, 2 * short)

    result = tn.jit(f, executor=NUMPY)(X, 2)
    assert result.tolist() == (2 * X[:, :2] ** 2 + X[0, :2]).tolist()


# --------------------------------------------------------------------------- executors, runtimes


def test_it_runs_on_the_executor_of_a_compiled_function() -> None:
    run = tn.vmap(tn.vmap(tn.jit(lambda x: x * 2, executor="xla")))
    assert tn.vmap(tn.jit(lambda x: x * 2, executor=NUMPY))(X).executor is None
    assert run(X).executor is not None
    assert np.array_equal(run(X), 2 * X)


def test_tensors_of_an_eager_runtime() -> None:
    runtime = tn.EagerRuntime()
    assert tn.vmap(tn.sin)(runtime.constant(X)).tolist() == np.sin(X).tolist()
    variable = runtime.variable(X)
    tn.sum(tn.vmap(tn.sin)(variable)).backward()
    np.testing.assert_allclose(variable.grad.numpy(), np.cos(X))
    with pytest.raises((ADError, BatchingError)):
        tn.vmap(lambda i: variable[i])([0])


@family_id(namespace="vmap-tests", name="twice", version=1)
@dataclass(frozen=True)
class Twice(ExtensionOp):
    input_count = 1
    output_count = 1
    pointwise = True

    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        return [(input_dtypes[0], input_shapes[0])]

    def eager_execute(self, inputs: Any) -> Any:
        return [inputs[0] * 2]


def test_packages_are_brought_along() -> None:
    package = Package("vmap-tests", ops=(Twice,), runtimes=(KernelRuntime(Twice.FAMILY_ID),))
    inner = tn.jit(lambda x: apply(Twice(), x), packages=[package], executor=NUMPY)
    assert np.array_equal(tn.vmap(inner)(X), 2 * X)
    assert np.array_equal(tn.jit(tn.vmap(lambda x: inner(x) + x), executor=NUMPY)(X), 3 * X)


# ---------------------------------------------------------------------------------------- errors

Refusal = tuple[Callable[[], Any], type[TenferroError], str]
REFUSALS: list[Refusal] = [
    (
        lambda: tn.vmap(lambda x, y: y, (0, 1))({"w": np.ones((4, 2))}, np.ones((2, 3))),
        BatchingError,
        "vmap: argument x['w'] has size 4 along axis 0, but argument y has size 3 along axis 1; "
        "mapped axes must have one size",
    ),
    (
        lambda: tn.vmap(lambda x: x, 2)(X),
        BatchingError,
        "vmap: in_axes 2 is out of range for argument x: f64[3,4]",
    ),
    (
        lambda: tn.vmap(lambda x: x)(2.0),
        BatchingError,
        "vmap: in_axes 0 is out of range for argument x: f64[]; pass an array, or map it over None",
    ),
    (
        lambda: tn.vmap(lambda x: x, None)(X),
        BatchingError,
        "vmap: no argument is mapped; pass axis_size=",
    ),
    (
        lambda: tn.vmap(lambda x: (x, 1.0), out_axes=None)(X),
        BatchingError,
        "vmap: result [0] depends on the mapped axis, so its out_axes cannot be None",
    ),
    (
        lambda: tn.vmap(lambda x: x, out_axes=3)(X),
        BatchingError,
        "vmap: out_axes 3 is out of range for result: f64[3,4]",
    ),
    (
        lambda: tn.vmap(lambda x, n: tn.dynamic_truncate(x, n))(X, np.array([1, 2, 3])),
        BatchingError,
        "vmap: dynamic_truncate: the size differs from entry to entry; truncate outside of vmap, "
        "or keep the size, by pad=True or with tn.where",
    ),
    (
        lambda: tn.vmap(lambda x: x, axis_size=4)(X),
        BatchingError,
        "vmap: argument x has size 3 along axis 0, but axis_size is 4; mapped axes must have one "
        "size",
    ),
    (
        lambda: tn.vmap(lambda x: x, None, axis_size=-1)(X),
        BatchingError,
        "vmap: axis_size must be an integer of at least 0, got -1",
    ),
    (
        lambda: tn.vmap(lambda x: x, "0"),
        BatchingError,
        "vmap: in_axes must be an integer, None, or a tree of these, got '0'",
    ),
    (
        lambda: tn.vmap(lambda x: x, out_axes=0.5),
        BatchingError,
        "vmap: out_axes must be an integer, None, or a tree of these, got 0.5",
    ),
    (lambda: tn.vmap(3), TracingError, "vmap: takes a function, got an int"),  # type: ignore[arg-type, call-overload, unused-ignore]
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal[2][:40])
def test_refusals(refusal: Refusal) -> None:
    call, error, text = refusal
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text


def test_axes_that_are_no_prefix_are_refused() -> None:
    both = tn.vmap(lambda x, y: x + y, (0, 0))
    for call in (lambda: tn.vmap(lambda x: x, (0, 0))(X), lambda: both(X, y=X)):
        with pytest.raises(PytreeError) as caught:
            call()
        assert str(caught.value) == (
            "vmap: in_axes has 2 entries for 1 positional argument; write one for each (keyword "
            "arguments are mapped over axis 0)"
        )
    with pytest.raises(PytreeError, match="vmap: in_axes does not fit the arguments: ") as caught:
        tn.vmap(lambda p: p["a"], ({"a": 0},))({"a": X, "b": X})
    assert str(caught.value).endswith("{'a': f64[3,4], 'b': f64[3,4]}.")
    with pytest.raises(PytreeError, match="vmap: out_axes does not fit the result: "):
        tn.vmap(lambda x: x, out_axes=(0, 0))(X)
