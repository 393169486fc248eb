"""A job: a sliced network on arrays, cut into parts, and the digest that names it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tenferro.computegraph import BoundedCache, Capacity
from tenferro.errors import FarmError
from tenferro.exec_ir import Array, ExecProgram
from tenferro.families import SlicedNetwork
from tenferro.family import Extension
from tenferro.farm.parts import part_count, part_program, round_work
from tenferro.files import array_digests, canonical, write_family_op
from tenferro.network import lane_bounds
from tenferro.shape import DType, TensorMeta, make_meta

FORMAT = "tenferro-farm"
VERSION = 1


PROGRAMS: BoundedCache[tuple[SlicedNetwork, tuple[TensorMeta, ...]], ExecProgram] = BoundedCache(
    Capacity(64)
)
"""The programs of parts, by network and types of its operands: jobs in a loop have the same."""


@dataclass(frozen=True, eq=False)
class Job:
    """What a farm computes: the sums of all rounds of a sliced network, in parts.

    Attributes:
        op: the network.
        operands: its arrays.
        parts: how many parts there are.
        worker: the name of the executor that computes them.
    """

    op: SlicedNetwork
    operands: tuple[Array, ...]
    parts: int
    worker: str

    @classmethod
    def of(
        cls, op: SlicedNetwork, operands: Sequence[Array], parts: int | None, worker: str
    ) -> Job:
        """The job of a network on these operands, with as many parts as are asked for, or fit."""
        whole = cls(op, tuple(operands), 1, worker)
        work = 0 if parts is not None or not whole.total else round_work(whole.program)
        return cls(op, whole.operands, part_count(whole.total, whole.total * work, parts), worker)

    @property
    def metas(self) -> list[TensorMeta]:
        """The types of the operands."""
        return [make_meta(array.dtype, array.shape) for array in self.operands]

    @cached_property
    def outputs(self) -> list[tuple[DType, tuple[int, ...]]]:
        """Element type and shape of each result."""
        metas = Extension(self.op).infer_all(self.metas)
        return [(meta.dtype, meta.static_shape or ()) for meta in metas]

    @cached_property
    def total(self) -> int:
        """The number of rounds."""
        return math.prod(self.op.counts([array.shape for array in self.operands]))

    @cached_property
    def program(self) -> ExecProgram:
        """The program of any part."""
        metas = tuple(self.metas)
        return PROGRAMS.get_or_make((self.op, metas), lambda: part_program(self.op, metas))

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
            "op": write_family_op(self.op),
            "operands": array_digests(self.operands),
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
