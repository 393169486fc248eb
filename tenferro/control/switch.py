"""Switch: one of several programs, chosen by a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Self

from tenferro.chainrules import Batched, BatchSite, JvpSite, Slots, TransposeSite, V
from tenferro.control.batches import batch_switch
from tenferro.control.checks import (
    ControlOp,
    Interpreter,
    T,
    inputs_read,
    plain,
    positions,
    size_in_words,
)
from tenferro.control.switch_derivative import linearize, transpose_rule
from tenferro.errors import ControlFlowError
from tenferro.exec_ir import Array, Body, ExecProgram, Pruned, Steps, payload, restricted
from tenferro.shape import TensorMeta


@payload
class Switch(ControlOp, name="switch"):
    """Runs the one of its `branches` that the first operand, a rank-0 integer, has the number of.

    A number below 0 chooses the first branch, one that is too large the last. The other operands
    are those of the branches, which all take and return the same types.

    Attributes:
        branches: the programs; at least one.

    Raises:
        ControlFlowError: a field is of another type, or the branches take or return other types.
        UnsupportedDynamicShapeError: data decide a size in a branch.
    """

    branches: tuple[ExecProgram, ...]

    body_fields = ("branches",)
    is_loop = False

    def __post_init__(self) -> None:
        branches: object = self.branches
        if not isinstance(branches, tuple):
            kind = type(branches).__name__
            raise ControlFlowError(f"switch: branches must be a tuple of programs, got a {kind}")
        if not branches:
            raise ControlFlowError("switch: branches is empty; there must be one at least")
        checked = [self._as_body(f"branch {i}", branch) for i, branch in enumerate(branches)]
        object.__setattr__(self, "branches", tuple(checked))
        super().__post_init__()
        first = checked[0]
        object.__setattr__(self, "n_inputs", 1 + len(first.input_slots))
        object.__setattr__(self, "n_outputs", len(first.output_slots))
        roles = [self._role(1 + position) for position in range(len(first.input_slots))]
        for number, branch in enumerate(checked):
            self._check_alike(number, "takes", first.input_metas, branch.input_metas)
            self._check_alike(number, "returns", first.output_metas, branch.output_metas)
            self._check_sizes(f"branch {number}", branch, roles)

    def _check_alike(
        self, number: int, verb: str, first: Sequence[TensorMeta], other: Sequence[TensorMeta]
    ) -> None:
        """Raise ControlFlowError unless a branch has the types of the first one."""
        if first != other:
            raise ControlFlowError(
                f"switch: branch {number} {verb} {_types(other)} and branch 0 {_types(first)}; "
                "branches must take and return the same types"
            )

    @property
    def const_places(self) -> dict[str, range]:
        """All operands but the index, for each branch."""
        return dict.fromkeys(self.bodies, range(1, 1 + len(self.branches[0].input_slots)))

    def with_consts(self, bodies: Mapping[str, Body], counts: Mapping[str, int]) -> Self:
        """The choice among other branches."""
        return self.with_bodies(bodies)

    def check_arity(self, count: int) -> None:
        """Raise ControlFlowError unless there is an index, and an operand for each input."""
        if count != self.n_inputs:
            raise ControlFlowError(
                f"switch: takes {self.n_inputs} operands (the index and those of the branches), "
                f"got {count}"
            )

    def infer_all(self, metas: Sequence[TensorMeta]) -> tuple[TensorMeta, ...]:
        """The types that each branch returns.

        Raises:
            ControlFlowError: the number of operands is wrong, the index is no rank-0 integer, or
                an operand has another type than the branches take.
            VerifyError: a branch is malformed.
        """
        first = self.branches[0]
        self._check_operands(metas, (*metas[:1], *first.input_metas))
        index = metas[0]
        if index.rank or index.dtype.kind not in "iu":
            raise ControlFlowError(f"switch: the index must be a rank-0 integer, got {index}")
        return plain(first.output_metas)

    def evaluate(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """What the chosen branch returns."""
        self._check_arrays(inputs)
        index, *operands = inputs
        number = min(max(int(index), 0), len(self.branches) - 1)
        steps = self._steps[number]
        values = steps.values(operands)
        steps.run(values)
        return tuple(steps.outputs(values))

    @cached_property
    def _steps(self) -> tuple[Steps, ...]:
        """The branches, prepared to run."""
        return tuple(map(Steps, self.branches))

    def pruned(self, live: Sequence[bool]) -> Pruned | None:
        """The switch without dead outputs, and without operands that no branch then reads."""
        in_branches = [inputs_read(branch, live) for branch in self.branches]
        read = [any(flags) for flags in zip(*in_branches, strict=True)]
        if all(live) and all(read):
            return None
        outputs, inputs = positions(live), positions(read)
        branches = tuple(restricted(branch, inputs, outputs) for branch in self.branches)
        operands = (0, *(1 + position for position in inputs))
        return Pruned(replace(self, branches=branches), operands, tuple(outputs))

    def reached(self, active: Sequence[bool]) -> list[bool]:
        """Which results depend on the active operands in some branch; all, on an active index."""
        if active[0]:
            return [True] * self.n_outputs
        in_branches = [branch.reached(active[1:]) for branch in self.branches]
        return [any(flags) for flags in zip(*in_branches, strict=True)]

    def interpreted(self, values: Sequence[T], at: Interpreter[T]) -> list[T] | None:
        """What any of the branches returns."""
        found = [at.run(branch, values[1:]) for branch in self.branches]
        return [at.either(each) for each in zip(*found, strict=True)]

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The tangents, by a switch between the linear parts of the branches."""
        return linearize(self, at)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangents, by a switch between the transposed branches."""
        return transpose_rule(self, at)

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        """One switch for all entries; see `batches`."""
        return batch_switch(self, at)

    def like(self, branches: Sequence[ExecProgram]) -> Switch:
        """A switch between as many other programs."""
        return replace(self, branches=tuple(branches))

    def in_words(self) -> str:
        """The sizes of the branches."""
        return f"switch: {' or '.join(map(size_in_words, self.branches))}"

    def _role(self, position: int) -> str:
        return f"branch operand [{position - 1}]"

    def _reader(self, position: int) -> str:
        return "the branches take"


def _types(metas: Sequence[TensorMeta]) -> str:
    """Types as a tuple."""
    inner = ", ".join(map(str, metas))
    return f"({inner},)" if len(metas) == 1 else f"({inner})"
