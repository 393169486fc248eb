"""Checkpointed: a program of which derivatives keep the operands, and compute the rest again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Self, cast

import numpy as np

from tenferro.chainrules import Batched, BatchSite, JvpSite, Slots, TransposeSite, V
from tenferro.control.batches import batch_call
from tenferro.control.called import Called
from tenferro.control.checkpointed_derivative import linearize, transpose_rule
from tenferro.control.checks import Interpreter, T, inputs_read, positions, size_in_words
from tenferro.errors import ControlFlowError
from tenferro.exec_ir import Body, ExecProgram, Pruned, payload, restricted


@payload
class Checkpointed(Called, name="checkpointed"):
    """Computes `body`, of which derivatives read the operands and the saved values only.

    The linear part of the body computes what else it reads again. So it is an op of this class
    too, and so is its transpose, which is `late`: it computes nothing before its last operand, a
    cotangent, has been computed. No pass and no compiler may make one value of what it computes
    again and what was computed before.

    Attributes:
        body: what is computed. Its last `saved` outputs are values that derivatives may read.
        saved: how many of the outputs are such values.
        prevent_cse: whether the transpose of the linear part is late.
        late: whether it waits for its last operand, which the body need not read.

    Raises:
        ControlFlowError: a field is of another type, or the body has fewer outputs than are saved.
        UnsupportedDynamicShapeError: data decide a size in the body.
    """

    body: ExecProgram
    saved: int = 0
    prevent_cse: bool = True
    late: bool = False

    def __post_init__(self) -> None:
        body = self._as_body("the body", self.body)
        object.__setattr__(self, "body", body)
        object.__setattr__(self, "saved", self._as_integer("saved"))
        for name in ("prevent_cse", "late"):
            flag: object = getattr(self, name)
            if not isinstance(flag, bool | np.bool_):
                raise self._mistyped(name, "True or False")
            object.__setattr__(self, name, bool(flag))
        super().__post_init__()
        n_inputs, n_outputs = len(body.input_slots), len(body.output_slots)
        object.__setattr__(self, "n_inputs", n_inputs)
        object.__setattr__(self, "n_outputs", n_outputs)
        if not 0 <= self.saved <= n_outputs:
            raise ControlFlowError(
                f"checkpointed: {self.saved} saved values do not fit a body of {n_outputs} outputs"
            )
        if self.late and not n_inputs:
            raise ControlFlowError("checkpointed: a late op needs an operand to wait for")
        self._check_sizes("the body", body, [self._role(place) for place in range(n_inputs)])

    @property
    def const_places(self) -> dict[str, range]:
        """All operands."""
        return {"body": range(len(self.body.input_slots))}

    def with_consts(self, bodies: Mapping[str, Body], counts: Mapping[str, int]) -> Self:
        """The op with another body; one without operands waits for nothing."""
        late = self.late and counts["body"] > 0
        return replace(self, body=cast(ExecProgram, bodies["body"]), late=late)

    def pruned(self, live: Sequence[bool]) -> Pruned | None:
        """The op without dead outputs, and without operands that the body then does not read."""
        read = inputs_read(self.body, live)
        if self.late:
            read[-1] = True
        if all(live) and all(read):
            return None
        outputs, operands = positions(live), positions(read)
        results = self.n_outputs - self.saved
        op = replace(
            self,
            body=restricted(self.body, operands, outputs),
            saved=len([position for position in outputs if position >= results]),
        )
        return Pruned(op, tuple(operands), tuple(outputs))

    def reached(self, active: Sequence[bool]) -> list[bool]:
        """Which results depend on the active operands."""
        return self.body.reached(active)

    def interpreted(self, values: Sequence[T], at: Interpreter[T]) -> list[T] | None:
        """What the body returns."""
        return at.run(self.body, values)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The tangents, by an op that computes again what they read."""
        return linearize(self, at)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangents, by an op that computes again what they read, once they arrive."""
        return transpose_rule(self, at)

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        """The body for all entries."""
        return batch_call(self, at)

    def like(self, body: ExecProgram, saved: int = 0, transposed: bool = False) -> Checkpointed:
        """An op with another body, which is `late` if this one is, or if it is a transposed one."""
        return Checkpointed(
            body, saved, self.prevent_cse, self.late or (transposed and self.prevent_cse)
        )

    def in_words(self) -> str:
        """The size of the body, and whether it computes values again."""
        if self.late:
            return f"computed again: {size_in_words(self.body)}"
        return f"checkpointed: {size_in_words(self.body)}"
