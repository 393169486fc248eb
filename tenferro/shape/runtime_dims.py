"""Data-dependent sizes: symbols whose values are known only while the program runs.

A symbol shows that two axes have equal sizes before the size is known. No op holds one in its
payload. An op infers symbols that refer to its own operands; `name_sizes` in `meta` replaces them
by symbols that refer to values of the whole graph or program.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tenferro.computegraph import Derived, GlobalValKey, GraphOp, Input, op_key
from tenferro.shape.algebra import Dim, leaves


@dataclass(frozen=True, slots=True)
class Source:
    """An axis of a graph value with a data-dependent size.

    `made_by` is the input, or the primitive, inputs and site of the op that computes the value: the
    metadata of a value must not refer to the value, or neither would be freed.
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
    """The size that `semantics` makes of a scalar value; it is at most `limit`.

    `scalar` is the number of the value: while `local`, of an operand of the op that infers the
    size; later, of a value of the graph or a slot of the program.
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
    """The size of an axis of a value; nothing else is known about it."""

    value: int
    axis: int
    source: Source | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"size(value {self.value}, {self.axis})"


RuntimeDim = RuntimeScalar | RuntimeAxis


def runtime_dims(size: Dim) -> list[RuntimeDim]:
    """The data-dependent symbols of a size, in the order of their text."""
    symbols = [leaf for leaf in leaves(size) if isinstance(leaf, RuntimeScalar | RuntimeAxis)]
    return sorted(symbols, key=str)


def has_local(size: Dim) -> bool:
    """Whether a size refers to an operand of an op, and so has a meaning for that op only."""
    return any(isinstance(leaf, RuntimeScalar) and leaf.local for leaf in leaves(size))
