"""A toy op set, and a model of how to write one.

Values are Python numbers, real or complex, and vectors, which are tuples of numbers. Each op is a
class with four methods: what it makes of metadata (`infer`), what it means (`evaluate`), and its
two derivative rules. What `Toy` answers for all of them, an op need not say. The operands of one
op are of one field and length. A batch of numbers is a vector; there are no batches of vectors.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from tenferro.core import (
    Batched,
    BatchSite,
    Emitter,
    GlobalValKey,
    Input,
    JvpSite,
    PrimitiveOp,
    Slots,
    TransposeSite,
    V,
    add_terms,
    chain,
    each_active,
    multilinear,
    own_derivative,
)
from tenferro.errors import ADRuleError, BatchRuleError

Number = complex  # a float, by Python's own reckoning, is one too
Value = Number | tuple[Number, ...]


@dataclass(frozen=True)
class Meta:
    """What is known of a value before it exists; `length` is None for a number."""

    field: str = "real"
    length: int | None = None


@dataclass(frozen=True)
class Var:
    """The key of an input: a name, and what is known of the value."""

    name: str
    meta: Meta = Meta()

    def __str__(self) -> str:
        return self.name


def real(name: str) -> Var:
    return Var(name)


def cplx(name: str) -> Var:
    return Var(name, Meta("complex"))


def vector(name: str, length: int = 2) -> Var:
    return Var(name, Meta("real", length))


# ------------------------------------------------------------------------------------------- ops


class Toy:
    """An op of the set. Its name says all that there is to say of it, and so is its identity."""

    n_outputs: int = 1
    n_inputs: int | None = 1
    pointwise: bool = False

    def __init__(self, name: str) -> None:
        self.identity = name

    def __str__(self) -> str:
        return self.identity

    def infer(self, *operands: Meta) -> Meta:
        return operands[0]

    def evaluate(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        raise NotImplementedError

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        raise ADRuleError(f"{self}: has no linearize rule")

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        raise ADRuleError(f"{self}: has no transpose rule")

    def linear(self, at: JvpSite[V]) -> bool:
        return own_derivative(self, at)

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        if not self.pointwise:
            raise BatchRuleError(f"{self}: has no batch rule")
        operands = [at.repeated(operand) for operand in range(len(at.inputs))]
        return tuple((value, True) for value in at.emitter.emit_all(self, *operands))

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        return None


class Add(Toy):
    n_inputs = 2
    pointwise = True

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        for value, other in zip(operands, reversed(operands), strict=True):
            producer = at.producer(value)
            if producer is not None and producer[0].n_inputs == 0:  # the number 0
                return other
        return None

    def repeat(self, emitter: Emitter[V], value: V, size: int) -> V:
        return emitter.emit(Broadcast(size), value)

    def evaluate(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return (entrywise(lambda x, y: x + y, *inputs),)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        return (add_terms(at.emitter, at.tangent),)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        return each_active(at, lambda ct: ct, lambda ct: ct)


class Mul(Toy):
    n_inputs = 2
    pointwise = True

    def evaluate(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return (entrywise(lambda x, y: x * y, *inputs),)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        return multilinear(at, self)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        x, y = at.inputs
        return each_active(
            at,
            lambda ct: at.emit(self, conjugate(at, y), ct),
            lambda ct: at.emit(self, conjugate(at, x), ct),
        )


class Exp(Toy):
    pointwise = True

    def evaluate(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return (entrywise(exponential, *inputs),)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        return chain(at, lambda dx: at.emit(MUL, at.out[0], dx))


class LinearOp(Toy):
    """What is linear in its one operand has itself as its derivative."""

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        return multilinear(at, self)


class Involution(LinearOp):
    """A linear op that undoes itself, and is its own transpose."""

    pointwise = True

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        return each_active(at, lambda ct: at.emit(self, ct))

    def fold(self, at: Emitter[V], operands: Sequence[V]) -> V | None:
        producer = at.producer(operands[0])
        return producer[1][0] if producer is not None and producer[0] is self else None


class Neg(Involution):
    def evaluate(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return (entrywise(lambda x: -x, *inputs),)


class Conj(Involution):
    def evaluate(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return (entrywise(lambda x: x.conjugate(), *inputs),)


class Sum(LinearOp):
    def infer(self, *operands: Meta) -> Meta:
        return Meta(operands[0].field)

    def evaluate(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return (sum(inputs[0]),)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        length = at.ctx.meta(at.inputs[0]).length
        return each_active(at, lambda ct: at.emit(Broadcast(length), ct))


class Broadcast(LinearOp):
    def __init__(self, length: int) -> None:
        super().__init__(f"broadcast[{length}]")
        self.length = length

    def infer(self, *operands: Meta) -> Meta:
        return Meta(operands[0].field, self.length)

    def evaluate(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return ((inputs[0],) * self.length,)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        return each_active(at, lambda ct: at.emit(SUM, ct))


ADD, MUL, EXP, NEG, CONJ, SUM = (
    Add("add"), Mul("mul"), Exp("exp"), Neg("neg"), Conj("conj"), Sum("sum")
)  # fmt: skip


def entrywise(scalar: Callable[..., Number], *operands: Any) -> Value:
    """A function of numbers on numbers, or on each entry of vectors of one length."""
    if any(isinstance(operand, tuple) for operand in operands):
        return tuple(scalar(*entries) for entries in zip(*operands, strict=True))
    return scalar(*operands)


def exponential(x: Number) -> Number:
    return cmath.exp(x) if isinstance(x, complex) else math.exp(x)


def conjugate(at: TransposeSite[V], value: V) -> V:
    """The conjugate; of a real, the value itself."""
    return at.emit(CONJ, value) if at.ctx.meta(value).field == "complex" else value


# --------------------------------------------------------------------------------------- context


class ToyContext:
    """Metadata of graph values, worked out when asked for. The context owns it, not the keys."""

    adder: PrimitiveOp = ADD

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[GlobalValKey, Meta] = WeakKeyDictionary()

    def meta(self, value: Any) -> Meta:
        known = self._known
        pending = [value]
        while pending:
            key = pending[-1]
            if isinstance(key, Input) and isinstance(key.key, Var):
                known[key] = key.key.meta
            if key in known:
                pending.pop()
                continue
            unknown = [operand for operand in key.op.inputs if operand not in known]
            pending.extend(unknown)
            if not unknown:
                known[key] = key.op.primitive.infer(*[known[operand] for operand in key.op.inputs])
        return known[value]

    def registered_rule(self, name: str) -> None:
        """None: toy ops bring their own rules."""

    def declare_like(self, value: Any, like: Any) -> None:
        self._known[value] = self.meta(like)


CTX = ToyContext()
