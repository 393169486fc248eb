"""How a Jacobian is computed: the passes over the linear part of a function, chosen by cost.

A pass is forward, for each element of the arguments, or reverse, for each element of the results.
A *cut* is a set of values through which all tangents go; where it has few elements, it is a waist.
The part before the cut is transposed on its own, the part behind it is run forward, and the
Jacobian is the product of the two matrices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tenferro.autodiff import LinearFragment, active_operands
from tenferro.compiler import CPU
from tenferro.computegraph import Derived, GlobalOpKey, GlobalValKey
from tenferro.ops import StdTensorOp
from tenferro.shape import ShapeGuardContext, is_complex

Mode = Literal["auto", "forward", "reverse", "cross"]
Linear = LinearFragment[StdTensorOp]
LEVELS = 2
"""How often a part is cut again."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One batched pass.

    Attributes:
        forward: whether it pushes tangents, and does not pull cotangents back.
        count: the number of unit vectors.
        seconds: what it is expected to take.
    """

    forward: bool
    count: int
    seconds: float

    def passes(self) -> list[str]:
        """The mode and the number of unit vectors."""
        return [f"{'forward' if self.forward else 'reverse'} {self.count}"]

    def waists(self) -> list[str]:
        """Nothing: it has no cut."""
        return []

    def __str__(self) -> str:
        (text,) = self.passes()
        return text


@dataclass(frozen=True, slots=True)
class Cut:
    """The product of the matrices of the parts before and behind a cut.

    Attributes:
        values: the tangents through which all others go.
        size: the number of their elements.
        site: where the user's program computes one of them, if it is known.
        front: how the part before it is computed.
        back: how the part behind it is computed.
        seconds: what both and the product are expected to take.
    """

    values: tuple[GlobalValKey, ...]
    size: int
    site: str | None
    front: Plan
    back: Plan
    seconds: float

    def passes(self) -> list[str]:
        """Those of the parts, in the order of the program."""
        return [*self.front.passes(), *self.back.passes()]

    def waists(self) -> list[str]:
        """The size of each cut and where it is, in the order of the program."""
        place = "" if self.site is None else f" at {self.site}"
        return [*self.front.waists(), f"{self.size}{place}", *self.back.waists()]

    def __str__(self) -> str:
        waists = self.waists()
        word = "waist" if len(waists) == 1 else "waists"
        return f"{' | '.join(self.passes())} ({word} {', '.join(waists)})"


Plan = Pass | Cut


def planned(
    linear: Linear,
    ctx: ShapeGuardContext,
    mode: Mode,
    holomorphic: bool = False,
    symmetric: bool = False,
    levels: int = LEVELS,
) -> Plan | None:
    """How to compute the matrix of a linear part; None if it is not possible in this mode.

    The cost of a pass is that of its ops for each unit vector: `CPU.multiply` for each
    multiplication of a contraction, `CPU.write` for each number that is read or written. Once for
    all unit vectors, each op costs a kernel and the reading of its coefficients. A value whose size
    is not constant is on no cut, and its size counts as 1 in costs.

    Args:
        linear: the linear part; its inputs and outputs have constant sizes.
        ctx: the types of its values.
        mode: `cross` asks for a cut, even if a single pass costs less.
        holomorphic: whether the derivatives are by complex numbers, and not by real ones.
        symmetric: whether the matrix is, so that its columns are its rows.
        levels: how often to cut.
    """
    part = _Part(linear, ctx, holomorphic, symmetric)
    plans: list[Plan] = []
    if mode in ("auto", "reverse"):
        plans += part.passes(forward=False)
    if mode in ("auto", "forward"):
        plans += part.passes(forward=True)
    if mode in ("auto", "cross") and levels:
        below = None if mode == "cross" else min([plan.seconds for plan in plans], default=None)
        plans += part.cut(below, levels)
    return min(plans, key=lambda plan: plan.seconds, default=None)


class _Part:
    """A linear part, with the costs of its ops."""

    def __init__(
        self, linear: Linear, ctx: ShapeGuardContext, holomorphic: bool, symmetric: bool
    ) -> None:
        self._linear, self._ctx = linear, ctx
        self._holomorphic, self._symmetric = holomorphic, symmetric
        self._nodes = linear.live_nodes()
        outputs = {key for key in linear.output_keys if key is not None}
        self._readers = Counter(key for node in self._nodes for key in set(active_operands(node)))
        self._readers.update(outputs)
        self._outputs = list(outputs)
        self._inputs = [key for key in linear.input_keys if self._readers[key]]
        self._rows, self._columns = self._size(self._outputs), self._size(self._inputs)
        self._costs = [self._cost(node) for node in self._nodes]
        self._once = sum(once for once, _ in self._costs)
        self._each = sum(each for _, each in self._costs)

    def passes(self, forward: bool) -> list[Plan]:
        """The pass, if what it starts from has unit vectors."""
        seeds, count = (self._inputs, self._columns) if forward else (self._outputs, self._rows)
        if not all(map(self._has_units, seeds)):
            return []
        turned = CPU.move * self._rows * self._columns
        result = 0.0 if forward == self._symmetric else turned
        return [Pass(forward, count, self._once + count * self._each + result)]

    def cut(self, below: float | None, levels: int) -> list[Plan]:
        """The cut that costs least, if that is less than `below`."""
        found: tuple[GlobalValKey, ...] | None = None
        for values, size, before in self._frontiers():
            sides = min(size, self._columns) * before
            sides += min(size, self._rows) * (self._each - before)
            seconds = self._once + sides + self._product(size)
            if below is None or seconds < below:
                found, below = tuple(values), seconds
        return [] if found is None else [self._with_cut(found, levels)]

    def _with_cut(self, values: tuple[GlobalValKey, ...], levels: int) -> Cut:
        """The cut, with both sides planned."""
        front, back = (
            planned(side, self._ctx, "auto", self._holomorphic, levels=levels - 1)
            for side in (self._linear.until(values), self._linear.since(values))
        )
        assert front is not None, "it is possible in reverse from the cut"
        assert back is not None, "it is possible forward from the cut"
        size = self._size(values)
        seconds = front.seconds + back.seconds + self._product(size)
        return Cut(values, size, _site(values), front, back, seconds)

    def _frontiers(self) -> Iterator[tuple[Collection[GlobalValKey], int, float]]:
        """The cuts between an op and the next at which unit vectors are.

        For each the values, the same collection each time, the number of their elements, and the
        cost of the ops before it for one unit vector.
        """
        readers = dict(self._readers)
        frontier = dict.fromkeys(self._inputs)
        without_units = sum(not self._has_units(key) for key in frontier)
        size, before = self._columns, 0.0
        for node, (_, each) in zip(self._nodes[:-1], self._costs[:-1], strict=True):
            for key in set(active_operands(node)):
                readers[key] -= 1
                if not readers[key]:
                    del frontier[key]
                    size -= self._size([key])
                    without_units -= not self._has_units(key)
            for key in node.outputs:
                if readers.get(key):
                    frontier[key] = None
                    size += self._size([key])
                    without_units += not self._has_units(key)
            before += each
            if not without_units:
                yield frontier.keys(), size, before

    def _product(self, size: int) -> float:
        """Seconds for the product of the matrices of both sides of a cut."""
        return CPU.contraction(1, *(max(each, 1) for each in (self._rows, self._columns, size)))

    def _cost(self, node: GlobalOpKey) -> tuple[float, float]:
        """Seconds that an op takes once, and for each unit vector."""
        op: StdTensorOp = node.primitive  # type: ignore[assignment]  # the fragment holds no others
        operands = [self._ctx.meta(key) for key in node.inputs]
        results = [self._ctx.meta(key) for key in node.outputs]
        if op.view:
            return 0.0, 0.0
        active = self._size(active_operands(node))
        numbers = active + sum(meta.known_size for meta in results)
        each = CPU.write * numbers + CPU.multiply * op.work(operands, results)
        fixed = sum(meta.known_size for meta in operands) - active
        return CPU.kernel + CPU.write * fixed, each

    def _size(self, keys: Iterable[GlobalValKey]) -> int:
        """The number of elements."""
        return sum(self._ctx.meta(key).known_size for key in keys)

    def _has_units(self, key: GlobalValKey) -> bool:
        """Whether the value has unit vectors: the size is constant, and numbers are of the kind."""
        meta = self._ctx.meta(key)
        return meta.static_shape is not None and is_complex(meta.dtype) == self._holomorphic


def _site(values: Sequence[GlobalValKey]) -> str | None:
    """Where the last of the values is computed, if that is known."""
    sites = [key.op.site for key in values if isinstance(key, Derived)]
    return next((site for site in reversed(sites) if site is not None), None)
