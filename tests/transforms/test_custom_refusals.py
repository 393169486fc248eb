"""What users get wrong with rules, callbacks and solvers, and what they are told."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import ADError, ADRuleError, PytreeError, TenferroError, TracingError
from tests.transforms.custom_functions import tenfold


def jvp_of(rule: Callable[..., Any], function: Callable[..., Any] = lambda x: x) -> Any:
    function.__name__ = "f"
    ruled = tn.custom_jvp(function)
    ruled.defjvp(rule)
    return ruled


def vjp_of(fwd: Callable[..., Any], bwd: Callable[..., Any]) -> Any:
    def f(x: Any) -> Any:
        return x

    ruled = tn.custom_vjp(f)
    ruled.defvjp(fwd, bwd)
    return ruled


def kept(x: Any) -> Any:
    return x, None


BAD_RULES: dict[str, tuple[Any, str]] = {
    "no pair": (
        jvp_of(lambda p, t: t[0]),
        r"custom_jvp f: the rule must return a pair \(value, tangent\), got f64\[\]",
    ),
    "another value": (
        jvp_of(lambda p, t: ((p[0], p[0]), t[0])),
        r"custom_jvp f: the value that the rule returns is a tuple in the place of f64\[\]",
    ),
    "another tree": (
        jvp_of(lambda p, t: (p[0], t[0]), lambda x: {"y": x}),
        r"the value that the rule returns is f64\[\], which must have the structure of \{'y': f64",
    ),
    "tangent shape": (
        jvp_of(lambda p, t: (p[0], tn.stack([t[0], t[0]]))),
        r"the tangent that the rule returns is f64\[2\] in the place of f64\[\]",
    ),
    "tangent dtype": (
        jvp_of(lambda p, t: (p[0], tn.astype(t[0], "float32"))),
        r"the tangent that the rule returns is f32\[\] in the place of f64\[\]",
    ),
    "no array": (
        jvp_of(lambda p, t: (p[0], "tangent")),
        r"the tangent that the rule returns is a str in the place of f64\[\]; return an array",
    ),
    "not linear": (
        jvp_of(lambda p, t: (p[0], t[0] * t[0])),
        "multiply: is not linear in operands 0 and 1 together; what a derivative rule emits",
    ),
    "not linear at all": (
        jvp_of(lambda p, t: (p[0], tn.sin(t[0]))),
        "sine: is not linear in operand 0; what a derivative rule emits",
    ),
    "fwd alone": (
        vjp_of(lambda x: x, lambda _, ct: (ct,)),
        r"custom_vjp f: fwd must return a pair \(value, residuals\), got f64\[\]",
    ),
    "another value of fwd": (
        vjp_of(lambda x: (tn.stack([x]), None), lambda _, ct: (ct,)),
        r"custom_vjp f: the value that fwd returns is f64\[1\] in the place of f64\[\]",
    ),
    "no tuple of bwd": (
        vjp_of(kept, lambda _, ct: ct),
        r"bwd must return a tuple of 1, one cotangent for each argument, got f64\[\]",
    ),
    "too many of bwd": (
        vjp_of(kept, lambda _, ct: (ct, ct)),
        r"bwd must return a tuple of 1, one cotangent for each argument, got \(f64\[\], f64\[\]\)",
    ),
    "cotangent shape": (
        vjp_of(kept, lambda _, ct: (tn.stack([ct]),)),
        r"the cotangent of argument 0 that bwd returns is f64\[1\] in the place of f64\[\]",
    ),
    "cotangent dtype": (
        vjp_of(kept, lambda _, ct: (ct * 1j,)),
        r"the cotangent of argument 0 that bwd returns is c128\[\] in the place of f64\[\]",
    ),
}


@pytest.mark.parametrize("name", BAD_RULES)
def test_a_rule_that_breaks_its_contract_is_named(name: str) -> None:
    function, text = BAD_RULES[name]
    with pytest.raises(ADRuleError, match=text):
        tn.grad(lambda x: sum(tn.tree.leaves(function(x))))(2.0)


def test_an_op_that_is_not_linear_is_said_to_be_of_the_rule() -> None:
    with pytest.raises(ADRuleError) as caught:
        tn.grad(BAD_RULES["not linear at all"][0])(1.0)
    assert re.match(
        r"recorded at rule of custom_jvp f at test_custom_refusals.py:\d+",
        caught.value.__notes__[0],
    )


def test_an_exception_in_a_rule_comes_through_with_a_note() -> None:
    def rule(primals: Any, tangents: Any) -> Any:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        tn.grad(jvp_of(rule))(1.0)
    assert "raised in the rule of custom_jvp f" in caught.value.__notes__


def test_a_function_without_a_rule_is_refused_when_it_is_called() -> None:
    def f(x: Any) -> Any:
        return x

    with pytest.raises(ADRuleError, match=r"custom_jvp f: has no rule; define one with .defjvp\(r"):
        tn.custom_jvp(f)(1.0)
    with pytest.raises(ADRuleError, match=r"custom_vjp f: has no rule; define one with .defvjp\(f"):
        tn.custom_vjp(f)(1.0)


BAD_CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "no function": (lambda: tn.custom_jvp(3), "custom_jvp: takes a function, got an int"),  # type: ignore[arg-type]
    "no rule": (
        lambda: tn.custom_jvp(lambda x: x).defjvp(3),  # type: ignore[arg-type]
        "custom_jvp <lambda>: rule must be a function, got an int",
    ),
    "out of range": (
        lambda: tn.custom_jvp(lambda x: x, nondiff_argnums=(1,)),
        "custom_jvp <lambda>: nondiff_argnums 1 is out of range for 1 parameter",
    ),
    "negative": (
        lambda: tn.custom_vjp(lambda x: x, nondiff_argnums=(-1,)),
        "custom_vjp <lambda>: nondiff_argnums must be integers of at least 0, got -1",
    ),
    "no such name": (
        lambda: tn.custom_vjp(lambda x: x, nondiff_argnames="n"),
        "custom_vjp <lambda>: nondiff_argnames has 'n', which is not a parameter",
    ),
    "defjvps": (
        lambda: tn.custom_jvp(lambda n, x: x, nondiff_argnums=(0,)).defjvps(None, None),
        "custom_jvp <lambda>: defjvps takes no nondiff_argnums; use defjvp",
    ),
    "a text": (
        lambda: tenfold("x", 1.0),
        "custom_jvp tenfold: x is a str, not an array or number; name it in nondiff_argnums",
    ),
    "by name only": (
        lambda: jvp_of(lambda p, t: t, lambda x, *, n=1: x)(1.0, n=2),
        "custom_jvp f: n can be passed by name only; rules take arguments by position",
    ),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_a_wrong_call_is_refused_at_once(name: str) -> None:
    call, text = BAD_CALLS[name]
    with pytest.raises((ADError, PytreeError), match=re.escape(text)):
        call()


def test_a_python_argument_must_not_be_traced() -> None:
    named = tn.custom_jvp(lambda n, x: x**n, nondiff_argnums=(0,))
    named.defjvp(lambda n, p, t: (p[0] ** n, t[0]))
    with pytest.raises(ADError, match="n is in nondiff_argnums and is a traced value; these must"):
        tn.jit(named, executor="numpy")(2, 3.0)


def test_a_derivative_by_what_a_function_closes_over_is_refused() -> None:
    def scaled(x: Any, w: Any) -> Any:
        f = jvp_of(lambda p, t: (f(p[0]), t[0] * w), lambda x: x * w)
        return f(x)

    assert tn.grad(scaled)(1.0, 3.0).item() == 3.0
    assert tn.grad(lambda x: tn.sum(tn.vmap(scaled)(x, np.arange(2.0))))(np.ones(2)).shape == (2,)
    with pytest.raises(
        ADRuleError, match="custom_jvp f: a derivative is asked for by a value that"
    ):
        tn.grad(scaled, 1)(1.0, 3.0)


def test_a_rule_must_not_read_what_has_ended() -> None:
    def halved(x: Any, w: Any) -> Any:
        return jvp_of(lambda p, t: (p[0], t[0] * w))(x)

    with pytest.raises(TracingError, match="a value of another trace; a derivative rule"):
        tn.grad(lambda x: tn.sum(tn.vmap(halved)(x, np.arange(2.0))))(np.ones(2))
    runtime = tn.EagerRuntime()
    x, w = runtime.variable(1.0), runtime.variable(2.0)
    with pytest.raises(ADError, match="the rule reads a tensor that an eager runtime tracks; pass"):
        runtime.grad(halved(x, w), [x])


def test_another_name_of_debug_says_what_there_is() -> None:
    with pytest.raises(AttributeError, match=r"x.sharding says how an array is divided"):
        tn.debug.visualize_sharding  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(TenferroError, match=r"tap: the text 'x' must have one field, as in 'x = "):
        tn.debug.tap("x", 1.0)
