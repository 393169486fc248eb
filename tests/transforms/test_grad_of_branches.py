"""Un-jitted derivatives of functions whose Python code asks for elements."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

import tenferro as tn
from tenferro.errors import TracingError
from tests.in_jax import in_jax
from tests.sampling import some
from tests.tolerances import assert_close, rounding

X = np.array([1.0, -2.0, 3.0])


# Programs at random, of two numbers, that branch by what they compute.

SMOOTH = (
    "m.sin({a})",
    "m.cos({a}) + {b}",
    "{a} * {b}",
    "{a} - 0.5 * {b}",
    "m.exp(-{a} * {a})",
    "m.tanh({b}) * {a}",
    "m.where({a} > 0.3, {a} * {a}, {b})",
    "m.sum(m.stack([{a}, {b}]) ** 3)",
)


def source_of(seed: int) -> str:
    """The text of a function `f(m, d, x, y)` of a module with the names of NumPy.

    It calls `d` with each value by which it branches.
    """
    rng = random.Random(seed)
    lines, names = [], ["x", "y"]

    def smooth() -> str:
        return rng.choice(SMOOTH).format(a=rng.choice(names), b=rng.choice(names))

    def statement(name: str) -> str:
        other, third = rng.choice(names), rng.choice(names)
        bound = f"{rng.uniform(-1, 1):.2f}"
        forms = (
            f"if d({other} > {bound}) and not d({third} < -1.5):\n"
            f"        {name} = {smooth()}\n    else:\n        {name} = {smooth()}",
            f"{name} = {smooth()}\n    while d(abs({name}) > 0.7):\n"
            f"        {name} = {name} * 0.6 + 0.01 * {other}",
            f"{name} = {smooth()}\n    for k in range(int(d(abs({other}) * 3)) % 4):\n"
            f"        {name} = m.sin({name}) * (k + 1) + {third}",
            f"{name} = [{smooth()}, {smooth()}, {third}][int(d({other} * 5)) % 3]",
            f"{name} = {smooth()} * int(d({other} * 4)) + float(d({third} > 0))",
            f"{name} = {smooth()} if bool(d(m.sin({other}) > {third})) else {smooth()}",
            f"{name} = ({other} if d({third} < {other}) else {third}) * {smooth()}",
        )
        return rng.choice(forms)

    for number in range(4):
        name = f"a{number}"
        lines += [statement(name), f"{name} = m.tanh({name})"]
        names.append(name)
    lines.append(f"return {' + '.join(names)}")
    return "\n    ".join(["def f(m, d, x, y):", *lines])


def derivatives(j: Any, f: Callable[..., Any], x: Any, y: Any) -> list[Any]:
    """Derivatives of three orders, by nested gradients, by both modes, and of both arguments."""
    results = []
    for order in range(3):
        value, slopes = j.value_and_grad(f, argnums=(0, 1))(x, y)
        _, tangent = j.jvp(f, (x, y), (0.5, -1.0))
        _, pullback = j.vjp(f, x, y)
        results += [value, *slopes, tangent, *pullback(1.0), j.jacfwd(f, 1)(x, y)]
        f = j.grad(f, argnums=order % 2)
    return results


@pytest.mark.exhaustive(but=2)
@pytest.mark.parametrize("seed", some(range(60), 20))
def test_random_programs_that_branch_have_the_derivatives_of_jax(
    seed: int, request: pytest.FixtureRequest
) -> None:
    text, rng, scope = source_of(seed), random.Random(-seed - 1), {}
    exec(text, scope)
    f: Any = scope["f"]
    x, y = rng.uniform(-2, 2), rng.uniform(-2, 2)
    mine = derivatives(tn, lambda x, y: f(tn, lambda value: value, x, y), x, y)
    if request.node.get_closest_marker("exhaustive"):  # JAX takes a minute
        with jax.enable_x64(True):
            want = derivatives(jax, lambda x, y: f(jnp, lambda value: value, x, y), x, y)
    else:
        path: list[Any] = []
        f(np, lambda value: path.append(value) or value, x, y)  # type: ignore[func-returns-value]

        def along_path(x: Any, y: Any) -> Any:
            decisions = iter(path)
            return f(jnp, lambda value: next(decisions), x, y)

        want = in_jax(functools.partial(derivatives, jax, along_path), x, y)
    for got, expected in zip(mine, want, strict=True):
        assert_close(got, expected, 1e4 * rounding("float64"), text)


# What asks for elements.


def by_while(x: Any) -> Any:
    y = x
    while tn.sum(y) < 15:
        y = y * x
    return tn.sum(y)


USES: dict[str, Callable[[Any], Any]] = {
    "if": lambda x: tn.sum(x**3) if tn.sum(x) > 0 else x[0],
    "while": by_while,
    "range": lambda x: sum(x[k] ** 3 for k in range(int(tn.sum(x)) + 1)),
    "index of a list": lambda x: [x[0], tn.sum(x**3)][tn.argmax(x) // 2],
    "float": lambda x: tn.sum(x**3) * float(tn.sum(x) > 0),
    "complex": lambda x: tn.sum(x**3) * complex(x[0] / x[0]).real,
    "item": lambda x: tn.sum(x ** int((x[0] * 3).item())),
    "tolist": lambda x: tn.sum(x ** len([each for each in x.tolist() if each] * 1)),
    "numpy": lambda x: tn.sum(x**3) * np.sign(x.numpy().sum()),
    "asarray of bools": lambda x: tn.sum(x**3) if np.asarray(x > 0).any() else x[0],
    "asarray of integers": lambda x: tn.sum(x ** np.asarray(tn.argmax(x) + 1)),
    "asarray of a constant": lambda x: tn.sum(x**3) * np.asarray(tn.stop_gradient(x[0])),
    "mask": lambda x: tn.sum(x[x > -5] ** 3),
    "format": lambda x: tn.sum(x ** float(f"{tn.sum(x) + 1:.1f}")),
    "in": lambda x: tn.sum(x**3) if 1.0 in list(x) else x[0],
    "a loop inside": lambda x: (
        tn.scan(lambda c, _: (c * 1.0, None), tn.sum(x**3), None, length=2)[0]
        if tn.sum(x) > 0
        else x[0]
    ),
    "after a loop": lambda x: (
        tn.sum(x**3) if tn.scan(lambda c, k: (c + k, None), 0.0, x)[0] > 0 else x[0]
    ),
    "after linear algebra": lambda x: tn.sum(x**3) if tn.linalg.det(tn.diag(x)) < 0 else x[0],
    "a value of around": lambda x: tn.sum(tn.map(lambda y: y**3 if tn.sum(x) > 0 else y, x)),
    "a random number": lambda x: tn.sum(x**3) if tn.random.uniform(tn.random.key(0)) < 2 else x[0],
}


@pytest.mark.parametrize("use", USES)
def test_a_function_may_ask_for_elements(use: str) -> None:
    f = USES[use]
    assert_close(tn.grad(f)(X), 3 * X**2, rounding("float64"))
    assert_close(tn.hessian(f)(X), np.diag(6 * X), rounding("float64"))
    assert_close(tn.jvp(tn.grad(f), (X,), (X,))[1], 6 * X**2, rounding("float64"))
    assert_close(tn.vjp(f, X)[1](2.0)[0], 6 * X**2, rounding("float64"))
    assert_close(tn.linearize(f, X)[1](X), np.sum(3 * X**3), rounding("float64"))
    assert_close(tn.grad(f)(tn.Tensor(X)), 3 * X**2, rounding("float64"))


def test_a_function_is_called_once() -> None:
    calls = []

    def f(x: Any) -> Any:
        calls.append(None)
        return x * x if x > 0 else x

    assert tn.value_and_grad(f)(3.0) == (9.0, 6.0)
    assert len(calls) == 1


def test_what_a_decision_needs_is_computed_once() -> None:
    runs = []

    def count(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        runs.append(None)
        return x

    def f(x: Any) -> Any:
        y = tn.pure_callback(count, tn.TensorSpec(()), tn.stop_gradient(x))
        return x * x if y > 0 and y > 1 and float(y) > 2 else x

    assert tn.grad(f)(3.0) == 6.0
    assert len(runs) == 1


def test_arguments_that_are_not_differentiated_have_elements() -> None:
    def f(x: Any, flags: Any, n: Any) -> Any:
        y = x ** int(n)
        return tn.sum(y[np.asarray(flags["use"])]), {"n": n if n > 2 else -n}

    grads, aux = tn.grad(f, has_aux=True)(X, {"use": np.array([True, False, True])}, np.array(3))
    assert_close(grads, [3.0, 0.0, 27.0], rounding("float64"))
    assert aux["n"] == 3
    weights = np.array([1.0, 2.0, 3.0])
    assert_close(
        tn.grad(lambda x, w: tn.sum(x * np.cumsum(np.asarray(w))))(X, weights),
        np.cumsum(weights),
        rounding("float64"),
    )


def test_complex_values_branch() -> None:
    def f(z: Any) -> Any:
        return tn.real(z * z) if tn.abs(z) > 1 else tn.imag(z)

    assert tn.grad(f)(1 + 2j) == 2 - 4j
    assert tn.grad(f)(0.5j) == 1j
    assert tn.grad(lambda z: z**3 if tn.real(z) > 0 else z, holomorphic=True)(1 + 1j) == 6j


@pytest.mark.parametrize("x", [np.nan, np.inf, -0.0])
def test_branches_by_special_values(x: float) -> None:
    def f(m: Any, x: Any) -> Any:
        return x * 2.0 if x == 0 else x * 3.0 if x > 0 else x * 4.0

    with jax.enable_x64(True):
        assert tn.grad(functools.partial(f, tn))(x) == float(jax.grad(functools.partial(f, jnp))(x))


# Rules by hand.


@tn.custom_jvp
def by_sign(x: Any) -> Any:
    return tn.sin(x) if x > 0 else tn.cos(x)


@by_sign.defjvp
def by_sign_rule(primals: Any, tangents: Any) -> Any:
    (x,), (dx,) = primals, tangents
    return by_sign(x), (2.0 if x > 0 else 3.0) * x * dx


@tn.custom_vjp
def squared(x: Any) -> Any:
    return x * x if x > 0 else -x * x


def squared_forward(x: Any) -> Any:
    return squared(x), (x, "positive" if x > 0 else "negative")


def squared_backward(saved: Any, ct: Any) -> Any:
    x, sign = saved
    return ((10.0 if sign == "positive" and ct > 0 else 100.0) * x * ct,)


squared.defvjp(squared_forward, squared_backward)


def test_functions_with_rules_by_hand_and_the_rules_branch() -> None:
    assert [tn.grad(by_sign)(x) for x in (2.0, -2.0)] == [4.0, -6.0]
    assert [tn.grad(tn.grad(by_sign))(x) for x in (2.0, -2.0)] == [2.0, 3.0]
    assert tn.jvp(by_sign, (2.0,), (3.0,)) == (np.sin(2.0), 12.0)
    assert tn.hessian(lambda x: by_sign(x) * x)(1.0) == 2 + 2 + 2
    assert [tn.grad(squared)(x) for x in (2.0, -2.0)] == [20.0, -200.0]
    assert tn.grad(lambda x: -squared(x))(2.0) == -200.0
    assert tn.grad(tn.grad(squared))(2.0) == 10.0


# Values without elements.

WITHOUT: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "jit": lambda f: tn.jit(f)(1.0),
    "grad of jit": lambda f: tn.grad(tn.jit(f))(1.0),
    "jit of grad": lambda f: tn.jit(tn.grad(f))(1.0),
    "vmap": lambda f: tn.vmap(f)(X),
    "vmap of grad": lambda f: tn.vmap(tn.grad(f))(X),
    "grad of vmap": lambda f: tn.grad(lambda x: tn.sum(tn.vmap(f)(x)))(X),
    "body of a loop": lambda f: tn.grad(
        lambda x: tn.scan(lambda c, _: (f(c), None), x, None, length=2)[0]
    )(1.0),
    "branch": lambda f: tn.grad(lambda x: tn.cond(x > 0, f, f, x))(1.0),
    "checkpoint": lambda f: tn.grad(tn.checkpoint(f))(1.0),
    "named sizes": lambda f: tn.make_program(
        tn.grad(lambda x: f(tn.sum(x))), tn.TensorSpec(("n",))
    ),
}


@pytest.mark.parametrize("way", WITHOUT)
def test_values_of_other_functions_have_no_elements(way: str) -> None:
    def f(x: Any) -> Any:
        return x * x if x > 0 else x

    with pytest.raises(TracingError, match=r"bool\(\) of a traced value .* it depends on the arg"):
        WITHOUT[way](f)


def test_arguments_that_are_not_mapped_have_elements() -> None:
    def f(x: Any, n: Any) -> Any:
        return x ** int(n) if n > 1 else x

    mapped = tn.vmap(f, in_axes=(0, None))
    assert mapped(X, np.array(2)).tolist() == [1.0, 4.0, 9.0]
    gradient = tn.grad(lambda x, n: tn.sum(mapped(x, n)))
    assert gradient(X, np.array(3)).tolist() == [3.0, 12.0, 27.0]
    with pytest.raises(TracingError, match=r"bool\(\) of a traced value"):
        tn.jit(mapped)(X, np.array(2))
    with pytest.raises(TracingError, match=r"bool\(\) of a traced value"):
        tn.vmap(f)(X, np.arange(3))


def test_a_size_that_data_decide_has_a_number() -> None:
    def f(x: Any) -> Any:
        places = tn.nonzero(x > 0)[0]
        return sum(x[int(each)] ** 3 for each in places) * len(places)

    assert tn.grad(f)(X).tolist() == [6.0, 0.0, 54.0]


def test_a_function_in_jit_has_the_elements_of_its_own_transforms() -> None:
    def f(x: Any) -> Any:
        return x * x if x > 0 else x

    assert tn.jit(lambda y: y * tn.grad(f)(3.0))(2.0) == 12.0
    assert tn.grad(tn.jit(lambda y: y * tn.grad(f)(3.0)))(2.0) == 6.0


def test_an_array_of_numpy_does_not_lose_a_derivative() -> None:
    for use in (np.asarray, np.array, lambda x: np.asarray([x, x])):
        with pytest.raises(TracingError, match="its derivative would be lost"):
            tn.grad(lambda x, use=use: tn.sum(use(x)))(X)
    assert_close(tn.grad(np.linalg.norm)(X), X / np.linalg.norm(X), rounding("float64"))


def test_a_function_with_a_rule_by_hand_may_call_other_libraries() -> None:
    @tn.custom_vjp
    def root(a: Any) -> Any:
        assert isinstance(np.asarray(a), np.ndarray)
        return tn.asarray(scipy.optimize.brentq(lambda x: x * x - np.asarray(a), 0.0, 10.0))

    def fwd(a: Any) -> tuple[Any, Any]:
        x = root(a)
        return x, x

    root.defvjp(fwd, lambda x, ct: (ct / (2 * x),))
    assert_close(tn.grad(root)(4.0), 0.25, 1e-9)
    assert_close(tn.grad(tn.grad(root))(4.0), -1 / 32, 1e-9)
    root.defvjp(lambda a: (root(a), np.sqrt(np.asarray(a))), lambda x, ct: (ct / (2 * x),))
    with pytest.raises(TracingError, match="its derivative would be lost"):  # the second one
        tn.grad(tn.grad(root))(4.0)

    @tn.custom_vjp
    def closes_over(a: Any) -> Any:
        return a + np.asarray(outer[0])

    outer: list[Any] = []
    closes_over.defvjp(lambda a: (closes_over(a), None), lambda _, ct: (ct,))
    with pytest.raises(TracingError, match="its derivative would be lost"):
        tn.grad(lambda x: outer.append(x) or closes_over(x))(2.0)  # type: ignore[func-returns-value]


def test_values_that_a_trace_left_behind_have_no_elements() -> None:
    left: list[Any] = []
    tn.grad(lambda x: left.append(x) or x * x)(2.0)  # type: ignore[func-returns-value]
    with pytest.raises(TracingError, match="it has no value yet"):
        float(left[0])


def test_values_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        print(x, x > 1.0, f"{tn.sum(x):.2f}")  # noqa: T201  # as users do
        return tn.sum(x)

    tn.grad(f)(X)
    assert capsys.readouterr().out == (
        "TracedTensor([ 1., -2.,  3.]) TracedTensor([False, False,  True]) 2.00\n"
    )


# Sizes and other options that are elements.

OPTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "reshape": lambda x, n: x.reshape(n, -1)[0],
    "ones": lambda x, n: x[0] * tn.ones((n, n)),
    "arange": lambda x, n: x[0] * tn.arange(n),
    "axis": lambda x, n: tn.sum(x.reshape(2, 3), axis=n - 1)[0],
    "eye": lambda x, n: x[0] * tn.eye(n),
    "fori_loop": lambda x, n: tn.fori_loop(0, n, lambda i, c: c * x[1], x[2]),
    "scan": lambda x, n: tn.scan(lambda c, _: (c * 2.0, None), x[2], None, length=n)[0],
    "top_k": lambda x, n: tn.lax.top_k(x, n)[0],
    "tile": lambda x, n: tn.tile(x, n),
    "repeat": lambda x, n: tn.repeat(x, n),
    "split": lambda x, n: tn.split(x, n)[0],
    "slice": lambda x, n: x[:n],
    "dynamic_slice": lambda x, n: tn.lax.dynamic_slice(x, (0,), (n,)),
    "matrix_power": lambda x, n: tn.linalg.matrix_power(x.reshape(2, 3)[:, :2], n),
    "bincount": lambda x, n: x[1] * tn.bincount(tn.stack([n, n])),
    "place": lambda x, n: x[n] * np.arange(6.0)[n],
}


@pytest.mark.parametrize("use", OPTIONS)
def test_elements_of_arguments_are_options(use: str) -> None:
    def f(x: Any, n: Any) -> Any:
        return tn.sum(OPTIONS[use](x, n))

    x = np.arange(6.0)
    got = tn.grad(f)(x, np.array(2))
    want = tn.grad(lambda x: f(x, 2))(x)
    assert got.tolist() == want.tolist()


def test_an_index_is_the_same_whether_its_elements_are_known() -> None:
    for place in (1, 7, -1):
        f = tn.value_and_grad(lambda x, n: x[n])
        assert str(f(X, np.array(place))) == str(tn.jit(f)(X, np.array(place)))


def test_the_place_on_a_named_axis_has_no_elements() -> None:
    def f(x: Any) -> Any:
        return x if tn.lax.axis_index("i") > 0 else -x

    with pytest.raises(TracingError, match=r"bool\(\) of a traced value"):
        tn.vmap(f, axis_name="i")(X)
