"""Small families of extension ops that keep the contract; the broken ones are derived from them.

`Pair` has two inputs, two outputs, a standard-op form and smaller ops for `prune_outputs`. `Square`
differentiates through `Times`, a linear family with a transpose rule of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tenferro as tn
from tenferro.errors import DTypeError, ShapeError
from tenferro.extension import (
    ExtensionAdRule,
    ExtensionBatchRule,
    ExtensionOp,
    ExtensionRegistry,
    ExtensionRuleSet,
    apply,
    family_id,
    inline,
    sizes_differ,
)

Array = np.ndarray[Any, Any]


@family_id(namespace="tests", name="pair", version=1)
@dataclass(frozen=True)
class Pair(ExtensionOp):
    """scale·x·y and the sine of x."""

    scale: float = 2.0

    input_count = 2
    output_count = 2

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """What is derived from it stands in for it, with its rules and its runtime."""
        super().__init_subclass__(**kwargs)
        cls.FAMILY_ID = cls.FAMILY_ID  # of its own, but the same

    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        if input_dtypes[0] != input_dtypes[1]:
            raise DTypeError(f"pair: {input_dtypes[0]} and {input_dtypes[1]} are mixed")
        if any(map(sizes_differ, *input_shapes)):
            raise ShapeError(f"pair: sizes differ: {input_shapes[0]} and {input_shapes[1]}")
        return [(input_dtypes[0], input_shapes[0])] * 2

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        x, y = inputs
        return [self.scale * x * y, np.sin(x)]

    def lower_to_standard_ops(
        self, builder: Any, inputs: Any, input_dtypes: Any, input_shapes: Any
    ) -> Any:
        return inline(builder, lambda x, y: (self.scale * x * y, tn.sin(x)), *inputs)

    def prune_outputs(self, live: tuple[bool, ...]) -> ExtensionOp | None:
        return First(self.scale) if live == (True, False) else None


@family_id(namespace="tests", name="first", version=1)
@dataclass(frozen=True)
class First(ExtensionOp):
    """scale·x·y."""

    scale: float

    input_count = 2
    output_count = 1

    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        if any(map(sizes_differ, *input_shapes)):
            raise ShapeError(f"first: sizes differ: {input_shapes[0]} and {input_shapes[1]}")
        return [(input_dtypes[0], input_shapes[0])]

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        x, y = inputs
        return [self.scale * x * y]

    def lower_to_standard_ops(
        self, builder: Any, inputs: Any, input_dtypes: Any, input_shapes: Any
    ) -> Any:
        return [inline(builder, lambda x, y: self.scale * x * y, *inputs)]


class PairRule(ExtensionAdRule):
    """Written with array functions; both outputs know which inputs they do not depend on."""

    family_id = Pair.FAMILY_ID

    def linearize(self, op: Any, at: Any) -> Any:
        def tangents(x: Any, y: Any, dx: Any, dy: Any) -> Any:
            terms = [op.scale * y * dx] if dx is not None else []
            terms += [op.scale * x * dy] if dy is not None else []
            return sum(terms[1:], terms[0]), None if dx is None else tn.cos(x) * dx

        return inline(at, tangents, *at.primal, *at.tangent)


@family_id(namespace="tests", name="times", version=1)
@dataclass(frozen=True)
class Times(ExtensionOp):
    """y·x, linear in x; the transpose conjugates y."""

    input_count = 2
    output_count = 1

    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        return [(input_dtypes[1], input_shapes[1])]

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        y, x = inputs
        return [y * x]

    def lower_to_standard_ops(
        self, builder: Any, inputs: Any, input_dtypes: Any, input_shapes: Any
    ) -> Any:
        return [inline(builder, lambda y, x: y * x, *inputs)]


class TimesRule(ExtensionAdRule):
    family_id = Times.FAMILY_ID

    def linearize(self, op: Any, at: Any) -> Any:
        def tangent(y: Any, x: Any, dy: Any, dx: Any) -> Any:
            terms = [apply(op, y, dx)] if dx is not None else []
            terms += [apply(op, dy, x)] if dy is not None else []
            return sum(terms[1:], terms[0])

        return (inline(at, tangent, *at.primal, *at.tangent),)

    def transpose_rule(self, op: Any, at: Any) -> Any:
        if at.active[1]:
            return None, inline(at, lambda ct, y: apply(op, tn.conj(y), ct), at.ct[0], at.inputs[0])
        return inline(at, lambda ct, x: apply(op, tn.conj(x), ct), at.ct[0], at.inputs[1]), None


@family_id(namespace="tests", name="square", version=1)
@dataclass(frozen=True)
class Square(ExtensionOp):
    """x·x."""

    input_count = 1
    output_count = 1

    def infer_output_meta(self, input_dtypes: Any, input_shapes: Any) -> Any:
        return [(input_dtypes[0], input_shapes[0])]

    def eager_execute(self, inputs: Sequence[Array]) -> Sequence[Array]:
        return [inputs[0] * inputs[0]]


class SquareRule(ExtensionAdRule):
    family_id = Square.FAMILY_ID

    def linearize(self, op: Any, at: Any) -> Any:
        return (inline(at, lambda x, dx: apply(Times(), x + x, dx), *at.primal, *at.tangent),)


@dataclass(frozen=True)
class Runtime:
    """Runs a family by a function of the op and its inputs."""

    family_id: str
    function: Callable[[Any, Sequence[Array]], Any] = lambda op, inputs: op.eager_execute(inputs)

    def execute(self, backend: Any, op: ExtensionOp, inputs: Any, cache: Any) -> Any:
        plan = cache.get_or_make(("plan", op.payload_hash()), lambda: "a plan")
        assert plan == "a plan"
        return self.function(op, inputs)


def rule_set(*rules: ExtensionAdRule | ExtensionBatchRule) -> ExtensionRuleSet:
    """A set of rules."""
    made = ExtensionRuleSet()
    for rule in rules:
        if isinstance(rule, ExtensionBatchRule):
            made.register_batch_rule(rule)
        else:
            made.register_rule(rule)
    return made


def runtimes(
    families: Iterable[str],
    function: Callable[[Any, Sequence[Array]], Any] = Runtime.function,
) -> Callable[[ExtensionRegistry], None]:
    """What registers the families with one way to run."""

    def register(registry: ExtensionRegistry) -> None:
        for family in families:
            registry.register(Runtime(family, function))

    return register


X = np.array([[0.3, -1.2, 0.7], [1.4, 0.2, -0.5]])
Y = np.array([[1.1, 0.4, -0.9], [0.6, -1.3, 0.8]])
Z = X + 1j * Y
PAIR = {
    "rules": rule_set(PairRule()),
    "register_runtime": runtimes([Pair.FAMILY_ID, First.FAMILY_ID]),
}
SQUARE = {
    "rules": rule_set(SquareRule(), TimesRule()),
    "register_runtime": runtimes([Square.FAMILY_ID, Times.FAMILY_ID]),
}
