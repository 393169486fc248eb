"""Forward, reverse or through a cut: passes chosen by cost.

A pass is forward, for each element of the arguments, or reverse, for each element of the results.
A *cut* is a set of values through which all tangents go; where it has few elements, it is a waist.
The part before the cut is transposed on its own, the part behind it is run forward, and the
Jacobian is the product of the two matrices.

A side of the narrowest cut is not cut again: its cuts are cuts of the whole too, and not narrower.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from tenferro.compiler import JACOBIAN
from tenferro.core import Derived, GlobalOpKey, GlobalValKey, KeyEmitter, active_operands
from tenferro.ir import DType, NumpyArray, ShapeGuardContext, TensorMeta, common_dtype, is_complex
from tenferro.ops import (
    CONJ,
    Concatenate,
    Convert,
    DotGeneral,
    Gather,
    Reshape,
    StdTensorOp,
    full,
    shape_of,
)
from tenferro.ops.control_flow import noted
from tenferro.runtime import planned_model
from tenferro.transforms.jacobian_coloring import ColourBasis, Colouring, SparsePlan
from tenferro.transforms.jacobian_sparsity import Pattern
from tenferro.transforms.linear_part import Basis, Images, LinearGraph, LinearPart
from tenferro.transforms.sparse_matrix import filled
from tenferro.transforms.traced_tensor import capture

# Cuts of a linear part: sets of values through which all tangents go from inputs to outputs.

Key = GlobalValKey
CutSize = Callable[[Key], int | None]
"""The number of elements of a value; None if it cannot be in a cut."""


@dataclass(frozen=True, slots=True)
class Branch:
    """Ops, inputs and outputs that have no value in common with those of other branches."""

    nodes: list[GlobalOpKey] = field(default_factory=list)
    inputs: list[Key] = field(default_factory=list)
    outputs: list[Key] = field(default_factory=list)


def narrow_cut(linear: LinearGraph, size: CutSize, inside: bool = False) -> list[Key] | None:
    """The narrowest cut that is found; None if it is the inputs or the outputs.

    Each independent branch is cut on its own, some perhaps at their inputs or outputs; if `inside`,
    between its ops wherever there is a place.

    Cuts are found by a walk over the ops, between one and the next: once in the order of the
    program, and once with each op as early as its operands allow.
    """
    parts = branches(linear)
    cuts = [_narrowest(part, size, inside) for part in parts]
    values = [key for cut in cuts if cut is not None for key in cut]
    ends = [
        {key for part in parts for key in part.inputs},
        {key for part in parts for key in part.outputs},
    ]
    return None if None in cuts or set(values) in ends else values


def branches(linear: LinearGraph) -> list[Branch]:
    """The independent branches of the live ops, inputs and outputs."""
    nodes = linear.live_nodes()
    outputs = dict.fromkeys(key for key in linear.output_keys if key is not None)
    leader: dict[Key, Key] = {}

    def leader_of(key: Key) -> Key:
        while leader.setdefault(key, key) is not key:
            leader[key] = leader[leader[key]]
            key = leader[key]
        return key

    for node in nodes:
        joined: list[Key] = [*active_operands(node), *node.outputs]
        for key in joined:
            leader[leader_of(key)] = leader_of(joined[0])
    live = {*outputs, *(key for node in nodes for key in active_operands(node))}
    parts: dict[Key, Branch] = {}
    for node in nodes:
        parts.setdefault(leader_of(node.outputs[0]), Branch()).nodes.append(node)
    for key in linear.input_keys:
        if key in live:
            parts.setdefault(leader_of(key), Branch()).inputs.append(key)
    for key in outputs:
        parts.setdefault(leader_of(key), Branch()).outputs.append(key)
    return list(parts.values())


def _narrowest(part: Branch, size: CutSize, inside: bool) -> list[Key] | None:
    """The narrowest cut of a branch; if `inside`, one between its ops if there is one.

    None if there is no cut.
    """
    best: dict[bool, tuple[int, list[Key]]] = {}
    for order in (part.nodes, _as_early_as_possible(part)):
        for place, (values, width) in enumerate(_frontiers(part, order, size)):
            is_inner = 0 < place < len(order)
            if width is not None and (is_inner not in best or width < best[is_inner][0]):
                best[is_inner] = width, list(values)
    if inside and True in best:
        return best[True][1]
    return min(best.values(), key=lambda each: each[0])[1] if best else None


def _as_early_as_possible(part: Branch) -> list[GlobalOpKey]:
    """The ops of a branch, those with few ops before them first."""
    depth: dict[Key, int] = {}
    steps: dict[GlobalOpKey, int] = {}
    for node in part.nodes:
        steps[node] = 1 + max(depth.get(key, 0) for key in active_operands(node))
        depth.update(dict.fromkeys(node.outputs, steps[node]))
    return sorted(part.nodes, key=steps.__getitem__)


def _frontiers(
    part: Branch, order: Sequence[GlobalOpKey], size: CutSize
) -> Iterator[tuple[Collection[Key], int | None]]:
    """The inputs, the cuts after each op, the last of which are the outputs.

    For each the values, the same collection each time, and the number of their elements; None if
    one of them cannot be in a cut.
    """
    readers = Counter(key for node in order for key in set(active_operands(node)))
    readers.update(part.outputs)
    frontier: dict[Key, None] = {}
    width, uncut = 0, 0

    def turn(key: Key, sign: int) -> None:
        nonlocal width, uncut
        count = size(key)
        width += sign * (count or 0)
        uncut += sign * (count is None)

    for key in part.inputs:
        frontier[key] = None
        turn(key, 1)
    yield frontier, None if uncut else width
    for node in order:
        for key in set(active_operands(node)):
            readers[key] -= 1
            if not readers[key]:
                del frontier[key]
                turn(key, -1)
        for key in node.outputs:
            if readers[key]:
                frontier[key] = None
                turn(key, 1)
        yield frontier, None if uncut else width


# How a Jacobian is computed: the passes over the linear part of a function, chosen by cost.

Mode = Literal["auto", "forward", "reverse", "cross"]


@dataclass(frozen=True, slots=True)
class Sweep:
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


Plan = Sweep | Cut


class SweepCosts:
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
        self,
        linear: LinearGraph,
        ctx: ShapeGuardContext,
        holomorphic: bool,
        symmetric: bool,
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
        return [Sweep(forward, count, self._once + count * self._each + result)]

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
        return sum(self._ctx.meta(key).known_size for key in keys)

    def _has_units(self, key: GlobalValKey) -> bool:
        """Whether the value has unit vectors: the size is constant, and numbers are of the kind."""
        meta = self._ctx.meta(key)
        return meta.static_shape is not None and is_complex(meta.dtype) == self._holomorphic


def _site(values: Sequence[GlobalValKey]) -> str | None:
    """Where the last of the values is computed that has a place."""
    sites = [key.op.site for key in values if isinstance(key, Derived)]
    return next((site for site in reversed(sites) if site is not None), None)


# The matrix of a linear part, by the passes of a plan.

Metas = Sequence[TensorMeta]


class Matrices:
    """Emits the matrix of a linear part, in blocks: for each output a row of one for each input.

    Args:
        linear: the linear part.
        inputs: the types of its inputs.
        outputs: the types of its outputs, also of those that no tangent reaches.
        ctx: the types of values.
        chunk: the largest number of unit vectors in one batch; None is all.
        holomorphic: whether the derivatives are by complex numbers.
    """

    def __init__(
        self,
        linear: LinearGraph,
        inputs: Metas,
        outputs: Metas,
        ctx: ShapeGuardContext,
        chunk: int | None,
        holomorphic: bool,
    ) -> None:
        self._linear, self._inputs, self._outputs = linear, inputs, outputs
        self._ctx, self._chunk, self._holomorphic = ctx, chunk, holomorphic
        self._at = KeyEmitter(ctx)

    def dense(self, plan: Plan | SparsePlan) -> list[list[Key]]:
        """Arrays with the axes of the output, then those of the input."""
        if isinstance(plan, SparsePlan):
            return self._filled(plan)
        return self._product(plan) if isinstance(plan, Cut) else self._passed(plan.forward)

    def sparse(self, plan: SparsePlan) -> list[list[tuple[Key, Pattern]]]:
        """The values at the places of each block, and the places."""
        domain, image = self._directed(plan.forward)
        _, images = self._images(self._linear, plan.forward, domain, plan.colouring)
        count, size = plan.colouring.count, sum(meta.known_size for meta in image)
        with noted(self._at, plan.in_words()):
            whole = self._concatenated(images, image, count)
            flat = self._at.emit(Reshape((count * size,)), whole)
        places = plan.colouring.columns * size + plan.colouring.rows
        return [
            [
                (
                    self.converted(self._picked(flat, places[chosen]), block_meta(y, x).dtype),
                    pattern,
                )
                for x, (chosen, pattern) in zip(self._inputs, row, strict=True)
            ]
            for y, row in zip(
                self._outputs, plan.pattern.blocks(self._inputs, self._outputs), strict=True
            )
        ]

    def converted(self, key: Key, dtype: DType) -> Key:
        """The value in a dtype."""
        return key if self._ctx.meta(key).dtype == dtype else self._at.emit(Convert(dtype), key)

    def _directed(self, forward: bool) -> tuple[Metas, Metas]:
        """The types of what a pass starts from, and of what it ends at."""
        return (self._inputs, self._outputs) if forward else (self._outputs, self._inputs)

    def _passed(self, forward: bool) -> list[list[Key]]:
        domain, image = self._directed(forward)
        basis, images = self._images(self._linear, forward, domain)
        of_images = [
            [basis.block(self._at, key, leaf, meta, last=forward) for leaf in range(len(domain))]
            for key, meta in zip(images, image, strict=True)
        ]
        if forward:
            return of_images
        return [[blocks[leaf] for blocks in of_images] for leaf in range(len(domain))]

    def _filled(self, plan: SparsePlan) -> list[list[Key]]:
        """Zeros, with the values of the sparse blocks in their places."""
        blocks: list[list[Key]] = []
        for y, row in zip(self._outputs, self.sparse(plan), strict=True):
            blocks.append([])
            for x, (values, pattern) in zip(self._inputs, row, strict=True):
                places = capture(pattern.entries[:, None].copy())
                shape = (*shape_of(y), *shape_of(x))
                blocks[-1].append(filled(self._at, values, places, shape))
        return blocks

    def _product(self, cut: Cut) -> list[list[Key]]:
        """The products of the rows before a cut and the columns behind it."""
        inner = [self._ctx.meta(key) for key in cut.values]
        _, rows = self._images(self._linear.until(cut.values), False, inner)
        _, columns = self._images(self._linear.since(cut.values), True, inner)
        blocks: list[list[Key]] = []
        with noted(self._at, f"{JACOBIAN}{cut}"):
            for y, column in zip(self._outputs, columns, strict=True):
                blocks.append([])
                for x, row in zip(self._inputs, rows, strict=True):
                    blocks[-1].append(self._multiplied(column, row, block_meta(y, x)))
        return blocks

    def _images(
        self,
        linear: LinearGraph,
        forward: bool,
        domain: Metas,
        colouring: Colouring | None = None,
    ) -> tuple[Basis, Images]:
        """The images of all unit vectors in one direction, or of those of each colour."""
        part = (
            LinearPart.pushforward(linear)
            if forward
            else LinearPart.pullback(linear, len(domain), self._ctx)
        )
        read = [seed is not None for seed in part.seeds]
        basis = Basis(domain, read) if colouring is None else ColourBasis(domain, read, colouring)
        images = part.of_basis(basis, self._chunk, self._at)
        if self._holomorphic and not forward:  # a pullback applies the conjugate transpose
            images = [None if key is None else self._at.emit(CONJ, key) for key in images]
        return basis, images

    def _multiplied(self, column: Key | None, row: Key | None, meta: TensorMeta) -> Key:
        """The sum of products along the first axis of both, of type `meta`."""
        if column is None or row is None:
            return full(self._at, 0, meta)
        left, right = (self.converted(key, meta.dtype) for key in (column, row))
        return self._at.emit(DotGeneral((0,), (0,)), left, right)

    def _concatenated(self, images: Images, image: Metas, count: int) -> Key:
        """Images as rows of one matrix, those of all leaves side by side."""
        dtype = common_dtype(*(meta.dtype for meta in image))
        parts: list[Key] = []
        for key, meta in zip(images, image, strict=True):
            wide = TensorMeta.of(dtype, (count, meta.known_size))
            if key is None:
                parts.append(full(self._at, 0, wide))
            else:
                matrix = self._at.emit(Reshape(shape_of(wide)), key)
                parts.append(self.converted(matrix, dtype))
        return parts[0] if len(parts) == 1 else self._at.emit(Concatenate(1), *parts)

    def _picked(self, flat: Key, places: NumpyArray) -> Key:
        indices = capture(np.ascontiguousarray(places[:, None]))
        return self._at.emit(Gather((), (0,), (0,), 1, (1,)), flat, indices)


def block_meta(y: TensorMeta, x: TensorMeta) -> TensorMeta:
    """The type of the derivative of a result by an argument.

    It has the dtype of the result; by a complex argument it is complex.
    """
    dtype = x.dtype if is_complex(x.dtype) and not is_complex(y.dtype) else y.dtype
    return TensorMeta(dtype, (*y.extents, *x.extents))
