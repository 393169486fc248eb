"""Rematerialized calls: the op and its rules."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Self, cast

from tenferro.core import (
    Batched,
    BatchSite,
    Emitter,
    GlobalValKey,
    JvpSite,
    Slots,
    TransposeSite,
    V,
    differentiate,
    pull_back,
    resolve_keys,
)
from tenferro.errors import ControlFlowError
from tenferro.ir import Body, ExecProgram, Pruned, payload, restricted
from tenferro.ops.control_flow.base import (
    Called,
    Interpreter,
    T,
    inputs_read,
    positions,
    size_in_words,
)
from tenferro.ops.control_flow.bodies import (
    CotangentMask,
    Keys,
    batched_body,
    dependencies,
    fresh_like,
    graph_of,
    inner_context,
    inner_emitter,
    linear_in,
    program_of,
    spread,
)

__all__ = ["Checkpointed"]


# Programs that derivatives compute again: the forward part is inside the linear one.


class Recomputed(Called):
    """A call of which derivatives read operands and saved values, and compute the rest again."""

    saved: int

    @property
    def const_places(self) -> dict[str, range]:
        """All operands."""
        return {"body": range(len(self.body.input_slots))}

    def reached(self, active: Sequence[bool]) -> list[bool]:
        return self.body.reached(active)

    def interpreted(self, values: Sequence[T], at: Interpreter[T]) -> list[T] | None:
        return at.run(self.body, values)

    @abstractmethod
    def like(self, body: ExecProgram, saved: int = 0, transposed: bool = False) -> Recomputed:
        """An op with another body."""

    def reads(self, needed: Collection[GlobalValKey], known: Keys) -> list[GlobalValKey]:
        """The known values that a body is given, of which some are needed."""
        return [key for key in known if key in needed]

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        """The tangents of the results and of the saved values.

        They are computed from the operands and from the saved values; what else they read is
        computed again.
        """
        inputs, outputs = graph_of(self.body)
        wrt = [key for key, tangent in zip(inputs, at.tangent, strict=True) if tangent is not None]
        linear = differentiate(resolve_keys(), outputs, wrt, ctx=inner_context(at.ctx))
        first = len(outputs) - self.saved
        known = dict(zip(outputs[first:], at.out[first:], strict=True))
        known.update(zip(inputs, at.primal, strict=True))
        tangents = [tangent for tangent in at.tangent if tangent is not None]
        return self._emitted(at.emitter, known, linear.input_keys, tangents, linear.output_keys)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        """The cotangents of the active operands; what they read is computed once they arrive."""
        ctx = inner_context(at.ctx)
        inputs, outputs = graph_of(self.body)
        linear = linear_in(inputs, outputs, positions(at.active), ctx)
        arriving = [ct is not None for ct in at.ct]
        seeds = fresh_like(compress(outputs, arriving), "ct")
        pulled = pull_back(linear, spread(seeds, arriving), ctx=ctx)
        known = {
            key: value
            for key, value, on in zip(inputs, at.inputs, at.active, strict=True)
            if not on
        }
        cts = [ct for ct in at.ct if ct is not None]
        results = self._emitted(at.emitter, known, seeds, cts, pulled, transposed=True)
        return spread(results, at.active)

    def _emitted(
        self,
        at: Emitter[V],
        known: Mapping[GlobalValKey, V],
        seeds: Keys,
        values: Sequence[V],
        outputs: Sequence[GlobalValKey | None],
        transposed: bool = False,
    ) -> Slots[V]:
        """The outputs, which are linear in `seeds`, for `values` of these, by one op.

        Its last operands are these values.
        """
        present = [key for key in outputs if key is not None]
        if not present:
            return (None,) * len(outputs)
        read = self.reads(dependencies(present, known), list(known))
        call = self.like(program_of([*read, *seeds], present), transposed=transposed)
        results = at.emit_all(call, *(known[key] for key in read), *values)
        return spread(results, [key is not None for key in outputs])


# Checkpointed: derivatives store the operands, and compute the rest again.


@payload
class Checkpointed(Recomputed, name="checkpointed"):
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

    takes_mask = True

    def __post_init__(self) -> None:
        body = self._as_body("the body", self.body)
        self._read_field("saved")
        self._read_field("prevent_cse", "True or False")
        self._read_field("late", "True or False")
        self._set(body=body)
        super().__post_init__()
        n_inputs, n_outputs = len(body.input_slots), len(body.output_slots)
        self._set(n_inputs=n_inputs, n_outputs=n_outputs)
        if not 0 <= self.saved <= n_outputs:
            raise ControlFlowError(
                f"checkpointed: {self.saved} saved values do not fit a body of {n_outputs} outputs"
            )
        if self.late and not n_inputs:
            raise ControlFlowError("checkpointed: a late op needs an operand to wait for")
        self._check_sizes("the body", body, [self._role(place) for place in range(n_inputs)])

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

    def batch_rule(self, at: BatchSite[V], valid: V | None = None) -> Batched[V]:
        mask = None if valid is None else CotangentMask.of_size(at.size)
        whole = batched_body(self.body, at.batched, at.size, inner_emitter(at.emitter), mask)
        operands = at.inputs if valid is None else (valid, *at.inputs)
        results = at.emitter.emit_all(self.like(whole.program(), self.saved), *operands)
        return tuple(zip(results, whole.batched, strict=True))

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
