"""A bound on the memory maps that executables hold.

XLA on the CPU keeps the code of each executable in maps of its own, and Linux gives a process a
limited number of them. Beyond that, XLA fails, and so does whatever else asks for memory.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from pathlib import Path
from typing import Protocol

PART = 0.5
"""The part of the limit that is used."""
MOST = 256
"""How many maps an executable is thought to hold at most."""


class Droppable(Protocol):
    """An executable that can be dropped, and is compiled again when it is called."""

    def drop(self) -> None:
        """Let go of the code."""


class MemoryMaps:
    """The executables of a process, in the order in which they were made."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._maps, self._bound = proc / "self" / "maps", proc / "sys" / "vm" / "max_map_count"
        self._lock = threading.Lock()
        self._made: deque[weakref.ref[Droppable]] = deque()
        self._until_count = 0

    def add(self, executable: Droppable) -> None:
        """Note an executable; the older half of all is dropped if too many maps are in use."""
        dropped: list[weakref.ref[Droppable]] = []
        with self._lock:
            self._made.append(weakref.ref(executable))
            self._until_count -= 1
            if self._until_count <= 0:
                left = self._left()
                self._made = deque(each for each in self._made if each() is not None)
                if left < 0:
                    dropped = [self._made.popleft() for _ in range(len(self._made) // 2)]
                self._until_count = max(16, left // MOST)
        for reference in dropped:
            oldest = reference()
            if oldest is not None:
                oldest.drop()

    def _left(self) -> int:
        """How many maps may be made before executables are dropped."""
        try:
            bound = int(self._bound.read_text())
            with self._maps.open("rb") as file:
                return int(PART * bound) - sum(1 for _ in file)
        except (OSError, ValueError):  # not Linux
            return 1 << 30


MEMORY_MAPS = MemoryMaps()
