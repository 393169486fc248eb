"""Calls with derivative rules by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Self

from tenferro.core import (
    PRIMAL,
    Batched,
    BatchSite,
    Emitter,
    GlobalValKey,
    JvpSite,
    Slots,
    TransposeSite,
    V,
    batch,
    op_key,
    resolve_keys,
)
from tenferro.ir import (
    Body,
    Dim,
    ExecProgram,
    Handle,
    NumpyArray,
    Sizes,
    bind_payload,
    encode,
    fresh_input,
    payload,
)
from tenferro.ops import ReduceSum, repeated
from tenferro.ops.control_flow.base import Called, size_in_words
from tenferro.ops.control_flow.bodies import (
    Keys,
    emitted,
    fill_slots,
    for_all_entries,
    fresh_like,
    inlined,
    inner_emitter,
    may_not_end,
    program_of,
    transposed_through,
    with_batch_axis,
    with_guard,
)

__all__ = ["Custom", "CustomRule"]


# How the derivatives of a `Custom` op are taken.


class CustomRule(Handle):
    """The derivative rules of a `Custom` op. They are asked for when a derivative is taken."""

    def linearize(self, op: Custom, at: JvpSite[V]) -> Slots[V]:
        raise AssertionError(f"{self}: has no linearize rule")

    def transpose_rule(self, op: Custom, at: TransposeSite[V]) -> Slots[V]:
        """Cotangents of the active operands, in which the op is linear: those of its body."""
        return transposed_through(
            at, op.body.input_metas, lambda emitter, operands: inlined(emitter, op.body, operands)
        )

    def batch_by_hand(self, op: Custom, at: BatchSite[V]) -> Batched[V] | None:
        """The op for all entries, if the rule says how; None for that of the body."""
        return None

    def check_computed(self) -> None:
        """Raise the error of an op that has no values, but can be transposed."""


# The rules of a `Custom` op that was batched, or guarded: those of the op that it was before.

OptionalKeys = Sequence[GlobalValKey | None]


def _linearized(op: Custom, tangents_of: Slots[V], at: Emitter[V]) -> tuple[Keys, OptionalKeys]:
    """The linearize rule of `op` on new values of a graph: these, and the tangents it gives.

    The values are the operands, the outputs, and the tangents that there are.
    """
    emitter = inner_emitter(at)
    active = [tangent is not None for tangent in tangents_of]
    primal = _fresh(op)
    out = op_key(op, primal, PRIMAL, emitter.site).outputs
    tangents = fresh_like(compress(primal, active), "tangent")
    moving: Slots[GlobalValKey] = fill_slots(tangents, active)
    site: JvpSite[GlobalValKey] = JvpSite(emitter, primal, out, moving)
    return [*primal, *out, *tangents], op.linearize(site)


@dataclass(frozen=True)
class BatchedRule(CustomRule):
    """The rules of `entry`, for all entries of a batch.

    Attributes:
        entry: the op for one entry.
        batched: which of its operands are batched. All results are.
        size: the number of entries.
    """

    entry: Custom
    batched: tuple[bool, ...]
    size: Dim

    @property
    def token(self) -> bytes:
        """That of the op for one entry, and what is batched."""
        return b"batched" + self.entry.identity + encode((self.batched, self.size))

    def bind(self, sizes: Sizes) -> BatchedRule:
        """The rules for sizes in place of symbols."""
        return BatchedRule(self.entry.bind(sizes), self.batched, bind_payload(self.size, sizes))

    def __str__(self) -> str:
        return f"{self.entry.rule}, batched"

    def linearize(self, op: Custom, at: JvpSite[V]) -> Slots[V]:
        """The tangents of each entry."""
        values, results = _linearized(self.entry, at.tangent, at.emitter)
        tangents = [tangent for tangent in at.tangent if tangent is not None]
        moving = compress(self.batched, [tangent is not None for tangent in at.tangent])
        flags = [*self.batched, *[True] * len(at.out), *moving]
        return self._for_all(
            at.emitter,
            values,
            flags,
            [*at.primal, *at.out, *tangents],
            results,
            [True] * len(results),
        )

    def transpose_rule(self, op: Custom, at: TransposeSite[V]) -> Slots[V]:
        """The cotangents of each entry, summed for operands that are the same for all entries."""
        emitter = inner_emitter(at.emitter)
        inputs = _fresh(self.entry)
        arriving = [ct is not None for ct in at.ct]
        seeds = [
            fresh_input(meta, "ct") for meta in compress(self.entry.body.output_metas, arriving)
        ]
        of_entry = self.entry.transpose_rule(
            TransposeSite(emitter, fill_slots(seeds, arriving), inputs, at.active)
        )
        cts = [ct for ct in at.ct if ct is not None]
        flags = [*self.batched, *[True] * len(cts)]
        return self._for_all(
            at.emitter, [*inputs, *seeds], flags, [*at.inputs, *cts], of_entry, self.batched
        )

    def check_computed(self) -> None:
        self.entry.check_computed()

    def _for_all(
        self,
        at: Emitter[V],
        values: Keys,
        flags: Sequence[bool],
        passed: Sequence[V],
        of_entry: OptionalKeys,
        wanted: Sequence[bool],
    ) -> Slots[V]:
        """What was found for one entry, for all of them; summed over them unless `wanted`."""
        emitter = inner_emitter(at)
        present = [key for key in of_entry if key is not None]
        whole = [
            with_batch_axis(key, self.size) if on else key
            for key, on in zip(values, flags, strict=True)
        ]
        batched = dict(compress(zip(values, whole, strict=True), flags))
        results = iter(
            batch(resolve_keys(), present, batched, self.size, ctx=emitter.ctx, emitter=emitter)
        )
        outputs: list[GlobalValKey | None] = []
        for key, keep in zip(of_entry, wanted, strict=True):
            if key is None:
                outputs.append(None)
                continue
            result, is_batched = next(results)
            result = result if is_batched else repeated(emitter, result, self.size)
            outputs.append(result if keep else emitter.emit(ReduceSum((0,)), result))
        known = dict(zip(whole, passed, strict=True))
        return emitted(at, outputs, known, values[0].serial)


@dataclass(frozen=True)
class GuardedRule(CustomRule):
    """The rules of `entry`, whose loops have no iteration if the first operand is false."""

    entry: Custom

    @property
    def token(self) -> bytes:
        """That of the op without a guard."""
        return b"guarded" + self.entry.identity

    def bind(self, sizes: Sizes) -> GuardedRule:
        """The rules for sizes in place of symbols."""
        return GuardedRule(self.entry.bind(sizes))

    def __str__(self) -> str:
        return f"{self.entry.rule}, guarded"

    def linearize(self, op: Custom, at: JvpSite[V]) -> Slots[V]:
        """The tangents, whose loops are guarded too."""
        values, results = _linearized(self.entry, at.tangent[1:], at.emitter)
        present = [key for key in results if key is not None]
        program = program_of(values, present)
        guard, *operands = at.primal
        passed = [*operands, *at.out, *(tangent for tangent in at.tangent if tangent is not None)]
        if may_not_end(program):
            program, passed = with_guard(program, inner_emitter(at.emitter)), [guard, *passed]
        return fill_slots(
            inlined(at.emitter, program, passed), [key is not None for key in results]
        )

    def check_computed(self) -> None:
        self.entry.check_computed()


def _fresh(op: Custom) -> tuple[GlobalValKey, ...]:
    """A new input of a graph for each operand of an op."""
    return tuple([fresh_input(meta, "operand") for meta in op.body.input_metas])


# Custom: a program whose derivatives a rule gives.


@payload
class Custom(Called, name="custom"):
    """Computes `body`; derivatives are those that `rule` gives.

    It occurs in graphs, and in the programs inside their ops. Lowering writes the body in its
    place, so that compiled programs do not contain it.

    Attributes:
        body: what it computes.
        rule: its derivatives.
        consts: number of first operands that are not arguments of the user's function.

    Raises:
        ControlFlowError: a field is of another type.
        UnsupportedDynamicShapeError: data decide a size in the body.
    """

    body: ExecProgram
    rule: CustomRule
    consts: int = 0

    one_mode = True

    @property
    def const_places(self) -> dict[str, range]:
        """The operands that are not arguments."""
        return {"body": range(self.consts)}

    def with_consts(self, bodies: Mapping[str, Body], counts: Mapping[str, int]) -> Self:
        """The op with a guard as one more const."""
        (body,) = bodies.values()
        assert counts["body"] == self.consts + 1, "custom: takes one more const, a guard"
        return type(self)(body, GuardedRule(self), self.consts + 1)  # type: ignore[arg-type]  # a program

    def evaluate(self, inputs: Sequence[NumpyArray]) -> tuple[NumpyArray, ...]:
        self.check_computed()
        return super().evaluate(inputs)

    def check_computed(self) -> None:
        """Raise ADRuleError if the op has no values, but can be transposed."""
        self.rule.check_computed()

    def linearize(self, at: JvpSite[V]) -> Slots[V]:
        return self.rule.linearize(self, at)

    def transpose_rule(self, at: TransposeSite[V]) -> Slots[V]:
        return self.rule.transpose_rule(self, at)

    def batch_rule(self, at: BatchSite[V]) -> Batched[V]:
        """What the rule makes of it; else the body and the rule for all entries, all batched."""
        by_hand = self.rule.batch_by_hand(self, at)
        if by_hand is not None:
            return by_hand
        body = for_all_entries(self.body, at.batched, at.size, inner_emitter(at.emitter))
        op = Custom(body, BatchedRule(self, at.batched, at.size), self.consts)
        return tuple([(value, True) for value in at.emitter.emit_all(op, *at.inputs)])

    def in_words(self) -> str:
        return f"{self.rule}: {size_in_words(self.body)}"

    def _role(self, position: int) -> str:
        return f"of {self.rule}"
