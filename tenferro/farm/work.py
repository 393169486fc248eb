"""What a worker does: it reads a job from the store, computes a part and writes it.

A worker keeps the programs and operands of the last jobs, within bounds. It ends after its part if
the process that started it is gone.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tenferro.computegraph import BoundedCache, Capacity
from tenferro.config import config
from tenferro.exec_ir import Array, ExecProgram
from tenferro.farm.job import Job
from tenferro.farm.maker import maker_of, own_version
from tenferro.farm.parent import PARENT
from tenferro.farm.store import JobFolder, Sums
from tenferro.values import Buffer, Executable, Executor, executor_named


def work(folder: str, job: str, part: int, first: int, stop: int) -> int:
    """Compute the rounds from `first` to `stop` of a job and write them as a part; its number.

    Nothing is computed if the part is there, or the job has its result.

    Raises:
        FarmError: the folder does not hold the job, or the job is of another version.
    """
    with PARENT.needed():
        files = JobFolder(folder, job)
        name = part_name(part)
        if files.has(name) or files.has("result"):
            return part
        files.write(name, part_header(job, part, first, stop), _prepared(files).run(first, stop))
        return part


def part_name(part: int) -> str:
    """The file of a part.

    >>> part_name(17)
    'part-000017'
    """
    return f"part-{part:06d}"


def part_header(job: str, part: int, first: int, stop: int) -> dict[str, object]:
    """What a part is, as its file says."""
    return {"kind": "part", "job": job, "part": part, "first": first, "stop": stop}


@dataclass(frozen=True)
class Prepared:
    """A job, ready to compute any of its parts."""

    executor: Executor
    executable: Executable
    operands: tuple[Buffer, ...]
    maker: str
    size: int

    @classmethod
    def of(cls, job: Job) -> Prepared:
        """The job on its executor, with the operands there."""
        executor = executor_named(job.worker)
        operands = tuple([executor.put(array) for array in job.operands])
        executable = executor.compile_exec(job.program)
        size = size_of(job.operands, job.program)
        return cls(executor, executable, operands, maker_of(executor), size)

    def run(self, first: int, stop: int) -> Sums:
        """The sums of some rounds."""
        begun = time.perf_counter()
        rounds = [self.executor.put(np.asarray(number, np.int64)) for number in (first, stop)]
        results = self.executable(*self.operands, *rounds)
        arrays = tuple([self.executor.get(result) for result in results])
        return Sums(arrays, (self.maker,), int((time.perf_counter() - begun) * 1e6))


def size_of(operands: Sequence[Array], program: ExecProgram) -> int:
    """The bytes of operands, and of what ops without operands make."""
    metas = [
        meta
        for part in program.walk()
        for step in part.instructions
        if step.op.source
        for meta in step.output_metas
    ]
    made = sum(math.prod(meta.static_shape or ()) * meta.dtype.itemsize for meta in metas)
    return made + sum(array.nbytes for array in operands)


def measured(prepared: Prepared) -> int:
    """The bytes of a job; one that is too large for the cache fills it, and is kept alone."""
    most = PREPARED.capacity.size
    return prepared.size if most is None else min(prepared.size, most)


PREPARED: BoundedCache[tuple[str, str], Prepared] = BoundedCache(
    Capacity(4, config.cache_bytes), measured
)
"""The last jobs of this process, by folder and name."""

_preparing = threading.Lock()


def _prepared(files: JobFolder) -> Prepared:
    """The job of a folder; read and compiled once, also if several threads work on it."""
    with _preparing:
        return PREPARED.get_or_make(
            (files.store, files.digest), lambda: Prepared.of(files.read_job(own_version()))
        )
