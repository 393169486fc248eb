"""What is seen to be linear, affine or zero, from the linearize rules of ops alone."""

from __future__ import annotations

import pytest

from tenferro.core import KeyEmitter, PrimitiveOp, affine_in, input_key, is_zero
from tenferro.core.emitters import linear_by_zeros, linear_in
from tests.core.derivative_ops import MIRROR, SQUARE, SUM_AND_PRODUCT, Zero
from tests.toy import ADD, CTX, EXP, MUL, NEG, real

AT = KeyEmitter(CTX)
X, Y = input_key(real("x")), input_key(real("y"))
ZERO = AT.emit(Zero("zero"))


@pytest.mark.parametrize(
    ("op", "active", "linear", "affine"),
    [
        (ADD, (True, True), True, True),
        (NEG, (True,), True, True),
        (MIRROR, (True,), True, True),
        (MUL, (True, False), True, True),
        (MUL, (True, True), False, False),
        (SUM_AND_PRODUCT, (True, True), False, False),
        (SUM_AND_PRODUCT, (True, False), False, True),  # its sum has a constant, y
        (EXP, (True,), False, False),  # its derivative reads its operand through its output
        (SQUARE, (True,), False, False),
    ],
)
def test_an_op_is_linear_if_it_is_its_own_derivative(
    op: PrimitiveOp, active: tuple[bool, ...], linear: bool, affine: bool
) -> None:
    operands = (X, Y)[: len(active)]
    assert linear_in(op, operands, active, AT) is linear
    assert affine_in(op, operands, active, AT) is affine


def test_the_operand_of_a_derivative_need_not_be_read_directly() -> None:
    assert not affine_in(MUL, (X, X), (True, False), AT)  # the other factor is the same value
    assert affine_in(MUL, (X, AT.emit(EXP, X)), (True, False), AT)


def test_a_zero_is_what_changes_nothing_when_it_is_added() -> None:
    assert is_zero(ZERO, AT)
    assert not is_zero(X, AT)
    assert not is_zero(AT.emit(EXP, ZERO), AT)


def test_what_is_linear_in_a_zero_is_zero() -> None:
    product = AT.emit(MUL, X, ZERO)
    assert is_zero(product, AT)
    assert is_zero(AT.emit(MUL, product, Y), AT)


def test_zeros_are_looked_for_nearby() -> None:
    value = ZERO
    for _ in range(10):
        value = AT.emit(MUL, X, value)
    assert not is_zero(value, AT)


def test_an_op_is_linear_in_more_operands_where_the_others_are_zero() -> None:
    zero = AT.emit(MUL, X, ZERO)
    assert not linear_in(ADD, (X, Y), (True, False), AT)  # x + y has a constant
    assert not linear_by_zeros(ADD, (X, Y), (True, False), AT)
    assert linear_by_zeros(ADD, (X, zero), (True, False), AT)
    assert not linear_by_zeros(MUL, (X, zero), (True, True), AT)  # no further operand is zero
