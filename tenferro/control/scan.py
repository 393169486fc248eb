"""Scan: a loop whose body is a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tenferro.errors import ControlFlowError
from tenferro.exec_ir import (
    Array,
    Category,
    ExecProgram,
    evaluate,
    payload,
    with_last_use,
)
from tenferro.ops import StdTensorOp
from tenferro.shape import Dim, DimExpr, Exact, TensorMeta


@payload
class Scan(StdTensorOp, name="scan"):
    """Runs `body` once for each of `length` entries along the first axis of its last operands.

    The operands are `consts` values that every round reads, `carry` values that the first round
    starts from, and the *xs*, of which each round reads one entry. The body takes them in that
    order and returns the next carry and then the *ys*. The results are the last carry, and the ys
    of all rounds, stacked along a new first axis.

    Attributes:
        body: what one round computes.
        consts: number of values that are the same in all rounds.
        carry: number of values that go from round to round.
        length: number of rounds.
        reverse: whether the rounds go from the last entry to the first.
        unroll: rounds that an executor may write out at a time; changes no result.
    """

    body: ExecProgram
    consts: int
    carry: int
    length: Dim
    reverse: bool = False
    unroll: int = 1

    category = Category.BOUNDARY
    n_inputs = None
    body_fields = ("body",)

    def __post_init__(self) -> None:
        body: object = self.body
        if not isinstance(body, ExecProgram):
            kind = type(body).__name__
            raise ControlFlowError(f"scan: body must be an ExecProgram, got a {kind}")
        object.__setattr__(self, "body", with_last_use(body))
        super().__post_init__()
        n_inputs, n_outputs = len(self.body.input_slots), len(self.body.output_slots)
        if self.consts < 0 or self.carry < 0 or self.consts + self.carry > n_inputs:
            raise ControlFlowError(
                f"scan: {self.consts} consts and {self.carry} carried values do not fit a body of "
                f"{n_inputs} inputs"
            )
        if self.carry > n_outputs:
            raise ControlFlowError(
                f"scan: the body returns {n_outputs} values, but carries {self.carry}"
            )
        object.__setattr__(self, "n_inputs", n_inputs)
        object.__setattr__(self, "n_outputs", n_outputs)

    def infer_all(self, metas: Sequence[TensorMeta]) -> tuple[TensorMeta, ...]:
        """The carry's types, and those of the ys with a first axis of `length`.

        Raises:
            ControlFlowError: an operand has not the type that the body takes, or the carry comes
                out of the body with another type than it goes in with.
        """
        self.check_arity(len(metas))
        body = self.body
        start = self.consts + self.carry
        for position, (meta, wanted) in enumerate(zip(metas, body.input_metas, strict=True)):
            expected = wanted if position < start else self._stacked(wanted)
            if meta != expected:
                raise ControlFlowError(
                    f"scan: operand {position} ({self._role(position)}) is {meta}, but the body "
                    f"takes {expected}"
                )
        outputs = body.output_metas
        goes_in, comes_out = body.input_metas[self.consts : start], outputs[: self.carry]
        for leaf, (before, after) in enumerate(zip(goes_in, comes_out, strict=True)):
            if before != after:
                raise ControlFlowError(
                    f"scan: carry leaf [{leaf}] goes into the body as {before} and comes out as "
                    f"{after}; it must keep its type"
                )
        return (*comes_out, *(self._stacked(meta) for meta in outputs[self.carry :]))

    def evaluate(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """The rounds one after another."""
        metas = [TensorMeta.of(array.dtype, array.shape) for array in inputs]
        results = self.infer_all(metas)
        start = self.consts + self.carry
        consts, carry, xs = inputs[: self.consts], list(inputs[self.consts : start]), inputs[start:]
        ys = [np.empty(meta.static_shape or (), meta.dtype) for meta in results[self.carry :]]
        rounds = range(self._rounds())
        for number in reversed(rounds) if self.reverse else rounds:
            outputs = evaluate(self.body, [*consts, *carry, *(x[number] for x in xs)])
            carry = outputs[: self.carry]
            for stack, y in zip(ys, outputs[self.carry :], strict=True):
                stack[number] = y
        return (*carry, *ys)

    def pruned(self, live: Sequence[bool]) -> Scan | None:
        """The scan without the ys that nothing reads; a carry is needed by the next round."""
        if not all(live[: self.carry]):
            return None
        outputs = [
            slot for slot, is_live in zip(self.body.output_slots, live, strict=True) if is_live
        ]
        return replace(self, body=replace(self.body, output_slots=tuple(outputs)))

    def _stacked(self, meta: TensorMeta) -> TensorMeta:
        """The type with a first axis of `length`."""
        return meta.with_extents([Exact(self.length), *meta.extents])

    def _rounds(self) -> int:
        assert not isinstance(self.length, DimExpr), "sizes are bound"
        return self.length

    def _role(self, position: int) -> str:
        if position < self.consts:
            return f"const {position}"
        if position < self.consts + self.carry:
            return f"carry leaf [{position - self.consts}]"
        return f"xs leaf [{position - self.consts - self.carry}]"
