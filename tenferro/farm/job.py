"""A job: the loop of a sliced network on arrays, cut into parts, and the digest that names it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tenferro.errors import FarmError
from tenferro.exec_ir import Array, ExecProgram
from tenferro.farm.parts import part_count, round_work
from tenferro.files import Json, array_digests, canonical
from tenferro.network import lane_bounds
from tenferro.shape import DType

FORMAT = "tenferro-farm"
VERSION = 2


@dataclass(frozen=True, eq=False)
class Job:
    """What a farm computes: the sums over all rounds of a loop, in parts.

    Attributes:
        program: the sums of some rounds; it takes the operands, the first round and the stop.
        total: the number of rounds.
        operands: the arrays.
        digests: element type, shape and SHA-256 of each operand, as JSON.
        parts: how many parts there are.
        worker: the name of the executor that computes them.
    """

    program: ExecProgram
    total: int
    operands: tuple[Array, ...]
    digests: list[Json]
    parts: int
    worker: str

    @classmethod
    def of(cls, part: ExecProgram, inputs: Sequence[Array], parts: int | None, worker: str) -> Job:
        """The job of a `FarmLoop` on its inputs, with as many parts as are asked for, or fit."""
        *operands, rounds = inputs
        total = int(rounds)
        count = part_count(total, total * round_work(part), parts)
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
        """The first round of a part, and the one after its last."""
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
        return hashlib.sha256(canonical(self.description)).hexdigest()


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
