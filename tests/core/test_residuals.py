"""What the linear part of a graph reads of the rest of it."""

from __future__ import annotations

from tenferro.core import KeyEmitter, input_key, residuals
from tests.core.derivative_ops import Zero
from tests.toy import ADD, CTX, EXP, MUL, NEG, real

AT = KeyEmitter(CTX)
X, DX = input_key(real("x")), input_key(real("dx"))


def test_residuals_are_what_active_ops_read_of_the_others() -> None:
    exp = AT.emit(EXP, X)
    pushed = AT.emit(MUL, exp, AT.emit(MUL, DX, X))
    assert residuals([pushed], [DX]) == [X, exp]


def test_only_the_last_value_before_the_linear_part_is_kept() -> None:
    coefficient = AT.emit(NEG, AT.emit(EXP, X))
    assert residuals([AT.emit(MUL, coefficient, DX)], [DX]) == [coefficient]


def test_a_value_is_kept_once() -> None:
    exp = AT.emit(EXP, X)
    pushed = AT.emit(ADD, AT.emit(MUL, exp, DX), AT.emit(MUL, exp, AT.emit(NEG, DX)))
    assert residuals([pushed, pushed], [DX]) == [exp]


def test_outputs_that_do_not_depend_on_the_seeds_are_kept() -> None:
    exp = AT.emit(EXP, X)
    assert residuals([exp, DX, X], [DX]) == [exp, X]


def test_constants_are_computed_again() -> None:
    constant = AT.emit(EXP, AT.emit(Zero("zero")))
    assert residuals([AT.emit(MUL, constant, DX), constant], [DX]) == []
