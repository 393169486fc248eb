"""A job: a loop on arrays cut into parts, its digest and provenance."""

from __future__ import annotations

import functools
import hashlib
import math
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from pathlib import Path

from tenferro.errors import FarmError
from tenferro.ir import DType, ExecProgram, NumpyArray
from tenferro.ops.control_flow import While, lane_bounds
from tenferro.runtime import Executor
from tenferro.serialization import Json, array_digests, canonical_json

# Parts: how many a job has.

FEWEST, MOST = 16, 4096
WORK = 1e11
"""The operations of a part, which take one core about ten seconds."""


def part_count(total: int, work: float, parts: int | None = None) -> int:
    """How many parts `total` iterations with so many operations in all make.

    Args:
        total: the iterations.
        work: predicted operations of all iterations.
        parts: the number that a user asks for; None chooses parts of about ten seconds. It never
            depends on who does the work, so that a job has the same parts everywhere.

    >>> part_count(10**6, 2e13), part_count(10**6, 1.0), part_count(5, 1.0), part_count(64, 0, 4)
    (200, 16, 5, 4)
    """
    wanted = min(max(round(work / WORK), FEWEST), MOST) if parts is None else parts
    return min(wanted, total)


def iteration_work(program: ExecProgram) -> int:
    """About how many operations one iteration of a part's program takes."""
    return sum(op.body.work() for op in program.ops_of(While))


# A job: the loop of a sliced network on arrays, cut into parts, and the digest that names it.

FORMAT = "tenferro-farm"
VERSION = 2


@dataclass(frozen=True, eq=False)
class Job:
    """What a farm computes: the sums over all iterations of a loop, in parts.

    Attributes:
        program: the sums of some iterations; it takes the operands, the first one and the stop.
        total: the number of iterations.
        operands: the arrays.
        digests: element type, shape and SHA-256 of each operand, as JSON.
        parts: how many parts there are.
        worker: the name of the executor that computes them.
    """

    program: ExecProgram
    total: int
    operands: tuple[NumpyArray, ...]
    digests: list[Json]
    parts: int
    worker: str

    @classmethod
    def of(
        cls, part: ExecProgram, inputs: Sequence[NumpyArray], parts: int | None, worker: str
    ) -> Job:
        """The job of a `FarmLoop` on its inputs, with as many parts as are asked for, or fit."""
        *operands, iterations = inputs
        total = int(iterations)
        count = part_count(total, total * iteration_work(part), parts)
        return cls(part, total, tuple(operands), array_digests(operands), count, worker)

    @cached_property
    def outputs(self) -> list[tuple[DType, tuple[int, ...]]]:
        """Element type and shape of each result."""
        return [(meta.dtype, meta.static_shape or ()) for meta in self.program.output_metas]

    @property
    def bytes(self) -> int:
        """The bytes of the results, which are those of one part."""
        return sum(dtype.itemsize * math.prod(shape) for dtype, shape in self.outputs)

    def bounds(self, part: int) -> tuple[int, int]:
        """The first iteration of a part, and the one after its last."""
        return lane_bounds(part, self.parts, self.total)

    @cached_property
    def description(self) -> dict[str, object]:
        """What tells the job from others, as JSON."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "program": self.program.digest,
            "operands": self.digests,
            "total": self.total,
            "parts": self.parts,
            "worker": self.worker,
        }

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the description: equal jobs have the same in every process."""
        return hashlib.sha256(canonical_json(self.description)).hexdigest()


def in_short(digest: str) -> str:
    """A digest as reports and errors show it.

    >>> in_short("43a0c5ffee")
    '43a0c5ff…'
    """
    return f"{digest[:8]}…"


def wrong_version(worker: str, job: str) -> FarmError:
    """The error of a worker that has another version than the job's."""
    return FarmError(
        f"farm: worker has tenferro {worker}, the job is of {job}; install the same version on all "
        "machines"
    )


# What computes a part: versions and device, on which its last bits may depend.


@functools.cache
def own_version() -> str:
    """The version of tenferro."""
    return version_of("tenferro")


def maker_of(executor: Executor) -> str:
    """What an executor computes with, as one line: its library, its device and the processor.

    >>> from tenferro.runtime import executor_named
    >>> maker_of(executor_named("numpy")).partition(" on ")[0]
    'numpy 2...'
    """
    device = getattr(executor, "device", None)
    library = "numpy" if device is None else type(device).__module__.partition(".")[0]
    try:
        version = version_of(library)
    except PackageNotFoundError:
        version = "?"
    kind = getattr(device, "device_kind", "host")
    return f"{library} {version} on {kind} ({_processor()})"


@functools.cache
def _processor() -> str:
    """The model of the processor, where the system tells; else its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
