"""How a Jacobian is computed: the passes over the linear part of a function, chosen by cost.

A pass is forward, for each element of the arguments, or reverse, for each element of the results.
A *cut* is a set of values through which all tangents go; where it has few elements, it is a waist.
The part before the cut is transposed on its own, the part behind it is run forward, and the
Jacobian is the product of the two matrices.

A side of the narrowest cut is not cut again: its cuts are cuts of the whole too, and not narrower.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from tenferro.autodiff import active_operands
from tenferro.computegraph import Derived, GlobalOpKey, GlobalValKey
from tenferro.derivatives import Linear
from tenferro.jacobians.cuts import narrow_cut
from tenferro.ops import StdTensorOp
from tenferro.shape import ShapeGuardContext, is_complex
from tenferro.values import planned_model

Mode = Literal["auto", "forward", "reverse", "cross"]


@dataclass(frozen=True, slots=True)
class Pass:
    """One batched pass.

    Attributes:
        forward: whether it pushes tangents, and does not pull cotangents back.
        count: the number of unit vectors, if it was counted.
        seconds: what it is expected to take, if that was asked for.
    """

    forward: bool
    count: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{'forward' if self.forward else 'reverse'} {self.count}"


@dataclass(frozen=True, slots=True)
class Cut:
    """The product of the matrices of the parts before and behind a cut.

    Attributes:
        values: the tangents through which all others go.
        size: the number of their elements.
        site: where the user's program computes one of them, if it is known.
        seconds: what both parts and the product are expected to take.
    """

    values: tuple[GlobalValKey, ...]
    size: int
    site: str | None
    seconds: float

    def __str__(self) -> str:
        place = "" if self.site is None else f" at {self.site}"
        return f"reverse {self.size} | forward {self.size} (waist {self.size}{place})"


Plan = Pass | Cut


class Costs:
    """How to compute the matrix of a linear part, and what that costs.

    The cost of a pass is that of its ops for each unit vector, by the `DeviceCosts` that plans are
    made by: `multiply` for each multiplication of a contraction, `write` for each number that is
    read or written. Once for all unit vectors, each op costs a kernel and the reading of its
    coefficients. A value whose size is not constant is on no cut, and its size counts as 1 in
    costs.

    Args:
        linear: the linear part; its inputs and outputs have constant sizes.
        ctx: the types of its values.
        holomorphic: whether the derivatives are by complex numbers, and not by real ones.
        symmetric: whether the matrix is, so that its columns are its rows.

    Attributes:
        rows: the number of elements of the outputs.
        columns: the number of elements of the inputs.
    """

    def __init__(
        self, linear: Linear, ctx: ShapeGuardContext, holomorphic: bool, symmetric: bool
    ) -> None:
        self._linear, self._ctx = linear, ctx
        self._device = planned_model().costs
        self._holomorphic, self._symmetric = holomorphic, symmetric
        nodes = linear.live_nodes()
        read = {key for node in nodes for key in active_operands(node)}
        self._outputs = list({key for key in linear.output_keys if key is not None})
        self._inputs = [key for key in linear.input_keys if key in read.union(self._outputs)]
        self.rows, self.columns = self._size(self._outputs), self._size(self._inputs)
        costs = [self._cost(node) for node in nodes]
        self._once = sum(once for once, _ in costs)
        self._each = sum(each for _, each in costs)

    def plans(self, mode: Mode) -> list[Plan]:
        """The plans of a mode, those that cost least first.

        `cross` asks for a cut, even if a single pass costs less.
        """
        plans: list[Plan] = []
        if mode in ("auto", "reverse"):
            plans += self._passes(forward=False)
        if mode in ("auto", "forward"):
            plans += self._passes(forward=True)
        if mode in ("auto", "cross"):
            below = min([plan.seconds for plan in plans], default=math.inf)
            plans += self._cuts(below, inside=mode == "cross")
        return sorted(plans, key=lambda plan: plan.seconds)

    def of_colours(self, count: int, places: int) -> float:
        """Seconds for a dense matrix by a pass of so many colours, of which so many places."""
        written = (
            self._device.write * (self.rows * self.columns + 4 * places) + 4 * self._device.kernel
        )
        return self._once + count * self._each + written

    def _passes(self, forward: bool) -> list[Plan]:
        """The pass, if what it starts from has unit vectors."""
        seeds, count = (self._inputs, self.columns) if forward else (self._outputs, self.rows)
        if not all(map(self._has_units, seeds)):
            return []
        turned = self._device.move * self.rows * self.columns
        result = 0.0 if forward == self._symmetric else turned
        return [Pass(forward, count, self._once + count * self._each + result)]

    def _cuts(self, below: float, inside: bool) -> list[Plan]:
        """The narrowest cut, if it costs less than `below` seconds."""
        if self._through(1) >= below:
            return []
        sizes_of: dict[GlobalValKey, int | None] = {}

        def size_of(key: GlobalValKey) -> int | None:
            if key not in sizes_of:
                sizes_of[key] = self._size([key]) if self._has_units(key) else None
            return sizes_of[key]

        values = narrow_cut(self._linear, size_of, inside)
        if values is None:
            return []
        size = self._size(values)
        seconds = self._through(size)
        return [Cut(tuple(values), size, _site(values), seconds)] if seconds < below else []

    def _through(self, size: int) -> float:
        """Seconds for the passes to and from a cut of so many elements, and the product."""
        sizes = (max(count, 1) for count in (self.rows, self.columns, size))
        return self._once + size * self._each + self._device.contraction(1, *sizes)

    def _cost(self, node: GlobalOpKey) -> tuple[float, float]:
        """Seconds that an op takes once, and for each unit vector."""
        op: StdTensorOp = node.primitive  # type: ignore[assignment]  # the fragment holds no others
        operands = [self._ctx.meta(key) for key in node.inputs]
        results = [self._ctx.meta(key) for key in node.outputs]
        if op.view:
            return 0.0, 0.0
        active = self._size(active_operands(node))
        numbers = active + sum(meta.known_size for meta in results)
        each = self._device.write * numbers + self._device.multiply * op.work(operands, results)
        fixed = sum(meta.known_size for meta in operands) - active
        return self._device.kernel + self._device.write * fixed, each

    def _size(self, keys: Iterable[GlobalValKey]) -> int:
        """The number of elements."""
        return sum(self._ctx.meta(key).known_size for key in keys)

    def _has_units(self, key: GlobalValKey) -> bool:
        """Whether the value has unit vectors: the size is constant, and numbers are of the kind."""
        meta = self._ctx.meta(key)
        return meta.static_shape is not None and is_complex(meta.dtype) == self._holomorphic


def _site(values: Sequence[GlobalValKey]) -> str | None:
    """Where the last of the values is computed that has a place."""
    sites = [key.op.site for key in values if isinstance(key, Derived)]
    return next((site for site in reversed(sites) if site is not None), None)
