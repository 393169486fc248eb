"""The small tools of JAX: each call has the result that it has there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.custom_batching
import jax.custom_derivatives
import jax.flatten_util
import jax.test_util
import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import (
    ADError,
    BatchingError,
    DTypeError,
    PytreeError,
    ShapeError,
    TracingError,
)


def raveled(ns: Any) -> Any:
    tree = {"b": np.arange(3), "a": (np.ones((2, 2), "float32"), 1.5, None)}
    vector, unravel = ns.flatten_util.ravel_pytree(tree)
    back = unravel(2 * vector)
    _, of_one = ns.flatten_util.ravel_pytree([np.ones(2), np.ones(1)])
    polymorphic = of_one(np.arange(3, dtype="int32"))
    dtypes = [str(each.dtype) for each in (back["a"][0], back["b"], *polymorphic)]
    return vector, back, polymorphic, dtypes


def raveled_in_a_gradient(ns: Any) -> Any:
    def f(p: Any) -> Any:
        vector, unravel = ns.flatten_util.ravel_pytree(p)
        return ns.numpy.sum(unravel(vector**2)["w"] * 3.0) + vector[0]

    return ns.jit(ns.grad(f))({"w": np.ones((2, 2)), "b": np.array(2.0)})


def a_batch_by_hand(ns: Any) -> Any:
    shown: list[Any] = []

    @ns.custom_batching.custom_vmap
    def f(x: Any, tree: Any) -> Any:
        return {"sum": x + tree["y"], "x": x}

    @f.def_vmap
    def rule(size: Any, batched: Any, x: Any, tree: Any) -> Any:
        shown.append((size, batched))
        return {"sum": 10 * x + tree["y"], "x": x[0]}, {"sum": True, "x": False}

    x, y = np.arange(3.0), np.float64(1.0)
    results = (
        f(x, {"y": y}),
        ns.vmap(f, in_axes=(0, None))(x, {"y": y}),
        ns.jit(ns.vmap(f, in_axes=(0, None)))(x, {"y": y}),
        ns.jvp(lambda x: f(x, {"y": y})["sum"], (2.0,), (1.0,)),
    )
    return results, shown


def a_loop_for_a_batch(ns: Any) -> Any:
    f = ns.custom_batching.sequential_vmap(lambda x, y: x * y + 1)
    x = np.arange(3.0)
    return ns.vmap(f)(x, x), ns.vmap(f, in_axes=(0, None))(x, 2.0), f(x, x)


def a_gradient_by_hand(ns: Any) -> Any:
    @ns.custom_gradient
    def f(x: Any, y: Any) -> Any:
        product = ns.numpy.sin(x) * y
        return product, lambda ct: (10 * ct * product, ct * y)

    @ns.custom_gradient
    def g(x: Any) -> Any:
        return x**2, lambda ct: ct * 3 * x

    def h(x: Any) -> Any:
        scale = x * 2
        converted, closed = ns.closure_convert(lambda y: scale * y, 1.0)
        return converted(3.0, *closed)

    return (
        f(1.0, 2.0), ns.grad(f, (0, 1))(1.0, 2.0), ns.jit(ns.grad(f))(1.0, 2.0),
        ns.grad(g)(2.0), ns.grad(ns.grad(g))(2.0), ns.vmap(ns.grad(g))(np.arange(3.0)),
        h(1.0), ns.grad(h)(1.0),
    )  # fmt: skip


def names(ns: Any) -> Any:
    @ns.named_scope("layer")
    def layer(x: Any) -> Any:
        with ns.named_scope("product"):
            return x * x

    return layer(2.0), ns.named_call(layer, name="other")(3.0)


def types(ns: Any) -> Any:
    spec = ns.typeof(np.ones((2, 3), "float32"))
    like = ns.eval_shape(lambda x, y=None: {"a": x + y}, spec, y=np.ones(3, "float32"))["a"]
    return spec.shape, str(spec.dtype), like.shape, like.ndim, like.size


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize(
    "call",
    [
        raveled,
        raveled_in_a_gradient,
        a_batch_by_hand,
        a_loop_for_a_batch,
        a_gradient_by_hand,
        names,
        types,
    ],
    ids=lambda each: each.__name__,
)
def test_a_call_for_jax_has_the_result_of_jax(call: Callable[[Any], Any]) -> None:
    with jax.enable_x64(True):
        expected = call(jax)
        jax.tree.map(_compare, call(tn), expected)


def _compare(one: Any, other: Any) -> None:
    if isinstance(one, str):
        assert one == other
    else:
        np.testing.assert_allclose(one, other)


def test_a_derivative_of_a_batch_by_hand_is_that_of_the_rule() -> None:
    f: Any = tn.custom_batching.custom_vmap(tn.sin)
    f.def_vmap(lambda size, batched, x: (10 * x, batched[0]))
    assert tn.grad(lambda x: tn.sum(tn.vmap(f)(x)))(np.zeros(2)).tolist() == [10.0, 10.0]
    assert tn.vmap(tn.grad(f))(np.zeros(2)).tolist() == [1.0, 1.0]


def test_derivatives_are_checked() -> None:
    @tn.custom_jvp
    def wrong(x: Any) -> Any:
        return tn.sin(x)

    wrong.defjvp(lambda primals, tangents: (wrong(*primals), tangents[0] * 1.1))
    for mode in ("fwd", "rev"):
        with pytest.raises(AssertionError, match=r"vjp|jvp"):
            tn.test_util.check_grads(wrong, (1.0,), order=1, modes=[mode])
    args = (tn.array([0.5 + 1j, 2.0]), {"y": np.float32(3.0), "n": 2})
    tn.test_util.check_grads(
        lambda x, p: (tn.sin(x) * p["y"], p["n"] * p["y"]), args, order=2, atol=1e-2, rtol=1e-2
    )
    with pytest.raises(ADError, match="modes are 'fwd' and 'rev'"):
        tn.test_util.check_grads(tn.sin, (1.0,), order=1, modes="both")
    with pytest.raises(ADError, match="order must be a positive integer"):
        tn.test_util.check_grads(tn.sin, (1.0,), order=0)


def test_programs_are_printed() -> None:
    program = tn.make_jaxpr(lambda x, n: x**n, static_argnums=1)(2.0, 3)
    assert "multiply" in str(program)
    _, shape = tn.make_jaxpr(lambda x: {"a": x}, return_shape=True)((1, 2))
    assert shape == {"a": (tn.TensorSpec((), "int64"),) * 2}


def test_stored_values_are_listed() -> None:
    def f(w: Any, x: Any) -> Any:
        hidden = tn.checkpoint_name(tn.tanh(x @ w), "h")
        return tn.sum(tn.sin(hidden))

    args = tn.ones((3, 2)), tn.ones((4, 3))
    sources = [source for _, source in tn.ad_checkpoint.saved_residuals(f, *args)]
    assert "from the argument w" in sources
    assert any("output of cosine" in source for source in sources)
    dropped = tn.ad_checkpoint.saved_residuals(tn.checkpoint(f), *args)
    assert {source for _, source in dropped} == {"from the argument w", "from the argument x"}


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: tn.flatten_util.ravel_pytree(["a"]), PytreeError, "ravel_pytree: leaf 0"),
        (lambda: tn.flatten_util.ravel_pytree([1.0])[1](tn.ones(2)), ShapeError, "of 1 elements"),
        (
            lambda: tn.flatten_util.ravel_pytree([1.0, 2])[1](np.ones(2, "float32")),
            DTypeError,
            "convert it with astype",
        ),
        (lambda: tn.make_jaxpr(3), TracingError, "make_jaxpr: takes a function"),
        (lambda: tn.named_scope(3), TracingError, "the name must be a string"),
        (lambda: tn.typeof("a"), PytreeError, "typeof: x is a str"),
        (lambda: tn.custom_gradient(3), ADError, "takes a function"),
        (lambda: tn.grad(tn.custom_gradient(tn.sin))(1.0), ADError, "must return a pair"),
        (lambda: tn.custom_batching.custom_vmap(3), ADError, "takes a function"),
        (lambda: _ruled(lambda size, on, x: x)(np.ones(2)), BatchingError, "must return a pair"),
        (
            lambda: _ruled(lambda size, on, x: ([x], True))(np.ones(2)),
            BatchingError,
            "does not have the structure",
        ),
        (
            lambda: _ruled(lambda size, on, x: (x[:1], True))(np.ones(2)),
            BatchingError,
            r"the rule returns f64\[1\] in the place of f64\[2\]",
        ),
    ],
)
def test_what_is_wrong_is_refused(call: Callable[[], Any], error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def _ruled(rule: Any) -> Any:
    function: Any = tn.custom_batching.custom_vmap(lambda x: x)
    function.def_vmap(rule)
    return tn.vmap(function)


def test_types_of_keys_belong_to_groups_of_their_own() -> None:
    key, jaxs = tn.random.key(0), jax.random.key(0)
    groups = (np.generic, np.number, np.integer)
    for ours, theirs in [
        *zip(groups, groups, strict=True),
        (tn.dtypes.prng_key, jax.dtypes.prng_key),
        (jax.dtypes.prng_key, jax.dtypes.prng_key),
        (tn.dtypes.extended, jax.dtypes.extended),
        (key.dtype, jaxs.dtype),
        ("float32", "float32"),
    ]:
        expected = jax.dtypes.issubdtype(jaxs.dtype, theirs)
        assert tn.dtypes.issubdtype(key.dtype, ours) == expected
        assert not tn.issubdtype("float64", tn.dtypes.extended)
    assert tn.issubdtype(jax.dtypes.prng_key, np.generic)
    assert tn.dtypes.canonicalize_dtype(key.dtype, allow_extended_dtype=True) is key.dtype
    assert tn.dtypes.float0 == jax.dtypes.float0
    assert key.is_fully_addressable
    assert key.is_fully_replicated
    with pytest.raises(DTypeError, match=r"Key\(.* is not an element type"):
        tn.result_type(key)
