"""Ops with what the toy set lacks: several outputs, coefficients of their own, and broken rules."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tenferro.core import Emitter, JvpSite, Slots, TransposeSite, V, add_terms, chain
from tests.toy import ADD, MUL, NEG, Meta, Toy, entrywise

_numbers = itertools.count()


class Mirror(Toy):
    """The pair (x, -x); linear."""

    n_outputs = 2

    def evaluate(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return inputs[0], entrywise(lambda x: -x, *inputs)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        (dx,) = at.tangent
        assert dx is not None
        return at.emitter.emit_all(self, dx)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        same, opposite = at.ct
        back = None if opposite is None else at.emit(NEG, opposite)
        return (add_terms(at.emitter, [same, back]),)


class SumAndProduct(Toy):
    """The pair (x + y, x · y)."""

    n_inputs = 2
    n_outputs = 2

    def evaluate(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        x, y = inputs
        return x + y, x * y

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        x, y = at.primal
        terms = chain(at, lambda dx: at.emit(MUL, dx, y), lambda dy: at.emit(MUL, x, dy))
        return add_terms(at.emitter, at.tangent), *terms


class Square(Toy):
    """x², with the coefficient x + x made by the rule."""

    def evaluate(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return (entrywise(lambda x: x * x, *inputs),)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        (x,) = at.primal
        return chain(at, lambda dx: at.emit(MUL, at.emit(ADD, x, x), dx))


class Zero(Toy):
    """The number 0, made of nothing."""

    n_inputs = 0

    def infer(self, *operands: Meta) -> Meta:
        return Meta()

    def evaluate(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return (0.0,)


class Nothing(Toy):
    """0 · x, which simplifies to the number 0 wherever it is emitted."""

    def evaluate(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return (0.0 * inputs[0],)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        return chain(at, lambda dx: at.emit(self, dx))

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        return at.emit(ZERO)


class Ruled(Toy):
    """The identity, with the derivative rules that it is given; two of one name are two ops."""

    def __init__(
        self,
        name: str,
        linearize: Callable[[JvpSite[Any]], Any] | None = None,
        transpose_rule: Callable[[TransposeSite[Any]], Any] | None = None,
        n_inputs: int = 1,
    ) -> None:
        super().__init__(f"{name}#{next(_numbers)}")
        self._name = name
        self.n_inputs = n_inputs
        self._linearize = linearize
        self._transpose_rule = transpose_rule

    def __str__(self) -> str:
        return self._name

    def evaluate(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return (inputs[0],)

    def linearize(self, at: JvpSite[Any]) -> Any:
        return (at.emit(self, *at.tangent),) if self._linearize is None else self._linearize(at)

    def transpose_rule(self, at: TransposeSite[Any]) -> Any:
        return at.ct if self._transpose_rule is None else self._transpose_rule(at)


MIRROR, SUM_AND_PRODUCT, SQUARE = Mirror("mirror"), SumAndProduct("sum_product"), Square("square")
ZERO, NOTHING = Zero("zero"), Nothing("nothing")
