"""The vocabulary in which ops state facts about themselves; see `ExecOp`."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Protocol

from tenferro.errors import PadSafetyError
from tenferro.exec_ir.payloads import Array
from tenferro.shape import Leaf, TensorMeta

Order = tuple[int, ...]
"""For each place in memory, outermost first, the axis of the value that lies there."""

AxisMap = tuple[tuple[int | None, ...], ...]
"""For each operand and each of its axes, the axis of the result that it becomes; None if it does
not appear in the result."""


class Conjugation(enum.Enum):
    """The result of an op on the complex conjugates of its operands."""

    UNKNOWN = "nothing is known"
    EXACT = "the conjugate of its result"
    ZERO_SIGNS = "the conjugate of its result, up to the signs of zeros"
    SAME = "its result"
    NEGATED = "the negative of its result"


class MaskSite(Protocol):
    """What `ExecOp.masked` sees: one instruction of a program whose sizes are rounded up.

    An axis whose size is rounded up holds, after its true elements, elements without a meaning: its
    *padding*.
    """

    @property
    def rounded(self) -> frozenset[Leaf]:
        """The sizes that are rounded up."""

    @property
    def operand_metas(self) -> Sequence[TensorMeta]:
        """Types of the operands."""

    @property
    def result_metas(self) -> Sequence[TensorMeta]:
        """Types of the results."""

    def padded(self, operand: int) -> Mapping[int, Leaf]:
        """The axes of an operand that have padding, and their true sizes."""

    def padded_axes(self, meta: TensorMeta) -> Mapping[int, Leaf]:
        """The axes of a type that have padding, and their true sizes."""

    def has_zeros(self, operand: int) -> bool:
        """Whether all padding of an operand is known to be zero."""

    def operand(self, position: int) -> int:
        """An operand, padding included."""

    def filled(self, position: int, fill: Array) -> int:
        """An operand whose padding is replaced by the rank-0 array `fill`."""

    def zeroed(self, position: int) -> int:
        """An operand whose padding is zero."""

    def true_size(self, leaf: Leaf) -> int:
        """The true size, as a rank-0 int64."""

    def keep(self, *operands: int, zeros: bool = False) -> None:
        """Write the op on these operands; `zeros` if the padding of its results is zero."""

    def define(self, *results: int, zeros: bool = False) -> None:
        """Let these values be the results."""

    def refuse(self, reason: str, leaf: Leaf | None = None) -> PadSafetyError:
        """The error, which names the op and the size; the default is a size of the instruction."""
