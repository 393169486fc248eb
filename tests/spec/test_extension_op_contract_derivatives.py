"""Sections 9 and 10 of the contract of extension ops: derivative rules and who owns them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tenferro as tn
from tenferro.errors import (
    DuplicateRuleError,
    ExtensionRuleError,
    MalformedFamilyIdError,
    UnsupportedADRuleError,
)
from tenferro.extension import Extension, ExtensionAdRule, ExtensionRuleSet, apply, inline
from tenferro.ops import Convert, ReduceSum
from tests.spec.extensions import context, inputs, native, pair, refused
from tests.testing.broken import TerminalTimes
from tests.testing.families import (
    First,
    Pair,
    PairRule,
    Square,
    SquareRule,
    Times,
    TimesRule,
    X,
    Y,
    rule_set,
    runtimes,
)


def loss(x: Any, y: Any) -> Any:
    product, sine = pair(x, y)
    return tn.sum(product * sine)


def on_numpy(function: Any) -> Any:
    """The function on an executor that has the runtimes of all families here."""
    families = [Pair.FAMILY_ID, First.FAMILY_ID, Square.FAMILY_ID, Times.FAMILY_ID]
    return tn.jit(function, executor=native(runtimes(families)))


def gradients(x: Any, y: Any) -> tuple[Any, Any]:
    return 2 * y * (np.sin(x) + x * np.cos(x)), 2 * x * np.sin(x)


# ------------------------------------------------------------------------------------ section 9


def test_9_a_family_registered_twice_is_refused() -> None:
    rules = rule_set(PairRule())
    text = "AD rule for family_id 'tests.pair.v1' already registered"
    with refused(DuplicateRuleError, Pair.FAMILY_ID, text):
        rules.register_rule(PairRule())
    with refused(DuplicateRuleError, Pair.FAMILY_ID, text):
        rules | rule_set(PairRule())
    with refused(DuplicateRuleError, Pair.FAMILY_ID, text):
        tn.AdContext.builder().with_extension_rules(rules).with_extension_rules(rules)


def test_9_looking_up_an_unregistered_family_gives_none() -> None:
    rules = rule_set(PairRule())
    assert rules.lookup(Square.FAMILY_ID) is None
    assert Square.FAMILY_ID not in rules
    assert rules.lookup(Pair.FAMILY_ID) in list(rules)


def test_9_a_graph_whose_family_has_no_rule_runs_forward() -> None:
    np.testing.assert_allclose(tn.jit(pair)(X, Y)[0], 2 * X * Y)
    with refused(UnsupportedADRuleError, Pair.FAMILY_ID, "no linearize rule") as raised:
        tn.grad(loss)(X, Y)
    assert raised.value.rule == "linearize"


def test_9_op_construction_needs_no_registration() -> None:
    x, y = inputs("x", "y")
    assert [str(out.meta) for out in pair(x, y)] == ["f64[n,3]"] * 2


def test_9_the_rules_of_one_context_are_unknown_to_another() -> None:
    with_rules, without = context(rule_set(PairRule())), context()
    x, y = inputs("x", "y")
    value = loss(x, y)
    assert len(with_rules.grad(value, [x, y])) == 2
    with refused(UnsupportedADRuleError, Pair.FAMILY_ID, "no linearize rule"):
        without.grad(value, [x])
    with refused(UnsupportedADRuleError, Pair.FAMILY_ID, "no linearize rule"):
        tn.grad(loss)(X, Y)


def test_9_a_context_keeps_the_rules_it_was_built_with() -> None:
    rules = ExtensionRuleSet()
    ctx = context(rules)
    rules.register_rule(PairRule())
    ctx.extension_rules.register_rule(PairRule())
    assert Pair.FAMILY_ID not in str(ctx.extension_rules)
    with refused(UnsupportedADRuleError, Pair.FAMILY_ID, "no linearize rule"):
        tn.grad(loss, ad_context=ctx)(X, Y)


def test_9_two_contexts_may_have_different_rules_of_one_family() -> None:
    class Constant(ExtensionAdRule):
        family_id = Square.FAMILY_ID

        def linearize(self, op: Any, at: Any) -> Any:
            return (inline(at, lambda dx: 7 * dx, at.tangent[0]),)

    (x,) = inputs("x", shape=())
    y = apply(Square(), x)
    results = []
    for rules in (rule_set(SquareRule(), TimesRule()), rule_set(Constant())):
        program = tn.GraphCompiler().compile(context(rules).grad(y, [x]), inputs=[x])
        executor = tn.GraphExecutor(tn.NumpyBackend())
        executor.register_extension(runtimes([Times.FAMILY_ID]))
        results.append(float(np.asarray(executor.run(program, {x: 3.0})[0])))
    assert results == [6.0, 7.0]


def test_9_rule_sets_and_contexts_are_read_from_any_thread() -> None:
    shared = context(rule_set(PairRule()))
    empty = context()

    def one(number: int) -> bool:
        if number % 2:
            with refused(UnsupportedADRuleError, Pair.FAMILY_ID, "no linearize rule"):
                tn.grad(loss, ad_context=empty)(X + number, Y)
            return True
        found = on_numpy(tn.grad(loss, (0, 1), ad_context=shared))(X + number, Y)
        expected = gradients(X + number, Y)
        return all(np.allclose(a, b) for a, b in zip(found, expected, strict=True))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(48)))


def test_9_malformed_rules_are_refused() -> None:
    class Malformed(PairRule):
        family_id = "pair"

    with pytest.raises(MalformedFamilyIdError, match="'pair' does not match the namespaced"):
        rule_set(Malformed())


# ----------------------------------------------------------------------------------- section 10


def test_10_one_registration_serves_both_modes_and_all_executors() -> None:
    ctx = context(rule_set(PairRule()))
    expected = gradients(X, Y)
    for found in (
        on_numpy(tn.grad(loss, (0, 1), ad_context=ctx))(X, Y),
        tn.jit(tn.grad(loss, (0, 1), ad_context=ctx))(X, Y),
        tn.jit(tn.jacfwd(loss, (0, 1), ad_context=ctx))(X, Y),
        on_numpy(tn.jacrev(loss, (0, 1), ad_context=ctx))(X, Y),
    ):
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs)


@pytest.mark.parametrize("kind", ["linearize", "transpose"])
def test_10_a_missing_rule_names_the_family_and_the_kind(kind: str) -> None:
    class LinearizeOnly(ExtensionAdRule):
        family_id = Times.FAMILY_ID

    rules = rule_set(SquareRule()) if kind == "linearize" else None
    only = rule_set(SquareRule(), LinearizeOnly())
    f = lambda x: tn.sum(apply(Square(), x))  # noqa: E731
    if kind == "linearize":
        with refused(UnsupportedADRuleError, Times.FAMILY_ID, "no transpose rule is regist") as e:
            tn.grad(f, ad_context=context(rules))(X)
        assert e.value.rule == "transpose"
        with refused(UnsupportedADRuleError, Times.FAMILY_ID, "no linearize rule is regist") as e:
            tn.derivative(lambda x: apply(Square(), x), 2, ad_context=context(rules))(1.0)
        assert e.value.rule == "linearize"
        return
    with refused(UnsupportedADRuleError, Times.FAMILY_ID, "has no transpose rule; it is") as e:
        tn.grad(f, ad_context=context(only))(X)
    assert e.value.rule == "transpose"
    with refused(UnsupportedADRuleError, Times.FAMILY_ID, "has no linearize rule; it cannot") as e:
        tn.derivative(lambda x: apply(Square(), x), 2, ad_context=context(only))(1.0)
    assert e.value.rule == "linearize"


def test_10_a_terminal_family_ends_after_the_first_order() -> None:
    ctx = context(rule_set(SquareRule(), TerminalTimes()))
    f = lambda x: tn.sum(apply(Square(), x))  # noqa: E731
    np.testing.assert_allclose(on_numpy(tn.grad(f, ad_context=ctx))(X), 2 * X)
    with refused(UnsupportedADRuleError, Times.FAMILY_ID, "cannot be differentiated further"):
        tn.hvp(f, (X,), (X,), ad_context=ctx)


def test_10_eager_backward_uses_the_rules_of_its_context_and_passes_errors_on() -> None:
    for ctx, works in ((context(rule_set(PairRule())), True), (context(), False)):
        rt = tn.EagerRuntime(ad_context=ctx)
        rt.register_extension(runtimes([Pair.FAMILY_ID]))
        x, y = rt.variable(X), rt.variable(Y)
        if works:
            loss(x, y).backward()
            for leaf, expected in zip((x, y), gradients(X, Y), strict=True):
                np.testing.assert_allclose(np.asarray(leaf.grad), expected)
        else:
            with refused(UnsupportedADRuleError, Pair.FAMILY_ID, "no linearize rule"):
                loss(x, y).backward()


def test_10_inactive_slots_are_none_and_zeros_are_made_at_the_boundary_alone() -> None:
    seen: list[Any] = []

    class Watched(PairRule):
        def linearize(self, op: Any, at: Any) -> Any:
            seen.append(tuple(tangent is None for tangent in at.tangent))
            return super().linearize(op, at)

    ctx = context(rule_set(Watched()))
    x, y = inputs("x", "y")
    product, sine = pair(x, y)
    assert ctx.jvp_optional([product, sine], [y], [y])[1] is None
    assert ctx.vjp_optional([sine], [x, y], [x])[1] is None
    assert seen == [(True, False), (False, False)]
    f = lambda x, y: tn.sum(pair(x, y)[1])  # noqa: E731
    assert on_numpy(tn.grad_optional(f, (0, 1), ad_context=ctx))(X, Y)[1] is None
    np.testing.assert_array_equal(on_numpy(tn.grad(f, (0, 1), ad_context=ctx))(X, Y)[1], 0 * Y)


def test_10_rules_read_types_from_the_context() -> None:
    met: list[str] = []

    class Curious(PairRule):
        def linearize(self, op: Any, at: Any) -> Any:
            met.extend(str(at.ctx.meta(value)) for value in (*at.primal, *at.out))
            return super().linearize(op, at)

    x, y = inputs("x", "y")
    context(rule_set(Curious())).grad(loss(x, y), [x])
    assert met == ["f64[n,3]"] * 4


def test_10_what_a_rule_emits_can_be_differentiated_if_its_family_has_rules() -> None:
    ctx = context(rule_set(SquareRule(), TimesRule()))
    f = lambda x: apply(Square(), x)  # noqa: E731
    np.testing.assert_allclose(on_numpy(tn.derivative(f, 2, ad_context=ctx))(1.5), 2.0)
    assert float(np.asarray(on_numpy(tn.derivative(f, 3, ad_context=ctx))(1.5))) == 0.0


def test_10_an_error_in_a_rule_says_in_which() -> None:
    class Buggy(PairRule):
        def linearize(self, op: Any, at: Any) -> Any:
            raise KeyError("nothing")

    text = "its linearize rule failed: KeyError: 'nothing'"
    with refused(ExtensionRuleError, Pair.FAMILY_ID, text) as raised:
        tn.grad(loss, ad_context=context(rule_set(Buggy())))(X, Y)
    assert isinstance(raised.value.__cause__, KeyError)


NOT_LINEAR: dict[str, tuple[Any, str]] = {
    "ones": (lambda x, dx: tn.ones_like(dx), "returns for output 0 a value that does not depend"),
    "a primal": (lambda x, dx: x, "returns for output 0 a value that does not depend"),
    "a sum with a primal": (lambda x, dx: x + dx, "add: is not linear in operand 1 alone"),
    "a sum with a number": (lambda x, dx: 1 - dx, "subtract: is not linear in operand 1 alone"),
    "a quotient": (lambda x, dx: 1 / dx, "divide: is not linear in operand 1 alone"),
    "a product": (lambda x, dx: dx * dx, "multiply: is not linear in operands 0 and 1 together"),
    "a choice": (
        lambda x, dx: tn.where(x > 0, dx, 1.0),
        "select: is not linear",
    ),
    "an update": (lambda x, dx: x.at[0].set(dx[0]), "dynamic_update_slice: is not linear"),
    "a function": (lambda x, dx: tn.exp(dx), "exponential: is not linear in operand 0"),
}


def pair_context(linearize: Any) -> tn.AdContext:
    """A context with a rule for the first output of `Pair` by its first input."""

    class Rule(ExtensionAdRule):
        family_id = Pair.FAMILY_ID

        def linearize(self, op: Any, at: Any) -> Any:
            return inline(at, linearize, at.primal[0], at.tangent[0]), None

    return context(rule_set(Rule()))


def first(x: Any) -> Any:
    return tn.sum(pair(x, Y)[0])


@pytest.mark.parametrize(("linearize", "text"), NOT_LINEAR.values(), ids=NOT_LINEAR)
def test_10_a_rule_that_is_not_linear_in_the_tangents_is_refused(linearize: Any, text: str) -> None:
    with refused(ExtensionRuleError, Pair.FAMILY_ID, text):
        tn.make_program(tn.grad(first, ad_context=pair_context(linearize)), X)


def test_10_so_it_is_in_bodies_batches_and_derivatives_of_derivatives() -> None:
    ctx = pair_context(NOT_LINEAR["a sum with a primal"][0])

    def looped(x: Any) -> Any:
        return tn.sum(tn.scan(lambda c, _: (pair(c, Y)[0], None), x, None, length=2)[0])

    for function in (
        tn.grad(looped, ad_context=ctx),
        tn.vmap(tn.grad(lambda x: tn.sum(apply(Pair(), x, x)[0]), ad_context=ctx)),
        tn.grad(lambda x: tn.sum(tn.grad(first, ad_context=ctx)(x)), ad_context=ctx),
    ):
        with refused(ExtensionRuleError, Pair.FAMILY_ID, "add: is not linear"):
            tn.make_program(function, X)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "linearize",
    [
        lambda x, dx: tn.concatenate([dx[:1], np.zeros(dx[1:].shape)]),
        lambda x, dx: tn.where(x > 0, dx, 0.0) + np.zeros((2, 3)),
        lambda x, dx: tn.zeros_like(x).at[0].set(dx[0]) + tn.pad(dx[1:], ((1, 0), (0, 0))),
        lambda x, dx: tn.real(tn.lax.complex(dx, tn.zeros_like(x)) * 2j) + x * tn.imag(dx),
        lambda x, dx: tn.scan(lambda c, _: (c * 0.5, None), dx, None, length=2)[0],
    ],
)
def test_10_a_rule_may_make_zeros_of_its_own(linearize: Any) -> None:
    tn.make_program(tn.grad(first, ad_context=pair_context(linearize)), X)


@pytest.mark.parametrize(
    ("cotangent", "text"),
    [
        (lambda at: at.emit(ReduceSum((0, 1)), at.ct[0]), r"f64\[\], which must be f64\[2,3\]"),
        (
            lambda at: at.emit(Convert(np.dtype("float32")), at.ct[0]),
            r"f32\[2,3\], which must be f64\[2,3\]",
        ),
        (lambda at: X, "a ndarray, which is not a value of the site"),
        (lambda at: 1.0, "a float, which is not a value of the site"),
        (lambda at: "ct", "a str, which is not a value of the site"),
    ],
)
def test_10_cotangents_have_the_types_of_the_inputs(cotangent: Any, text: str) -> None:
    class Rule(ExtensionAdRule):
        family_id = Pair.FAMILY_ID

        def linearize(self, op: Any, at: Any) -> Any:
            return at.emitter.emit_all(Extension(op), at.tangent[0], at.primal[1])

        def transpose_rule(self, op: Any, at: Any) -> Any:
            return cotangent(at), None

    with refused(
        ExtensionRuleError, Pair.FAMILY_ID, f"its transpose rule returns for input 0 {text}"
    ):
        tn.make_program(tn.grad(first, ad_context=context(rule_set(Rule()))), X)
