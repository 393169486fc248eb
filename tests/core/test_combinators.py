"""Combinators: rules that many ops share, and how they absorb symbolic zeros."""

from collections.abc import Sequence
from typing import Any

from tenferro.core import (
    GlobalValKey,
    JvpSite,
    KeyEmitter,
    TransposeSite,
    add_terms,
    chain,
    each_active,
    input_key,
    jointly_linear,
    multilinear,
    name_of,
)
from tests.toy import ADD, CTX, EXP, MUL, NEG, Toy

AT = KeyEmitter(CTX)
x, y, z, dx, dy, ct = (input_key(name) for name in ("x", "y", "z", "dx", "dy", "ct"))


class Product(Toy):
    """The product of any number of operands."""

    n_inputs = None

    def evaluate(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        raise NotImplementedError


def names(slots: tuple[Any, ...]) -> list[str | None]:
    return [None if value is None else name_of(value) for value in slots]


def jvp_site(*tangents: GlobalValKey | None) -> JvpSite[GlobalValKey]:
    primal = (x, y, z)[: len(tangents)]
    return JvpSite(AT, primal, (AT.emit(MUL, *primal),), tangents)


def transpose_site(*active: bool, given: GlobalValKey | None = ct) -> TransposeSite[GlobalValKey]:
    return TransposeSite(AT, (given,), (x, y)[: len(active)], active)


def negative(value: GlobalValKey) -> GlobalValKey:
    return AT.emit(NEG, value)


def test_terms_are_added_without_those_that_are_zero() -> None:
    assert names((add_terms(AT, [x, None, y, z]),)) == ["add(add(x, y), z)"]
    assert add_terms(AT, [None, y, None]) is y
    assert add_terms(AT, [None, None]) is None
    assert add_terms(AT, []) is None


def test_a_multilinear_op_has_one_term_for_each_active_operand() -> None:
    product = Product("product")
    assert names(multilinear(jvp_site(dx, None, dy), product)) == [
        "add(product(dx, y, z), product(x, y, dy))"
    ]
    assert names(multilinear(jvp_site(None, dy, None), product)) == ["product(x, dy, z)"]


def test_a_jointly_linear_op_is_applied_to_tangents_and_explicit_zeros() -> None:
    def zeros_like(value: GlobalValKey) -> GlobalValKey:
        return AT.emit(ADD, value, negative(value))

    assert names(jointly_linear(jvp_site(dx, dy), ADD, zeros_like)) == ["add(dx, dy)"]
    assert names(jointly_linear(jvp_site(None, dy), ADD, zeros_like)) == ["add(add(x, neg(x)), dy)"]


def test_chain_sums_the_contributions_of_active_operands() -> None:
    at = jvp_site(dx, dy)
    partials = (negative, lambda t: AT.emit(MUL, x, t))
    assert names(chain(at, *partials)) == ["add(neg(dx), mul(x, dy))"]


def test_chain_does_not_build_the_coefficient_of_a_symbolic_zero() -> None:
    def unwanted(tangent: GlobalValKey) -> GlobalValKey:
        raise AssertionError(f"built for {tangent}")

    assert names(chain(jvp_site(dx, None), negative, unwanted)) == ["neg(dx)"]
    assert chain(jvp_site(None, None), unwanted, unwanted) == (None,)


def test_each_active_operand_has_its_pullback_of_the_cotangent() -> None:
    pullbacks = (negative, lambda t: AT.emit(EXP, t))
    assert names(each_active(transpose_site(True, True), *pullbacks)) == ["neg(ct)", "exp(ct)"]
    assert names(each_active(transpose_site(False, True), *pullbacks)) == [None, "exp(ct)"]


def test_a_pullback_may_give_a_symbolic_zero() -> None:
    assert each_active(transpose_site(True), lambda t: None) == (None,)


def test_the_pullbacks_of_a_symbolic_zero_are_symbolic_zeros() -> None:
    assert each_active(transpose_site(True, True, given=None), negative, negative) == (None, None)
