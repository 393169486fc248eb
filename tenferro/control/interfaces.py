"""The parts of the ops that their rules read, so that rules need not import the ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tenferro.exec_ir import ExecProgram
from tenferro.ops import StdTensorOp


class Loop(Protocol):
    """The part of a `Scan` that its rules read."""

    @property
    def body(self) -> ExecProgram:
        """What one round computes."""

    @property
    def consts(self) -> int:
        """Number of values that are the same in all rounds."""

    @property
    def carry(self) -> int:
        """Number of values that go from round to round."""

    @property
    def recompute(self) -> bool:
        """Whether to compute the values of a round again and not to store them."""

    def like(
        self, body: ExecProgram, consts: int, carry: int, backward: bool = False
    ) -> StdTensorOp:
        """A loop of as many rounds; in the other direction if `backward`."""


class Choice(Protocol):
    """The part of a `Switch` that its rules read."""

    @property
    def branches(self) -> tuple[ExecProgram, ...]:
        """The programs."""

    def like(self, branches: Sequence[ExecProgram]) -> StdTensorOp:
        """A choice between as many other programs."""


class ConditionalLoop(Protocol):
    """The part of a `While` that its rules read."""

    @property
    def cond(self) -> ExecProgram:
        """Whether another round runs."""

    @property
    def body(self) -> ExecProgram:
        """What one round computes."""

    @property
    def cond_consts(self) -> int:
        """Number of values that `cond` reads beside the carry."""

    @property
    def body_consts(self) -> int:
        """Number of values that `body` reads beside the carry."""

    @property
    def max_steps(self) -> int | None:
        """The largest number of rounds."""

    def like(self, cond: ExecProgram, body: ExecProgram, body_consts: int) -> StdTensorOp:
        """A loop of as many rounds of another body."""
