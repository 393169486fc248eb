"""The parts of the ops that their rules read, so that rules need not import the ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Self

from tenferro.chainrules import PrimitiveOp
from tenferro.exec_ir import ExecProgram, Sizes
from tenferro.ops import StdTensorOp
from tenferro.shape import Dim, TensorMeta


class Loop(PrimitiveOp, Protocol):
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
    def length(self) -> Dim:
        """Number of rounds."""

    @property
    def checkpoints(self) -> int:
        """On how many levels derivatives store the carry and compute the rest again; 0 for none."""

    @property
    def reverse(self) -> bool:
        """Whether the rounds go from the last entry to the first."""

    @property
    def operand_metas(self) -> Sequence[TensorMeta]:
        """The types of the operands."""

    def like(
        self,
        body: ExecProgram,
        consts: int,
        carry: int,
        backward: bool = False,
        length: Dim | None = None,
        checkpoints: int | None = None,
    ) -> Loop:
        """A loop with another body, and for the rest like this one.

        It goes in the other direction if `backward`.
        """


class Call(Protocol):
    """The part of a `Checkpointed` that its rules read."""

    @property
    def body(self) -> ExecProgram:
        """What is computed."""

    @property
    def saved(self) -> int:
        """How many of the last outputs are values that derivatives may read."""

    def like(self, body: ExecProgram, saved: int = 0, transposed: bool = False) -> StdTensorOp:
        """An op of another body, which waits for its last operand if it is `transposed`."""


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

    @property
    def checkpoints(self) -> int:
        """On how many levels reverse mode stores the carry and computes the rest again."""

    def like(self, cond: ExecProgram, body: ExecProgram, body_consts: int) -> StdTensorOp:
        """A loop of as many rounds of another body."""


class Ruled(PrimitiveOp, Protocol):
    """The part of a `Custom` that rules read."""

    @property
    def body(self) -> ExecProgram:
        """What it computes."""

    @property
    def rule(self) -> object:
        """Its derivatives, which print as what users call them."""

    @property
    def consts(self) -> int:
        """Number of first operands that are not arguments of the user's function."""

    @property
    def identity(self) -> bytes:
        """Bytes that equal ops share."""

    def bind(self, sizes: Sizes) -> Self:
        """The op with symbols replaced by sizes."""

    def check_computed(self) -> None:
        """Raise ADRuleError if the op has no values, but can be transposed."""
