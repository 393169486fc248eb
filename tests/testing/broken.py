"""One family, or more, for each clause of the contract that can be broken: and only that one."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import tenferro as tn
from tenferro.extension import (
    ExtensionAdRule,
    ExtensionBatchRule,
    ExtensionOp,
    LeadingBatchRule,
    Slots,
    apply,
    inline,
)
from tenferro.shape import DimExpr
from tests.testing.families import Array, First, Pair, PairRule, SquareRule, TimesRule

COUNTER = itertools.count()

# ------------------------------------------------------------------------- sections 4 and 5


class MalformedName(Pair):
    FAMILY_ID = "tests.pair"


class NameOfPayload(Pair):
    @property
    def family_id(self) -> str:
        return f"tests.pair{int(self.scale)}.v1"


class NameOfItsOwn(Pair):
    @property
    def family_id(self) -> str:
        return Pair.FAMILY_ID


@dataclass(frozen=True)
class ListPayload(Pair):
    axes: Any = field(default_factory=list)


class Thawed(Pair):
    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False)
class WritableArray(Pair):
    table: Any = field(default_factory=lambda: np.zeros(2))


class Forgetful(Pair):
    def payload(self) -> tuple[object, ...]:
        return ()


class Address(Pair):
    def payload(self) -> tuple[object, ...]:
        return (self.scale, id(self))


class OtherClone(Pair):
    def clone(self) -> Any:
        return replace(self, scale=7.0)


class SeededHash(Pair):
    def payload(self) -> tuple[object, ...]:
        return (self.scale, hash("pair"))


@dataclass(frozen=True)
class CountsItsRuns(Pair):
    runs: Any = field(default_factory=list, compare=False)

    def payload(self) -> tuple[object, ...]:
        return (self.scale, len(self.runs))

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        self.runs.append(1)
        return super().eager_execute(inputs)

    def clone(self) -> Any:
        return self


class WrongPrune(Pair):
    def prune_outputs(self, live: tuple[bool, ...]) -> ExtensionOp | None:
        return First(self.scale)


class PruneToOtherResults(Pair):
    def prune_outputs(self, live: tuple[bool, ...]) -> ExtensionOp | None:
        return First(self.scale + 1) if live == (True, False) else None


# ------------------------------------------------------------------------- sections 6, 7, 8


class CountedArity(Pair):
    @property
    def input_count(self) -> int:  # type: ignore[override]
        return 2 + next(COUNTER) % 2


class OneInput(Pair):
    input_count = 1


class TooFewOutputs(Pair):
    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        return super().infer_output_meta(input_dtypes, input_shapes)[:1]


class NotTotal(Pair):
    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        shape = tuple([int(size) for size in input_shapes[0]])
        return [(input_dtypes[0], shape)] * 2


class Collapsed(Pair):
    """Takes a size it does not know for 0."""

    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        shape = [0 if isinstance(size, DimExpr) else size for size in input_shapes[0]]
        return [(input_dtypes[0], tuple(shape))] * 2


class OneSizeOnly(Pair):
    """Infers the sizes of the example whatever the inputs."""

    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        return [(input_dtypes[0], (2, 3))] * 2


class Upgraded(Pair):
    """Takes the size of the example for one of which nothing is known."""

    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        shape = [
            3 if "dim(" in str(a) and "dim(" not in str(b) else b
            for a, b in zip(*input_shapes, strict=True)
        ]
        return [(input_dtypes[0], tuple(shape))] * 2


class OtherDtype(Pair):
    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        return [result.astype(np.float32) for result in super().eager_execute(inputs)]


class WritesToInputs(Pair):
    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        results = super().eager_execute([np.array(x) for x in inputs])
        if inputs[0].flags.writeable:
            inputs[0][...] = 0
        return results


class Moody(Pair):
    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        return [result + next(COUNTER) for result in super().eager_execute(inputs)]


class OtherStandardOps(Pair):
    def lower_to_standard_ops(
        self, builder: Any, inputs: Any, input_dtypes: Any, input_shapes: Any
    ) -> Any:
        return inline(builder, lambda x, y: (x * y, tn.sin(x)), *inputs)


class EmitsItself(Pair):
    def lower_to_standard_ops(
        self, builder: Any, inputs: Any, input_dtypes: Any, input_shapes: Any
    ) -> Any:
        return inline(builder, lambda x, y: apply(Pair(self.scale), x, y), *inputs)


class ExecutesWhileLowering(Pair):
    def lower_to_standard_ops(
        self, builder: Any, inputs: Any, input_dtypes: Any, input_shapes: Any
    ) -> Any:
        ones = np.ones([int(size) for size in input_shapes[0]])
        values = self.eager_execute([ones, ones])
        return inline(builder, lambda x, y: (values[0] * x * y, tn.sin(x)), *inputs)


# ------------------------------------------------------------------------------- section 10


class WrongDerivative(PairRule):
    def linearize(self, op: Any, at: Any) -> Slots[Any]:
        def tangents(x: Any, dx: Any) -> Any:
            return (None, None) if dx is None else (2 * x * dx, tn.cos(x) * dx)

        return tuple(inline(at, tangents, at.primal[0], at.tangent[0]))


class TooFewTangents(PairRule):
    def linearize(self, op: Any, at: Any) -> Slots[Any]:
        return super().linearize(op, at)[:1]


class Whimsical(PairRule):
    """Another graph each time, of the same meaning."""

    def linearize(self, op: Any, at: Any) -> Slots[Any]:
        number = float(2 ** (next(COUNTER) % 20))
        first, second = super().linearize(op, at)
        return inline(at, lambda t: t * number / number, first), second


class MakesZeros(PairRule):
    def linearize(self, op: Any, at: Any) -> Slots[Any]:
        first, second = super().linearize(op, at)
        return first, inline(at, tn.zeros_like, at.primal[0]) if second is None else second


class NoAdjoint(TimesRule):
    def transpose_rule(self, op: Any, at: Any) -> Slots[Any]:
        cts = super().transpose_rule(op, at)
        return tuple([None if ct is None else inline(at, lambda t: 2 * t, ct) for ct in cts])


class NoTranspose(TimesRule):
    def transpose_rule(self, op: Any, at: Any) -> Slots[Any]:
        raise ZeroDivisionError("a bug")


class Wide(TimesRule):
    """Always computes in double precision."""

    def transpose_rule(self, op: Any, at: Any) -> Slots[Any]:
        cts = super().transpose_rule(op, at)
        return tuple(
            [None if ct is None else inline(at, lambda t: tn.cast(t, "f64"), ct) for ct in cts]
        )


class WrongSecond(TimesRule):
    def linearize(self, op: Any, at: Any) -> Slots[Any]:
        (tangent,) = super().linearize(op, at)
        return (inline(at, lambda t: t if at.tangent[0] is None else 2 * t, tangent),)


class TerminalTimes(TimesRule):
    """Can be transposed, and not be differentiated again."""

    def linearize(self, op: Any, at: Any) -> Slots[Any]:
        return ExtensionAdRule.linearize(self, op, at)


class EmitsForeign(SquareRule):
    """Computes with an op of a family that has no rules."""

    def linearize(self, op: Any, at: Any) -> Slots[Any]:
        return (
            inline(at, lambda x, dx: apply(First(2.0), x, x) / x * dx, *at.primal, *at.tangent),
        )


class NeedsNumbers(SquareRule):
    def linearize(self, op: Any, at: Any) -> Slots[Any]:
        shape = [int(size) for size in at.ctx.meta(at.primal[0]).exact_shape()]
        twice = np.full(shape, 2.0)
        return (inline(at, lambda x, dx: twice * x * dx, *at.primal, *at.tangent),)


class DividesByTheBound(SquareRule):
    """Takes a bound for the size where it makes a mean of it."""

    def linearize(self, op: Any, at: Any) -> Slots[Any]:
        bound = at.ctx.meta(at.primal[0]).bound_shape()[0]
        size = tn.shape_of(tn.TracedTensor(at.primal[0]), 0)
        return (
            inline(
                at, lambda x, n, dx: 2 * x * n / bound * dx, at.primal[0], size.key, *at.tangent
            ),
        )


class Halves(ExtensionOp):
    """x and y, halved: linear, with two outputs."""

    FAMILY_ID = "tests.halves.v1"
    input_count = 2
    output_count = 2

    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        return list(zip(input_dtypes, input_shapes, strict=True))

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        return [x / 2 for x in inputs]


class HalvesRule(PairRule):
    """Emits the op itself on tangents, with zeros for those that are None."""

    family_id = Halves.FAMILY_ID

    def linearize(self, op: Any, at: Any) -> Slots[Any]:
        def tangents(x: Any, y: Any, dx: Any, dy: Any) -> Any:
            zero = (tn.zeros_like(x), tn.zeros_like(y))
            made = apply(op, *[z if t is None else t for z, t in zip(zero, (dx, dy), strict=True)])
            return [None if t is None else out for t, out in zip((dx, dy), made, strict=True)]

        return tuple(inline(at, tangents, *at.primal, *at.tangent))

    def transpose_rule(self, op: Any, at: Any) -> Slots[Any]:
        return tuple(
            [
                None if ct is None or not active else inline(at, lambda t: t / 2, ct)
                for ct, active in zip(at.ct, at.active, strict=True)
            ]
        )


class ZeroCotangents(HalvesRule):
    def transpose_rule(self, op: Any, at: Any) -> Slots[Any]:
        return tuple(
            [
                inline(at, tn.zeros_like, at.inputs[i]) if ct is None and active else ct
                for i, (ct, active) in enumerate(
                    zip(super().transpose_rule(op, at), at.active, strict=True)
                )
            ]
        )


# ------------------------------------------------------------------------------- batch rules


class Reversed(LeadingBatchRule):
    """The entries of the second input in another order."""

    def batch(self, op: Any, at: Any) -> Any:
        x, y = [at.repeated(place) for place in range(2)]
        results = inline(at, lambda x, y: apply(op, x, y[::-1]), x, y)
        return tuple((result, True) for result in results)


class ForgetsToRepeat(ExtensionBatchRule):
    """Right if both inputs are batched."""

    family_id = Pair.FAMILY_ID

    def batch(self, op: Any, at: Any) -> Any:
        results = inline(at, lambda x, y: (op.scale * x * y, tn.sin(x)), *at.inputs)
        return tuple((result, True) for result in results)


class WithoutMarks(LeadingBatchRule):
    def batch(self, op: Any, at: Any) -> Any:
        return tuple(result for result, _ in super().batch(op, at))


class StopsGradients(LeadingBatchRule):
    def batch(self, op: Any, at: Any) -> Any:
        results = [result for result, _ in super().batch(op, at)]
        return tuple((inline(at, tn.lax.stop_gradient, result), True) for result in results)
