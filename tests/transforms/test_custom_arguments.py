"""Arguments and results of functions with rules: trees, Python values, integers, zeros."""

from typing import Any

import numpy as np
import pytest

import tenferro as tn


def test_trees_go_in_and_come_out() -> None:
    @tn.custom_jvp
    def f(params: Any, x: Any = 2.0) -> Any:
        return {"y": params["w"] * x, "n": params["n"] + 1}

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (_, x), (dparams, _) = primals, tangents
        assert dparams["n"] is None
        return f(*primals), {"y": 7.0 * dparams["w"] * x, "n": None}

    w = np.ones(2)
    assert f({"w": w, "n": 3})["n"] == 4
    gradient = tn.grad(lambda w: tn.sum(f(params={"w": w, "n": 3})["y"]))(w)
    np.testing.assert_array_equal(np.asarray(gradient), [14.0, 14.0])


def test_residuals_may_hold_python_values_and_bwd_may_return_none() -> None:
    @tn.custom_vjp
    def f(pair: Any, n: Any) -> Any:
        return pair[0] * n, n

    def bwd(kept: Any, cts: Any) -> Any:
        (axis, label), n = kept
        assert (axis, label) == ((2,), "label")
        ct, of_integer = cts
        assert of_integer is None
        return (5.0 * ct * n, None), None

    f.defvjp(lambda pair, n: (f(pair, n), ((pair[0].shape, "label"), n)), bwd)
    one = np.ones(2)
    x, z = tn.grad(lambda x, z: tn.sum(f((x, z), 3)[0]), (0, 1))(one, one)
    np.testing.assert_array_equal(np.asarray(x), 15 * one)
    np.testing.assert_array_equal(np.asarray(z), 0 * one)


@pytest.mark.parametrize("by", [{"nondiff_argnums": (0, 2)}, {"nondiff_argnames": ("g", "n")}])
def test_python_arguments_come_first_in_rules(by: Any) -> None:
    @tn.custom_jvp(**by)
    def f(g: Any, x: Any, n: Any) -> Any:
        return g(x) ** n

    @f.defjvp
    def rule(g: Any, n: Any, primals: Any, tangents: Any) -> Any:
        (x,), (dx,) = primals, tangents
        assert (g, n) == (tn.sin, 2)
        return f(g, x, n), 3.0 * dx

    @tn.custom_vjp(**by)
    def h(g: Any, x: Any, n: Any) -> Any:
        return g(x) ** n

    h.defvjp(lambda g, x, n: (h(g, x, n), x), lambda g, n, x, ct: (n * ct * g(x),))
    assert f(tn.sin, 1.0, 2).item() == pytest.approx(np.sin(1) ** 2)
    assert tn.grad(lambda x: f(tn.sin, x, n=2))(1.0).item() == 3.0
    assert tn.grad(lambda x: h(tn.sin, x, 2))(1.0).item() == pytest.approx(2 * np.sin(1))


def test_defjvps_adds_a_term_for_each_argument() -> None:
    @tn.custom_jvp
    def f(x: Any, y: Any, n: Any) -> Any:
        return x * y * n

    f.defjvps(lambda dx, value, x, y, n: 2.0 * dx * value, None, None)
    assert tn.grad(f, (0, 1))(2.0, 3.0, 4)[0].item() == 48.0
    assert tn.grad(f, 1)(2.0, 3.0, 4).item() == 0.0


def test_zero_tangents_are_arrays_or_none_as_asked_for() -> None:
    seen: list[Any] = []

    def f(x: Any, y: Any) -> Any:
        return x * y

    def rule(primals: Any, tangents: Any) -> Any:
        seen.append(tangents[1])
        return primals[0] * primals[1], tangents[0]

    for symbolic in (False, True):
        ruled = tn.custom_jvp(f)
        ruled.defjvp(rule, symbolic_zeros=symbolic)
        tn.grad(ruled)(1.0, 2.0)
    assert seen[0].shape == ()
    assert seen[1] is None


def test_zero_cotangents_are_arrays_or_none_as_asked_for() -> None:
    seen: list[Any] = []

    def f(x: Any, y: Any) -> Any:
        return x * y, x + y

    def fwd(x: Any, y: Any) -> Any:
        return f(x, y), None

    def bwd(_: Any, cts: Any) -> Any:
        seen.append(cts[1])
        return cts[0], None

    plain = tn.custom_vjp(f)
    plain.defvjp(fwd, bwd)
    tn.grad(lambda x: plain(x, 2.0)[0])(1.0)

    def symbolic_fwd(x: Any, y: Any) -> Any:
        seen.append((x.perturbed, y.perturbed))
        return f(x.value, y.value), None

    ruled = tn.custom_vjp(f)
    ruled.defvjp(symbolic_fwd, bwd, symbolic_zeros=True)
    assert tn.grad(lambda x: ruled(x, 2.0)[0])(1.0).item() == 1.0
    assert seen[0].shape == ()
    assert seen[1:] == [(True, False), None]


def test_a_rule_may_use_other_functions_with_rules() -> None:
    @tn.custom_jvp
    def inner(x: Any) -> Any:
        return tn.sin(x)

    inner.defjvp(lambda p, t: (inner(*p), 3.0 * t[0]))

    @tn.custom_jvp
    def outer(x: Any) -> Any:
        return inner(x) ** 2

    outer.defjvp(lambda p, t: (outer(*p), inner(*p) * inner(t[0])))
    assert tn.jvp(outer, (1.0,), (0.5,))[1].item() == pytest.approx(np.sin(1) * np.sin(0.5))
    assert tn.derivative(outer, 1)(1.0).item() == pytest.approx(np.sin(1) * np.sin(1))


def test_a_rule_may_be_defined_again() -> None:
    @tn.custom_jvp
    def f(x: Any) -> Any:
        return x

    f.defjvp(lambda p, t: (f(*p), 2.0 * t[0]))
    assert tn.grad(f)(1.0).item() == 2.0
    f.defjvp(lambda p, t: (f(*p), 3.0 * t[0]))
    assert tn.grad(f)(1.0).item() == 3.0


def test_a_function_keeps_its_name_and_its_signature() -> None:
    @tn.custom_jvp
    def sine(x: float) -> float:
        """The sine."""
        return x

    assert (sine.__name__, sine.__doc__, repr(sine)) == ("sine", "The sine.", "<custom_jvp sine>")


def test_large_arrays_may_be_read_by_functions_and_by_rules() -> None:
    table, other = np.arange(30_000.0), np.arange(30_000.0) * 2

    @tn.custom_jvp
    def f(x: Any) -> Any:
        return tn.sum(x * table)

    f.defjvp(lambda p, t: (f(*p), tn.sum(t[0] * other * tn.cos(p[0]))))
    x = np.zeros(30_000)
    assert tn.grad(f)(x)[3].item() == 6.0

    def looped(x: Any) -> Any:
        return tn.scan(lambda c, _: (c + f(c), None), x, None, length=2)[0][0]

    assert tn.grad(looped)(x)[3].item() == pytest.approx(6.0 + 6.0 + 6.0 * other.sum())


def test_empty_arrays_are_ordinary() -> None:
    @tn.custom_jvp
    def f(x: Any) -> Any:
        return x * 2

    f.defjvp(lambda p, t: (f(*p), t[0] * 5))
    assert tn.grad(lambda x: tn.sum(f(x)))(np.zeros(0)).shape == (0,)


def test_stop_gradient_takes_trees() -> None:
    def f(x: Any) -> Any:
        held = tn.stop_gradient({"x": x, "n": 3})
        return x * held["x"] * held["n"]

    assert tn.grad(f)(2.0).item() == 6.0
    assert tn.lax.stop_gradient is tn.stop_gradient


def test_python_numbers_yield_to_the_dtypes_of_arrays_in_rules_too() -> None:
    def f(x: Any, y: Any) -> Any:
        return x * y

    forward, backward = tn.custom_jvp(f), tn.custom_vjp(f)
    forward.defjvp(lambda p, t: (f(*p), t[0] * p[1] + p[0] * t[1]))
    backward.defvjp(lambda x, y: (f(x, y), (x, y)), lambda kept, ct: (ct * kept[1], ct * kept[0]))
    for ruled in (forward, backward):
        by_x, by_y = tn.grad(ruled, (0, 1))(np.float32(3.0), 2.0)
        assert (by_x.dtype, by_x.item(), by_y.item()) == (np.float32, 2.0, 3.0)
        assert tn.jit(ruled, executor="numpy")(np.float32(3.0), 2.0).dtype == np.float32


@pytest.mark.parametrize(
    ("dtype", "of_ct"),
    [
        ("float32", "float64"),
        ("float64", "float32"),
        ("float32", "int32"),
        ("complex64", "float64"),
        ("complex64", "complex128"),
    ],
)
def test_a_cotangent_of_another_dtype_becomes_that_of_its_argument(dtype: str, of_ct: str) -> None:
    f = tn.custom_vjp(lambda x: tn.sum(tn.real(x)))
    f.defvjp(lambda x: (f(x), None), lambda _, ct: (tn.full((2,), 3, dtype=of_ct),))
    x = np.ones(2, dtype)
    for gradient in (tn.grad(f), tn.jit(tn.grad(f), executor="numpy")):
        np.testing.assert_array_equal(np.asarray(gradient(x)), np.full(2, 3, dtype), strict=True)
    np.testing.assert_array_equal(
        np.asarray(tn.vmap(tn.grad(f))(x[None])), np.full((1, 2), 3, dtype), strict=True
    )
