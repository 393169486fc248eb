"""Derivatives and batches of loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tenferro as tn
from tenferro.transforms import flatten
from tests.in_jax import in_jax
from tests.sampling import some
from tests.tolerances import assert_close, difference, rounding
from tests.transforms.differentiable_loops import PROGRAMS, BoundedLax

RNG = np.random.default_rng(0)
SHAPES = ((3, 3), (3,), (3,), (5,))
ARGS = tuple([0.6 * RNG.normal(size=shape) for shape in SHAPES])
TANGENTS = tuple([RNG.normal(size=shape) for shape in SHAPES])
BATCHES = tuple([0.6 * RNG.normal(size=(2, *shape)) for shape in SHAPES])
EACH = (0, 1, 2, 3)
AXES = [
    (0, 0, 0, 0),
    (None, None, 0, None),
    (0, None, None, None),
    (None, 0, None, 0),
    (None, None, None, 0),
]
TOLERANCE = 100 * rounding("f64")
Function = Callable[..., Any]


def ours(name: str) -> Function:
    return lambda *args: PROGRAMS[name](tn, tn, *args)


def theirs(name: str) -> Function:
    return lambda *args: PROGRAMS[name](BoundedLax, jnp, *args)


def hvp(lang: Any, f: Function) -> Function:
    """A tangent of the gradient."""
    return lambda *args: lang.jvp(lang.grad(f, EACH), args, TANGENTS)[1]


def dot(x: Sequence[Any], y: Sequence[Any]) -> Any:
    return sum((a * b).sum() for a, b in zip(x, y, strict=True))


def compiled(f: Function, *args: Any, executor: str = "numpy") -> list[Any]:
    return leaves(tn.jit(f, executor=executor)(*args))


def leaves(tree: Any) -> list[Any]:
    return [
        np.asarray(leaf.numpy() if hasattr(leaf, "numpy") else leaf) for leaf in flatten(tree)[0]
    ]


def assert_same(actual: Any, expected: Any, what: str = "") -> None:
    for own, other in zip(leaves(actual), leaves(expected), strict=True):
        assert own.dtype == other.dtype
        assert_close(own, other, TOLERANCE, what)


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    """The values and gradients of all programs in JAX, which compiles them together."""

    def everything(*args: Any) -> dict[str, Any]:
        return {name: jax.value_and_grad(theirs(name), EACH)(*args) for name in PROGRAMS}

    found: dict[str, Any] = in_jax(everything, *ARGS)
    return found


@pytest.mark.exhaustive(but=3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_jax(name: str, expected: dict[str, Any]) -> None:
    value, grad = expected[name]
    f = ours(name)
    assert_same(compiled(tn.value_and_grad(f, EACH), *ARGS), (value, grad))
    assert_same(compiled(lambda *x: tn.jvp(f, x, TANGENTS), *ARGS), (value, dot(grad, TANGENTS)))


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("name", some(PROGRAMS, 3, start=0))
def test_second_derivatives_are_differences_in_all_modes(name: str) -> None:
    f, step = ours(name), 1e-5
    grad = tn.jit(tn.grad(f, EACH), executor="numpy")
    ends = [
        grad(*(x + sign * step * dx for x, dx in zip(ARGS, TANGENTS, strict=True)))
        for sign in (1, -1)
    ]
    found = compiled(hvp(tn, f), *ARGS)
    for tangent, *end in zip(found, *map(leaves, ends), strict=True):
        assert_close(tangent, (end[0] - end[1]) / (2 * step), difference("f64"))
    again = tn.grad(lambda *x: dot(tn.grad(f, EACH)(*x), TANGENTS), EACH)
    assert_same(compiled(again, *ARGS), found, "reverse over reverse")
    over = tn.grad(lambda *x: tn.jvp(f, x, TANGENTS)[1], EACH)
    assert_same(compiled(over, *ARGS), found, "reverse over forward")


@pytest.mark.exhaustive
def test_xla_computes_the_same_derivatives() -> None:
    def both(*args: Any) -> Any:
        names = ("conditional_rounds", "until")
        return [tn.jvp(tn.grad(ours(name), EACH), args, TANGENTS) for name in names]

    assert_same(compiled(both, *ARGS, executor="xla"), compiled(both, *ARGS))


def mixed(axes: Sequence[int | None]) -> list[Any]:
    return [
        one if axis is None else batch for one, batch, axis in zip(ARGS, BATCHES, axes, strict=True)
    ]


def entries(f: Function, axes: Sequence[int | None]) -> Any:
    """The results for the entries of batches, one after the other, and their stacks."""
    rows = []
    for number in range(2):
        args = [x if a is None else x[number] for x, a in zip(mixed(axes), axes, strict=True)]
        rows.append(leaves(f(*args)))
    return [np.stack(leaf) for leaf in zip(*rows, strict=True)]


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("name", some(PROGRAMS, 3, start=1))
def test_a_batch_is_the_stack_of_single_runs(name: str) -> None:
    grad = tn.grad(ours(name), EACH)
    single = tn.jit(lambda *x: tn.jvp(grad, x, TANGENTS), executor="numpy")
    for axes in AXES[:2]:
        wanted = entries(single, axes)
        batch = tn.vmap(lambda *x: tn.jvp(grad, x, TANGENTS), in_axes=axes)
        assert_same(compiled(batch, *mixed(axes)), wanted, str(axes))


@pytest.mark.parametrize("name", some(PROGRAMS, 3, start=2))
def test_the_gradient_of_a_batch_is_the_batch_of_gradients(name: str) -> None:
    axes = (None, None, 0, 0)
    f = ours(name)
    wanted = entries(tn.jit(tn.grad(f, EACH), executor="numpy"), axes)
    summed = [g.sum(0) if a is None else g for g, a in zip(wanted, axes, strict=True)]
    of_batch = tn.grad(lambda *x: tn.sum(tn.vmap(f, in_axes=axes)(*x)), EACH)
    assert_same(compiled(of_batch, *mixed(axes)), summed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_mixtures_are_those_of_jax(name: str) -> None:
    """On XLA in one program, which compiles in less time than one for each."""
    with jax.enable_x64(True):
        args = tuple(map(jnp.asarray, ARGS))
        wanted = jax.jit(lambda *x: {n: f(*x) for n, f in mixtures(jax, theirs(name)).items()})(
            *args
        )
    functions = mixtures(tn, ours(name))
    on_xla = tn.jit(lambda *x: {n: f(*x) for n, f in functions.items()}, executor="xla")(*ARGS)
    for what, f in functions.items():
        assert_same(compiled(f, *ARGS, executor="numpy"), wanted[what], what)
        assert_same(on_xla[what], wanted[what], what)


def mixtures(lang: Any, f: Function) -> dict[str, Function]:
    """Derivatives and batches in all orders."""
    grad = lang.grad(f, EACH)
    found = {
        "jvp": lambda *x: lang.jvp(f, x, TANGENTS),
        "forward over reverse": hvp(lang, f),
        "reverse over reverse": lang.grad(lambda *x: dot(grad(*x), TANGENTS), EACH),
        "reverse over forward": lang.grad(lambda *x: lang.jvp(f, x, TANGENTS)[1], EACH),
    }
    for axes in AXES:
        found |= batches(lang, f, axes)
    return found


def batches(lang: Any, f: Function, axes: tuple[int | None, ...]) -> dict[str, Function]:
    """Batches of a function and of its derivatives."""

    def filled(x: Sequence[Any]) -> list[Any]:
        return [
            one if axis is None else batch
            for one, batch, axis in zip(x, BATCHES, axes, strict=True)
        ]

    grad, vmap = lang.grad(f, EACH), lang.vmap
    return {
        f"{axes}": lambda *x: vmap(f, axes)(*filled(x)),
        f"gradients {axes}": lambda *x: vmap(grad, axes)(*filled(x)),
        f"tangents of gradients {axes}": lambda *x: vmap(hvp(lang, f), axes)(*filled(x)),
        f"gradient of {axes}": lambda *x: lang.grad(
            lambda *y: (vmap(f, axes)(*y) ** 2).sum(), EACH
        )(*filled(x)),
    }


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("name", ["rnn", "conditional_rounds", "until", "mapped"])
def test_an_eager_runtime_has_the_same_derivatives(name: str) -> None:
    f = ours(name)
    (grad, tangent) = (compiled(g, *ARGS) for g in (tn.grad(f, EACH), hvp(tn, f)))
    rt = tn.EagerRuntime()
    xs = [rt.variable(x) for x in ARGS]
    y = f(*xs)
    y.backward()
    assert_same([np.zeros(x.shape) if x.grad is None else x.grad for x in xs], grad)
    gradient = rt.vjp([y], xs, [np.ones(())])
    assert_same(rt.jvp(gradient, xs, TANGENTS), tangent)
    assert_same(rt.vjp(gradient, xs, TANGENTS), tangent)


# --- dtypes, sizes, lengths -----------------------------------------------------------------------


def test_the_gradient_of_complex_numbers_is_the_conjugate_of_that_of_jax() -> None:
    def f(lax: Any, xp: Any, z: Any, w: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            c = lax.cond(x.real > 0, lambda c: xp.sin(c * w) + x, lambda c: c * x, c)
            return c, c * xp.conj(x) * w

        c, ys = lax.scan(step, z[0], z)
        return xp.abs(c) ** 2 + xp.sum(xp.real(ys * xp.conj(ys)))

    z = np.array([0.5 + 0.25j, -0.5 + 1j, 0.25 - 0.75j])
    w = np.array(0.75 - 0.5j)
    with jax.enable_x64(True):
        of_jax = jax.jit(jax.grad(lambda *x: f(jax.lax, jnp, *x), (0, 1)))
        wanted = of_jax(jnp.asarray(z), jnp.asarray(w))
    gradient = compiled(tn.grad(lambda *x: f(tn, tn, *x), (0, 1)), z, w)
    assert_same(gradient, [np.conj(x) for x in wanted])


def test_derivatives_keep_single_precision() -> None:
    args = [x.astype(np.float32) for x in ARGS]
    for name in ("rnn", "until", "conditional_rounds"):
        gradient = compiled(tn.grad(ours(name), EACH), *args)
        exact = compiled(tn.grad(ours(name), EACH), *ARGS)
        assert [x.dtype for x in gradient] == [np.dtype(np.float32)] * 4
        for own, other in zip(gradient, exact, strict=True):
            assert_close(own, other, rounding("f32"))


def test_a_gradient_is_traced_once_for_all_lengths() -> None:
    def f(w: Any, x: Any) -> Any:
        c, ys = tn.scan(lambda c, row: (tn.tanh(c * w + row), tn.sin(c)), w, x)
        total = tn.fori_loop(0, x.shape[0], lambda i, c: c * w + x[i], w)
        return tn.sum(c * ys) + tn.sum(total)

    gradient = tn.jit(tn.grad(f, (0, 1)), executor="numpy", symbolic={"x": ("n", 2)})
    for n in (1, 2, 4):
        x = RNG.normal(size=(n, 2))
        w = np.array([0.5, -0.75])
        assert_same(gradient(w, x), compiled(tn.grad(f, (0, 1)), w, x))
    assert gradient.trace_stats().misses == 1


@pytest.mark.parametrize(("executor", "steps"), [("numpy", 10_000), ("xla", 100_000)])
def test_long_loops_have_gradients(executor: str, steps: int) -> None:
    def f(w: Any) -> Any:
        return tn.fori_loop(0, steps, lambda i, c: tn.sin(c * w) + 0.5, w)

    value, gradient = compiled(tn.value_and_grad(f), 0.7, executor=executor)
    c, dc = 0.7, 1.0
    for _ in range(steps):
        c, dc = np.sin(c * 0.7) + 0.5, np.cos(c * 0.7) * (0.7 * dc + c)
    assert_close(value, c, TOLERANCE)
    assert_close(gradient, dc, TOLERANCE)


# --- what is not active ---------------------------------------------------------------------------


def test_a_loop_that_no_derivative_passes_has_none() -> None:
    """The loop reads an active value, but what it returns does not depend on it."""

    def f(w: Any) -> Any:
        count, ys = tn.scan(lambda c, x: (c + (w > x), tn.sign(w * x) > 0), 0, np.ones(2))
        n = tn.while_loop(lambda c: c < w, lambda c: c + 1, count, max_steps=3)
        return w * w * n + tn.sum(tn.where(ys, w, 1.0))

    assert_same(compiled(tn.grad(f), 1.5), 2 * 1.5 * 2 + 2)
    assert_same(compiled(tn.grad(tn.grad(f)), 1.5), 4.0)
    assert_same(compiled(tn.vmap(tn.grad(f)), np.array([1.5, 0.5])), np.array([8.0, 3.0]))


def test_a_zero_tangent_becomes_another_one_in_a_later_round() -> None:
    def f(x: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            a, b, last = c
            return (x * 2, a, b), last

        return tn.sum(tn.scan(step, (1.0, 1.0, 1.0), None, length=5)[1])

    assert_same(compiled(tn.grad(f), 3.0), 4.0)
    assert_same(compiled(lambda x: tn.jvp(f, (x,), (1.0,)), 3.0), (15.0, 4.0))


def test_a_loop_of_one_result_in_a_bounded_loop_has_a_gradient() -> None:
    """The choice does not depend on an active value, and returns one."""

    def f(x: Any) -> Any:
        def body(c: Any) -> Any:
            number, total = c
            return tn.switch(number, [lambda: 1, lambda: 3]), total * x

        return tn.while_loop(lambda c: c[0] < 3, body, (0, 1.0), max_steps=4)[1]

    assert_same(compiled(tn.grad(f), 3.0), 6.0)
    assert_same(compiled(tn.grad(tn.grad(f)), 3.0), 2.0)


# --- batches --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nested", "switched", "until"])
def test_a_batch_of_gradients_is_traced_once_for_all_sizes(name: str) -> None:
    grad = tn.grad(ours(name), EACH)
    names = {"h": ("n", 3), "xs": ("n", 5)}

    @tn.jit(executor="numpy", symbolic=names)
    def batch(w: Any, b: Any, h: Any, xs: Any) -> Any:
        return tn.vmap(grad, in_axes=(None, None, 0, 0))(w, b, h, xs)

    axes = (None, None, 0, 0)
    wanted = entries(tn.jit(grad, executor="numpy"), axes)
    for n in (2, 1, 0):
        args = [x if a is None else x[:n] for x, a in zip(mixed(axes), axes, strict=True)]
        assert_same(batch(*args), [leaf[:n] for leaf in wanted])
    assert batch.trace_stats().misses == 1


def test_no_nan_comes_from_a_branch_that_an_entry_does_not_take() -> None:
    def f(x: Any) -> Any:
        return tn.cond(x > 0, lambda: tn.sqrt(x) * tn.log(x), lambda: 0.0 * x)

    x = np.array([-1.0, 4.0, 0.0])
    slope = np.array([0, np.log(4) / 4 + 1 / 2, 0])
    curvature = np.array([0, -np.log(4) / 32, 0])
    assert_same(compiled(tn.vmap(tn.grad(f)), x), slope)
    assert_same(compiled(tn.grad(lambda x: tn.sum(tn.vmap(f)(x))), x), slope)
    assert_same(compiled(tn.vmap(tn.grad(tn.grad(f))), x), curvature)
    total = tn.grad(lambda x: tn.sum(tn.grad(lambda y: tn.sum(tn.vmap(f)(y)))(x)))
    assert_same(compiled(total, x), curvature)


def test_no_nan_comes_from_rounds_after_the_last_one_of_an_entry() -> None:
    def f(x: Any) -> Any:
        start = (tn.where(x > 1.5, 0, 3), x)

        def body(c: Any) -> Any:
            return c[0] + 1, tn.sqrt(c[1] - 1.0)

        return tn.while_loop(lambda c: c[0] < 3, body, start, max_steps=5)[1]

    x = np.array([20000.0, 0.5])
    slope = tn.grad(f)

    def forward(x: Any) -> Any:
        return tn.jvp(f, (x,), (1.0,))[1]

    for g in (slope, tn.grad(slope), forward):
        wanted = np.stack([compiled(g, entry)[0] for entry in x])
        assert np.isfinite(wanted).all()
        assert_same(compiled(tn.vmap(g), x), wanted)


def test_a_loop_without_a_bound_has_tangents_of_any_order_and_batches() -> None:
    def f(lax: Any, xp: Any, n: Any, x: Any) -> Any:
        total = lax.fori_loop(0, n, lambda i, c: xp.sin(c * x) + i, x)
        return lax.while_loop(lambda c: xp.sum(c) > x[0], lambda c: c * 0.75 - x * x, total)

    def second(lang: Any, lax: Any, xp: Any) -> Function:
        def tangent(n: Any, x: Any) -> Any:
            return lang.jvp(lambda y: f(lax, xp, n, y), (x,), (xp.ones(2),))

        return lambda n, x: lang.jvp(lambda y: tangent(n, y), (x,), (xp.ones(2) * x,))

    counts, x = np.array([0, 3, 1]), np.array([0.5, -0.75])
    with jax.enable_x64(True):
        of_jax = jax.vmap(second(jax, jax.lax, jnp), (0, None))
        wanted = jax.jit(of_jax)(jnp.asarray(counts), jnp.asarray(x))
    batch = tn.vmap(second(tn, tn, tn), (0, None))
    assert_same(compiled(batch, counts, x), wanted)
    single = tn.jit(second(tn, tn, tn), executor="numpy")
    assert_same(
        [np.stack(y) for y in zip(*(leaves(single(n, x)) for n in counts), strict=True)], wanted
    )
