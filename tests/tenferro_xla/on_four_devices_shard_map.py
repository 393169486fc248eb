"""shard_map against that of JAX on four devices; `test_mesh` runs this file in a child process."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from jax.sharding import AxisType

import tenferro as tn
import tenferro_xla
from tenferro.errors import ShardingError, TenferroError

P = tn.sharding.PartitionSpec
LINE = jax.make_mesh((4,), ("i",), (AxisType.Auto,))
SQUARE = jax.make_mesh((2, 2), ("i", "j"), (AxisType.Auto,) * 2)
RANDOM = np.random.default_rng(0)
X, W, Y = RANDOM.normal(size=(8, 4)), RANDOM.normal(size=4), RANDOM.normal(size=8)
ROTATION = [(0, 1), (1, 2), (2, 3), (3, 0)]
Program = Callable[[Any, Any, Any], Any]


def over(m: Any, f: Any, in_specs: Any, out_specs: Any, mesh: Any = LINE, **options: Any) -> Any:
    return m.shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, **options)


def rows(m: Any, f: Any, out_specs: Any, **options: Any) -> Any:
    """The function on blocks of rows."""
    return over(m, f, (P("i"),), out_specs, **options)


def shared(m: Any, f: Any, out_specs: Any, **options: Any) -> Any:
    """The function of weights that all devices have, and of blocks of rows."""
    return over(m, f, (P(), P("i")), out_specs, **options)


def fit(m: Any, f: Any) -> Any:
    """The function of weights and data, on blocks of the data."""
    return over(m, f, (P(), P("i"), P("i")), P())


def loss(n: Any) -> Any:
    return lambda w, x, y: n.mean((n.tanh(x @ w) - y) ** 2)


def trained(m: Any, s: Any, n: Any) -> Any:
    """Weights after three steps of which each takes the gradient of a device, and their mean."""

    def on_device(w: Any, x: Any, y: Any) -> Any:
        def step(w: Any, _: Any) -> Any:
            return w - 0.1 * s.pmean(m.grad(loss(n))(w, x, y), "i"), None

        return s.scan(step, w, None, length=3)[0]

    return lambda w: fit(m, on_device)(w, X, Y)


def varying(m: Any, s: Any, x: Any) -> Any:
    """The value, which JAX must be told to differ among devices."""
    return s.pcast(x, "i", to="varying") if m is jax else x


def ruled(m: Any, n: Any) -> Any:
    """A function with cotangents by hand."""

    @m.custom_vjp
    def f(w: Any, x: Any) -> Any:
        return n.sin(w * x)

    def bwd(saved: Any, ct: Any) -> Any:
        w, x = saved
        return (ct * n.cos(w * x) * x * 2).sum(tuple(range(x.ndim - w.ndim))), 3 * ct * w

    f.defvjp(lambda w, x: (f(w, x), (w, x)), bwd)
    return f


def summed(m: Any, s: Any, n: Any) -> Any:
    """A sine whose tangent has the sum of those of all devices."""

    @m.custom_jvp
    def f(x: Any) -> Any:
        return n.sin(x)

    @f.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (x,), (dx,) = primals, tangents
        return f(x), s.psum(dx, "i") * n.cos(x)

    return f


PROGRAMS: dict[str, Program] = {
    "psum": lambda m, s, n: rows(m, lambda x: s.psum(x, "i"), P())(X),
    "axis_index": lambda m, s, n: rows(m, lambda x: x * s.axis_index("i"), P("i"))(X),
    "weights": lambda m, s, n: shared(m, lambda w, x: s.pmean(n.sum(x * w), "i"), P())(W, X),
    "closed over": lambda m, s, n: rows(m, lambda x: x * W, P("i"))(X),
    "a tree": lambda m, s, n: over(
        m,
        lambda d: {"a": s.psum(d["a"], "i"), "b": d["b"] * 2},
        ({"a": P("i"), "b": P()},),
        {"a": P(), "b": P()},
    )({"a": X, "b": W}),
    "extrema": lambda m, s, n: rows(m, lambda x: s.pmax(x, "i") - s.pmin(x, "i"), P())(X),
    "ppermute": lambda m, s, n: rows(m, lambda x: s.ppermute(x, "i", [(0, 1), (2, 3)]), P("i"))(X),
    "all_gather": lambda m, s, n: rows(m, lambda x: s.all_gather(x, "i", tiled=True), P("i"))(X),
    "all_gather of what is then the same": lambda m, s, n: rows(
        m, lambda x: s.all_gather(x, "i", tiled=True, to="invarying"), P()
    )(X),
    "grad of all_gather of what is then the same": lambda m, s, n: rows(
        m,
        m.grad(lambda x: (s.all_gather(x, "i", tiled=True, to="invarying") ** 2).sum()),
        P("i"),
    )(X),
    "psum_scatter": lambda m, s, n: rows(
        m, lambda x: s.psum_scatter(x, "i", scatter_dimension=1, tiled=True), P(None, "i")
    )(X),
    "all_to_all": lambda m, s, n: rows(
        m, lambda x: s.all_to_all(x, "i", 1, 0, tiled=True), P(None, "i")
    )(X),
    "two axes": lambda m, s, n: over(
        m, lambda x: x + s.axis_index(("i", "j")), (P("j", "i"),), P("j", "i"), mesh=SQUARE
    )(X),
    "one axis by two": lambda m, s, n: over(
        m, lambda x: x + s.axis_index(("i", "j")), (P(("j", "i")),), P(("j", "i")), mesh=SQUARE
    )(X),
    "the sum over one of two": lambda m, s, n: over(
        m, lambda x: s.psum(x, "j"), (P("i", "j"),), P("i"), mesh=SQUARE
    )(X),
    "scan": lambda m, s, n: rows(
        m,
        lambda x: s.scan(lambda c, r: (c + s.psum(r.sum(), "i"), c * s.axis_index("i")), 0.0, x)[0],
        P(),
    )(X),
    "while_loop": lambda m, s, n: rows(
        m,
        lambda x: s.while_loop(lambda c: s.pmax(c.max(), "i") < 100.0, lambda c: c * 2, x),
        P("i"),
    )(X),
    "fori_loop": lambda m, s, n: rows(
        m,
        lambda x: s.fori_loop(0, 3, lambda k, c: s.ppermute(c, "i", ROTATION) * x, x),
        P("i"),
    )(X),
    "cond": lambda m, s, n: rows(
        m,
        lambda x: s.cond(s.axis_index("i") > 1, lambda x: x * 2, lambda x: -x, x),
        P("i"),
    )(X),
    "vmap of it": lambda m, s, n: m.vmap(
        lambda w: shared(m, lambda w, x: s.psum((w * x).sum(), "i"), P())(w, X)
    )(n.stack([W, 2 * W])),
    "vmap within": lambda m, s, n: rows(
        m,
        lambda x: m.vmap(m.grad(lambda r, w: n.sin(r * w).sum(), argnums=1), in_axes=(0, None))(
            x, W
        ),
        P("i"),
    )(X),
    "grad": lambda m, s, n: m.grad(
        lambda w, x: shared(m, lambda w, x: s.pmean(n.sum(n.sin(x * w)), "i"), P())(w, x),
        argnums=(0, 1),
    )(W, X),
    "grad of what stays divided": lambda m, s, n: m.grad(
        lambda w, x: shared(m, lambda w, x: n.sin(x * w) * s.psum(w.sum() * x, "i"), P("i"))(
            w, x
        ).sum(),
        argnums=(0, 1),
    )(W, X),
    "grad over two axes": lambda m, s, n: m.grad(
        lambda x, w: over(
            m,
            lambda x, w: s.psum(n.sin(x @ w), "j"),
            (P("i", "j"), P("j")),
            P("i"),
            mesh=SQUARE,
        )(x, w).sum(),
        argnums=(0, 1),
    )(X, W),
    "grad of all_to_all": lambda m, s, n: m.grad(
        lambda x: (
            rows(m, lambda x: s.all_to_all(x, "i", 1, 0, tiled=True) ** 2, P(None, "i"))(x) ** 2
        ).sum()
    )(X),
    "grad of ppermute": lambda m, s, n: m.grad(
        lambda x: (
            rows(m, lambda x: s.ppermute(x, "i", [(0, 1), (1, 2)]) * x, P("i"))(x) ** 2
        ).sum()
    )(X),
    "grad of all_gather": lambda m, s, n: m.grad(
        lambda x: (
            rows(m, lambda x: s.all_gather(x, "i", tiled=True) ** 2, P("i"))(x)
            * np.arange(32.0)[:, None]
        ).sum()
    )(X),
    "grad of psum_scatter": lambda m, s, n: m.grad(
        lambda x: (
            rows(
                m,
                lambda x: s.psum_scatter(x**2, "i", scatter_dimension=1, tiled=True),
                P(None, "i"),
            )(x)
            ** 2
        ).sum()
    )(X),
    "grad of scan": lambda m, s, n: m.grad(
        rows(
            m,
            lambda x: s.scan(lambda c, r: (c + s.psum((r**2).sum() * c, "i"), None), 1.0, x)[0],
            P(),
        )
    )(X),
    "grad of checkpoint": lambda m, s, n: m.grad(
        lambda x: rows(m, m.checkpoint(lambda x: s.psum(n.sin(s.psum(x**3, "i") * x), "i")), P())(
            x
        ).sum()
    )(X),
    "hessian": lambda m, s, n: m.hessian(
        lambda w: shared(m, lambda w, x: s.psum(n.sin(w * x).sum(), "i"), P())(w, X)
    )(W),
    "jvp": lambda m, s, n: m.jvp(
        rows(m, lambda x: s.psum(x**3, "i"), P()), (n.asarray(X),), (n.asarray(2 * X),)
    ),
    "grad within": lambda m, s, n: fit(m, m.grad(loss(n)))(W, X, Y),
    "mean of grads within": lambda m, s, n: fit(
        m, lambda w, x, y: w - 0.1 * s.pmean(m.grad(loss(n))(w, x, y), "i")
    )(W, X, Y),
    "grad of the mean within": lambda m, s, n: fit(
        m, m.grad(lambda w, x, y: s.pmean(loss(n)(w, x, y), "i"))
    )(W, X, Y),
    "grad of a sum within": lambda m, s, n: rows(
        m, m.grad(lambda x: s.psum((x**2).sum(), "i") * s.axis_index("i")), P("i")
    )(X),
    "grad by a number within": lambda m, s, n: shared(
        m, m.grad(lambda w, x: n.sin(w * x).sum()), P()
    )(1.3, X),
    "training": lambda m, s, n: trained(m, s, n)(W),
    "grad of training": lambda m, s, n: m.grad(lambda w: trained(m, s, n)(w).sum())(W),
    "grad within a loop, by a carry that differs later": lambda m, s, n: shared(
        m,
        lambda w, x: s.scan(
            lambda c, r: (c * r, m.grad(lambda c: (n.sin(c) * r).sum())(c)), varying(m, s, w), x
        ),
        (P("i"), P("i")),
    )(W, X),
    "grad within a loop, by a carry that is the same": lambda m, s, n: shared(
        m,
        lambda w, x: s.scan(
            lambda c, r: (c * 2 + s.psum(r, "i"), m.grad(lambda c: (n.sin(c) * r).sum())(c)), w, x
        ),
        (P(), P()),
    )(W, X),
    "grad within, of a loop with sums": lambda m, s, n: shared(
        m,
        m.grad(
            lambda w, x: s.scan(
                lambda c, r: (c + s.pmean((w * r).sum() * n.sum(c * w), "i"), None),
                s.pmean(x, "i").sum(),
                x,
            )[0]
        ),
        P(),
    )(W, X),
    "second grad within": lambda m, s, n: shared(
        m,
        lambda w, x: m.grad(lambda w: m.grad(lambda w: (n.sin(w) * x).sum())(w)[0])(w),
        P(),
    )(W, X),
    "jacrev within": lambda m, s, n: shared(
        m, lambda w, x: m.jacrev(lambda w: n.sin(w * x).sum(0))(w), P()
    )(W, X),
    "custom_vjp within": lambda m, s, n: shared(
        m, lambda w, x: m.grad(lambda w: ruled(m, n)(varying(m, s, w), x).sum())(w), P()
    )(W, X),
    "custom_jvp with a sum in its rule": lambda m, s, n: rows(
        m, m.grad(lambda x: (summed(m, s, n)(x) * x).sum()), P("i")
    )(X),
    "grad of custom_jvp with a sum in its rule": lambda m, s, n: m.grad(
        lambda x: rows(m, lambda x: summed(m, s, n)(x) * x, P("i"))(x).sum()
    )(X),
    "grad of custom_vjp of blocks": lambda m, s, n: m.grad(
        lambda x: over(
            m,
            lambda x: ruled(m, n)(1.5 + 0 * x, x),
            (P("i", "j"),),
            P("i", "j"),
            mesh=SQUARE,
        )(x).sum()
    )(X),
    "grad of custom_vjp": lambda m, s, n: m.grad(
        lambda w: shared(m, lambda w, x: s.psum(ruled(m, n)(varying(m, s, w), x), "i"), P())(
            w, X
        ).sum()
    )(W),
    "grad within, of each device": lambda m, s, n: shared(
        m, m.grad(lambda w, x: (w * x).sum()), P("i"), check_vma=False
    )(W, X),
    "grad of a sum within, of each device": lambda m, s, n: rows(
        m, m.grad(lambda x: s.psum((x**2).sum(), "i")), P("i"), check_vma=False
    )(X),
    "grad, unchecked": lambda m, s, n: m.grad(
        lambda w: shared(m, lambda w, x: s.psum((w * x).sum(), "i"), P(), check_vma=False)(w, X)
    )(W),
}
"""Programs of a module of transforms, its `lax` and its `numpy`."""


@pytest.mark.exhaustive(but=12)
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_that_of_jax(name: str) -> None:
    program = PROGRAMS[name]
    with jax.enable_x64(True):
        expected = jax.tree.leaves(jax.jit(lambda: program(jax, jax.lax, jax.numpy))())
    mesh = SQUARE if "'j'" in str(tn.make_program(lambda: program(tn, tn.lax, tn))) else LINE
    for options in ({"mesh": mesh}, {"executor": "numpy"}):
        check(tn.jit(lambda: program(tn, tn.lax, tn), **options)(), expected)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_computes_the_same_where_it_is_not_compiled_and_on_one_device(name: str) -> None:
    program = PROGRAMS[name]
    expected = tn.tree.leaves(tn.jit(lambda: program(tn, tn.lax, tn), executor="numpy")())
    check(program(tn, tn.lax, tn), expected)
    check(tn.jit(lambda: program(tn, tn.lax, tn))(), expected)


def check(found: Any, expected: list[Any]) -> None:
    for mine, other in zip(tn.tree.leaves(found), expected, strict=True):
        assert mine.dtype == other.dtype
        np.testing.assert_allclose(np.asarray(mine), np.asarray(other), rtol=1e-11, atol=1e-12)


def test_the_result_lies_where_its_spec_says() -> None:
    double = tn.shard_map(lambda x: 2 * x, mesh=LINE, in_specs=P("i"), out_specs=P("i"))
    y = double(X)
    assert y.sharding.spec == P("i")
    assert y.placement == "mesh(i=4)"
    assert double(y).sharding.spec == P("i")


def test_a_compiled_function_runs_on_the_mesh_of_its_arguments() -> None:
    f = shared(tn, lambda w, x: tn.lax.psum((w * x).sum(), "i"), P())
    g = tn.jit(lambda w, x: tn.grad(f)(w, x) + 1)
    on_mesh = tn.device_put(X, tn.sharding.NamedSharding(LINE, P("i")))
    for x, where in ((on_mesh, "mesh(i=4)"), (X, "cpu:0"), (on_mesh, "mesh(i=4)")):
        slope = g(W, x)
        assert slope.placement == where
        np.testing.assert_allclose(slope, X.sum(0) + 1)


def test_devices_exchange_what_the_function_says() -> None:
    f = tn.jit(rows(tn, lambda x: tn.lax.psum(x, "i"), P()), mesh=LINE, in_shardings=P("i"))
    text = f.lower(X).compile().as_text()
    found = re.findall(r" (all-\w+|reduce-scatter|collective-permute)\(", text)
    assert found == ["all-reduce"]


def test_one_axis_of_a_mesh_may_be_named_and_another_one_within() -> None:
    inner = over(tn, lambda x: tn.lax.psum(x, "j"), P("j"), P(), mesh=SQUARE, axis_names={"j"})
    outer = over(
        tn, lambda x: inner(x) + tn.lax.psum(x, "i")[:2], P("i"), P("i"), SQUARE, axis_names={"i"}
    )
    halves = [half[:2] + half[2:] + (X[:4] + X[4:])[:2] for half in (X[:4], X[4:])]
    np.testing.assert_allclose(outer(X), np.concatenate(halves))


def test_the_cotangent_of_a_value_that_is_repeated_is_summed_once() -> None:
    """The sum over devices is one of the value, and not of its copies on each device."""
    f = shared(tn, lambda w, x: tn.lax.psum((w * x).sum(), "i"), P())
    program = str(tn.make_program(tn.grad(f), tn.TensorSpec((4,)), tn.TensorSpec((8, 4))))
    assert re.findall(r"f64\[.*\] = psum", program) == ["f64[4] = psum"]


def test_a_tensor_that_is_tracked_is_an_argument() -> None:
    w = tn.EagerRuntime().variable(W)
    shared(tn, lambda w, x: tn.lax.psum((w * x).sum(), "i"), P())(w, X).backward()
    np.testing.assert_allclose(w.grad.numpy(), X.sum(0))


def test_a_function_of_jax_has_its_axes_too() -> None:
    f = shared(tn, lambda w, x: tn.lax.psum((w * x).sum(), "i"), P())
    program = tn.make_program(f, tn.TensorSpec((4,)), tn.TensorSpec((8, 4)))
    with jax.enable_x64(True):
        slope = jax.grad(tenferro_xla.to_jax(program))(W, X)
    np.testing.assert_allclose(slope, X.sum(0))


def test_a_program_with_it_is_saved_and_read() -> None:
    program = tn.make_program(
        rows(tn, lambda x: tn.lax.ppermute(x, "i", ROTATION) + tn.lax.psum(x, "i"), P("i")),
        tn.TensorSpec((8, 4), "float64"),
    )
    again = tn.loads(tn.dumps(program))
    assert str(again) == str(program)
    np.testing.assert_array_equal(
        again(X), np.roll(X, 2, 0) + np.tile(X.reshape(4, 2, 4).sum(0), (4, 1))
    )


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "no mesh": (
        lambda: tn.shard_map(tn.sin, in_specs=P("i"), out_specs=P("i"))(X),
        r"needs a mesh; pass mesh=, or set one with tn.set_mesh\(mesh\)",
    ),
    "no specs": (
        lambda: tn.shard_map(tn.sin, mesh=LINE, out_specs=P("i")),
        "in_specs must be a PartitionSpec for each argument",
    ),
    "another name": (
        lambda: rows(tn, tn.sin, P("k"))(X),
        r"out_specs: .* names 'k'; the named axes of the mesh are \('i',\)",
    ),
    "an axis that is not there": (
        lambda: over(tn, tn.sin, P("i"), P("i"), axis_names={"k"}),
        r"axis_names: the mesh has axes \('i',\), not 'k'",
    ),
    "a size that is not a multiple": (
        lambda: rows(tn, tn.sin, P("i"))(X[:6]),
        r"argument \[0\]: axis 0 of f64\[6,4\] is divided by i, but 6 is not known to be",
    ),
    "a result that differs": (
        lambda: rows(tn, tn.sin, P())(X),
        "result may differ along 'i', which its out_specs do not name",
    ),
    "a spec with too many axes": (
        lambda: rows(tn, lambda x: tn.sum(x), P("i"))(X),
        "the array has 0 axes",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_call_is_refused(name: str) -> None:
    call, text = REFUSED[name]
    with pytest.raises(ShardingError, match=text):
        call()


def test_specs_that_do_not_fit_the_arguments_are_refused() -> None:
    with pytest.raises(TenferroError, match="in_specs does not fit the arguments"):
        over(tn, tn.sin, (P("i"), P()), P("i"))(X)
