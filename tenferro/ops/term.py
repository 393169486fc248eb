"""Values of an emitter with the operators of arithmetic, for formulas of derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tenferro.chainrules import JvpSite
from tenferro.ops.analytic import COS, EXP, LOG, LOG1P, SIN
from tenferro.ops.arithmetic import ADD, DIV, MUL, NEG, SUB
from tenferro.ops.base import StdTensorOp
from tenferro.ops.broadcast_reduce import full_like
from tenferro.ops.compare import ABS, SELECT, Compare


@dataclass(frozen=True, slots=True)
class Term:
    """A value at the site of a derivative rule; numbers beside it get its dtype and shape."""

    at: JvpSite[Any]
    value: Any

    def on(self, op: StdTensorOp, *others: Term | float) -> Term:
        """The op on this value and others."""
        return Term(self.at, self.at.emit(op, self.value, *(self.like(x).value for x in others)))

    def like(self, number: Term | float) -> Term:
        """A number as a value of this dtype and shape."""
        if isinstance(number, Term):
            return number
        return Term(self.at, full_like(self.at.emitter, number, self.value))

    def where(self, direction: str, bound: float, chosen: Term | float) -> Term:
        """`chosen` where the comparison with `bound` is true, elsewhere this value."""
        return self.chosen(self, direction, bound, chosen)

    def chosen(self, x: Term, direction: str, bound: float, chosen: Term | float) -> Term:
        """`chosen` where the comparison of x with `bound` is true, elsewhere this value."""
        return x.on(Compare(direction), bound).on(SELECT, self.like(chosen), self)

    def __add__(self, other: Term | float) -> Term:
        return self.on(ADD, other)

    def __sub__(self, other: Term | float) -> Term:
        return self.on(SUB, other)

    def __rsub__(self, other: float) -> Term:
        return self.like(other).on(SUB, self)

    def __mul__(self, other: Term | float) -> Term:
        return self.on(MUL, other)

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other: Term | float) -> Term:
        return self.on(DIV, other)

    def __rtruediv__(self, other: float) -> Term:
        return self.like(other).on(DIV, self)

    def __abs__(self) -> Term:
        return self.on(ABS)

    def __neg__(self) -> Term:
        return self.on(NEG)


Partial = Callable[..., Term]
"""A derivative as a function of the result and the operands."""


def exp(x: Term) -> Term:
    """e to the power x."""
    return x.on(EXP)


def log(x: Term) -> Term:
    """Natural logarithm."""
    return x.on(LOG)


def log1p(x: Term) -> Term:
    """log(1 + x)."""
    return x.on(LOG1P)


def sin(x: Term) -> Term:
    """Sine."""
    return x.on(SIN)


def cos(x: Term) -> Term:
    """Cosine."""
    return x.on(COS)
