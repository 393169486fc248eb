"""A sum of padded pieces becomes one concatenation."""

from __future__ import annotations

import heapq
import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from tenferro.compiler.passes import Needs, Pass
from tenferro.ir import Dim, ExecInstruction, ExecProgram, Rewriter, TensorMeta
from tenferro.ops import (
    ADD,
    Add,
    Analytic,
    Concatenate,
    Constant,
    DynamicUpdateSlice,
    Pad,
    full,
    uniform,
)

__all__ = ["PadsToConcatenate"]


@dataclass(frozen=True)
class PadsToConcatenate(Pass):
    """A sum of arrays that are zero but for a window becomes a concatenation of the windows.

    The gradient of a Python loop that reads `x[i]` is such a sum: each term is as large as `x`, so
    that n terms take n² memory. Windows may lie along any axis, or along several. Equal windows are
    added first. Windows that overlap go into as few concatenations as keep them apart, which are
    added. Windows with elements between others, and paddings that cut off elements, stay.

    Two windows suffice if they cover the array and hold functions of elements, such as `tanh`: a
    compiler decides for each element of a sum of paddings which one it lies in, and computes such
    functions one element after the other then.

    Attributes:
        least: the least number of windows of other sums.
    """

    least: int = 4

    looks_for = (
        Pad,
        DynamicUpdateSlice,
    )
    needs = Needs.EXACT_EXTENTS

    def run(self, program: ExecProgram) -> ExecProgram:
        """The program with such sums joined; the paddings are left to `DeadCode`."""
        inner, roots = _sums(program)
        if not roots:
            return program
        rewriter, makers = Rewriter(program), program.makers()
        reads = program.read_counts()

        def rule(step: ExecInstruction, operands: tuple[int, ...]) -> int | None:
            if step.output_slots[0] not in roots:
                return None
            terms = list(_terms(step, makers, inner))
            windows = [_window(rewriter, slot) if reads[slot] == 1 else None for slot in terms]
            pieces = [window for window in windows if window is not None]
            rest = [slot for slot, window in zip(terms, windows, strict=True) if window is None]
            if len(pieces) >= self.least:
                joined = self._joined(rewriter, pieces)
                if len(pieces) - len(joined) < self.least - 1:
                    return None
            elif _cover(pieces, step.output_metas[0]) and _hold_functions(rewriter, pieces):
                joined = self._joined(rewriter, pieces)
                if len(joined) > 1:
                    return None
            else:
                return None
            values = [*rewriter.now(rest), *[_padded(rewriter, piece) for piece in joined]]
            return reduce(lambda left, right: rewriter.emit_all(ADD, left, right)[0], values)

        return rewriter.run(rule)

    def _joined(self, at: Rewriter, windows: list[_Window]) -> list[_Window]:
        """Fewer windows with the same sum."""
        for axis in reversed(range(len(windows[0].low))):
            groups: dict[Hashable, list[_Window]] = {}
            for window in windows:
                groups.setdefault(window.off(axis), []).append(window)
            windows = [
                joined
                for group in groups.values()
                for layer in _layers(at, group, axis)
                for joined in _concatenated(at, layer, axis)
            ]
        return windows


@dataclass(frozen=True, slots=True)
class _Window:
    """A padding by zeros.

    Attributes:
        value: the slot of the elements.
        sizes: their numbers along each axis.
        low, high, interior: as in `Pad`.
        zero: the slot of the padding value.
    """

    value: int
    sizes: tuple[Dim, ...]
    low: tuple[Dim, ...]
    high: tuple[Dim, ...]
    interior: tuple[int, ...]
    zero: int

    def off(self, axis: int) -> Hashable:
        """What windows must share to be joined along an axis; its own if it cannot be joined."""
        if not self.has_place(axis):
            return self.value, self.low
        return tuple(
            [
                (size, low, high, between)
                for other, (size, low, high, between) in enumerate(
                    zip(self.sizes, self.low, self.high, self.interior, strict=True)
                )
                if other != axis
            ]
        )

    def has_place(self, axis: int) -> bool:
        """Whether it is known where the window lies along an axis, and it has no holes there."""
        return (
            isinstance(self.sizes[axis], int)
            and isinstance(self.low[axis], int)
            and self.interior[axis] == 0
        )

    def start(self, axis: int) -> int:
        """Where the window starts along an axis."""
        low = self.low[axis]
        assert isinstance(low, int)
        return low

    def stop(self, axis: int) -> int:
        """Where the window ends along an axis."""
        size = self.sizes[axis]
        assert isinstance(size, int)
        return self.start(axis) + size


def _sums(program: ExecProgram) -> tuple[set[int], set[int]]:
    """The sums that only another sum reads, and all others."""
    reads, sums = program.read_counts(), program.steps_of(Add)
    made = {step.output_slots[0] for step in sums}
    terms = {slot for step in sums for slot in step.input_slots}
    inner = {slot for slot in made & terms if reads[slot] == 1}
    return inner, made - inner


def _terms(
    root: ExecInstruction, makers: dict[int, ExecInstruction], inner: set[int]
) -> Iterator[int]:
    """The terms of a sum of sums, from left to right."""
    stack = list(reversed(root.input_slots))
    while stack:
        slot = stack.pop()
        if slot in inner:
            stack += reversed(makers[slot].input_slots)
        else:
            yield slot


def _window(at: Rewriter, old: int) -> _Window | None:
    """The window outside of which a value is zero, or None."""
    (slot,) = at.now((old,))
    producer = at.producer(slot)
    if producer is None:
        return None
    op, operands = producer
    if isinstance(op, Pad):
        sizes = at.ctx.meta(operands[0]).dims
        if sizes is None or not _is_zero(at, operands[1]) or not _only_adds(op):
            return None
        return _Window(operands[0], sizes, op.low, op.high, op.interior, operands[1])
    return _updated(at, operands) if isinstance(op, DynamicUpdateSlice) else None


def _updated(at: Rewriter, operands: Sequence[int]) -> _Window | None:
    """The window of zeros that is replaced, if it is known where it starts."""
    x, value, *starts = operands
    number = uniform(at, x)
    whole, sizes = at.ctx.meta(x).static_shape, at.ctx.meta(value).static_shape
    if number is None or number.any() or not whole or sizes is None:
        return None
    places = [_number(at, start) for start in starts]
    if any(place is None for place in places):
        return None
    low = [
        min(max(place or 0, 0), total - size)
        for place, total, size in zip(places, whole, sizes, strict=True)
    ]
    producer = at.producer(x)
    assert producer is not None, "a uniform array repeats a number"
    (zero,) = producer[1]
    high = [total - size - start for total, size, start in zip(whole, sizes, low, strict=True)]
    return _Window(value, sizes, tuple(low), tuple(high), (0,) * len(low), zero)


def _only_adds(op: Pad) -> bool:
    """Whether the padding cuts nothing off, as far as that is known."""
    return all(not isinstance(size, int) or size >= 0 for size in (*op.low, *op.high))


def _number(at: Rewriter, slot: int) -> int | None:
    """The integer that a slot holds, if it is known."""
    producer = at.producer(slot)
    if producer is None or not isinstance(producer[0], Constant):
        return None
    return int(producer[0].numpy())


def _is_zero(at: Rewriter, slot: int) -> bool:
    producer = at.producer(slot)
    return (
        producer is not None and isinstance(producer[0], Constant) and not producer[0].numpy().any()
    )


def _layers(at: Rewriter, windows: list[_Window], axis: int) -> Iterator[list[_Window]]:
    """The windows in as few lists as possible in which none overlap; each list is sorted.

    Windows at the same place are added first.
    """
    if len(windows) == 1 or not windows[0].has_place(axis):
        yield from ([window] for window in windows)
        return
    layers: list[list[_Window]] = []
    ends: list[tuple[int, int]] = []  # a heap: where each layer ends, and its number
    for window in _different(at, windows, axis):
        if ends and ends[0][0] <= window.start(axis):
            _, number = heapq.heappop(ends)
        else:
            number = len(layers)
            layers.append([])
        layers[number].append(window)
        heapq.heappush(ends, (window.stop(axis), number))
    yield from layers


def _different(at: Rewriter, windows: Iterable[_Window], axis: int) -> list[_Window]:
    """The windows in the order of their places, with those at the same place added."""
    places: dict[tuple[int, int], _Window] = {}
    for window in windows:
        place = window.start(axis), window.stop(axis)
        other = places.get(place)
        if other is not None:
            (total,) = at.emit_all(ADD, other.value, window.value)
            window = replace(other, value=total)
        places[place] = window
    return [places[place] for place in sorted(places)]


def _concatenated(at: Rewriter, windows: list[_Window], axis: int) -> Iterator[_Window]:
    """Windows that do not overlap, as one window."""
    first, last = windows[0], windows[-1]
    if len(windows) == 1:
        yield first
        return
    places = [window.start(axis) for window in windows]
    gap = places[1] - places[0]
    single = all(window.sizes[axis] == 1 for window in windows)
    if single and gap > 1 and places == list(range(places[0], places[-1] + 1, gap)):
        values, between = [window.value for window in windows], gap - 1
    else:
        values, between = list(_filled(at, windows, axis)), 0
    (joined,) = at.emit_all(Concatenate(axis), *values)
    yield replace(
        first,
        value=joined,
        sizes=at.ctx.meta(joined).exact_shape(),
        high=_with(first.high, axis, last.high[axis]),
        interior=tuple(_with(first.interior, axis, between)),  # type: ignore[arg-type]  # integers
    )


def _cover(windows: Sequence[_Window], whole: TensorMeta) -> bool:
    """Whether several windows have as many elements as the array, and no holes."""
    if len(windows) < 2 or whole.static_shape is None:
        return False
    if not all(window.has_place(axis) for window in windows for axis in range(whole.rank)):
        return False
    numbers = [math.prod(size for size in window.sizes) for window in windows]
    return sum(numbers) == whole.known_size


def _hold_functions(at: Rewriter, windows: Sequence[_Window]) -> bool:
    """Whether an analytic function is among the last ops by elements that compute the windows."""
    stack, left = [window.value for window in windows], FEW
    while stack and left:
        left -= 1
        producer = at.producer(stack.pop())
        if producer is None or not producer[0].pointwise:
            continue
        if isinstance(producer[0], Analytic):
            return True
        stack += producer[1]
    return False


FEW = 64
"""Ops that are looked at for an analytic function."""


def _filled(at: Rewriter, windows: list[_Window], axis: int) -> Iterator[int]:
    """The values of windows in their order, with zeros between those that leave a gap."""
    meta, stop = at.ctx.meta(windows[0].value), windows[0].start(axis)
    zeros: dict[int, int] = {}
    for window in windows:
        gap = window.start(axis) - stop
        if gap and gap not in zeros:
            shape = _with(windows[0].sizes, axis, gap)
            zeros[gap] = full(at, 0, TensorMeta.of(meta.dtype, shape))
        if gap:
            yield zeros[gap]
        yield window.value
        stop = window.stop(axis)


def _with(sizes: Sequence[Dim], axis: int, size: Dim) -> tuple[Dim, ...]:
    return (*sizes[:axis], size, *sizes[axis + 1 :])


def _padded(at: Rewriter, window: _Window) -> int:
    """The window with its padding."""
    op = Pad(window.low, window.high, window.interior)
    return at.emit(op, window.value, window.zero)
