"""Sizes that data decide: symbols that get their number while the program runs.

They name a size before it is known, so that two axes can be known to have one size; no op holds
one in its payload. What an op infers speaks of its own operands; `name_sizes` in `meta` turns that
into names that hold for a whole graph or program.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tenferro.computegraph import Derived, GlobalValKey, GraphOp, Input, op_key
from tenferro.shape.algebra import Dim, leaves


@dataclass(frozen=True, slots=True)
class Source:
    """An axis of a graph value that has a size which data decide.

    Of a value that an op makes, `made_by` says how to make it: what is known of a value must not
    hold the value, or neither would ever be freed. An input is held as it is.
    """

    made_by: Input | tuple[GraphOp, tuple[GlobalValKey, ...], str | None]
    slot: int
    axis: int

    @classmethod
    def of(cls, value: Input | Derived, axis: int) -> Source:
        """The axis `axis` of a value."""
        if isinstance(value, Input):
            return cls(value, 0, axis)
        op = value.op
        return cls((op.primitive, op.inputs, op.site), value.slot, axis)

    @property
    def value(self) -> GlobalValKey:
        """The value."""
        if isinstance(self.made_by, Input):
            return self.made_by
        primitive, inputs, site = self.made_by
        return op_key(primitive, inputs, site=site).output(self.slot)


@dataclass(frozen=True, slots=True)
class RuntimeScalar:
    """The size that a scalar decides, made a size as `semantics` says, and at most `limit`.

    `scalar` is the number of the value: of an operand where an op infers it (`local`), else of a
    value of the graph or a slot of the program.
    """

    scalar: int
    limit: Dim
    semantics: str
    local: bool = True
    source: Source | None = field(default=None, compare=False)

    def __str__(self) -> str:
        kind = "operand" if self.local else "value"
        return f"min({self.semantics}({kind} {self.scalar}), {self.limit})"


@dataclass(frozen=True, slots=True)
class RuntimeAxis:
    """The size of an axis of a value, of which nothing else is known."""

    value: int
    axis: int
    source: Source | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"size(value {self.value}, {self.axis})"


RuntimeDim = RuntimeScalar | RuntimeAxis


def runtime_dims(size: Dim) -> list[RuntimeDim]:
    """The symbols of a size that data decide, in the order of their text."""
    found = [leaf for leaf in leaves(size) if isinstance(leaf, RuntimeScalar | RuntimeAxis)]
    return sorted(found, key=str)


def has_local(size: Dim) -> bool:
    """Whether a size speaks of an operand of some op, so that it means nothing elsewhere."""
    return any(isinstance(leaf, RuntimeScalar) and leaf.local for leaf in leaves(size))
