"""The interface of ops for graphs: an identity, an arity, and a meaning on runtime values."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Protocol, TypeVar


class GraphOp(Protocol):
    """One operation of an op set.

    Two ops with equal `identity` are the same op: applied to the same inputs they make the same
    graph node. Everything that changes a result belongs to the identity; nothing else does.
    """

    @property
    def identity(self) -> Hashable:
        """The identity of the op, as a hashable value that is only compared."""

    @property
    def n_outputs(self) -> int:
        """Number of values that one application makes; at least one."""

    @property
    def n_inputs(self) -> int | None:
        """Number of operands, or None when the op takes any number."""

    def evaluate(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The outputs of one application to runtime values."""


Op = TypeVar("Op", bound=GraphOp)
