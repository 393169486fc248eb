"""Which sizes of a program share an executable without being asked to."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tenferro.compiler import Buckets, Rounding
from tenferro.computegraph import BoundedCache, Capacity
from tenferro.errors import TenferroError
from tenferro.exec_ir import ExecProgram
from tenferro.shape import Leaf, SymDim

EXACT = 4
"""A program is compiled for each of its first so many sizes; further ones are rounded up."""
OPERATION = 1e-9
"""Seconds of an operation, about."""
CALLS = 100
"""Calls whose work on padding, together, may take as long as to compile for the exact size."""
STEPS = (1, 8)
"""Steps from a power of two to the next, coarsest first; the first that costs little is taken."""
LEAST = 4
"""A shared program has at least so many instructions for each array that is padded or cut."""
KEPT = 4096


def buckets_of(
    bucketing: Mapping[str, Rounding] | Literal["auto"] | None, may_choose: bool
) -> Buckets | None:
    """The buckets that a user asks for; None to choose them. On a mesh parts have exact sizes."""
    if bucketing == "auto":
        return None if may_choose else Buckets({})
    return Buckets({} if bucketing is None else bucketing)


@dataclass
class Known:
    """What is known of a program: the sizes it was compiled for, and those that no padding fits."""

    exact: int = 0
    refused: set[str] = field(default_factory=set)


class SizeSharing:
    """Rounds sizes up where a program has been compiled for several, and padding costs little.

    What it chooses follows from the program and the order of its sizes, not from a clock.

    Args:
        kernel_seconds: about how long compiling takes for each instruction.
    """

    def __init__(self, kernel_seconds: float) -> None:
        self._kernel_seconds = kernel_seconds
        self._lock = threading.Lock()
        self._known: BoundedCache[str, Known] = BoundedCache(Capacity(KEPT))

    def sizes(
        self, program: ExecProgram, digest: str, sizes: Mapping[Leaf, int]
    ) -> dict[Leaf, int] | None:
        """The sizes to compile for, those that may be rounded up; None for the exact ones."""
        with self._lock:
            known = self._known.get_or_make(digest, Known)
            free: dict[Leaf, int] = {
                leaf: size
                for leaf, size in sizes.items()
                if isinstance(leaf, SymDim) and leaf.name not in known.refused and size > 0
            }
            if free and known.exact >= EXACT and _mostly_inside(program, free):
                most = program.bind(dict(sizes)).work() + self._granted(program)
                for larger in _rounded(free):
                    if _work(program, {**sizes, **larger}) <= most:
                        return larger
            known.exact += 1
            return None

    def refuse(self, digest: str, symbol: str) -> None:
        """Note that a size cannot be rounded up in a program."""
        with self._lock:
            self._known.get_or_make(digest, Known).refused.add(symbol)

    def clear(self) -> None:
        """Forget all programs."""
        self._known.clear()

    def _granted(self, program: ExecProgram) -> float:
        """The operations on padding in a call that cost little beside compiling for its sizes."""
        return len(program.instructions) * self._kernel_seconds / (OPERATION * CALLS)


def _rounded(sizes: Mapping[Leaf, int]) -> Iterator[dict[Leaf, int]]:
    """The sizes rounded up, in steps that get finer."""
    for steps in STEPS:
        yield {leaf: _up(size, steps) for leaf, size in sizes.items()}


def _up(size: int, steps: int) -> int:
    """The least size not below `size` of those that divide each octave into equal steps."""
    octave = (1 << (size - 1).bit_length()) // 2
    step = max(1, octave // steps)
    return -(-size // step) * step


def _work(program: ExecProgram, sizes: Mapping[Leaf, int]) -> float:
    """The operations for these sizes; infinitely many if the program does not allow them."""
    try:
        return program.bind(dict(sizes)).work()
    except TenferroError:
        return math.inf


def _mostly_inside(program: ExecProgram, sizes: Mapping[Leaf, int]) -> bool:
    """Whether a program computes much beside padding its inputs and cutting its outputs."""
    metas = (*program.input_metas, *program.output_metas)
    touched = sum(not meta.symbols().isdisjoint(sizes) for meta in metas)
    return len(program.instructions) >= LEAST * touched


SizesKey = tuple[tuple[str, int], ...]
"""Names of symbols, in order, and their sizes."""


def sizes_key(sizes: Mapping[Any, int]) -> SizesKey:
    """Sizes as part of a key: the names of the symbols in order."""
    return tuple(sorted((str(leaf), size) for leaf, size in sizes.items()))


def sizes_text(sizes: Mapping[Leaf, int]) -> str:
    """Sizes as text, for errors."""
    return ", ".join(f"{name} = {size}" for name, size in sizes_key(sizes)) or "no symbols"
