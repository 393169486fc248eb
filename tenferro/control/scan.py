"""Scan: a loop whose body is a program."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Self, cast

import numpy as np

from tenferro.chainrules import Batched, BatchSite, JvpSite, Slots, TransposeSite, V
from tenferro.control.batches import batch_scan
from tenferro.control.beside import linearize_beside
from tenferro.control.checkpoints import transpose_by_blocks
from tenferro.control.checks import (
    ControlOp,
    Interpreter,
    T,
    fixed_leaves,
    inputs_read,
    plain,
    positions,
    reached_in_rounds,
    size_in_words,
)
from tenferro.control.rounds import Rounds
from tenferro.control.scan_derivative import linearize, transpose_rule
from tenferro.errors import ControlFlowError, UnsupportedDynamicShapeError
from tenferro.exec_ir import Array, Body, ExecProgram, Pruned, payload, restricted
from tenferro.shape import Dim, DimExpr, Exact, TensorMeta, describe, runtime_dims


@payload
class Scan(ControlOp, name="scan"):
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
        unroll: number of rounds that an executor may compile as one; does not change results.

    Raises:
        ControlFlowError: a field is of another type, the body has too few inputs or outputs, or it
            returns the carry with other types than it takes.
        UnsupportedDynamicShapeError: data decide a size in the body, or the number of rounds.
    """

    body: ExecProgram
    consts: int
    carry: int
    length: Dim
    reverse: bool = False
    unroll: int = 1

    body_fields = ("body",)

    def __post_init__(self) -> None:
        body = self._as_body("the body", self.body)
        object.__setattr__(self, "body", body)
        self._check_fields()
        super().__post_init__()
        object.__setattr__(self, "n_inputs", len(body.input_slots))
        object.__setattr__(self, "n_outputs", len(body.output_slots))
        self._check_counts()
        if runtime_dims(self.length):
            raise UnsupportedDynamicShapeError("scan", "length", describe(Exact(self.length)))
        roles = [self._role(position) for position in range(len(body.input_slots))]
        self._check_sizes("the body", body, roles)
        goes_in = body.input_metas[self.consts : self.consts + self.carry]
        self._check_carry(goes_in, body.output_metas[: self.carry])

    def _check_fields(self) -> None:
        """Store the counts as `int`; raise ControlFlowError if a field is of another type."""
        for name in ("consts", "carry", "unroll"):
            object.__setattr__(self, name, self._as_integer(name))
        if not isinstance(self.length, DimExpr):
            length = self._as_integer("length", "an integer or a size of the program")
            object.__setattr__(self, "length", length)
        reverse: object = self.reverse
        if not isinstance(reverse, bool | np.bool_):
            raise self._mistyped("reverse", "True or False")
        object.__setattr__(self, "reverse", bool(reverse))

    def _check_counts(self) -> None:
        """Raise ControlFlowError unless the counts fit one another and the body."""
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
        if isinstance(self.length, int) and self.length < 0:
            raise ControlFlowError(f"scan: length must not be negative, got {self.length}")
        if self.unroll < 1:
            raise ControlFlowError(f"scan: unroll must be at least 1, got {self.unroll}")

    @property
    def const_places(self) -> dict[str, range]:
        """The first operands."""
        return {"body": range(self.consts)}

    def with_consts(self, bodies: Mapping[str, Body], counts: Mapping[str, int]) -> Self:
        """The scan of another body."""
        return replace(self, body=cast(ExecProgram, bodies["body"]), consts=counts["body"])

    def without_fixed(self) -> Pruned | None:
        """The scan without the leaves that its body returns as they are."""
        body, start = self.body, self.consts
        fixed = fixed_leaves(body, start, self.carry)
        if not fixed:
            return None
        kept = [leaf for leaf in range(self.n_outputs) if leaf not in fixed]
        rest = [at for at in range(start, len(body.input_slots)) if at - start not in fixed]
        operands = (*range(start), *(start + leaf for leaf in fixed), *rest)
        op = replace(
            self,
            body=restricted(body, operands, kept),
            consts=start + len(fixed),
            carry=self.carry - len(fixed),
        )
        return Pruned(op, operands, tuple(kept))

    @property
    def rounds(self) -> int:
        """The number of rounds, if it is known."""
        return self.length if isinstance(self.length, int) else super().rounds

    def surely_runs(self, label: str) -> bool:
        """Whether there is certainly a round."""
        return isinstance(self.length, int) and self.length > 0

    def check_arity(self, count: int) -> None:
        """Raise ControlFlowError unless there is an operand for each input of the body."""
        xs = len(self.body.input_slots) - self.consts - self.carry
        if count != self.n_inputs:
            raise ControlFlowError(
                f"scan: takes {self.n_inputs} operands ({self.consts} consts, {self.carry} carried "
                f"values and {xs} xs), got {count}"
            )

    def infer_all(self, metas: Sequence[TensorMeta]) -> tuple[TensorMeta, ...]:
        """The carry's types, and those of the ys with a first axis of `length`.

        Raises:
            ControlFlowError: the number of operands is wrong, or the type of one is not that of the
                body's input.
            VerifyError: the body is malformed.
        """
        self._check_operands(metas, self.operand_metas)
        outputs = plain(self.body.output_metas)
        stacks = [self._stacked(meta) for meta in outputs[self.carry :]]
        return (*outputs[: self.carry], *stacks)

    def evaluate(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """The rounds one after another."""
        self._check_arrays(inputs)
        steps, start = self._steps, self.consts + self.carry
        values, entries = steps.values(inputs[:start]), inputs[start:]
        body, places = self.body, self.body.input_slots[start:]
        metas, returned = body.output_metas[self.carry :], body.output_slots[self.carry :]
        count = self._rounds()
        ys = [np.empty((count, *(meta.static_shape or ())), meta.dtype) for meta in metas]
        xs, stacks = list(zip(places, entries, strict=True)), list(zip(ys, returned, strict=True))
        for number in reversed(range(count)) if self.reverse else range(count):
            for slot, x in xs:
                values[slot] = x[number]
            steps.run(values)
            for stack, slot in stacks:
                stack[number] = values[slot]
            steps.advance(values)
        return (*steps.carry(values), *ys)

    @cached_property
    def _steps(self) -> Rounds:
        """The body, prepared to run in rounds."""
        return Rounds(self.body, self.consts, self.carry)

    def pruned(self, live: Sequence[bool]) -> Pruned | None:
        """The scan without dead ys and without dead carries that no live output depends on.

        Operands that the smaller body does not read are left out, also where all outputs are live.
        """
        needed, read = self._needed(live)
        if all(needed) and all(read):
            return None
        outputs, operands = positions(needed), positions(read)
        op = replace(
            self,
            body=restricted(self.body, operands, outputs),
            consts=len([position for position in operands if position < self.consts]),
            carry=len([position for position in outputs if position < self.carry]),
        )
        return Pruned(op, tuple(operands), tuple(outputs))

    def _needed(self, live: Sequence[bool]) -> tuple[list[bool], list[bool]]:
        """Which outputs and which inputs of the body the live outputs need.

        A carry that a round reads must also be computed by the round before.
        """
        body, needed = self.body, list(live)
        while True:
            read = inputs_read(body, needed)
            carried = read[self.consts : self.consts + self.carry]
            wider = [on or (i < self.carry and carried[i]) for i, on in enumerate(needed)]
            if wider == needed:
                for leaf in range(self.carry):  # a carry keeps its operand if its result is needed
                    read[self.consts + leaf] = needed[leaf]
                return needed, read
            needed = wider

    def reached(self, active: Sequence[bool]) -> list[bool]:
        """Which results depend on the active operands, in any round."""
        return reached_in_rounds(self.body, active, self.consts, self.carry)

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The tangents, by a loop over the linear part of the body."""
        if self.checkpoints:
            return linearize_beside(self, at)
        return linearize(self, at)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangents, by a loop in the other direction."""
        if self.checkpoints > 1:
            return transpose_by_blocks(self, at)
        return transpose_rule(self, at)

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        """One loop for all entries; see `batches`."""
        return batch_scan(self, at)

    @property
    def checkpoints(self) -> int:
        """On how many levels derivatives store the carry and compute the rest again."""
        return 0

    def like(
        self,
        body: ExecProgram,
        consts: int,
        carry: int,
        backward: bool = False,
        length: Dim | None = None,
        checkpoints: int | None = None,
    ) -> Scan:
        """A loop with another body, and for the rest like this one.

        It goes in the other direction if `backward`.
        """
        rounds = self.length if length is None else length
        levels = self.checkpoints if checkpoints is None else checkpoints
        reverse = self.reverse != backward
        loop = Scan(body, consts, carry, rounds, reverse, self.unroll)
        return (
            loop
            if not levels
            else CheckpointedScan(body, consts, carry, rounds, reverse, self.unroll, levels)
        )

    def interpreted(self, values: Sequence[T], at: Interpreter[T]) -> list[T] | None:
        """The rounds one after another; None if their number is not known, or is zero."""
        if not isinstance(self.length, int) or not self.length:
            return None
        start = self.consts + self.carry
        carry, stacks = list(values[self.consts : start]), []
        for number in reversed(range(self.length)) if self.reverse else range(self.length):
            entries = [at.entry(x, number) for x in values[start:]]
            outputs = at.run(self.body, [*values[: self.consts], *carry, *entries])
            carry = outputs[: self.carry]
            stacks.append(outputs[self.carry :])
        order = stacks[::-1] if self.reverse else stacks
        return [*carry, *(at.stacked(ys) for ys in zip(*order, strict=True))]

    def in_words(self) -> str:
        """The rounds, and what is compiled or stored in another way than by default."""
        unrolled = f", {self.unroll} at once" if self.unroll > 1 else ""
        levels = self.checkpoints
        kept = f", checkpointed on {levels} levels" if levels > 1 else ""
        return f"scan: {self.length} rounds of {size_in_words(self.body)}{unrolled}{kept}"

    @property
    def overwrites(self) -> Mapping[int, int]:
        """Each result of the carry may use the buffer of its operand."""
        return {leaf: self.consts + leaf for leaf in range(self.carry)}

    @property
    def written_inside(self) -> Collection[int]:
        """The carry: the body returns only entries of what is stacked."""
        return range(self.carry)

    @property
    def operand_metas(self) -> tuple[TensorMeta, ...]:
        """The types of the operands."""
        metas, start = self.body.input_metas, self.consts + self.carry
        return (*metas[:start], *(self._stacked(meta) for meta in metas[start:]))

    def _stacked(self, meta: TensorMeta) -> TensorMeta:
        """The type with a first axis of `length`."""
        return meta.with_extents([Exact(self.length), *meta.extents])

    def _rounds(self) -> int:
        assert not isinstance(self.length, DimExpr), "sizes are bound"
        return self.length

    def _misfit(self, position: int, meta: TensorMeta, expected: TensorMeta) -> ControlFlowError:
        """The error for an operand of another type than the body takes."""
        start = self.consts + self.carry
        if position >= start and meta.rank and meta.extents[0] != expected.extents[0]:
            return ControlFlowError(
                f"scan: {self._role(position)} is {meta}, whose axis 0 is "
                f"{describe(meta.extents[0])}, but the loop has {self.length} rounds"
            )
        return super()._misfit(position, meta, expected)

    def _role(self, position: int) -> str:
        if position < self.consts:
            return f"const {position}"
        if position < self.consts + self.carry:
            return f"carry leaf [{position - self.consts}]"
        return f"xs leaf [{position - self.consts - self.carry}]"


@payload
class CheckpointedScan(Scan, name="checkpointed_scan"):
    """A `Scan` of which reverse mode stores less and computes more.

    With one level it stores the carry of each round, and computes the other values of a round
    again. With k levels the n rounds are blocks of blocks: it stores about the k-th root of n
    carries on each level, and the values of as many rounds.

    Attributes:
        levels: the number of levels.

    Raises:
        ControlFlowError: as `Scan`; or `levels` is not a positive integer.
    """

    levels: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", self._as_integer("levels"))
        super().__post_init__()
        if self.levels < 1:
            raise ControlFlowError(f"scan: levels must be at least 1, got {self.levels}")

    @property
    def checkpoints(self) -> int:
        """The number of levels."""
        return self.levels
