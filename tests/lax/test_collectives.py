"""Named axes of `vmap`: what an entry computes with the others, against JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from jax import lax

import tenferro as tn
from tenferro.errors import BatchingError, ShapeError, TenferroError, UnboundAxisError
from tests.tolerances import assert_close, rounding

X = np.arange(12.0).reshape(3, 4) / 5 + 1
Program = Callable[[Any, Any, Any], Any]


def along(m: Any, f: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return m.vmap(f, axis_name="i", **options)


def ruled_jvp(m: Any, n: Any) -> Any:
    """A sine whose tangent is the sum of those of all entries."""

    @m.custom_jvp
    def f(x: Any) -> Any:
        return n.sin(x)

    @f.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        return f(*primals), m.lax.psum(n.cos(primals[0]) * tangents[0], "i")

    return f


def ruled_vjp(m: Any, n: Any) -> Any:
    """A sine whose cotangents see the others."""

    @m.custom_vjp
    def f(x: Any) -> Any:
        return n.sin(x)

    def bwd(x: Any, ct: Any) -> Any:
        return (m.lax.psum(ct * n.cos(x), "i") + m.lax.axis_index("i"),)

    f.defvjp(lambda x: (n.sin(x), x), bwd)
    return f


def thrice(x: Any, n: Any) -> Any:
    return n.concatenate([x, 2 * x, x * x])


FORWARD: dict[str, Program] = {
    "psum": lambda m, s, n: along(m, lambda x: s.psum(x, "i"))(X),
    "psum of a tree": lambda m, s, n: along(
        m, lambda x: s.psum({"a": x, "b": (x > 2, 1, 2.5)}, "i")
    )(X),
    "psum of what is shared": lambda m, s, n: along(m, lambda x: s.psum(n.asarray(X), "i") * x[0])(
        X
    ),
    "psum over an axis of the array": lambda m, s, n: along(m, lambda x: s.psum(x, ("i", 0)))(X),
    "psum of integers": lambda m, s, n: along(m, lambda x: s.psum(x, "i"))(X.astype(np.int8)),
    "psum of complex": lambda m, s, n: along(m, lambda x: s.psum(x, "i"))(X * (1 + 2j)),
    "psum in half precision": lambda m, s, n: along(m, lambda x: s.psum(x, "i"))(
        X.astype(np.float16)
    ),
    "psum without elements": lambda m, s, n: along(m, lambda x: s.psum(x, "i"))(X[:, :0]),
    "psum of NaN and infinity": lambda m, s, n: along(m, lambda x: s.psum(x, "i"))(
        np.array([np.nan, np.inf, -np.inf])
    ),
    "one result for all": lambda m, s, n: along(m, lambda x: s.psum(x, "i"), out_axes=None)(X),
    "pmean": lambda m, s, n: along(m, lambda x: x - s.pmean(x * x, "i"))(X),
    "pmax": lambda m, s, n: along(m, lambda x: s.pmax(x, "i"))(X * [1, -1, np.nan, 0]),
    "pmin": lambda m, s, n: along(m, lambda x: s.pmin(x, "i"))(X * [1, -1, np.inf, 0]),
    "axis_index": lambda m, s, n: along(m, lambda x: s.axis_index("i"))(X),
    "axis_size": lambda m, s, n: along(m, lambda x: x * s.axis_size("i"))(X),
    "all_gather": lambda m, s, n: along(m, lambda x: s.all_gather(x, "i", axis=1))(X),
    "all_gather, tiled": lambda m, s, n: along(m, lambda x: s.all_gather(x, "i", tiled=True))(X),
    "ppermute": lambda m, s, n: along(m, lambda x: s.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]))(X),
    "pshuffle": lambda m, s, n: along(m, lambda x: s.pshuffle(x, "i", [2, 0, 1]))(X),
    "pswapaxes": lambda m, s, n: along(m, lambda x: s.pswapaxes(x, "i", 0))(X[:, :3]),
    "pbroadcast": lambda m, s, n: along(m, lambda x: s.pbroadcast(x, "i", 1))(X),
    "psum_scatter": lambda m, s, n: along(m, lambda x: s.psum_scatter(x[:3], "i"))(X),
    "psum_scatter, tiled": lambda m, s, n: along(
        m, lambda x: s.psum_scatter(thrice(x, n), "i", tiled=True)
    )(X),
    "all_to_all": lambda m, s, n: along(
        m, lambda x: s.all_to_all(n.stack([x, 2 * x, x + 1], 1), "i", 1, 0)
    )(X),
    "all_to_all, tiled": lambda m, s, n: along(
        m, lambda x: s.all_to_all(n.stack([thrice(x, n), -thrice(x, n)]), "i", 1, 0, tiled=True)
    )(X),
    "all_to_all over two axes": lambda m, s, n: along(
        m,
        m.vmap(
            lambda y: s.all_to_all(y[:, :2] * n.arange(12).reshape(12, 1), ("i", "j"), 0, 1),
            axis_name="j",
        ),
        in_axes=0,
    )(np.arange(288.0).reshape(3, 4, 12, 2)),
    "in jit": lambda m, s, n: along(m, m.jit(lambda x: s.psum(x, "i") * s.axis_size("i")))(X),
    "two axes": lambda m, s, n: along(
        m,
        m.vmap(
            lambda y: s.psum(y, ("i", "j")) + s.axis_index(("i", "j")) + s.psum(y, "i"),
            axis_name="j",
        ),
    )(X),
    "an inner axis of the same name": lambda m, s, n: along(
        m, lambda x: along(m, lambda y: s.psum(y, "i"))(x) + s.psum(x, "i")
    )(X),
    "an outer axis": lambda m, s, n: along(
        m, m.vmap(lambda y: s.psum(y, "i") * y + s.all_gather(y, "i").sum())
    )(X),
    "an axis behind": lambda m, s, n: along(
        m, lambda x: s.all_gather(x, "i") * s.axis_index("i"), in_axes=1, out_axes=2
    )(X),
    "nothing mapped": lambda m, s, n: along(m, lambda: s.axis_index("i"), axis_size=4)(),
    "scan": lambda m, s, n: along(
        m,
        lambda x: s.scan(lambda c, y: (c + s.psum(y, "i") * s.axis_index("i"), c * y), 0.0, x),
    )(X),
    "map": lambda m, s, n: along(m, lambda x: s.map(lambda y: s.psum(y, "i"), x))(X),
    "fori_loop": lambda m, s, n: along(
        m,
        lambda x: s.fori_loop(
            0, 3, lambda k, c: s.ppermute(c, "i", [(0, 1), (1, 2), (2, 0)]) * x, x
        ),
    )(X),
    "while_loop": lambda m, s, n: along(
        m,
        lambda x: s.while_loop(
            lambda c: c[0] < x[0], lambda c: (c[0] + 0.5, c[1] + s.psum(c[1], "i")), (0.0, 1.0)
        ),
    )(X),
    "cond": lambda m, s, n: along(
        m, lambda x: s.cond(x[0] > 1.5, lambda x: s.psum(x, "i"), lambda x: 2 * x, x)
    )(X),
    "checkpoint": lambda m, s, n: along(m, m.checkpoint(lambda x: s.psum(n.sin(x), "i")))(X),
}
"""Programs of a module of transforms, its `lax` and its `numpy`."""


DERIVATIVES: dict[str, Program] = {
    "grad of each entry": lambda m, s, n: along(
        m, m.grad(lambda x: (s.psum(x**2, "i") * s.axis_index("i")).sum())
    )(X),
    "grad by a number": lambda m, s, n: along(
        m, m.grad(lambda x: s.psum(x**2, "i") * s.axis_index("i"))
    )(X[:, 0]),
    "grad of all_gather": lambda m, s, n: along(
        m, m.grad(lambda x: (s.all_gather(x, "i") ** 2).sum() * s.axis_index("i"))
    )(X),
    "jvp": lambda m, s, n: along(
        m, lambda x: m.jvp(lambda x: s.psum(x**2, "i") * x, (x,), (2 * x,))
    )(X),
    "jacfwd": lambda m, s, n: along(m, m.jacfwd(lambda x: s.psum(x**2, "i") * x))(X),
    "jacrev": lambda m, s, n: along(m, m.jacrev(lambda x: s.psum(x**2, "i") * x))(X),
    "hessian of a batch": lambda m, s, n: m.hessian(
        lambda x: (along(m, lambda x: s.psum(x**2, "i") * x)(x) ** 2).sum()
    )(X),
    "grad of a batch by a number": lambda m, s, n: m.value_and_grad(
        lambda w: along(m, lambda x: s.pmean(n.sin(w * x), "i"))(X).sum()
    )(2.0),
    "grad of a batch of all_to_all": lambda m, s, n: m.grad(
        lambda x: (
            along(m, lambda x: s.all_to_all(n.stack([x, 2 * x, x + 1], 1), "i", 1, 0) ** 3)(x)
        ).sum()
    )(X),
    "grad of a batch of psum_scatter": lambda m, s, n: m.grad(
        lambda x: (
            along(m, lambda x: s.psum_scatter(n.stack([x, 2 * x, x * x]) ** 2, "i") ** 2)(x)
        ).sum()
    )(X),
    "grad of scan": lambda m, s, n: m.grad(
        lambda x: (
            along(
                m,
                lambda x: s.scan(lambda c, y: (s.psum(c, "i") * y, s.pmean(c * y, "i")), 1.0, x)[1],
            )(x)
        ).sum()
    )(X),
    "custom_jvp in each entry": lambda m, s, n: along(
        m, m.grad(lambda x: ruled_jvp(m, n)(x).sum())
    )(n.asarray(X)),
    "custom_jvp of a batch": lambda m, s, n: m.grad(lambda x: along(m, ruled_jvp(m, n))(x).sum())(
        X
    ),
    "custom_vjp in each entry": lambda m, s, n: along(
        m, m.grad(lambda x: ruled_vjp(m, n)(x).sum())
    )(X),
    "custom_vjp of a batch": lambda m, s, n: m.grad(
        lambda x: (along(m, ruled_vjp(m, n))(x) ** 2).sum()
    )(X),
    "custom_vjp in a scan": lambda m, s, n: m.grad(
        lambda x: along(
            m, lambda x: s.scan(lambda c, y: (ruled_vjp(m, n)(c) * y, c), 1.0, x)[1] ** 2
        )(x).sum()
    )(X),
    "cond in each entry": lambda m, s, n: along(
        m,
        m.grad(lambda x: s.cond(x[0] > 1.5, lambda x: s.psum(x**2, "i"), lambda x: 2 * x, x).sum()),
    )(X),
}


@pytest.mark.exhaustive(but=14)
@pytest.mark.parametrize("name", [*FORWARD, *DERIVATIVES])
def test_a_named_axis_is_that_of_jax(name: str) -> None:
    program = (FORWARD | DERIVATIVES)[name]
    with jax.enable_x64(True):
        expected = jax.jit(lambda: program(jax, lax, jax.numpy))()
    for executor in ("numpy", "xla"):
        found = tn.jit(lambda: program(tn, tn.lax, tn), executor=executor)()
        check(found, expected)


def check(found: Any, expected: Any) -> None:
    leaves = tn.tree.leaves(found)
    for mine, other in zip(leaves, jax.tree.leaves(expected), strict=True):
        assert mine.dtype == other.dtype
        assert_close(np.asarray(mine), np.asarray(other), 8 * rounding(mine.dtype))


def test_entries_that_receive_nothing_have_zeros() -> None:
    """JAX refuses a permutation of some entries under vmap."""
    moved = along(tn, lambda x: tn.lax.ppermute(x, "i", [(0, 2), (2, 1)]))(X)
    np.testing.assert_array_equal(moved, [X[0] * 0, X[2], X[0]])


def test_the_derivative_of_an_extremum_is_that_of_the_reduction() -> None:
    """JAX has none."""

    def by_name(x: Any) -> Any:
        return along(tn, lambda x: tn.sin(tn.lax.pmax(x, "i")) + tn.lax.pmin(x, "i"))(x).sum()

    def by_axis(x: Any) -> Any:
        return (3 * (tn.sin(tn.max(x, axis=0)) + tn.min(x, axis=0))).sum()

    x = np.array([[1.0, 2.0], [3.0, 2.0], [3.0, -1.0]])
    np.testing.assert_allclose(tn.grad(by_name)(x), tn.grad(by_axis)(x))
    each = along(tn, tn.grad(lambda x: tn.lax.pmax(x, "i")))(np.array([1.0, 3.0, 3.0]))
    np.testing.assert_allclose(each, [0, 1.5, 1.5])


def test_cotangents_flow_to_entries_that_take_another_branch() -> None:
    """What a branch sums over all entries depends on all of them; JAX has zeros there."""

    def f(x: Any) -> Any:
        each = along(
            tn, lambda x: tn.cond(x > 1.5, lambda x: tn.lax.psum(x**2, "i") * x, tn.negative, x)
        )
        return each(x).sum()

    x, step = np.array([1.0, 1.2, 2.0, 1.7]), 1e-6
    central = [(f(x + d) - f(x - d)) / (2 * step) for d in step * np.eye(4)]
    np.testing.assert_allclose(tn.grad(f)(x), np.array(central, float), rtol=1e-6)


def test_the_size_of_a_batch_may_have_a_name() -> None:
    program = tn.make_program(
        along(tn, lambda x: x - tn.lax.pmean(x, "i") + tn.lax.all_gather(x, "i").sum()),
        tn.TensorSpec(("n", 4), "float64"),
    )
    for count in (1, 3):
        x = X[:count]
        np.testing.assert_allclose(program(x), x - x.mean(0) + x.sum())
    assert "psum" not in str(program)


def test_a_compiled_function_is_not_shared_by_axes_of_other_sizes() -> None:
    size = tn.jit(lambda c: c * tn.lax.axis_size("i"))
    for count in (3, 4):
        assert (
            along(tn, lambda x: size(2.0), axis_size=count, out_axes=None)(np.ones(count))
            == 2 * count
        )


PERM = [(0, 1), (1, 0)]
REFUSED: dict[str, tuple[Callable[[], Any], type[TenferroError], str]] = {
    "unbound": (
        lambda: tn.lax.psum(1.0, "i"),
        UnboundAxisError,
        "psum: unbound axis name: 'i'; call it in a function that tn.vmap",
    ),
    "another name": (
        lambda: along(tn, lambda x: tn.lax.pmean(x, "j"))(X),
        UnboundAxisError,
        "pmean: unbound axis name: 'j'; bound here: 'i'",
    ),
    "no name": (
        lambda: along(tn, lambda x: tn.lax.axis_index([{}]))(X),
        UnboundAxisError,
        "unbound axis name: {}",
    ),
    "twice": (
        lambda: along(tn, lambda x: tn.lax.psum(x, ("i", "i")))(X),
        BatchingError,
        "different ones, got",
    ),
    "groups": (
        lambda: along(tn, lambda x: tn.lax.psum(x, "i", axis_index_groups=[[0, 1], [2]]))(X),
        BatchingError,
        "axis_index_groups must be None",
    ),
    "an entry that is not there": (
        lambda: along(tn, lambda x: tn.lax.ppermute(x, "i", [(0, 3)]))(X),
        BatchingError,
        "not a pair of entries along 'i', of which there are 3",
    ),
    "no pairs": (
        lambda: along(tn, lambda x: tn.lax.ppermute(x, "i", 3))(X),
        BatchingError,
        "perm must be pairs of entries along 'i', got 3",
    ),
    "a receiver twice": (
        lambda: along(tn, lambda x: tn.lax.ppermute(x, "i", [(0, 1), (2, 1)]))(X),
        BatchingError,
        "entry 1 receives twice",
    ),
    "no permutation": (
        lambda: along(tn, lambda x: tn.lax.pshuffle(x, "i", [0, 1]))(X),
        BatchingError,
        "each of the 3 entries once",
    ),
    "no source": (
        lambda: along(tn, lambda x: tn.lax.pbroadcast(x, "i", 3))(X),
        BatchingError,
        "3 is not one of the 3 entries",
    ),
    "parts": (
        lambda: along(tn, lambda x: tn.lax.all_to_all(x, "i", 0, 0))(X),
        ShapeError,
        r"all_to_all: axis 0 of f64\[4\] must have a part for each of the 3 entries along 'i'",
    ),
    "tiled parts": (
        lambda: along(tn, lambda x: tn.lax.psum_scatter(x, "i", tiled=True))(X),
        ShapeError,
        r"psum_scatter: axis 0 of f64\[4\] must have a part for each of the 3 entries",
    ),
    "two axes at once": (
        lambda: along(tn, tn.vmap(lambda x: tn.lax.ppermute(x, ("i", "j"), PERM), axis_name="j"))(
            X
        ),
        BatchingError,
        "goes along one axis",
    ),
    "a name that is no string": (
        lambda: tn.vmap(tn.sin, axis_name=3),
        BatchingError,
        "axis_name must be a string, got 3",
    ),
    "a mesh axis that is no string": (
        lambda: tn.vmap(tn.sin, spmd_axis_name=("x", 3)),
        BatchingError,
        "spmd_axis_name must be a string, got 3",
    ),
    "gathered in another way": (
        lambda: along(tn, lambda x: tn.lax.all_gather(x, "i", to="reduced"))(X),
        BatchingError,
        "all_gather: to must be 'varying' or 'invarying', got 'reduced'",
    ),
    "cast": (
        lambda: along(tn, lambda x: tn.lax.pcast(x, "i", to="reduced"))(X),
        BatchingError,
        "to must be 'varying'",
    ),
    "bools": (
        lambda: along(tn, lambda x: tn.lax.psum_scatter(x > 1, "i"))(X[:, :3]),
        TenferroError,
        "psum_scatter: takes",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_call_is_refused(name: str) -> None:
    call, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        call()


def test_an_unbound_name_is_a_name_error_as_in_jax() -> None:
    with pytest.raises(NameError):
        tn.jit(lambda x: tn.lax.psum(x, "i"))(X)


def test_a_rule_for_batches_is_used_where_the_axis_has_a_name() -> None:
    @tn.custom_batching.custom_vmap
    def product(x: Any, y: Any) -> Any:
        return x * y

    @product.def_vmap
    def _(axis_size: Any, in_batched: Any, x: Any, y: Any) -> Any:
        return x * y + 1, True

    total = along(tn, lambda x: tn.lax.psum(product(x, x), "i"), out_axes=None)(np.arange(3.0))
    assert total == 5 + 3


def test_a_rule_for_batches_does_not_see_the_axis_that_it_is_for() -> None:
    @tn.custom_batching.custom_vmap
    def total(x: Any) -> Any:
        return tn.lax.psum(x, "i")

    @total.def_vmap
    def _(axis_size: Any, in_batched: Any, x: Any) -> Any:
        return tn.lax.psum(x, "i"), False

    with pytest.raises(UnboundAxisError, match="psum: unbound axis name: 'i'"):
        along(tn, total)(np.arange(3.0))
