"""Walks over records: accumulation, pruning, and orders of derivatives."""

from __future__ import annotations

import math
import weakref

import pytest

from tenferro.core import Record, pull_records
from tenferro.errors import ADRuleError
from tests.core.derivative_ops import MIRROR, SUM_AND_PRODUCT, Ruled
from tests.core.tape_cases import ToyApplier, Value, apply, apply_all, grads, tangent, variable
from tests.toy import ADD, EXP, MUL, NEG


def square(x: Value) -> Value:
    return apply(MUL, x, x)


def test_contributions_to_one_value_are_added() -> None:
    x = variable(3.0)
    (dx,) = grads(apply(ADD, x, x), x)
    assert dx is not None
    assert dx.value == 2.0


def test_all_leaves_get_a_cotangent_when_none_is_named() -> None:
    x, y = variable(3.0), variable(5.0)
    z = apply(MUL, apply(EXP, x), y)
    assert z.origin is not None
    found = pull_records([(z.origin, Value(1.0))], None, ToyApplier())
    assert {origin: ct.value for origin, ct in found.items()} == {
        x.origin: 5 * math.exp(3),
        y.origin: math.exp(3),
    }


def test_what_nothing_reaches_is_none() -> None:
    x, y = variable(3.0), variable(5.0)
    assert grads(square(x), y) == [None]
    assert tangent(square(x), (y, 1.0)) is None


def test_nothing_is_recorded_of_fixed_values() -> None:
    assert square(Value(3.0)).origin is None
    mixed = apply(MUL, Value(3.0), variable(2.0))
    assert isinstance(mixed.origin, Record)
    assert mixed.origin.sources[0] is None


def test_orders_of_both_modes_agree() -> None:
    x = variable(2.0)
    y = apply(EXP, square(x))
    (dy,) = grads(y, x)
    assert dy is not None
    (ddy,) = grads(dy, x)
    forward = tangent(y, (x, 1.0))
    assert forward is not None
    expected = (2 + 4 * 2.0**2) * math.exp(4)
    results = [ddy, tangent(dy, (x, 1.0)), grads(forward, x)[0], tangent(forward, (x, 1.0))]
    assert [result and result.value for result in results] == pytest.approx([expected] * 4)


def test_nothing_behind_a_value_differentiated_by_is_differentiated() -> None:
    x = variable(3.0)
    y = square(x)
    z = apply(MUL, x, y)
    dx, dy = grads(z, x, y)
    assert (dx and dx.value, dy and dy.value) == (9.0, 3.0)  # y is held fixed in the first
    found = tangent(z, (x, 1.0), (y, 10.0))
    assert found is not None
    assert found.value == 9.0 + 30.0


def test_a_value_is_its_own_derivative() -> None:
    x = variable(3.0)
    y = square(x)
    assert grads(y, y) == [Value(1.0)]
    assert tangent(y, (y, 4.0)) == Value(4.0)


def test_only_the_ways_to_what_is_asked_for_are_walked() -> None:
    def refuse(at: object) -> None:
        raise ADRuleError("opaque: has no linearize rule")

    x, y = variable(3.0), variable(5.0)
    z = apply(MUL, x, apply(Ruled("opaque", linearize=refuse), y))
    (dx,), dz = grads(z, x), tangent(z, (x, 1.0))
    assert dx is not None
    assert dz is not None
    assert (dx.value, dz.value) == (5.0, 5.0)
    with pytest.raises(ADRuleError, match="opaque: has no linearize rule"):
        grads(z, y)


def test_an_op_may_have_several_outputs() -> None:
    x, y = variable(3.0), variable(5.0)
    total, product = apply_all(SUM_AND_PRODUCT, x, y)
    same, opposite = apply_all(MIRROR, product)
    for result, expected in ((total, (1.0, 1.0)), (same, (5.0, 3.0)), (opposite, (-5.0, -3.0))):
        assert tuple(ct and ct.value for ct in grads(result, x, y)) == expected
    both = apply(MUL, total, opposite)
    assert [ct and ct.value for ct in grads(both, x, y)] == [-15 - 8 * 5, -15 - 8 * 3]
    found = tangent(both, (x, 1.0))
    assert found is not None
    assert found.value == -55.0


def test_one_output_can_be_differentiated_by_and_the_other_through() -> None:
    x = variable(3.0)
    same, opposite = apply_all(MIRROR, x)
    y = apply(MUL, square(same), opposite)
    d_opposite, dx = grads(y, opposite, x)
    assert (d_opposite and d_opposite.value, dx and dx.value) == (9.0, 2 * 3.0 * -3.0)


def test_deep_chains_are_walked_and_freed_without_recursion() -> None:
    x = variable(1.0)
    y = apply(NEG, x)
    assert isinstance(y.origin, Record)
    negation = y.origin.derivative
    for _ in range(99_999):
        y = Value(-y.value, Record(negation, (y.origin,), ()))
    assert grads(y, x) == [Value(1.0)]
    assert tangent(y, (x, 2.0)) == Value(2.0)
    last = weakref.ref(x.origin)  # type: ignore[arg-type]  # a leaf
    del x, y
    assert last() is None
