"""Reports of what an executor has compiled, and why."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from tenferro.compiler import BACKGROUND, structure
from tenferro.core import BoundedCache, CacheStats, Capacity
from tenferro.ir import ExecProgram
from tenferro.logs import logger

__all__ = ["Change", "CompileEvent", "CompileReport", "Subject"]

_LOG = logger("compile")


Cause = Literal["first", "sizes", "types", "donation", "places", "dropped"]
Part = Literal["program", "bucket", "segment", "op"]

MOST_EVENTS = 256
MOST_SUBJECTS = 3 * 4096  # by key, by program, and by the ops of the program


@dataclass(frozen=True, slots=True)
class Subject:
    """What is compiled.

    Attributes:
        digest: of the program, before symbols are bound.
        skeleton: a digest without sizes; programs that are traced at several sizes share it.
        part: whether it is a whole program, one for sizes up to those given, a segment of a
            program, or one op.
        label: its name in reports.
        sizes: the symbols and their sizes.
        inputs: the types of the inputs.
        donated: the inputs whose buffers it may overwrite.
        places: the outputs that are written where earlier results were.
        structure: what it has of loops and branches, line by line.
    """

    digest: str
    skeleton: str
    part: Part
    label: str
    sizes: tuple[tuple[str, int], ...]
    inputs: tuple[str, ...]
    donated: tuple[int, ...]
    places: tuple[int, ...] = ()
    structure: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """The key of the executable."""
        return self.digest, self.sizes, self.inputs, self.donated, self.places


@dataclass(frozen=True, slots=True)
class Change:
    """A difference from the last time that the program was compiled."""

    what: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.what} from {self.before} to {self.after}"


@dataclass(frozen=True, slots=True)
class CompileEvent:
    """One compilation by XLA.

    Attributes:
        number: counted from 1, over the life of the executor.
        subject: what was compiled.
        cause: why: it is new (`first`); a symbol was bound to another size (`sizes`); the same ops
            were traced for other types, or a segment ran on them (`types`); other inputs were
            donated (`donation`); its large results are written where earlier ones were (`places`);
            the cache had evicted it (`dropped`).
        changes: what changed since the program was compiled before.
        seconds: how long lowering and compiling took.
        in_background: whether NumPy answered calls meanwhile; see `tn.jit(tiers=True)`.
        from_disk: whether it was read from the folder of `tn.cache`.
    """

    number: int
    subject: Subject
    cause: Cause
    changes: tuple[Change, ...]
    seconds: float
    in_background: bool = False
    from_disk: bool = False

    def __str__(self) -> str:
        types = ", ".join(self.subject.inputs)
        relation = "up to" if self.subject.part == "bucket" else "="
        sizes = "".join(f", {name} {relation} {size}" for name, size in self.subject.sizes)
        text = f"#{self.number} {self.seconds:.3f} s  {self.subject.label}({types}){sizes}: "
        text += self._reason()
        text += ", read from disk" if self.from_disk else ""
        text += "; meanwhile numpy answered" if self.in_background else ""
        return "\n    ".join([text, *self.subject.structure])

    def _reason(self) -> str:
        changed = "; ".join(map(str, self.changes))
        match self.cause:
            case "first":
                return "first time"
            case "sizes":
                return changed
            case "types":
                return f"{changed}, in the same ops"
            case "donation":
                return f"{changed}, to be overwritten"
            case "places":
                return "large results are written where earlier ones were"
            case "dropped":
                return "compiled before, but no longer in the cache"


@dataclass(frozen=True, slots=True)
class CompileReport:
    """What `XlaExecutor.explain` returns; its text is a table of it.

    Attributes:
        executor: the text of the executor.
        compiled: number of compilations by XLA.
        recompiled: number of compilations of a program that had been compiled before, with other
            sizes, types or donations, or that the cache had evicted.
        seconds: the time that all compilations took together.
        events: the latest compilations, in order.
        stats: of the cache of executables, with its evictions.
        capacity: its bounds.
    """

    executor: str
    compiled: int
    recompiled: int
    seconds: float
    events: tuple[CompileEvent, ...]
    stats: CacheStats
    capacity: Capacity

    def __str__(self) -> str:
        lines = [
            f"{self.executor}: compiled {self.compiled} times in {self.seconds:.3f} s, "
            f"{self.recompiled} of them again",
            f"  executables: {self.stats.entries} held of at most {self.capacity.entries}, "
            f"found {self.stats.hits} times, {self.stats.evictions} evicted",
        ]
        earlier = self.compiled - len(self.events)
        if earlier:
            lines.append(f"  the first {earlier} are no longer listed")
        lines += [f"  {event}" for event in self.events]
        if any(event.cause == "types" and event.subject.part == "program" for event in self.events):
            lines.append(
                "  hint: programs with the same ops were traced for several sizes; with names for "
                "sizes, jit(symbolic=...) or TensorSpec, one is traced for all"
            )
        return "\n".join(lines)


class CompileLog:
    """Records compilations and why each was needed; of bounded size."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: deque[CompileEvent] = deque(maxlen=MOST_EVENTS)
        self._count = 0
        self._again = 0
        self._seconds = 0.0
        self._latest: BoundedCache[Hashable, list[Subject]] = BoundedCache(Capacity(MOST_SUBJECTS))

    def record(self, subject: Subject, seconds: float, from_disk: bool = False) -> CompileEvent:
        """Add a compilation that has just happened."""
        with self._lock:
            cause, changes = self._cause(subject)
            self._count += 1
            if cause != "first":
                self._again += 1
            self._seconds += seconds
            event = CompileEvent(
                self._count, subject, cause, changes, seconds, BACKGROUND.is_here, from_disk
            )
            self._events.append(event)
            for key in (subject.key, subject.digest, subject.skeleton):
                self._latest.put(key, [subject])[0] = subject
        _LOG.info("%s", event)
        return event

    def report(self, executor: str, stats: CacheStats, capacity: Capacity) -> CompileReport:
        """The report of all recorded compilations."""
        with self._lock:
            return CompileReport(
                executor,
                self._count,
                self._again,
                self._seconds,
                tuple(self._events),
                stats,
                capacity,
            )

    def _cause(self, subject: Subject) -> tuple[Cause, tuple[Change, ...]]:
        if subject.places:
            return "places", ()
        if self._latest.get(subject.key):
            return "dropped", ()
        same_program = self._latest.get(subject.digest)
        before = same_program or self._latest.get(subject.skeleton)
        if before is None:
            return "first", ()
        sizes = _changes(before[0].sizes, subject.sizes) if same_program else ()
        if sizes:
            return "sizes", sizes
        types = _changes(_numbered(before[0].inputs), _numbered(subject.inputs))
        if types:
            return "types", types
        if same_program:
            donated = (str(before[0].donated), str(subject.donated))
            return "donation", (Change("inputs", *donated),)
        return "first", ()


def subject_of(
    program: ExecProgram,
    digest: str,
    sizes: tuple[tuple[str, int], ...] = (),
    donated: tuple[int, ...] = (),
    part: Part = "program",
    places: tuple[int, ...] = (),
) -> Subject:
    """The subject for a program of constant sizes; `digest` is the program's before binding."""
    sha = hashlib.sha256()
    for step in program.instructions:
        sha.update(f"{step.op.name}{step.input_slots}{step.output_slots};".encode())
    sha.update(f"{program.input_slots}{program.output_slots}".encode())
    label = (
        program.instructions[0].op.name
        if part == "op" and program.instructions
        else f"{part} {digest[:8]}"
    )
    inputs = tuple(str(meta) for meta in program.input_metas)
    skeleton = sha.hexdigest()
    return Subject(
        digest, skeleton, part, label, sizes, inputs, donated, places, structure(program)
    )


def _numbered(types: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple((f"input {position}", text) for position, text in enumerate(types))


def _changes(
    before: Sequence[tuple[str, object]], after: Sequence[tuple[str, object]]
) -> tuple[Change, ...]:
    old = dict(before)
    return tuple(
        Change(name, str(old[name]), str(value))
        for name, value in after
        if name in old and old[name] != value
    )


# A compilation that takes long says so, once.

SECONDS = 5.0
"""How long a compilation is silent."""


@contextmanager
def announced(program: ExecProgram, seconds: float | None = None) -> Iterator[None]:
    """Log a warning if what is compiled here takes longer than `SECONDS`.

    `TENFERRO_QUIET=1` turns it off. No thread is left behind.
    """
    if not _LOG.isEnabledFor(logging.WARNING):
        yield
        return
    timer = threading.Timer(SECONDS if seconds is None else seconds, _say, [program])
    timer.daemon = True
    try:
        timer.start()  # an interrupt may come while it waits for the thread
        yield
    finally:
        timer.cancel()
        if timer.ident is not None:
            timer.join()


MANY = 100
"""Instructions from which repeated code may be the reason."""


def _say(program: ExecProgram) -> None:
    count = sum(len(part.instructions) for part in program.walk())
    advice = ""
    if count >= MANY:
        advice = "A loop (tn.scan, tn.fori_loop) in place of repeated code compiles faster; "
    _LOG.warning(
        "XLA is still compiling a program of %d instruction%s. %s"
        'executor="numpy" does not compile. TENFERRO_QUIET=1 hides this.',
        *(count, "" if count == 1 else "s", advice),
    )
